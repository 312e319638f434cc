"""Claude Code session files: `~/.claude/projects/<folder>/<session>.jsonl` and `agent-<id>.jsonl`.  As of 2.1.144.

    canonical                         native
    conversation id, parent thread    sessionId; forkedFrom of the first line
    title                             custom-title, else ai-title, else the summary of a line in this file
    message                           user, assistant, system, attachment and unknown records
    assistant message                 all lines that share message.id: blocks in order, usage of the last one; the
                                      mark `lines` has the other lines' uuids, times and cuts
    tool message                      a user record of tool_result blocks; toolUseResult is residue
    event with data                   system (the subtype names it), attachment
    event with raw(claude-code)       any other record; one without a uuid has an id made of its type and byte
    parent                            parentUuid, from line to line: see `claude_code_tree`; over a compaction
                                      logicalParentUuid; for a sidechain the message whose Task call started it
    context, thinking, todos          cwd, gitBranch, userType; thinkingMetadata; todos
    snapshot                          file-history-snapshot
    head                              the last message that is no sidechain (a last `last-prompt` may name another)

What Claude Code prints for programs (`stream-json`) is read as the session it was. Progress records, pieces of a
stream, superseded titles and lines written twice are in the text of the file only. Every broken link that
was mended is reported. Lost, and reported, when written for others' conversations: agents, runs, ids that are no
UUIDs, thoughts of other providers (their words are kept), data and sources inside a turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.coding_agents.claude_code.content import NAME, PROVIDER, SNAPSHOT, legal_uuid, write_snapshot
from hansard.formats.coding_agents.claude_code.events import write_event, write_queued
from hansard.formats.coding_agents.claude_code.reader import Reader
from hansard.formats.coding_agents.claude_code.records import Place, write_answer, write_user
from hansard.formats.coding_agents.identity import is_uuid
from hansard.formats.coding_agents.made_ids import made_uuid
from hansard.formats.coding_agents.scanner import Record, Scanner
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.formats.residue import unpack
from hansard.model.conversation import Context, Conversation, Message

# -- writing ---------------------------------------------------------------------------------------------------------


class _Writing:
    """What the records before say to the next one."""

    def __init__(self, conversation: Conversation) -> None:
        self.lines: dict[str, str] = {}
        self.before: str | None = None
        self.time: str | None = None
        self.context: Context | UnsetType = UNSET
        self.at = 0
        given = conversation.id
        if given is UNSET:
            first = conversation.messages[0].id if conversation.messages else ""
            given = made_uuid("session", made_uuid(0) if first is UNSET else legal_uuid(first) if first else "")
        self.session = legal_uuid(given)

    def records(self, message: Message) -> list[dict[str, Any]]:
        """The records of one message."""
        parent = message.parent_message_id
        line = self.before if parent is UNSET else self.lines.get(parent) if parent is not None else None
        place = Place(self.at, self.time, self.session, self.context)
        if message.role == "assistant":
            records = write_answer(message, place, line)
        elif message.role == "event":
            records = write_event(message, place, line)
        else:
            records = [write_queued(message, place, line) or write_user(message, place, line)]
        if not records:
            if message.id is not UNSET and line is not None:
                self.lines[message.id] = line
            return []
        self.before = records[-1]["uuid"]
        if message.id is not UNSET:
            self.lines[message.id] = records[-1]["uuid"]
        self.time = records[-1]["timestamp"] if type(records[-1]["timestamp"]) is str else self.time
        self.context = message.context if message.context is not UNSET else self.context
        self.at += 1
        return records


def records(conversation: Conversation, already: Conversation | None) -> Iterator[dict[str, Any]]:
    """The records of what a conversation says beyond `already`."""
    writing = _Writing(conversation)
    start = 0 if already is None else len(already.messages)
    for message in conversation.messages[:start]:
        writing.records(message)
    snapshots = [] if conversation.snapshots is UNSET else conversation.snapshots
    written = 0 if already is None or already.snapshots is UNSET else len(already.snapshots)
    waiting = deque(snapshots[written:])
    if conversation.title is not UNSET and (already is None or already.title != conversation.title):
        yield {"type": "custom-title", "customTitle": conversation.title, "sessionId": writing.session}
    held: dict[str, Any] | None = None
    for message in conversation.messages[start:]:
        new = writing.records(message)
        if not new:
            continue
        if held is not None and unpack(NAME, message.extra)[1].get("joined") is True and new[0]["type"] == "user":
            _join(held, new[0], writing, message)
            continue
        if held is not None:
            yield held
        while waiting and waiting[0].message_id == message.id:
            yield write_snapshot(waiting.popleft())
        yield from new[:-1]
        held = new[-1]
    if held is not None:
        yield held
    yield from map(write_snapshot, waiting)
    if type(conversation.head) is str and (already is None or already.head != conversation.head):
        default = next((one for one in reversed(conversation.messages) if one.sidechain is not True), None)
        if default is None or default.id != conversation.head:
            leaf = legal_uuid(conversation.head)
            yield {"type": "last-prompt", "lastPrompt": "", "leafUuid": leaf, "sessionId": writing.session}


def _join(held: dict[str, Any], more: dict[str, Any], writing: _Writing, message: Message) -> None:
    """One record again for messages that came from one."""
    said = held["message"]["content"], more["message"]["content"]
    blocks = [block for one in said for block in ([{"type": "text", "text": one}] if type(one) is str else one)]
    held["message"] = {**held["message"], "content": blocks}
    writing.before = held["uuid"]
    if message.id is not UNSET:
        writing.lines[message.id] = held["uuid"]


# -- telling it from others ------------------------------------------------------------------------------------------


def whole(value: Any) -> bool:
    """Is this object a record, not a part of one? Progress holds the lines of sub-agents, without their session."""
    if type(value) is dict and value.get("type") in ("user", "assistant") and _SESSIONS.isdisjoint(value):
        return False
    return _sure(value) > 1


def fits(document: Any) -> int:
    """Lines with Claude Code's own envelope are certain."""
    if type(document) is bytes:
        first = islice(Scanner(whole=whole).feed(document), 40)
        return max((_sure(one.value) for one in first if isinstance(one, Record)), default=0)
    return max(map(_sure, document[:20] if type(document) is list else [document]), default=0)


def _sure(record: Any) -> int:
    kind = record.get("type") if type(record) is dict else None
    if type(kind) is not str:
        return 0
    if kind == "summary":
        return 2 if "leafUuid" in record and type(record.get("summary")) is str else 0
    if kind == SNAPSHOT:
        return 3 if type(record.get("snapshot")) is dict else 0
    if kind in _LINES and type(record.get("uuid")) is str and "parentUuid" in record and "sessionId" in record:
        if "userType" in record or "cwd" in record:
            return 3
    if kind in ("user", "assistant") and type(record.get("message")) is dict and "context" not in record:
        return _sure_of(record, record["message"], kind)
    if kind == "system" and record.get("subtype") == "init" and type(record.get("session_id")) is str:
        return 3 if type(record.get("tools")) is list else 0
    return 2 if kind in _NOTES and "sessionId" in record else 0


def _sure_of(record: dict[str, Any], body: dict[str, Any], kind: str) -> int:
    """Lines that say less, as programs write them: certain where the message is one of the API."""
    content: Any = body.get("content")
    if (
        body.get("role", kind) != kind
        or type(content) not in (str, list)
        or "toolCalls" in body
        or "toolResults" in record
    ):
        return 0
    blocks = {str(block.get("type")) for block in content if type(block) is dict}
    if body.get("type") == "message" or blocks & _OF_THE_API:
        return 3
    return 2 if is_uuid(record.get("sessionId", record.get("session_id"))) else 1


_SESSIONS = frozenset({"sessionId", "session_id"})
_OF_THE_API = frozenset({"tool_use", "tool_result", "thinking"})
_LINES = frozenset({"user", "assistant", "system", "progress", "attachment"})
_NOTES = frozenset({"queue-operation", "pr-link", "permission-mode", "ai-title", "custom-title", "last-prompt"})

SESSION = SessionFile(name=NAME, reader=Reader, records=records, whole=whole)
FORMAT = SESSION.format(
    "Claude Code session files",
    fits,
    own_provider=PROVIDER,
    why={
        "id": "Claude Code's ids are UUIDs: one is made of it",
        "parentMessageId": "Claude Code's ids are UUIDs: one is made of it",
    },
)
