"""Chat Completions documents (requests, lists of messages, responses) and their messages: read and write.

The package docstring has the field mapping. Content parts are in `content`, calls and results in `tools`, the dialects'
reasoning keys in `reasoning`; common messages take the typed fast path of `fields`.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.field_table.records import Record, check, plain
from hansard.formats.openai_chat import ROLES, is_choice
from hansard.formats.openai_chat.content import (
    NAME,
    OWN,
    read_content,
    read_part,
    write_content,
    write_part,
)
from hansard.formats.openai_chat.reasoning import read_reasoning, write_reasoning
from hansard.formats.openai_chat.settings import DIALECT
from hansard.formats.openai_chat.tools import (
    read_call,
    read_function_call,
    read_result,
    write_call,
    write_function_call,
    write_result,
)
from hansard.formats.requests import put, take
from hansard.formats.residue import HINTS, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model.calls import append_result
from hansard.model.conversation import Conversation, Message, ModelRef, Usage
from hansard.model.parts import FilePart, RawPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart

_FINISH = {"stop": "stop", "length": "length", "tool_calls": "tool_call", "content_filter": "content_filter"}
_STOP = {canonical: native for native, canonical in _FINISH.items()}
_CHOICE = {"index": 0, "logprobs": None}
_NO_RESIDUE: tuple[dict[str, Any], dict[str, Any]] = ({}, {})  # residue and hints of a value without any
_TEXT_ROLES = ("user", "assistant", "system", "developer")


# -- messages ---------------------------------------------------------------------------------------------------------


def read_message(record: Any, place: str, i: int, names: dict[str, str], out: list[Message]) -> None:
    """Read one record as one message; consecutive tool results become one message."""
    if type(record) is not dict:
        raise Unreadable("expected a message", place.format(i))
    role, content = record.get("role"), record.get("content", UNSET)
    if len(record) == 2 and type(content) is str and role in _TEXT_ROLES:  # fast path: text only
        out.append(Message(role=role, parts=[TextPart(text=content)]))
    elif role == "assistant":
        out.append(_read_plain_calls(record, content, names) or _read_assistant(_without_role(record), names))
    elif role == "tool" or role == "function":
        result = read_result(record, role, names)
        append_result(out, result)
    elif type(role) is not str:
        raise Unreadable(f"unknown role {role!r}; use one of {', '.join(ROLES)}", f"{place.format(i)}.role")
    elif role in ROLES:
        hints: dict[str, Any] = {}
        taken = _without_role(record)
        parts = read_content(taken.pop("content", UNSET), hints, more=False)
        name = take_maybe_str(taken, "name")
        out.append(Message(role=role, parts=parts, name=name, extra=pack(NAME, taken, hints)))
    else:
        raw = RawPart(format=NAME, value=record, extra={NAME: {HINTS: {"at": "messages"}}})
        out.append(Message(role="event", parts=[raw]))


def _without_role(record: dict[str, Any]) -> dict[str, Any]:
    rest = dict(record)
    del rest["role"]
    return rest


def _read_plain_calls(record: dict[str, Any], content: Any, names: dict[str, str]) -> Message | None:
    """Fast path: an assistant record that has only text (or null) and calls."""
    calls = record.get("tool_calls")
    if len(record) != 3 or type(calls) is not list or not calls:
        return None
    if content is not None and (type(content) is not str or not content):
        return None
    parts: list[Any] = [] if content is None else [TextPart(text=content)]
    for item in calls:
        parts.append(read_call(item, names))
    return Message(role="assistant", parts=parts)


def _read_assistant(record: dict[str, Any], names: dict[str, str], **fields: Any) -> Message:
    hints: dict[str, Any] = fields.pop("hints", {})
    content, name = record.pop("content", UNSET), take_maybe_str(record, "name")
    others: list[Any] = []
    reasoning: list[Any] = []
    if record:
        reasoning = read_reasoning(record, hints)
        if type(record.get("audio")) is dict and type(record["audio"].get("id")) is str:
            others += _read_audio_answer(record.pop("audio"))
        if type(record.get("images")) is list:
            others += _read_images(record)
        if type(record.get("refusal")) is str and record["refusal"]:
            others.append(RefusalPart(text=record.pop("refusal")))
        if type(record.get("tool_calls")) is list and record["tool_calls"]:
            others += [read_call(item, names) for item in record.pop("tool_calls")]
        others += read_function_call(record)
    parts = read_content(content, hints, more=bool(others or reasoning))
    parts = [*reasoning, *parts, *others]
    return Message(role="assistant", parts=parts, name=name, **fields, extra=pack(NAME, record, hints))


def _write_assistant(message: Message) -> dict[str, Any]:
    rest, hints = unpack(NAME, message.extra) if message.extra is not UNSET else _NO_RESIDUE
    reasoning: list[Any] = []
    content: list[Any] = []
    calls: list[Any] = []
    out: dict[str, Any] = {}
    part: Any
    for part in message.parts:
        kind = type(part)
        own = unpack(NAME, part.extra)[1] if part.extra is not UNSET else _NO_RESIDUE[1]
        if kind is TextPart and not own:
            content.append(part)
        elif kind is ToolCallPart:
            if own and own.get("kind") == "function_call":
                out["function_call"] = write_function_call(part)
            elif part.provider_executed is not True:
                calls.append(write_call(part))
        elif (kind is ReasoningPart and own.get("at") != "content") or (kind is RawPart and "key" in own):
            reasoning.append(part)
        elif own.get("at") == "tool_calls" and kind is RawPart:
            calls.append(part.value)
        elif own.get("at") == "images" and kind is FilePart:
            picture = write_part(part)
            out["images"] = [*out.get("images", []), *([picture] if picture is not UNSET else [])]
        elif own.get("at") == "audio":
            out["audio"] = {**out.get("audio", {}), **_write_audio_answer(part)}
        elif kind is RefusalPart and "at" not in own and "refusal" not in out:
            if part.text:
                out["refusal"] = part.text
        else:
            content.append(part)
    if calls:
        out["tool_calls"] = calls
    if reasoning:
        write_reasoning(reasoning, hints, out)
    return {**_record(message, write_content(content, hints, bool(out))), **out, **rest}


def _record(message: Message, content: Any) -> dict[str, Any]:
    return set_present({"role": message.role}, content=content, name=message.name)


def _read_audio_answer(audio: dict[str, Any]) -> list[Any]:
    """Read an audio answer: the transcript is text, the audio is a file."""
    rest = dict(audio)
    parts: list[Any] = []
    if type(rest.get("transcript")) is str:
        parts.append(TextPart(text=rest.pop("transcript"), extra={NAME: {HINTS: {"at": "audio"}}}))
    file_id, data = take_str(rest, "id"), take_maybe_str(rest, "data")
    extra = pack(NAME, rest, {"at": "audio"})
    parts.append(FilePart(media_type="audio/*", file_id=file_id, data=data, binding=OWN, extra=extra))
    return parts


def _read_images(record: dict[str, Any]) -> list[Any]:
    """Read generated images, which some routers return as `images`; empty if an item is not an image."""
    parts: list[Any] = [read_part(block) for block in record["images"]]
    if not parts or not all(type(part) is FilePart for part in parts):
        return []
    del record["images"]
    made = []
    for part in parts:
        rest, hints = unpack(NAME, part.extra)
        made.append(replace(part, extra=pack(NAME, rest, {**hints, "at": "images"})))
    return made


def _write_audio_answer(part: Any) -> dict[str, Any]:
    if type(part) is TextPart:
        return {"transcript": part.text}
    if type(part) is FilePart:
        return set_present({}, id=part.file_id, data=part.data) | unpack(NAME, part.extra)[0]
    return {}


def _as_request_message(record: dict[str, Any]) -> dict[str, Any]:
    """Remove the keys of an answer that a request must not have."""
    for key in ("annotations", "executed_tools"):  # executed_tools: tools that the provider ran
        record.pop(key, None)
    content = record.get("content")
    if content is not None and type(content) not in (str, list):
        record["content"] = exact_json.encode(content).decode()
    calls = record.get("tool_calls", UNSET)
    if calls is None:
        del record["tool_calls"]
    elif type(calls) is list:
        record["tool_calls"] = [
            {key: call[key] for key in call if key != "index"} if type(call) is dict else call for call in calls
        ]
    audio = record.get("audio")
    if type(audio) is dict and "id" in audio:
        record["audio"] = {"id": audio["id"]}
    return record


def write_message(message: Message, out: list[dict[str, Any]]) -> None:
    role, parts = message.role, message.parts
    if role == "tool":
        for part in parts:
            if type(part) is ToolResultPart and part.provider_executed is not True:
                out.append(write_result(part))
    elif role == "event":
        for part in parts:
            if type(part) is RawPart and part.format == NAME and "at" in unpack(NAME, part.extra)[1]:
                out.append(part.value)
    elif role == "assistant":
        record = _write_assistant(message)
        answered = message.model is not UNSET or message.finish_reason is not UNSET
        out.append(_as_request_message(record) if answered else record)
    else:
        rest, hints = unpack(NAME, message.extra)
        content = write_content(parts, hints, more=False)
        out.append({**_record(message, content), **rest})


# -- responses -----------------------------------------------------------------------------------------------------


def _read_response(body: dict[str, Any]) -> Conversation:
    choices = body.pop("choices")
    hints: dict[str, Any] = {"shape": "response"}
    if not choices:
        return Conversation(messages=[], extra=pack(NAME, body, hints))
    if not is_choice(choices[0]):
        raise Unreadable("no message in the first choice", "$.choices[0].message")
    choice = dict(choices[0])
    if len(choices) > 1:
        hints["choices"] = choices[1:]
    message_hints: dict[str, Any] = {}
    record = choice.pop("message", UNSET)
    if type(record) is not dict:
        message_hints["silent"] = [] if record is UNSET else [record]
        record = {"role": "assistant"}
    record = dict(record)
    role = record.pop("role", UNSET)
    if role != "assistant":
        message_hints["role"] = [] if role is UNSET else [role]
    finish = take_maybe_str(choice, "finish_reason")
    reason = _FINISH.get(finish, finish) if type(finish) is str else UNSET
    if type(reason) is str and _STOP.get(reason, reason) != finish:
        message_hints["finish_reason"] = finish
    if not exact_json.same(choice, _CHOICE):
        message_hints["choice"] = choice
    name, response_id = take_maybe_str(body, "model"), take_maybe_str(body, "id")
    model = UNSET if name is UNSET and response_id is UNSET else ModelRef(name=name, response_id=response_id)
    usage = read_usage(body)
    message = _read_assistant(record, {}, hints=message_hints, model=model, usage=usage, finish_reason=reason)
    return Conversation(messages=[message], extra=pack(NAME, body, hints))


def _write_response(messages: list[Message], rest: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    if not messages:
        return {"choices": [], **rest}
    message = messages[0]
    message_hints = unpack(NAME, message.extra)[1]
    record = _write_assistant(message)
    if type(message_hints.get("role")) is list:
        del record["role"]
        if message_hints["role"]:
            record["role"] = message_hints["role"][0]
    left, others = message_hints.get("choice"), hints.get("choices")
    choice = {**(left if type(left) is dict else _CHOICE), "message": record}
    if type(message_hints.get("silent")) is list and not message.parts:
        del choice["message"]
        if message_hints["silent"]:
            choice["message"] = message_hints["silent"][0]
    if message.finish_reason is not UNSET:
        reason = message_hints.get("finish_reason") or _STOP.get(message.finish_reason, message.finish_reason)
        choice["finish_reason"] = reason
    model = message.model if message.model is not UNSET else ModelRef()
    out = set_present({}, id=model.response_id, model=model.name)
    out["choices"] = [choice, *others] if type(others) is list else [choice]
    return {**set_present(out, usage=write_usage(message.usage)), **rest}


_COUNTS = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"), ("total_tokens", "total_tokens"))
_DETAILS = (
    ("cache_read_tokens", "prompt_tokens_details", "cached_tokens"),
    ("cache_write_tokens", "prompt_tokens_details", "cache_write_tokens"),
    ("reasoning_tokens", "completion_tokens_details", "reasoning_tokens"),
)


def read_usage(body: dict[str, Any]) -> Usage | UnsetType:
    """Read the counts; others are residue of the usage. A usage without known counts stays in the body."""
    if type(body.get("usage")) is not dict:
        return UNSET
    rest = dict(body["usage"])
    counts: dict[str, Any] = {}
    for name, key in _COUNTS:
        if type(rest.get(key)) is int:
            counts[name] = rest.pop(key)
    for name, group, key in _DETAILS:
        if type(rest.get(group)) is dict and type(rest[group].get(key)) is int:
            rest[group] = dict(rest[group])
            counts[name] = rest[group].pop(key)
            if not rest[group]:
                del rest[group]
    if not counts:
        return UNSET
    del body["usage"]
    return Usage(**counts, extra=pack(NAME, rest))


def write_usage(usage: Usage | UnsetType) -> Any:
    if usage is UNSET:
        return UNSET
    rest, _ = unpack(NAME, usage.extra)
    out: dict[str, Any] = {}
    for name, key in _COUNTS:
        set_present(out, **{key: getattr(usage, name)})
    out.update(rest)
    for name, group, key in _DETAILS:
        if getattr(usage, name) is not UNSET:
            left = out.get(group)
            out[group] = {**(left if type(left) is dict else {}), key: getattr(usage, name)}
    return out


# -- documents --------------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """Read a request body, a list of messages or a response body."""
    hints: dict[str, Any] = {}
    if type(document) is list:
        document, hints = {"messages": document}, {"shape": "list"}
    if type(document) is not dict:
        raise Unreadable("expected an object or a list")
    body = dict(document)
    if type(body.get("choices")) is list and "messages" not in body:
        return _read_response(body)
    records = body.pop("messages", None)
    if type(records) is not list:
        raise Unreadable("messages is not a list", "$.messages")
    messages: list[Message] = []
    names: dict[str, str] = {}
    place = "$[{}]" if hints else "$.messages[{}]"
    if records and isinstance(records[0], Record):
        from hansard.formats.openai_chat.fields import read_typed

        for i, record in enumerate(records):
            if not read_typed(record, names, messages):
                count = len(messages)
                read_message(plain(record), place, i, names, messages)
                check(messages, count)
    else:
        for i, record in enumerate(records):
            read_message(record, place, i, names, messages)
    tools, settings = take(DIALECT, body, hints)
    return Conversation(messages=messages, tools=tools, settings=settings, extra=pack(NAME, body, hints))


def decode_typed(raw: bytes) -> Any:
    """A request or a list of messages as typed records."""
    from hansard.formats.openai_chat.fields import decode

    return decode(raw)


def write(conversation: Conversation, target: Target) -> Any:
    """Write the document type it was read from; for conversations of other formats a request body."""
    rest, hints = unpack(NAME, conversation.extra)
    messages = conversation.messages
    if hints.get("shape") == "response":
        if not messages or (len(messages) == 1 and messages[0].role == "assistant"):
            return _write_response(messages, rest, hints)
        rest = {}
    from hansard.formats.openai_chat.fields import write_typed

    records: list[Any] = []
    for message in messages:
        if not write_typed(message, records):
            write_message(message, records)
    if hints.get("shape") == "list" and conversation.tools is conversation.settings is UNSET:
        return records
    return {**put(DIALECT, conversation, rest, hints), "messages": records}


# -- detection -----------------------------------------------------------------------------------------------------
