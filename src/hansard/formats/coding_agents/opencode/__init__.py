"""OpenCode sessions.

Database: `~/.local/share/opencode/opencode.db` (SQLite); older releases: files in `storage/` beside it. Release 1.18 is
read and written. A document is the database, or the lines of one or more sessions (`coding_agents/rows`), which the
writer gives too; `hansard convert` and `hansard export` make a database of them.

    canonical                         native
    conversation id, title, created   row of `session`: id, title, time_created
    parent thread                     the session of which this one is a copy; what was copied is `isCopiedContext`
    message                           row of `message`: id, time_created, role and more in `data`
    text, reasoning, file             parts of type text, reasoning, file
    tool-call, tool-result            a part of type tool; its result is in a tool message, id and `:results`
    event                             a text that no person typed (synthetic), a compaction, a message of no part
    usage                             tokens of the parts step-finish, together; else those of the message
    todos                             the input of a call of todowrite
    sidechain                         messages of a session whose `parent_id` is this one, after the call of task
    head                              the message before `revert`, if the session has one

In the kept lines only: the tables `event`, `event_sequence`, `session_message`, `session_input`,
`session_context_epoch` and `todo`, which repeat the others; snapshots, steps and figures of cost.

Lost, and reported: branches, agents, runs, system prompts. Quotation marks that `opencode run` puts round a prompt are
not part of it.

Files: `session` (tables, Reader, writer), `records` (messages and parts), `edits`, `schema` (the tables of a new
database). Not to change: the id `:results` and the spelling of lines, since ledgers hold them.
May import: `coding_agents`, the core of `formats`, the model. Free to change: how rows are read, as long as golden
files come back byte for byte.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_MARKS = (b"`session_share`", b"`part`", b"`message`")
_OTHERS = (b"`kilo_board`",)


def sniff(document: Any) -> int:
    """Lines that name it, or a database with its tables."""
    from hansard.formats.coding_agents import rows

    if type(document) is bytes and any(other in document for other in _OTHERS) and document.startswith(rows.MAGIC):
        return 0
    return rows.sniff(document, "opencode", _MARKS)


FORMAT = Format(
    name="opencode",
    title="OpenCode sessions",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"rows", "table", "file"}),
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
    suffix="db",
)
