"""Messages of a ThreadProtocol turn: requests and responses in the spelling of its dialect, events, usage."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.errors import Unreadable
from hansard.formats.pydantic_ai.content import read_response, write_response
from hansard.formats.pydantic_ai.fields import Around, Dialect, is_absent, lacks
from hansard.formats.pydantic_ai.messages.requests import read_request, write_request
from hansard.formats.pydantic_ai.reasoning import take_provider
from hansard.formats.residue import pack, put, take_maybe_str, unpack
from hansard.model.conversation import Message, ModelRef, Usage
from hansard.model.parts import DataPart, RawPart

NAME = "thread-protocol"
DIALECT = Dialect(
    NAME,
    {
        **{kind: {} for kind in ("text", "thinking", "tool-call", "retry-prompt", "file", "user-prompt")},
        **{kind: {} for kind in ("url", "binary", "uploaded-file", "text-content", "structured-content")},
        "tool-return": {"status": "success"},
    },
    {"success": (False, UNSET), "error": (True, UNSET), "validation_error": (True, "retried")},
    thinking_id="thinking_id",
    outcome="status",
    times=False,
)


# -- usage ---------------------------------------------------------------------------------------------------------

_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "thinking_tokens": "reasoning_tokens",
    "total_tokens": "total_tokens",
}


def take_usage(record: dict[str, Any], key: str) -> Usage | UnsetType:
    if type(record.get(key)) is not dict:
        return UNSET
    rest = dict(record.pop(key))
    counts = {name: rest.pop(native) for native, name in _COUNTS.items() if type(rest.get(native)) is int}
    return Usage(**counts, extra=pack(NAME, rest))


def write_usage(usage: Usage | UnsetType) -> dict[str, Any] | UnsetType:
    if usage is UNSET:
        return UNSET
    out = put({}, **{native: getattr(usage, name) for native, name in _COUNTS.items()})
    return {**out, **unpack(NAME, usage.extra)[0]}


# -- messages ------------------------------------------------------------------------------------------------------


def read_record(record: Any, around: Around, path: str) -> list[Message]:
    """One message of an agent turn; a request becomes a message for each role in it."""
    if type(record) is not dict:
        raise Unreadable("a message expected", path)
    kind, rest = record.get("message_type"), dict(record)
    marks: dict[str, Any] = {}
    rest.pop("message_type", None)
    if kind == "system" and type(rest.get("event_type")) is str:
        return [_read_event(rest)]
    if kind not in ("request", "response"):
        return [raw_event(record, {"record": True})]
    if type(rest.get("parts")) is not list:
        raise Unreadable("no list of parts", f"{path}.parts")
    if "agent_id" not in rest:
        lacks(marks, "agent_id")
    who: dict[str, Any] = {"agent_id": take_maybe_str(rest, "agent_id")}
    if kind == "response":
        return [_read_answer(rest, marks, who, around)]
    around.sent = take_maybe_str(rest, "timestamp")
    return read_runs(rest.pop("parts"), rest, marks, who, around)


def read_runs(
    blocks: list[Any], rest: dict[str, Any], marks: dict[str, Any], who: dict[str, Any], around: Around
) -> list[Message]:
    found = []
    around.provider, around.model = UNSET, UNSET
    for k, run in enumerate(read_request(blocks, around)):
        if k:
            rest, marks = {}, {"joined": True}
        extra = pack(NAME, rest, {**marks, **run.marks()})
        found.append(Message(role=run.role, parts=run.parts, created_at=around.sent, **who, extra=extra))
    return found


def _read_answer(rest: dict[str, Any], marks: dict[str, Any], who: dict[str, Any], around: Around) -> Message:
    provider, kept = take_provider(rest)
    model = ModelRef(
        provider=provider,
        name=take_maybe_str(rest, "model_name"),
        response_id=take_maybe_str(rest, "provider_response_id"),
    )
    around.provider, around.model = kept.get("provider_name", provider), model.name
    return Message(
        role="assistant",
        parts=read_response(rest.pop("parts"), around),
        created_at=take_maybe_str(rest, "timestamp"),
        **who,
        model=model if model != ModelRef() else UNSET,
        usage=take_usage(rest, "usage"),
        finish_reason=take_maybe_str(rest, "finish_reason"),
        extra=pack(NAME, {**rest, **kept}, marks),
    )


def _read_event(rest: dict[str, Any]) -> Message:
    data = DataPart(name=rest.pop("event_type"), data=rest.pop("event_data", UNSET))
    at, agent = take_maybe_str(rest, "timestamp"), take_maybe_str(rest, "agent_id")
    return Message(role="event", parts=[data], created_at=at, agent_id=agent, extra=pack(NAME, rest))


def raw_event(value: Any, marks: dict[str, Any]) -> Message:
    return Message(role="event", parts=[RawPart(format=NAME, value=value)], extra={NAME: {"$": marks}})


def write_records(start: int, messages: list[Message], agent_id: Any, around: Around) -> list[Any]:
    """The messages of an agent turn."""
    out: list[Any] = []
    for i, message in enumerate(messages, start):
        rest, marks = unpack(NAME, message.extra)
        if message.role == "event":
            out += _write_events(message, rest, marks)
        elif message.role == "assistant":
            out.append(_write_answer(i, message, rest, marks, agent_id, around))
        elif parts := write_request(i, message, around):
            if marks.get("joined") is True and out and out[-1].get("message_type") == "request":
                out[-1]["parts"] += parts
                continue
            record = _record("request", message, marks, agent_id)
            out.append({**record, "parts": parts, **rest})
        elif not message.parts and message.role in ("user", "tool"):
            out.append({**_record("request", message, marks, agent_id), "parts": [], **rest})
    return out


def _record(kind: str, message: Message, marks: dict[str, Any], agent_id: Any) -> dict[str, Any]:
    out = put({"message_type": kind}, timestamp=message.created_at)
    if message.agent_id is not UNSET:
        agent_id = message.agent_id
    elif is_absent(marks, "agent_id"):
        agent_id = UNSET
    return put(out, agent_id=agent_id)


def _write_answer(
    i: int, message: Message, rest: dict[str, Any], marks: dict[str, Any], agent_id: Any, around: Around
) -> dict[str, Any]:
    out = _record("response", message, marks, agent_id)
    model = message.model if message.model is not UNSET else ModelRef()
    put(out, model_name=model.name, provider_name=model.provider, provider_response_id=model.response_id)
    out["parts"] = write_response(i, message, around)
    put(out, usage=write_usage(message.usage), finish_reason=message.finish_reason)
    return {**out, **rest}


def _write_events(message: Message, rest: dict[str, Any], marks: dict[str, Any]) -> list[Any]:
    out: list[Any] = []
    for part in message.parts:
        if type(part) is DataPart:
            record = put({"message_type": "system"}, timestamp=message.created_at)
            put(record, event_type=part.name, event_data=part.data, agent_id=message.agent_id)
            out.append({**record, **rest})
        elif type(part) is RawPart and part.format == NAME and marks.get("record") is True:
            if type(part.value) is dict:
                out.append(part.value)
    return out
