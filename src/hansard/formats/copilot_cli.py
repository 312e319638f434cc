"""GitHub Copilot CLI event logs: `~/.copilot/session-state/<session>/events.jsonl`.  As of 1.0.68.

    canonical                         native
    conversation id, created          session.start: sessionId, startTime; its other data are residue
    message, parent                   an event {type, id, parentId, timestamp, data} in which somebody speaks; over
                                      events of hooks, permissions and turns the parent is the last one who spoke
    system, user                      system.message, user.message
    assistant                         assistant.message: reasoningText with reasoningOpaque, content, toolRequests
    tool                              tool.execution_complete
    event with raw(copilot-cli)       any other event

Hooks, permissions, starts of tools, and the beginnings and ends of turns are in the text of the file only.
Lost, and reported: titles, agents, runs, contexts, todos, side chains, files, the order of parts in an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.made_ids import is_made, made_uuid
from hansard.formats.residue import Unfit, pack, put, take_maybe_str, take_str, unpack
from hansard.formats.session_file import Report, SessionFile
from hansard.formats.session_identity import NO_TIME, read_time
from hansard.formats.session_numbers import Numbers, Uuids
from hansard.formats.session_scanner import Record, Scanner
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message, ModelRef, Usage
from hansard.model.parts import Binding, RawPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

NAME = "copilot-cli"
PROVIDER = "github-copilot"
_SILENT = (
    "hook.",
    "permission.",
    "assistant.turn_",
    "tool.execution_start",
    "tool.execution_pro",
    "tool.execution_par",
)
_NO_SESSION = "00000000-0000-8000-8000-000000000000"


# -- what was said ---------------------------------------------------------------------------------------------------


def _read_words(role: str) -> Any:
    def read(data: dict[str, Any], fields: dict[str, Any], names: dict[str, str]) -> Message:
        text = take_str(data, "content")
        if data.get("role") == role:
            del data["role"]
        return Message(role=role, parts=[TextPart(text=text)], **fields, extra=pack(NAME, data))

    return read


def _write_words(message: Message, data: dict[str, Any]) -> dict[str, Any]:
    words = "\n\n".join(part.text for part in message.parts if type(part) is TextPart)
    kind = "user" if message.role == "user" else "system"
    said = {"content": words} if kind == "user" else {"role": "system", "content": words}
    return {"type": f"{kind}.message", "data": {**said, **data}}


def _read_answer(data: dict[str, Any], fields: dict[str, Any], names: dict[str, str]) -> Message:
    text, requests = take_str(data, "content"), data.pop("toolRequests", [])
    thought, opaque = take_maybe_str(data, "reasoningText"), take_maybe_str(data, "reasoningOpaque")
    model, response = take_maybe_str(data, "model"), take_maybe_str(data, "messageId")
    parts: list[Any] = []
    if thought is not UNSET or opaque is not UNSET:
        bound = UNSET if opaque is UNSET else Binding(provider=PROVIDER, model=model)
        parts.append(ReasoningPart(text="" if thought is UNSET else thought, signature=opaque, binding=bound))
    if text:
        parts.append(TextPart(text=text))
    if type(requests) is not list:
        raise Unfit("toolRequests")
    for request in requests:
        parts.append(_read_request(request, names))
    usage: Usage | UnsetType = UNSET
    if type(data.get("outputTokens")) is int:
        usage = Usage(output_tokens=data.pop("outputTokens"))
    named = model is not UNSET or response is not UNSET
    return Message(
        role="assistant",
        parts=parts,
        **fields,
        model=ModelRef(provider=PROVIDER, name=model, response_id=response) if named else UNSET,
        usage=usage,
        extra=pack(NAME, data),
    )


def _read_request(request: Any, names: dict[str, str]) -> ToolCallPart:
    if type(request) is not dict:
        raise Unfit("toolRequests")
    rest = dict(request)
    call, name = take_str(rest, "toolCallId"), take_str(rest, "name")
    names[call] = name
    given = rest.pop("arguments", UNSET)
    return ToolCallPart(tool_call_id=call, tool_name=name, input=given, extra=pack(NAME, rest))


def _write_answer(message: Message, data: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if message.model is not UNSET:
        put(out, messageId=message.model.response_id, model=message.model.name)
    texts = [part.text for part in message.parts if type(part) is TextPart]
    calls = [part for part in message.parts if type(part) is ToolCallPart]
    out |= {"content": "\n\n".join(texts), "toolRequests": [_write_request(part) for part in calls]}
    for part in message.parts:
        if type(part) is ReasoningPart:
            put(out, reasoningText=part.text or UNSET)
            if part.binding is not UNSET and part.binding.provider == PROVIDER:
                put(out, reasoningOpaque=part.signature)
    if message.usage is not UNSET:
        put(out, outputTokens=message.usage.output_tokens)
    return {"type": "assistant.message", "data": {**out, **data}}


def _write_request(part: ToolCallPart) -> dict[str, Any]:
    call = "" if part.tool_call_id is UNSET else part.tool_call_id
    out = {"toolCallId": call, "name": "tool" if part.tool_name is UNSET else part.tool_name}
    given = part.input
    if given is UNSET and type(part.input_text) is str:
        given = part.input_text
    return {**put(out, arguments=given), **unpack(NAME, part.extra)[0]}


def _read_result(data: dict[str, Any], fields: dict[str, Any], names: dict[str, str]) -> Message:
    call, success = take_str(data, "toolCallId"), data.pop("success", None)
    if type(success) is not bool:
        raise Unfit("success")
    key, inner = ("result", "content") if success or "error" not in data else ("error", "message")
    held = data.get(key)
    output: Any = UNSET
    if type(held) is dict and type(held.get(inner)) is str:
        held = dict(held)
        output = held.pop(inner)
        data.pop(key)
        if held:
            data[key] = held
    part = ToolResultPart(tool_call_id=call, tool_name=names.get(call, UNSET), output=output, is_error=not success)
    return Message(role="tool", parts=[part], **fields, extra=pack(NAME, data))


def _write_result(part: ToolResultPart, data: dict[str, Any]) -> dict[str, Any]:
    failed = part.is_error is True
    output = part.output
    if part.content is not UNSET:
        output = "\n".join(inner.text for inner in part.content if type(inner) is TextPart)
    elif type(output) is not str and output is not UNSET:
        output = exact_json.encode(output).decode()
    out: dict[str, Any] = {"toolCallId": "" if part.tool_call_id is UNSET else part.tool_call_id, "success": not failed}
    key, inner_key = ("error", "message") if failed and "result" not in data else ("result", "content")
    held = data.pop(key, {})
    if output is not UNSET or held:
        out[key] = {**put({}, **{inner_key: output}), **(held if type(held) is dict else {})}
    return {"type": "tool.execution_complete", "data": {**out, **data}}


_READERS: dict[str, Any] = {
    "system.message": _read_words("system"),
    "user.message": _read_words("user"),
    "assistant.message": _read_answer,
    "tool.execution_complete": _read_result,
}


# -- reading ---------------------------------------------------------------------------------------------------------


class Reader:
    """A message for every event in which somebody speaks, at once."""

    def __init__(self) -> None:
        self.repairs: list[Report] = []
        self.unsettled: set[str] = set()
        self._start: dict[str, Any] = {}
        self._numbers = Numbers()  # of the message each event stands for
        self._ids = Uuids()
        self._names: dict[str, str] = {}
        self._first_seen = False

    def feed(self, records: Iterable[Record]) -> list[Message]:
        return [message for record in records if (message := self._read(record)) is not None]

    def finish(self) -> list[Message]:
        return []

    def conversation(self, messages: list[Message]) -> Conversation:
        rest = dict(self._start)
        session, created = take_maybe_str(rest, "sessionId"), read_time(rest.get("startTime"))
        if created is not UNSET or rest.get("startTime") == NO_TIME:
            del rest["startTime"]
        if exact_json.same(rest.get("version"), 1):
            del rest["version"]
        if rest.get("producer") == "hansard":
            del rest["producer"]
        own = UNSET if session == _NO_SESSION else session
        return Conversation(messages=messages, id=own, created_at=created, extra=pack(NAME, rest))

    def _read(self, record: Record) -> Message | None:
        value = record.value
        kind = value.get("type") if type(value) is dict else None
        if type(kind) is not str:
            self._report(record, "not an event: an object with a type was expected", "bad")
            return None
        data = value.get("data")
        parent = self._parent(value, record)
        own = value.get("id")
        if type(own) is not str or self._numbers.get(own) is not None:
            if type(own) is str:
                self._report(record, f"the id {own!r} is given twice; this event has another one here")
            own = made_uuid(NAME, record.byte)
        if kind == "session.start" and type(data) is dict and not self._first_seen:
            self._first_seen, self._start = True, data
            self._numbers[own] = parent
            return None
        if kind.startswith(_SILENT):
            self._numbers[own] = parent
            return None
        return self._message(kind, value, data, own, parent)

    def _message(self, kind: str, value: dict[str, Any], data: Any, own: str, parent: int) -> Message:
        created = read_time(value.get("timestamp"))
        above = self._ids[parent] if parent >= 0 else None
        fields: dict[str, Any] = {"id": own, "parent_message_id": above, "created_at": created}
        if is_made(own, len(self._ids)) and parent == len(self._ids) - 1:
            fields = {"created_at": created}
        self._numbers[own] = len(self._ids)
        self._ids.append(own)
        rest = {key: one for key, one in value.items() if key not in ("type", "id", "parentId", "timestamp", "data")}
        reader = _READERS.get(kind)
        if reader is not None and type(data) is dict and not rest:
            try:
                return reader(dict(data), fields, self._names)  # type: ignore[no-any-return]
            except Unfit:
                pass
        raw = {"type": kind, **put({}, data=value.get("data", UNSET)), **rest}
        return Message(role="event", parts=[RawPart(format=NAME, value=raw)], **fields)

    def _parent(self, value: dict[str, Any], record: Record) -> int:
        """The number of the message an event follows; -1 for none."""
        given = value.get("parentId", UNSET)
        if given is None:
            return -1
        if type(given) is str and (number := self._numbers.get(given)) is not None:
            return number
        if given is not UNSET:
            self._report(record, f"the parent {given!r} is not in the file; the event follows the one before it")
        return len(self._ids) - 1

    def _report(self, record: Record, what: str, kind: Any = "repair") -> None:
        self.repairs.append(Report(line=record.line, byte=record.byte, what=what, kind=kind))


# -- writing ---------------------------------------------------------------------------------------------------------


def records(conversation: Conversation, already: Conversation | None) -> Iterator[dict[str, Any]]:
    """A start and an event for every message that `already` has not."""
    start = made_uuid("start")
    if already is None and conversation != Conversation(messages=[]):
        rest, _ = unpack(NAME, conversation.extra)
        session = _NO_SESSION if conversation.id is UNSET else conversation.id
        time = NO_TIME if conversation.created_at is UNSET else conversation.created_at
        data = {"sessionId": session, "version": rest.pop("version", 1), "producer": rest.pop("producer", "hansard")}
        yield _event({"type": "session.start", "data": {**data, "startTime": time, **rest}}, start, None, time)
    before: str | None = None
    ends: dict[str, str | None] = {}
    written = 0
    for i, message in enumerate(conversation.messages):
        own = made_uuid(written) if message.id is UNSET else message.id
        parent = message.parent_message_id
        above = before if parent is UNSET else ends.get(parent) if parent is not None else None
        time = NO_TIME if message.created_at is UNSET else message.created_at
        events = _events(message)
        for n, event in enumerate(events):
            before = own if not n else made_uuid(own, n)
            if already is None or i >= len(already.messages):
                yield _event(event, before, above, time)
            above = before
        written += bool(events)
        ends[own] = above


def _event(event: dict[str, Any], own: str, parent: str | None, time: Any) -> dict[str, Any]:
    return {**event, "id": own, "timestamp": time, "parentId": parent}


def _events(message: Message) -> list[dict[str, Any]]:
    data, _ = unpack(NAME, message.extra)
    part = message.parts[0] if len(message.parts) == 1 else None
    if message.role == "event" and type(part) is RawPart and part.format == NAME and type(part.value) is dict:
        if type(part.value.get("type")) is str:
            return [dict(part.value)]
    if message.role == "event":
        return []
    results = [part for part in message.parts if type(part) is ToolResultPart]
    spoken = len(results) < len(message.parts) or not results
    events: list[dict[str, Any]] = []
    if message.role == "assistant":
        events.append(_write_answer(message, data))
    elif spoken:
        events.append(_write_words(message, data))
    return events + [_write_result(part, dict(data)) for part in results]


# -- telling it from others ------------------------------------------------------------------------------------------


def whole(value: Any) -> bool:
    """Is this object an event, not a part of one?"""
    return type(value) is dict and type(value.get("type")) is str and "data" in value and "parentId" in value


def fits(document: Any) -> int:
    """Events with dotted types."""
    found: Any = document[:20] if type(document) is list else [document]
    if type(document) is bytes:
        found = (one.value for one in islice(Scanner(whole=whole).feed(document), 20) if isinstance(one, Record))
    return max(map(_sure, found), default=0)


def _sure(event: Any) -> int:
    if not whole(event) or type(event["data"]) is not dict or "." not in event["type"]:
        return 0
    return 3 if event["type"].partition(".")[0] in _OWNERS and "timestamp" in event else 1


_OWNERS = frozenset({"session", "system", "user", "assistant", "tool", "hook", "permission"})

SESSION = SessionFile(name=NAME, reader=Reader, records=records, whole=whole)
FORMAT = SESSION.format(
    "GitHub Copilot CLI event logs",
    fits,
)
