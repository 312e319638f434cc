"""Rollouts of Codex."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_KINDS = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_LATER = frozenset({"world_state", "inter_agent_communication", "token_usage_record", "retained_context"})
_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
_OLD = {"id", "timestamp", "instructions"}  # the first line before 0.30
_LOOK = 256 * 1024  # a session begins with its instructions, which are long


def sniff(document: Any) -> int:
    """Nobody else has envelopes of these kinds, or begins with a line of id, time and instructions."""
    from hansard.formats.coding_agents.scanner import Record, Scanner
    from hansard.formats.coding_agents.zstd import MAGIC, Inflater

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


def is_record(value: Any) -> bool:
    """Is it a record, not an object inside one?"""
    if type(value) is not dict:
        return False
    return ("payload" in value and type(value.get("type")) is str) or value.keys() >= _OLD


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


FORMAT = Format(
    name="codex",
    title="Codex rollouts",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"instructions", "payload"}),
    own_provider="openai",
    why={"isError": "the output of a call says no more than its words"},
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
)
