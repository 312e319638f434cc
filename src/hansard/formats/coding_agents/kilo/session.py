"""Kilo sessions as a whole: its tables, with the reader and the writer of OpenCode."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from hansard.formats.coding_agents import rows
from hansard.formats.coding_agents.opencode.session import TABLES as OPENCODE
from hansard.formats.coding_agents.opencode.session import session_file

_OWN = {"kilo_board": "root_session_id", "kilo_board_message": "board_root_session_id"}
TABLES = replace(
    OPENCODE, name="kilo", title="Kilo", owned={**OPENCODE.owned, **_OWN}, unread=OPENCODE.unread.union(_OWN)
)
SESSION = session_file(TABLES)
read, write = SESSION.read, SESSION.write
split = partial(rows.split, tables=TABLES)
join = partial(rows.join, tables=TABLES)
