"""Commands on the ledger as a whole: backup, copy, migrate, project, prune, stats, verify, doctor.

One file per command. May import what `cli` may. Free to change: texts; not the names of commands and options, `--json`
keys and exit codes.
"""
