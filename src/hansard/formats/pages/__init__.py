"""Pages for people to read: Markdown and HTML. Write-only formats.

    display     what a page shows of a conversation (`kept`), and texts that both pages use
    markdown    Markdown to read and paste
    html        a web page in one file, without scripts and remote resources

Read `display` first: a page shows the result of `kept`, and the losses are what `kept` removes. May import: the core
of `formats`, the model. Free to change: layout and texts, with the golden files in `tests/golden/markdown` and
`tests/golden/html`.
"""
