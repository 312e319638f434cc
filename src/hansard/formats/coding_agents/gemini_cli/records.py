"""One record of a Gemini CLI session, read and written: a message and the results of its tool calls.

canonical                         native
user, assistant                   type user, gemini; content: a string if it is one text, else parts
reasoning                         thoughts: subject and description as lines; summaries only, nothing is signed
tool-call                         toolCalls; display fields are residue
tool-result (a tool message)      result and status of the same call; resultDisplay (a file's diff) is residue
event, data                       info, error, warning
usage                             tokens; output and thoughts are counted together
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.coding_agents.gemini_cli import EVENTS, is_message
from hansard.formats.coding_agents.identity import read_time, write_time
from hansard.formats.coding_agents.records import only_part
from hansard.formats.gemini.content import read_part, write_part
from hansard.formats.residue import pack, set_present, unpack
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.conversation import Message, ModelRef, Usage

NAME = "gemini-cli"
PROVIDER = "google"
RESULTS = ":results"  # the tool message of a record has the record's id and this
Fields = dict[str, Any]


# -- content -------------------------------------------------------------------------------------------------------


def _read_content(content: Any) -> list[Any] | None:
    if type(content) is str:
        return [p.TextPart(text=content)]
    blocks = content if type(content) is list else [content] if type(content) is dict else None
    if blocks is None:
        return None
    return [p.TextPart(text=block) if type(block) is str else read_part(block, False) for block in blocks]


def _write_content(parts: list[Any]) -> Any:
    """A string if it is one text, else Gemini parts."""
    blocks = [block for part in parts if (block := _block(part)) is not UNSET]
    if len(blocks) == 1 and blocks[0].keys() == {"text"}:
        return blocks[0]["text"]
    return blocks if blocks else ""


def _block(part: Any) -> Any:
    if type(part) is p.TextPart or type(part) is p.RefusalPart:
        return {"text": part.text}
    if type(part) is p.CompactionPart:
        return {"text": part.text} if part.text is not UNSET else UNSET
    if type(part) is p.RawPart or type(part) is p.FilePart:
        block = write_part(part, False, False)
        return block if type(block) is dict else UNSET
    return UNSET


# -- thoughts ------------------------------------------------------------------------------------------------------


def _read_thought(thought: Any, time: Any) -> Any:
    if type(thought) is not dict or type(thought.get("description")) is not str:
        return p.RawPart(format=NAME, value={"thought": thought})
    rest = dict(thought)
    text, subject = rest.pop("description"), rest.get("subject")
    if subject == "":
        del rest["subject"]
    elif type(subject) is str:
        text = f"{subject}\n{text}"
    if type(time) is str and rest.get("timestamp") == time:
        del rest["timestamp"]
    return p.ReasoningPart(text=text, extra=pack(NAME, rest))


def _write_thought(part: p.ReasoningPart, time: str) -> Fields:
    rest = unpack(NAME, part.extra)[0]
    text, subject = part.text, rest.pop("subject", "")
    if type(subject) is str and subject and text.startswith(f"{subject}\n"):
        text = text[len(subject) + 1 :]
    else:
        subject = ""
    return {"subject": subject, "description": text, "timestamp": time, **rest}


# -- tools ---------------------------------------------------------------------------------------------------------

_OF_RESULT = ("result", "status", "resultDisplay")


def _read_call(call: Any, time: Any) -> list[Any]:
    """The call, and its result if it has one."""
    if type(call) is not dict or type(call.get("name")) is not str:
        return [p.RawPart(format=NAME, value={"toolCall": call})]
    rest = {key: value for key, value in call.items() if key not in _OF_RESULT}
    name, id = rest.pop("name"), rest.pop("id", None)
    given = rest.pop("args", UNSET)
    if type(time) is str and rest.get("timestamp") == time:
        del rest["timestamp"]
    named: Fields = {"tool_name": name, "tool_call_id": id if type(id) is str else UNSET}
    asked = p.ToolCallPart(input=given, extra=pack(NAME, rest), **named)
    result, status = call.get("result"), call.get("status")
    if result is None and status not in ("error", "cancelled"):
        return [asked]
    fields = read_result(result)
    failed = fields.pop("failed", False) or status in ("error", "cancelled")
    marks = {} if status in ("success", "error", "cancelled") else {"status": status}
    kept = {"resultDisplay": call["resultDisplay"]} if call.get("resultDisplay") is not None else {}
    if status == "cancelled":
        fields["status"] = "interrupted"
    return [asked, p.ToolResultPart(**named, **fields, is_error=failed, extra=pack(NAME, kept, marks))]


def read_result(result: Any) -> Fields:
    """Output or content of a result: almost always one function response with `output` or `error`."""
    blocks = result if type(result) is list else [result]
    first = blocks[0] if blocks else None
    answer = first.get("functionResponse") if type(first) is dict else None
    if type(answer) is not dict:
        return {"output": UNSET if result is None else result}
    response = answer.get("response")
    fields: Fields = {"output": response if response is not None else UNSET}
    if type(response) is dict and len(response) == 1 and response.keys() <= {"output", "error"}:
        fields = {"output": next(iter(response.values())), "failed": "error" in response}
    more = [*blocks[1:], *(answer["parts"] if type(answer.get("parts")) is list else [])]
    if more:
        output = fields.pop("output")
        fields["content"] = [read_part(block, False) for block in more]
        if output is not UNSET:
            text = output if type(output) is str else exact_json.encode(output).decode("utf-8", "surrogatepass")
            fields["content"].insert(0, p.TextPart(text=text))
    return fields


def _write_call(part: p.ToolCallPart, result: p.ToolResultPart | None, time: str) -> Fields:
    rest = unpack(NAME, part.extra)[0]
    named = set_present({}, id=part.tool_call_id, name=part.tool_name)
    given = part.input if type(part.input) is dict else {} if part.input is UNSET else {"input": part.input}
    out: Fields = {**named, "args": given}
    if result is not None:
        kept, marks = unpack(NAME, result.extra)
        if result.output is not UNSET or result.content is not UNSET:
            out["result"] = write_result(result, named)
        out["status"] = marks.get("status", _status(result))
        set_present(out, resultDisplay=kept.get("resultDisplay", UNSET))
    else:
        out["status"] = "executing"
    return {**out, "timestamp": time, **rest}


def _status(result: p.ToolResultPart) -> str:
    if result.status in ("interrupted", "denied"):
        return "cancelled"
    return "error" if result.is_error is True else "success"


def write_result(result: p.ToolResultPart, named: Fields) -> list[Any]:
    files: list[Any] = []
    output: Any = result.output
    if result.content is not UNSET:
        output = "\n".join(part.text for part in result.content if type(part) is p.TextPart)
        files = [
            block for part in result.content if type(part) is not p.TextPart and (block := _block(part)) is not UNSET
        ]
    key = "error" if result.is_error is True else "output"
    plain = (
        type(output) is dict and result.is_error is not True and not (len(output) == 1 and output.keys() <= _OUTCOMES)
    )
    answer = {**named, "response": output if plain else {key: output}}
    return [{"functionResponse": answer}, *files]


_OUTCOMES = {"output", "error"}


# -- tokens --------------------------------------------------------------------------------------------------------


def _read_tokens(tokens: Any) -> tuple[Usage | UnsetType, Fields]:
    if type(tokens) is not dict:
        return UNSET, {}
    counts = {key: value for key, value in tokens.items() if type(value) is int}
    output, thoughts = counts.get("output"), counts.get("thoughts", 0)
    usage = Usage(
        input_tokens=counts.get("input", UNSET),
        output_tokens=UNSET if output is None else output + thoughts,
        cache_read_tokens=counts.get("cached", UNSET),
        reasoning_tokens=counts.get("thoughts", UNSET),
        total_tokens=counts.get("total", UNSET),
    )
    return usage, {"tool": counts["tool"]} if counts.get("tool") else {}


def _write_tokens(usage: Usage, left: Any) -> Fields:
    thoughts = _count(usage.reasoning_tokens)
    given, output = _count(usage.input_tokens), _count(usage.output_tokens)
    total = usage.total_tokens if type(usage.total_tokens) is int else given + output
    more = left if type(left) is dict else {"tool": 0}
    counts = {"input": given, "output": max(0, output - thoughts), "cached": _count(usage.cache_read_tokens)}
    return {**counts, "thoughts": thoughts, **more, "total": total}


def _count(value: Any) -> int:
    return value if type(value) is int else 0


def responses(record: Fields) -> set[str] | None:
    """The calls that a record of the user answers, if it has nothing else."""
    content = record.get("content")
    blocks = content if type(content) is list else [content]
    if record.get("type") != "user" or not blocks:
        return None
    found = [block.get("functionResponse") if type(block) is dict else None for block in blocks]
    if not all(type(one) is dict and type(one.get("id")) is str for one in found):
        return None
    return {one["id"] for one in found if one is not None}


def answered(record: Fields) -> set[str]:
    """The calls in a record of the model that have their result in it."""
    calls = record.get("toolCalls")
    return (
        {str(call.get("id")) for call in calls if type(call) is dict and call.get("result") is not None}
        if type(calls) is list
        else set()
    )


def is_context(record: Fields) -> bool:
    """Whether a record is the context that Gemini CLI tells the model at the start of a session."""
    return record.get("type") == "user" and _plain(record.get("content")).lstrip().startswith("<session_context>")


def retells(new: Fields, old: Fields) -> bool:
    """Whether a record says what an earlier one with its id said, in the form of the model's history.

    Gemini CLI writes its history again when a session is resumed: calls as parts, with or without the list of calls,
    without tokens; and the context of the session as of then.
    """
    if new.get("type") != old.get("type"):
        return False
    if is_context(new):
        return is_context(old)
    text = _plain(new.get("content"))
    blocks = new["content"] if type(new.get("content")) is list else []
    asked = [block.get("functionCall") for block in blocks if type(block) is dict]
    return text == _plain(old.get("content")) and _ids(asked) | _ids(new.get("toolCalls")) <= _ids(old.get("toolCalls"))


def _ids(calls: Any) -> set[str]:
    """The ids of calls; entries of another kind are left out."""
    return {str(call.get("id")) for call in calls if type(call) is dict} if type(calls) is list else set()


def _plain(content: Any) -> str:
    blocks = content if type(content) is list else [content]
    texts = (block if type(block) is str else block.get("text") for block in blocks if type(block) in (str, dict))
    thoughts = [type(block) is dict and block.get("thought") is not None for block in blocks]
    return "".join(text for text, thought in zip(texts, thoughts, strict=False) if type(text) is str and not thought)


# -- records -------------------------------------------------------------------------------------------------------

_KNOWN = frozenset({"id", "timestamp", "type", "content"})
_ANSWER = frozenset({"thoughts", "toolCalls", "tokens", "model"})


def read_message(record: Fields, id: str, parent: Any) -> list[Message]:
    """The message in a record, and the tool message of the results in it."""
    kind, stamp = record["type"], record.get("timestamp")
    time = read_time(stamp)
    parts = _read_content(record.get("content"))
    known = _KNOWN | _ANSWER if kind == "gemini" else _KNOWN
    rest = {key: value for key, value in record.items() if key not in known}
    at: Fields = {"id": id, "parent_message_id": parent, "created_at": time}
    if kind != "gemini" and (parts is None or kind != "user"):
        if kind in EVENTS:
            data = p.DataPart(name=kind, data=record.get("content", UNSET))
            return [Message(role="event", parts=[data], extra=pack(NAME, rest), **at)]
        return [Message(role="event", parts=[p.RawPart(format=NAME, value=record)], **at)]
    if kind == "user":
        if parts and all(type(part) is p.ToolResultPart for part in parts):
            return [Message(role="tool", parts=parts, extra=pack(NAME, rest), **at)]
        return [Message(role="user", parts=parts or [], extra=pack(NAME, rest), **at)]
    return _read_answer(record, stamp, parts or [], rest, at)


def _read_answer(record: Fields, stamp: Any, content: list[Any], rest: Fields, at: Fields) -> list[Message]:
    calls = record["toolCalls"] if type(record.get("toolCalls")) is list else []
    thoughts = record["thoughts"] if type(record.get("thoughts")) is list else []
    parts: list[Any] = [_read_thought(thought, stamp) for thought in thoughts]
    if record.get("content") != "" or not (calls or thoughts):
        parts += content
    results: list[Any] = []
    for call in calls:
        asked, *answers = _read_call(call, stamp)
        parts.append(asked)
        results += answers
    usage, left = _read_tokens(record.get("tokens"))
    model = record.get("model")
    answer = Message(
        role="assistant",
        parts=parts,
        model=ModelRef(provider=PROVIDER, name=model) if type(model) is str else UNSET,
        usage=usage,
        extra=pack(NAME, rest, {"tokens": left} if left else None),
        **at,
    )
    if not results:
        return [answer]
    return [answer, Message(role="tool", parts=results, id=at["id"] + RESULTS, created_at=at["created_at"])]


def write_message(message: Message, id: str, results: dict[int, p.ToolResultPart]) -> Fields | None:
    """The record of a message; `results` are those of its calls, by index. None if no record can express it."""
    rest, marks = unpack(NAME, message.extra)
    time = write_time(message.created_at)
    at: Fields = {"id": id, "timestamp": time}
    if message.role == "event":
        part: Any = only_part(message)
        if type(part) is p.RawPart and part.format == NAME and is_message(part.value):
            return {**part.value, "id": id}
        if type(part) is not p.DataPart or part.name not in EVENTS:
            return None
        return {**at, "type": part.name, **set_present({}, content=part.data), **rest}
    if message.role == "user":
        return {**at, "type": "user", "content": _write_content(message.parts), **rest}
    if message.role != "assistant":
        return None
    content = [part for part in message.parts if type(part) not in (p.ReasoningPart, p.ToolCallPart)]
    out: Fields = {**at, "type": "gemini", "content": _write_content(content)}
    thoughts = [_write_thought(part, time) for part in message.parts if type(part) is p.ReasoningPart]
    calls = [
        _write_call(part, results.get(j), time) for j, part in enumerate(message.parts) if type(part) is p.ToolCallPart
    ]
    if thoughts:
        out["thoughts"] = thoughts
    if message.usage is not UNSET:
        out["tokens"] = _write_tokens(message.usage, marks.get("tokens"))
    if message.model is not UNSET:
        set_present(out, model=message.model.name)
    if calls:
        out["toolCalls"] = calls
    return {**out, **rest}
