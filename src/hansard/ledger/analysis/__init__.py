"""Flat rows of what a ledger holds, for pandas, DuckDB, csv and plain loops.

Read in this order:

    row_types    the tables and their columns
    flat_rows    the rows of each table: `Ledger.rows`
    answers      every answer with token counts, once: the table `usage`, `hansard stats`, `Ledger.stats`

Which files a thread changed is found by `workspace/changed_files`, which knows workspaces and the records of agents; it
is loaded by name. May import: `ledger`, `model`, `errors`. Free to change: functions. Ask first: names of tables and
columns.
"""
