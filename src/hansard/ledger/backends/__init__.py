"""Databases: one driver each, and the migrations of their schema.

Read in this order:

    driver                 the contract: `Driver`, `Tx`, named statements, `safe` text
    sqlite                 the SQLite driver: one writer, many readers, recognising and migrating a file
    group_commit           waiting writers share one SQLite transaction
    postgres               the PostgreSQL driver: pool, retries, row-level security
    read_replica           a streaming replica for reads, asked once it has this handle's last write
    connection_watchdog    closes PostgreSQL connections with no response
    migrations             numbered SQL files, checked by number and checksum

A backend runs jobs in transactions and knows no rules of the ledger. To add one: a driver with the methods of `Driver`,
a folder in `ledger/sql/` with migrations and the statements that differ, a line in `hansard.ledger.open`, and its name
in `tests/ledgers.py`, which runs the whole suite on it. May import: `errors`, `atomic_file`. Free to change: timeouts,
pragmas, retries, with the fault tests (`make prove`). Never change a numbered migration: checksums are stored.
"""
