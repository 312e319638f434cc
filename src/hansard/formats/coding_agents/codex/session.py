"""Codex rollouts, of all ages: `rollout-*.jsonl`, also compressed (`.jsonl.zst`).  As of Codex 0.142 and its source.

    canonical                         native
    conversation                      session_meta, the first one: id, timestamp, forked_from_id or history_base;
                                      the event thread_name_updated is its title
    system (mark `at`)                base_instructions of the session
    system, developer, user           response_item message
    assistant                         a run of the model's response items; model from turn_context; usage from the
                                      changes of token_count
    tool                              a run of outputs; what patch_apply_end tells of one is residue
    user, one compaction              compacted
    event, data                       inter_agent_communication
    context, thinking                 cwd and branch of session and turn; effort of the turn, on the user's messages
    a branch that is not followed     turns that thread_rolled_back dropped

What the items are is told in `codex_items`. Other records say nothing that is not said here (events that repeat
items, settings, rate limits) and stay in the text of the file, which is kept. Codex has no ids for messages: theirs
count the records of the file. Releases before 0.30 wrote items without an envelope; a file of events alone is read
from its events.
Lost, and reported: ids, files that are no images, the error flag of results, other providers' encrypted thoughts,
branches that are no rollback, usage and models Codex has no field for.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.coding_agents.codex.reader import CodexReader
from hansard.formats.coding_agents.codex.records import NAME
from hansard.formats.coding_agents.codex.writer import records
from hansard.formats.coding_agents.scanner import Record, Scanner
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.formats.coding_agents.zstd import MAGIC, Inflater, ZstdScanner, behind

_KINDS = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_LATER = frozenset({"world_state", "inter_agent_communication", "token_usage_record", "retained_context"})
_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
_OLD = {"id", "timestamp", "instructions"}  # the first line before 0.30
_LOOK = 256 * 1024  # a session begins with its instructions, which are long


def is_record(value: Any) -> bool:
    """Is it a record, not an object inside one?"""
    if type(value) is not dict:
        return False
    return ("payload" in value and type(value.get("type")) is str) or value.keys() >= _OLD


def fits(document: Any) -> int:
    """Nobody else has envelopes of these kinds, or begins with a line of id, time and instructions."""
    if type(document) is bytes:
        if document.startswith(MAGIC):
            text = b""
            for piece in Inflater().feed(document[:_LOOK]):
                text += piece
                if len(text) > _LOOK:
                    break
            document = text
        scanner = Scanner()
        found = [*scanner.feed(document[:_LOOK]), *scanner.finish()][:20]
        values = [one.value for one in found if type(one) is Record]
        return max(_sure(values), max(map(_sure, ([value] for value in values)), default=0))
    return _sure(document if type(document) is list else [document])


def _sure(values: list[Any]) -> int:
    first = values[0] if values else None
    if type(first) is not dict:
        return 0
    kind = first.get("type")
    if type(kind) is str and type(first.get("payload")) is dict:
        return 3 if kind in _KINDS or kind in _LATER else 0
    old = first.keys() >= _OLD and type(first["id"]) is str
    return 3 if old and all(type(one) is dict and _is_bare(one) for one in values[1:]) else 0


def _is_bare(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return "record_type" in value or (type(kind) is str and (kind in _ITEMS or kind.endswith(("_call", "_output"))))


SESSION = SessionFile(name=NAME, reader=CodexReader, records=records, whole=is_record, scanner=ZstdScanner, join=behind)
FORMAT = SESSION.format(
    "Codex rollouts",
    fits,
    own_provider="openai",
    why={"isError": "the output of a call says no more than its words"},
)
