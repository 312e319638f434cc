"""Kilo sessions: OpenCode's tables and two of its own.

Database: `~/.local/share/kilo/kilo.db` (SQLite). Release 7.7 is read and written. Documents, the table
canonical/native and what is lost are those of `coding_agents/opencode`, whose reader and writer it has. In the kept
lines only: `kilo_board` and `kilo_board_message`, what its agents tell each other.

A database that is written has OpenCode's tables; Kilo adds its own when it starts.

Files: `session` (the tables). May import: `coding_agents/opencode`, `coding_agents`, the core of `formats`.
Free to change: what is read of Kilo's own tables.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_MARKS = (b"`kilo_board`", b"`part`", b"`message`")


def sniff(document: Any) -> int:
    """Lines that name it, or a database with its tables."""
    from hansard.formats.coding_agents import rows

    return rows.sniff(document, "kilo", _MARKS)


FORMAT = Format(
    name="kilo",
    title="Kilo sessions",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"rows", "table", "file"}),
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
    suffix="db",
)
