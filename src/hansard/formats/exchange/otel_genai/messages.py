"""OpenTelemetry spans, events and the placeholders in them: `read` and `write`."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.exchange.otel_genai import is_bare
from hansard.formats.exchange.otel_genai.content import NAME, read_message, read_part, write_message, write_part
from hansard.formats.exchange.otel_genai.fields import encoded, messages_in, style_of, time_of, to_any
from hansard.formats.residue import HINTS, SchemaMismatch, unpack
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message, ModelRef, Usage
from hansard.model.digits import whole_number
from hansard.model.parts import TextPart, ToolCallPart

_SYSTEM, INPUT, OUTPUT = "gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"
_ID = "gen_ai.conversation.id"
_MODEL = {
    "provider": "gen_ai.provider.name",
    "name": "gen_ai.response.model",
    "response_id": "gen_ai.response.id",
}
_USAGE = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}
_ENDS = ("endTimeUnixNano", "timeUnixNano", "end_time", "timestamp")
_MAX_DEPTH = 12


# -- records of a document -----------------------------------------------------------------------------------------


class _Record(Struct):
    """A span or event: its path in the document and the paths of its attributes."""

    path: list[Any]
    node: dict[str, Any]
    attributes: dict[str, tuple[list[Any], Any]]

    def messages(self, key: str) -> list[Any]:
        found = messages_in(self.attributes[key][1]) if key in self.attributes else None
        return [] if found is None else found


def records_in(node: Any, path: list[Any]) -> Iterator[_Record]:
    """Every object with `gen_ai.*` attributes, in document order; deeply nested values are not searched."""
    if len(path) > _MAX_DEPTH:
        return
    if type(node) is list:
        for i, item in enumerate(node):
            yield from records_in(item, [*path, i])
    if type(node) is not dict:
        return
    found = dict(_attributes(node.get("attributes"), [*path, "attributes"]))
    if any(key.startswith("gen_ai.") for key in found):
        yield _Record(path=path, node=node, attributes=found)
    for key, item in node.items():
        if key != "attributes" and type(item) in (dict, list):
            yield from records_in(item, [*path, key])


def _attributes(given: Any, path: list[Any]) -> Iterator[tuple[str, tuple[list[Any], Any]]]:
    if type(given) is dict:
        for key, value in given.items():
            yield key, ([*path, key], value)
    elif type(given) is list:
        for i, item in enumerate(given):
            if type(item) is dict and type(item.get("key")) is str and "value" in item:
                yield item["key"], ([*path, i, "value"], item["value"])


# -- values of attributes ------------------------------------------------------------------------------------------


def _value(conversation: Conversation, what: Any) -> Any:
    """The value for a placeholder; raises SchemaMismatch if the conversation does not have it."""
    try:
        if what[0] == "id":
            value: Any = conversation.id
        elif what[0] == "system":
            value = _instructions(conversation.messages[0])
        elif what[0] == "messages":
            value = [write_message(message, what[3]) for message in conversation.messages[what[1] : what[2]]]
        elif what[0] == "time":
            value = conversation.messages[what[1]].created_at
        elif what[0] in ("model", "usage"):
            about: Any = getattr(conversation.messages[what[1]], what[0])
            value = getattr(about, what[2]) if what[2] in (*_MODEL, *_USAGE) else UNSET
        else:
            value = UNSET
    except (TypeError, KeyError, IndexError, AttributeError):
        value = UNSET
    if value is UNSET:
        raise SchemaMismatch("place")
    return value


def _instructions(message: Message) -> list[Any]:
    return [part for part in map(write_part, message.parts) if part is not None]


class _Placeholders:
    """Collects, attribute by attribute, what the document says of the messages, and the paths of the placeholders."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.found: list[list[Any]] = []

    def note(self, where: tuple[list[Any], Any], what: list[Any]) -> bool:
        """Record a placeholder if the conversation gives exactly this attribute; return whether it does."""
        try:
            style = style_of(_value(self.conversation, what), where[1])
        except SchemaMismatch:
            return False
        if style is not None:
            self.found.append([where[0], what, style])
        return style is not None

    def messages(self, record: _Record, key: str, start: int, end: int) -> bool:
        where = record.attributes[key]
        ways = (True, False) if key == OUTPUT else (False, True)
        return any(self.note(where, ["messages", start, end, finish]) for finish in ways)

    def change(self, i: int, **fields: Any) -> None:
        self.conversation.messages[i] = replace(self.conversation.messages[i], **fields)


def _record_placeholders(record: _Record, places: _Placeholders, begin: int) -> None:
    """Record the placeholders of one span."""
    given, answer = record.messages(INPUT), record.messages(OUTPUT)
    at = begin + len(given)
    messages = places.conversation.messages
    if begin and _SYSTEM in record.attributes:
        places.note(record.attributes[_SYSTEM], ["system"])
    if INPUT in record.attributes and not places.messages(record, INPUT, begin, at):
        return
    if not answer or at + len(answer) > len(messages):
        return
    for i, item in enumerate(answer, start=at):
        if messages[i].finish_reason is UNSET and type(item.get("finish_reason")) is str:
            before = messages[i]
            places.change(i, finish_reason=item["finish_reason"])
            if not exact_json.same(write_message(messages[i], True), item):
                messages[i] = before
    if places.messages(record, OUTPUT, at, at + len(answer)):
        _read_answer_fields(record, places, at + len(answer) - 1)


def _read_answer_fields(record: _Record, places: _Placeholders, i: int) -> None:
    """Read model, usage and time of an answer; the first span that has them wins."""
    message = places.conversation.messages[i]
    if message.model is UNSET and (facts := _fields_of(record, _MODEL, str)):
        places.change(i, model=ModelRef(**facts))
        for field in facts:
            places.note(record.attributes[_MODEL[field]], ["model", i, field])
    if message.usage is UNSET and (facts := _fields_of(record, _USAGE, int)):
        places.change(i, usage=Usage(**facts))
        for field in facts:
            places.note(record.attributes[_USAGE[field]], ["usage", i, field])
    end = next((key for key in _ENDS if key in record.node), None)
    if end is not None and message.created_at is UNSET and (time := time_of(record.node[end])) is not None:
        places.change(i, created_at=time)
        if not places.note(([*record.path, end], record.node[end]), ["time", i]):
            places.change(i, created_at=UNSET)


def _fields_of(record: _Record, names: dict[str, str], kind: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field, key in names.items():
        if key in record.attributes:
            value = record.attributes[key][1]
            inner = next(iter(value.values()), None) if type(value) is dict else value
            inner = inner if kind is not int or (number := whole_number(inner)) is None else number
            if type(inner) is kind and style_of(inner, value) is not None:
                found[field] = inner
    return found


# -- documents -----------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """OTLP JSON, a span or event, or a list of them; or a bare list of messages."""
    if is_bare(document):
        key = OUTPUT if any("finish_reason" in item for item in document) else INPUT
        whole = read({"attributes": {key: document}})
        return replace(whole, extra={NAME: {HINTS: {**whole.extra[NAME][HINTS], "bare": key}}})  # type: ignore[index]
    records = list(records_in(document, []))
    if not any(key in record.attributes for record in records for key in (INPUT, OUTPUT)):
        raise Unreadable("no span or event with gen_ai.input.messages or gen_ai.output.messages", "$")
    main = max(reversed(records), key=lambda record: len(record.messages(INPUT)) + len(record.messages(OUTPUT)))
    messages = [read_message(item) for item in main.messages(INPUT) + main.messages(OUTPUT)]
    system = main.messages(_SYSTEM)
    if system:
        messages.insert(0, Message(role="system", parts=[read_part(item) for item in system]))
    said = next((record for record in (main, *records) if _ID in record.attributes), None)
    own_id: Any = UNSET
    if said is not None:
        own_id = _fields_of(said, {"id": _ID}, str).get("id", UNSET)
    places = _Placeholders(Conversation(messages=messages, id=own_id))
    for record in (main, *(record for record in records if record is not main)):
        _record_placeholders(record, places, 1 if system else 0)
        if _ID in record.attributes and own_id is not UNSET:
            places.note(record.attributes[_ID], ["id"])
    conversation = places.conversation
    if exact_json.same(_default_document(conversation), document):
        return conversation
    skeleton = exact_json.copied(document)
    found = [place for place in places.found if _still_matches(conversation, place, document)]
    for path, _, _ in found:
        _set_path(skeleton, path, None)
    hints = {"document": skeleton, "places": found, "count": len(messages)}
    return replace(conversation, extra={NAME: {HINTS: hints}})


def _still_matches(conversation: Conversation, place: list[Any], document: Any) -> bool:
    """Whether the placeholder still gives its attribute, after all spans were read."""
    for key in place[0]:
        document = document[key]
    return exact_json.same(encoded(_value(conversation, place[1]), place[2]), document)


def _set_path(node: Any, path: list[Any], value: Any) -> None:
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value


def write(conversation: Conversation, target: Target) -> Any:
    """The document it was read from, placeholders filled; for conversations of other formats one span."""
    hints = unpack(NAME, conversation.extra)[1]
    places, bare = hints.get("places"), hints.get("bare")
    try:
        if hints.get("count") != len(conversation.messages) or type(places) is not list:
            raise SchemaMismatch("places")
        document = exact_json.copied(hints.get("document"))
        for path, what, style in places:
            _set_path(document, path, encoded(_value(conversation, what), style))
        return document["attributes"][bare] if bare in (INPUT, OUTPUT) else document
    except (SchemaMismatch, TypeError, ValueError, KeyError, IndexError):
        if bare in (INPUT, OUTPUT):
            return [write_message(message, bare == OUTPUT) for message in conversation.messages]
        return _default_document(conversation)


def _default_document(conversation: Conversation) -> Any:
    """One span in OTLP JSON, with everything before the last answer as its input."""
    messages = conversation.messages
    start = 1 if messages and messages[0].role == "system" and _is_text_only(messages[0]) else 0
    cut = len(messages)
    while cut > start and messages[cut - 1].role == "assistant":
        cut -= 1
    facts: dict[str, Any] = {"gen_ai.operation.name": "chat"}
    last = messages[-1] if cut < len(messages) else Message(role="assistant", parts=[])
    for names, about in ((_MODEL, last.model), (_USAGE, last.usage)):
        for field, key in names.items():
            if about is not UNSET and getattr(about, field) is not UNSET:
                facts[key] = getattr(about, field)
    if conversation.id is not UNSET:
        facts[_ID] = conversation.id
    if start:
        facts[_SYSTEM] = exact_json.encode(_instructions(messages[0])).decode()
    facts[INPUT] = exact_json.encode([write_message(message, False) for message in messages[start:cut]]).decode()
    if cut < len(messages):
        said = [
            {"finish_reason": _finish_reason(message), **write_message(message, True)} for message in messages[cut:]
        ]
        facts[OUTPUT] = exact_json.encode(said).decode()
    name = "chat" if last.model is UNSET or last.model.name is UNSET else f"chat {last.model.name}"
    digest = sha256("\n".join(map(str, facts.values())).encode("utf-8", "surrogatepass")).hexdigest()
    span: dict[str, Any] = {"traceId": digest[:32], "spanId": digest[32:48], "name": name, "kind": 3}
    try:
        span["startTimeUnixNano"] = span["endTimeUnixNano"] = encoded(last.created_at, ["nano"])
    except SchemaMismatch:
        pass
    span["attributes"] = [{"key": key, "value": to_any(value)} for key, value in facts.items()]
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def _is_text_only(message: Message) -> bool:
    """Whether the message is only text; instructions cannot hold more."""
    bare = Message(role="system", parts=message.parts)
    return message == bare and bool(message.parts) and all(type(part) is TextPart for part in message.parts)


def _finish_reason(message: Message) -> str:
    """The finish reason; the conventions require one."""
    return "tool_call" if message.parts and type(message.parts[-1]) is ToolCallPart else "stop"
