"""One message of an agent turn, reader beside writer: ThreadMessages and SystemMessages.

A request of Pydantic AI may hold parts of several roles, so it is read into a message for each; which messages share a
request is recorded as in `pydantic_ai`. The dialect shares Pydantic AI's residue: what the document lacks is written
beside its own fields and read back into the same place.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.pydantic_ai.content import read_response, write_response
from hansard.formats.pydantic_ai.fields import NAME as PYDANTIC_AI
from hansard.formats.pydantic_ai.fields import Around, Dialect, is_absent
from hansard.formats.pydantic_ai.messages.documents import NATIVE_STATES, STATES, shares_request
from hansard.formats.pydantic_ai.messages.requests import read_request, write_request
from hansard.formats.pydantic_ai.reasoning import take_provider
from hansard.formats.residue import pack, set_present, take_maybe_str, unpack
from hansard.formats.thread_protocol.derived import DERIVED, Derived, note
from hansard.model import exact_json
from hansard.model.conversation import Message, ModelRef, Usage
from hansard.model.parts import DataPart, RawPart

NAME = "thread-protocol"
DIALECT = Dialect(
    PYDANTIC_AI,
    {
        **{kind: {} for kind in ("text", "thinking", "tool-call", "retry-prompt", "file", "user-prompt", "compaction")},
        **{kind: {} for kind in ("url", "binary", "uploaded-file", "text-content", "structured-content")},
        "tool-return": {"status": "success"},
    },
    {"success": (False, UNSET), "error": (True, UNSET), "validation_error": (True, "retried")},
    thinking_id="thinking_id",
    outcome="status",
    times=False,
    documented=True,
)


# -- usage ---------------------------------------------------------------------------------------------------------

CONFIGURING = ("system", "developer")
COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "thinking_tokens": "reasoning_tokens",
    "total_tokens": "total_tokens",
    "cache_read_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_write_tokens",
}


def take_usage(record: dict[str, Any], key: str) -> Usage | UnsetType:
    if type(record.get(key)) is not dict:
        return UNSET
    rest = dict(record.pop(key))
    counts = {name: rest.pop(native) for native, name in COUNTS.items() if type(rest.get(native)) is int}
    return Usage(**counts, extra=pack(PYDANTIC_AI, rest))


def write_usage(usage: Usage | UnsetType) -> dict[str, Any] | UnsetType:
    if usage is UNSET:
        return UNSET
    out = set_present({}, **{native: getattr(usage, name) for native, name in COUNTS.items()})
    return {**out, **unpack(PYDANTIC_AI, usage.extra)[0]}


# -- reading -------------------------------------------------------------------------------------------------------


class Reading:
    """One pass over a thread; `derived` takes out what is listed as derived."""

    def __init__(self, derived: Derived) -> None:
        self.around = Around(DIALECT)
        self.derived = derived
        self.out: list[Message] = []

    def request(self, rest: dict[str, Any], hints: dict[str, Any], sent: Any, **said: Any) -> None:
        """Read a request: a message for each role in it. `sent` is its time, UNSET if it has none."""
        around = self.around
        around.provider, around.model, around.sent = UNSET, UNSET, sent
        found = read_request(rest.pop("parts"), around)
        if "timestamp" not in rest and sent != found[0].at:
            rest["timestamp"] = None if sent is UNSET else sent
        run_id, agent_id = said["run_id"], said["agent_id"]
        first = {"state": _take_state(rest), "metadata": _take_metadata(rest)}
        for k, run in enumerate(found):
            marks = run.marks()
            message = Message(
                role=run.role,
                parts=run.parts,
                created_at=run.at,
                run_id=run_id,
                agent_id=agent_id,
                extra=pack(PYDANTIC_AI, {} if k else rest, marks),
                **({} if k else first),
            )
            if bool(k) != shares_request(self.out[-1] if self.out else None, message):
                extra = pack(PYDANTIC_AI, {} if k else rest, {**marks, "joined": bool(k)})
                message = replace(message, extra=extra)
            self.out.append(message if k else marked(message, hints))

    def response(self, rest: dict[str, Any], hints: dict[str, Any], sent: Any, **said: Any) -> None:
        provider, kept = take_provider(rest)
        model = ModelRef(
            provider=provider,
            name=take_maybe_str(rest, "model_name"),
            response_id=take_maybe_str(rest, "provider_response_id"),
        )
        around = self.around
        around.provider, around.model = kept.get("provider_name", provider), model.name
        around.at = around.sent = sent
        parts = read_response(rest.pop("parts"), around)
        fields: dict[str, Any] = {
            "model": model if model != ModelRef() else UNSET,
            "usage": take_usage(rest, "usage"),
            "finish_reason": take_maybe_str(rest, "finish_reason"),
            "state": _take_state(rest),
            "metadata": _take_metadata(rest),
        }
        extra = pack(PYDANTIC_AI, {**rest, **kept})
        message = Message(role="assistant", parts=parts, created_at=sent, **said, **fields, extra=extra)
        self.out.append(marked(message, hints))

    def record(self, record: Any, path: str, run_id: Any) -> None:
        """Read one message of an agent turn."""
        if type(record) is not dict:
            raise Unreadable("expected a message object", path)
        kind, rest = record.get("message_type"), dict(record)
        rest.pop("message_type", None)
        if kind == "system" and type(rest.get("event_type")) is str:
            return self.event(rest, run_id)
        if kind not in ("request", "response"):
            self.out.append(raw_event(record, {"record": True}, run_id))
            return None
        if type(rest.get("parts")) is not list:
            raise Unreadable("missing list of parts", f"{path}.parts")
        hints: dict[str, Any] = {}
        self.derived.take(rest, hints, ("timestamp", "agent_id"))
        own = rest.pop("agent_id") if type(rest.get("agent_id")) is str else UNSET
        sent = take_maybe_str(rest, "timestamp")
        read = self.response if kind == "response" else self.request
        return read(rest, hints, sent, agent_id=own, run_id=run_id)

    def event(self, rest: dict[str, Any], run_id: Any) -> None:
        hints: dict[str, Any] = {}
        self.derived.take(rest, hints, ("timestamp",))
        data = DataPart(name=rest.pop("event_type"), data=rest.pop("event_data", UNSET))
        if type(rest.get("id")) is str:
            data = replace(data, id=rest.pop("id"))
        last, place = (self.out[-1] if self.out else None), rest.get("part")
        if type(place) is int and last is not None and last.role == "assistant" and last.run_id == run_id:
            if not rest.keys() - {"part", "timestamp"} and 0 <= place <= len(last.parts) and not hints:
                if rest.get("timestamp", UNSET) == last.created_at:
                    last.parts.insert(place, data)
                    return
        at, agent = take_maybe_str(rest, "timestamp"), take_maybe_str(rest, "agent_id")
        message = Message(
            role="event",
            parts=[data],
            created_at=at,
            agent_id=agent,
            run_id=run_id,
            metadata=_take_sides(rest),
            extra=pack(NAME, rest, hints),
        )
        self.out.append(message)


def _take_state(record: dict[str, Any]) -> Any:
    state = take_maybe_str(record, "state")
    return STATES.get(state, state) if type(state) is str else UNSET


def _take_metadata(record: dict[str, Any]) -> Any:
    return record.pop("metadata") if type(record.get("metadata")) is dict else UNSET


_SIDES = ("source_agent", "target_agents")


def _take_sides(rest: dict[str, Any]) -> dict[str, Any] | UnsetType:
    """Source and target of a system message, with its other metadata."""
    given = rest.get("metadata")
    found: dict[str, Any] = {}
    if type(rest.get("source_agent")) is str:
        found["source_agent"] = rest.pop("source_agent")
    if type(rest.get("target_agents")) is list:
        found["target_agents"] = rest.pop("target_agents")
    if type(given) is dict and not given.keys() & set(_SIDES) and (given or not found):
        found = {**rest.pop("metadata"), **found}
        return found
    return found or UNSET


def raw_event(value: Any, hints: dict[str, Any], run_id: Any = UNSET) -> Message:
    """A message or turn of an unknown kind, kept verbatim."""
    return Message(role="event", parts=[RawPart(format=NAME, value=value)], run_id=run_id, extra={NAME: {"$": hints}})


def marked(message: Message, hints: dict[str, Any]) -> Message:
    """The message with hints on the structure of the thread."""
    if not hints:
        return message
    rest, before = unpack(NAME, message.extra)
    own = pack(NAME, rest, {**before, **hints})
    return replace(message, extra={**(message.extra or {}), **(own or {})})


# -- writing -------------------------------------------------------------------------------------------------------


def write_requests(start: int, messages: list[Message], around: Around) -> tuple[list[Any], Any, bool]:
    """The parts of the messages that share a request, the time of the request, and whether it says anything."""
    sent = around.sent = request_time(*messages)
    parts: list[Any] = []
    says = False
    for i, message in enumerate(messages, start):
        around.at = message.created_at
        written = write_request(i, message, around)
        parts += written
        says = says or bool(written) or (not message.parts and message.role in ("user", "tool"))
    return parts, sent, says


def request_time(first: Message, *others: Message) -> Any:
    """The time of a request, where it is not that of its first part. A system prompt without a time is left out."""
    said = unpack(PYDANTIC_AI, first.extra)[0]
    if "timestamp" in said:
        return UNSET if said["timestamp"] is None else said["timestamp"]
    if first.created_at is UNSET and first.role in CONFIGURING and others:
        return request_time(*others)
    return first.created_at


def put_fields(out: dict[str, Any], message: Message) -> dict[str, Any]:
    """State, metadata and what else Pydantic AI says of a request or response."""
    state = message.state
    set_present(out, state=NATIVE_STATES.get(state, state) if type(state) is str else UNSET, metadata=message.metadata)
    rest = unpack(PYDANTIC_AI, message.extra)[0]
    rest.pop("timestamp", None)
    return {**out, **rest}


def required(out: dict[str, Any], hints: dict[str, Any], /, **fields: Any) -> dict[str, Any]:
    """Set required fields; one that is UNSET is derived, unless the document did not have it."""
    for key, value in fields.items():
        if value is not UNSET:
            out[key] = value
        elif not is_absent(hints, key):
            nulls = hints.get("null")
            out[key] = None if type(nulls) is list and key in nulls else DERIVED
    return out


def write_request_record(start: int, messages: list[Message], agent_id: Any, around: Around) -> list[Any]:
    first = messages[0]
    hints = unpack(NAME, first.extra)[1]
    parts, sent, says = write_requests(start, messages, around)
    if not says:
        return []
    out = required({"message_type": "request"}, hints, timestamp=sent)
    put_agent(out, hints, first, agent_id)
    out["parts"] = parts
    return [put_fields(out, first)]


def put_agent(out: dict[str, Any], hints: dict[str, Any], message: Message, agent_id: Any) -> None:
    """The agent of a message; that of its turn, if it names none."""
    if message.agent_id is not UNSET:
        out["agent_id"] = message.agent_id
    elif not is_absent(hints, "agent_id") and "agent_id" not in unpack(PYDANTIC_AI, message.extra)[0]:
        out["agent_id"] = agent_id
        note(out, "agent_id")


def write_response_record(i: int, message: Message, agent_id: Any, around: Around) -> list[Any]:
    hints = unpack(NAME, message.extra)[1]
    around.at = around.sent = message.created_at
    out = required({"message_type": "response"}, hints, timestamp=request_time(message))
    put_agent(out, hints, message, agent_id)
    model = message.model if message.model is not UNSET else ModelRef()
    set_present(out, model_name=model.name, provider_name=model.provider, provider_response_id=model.response_id)
    out["parts"] = write_response(i, message, around)
    set_present(out, usage=write_usage(message.usage), finish_reason=message.finish_reason)
    records = [put_fields(out, message)]
    for j, part in enumerate(message.parts):
        if type(part) is DataPart:
            record = required({"message_type": "system"}, {}, timestamp=message.created_at)
            records.append({**_event(record, part), "part": j})
    return records


def _event(record: dict[str, Any], part: DataPart) -> dict[str, Any]:
    return set_present(record, event_type=part.name, event_data=part.data, id=part.id)


def write_event_records(message: Message) -> list[Any]:
    out: list[Any] = []
    rest, hints = unpack(NAME, message.extra)
    for part in message.parts:
        if type(part) is DataPart:
            record = required({"message_type": "system"}, hints, timestamp=message.created_at)
            _event(record, part)
            others = dict(message.metadata) if message.metadata is not UNSET else {}
            if type(others.get("source_agent")) is str:
                record["source_agent"] = others.pop("source_agent")
            if type(others.get("target_agents")) is list:
                record["target_agents"] = others.pop("target_agents")
            if others or message.metadata == {}:
                record["metadata"] = others
            out.append({**set_present(record, agent_id=message.agent_id), **rest})
        elif type(part) is RawPart and part.format == NAME and hints.get("record") is True:
            if type(part.value) is dict:
                out.append(exact_json.plain(part.value))
    return out
