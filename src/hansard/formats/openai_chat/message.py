"""The messages of Chat Completions; `openai_chat` has the map and the documents around them."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.openai_chat.content import NAME, OWN, read_content, read_part, write_content, write_part
from hansard.formats.openai_chat.reasoning import read_reasoning, write_reasoning
from hansard.formats.openai_chat.tools import (
    read_call,
    read_function_call,
    read_result,
    write_call,
    write_function_call,
    write_result,
)
from hansard.formats.residue import MARKS, pack, put, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model.calls import append_result
from hansard.model.conversation import Message
from hansard.model.parts import FilePart, RawPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart

ROLES = ("developer", "system", "user", "assistant", "tool", "function")
_NOTHING: tuple[dict[str, Any], dict[str, Any]] = ({}, {})  # residue and marks of what has none
_SPEAKERS = ("user", "assistant", "system", "developer")


def read_message(record: Any, place: str, i: int, names: dict[str, str], out: list[Message]) -> None:
    """One record becomes one message; results of tools that follow one another become one message together."""
    if type(record) is not dict:
        raise Unreadable("a message expected", place.format(i))
    role, content = record.get("role"), record.get("content", UNSET)
    if len(record) == 2 and type(content) is str and role in _SPEAKERS:  # words and nothing else, as most are
        out.append(Message(role=role, parts=[TextPart(text=content)]))
    elif role == "assistant":
        out.append(_read_plain_calls(record, content, names) or read_assistant(_without_role(record), names))
    elif role == "tool" or role == "function":
        result = read_result(record, role, names)
        append_result(out, result)
    elif type(role) is not str:
        raise Unreadable(f"no role {role!r}; it is one of {', '.join(ROLES)}", f"{place.format(i)}.role")
    elif role in ROLES:
        marks: dict[str, Any] = {}
        taken = _without_role(record)
        parts = read_content(taken.pop("content", UNSET), marks, more=False)
        out.append(Message(role=role, parts=parts, extra=pack(NAME, taken, marks)))
    else:
        raw = RawPart(format=NAME, value=record, extra={NAME: {MARKS: {"at": "messages"}}})
        out.append(Message(role="event", parts=[raw]))


def _without_role(record: dict[str, Any]) -> dict[str, Any]:
    rest = dict(record)
    del rest["role"]
    return rest


def _read_plain_calls(record: dict[str, Any], content: Any, names: dict[str, str]) -> Message | None:
    """An assistant's record of words (or null) and calls, when it says nothing else."""
    calls = record.get("tool_calls")
    if len(record) != 3 or type(calls) is not list or not calls:
        return None
    if content is not None and (type(content) is not str or not content):
        return None
    parts: list[Any] = [] if content is None else [TextPart(text=content)]
    for item in calls:
        parts.append(read_call(item, names))
    return Message(role="assistant", parts=parts)


def read_assistant(record: dict[str, Any], names: dict[str, str], **about: Any) -> Message:
    marks: dict[str, Any] = about.pop("marks", {})
    content = record.pop("content", UNSET)
    said: list[Any] = []
    thoughts: list[Any] = []
    if record:
        thoughts = read_reasoning(record, marks)
        if type(record.get("audio")) is dict and type(record["audio"].get("id")) is str:
            said += _read_spoken(record.pop("audio"))
        if type(record.get("images")) is list:
            said += _read_images(record)
        if type(record.get("refusal")) is str and record["refusal"]:
            said.append(RefusalPart(text=record.pop("refusal")))
        if type(record.get("tool_calls")) is list and record["tool_calls"]:
            said += [read_call(item, names) for item in record.pop("tool_calls")]
        said += read_function_call(record)
    parts = read_content(content, marks, more=bool(said or thoughts))
    return Message(role="assistant", parts=[*thoughts, *parts, *said], **about, extra=pack(NAME, record, marks))


def write_assistant(message: Message) -> dict[str, Any]:
    rest, marks = unpack(NAME, message.extra) if message.extra is not UNSET else _NOTHING
    thoughts: list[Any] = []
    content: list[Any] = []
    calls: list[Any] = []
    out: dict[str, Any] = {}
    part: Any
    for part in message.parts:
        kind = type(part)
        own = unpack(NAME, part.extra)[1] if part.extra is not UNSET else _NOTHING[1]
        if kind is TextPart and not own:
            content.append(part)
        elif kind is ToolCallPart:
            if own and own.get("kind") == "function_call":
                out["function_call"] = write_function_call(part)
            elif part.provider_executed is not True:
                calls.append(write_call(part))
        elif (kind is ReasoningPart and own.get("at") != "content") or (kind is RawPart and "key" in own):
            thoughts.append(part)
        elif own.get("at") == "tool_calls" and kind is RawPart:
            calls.append(part.value)
        elif own.get("at") == "images" and kind is FilePart:
            picture = write_part(part)
            out["images"] = [*out.get("images", []), *([picture] if picture is not UNSET else [])]
        elif own.get("at") == "audio":
            out["audio"] = {**out.get("audio", {}), **_write_spoken(part)}
        elif kind is RefusalPart and "at" not in own and "refusal" not in out:
            if part.text:
                out["refusal"] = part.text
        else:
            content.append(part)
    if calls:
        out["tool_calls"] = calls
    if thoughts:
        write_reasoning(thoughts, marks, out)
    return {**_record("assistant", write_content(content, marks, bool(out))), **out, **rest}


def _record(role: str, content: Any) -> dict[str, Any]:
    return {"role": role} if content is UNSET else {"role": role, "content": content}


def _read_spoken(audio: dict[str, Any]) -> list[Any]:
    """An answer that was spoken: the words are text, the sound is a file."""
    rest = dict(audio)
    parts: list[Any] = []
    if type(rest.get("transcript")) is str:
        parts.append(TextPart(text=rest.pop("transcript"), extra={NAME: {MARKS: {"at": "audio"}}}))
    file_id, data = take_str(rest, "id"), take_maybe_str(rest, "data")
    extra = pack(NAME, rest, {"at": "audio"})
    parts.append(FilePart(media_type="audio/*", file_id=file_id, data=data, binding=OWN, extra=extra))
    return parts


def _read_images(record: dict[str, Any]) -> list[Any]:
    """Pictures that a model made, beside its words: some routers give them so. None, when they are not all pictures."""
    parts: list[Any] = [read_part(block) for block in record["images"]]
    if not parts or not all(type(part) is FilePart for part in parts):
        return []
    del record["images"]
    made = []
    for part in parts:
        rest, marks = unpack(NAME, part.extra)
        made.append(replace(part, extra=pack(NAME, rest, {**marks, "at": "images"})))
    return made


def _write_spoken(part: Any) -> dict[str, Any]:
    if type(part) is TextPart:
        return {"transcript": part.text}
    if type(part) is FilePart:
        return put({}, id=part.file_id, data=part.data) | unpack(NAME, part.extra)[0]
    return {}


def _sent_back(record: dict[str, Any]) -> dict[str, Any]:
    """An answer as a request may hold it: answers say more than requests may."""
    for key in ("annotations", "executed_tools"):  # the second: tools that ran at the provider's
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
        record = write_assistant(message)
        answered = message.model is not UNSET or message.finish_reason is not UNSET
        out.append(_sent_back(record) if answered else record)
    else:
        rest, marks = unpack(NAME, message.extra)
        content = write_content(parts, marks, more=False)
        out.append({**_record(role, content), **rest})
