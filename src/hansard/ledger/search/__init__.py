"""Search: the query language, the index, and facets to filter threads by.

Read in this order:

    tokenizer       what a word is: folding and splitting, the same on every database
    language        `Query`: parses user input; the index query in SQLite's and PostgreSQL's syntax
    indexed_text    the searchable text of a message and its tokens
    index           catch up with new messages, rebuild
    query           `search`: matches in windows, phrases checked in the message, cursors
    snippets        a stretch of a message around the matches
    facets          agents, models, projects and formats of threads; `ThreadFilter`

The database only matches and counts tokens; everything else is done here, so results do not depend on it. May import:
the ledger core and `model`. Free to change: ranking, snippets, limits. A change of `tokenizer` or of the tokens in
`indexed_text` needs `Ledger.rebuild_search` on existing ledgers: ask first. Facet kinds are stored.
"""
