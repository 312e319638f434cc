"""Sage session files.

Files: `messages.jsonl` and `snapshots.jsonl`, one record, or a JSON array of records.  Sage 0.1.

    canonical                         native
    conversation id                   sessionId; a record of another session keeps its own
    message                           a record: uuid, parentUuid, timestamp, context, usage, thinkingMetadata,
                                      todos, isSidechain, metadata
    role                              type: user, assistant, system, tool_result; a `ConversationMessage` (no uuid)
                                      is read and written in its older shape
    text, reasoning, file             message.content: a string if it is one text, else a list of blocks
    tool-call                         message.toolCalls
    tool-result                       toolResults beside or inside `message`; the text of a failure is its `error`
    snapshot                          file_history_snapshot
    event with raw(sage)              a record of any other type, unchanged

A session file is evidence: what was imported is exported byte for byte. Where the file spells a message or snapshot
differently from our writer, its text is kept with it (the mark `line`) and written reread as long as the message still
matches it. Text that is not a record (blank, torn, not JSON) stays with the conversation (the mark `others`).
Lost, and reported: title, agents, runs, models, sources, data parts, calls that stand before text.

Files: `session` (the file), `records` (one record), `content` (blocks, calls, results), `fields` (the typed path for
usual records). Not to change: the marks `line`, `glued`, `at`, `others`, `gaps`, `shape`, `unended`, `older`,
`results`, `in`, since stored conversations have them.
May import: `coding_agents`, the core of `formats`, the model. Free to change: how records are read, as long as golden
files are exported byte for byte.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from hansard.formats.contract import Format

_KINDS = ("user", "assistant", "system", "tool_result")


def sniff(document: Any) -> int:
    """Records with Sage's own objects are certain; lines of the older shape are possible."""
    if type(document) is bytes:
        from hansard.formats.coding_agents.sage.records import is_older, is_record
        from hansard.formats.coding_agents.sage.session import pieces_of

        found = [piece.value for piece in islice(pieces_of(document), 20) if type(piece.value) is dict]
        lines = document.lstrip()[:1] == b"{"  # a list of messages is another format
        older = lines and any(map(is_older, found)) and all(map(is_record, found))
        return max(map(_sure, found), default=0) or int(older)
    found = document[:20] if type(document) is list else [document]
    return max(map(_sure, found), default=0)


def _sure(record: Any) -> int:
    from hansard.formats.coding_agents.identity import is_uuid

    kind = record.get("type") if type(record) is dict else None
    if kind == "file_history_snapshot":
        return 3 if "messageId" in record else 0
    if type(kind) is not str or kind not in _KINDS or type(record.get("uuid")) is not str:
        return 0
    if type(record.get("toolResults")) is list or type(record.get("context")) is dict:
        return 3
    if type(record.get("message")) is not dict or "cwd" in record or "userType" in record:
        return 0
    like_claude = is_uuid(record.get("sessionId")) and "toolCalls" not in record["message"]
    return 1 if like_claude else 2


FORMAT = Format(
    name="sage",
    title="Sage session files",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"messageId", "uuid"}),
    text=True,
    trees=True,
    verbatim=True,
    coding_agent=True,
)
