"""Provider messages: one provider-neutral `Message` type for OpenAI, Gemini and Claude; a list, an object, or one.

    canonical                         native
    system, developer, user           the same roles
    assistant                         reasoning, content, refusal, tool_calls
    tool                              one record for each result, `call_id` (or `id`) is the call's
    text, file                        content: a string, or text, image, audio, file
    reasoning                         `reasoning`; signed: `extra.claude.thinking_blocks`
    refusal                           `refusal`
    tool-call                         tool_calls; `arguments` is a string of JSON
    signatures of Google              `extra.gemini.thought_signatures`
    raw(provider-message)             any other part, word for word

Messages that the format has no role for are left out, parts too, but for retries and summaries, which are written
as text. Lost, and reported: the order of reasoning, text and calls in a turn, errors of tools, times, agents, usage.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.errors import Unreadable
from hansard.formats.arguments import read_arguments, write_arguments
from hansard.formats.contract import Format, Target
from hansard.formats.provider_message_content import KINDS, NAME, read_content, read_part, write_content, write_part
from hansard.formats.provider_message_reasoning import (
    read_reasoning,
    read_signatures,
    write_reasoning,
    write_signatures,
)
from hansard.formats.residue import MARKS, pack, put, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import RawPart, ReasoningPart, RefusalPart, ToolCallPart, ToolResultPart

_ROLES = ("system", "developer", "user", "assistant")


class _Calls:
    """What the records say of tool calls: names by id, and the ids that results answer."""

    def __init__(self, answered: frozenset[str] = frozenset()) -> None:
        self.names: dict[Any, str] = {}
        self.answered = answered

    def learn(self, call_id: Any, name: Any) -> None:
        if type(call_id) is str and type(name) is str:
            self.names[call_id] = name


# -- tools ---------------------------------------------------------------------------------------------------------


def _read_call(item: Any, calls: _Calls) -> ToolCallPart | RawPart:
    if type(item) is not dict or not ("name" in item or "arguments" in item):
        return RawPart(format=NAME, value=item, extra={NAME: {MARKS: {"at": "tool_calls"}}})
    rest = dict(item)
    marks: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    given, name = rest.pop("arguments", UNSET), take_maybe_str(rest, "name")
    call_id, link = take_maybe_str(rest, "id"), rest.get("call_id")
    if type(link) is str:
        if call_id is UNSET:
            call_id, marks["id"] = rest.pop("call_id"), "call_id"
        elif link in calls.answered and call_id not in calls.answered:
            fields["id"], marks["id"] = call_id, "both"
            call_id = rest.pop("call_id")
    if type(given) is str:
        fields["input"], fields["input_text"] = read_arguments(given)
    else:
        fields["input"] = given
        marks["arguments"] = "missing" if given is UNSET else "data"
    calls.learn(call_id, name)
    return ToolCallPart(tool_call_id=call_id, tool_name=name, **fields, extra=pack(NAME, rest, marks))


def _write_call(part: Any, calls: _Calls) -> Any:
    if type(part) is RawPart:
        return part.value
    rest, marks = unpack(NAME, part.extra)
    how, key = marks.get("arguments"), marks.get("id")
    calls.learn(part.tool_call_id, part.tool_name)
    out = put({}, name=part.tool_name)
    if how == "data":
        put(out, arguments=part.input)
    elif how != "missing":
        out["arguments"] = write_arguments(part)
    if key == "both":
        put(out, id=part.id, call_id=part.tool_call_id)
    else:
        put(out, **{"call_id" if key == "call_id" else "id": part.tool_call_id})
    return {**out, **rest}


def _read_result(record: dict[str, Any], calls: _Calls) -> ToolResultPart:
    call_id, own_id = take_maybe_str(record, "call_id"), take_maybe_str(record, "id")
    output, name = record.pop("content", UNSET), take_maybe_str(record, "name")
    parts: Any = UNSET
    marks: dict[str, Any] = {}
    if call_id is UNSET and own_id is not UNSET:
        call_id, own_id, marks["id"] = own_id, UNSET, True
    known = calls.names.get(call_id, UNSET)
    if name is UNSET:
        name = known
    elif name == known:
        marks["name"] = True
    if type(output) is list:
        parts, output = [read_part(block) for block in output], UNSET
    elif type(output) is not str:
        marks["content"] = "data"
    return ToolResultPart(
        tool_call_id=call_id,
        tool_name=name,
        output=output,
        content=parts,
        is_error=False,
        id=own_id,
        extra=pack(NAME, record, marks),
    )


def _write_result(part: ToolResultPart, calls: _Calls) -> dict[str, Any]:
    rest, marks = unpack(NAME, part.extra)
    out: dict[str, Any] = {"role": "tool"}
    if type(part.content) is list:
        out["content"] = [made for made in map(write_part, part.content) if made is not UNSET]
    elif type(part.output) is str or marks.get("content") == "data":
        put(out, content=part.output)
    else:
        out["content"] = "" if part.output is UNSET else exact_json.encode(part.output).decode()
    if part.tool_call_id is not UNSET:
        put(out, **{"id" if "id" in marks else "call_id": part.tool_call_id})
        if "call_id" in out:
            put(out, id=part.id)
    if "name" in marks or calls.names.get(part.tool_call_id, UNSET) != part.tool_name:
        put(out, name=part.tool_name)
    return {**out, **rest}


# -- messages ------------------------------------------------------------------------------------------------------


def _read_message(record: Any, place: str, i: int, calls: _Calls, out: list[Message]) -> None:
    """One record becomes one message; results of tools that follow one another become one message together."""
    if type(record) is not dict:
        raise Unreadable("a message expected", place.format(i))
    role = record.get("role")
    if type(role) is not str:
        raise Unreadable(f"no role {role!r}; it is a string such as user", f"{place.format(i)}.role")
    taken = dict(record)
    del taken["role"]
    if role in _ROLES:
        out.append(_read_said(role, taken, calls))
    elif role == "tool":
        result = _read_result(taken, calls)
        if out and out[-1].role == "tool":
            out[-1].parts.append(result)
        else:
            out.append(Message(role="tool", parts=[result]))
    else:
        raw = RawPart(format=NAME, value=record, extra={NAME: {MARKS: {"at": "messages"}}})
        out.append(Message(role="event", parts=[raw]))


def _read_said(role: str, record: dict[str, Any], calls: _Calls) -> Message:
    marks: dict[str, Any] = {}
    content, own_id = record.pop("content", UNSET), take_maybe_str(record, "id")
    thoughts: list[Any] = []
    said: list[Any] = []
    if record:
        thoughts = read_reasoning(record, marks)
        said = _read_refusal(record, marks)
        if type(record.get("tool_calls")) is list and record["tool_calls"]:
            said += [_read_call(item, calls) for item in record.pop("tool_calls")]
    parts = [*thoughts, *read_content(content, record, marks, bool(thoughts or said)), *said]
    if "extra" in record:
        read_signatures(record, parts, marks)
    return Message(role=role, parts=parts, id=own_id, extra=pack(NAME, record, marks))


def _read_refusal(record: dict[str, Any], marks: dict[str, Any]) -> list[Any]:
    refusal = record.get("refusal")
    if type(refusal) is str and refusal:
        return [RefusalPart(text=record.pop("refusal"))]
    if type(refusal) is not list or not refusal:
        return []
    parts: list[Any] = []
    for block in record.pop("refusal"):
        if type(block) is dict and block.get("type") == "text" and type(block.get("text")) is str:
            rest = dict(block)
            del rest["type"]
            parts.append(RefusalPart(text=rest.pop("text"), extra=pack(NAME, rest)))
        else:
            parts.append(RawPart(format=NAME, value=block, extra={NAME: {MARKS: {"at": "refusal"}}}))
    if len(parts) == 1 and parts[0].extra is UNSET:
        marks["refusal"] = "list"
    return parts


def _write_refusal(parts: list[Any], marks: dict[str, Any], out: dict[str, Any]) -> bool:
    refusals: list[Any] = []
    for part in parts:
        if type(part) is RawPart:
            refusals.append(part.value)
        elif part.text:
            refusals.append({"type": "text", "text": part.text, **unpack(NAME, part.extra)[0]})
    if (
        len(refusals) == 1
        and marks.get("refusal") != "list"
        and type(parts[0]) is RefusalPart
        and len(refusals[0]) == 2
    ):
        out["refusal"] = refusals[0]["text"]
    elif refusals:
        out["refusal"] = refusals
    return bool(refusals)


_PLACES = {"reasoning": 0, "thinking_blocks": 0, "refusal": 2, "tool_calls": 3}
_KINDS = {ReasoningPart: 0, RefusalPart: 2, ToolCallPart: 3, ToolResultPart: 4}


def _write_said(message: Message, known: _Calls, out: list[Any]) -> None:
    rest, marks = unpack(NAME, message.extra)
    groups: tuple[list[Any], ...] = ([], [], [], [], [])
    for part in message.parts:
        place = _KINDS.get(type(part), 1)
        if type(part) is RawPart and part.extra is not UNSET:
            at = unpack(NAME, part.extra)[1].get("at")
            place = _PLACES.get(at, 1) if type(at) is str else 1
        groups[place].append(part)
    thoughts, content, refusals, calls, results = groups
    record: dict[str, Any] = dict(rest)
    more = write_reasoning(thoughts, marks, record)
    more = _write_refusal(refusals, marks, record) or more
    if calls:
        record["tool_calls"] = [_write_call(part, known) for part in calls]
        more = True
    body = write_content(content, marks, more)
    write_signatures(thoughts, content if body else [], calls, marks, record)
    if body or more or rest or not message.parts or body == "":
        out.append({**put({"role": message.role}, content=body, id=message.id), **record})
    out.extend(_write_result(part, known) for part in results)


def _write_message(message: Message, known: _Calls, out: list[Any]) -> None:
    if message.role in _ROLES:
        _write_said(message, known, out)
    elif message.role == "tool":
        out.extend(_write_result(part, known) for part in message.parts if type(part) is ToolResultPart)
    else:
        for part in message.parts:
            if type(part) is RawPart and part.format == NAME and "at" in unpack(NAME, part.extra)[1]:
                out.append(part.value)


# -- documents -----------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """A list of messages, an object with `messages`, or one message."""
    marks: dict[str, Any] = {}
    body: dict[str, Any] = {}
    records = document
    if type(document) is dict:
        if type(document.get("messages")) is list:
            body, marks = dict(document), {"shape": "object"}
            records = body.pop("messages")
        elif "role" in document:
            records, marks = [document], {"shape": "one"}
        else:
            raise Unreadable("neither a message nor an object with a list of messages")
    if type(records) is not list:
        raise Unreadable("an object or a list expected")
    calls = _Calls(frozenset(_answered(records)))
    messages: list[Message] = []
    place = {"object": "$.messages[{}]", "one": "$"}.get(marks.get("shape", ""), "$[{}]")
    for i, record in enumerate(records):
        _read_message(record, place, i, calls, messages)
    return Conversation(messages=messages, extra=pack(NAME, body, marks))


def _answered(records: list[Any]) -> list[str]:
    ids = [
        record.get("call_id", record.get("id"))
        for record in records
        if type(record) is dict and record.get("role") == "tool"
    ]
    return [given for given in ids if type(given) is str]


def write(conversation: Conversation, target: Target) -> Any:
    """The shape it was read from; for conversations of other formats a list."""
    rest, marks = unpack(NAME, conversation.extra)
    records: list[Any] = []
    known = _Calls()
    for message in conversation.messages:
        _write_message(message, known, records)
    shape = marks.get("shape")
    if shape == "one" and len(records) == 1:
        return records[0]
    return {**rest, "messages": records} if shape == "object" else records


# -- detection -----------------------------------------------------------------------------------------------------

_NOT_HERE = ("parts", "kind", "uuid", "tool_call_id", "function_call", "reasoning_content", "reasoning_details")


def fits(document: Any) -> int:
    """`call_id`, flat tool calls and `extra` are ours alone; plain roles and contents could be others' too."""
    records = document
    if type(document) is dict:
        records = document.get("messages") if "messages" in document else [document]
    if type(records) is not list or not records:
        return 0
    best = 1
    for record in records:
        if (sure := _record_fits(record)) == 0:
            return 0
        best = max(best, sure)
    return best


def _record_fits(record: Any) -> int:
    if type(record) is not dict or record.get("role") not in (*_ROLES, "tool") or "content" not in record:
        return 0
    if any(key in record for key in _NOT_HERE) or type(record["content"]) not in (str, list):
        return 0
    best = 2 if type(record.get("reasoning")) in (str, list) else 1
    for block in record["content"] if type(record["content"]) is list else ():
        kind = block.get("type") if type(block) is dict else None
        if type(kind) is not str or kind not in KINDS:
            return 0
        if kind != "text":
            if not any(type(block.get(key)) is str for key in ("url", "data", "file_id")) or "mediaType" in block:
                return 0
            best = max(best, 2)
    calls, extra = record.get("tool_calls"), record.get("extra")
    if type(calls) is list and calls:
        if not all(type(call) is dict and type(call.get("arguments")) is str and "name" in call for call in calls):
            return 0
        best = 3
    if type(record.get("call_id")) is str or (type(extra) is dict and ("claude" in extra or "gemini" in extra)):
        best = 3
    return best


FORMAT = Format(
    name=NAME,
    title="Provider messages",
    read=read,
    write=write,
    fits=fits,
    binds=True,
)
