"""Maintenance: what an operator does with a whole ledger.

    verify         compare everything with its hashes, counts and checksums
    prune          delete messages on no branch in force, and unused blobs
    erasure        `Ledger.forget`: delete a thread from tables, index and file; leave a tombstone
    backup         a consistent copy in a SQLite file
    projection     the table `conversation_message` on PostgreSQL, for SQL over content
    copy_ledger    a copy in another backend, compared afterwards
    stats          counts and sizes

Each is one function of a driver or a transaction, called by a method of `Ledger` and a command of the same name in
`cli/ledger/` (docs/maintenance.md). May import: the ledger core, `backends`, `live`, `model`. Free to change: batch
sizes, texts of findings, new checks. A new table must be added
to `backup` (or listed in its `LEFT`), to `erasure` and, if it holds content, to `verify`: a test compares the list of
`backup` with the schema.
"""
