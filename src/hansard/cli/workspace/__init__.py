"""Commands on the user's files: snapshot, track, watch, history, diff, undo, redo, restore.

`shared` has their common parts: which folder, which thread, showing a plan and asking before it runs. May import what
`cli` may. Free to change: texts; not the names of commands and options, `--json` keys and exit codes.
"""
