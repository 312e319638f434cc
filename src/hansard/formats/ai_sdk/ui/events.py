"""System events in UIMessages: a `data-<event type>` part, and beside it what a part cannot say.

The part's `data` is the event's data, unchanged. Time, source and target stand in the metadata of the message, in
`systemMessages`: one entry for each event, in order, such as
`{"event_type": "agent.handoff", "timestamp": ..., "source_agent": "a1", "target_agents": ["a2"]}`.
A data part without an entry is data of its message. Only entries of assistant messages count: what a client says of
its own messages is data.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.model.conversation import Message
from hansard.model.parts import DataPart

NAME = "ai-sdk-ui"
EVENTS = "systemMessages"
_KNOWN = ("thread-protocol", "pydantic-ai", NAME)


def differ(one: Any, other: Any) -> bool:
    """Whether two messages are of different agents, as far as they name them."""
    return type(one) is str and type(other) is str and one != other


def is_shown(message: Message) -> bool:
    """Whether clients see an event: named data with a time, other than a record of a coding agent's session."""
    if message.role != "event" or not message.parts or message.created_at is UNSET:
        return False
    if message.extra is not UNSET and message.extra.keys() - _KNOWN:
        return False
    return all(type(part) is DataPart for part in message.parts)


def entry(message: Message, part: DataPart) -> dict[str, Any]:
    """What the metadata says of an event."""
    out: dict[str, Any] = {"event_type": part.name}
    if message.created_at is not UNSET:
        out["timestamp"] = message.created_at
    more = message.metadata if message.metadata is not UNSET else {}
    return {**out, **{key: value for key, value in more.items() if key not in ("event_type", "timestamp")}}


def as_message(found: dict[str, Any], part: DataPart) -> Message:
    """The event that a data part and its entry are."""
    more = {key: value for key, value in found.items() if key not in ("event_type", "timestamp")}
    at = found.get("timestamp", UNSET)
    return Message(role="event", parts=[part], created_at=at, metadata=more or UNSET)


def take_entries(metadata: dict[str, Any], blocks: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The metadata without its entries, and the entries; none if they are not those of the data parts."""
    given = metadata.get(EVENTS)
    if type(given) is not list or not given or type(blocks) is not list:
        return metadata, []
    names = iter([block["type"] for block in blocks if type(block) is dict and _is_data(block)])
    for found in given:
        if type(found) is not dict or type(found.get("timestamp", "")) is not str:
            return metadata, []
        if type(found.get("event_type")) is not str or f"data-{found['event_type']}" not in names:
            return metadata, []
    return {key: value for key, value in metadata.items() if key != EVENTS}, given


def _is_data(block: dict[str, Any]) -> bool:
    kind = block.get("type")
    return type(kind) is str and kind.startswith("data-") and "data" in block
