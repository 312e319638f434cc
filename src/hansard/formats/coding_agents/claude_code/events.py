"""Records of a Claude Code session in which neither prompt nor answer is, read and written; `claude_code` has the map.

What the user says while an answer is under way comes as an attachment: it is the user's word all the same.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.coding_agents.claude_code.content import NAME, read_part, write_parts
from hansard.formats.coding_agents.claude_code.records import Place, write_envelope
from hansard.formats.residue import pack, put, unpack
from hansard.model.conversation import Message
from hansard.model.parts import DataPart, RawPart, TextPart

_SUBTYPES = frozenset({"stop_hook_summary", "turn_duration", "compact_boundary", "microcompact_boundary", "api_error"})
_SUBTYPES |= {"local_command", "away_summary", "bridge_status", "scheduled_task_fire", "informational"}


def read_event(fields: dict[str, Any], rest: dict[str, Any]) -> Message:
    """A record of any other kind: what the system noted, an attachment, or one that is not known."""
    kind = rest.get("type")
    if kind == "system" and "subtype" not in rest:  # an older release
        del rest["type"]
        return Message(
            role="event", parts=[DataPart(name=kind, data=rest)], **fields, extra=pack(NAME, {}, {"type": _BARE})
        )
    if kind == "system" and type(rest.get("subtype")) is str:
        event = rest.get("event")
        if rest["subtype"] == "informational" and type(event) is dict and event.get("name") == rest.get("content"):
            data = event.get("data", UNSET)  # one of another format's, as `write_event` has it
            return Message(role="event", parts=[DataPart(name=event["name"], data=data)], **fields)
        del rest["type"]
        name = rest.pop("subtype")
        marks: Any = UNSET if name in _SUBTYPES else {NAME: {"$": {"type": "system"}}}
        return Message(role="event", parts=[DataPart(name=name, data=rest)], **fields, extra=marks)
    if kind == "attachment" and type(rest.get("attachment")) is dict:
        del rest["type"]
        data = rest.pop("attachment")
        if data.get("type") == _QUEUED and type(data.get("prompt")) in (str, list):
            return _read_queued(fields, rest, dict(data))
        return Message(
            role="event",
            parts=[DataPart(name="attachment", data=data)],
            **fields,
            extra=pack(NAME, rest, {"type": "attachment"}),
        )
    return Message(role="event", parts=[RawPart(format=NAME, value=rest)], **fields)


def _read_queued(fields: dict[str, Any], rest: dict[str, Any], data: dict[str, Any]) -> Message:
    """What the user said while an answer was under way."""
    prompt = data.pop("prompt")
    del data["type"]
    marks: dict[str, Any] = {"type": _QUEUED}
    if type(prompt) is list:
        marks["content"] = "list"
    parts = [TextPart(text=prompt)] if type(prompt) is str else [read_part(block, {}) for block in prompt]
    if data:
        rest["attachment"] = data
    return Message(role="user", parts=parts, **fields, extra=pack(NAME, rest, marks))


def write_queued(message: Message, place: Place, parent: str | None) -> dict[str, Any] | None:
    """The attachment that words of the user's came as; None if they came otherwise."""
    rest, marks = unpack(NAME, message.extra)
    if marks.get("type") != _QUEUED or message.role != "user":
        return None
    held = rest.pop("attachment", {})
    blocks = write_parts(message)[0]
    plain = marks.get("content") != "list" and len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    data = {"type": _QUEUED, "prompt": blocks[0]["text"] if plain else blocks, **(held if type(held) is dict else {})}
    return {**write_envelope(message, rest, place, parent), "type": "attachment", "attachment": data, **rest}


_QUEUED = "queued_command"
_BARE = "bare system"


def write_event(message: Message, place: Place, parent: str | None) -> list[dict[str, Any]]:
    """The record of an event; none for one that only another agent understands."""
    rest, marks = unpack(NAME, message.extra)
    part = message.parts[0] if len(message.parts) == 1 else None
    said: dict[str, Any]
    raw = part.value if type(part) is RawPart and part.format == NAME else None
    if type(raw) is dict and type(raw.get("type")) is str:
        said = raw
    elif type(part) is DataPart and type(part.data) is dict and marks.get("type") == _BARE:
        said = {"type": "system", **part.data}
    elif type(part) is DataPart and marks.get("type") == "attachment":
        said = {"type": "attachment", "attachment": part.data, **rest}
    elif (
        type(part) is DataPart and type(part.data) is dict and (part.name in _SUBTYPES or marks.get("type") == "system")
    ):
        said = {"type": "system", "subtype": part.name, **part.data}
    elif type(part) is DataPart:
        event = put({"name": part.name}, data=part.data)
        said = {"type": "system", "subtype": "informational", "content": part.name, "level": "info", "event": event}
    else:
        words = "\n".join(one.text for one in message.parts if type(one) is TextPart)
        if not words:
            return []
        said = {"type": "system", "subtype": "informational", "content": words, "level": "info"}
    said = dict(said)
    out = write_envelope(message, said, place, parent)
    if said.get("subtype") == "compact_boundary" and said.get("type") == "system":
        out["parentUuid"], out["logicalParentUuid"] = None, parent
    return [{**out, **{key: value for key, value in said.items() if key not in out}}]
