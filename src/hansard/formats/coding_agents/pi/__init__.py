"""pi session files.

Files: `~/.pi/agent/sessions/--<path>--/<time>_<id>.jsonl`.  Versions 1 to 3 are read, 3 is written.

    canonical                         native
    conversation id, created          id, timestamp of the header; its other fields are residue
    title                             the name of the last session_info
    message, parent                   an entry of type message: id, parentId, timestamp; version 1 has no ids and
                                      is linear: they are derived from the session's id and the entry's number
    user, assistant, tool             role user, assistant, toolResult (one result an entry)
    text, reasoning, tool-call, file  text, thinking, toolCall, image; signatures bound to provider, api and model
    user with compaction              compaction
    user                              branch_summary, custom_message, bashExecution (or an event, if withheld)
    event with data                   custom
    event with raw(pi)                any other entry or role: model_change, label ...
    system, developer                 custom_message named hansard.system
    head                              the last entry

Lost, and reported: agents, runs, contexts, todos, sidechains, sources, several results in one message.

Files: `session` (Reader, writer), `records` (one entry). Not to change: derived ids, the marks `entry`, `ran`, `role`,
`stop`, `content`, and the entry name `hansard.system`, since files and stored conversations have them.
May import: `coding_agents`, the core of `formats`, the model. Free to change: how records are read, as long as golden
files are exported byte for byte.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_KINDS = frozenset({"message", "model_change", "thinking_level_change", "compaction", "branch_summary", "custom"})
_KINDS |= {"custom_message", "label", "session_info", "context_transform", "ephemeral"}


def sniff(document: Any) -> int:
    """The header, which comes first, is certain; entries are likely."""
    values = document[:1] if type(document) is list else [document]
    if type(document) is bytes:
        from hansard.formats.coding_agents.scanner import Scanner, first_values

        values = first_values(Scanner(whole=is_record), document, 20)
    return max(map(_sure, values), default=0)


def is_record(value: Any) -> bool:
    """Whether an object is an entry, not part of one."""
    kind = value.get("type") if type(value) is dict else None
    return type(kind) is str and (kind == "session" or (kind in _KINDS and "timestamp" in value))


def _sure(entry: Any) -> int:
    if type(entry) is not dict or type(entry.get("type")) is not str:
        return 0
    if entry["type"] == "session":
        return 3 if type(entry.get("id")) is str and "timestamp" in entry and "cwd" in entry else 0
    if entry["type"] == "message" and type(entry.get("message")) is dict and "timestamp" in entry:
        return 2 if type(entry["message"].get("role")) is str and "uuid" not in entry else 0
    return 0


FORMAT = Format(
    name="pi",
    title="pi session files",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"timestamp"}),
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
    suffix="jsonl",
)
