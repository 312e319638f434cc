"""Codex rollouts.

Files of all releases: `rollout-*.jsonl`, also compressed (`.jsonl.zst`).  As of Codex 0.142 and its source.

    canonical                         native
    conversation                      session_meta, the first one: id, timestamp, forked_from_id or history_base;
                                      the event thread_name_updated is its title
    system (mark `at`)                base_instructions of the session
    system, developer, user           response_item message
    assistant                         a run of the model's response items; model from turn_context; usage from the
                                      changes of token_count
    tool                              a run of outputs; the fields of patch_apply_end are residue
    user, one compaction              compacted
    event, data                       inter_agent_communication
    context, thinking                 cwd and branch of session and turn; effort of the turn, on the user's messages
    an inactive branch                turns that thread_rolled_back dropped

Items are in `records.py`. Other records (events that repeat items, settings, rate limits) stay in the text of the
file, which is kept. Codex has no ids for messages: they are derived from the number of the record. Releases before
0.30 wrote items without an envelope; a file with events only is read from its events.

Response items are the messages; events that repeat them are skipped. A run of the assistant's items is one message,
and so is a run of outputs; the end of a response (its token count), a new turn or another role ends them. A rollback
drops turns from the active path, not from the tree: the next message follows the one before them.

A written rollout has a session and, besides the items sent to the model, the events that Codex's screen shows. Unknown
times, folders and models are left out, or empty where Codex requires them.
Lost, and reported: ids, files that are not images, the error flag of results, other providers' encrypted reasoning,
branches that a rollback cannot express, usage and models Codex has no field for.

Files: `session` (Reader, writer), `records` (response items, events as items), `turns` (rollbacks), `usage` (token
totals), `edits` (unified diffs). Builds on `openai_responses`. Not to change: ids of messages (`<thread>:<record>`),
the mark `at`, since stored conversations have them.
May import: `coding_agents`, the core of `formats`, the model. Free to change: how records are read, as long as golden
files are exported byte for byte.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_KINDS = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_NEWER_KINDS = frozenset({"world_state", "inter_agent_communication", "token_usage_record", "retained_context"})
_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
_OLD = {"id", "timestamp", "instructions"}  # the first line before 0.30
_LOOK = 256 * 1024  # long instructions come first


def sniff(document: Any) -> int:
    """Only Codex has envelopes of these kinds, or a first line of id, time and instructions."""
    if type(document) is bytes:
        from hansard.formats.coding_agents.scanner import Scanner, first_values
        from hansard.formats.coding_agents.zstd import MAGIC, Decompressor

        if document.startswith(MAGIC):
            text = b""
            for piece in Decompressor().feed(document[:_LOOK]):
                text += piece
                if len(text) > _LOOK:
                    break
            document = text
        values = first_values(Scanner(), document[:_LOOK], 20, to_end=True)
        return max(_sure(values), max(map(_sure, ([value] for value in values)), default=0))
    return _sure(document if type(document) is list else [document])


def is_record(value: Any) -> bool:
    """Whether a value is a record, not an object inside one."""
    if type(value) is not dict:
        return False
    return ("payload" in value and type(value.get("type")) is str) or value.keys() >= _OLD


def _sure(values: list[Any]) -> int:
    first = values[0] if values else None
    if type(first) is not dict:
        return 0
    kind = first.get("type")
    if type(kind) is str and type(first.get("payload")) is dict:
        return 3 if kind in _KINDS or kind in _NEWER_KINDS else 0
    old = first.keys() >= _OLD and type(first["id"]) is str
    return 3 if old and all(type(one) is dict and _is_bare(one) for one in values[1:]) else 0


def _is_bare(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return "record_type" in value or (type(kind) is str and (kind in _ITEMS or kind.endswith(("_call", "_output"))))


FORMAT = Format(
    name="codex",
    title="Codex rollouts",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"instructions", "payload"}),
    own_provider="openai",
    why={"isError": "the output of a call has text only"},
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
    suffix="jsonl",
)
