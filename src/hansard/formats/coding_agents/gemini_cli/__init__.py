"""Gemini CLI sessions.

Files: `session-*.jsonl`, and JSON documents of older releases (`versions.py`).  As of Gemini CLI 0.24 and its source.

    canonical                         native
    conversation                      the header: sessionId, startTime, lastUpdated, summary (its title)
    message, and its tool message     a record: the message, and the results of its calls (`records.py`)
    an inactive branch                what `$rewindTo`, `$set.messages` or a record with the same id replaced

The file only grows, but its records can delete: a record replaces an earlier one with the same id, `$rewindTo` deletes
a message and all after it, `$set.messages` sets the whole list. Deleted messages stay in the tree as an inactive
branch; a message that only grew within its turn is not kept twice. A message replaced after its turn starts a new
branch, which repeats the messages after it, since a message once returned does not change. The latest messages are
held for that; the oldest are returned when they are too many. A fork is written as a rewind to where it begins.

The text of the file is kept.
Lost, and reported: system and developer messages (the agent has its own), signatures, the folder, ids of tool
messages, calls that stand before text, data and sources.

Files: `session` (Reader, writer), `records` (one record), `versions` (older documents), `edits`. Builds on `gemini`.
Not to change: ids of tool messages (`:results`) and of replaced messages (`~1`), the marks `status`, `tokens`.
May import: `coding_agents`, the core of `formats`, the model. Free to change: how records are read, as long as golden
files are exported byte for byte.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

EVENTS = ("info", "error", "warning")
_LOOK = 64 * 1024


def sniff(document: Any) -> int:
    """Only Gemini CLI has a project's hash, these two commands, or messages of the type gemini."""
    if type(document) is bytes:
        from hansard.formats.coding_agents.gemini_cli.versions import DocumentScanner
        from hansard.formats.coding_agents.scanner import first_values
        from hansard.model.exact_json import decode_record

        values = first_values(DocumentScanner(decode_record, is_record), document[:_LOOK], 20, to_end=True)
        return max(map(_sure, values), default=0)
    return _sure(document)


def is_record(value: Any) -> bool:
    """Whether a value is a record, not an object inside one."""
    return _sure(value) > 0


def _sure(value: Any) -> int:
    if type(value) is not dict:
        return 0
    if type(value.get("sessionId")) is str and ("projectHash" in value or type(value.get("startTime")) is str):
        return 3
    if "$rewindTo" in value or type(value.get("$set")) is dict:
        return 3
    if not is_message(value) or "content" not in value or "timestamp" not in value:
        return 0
    return 3 if value["type"] == "gemini" else 2 if value["type"] in ("user", *EVENTS) else 0


def is_message(value: Any) -> bool:
    """A record with an id and a type, which is not a session's header."""
    if type(value) is not dict or "sessionId" in value:
        return False
    return type(value.get("id")) is str and type(value.get("type")) is str


FORMAT = Format(
    name="gemini-cli",
    title="Gemini CLI sessions",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"$rewindTo", "$set", "sessionId", "timestamp"}),
    own_provider="google",
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
    suffix="jsonl",
)
