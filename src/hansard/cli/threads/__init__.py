"""Commands on the threads of a ledger: threads, show, tree, search, import, export, fork, checkout, handover, forget.

One file per command; `import_` carries the underscore because `import` is a keyword. May import what `cli` may. Free to
change: texts; not the names of commands and options, `--json` keys and exit codes.
"""
