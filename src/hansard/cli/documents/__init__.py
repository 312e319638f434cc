"""Commands on files and streams: convert, validate, stream, formats, schema. None of them opens a ledger.

One file per command. May import what `cli` may, late what is slow. Free to change: texts; not the names of commands and
options, `--json` keys and exit codes.
"""
