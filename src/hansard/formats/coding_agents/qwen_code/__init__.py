"""Qwen Code sessions.

Files: `~/.qwen/projects/<folder>/chats/<session>.jsonl`.  As of 0.15.10.

    canonical                         native
    conversation id                   sessionId
    title                             the last system record custom_title
    message, parent                   a record {uuid, parentUuid, timestamp, type}, with a Gemini content in `message`
    user, assistant                   user; assistant with model and usageMetadata
    tool                              tool_result; toolCallResult is residue of the result, with what undo needs
    event with data                   system: the subtype names it, systemPayload is its data
    sidechain                         system ui_telemetry of a sub-agent: its answers, and its calls after them

Other telemetry and attribution snapshots are in the text of the file only; parents are followed through them. A
sub-agent's prompt is that of the call; what its tools returned is not recorded. A rewind is a record whose parent is
before the end.
Lost, and reported, when other conversations are written: system messages, sidechains, runs, ids that are not UUIDs,
calls without a name.

Files: `session` (Reader, writer), `records` (one record, and the edits it records). Builds on `gemini`, and on
`gemini_cli` for results. Not to change: ids of sub-agents' prompts and results (`:prompt`, `:results`),
since stored conversations have them.
May import: `coding_agents`, the core of `formats`, the model. Free to change: how records are read, as long as golden
files are exported byte for byte.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

TYPES = ("user", "assistant", "tool_result", "system")


def sniff(document: Any) -> int:
    """Claude Code's chain of records with Gemini's contents in them."""
    values = document[:20] if type(document) is list else [document]
    if type(document) is bytes:
        from hansard.formats.coding_agents.scanner import Scanner, first_values

        values = first_values(Scanner(whole=is_record), document, 20)
    return max((3 if is_record(value) else 0 for value in values), default=0)


def is_record(value: Any) -> bool:
    """Whether an object is a record, not part of one."""
    if type(value) is not dict or value.get("type") not in TYPES or "parentUuid" not in value:
        return False
    body = value.get("message")
    return "systemPayload" in value or (type(body) is dict and type(body.get("parts")) is list)


FORMAT = Format(
    name="qwen-code",
    title="Qwen Code sessions",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"parentUuid"}),
    own_provider=None,
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
    why={"id": "Qwen Code's ids are UUIDs: one is derived from it"},
)
