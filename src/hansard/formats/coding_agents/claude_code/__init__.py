"""Claude Code session files.

Files: `~/.claude/projects/<folder>/<session>.jsonl` and `agent-<id>.jsonl`.  As of 2.1.144.

    canonical                         native
    conversation id, parent thread    sessionId; forkedFrom of the first line
    title                             custom-title, else ai-title, else the summary of a line in this file
    message                           user, assistant, system, attachment and unknown records
    assistant message                 all lines that share message.id: blocks in order, usage of the last one; the
                                      mark `lines` has the other lines' uuids, times and block counts
    tool message                      a user record of tool_result blocks; toolUseResult is residue
    event with data                   system (the subtype names it), attachment
    event with raw(claude-code)       any other record; one without a uuid gets an id derived from its type and byte
    parent                            parentUuid, from line to line: see `Tree`; across a compaction logicalParentUuid;
                                      for a sidechain the message whose Task call started it
    context, thinking, todos          cwd, gitBranch, userType; thinkingMetadata; todos
    snapshot                          file-history-snapshot
    head                              the last message outside sidechains (a final `last-prompt` may name another)

The output of `--output-format stream-json` is read as a session. Progress records, stream events, superseded titles and
duplicate lines are in the text of the file only. Every repaired link is reported. Lost, and reported, when other
conversations are written: agents, runs, ids that are not UUIDs, reasoning of other providers (its text is kept), data
and sources inside a turn.

Files: `session` (Reader, writer), `records` (one record), `content` (blocks, usage, placeholders), `folder` (the files
of a session), `edits`. Builds on `anthropic`. Not to change: placeholder ids and versions, the marks `lines`, `joined`,
`stop`, `type`, `content`, since stored conversations have them.
May import: `coding_agents`, the core of `formats`, the model. Free to change: how records are read, as long as golden
files are exported byte for byte.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_SESSIONS = frozenset({"sessionId", "session_id"})
_API_BLOCKS = frozenset({"tool_use", "tool_result", "thinking"})
_LINES = frozenset({"user", "assistant", "system", "progress", "attachment"})
_NOTES = frozenset({"queue-operation", "pr-link", "permission-mode", "ai-title", "custom-title", "last-prompt"})


def sniff(document: Any) -> int:
    """Lines with Claude Code's own envelope are certain."""
    values = document[:20] if type(document) is list else [document]
    if type(document) is bytes:
        from hansard.formats.coding_agents.scanner import Scanner, first_values

        values = first_values(Scanner(whole=is_record), document, 40)
    return max(map(_sure, values), default=0)


def is_record(value: Any) -> bool:
    """Whether an object is a record, not part of one. Progress records hold sub-agents' lines, without a session."""
    if type(value) is dict and value.get("type") in ("user", "assistant") and _SESSIONS.isdisjoint(value):
        return False
    return _sure(value) > 1


def _sure(record: Any) -> int:
    kind = record.get("type") if type(record) is dict else None
    if type(kind) is not str or _is_of_a_descendant(record):
        return 0
    if kind == "summary":
        return 2 if "leafUuid" in record and type(record.get("summary")) is str else 0
    if kind == "file-history-snapshot":
        return 3 if type(record.get("snapshot")) is dict else 0
    if kind in _LINES and type(record.get("uuid")) is str and "parentUuid" in record and "sessionId" in record:
        if "userType" in record or "cwd" in record:
            return 3
    if kind in ("user", "assistant") and type(record.get("message")) is dict and "context" not in record:
        return _sure_of(record, record["message"], kind)
    if kind == "system" and record.get("subtype") == "init" and type(record.get("session_id")) is str:
        return 3 if type(record.get("tools")) is list else 0
    return 2 if kind in _NOTES and "sessionId" in record else 0


def _is_of_a_descendant(record: dict[str, Any]) -> bool:
    """Whether a record is Qwen Code's, which has the same links and Gemini's contents."""
    body = record.get("message")
    return "systemPayload" in record or (type(body) is dict and "parts" in body and "content" not in body)


def _sure_of(record: dict[str, Any], body: dict[str, Any], kind: str) -> int:
    """Minimal lines, as other programs write them: certain where the message is an API message."""
    from hansard.formats.coding_agents.identity import is_uuid

    content: Any = body.get("content")
    if (
        body.get("role", kind) != kind
        or type(content) not in (str, list)
        or "toolCalls" in body
        or "toolResults" in record
    ):
        return 0
    blocks = {str(block.get("type")) for block in content if type(block) is dict}
    if body.get("type") == "message" or blocks & _API_BLOCKS:
        return 3
    return 2 if is_uuid(record.get("sessionId", record.get("session_id"))) else 1


FORMAT = Format(
    name="claude-code",
    title="Claude Code session files",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"leafUuid", "sessionId", "session_id", "snapshot"}),
    own_provider="anthropic",
    why={
        "id": "Claude Code's ids are UUIDs: one is derived from it",
        "parentMessageId": "Claude Code's ids are UUIDs: one is derived from it",
    },
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
    suffix="jsonl",
)
