"""Messages of OpenCode and their parts, read and written side by side; the map is in the package docstring."""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.residue import pack, unpack
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.conversation import Context, Message, ModelRef, Todo, Usage
from hansard.model.machinery import REMINDER
from hansard.model.times import iso_time

RESULTS = ":results"  # the tool message of a message has the message's id and this
Fields = dict[str, Any]
_EDITING = frozenset({"write", "edit", "multiedit", "patch", "apply_patch"})
_FINISH = {"tool-calls": "tool_call"}
_FINISHED = {"tool_call": "tool-calls"}


# -- values ----------------------------------------------------------------------------------------------------------


def text_of(value: Any) -> str | UnsetType:
    """A text, or UNSET."""
    return value if type(value) is str else UNSET


def fields_of(value: Any) -> Fields:
    """An object, or an empty one."""
    return value if type(value) is dict else {}


def number_of(value: Any) -> int | None:
    """A whole number."""
    return value if type(value) is int else None


def time_of(value: Any) -> str | UnsetType:
    """A time in milliseconds as the canonical text."""
    if type(value) is not int or not 0 < value < 1 << 47:
        return UNSET
    return iso_time(value)


def parsed(text: Any) -> Any:
    """The JSON in a column; None if it is none."""
    if type(text) is not str:
        return None
    try:
        return exact_json.decode_record(text.encode("utf-8", "surrogatepass"))
    except Exception:
        return None


# -- prompts ---------------------------------------------------------------------------------------------------------

_QUOTED = re.compile(r'"((?:[^"\\]|\\"|\\(?!"))*)"', re.DOTALL)


def unquoted(text: str) -> str:
    """A prompt without the quotation marks that the command line puts round one of several words.

    >>> unquoted('"Look at this."'), unquoted('"a \\\\"b\\\\" c"'), unquoted('"a" and "b"')
    ('Look at this.', 'a "b" c', '"a" and "b"')
    """
    if len(text) < 2 or text[0] != '"' or text[-1] != '"' or " " not in text:
        return text
    found = _QUOTED.fullmatch(text)
    return text if found is None else found[1].replace('\\"', '"')


def quoted(text: str) -> str:
    """A prompt as the command line writes one of several words, where it would not be read as it is."""
    return '"' + text.replace('"', '\\"') + '"'


# -- parts -----------------------------------------------------------------------------------------------------------


def _read_text(part: Fields, name: str, role: str) -> Any:
    text = part["text"]
    if role == "user" and part.get("synthetic") is True:
        return p.DataPart(name=REMINDER, data={"text": text})
    return p.TextPart(text=unquoted(text) if role == "user" else text)


def _read_file(part: Fields, name: str) -> Any:
    url, media = part.get("url"), text_of(part.get("mime"))
    filename = text_of(part.get("filename"))
    if type(url) is not str:
        return p.RawPart(format=name, value=part)
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        media = media if media is not UNSET else head[5:-7]
        return p.FilePart(data=data, media_type=media, name=filename)
    return p.FilePart(url=url, media_type=media, name=filename)


def _read_call(part: Fields, name: str) -> tuple[Any, Any]:
    """The call, and its result if it has ended."""
    state = fields_of(part.get("state"))
    status = state.get("status")
    named: Fields = {"tool_call_id": text_of(part.get("callID")), "tool_name": text_of(part.get("tool"))}
    given = state.get("input", UNSET)
    call = p.ToolCallPart(input=given, **named)
    if status == "completed":
        output = state.get("output", UNSET)
        attached = state.get("attachments")
        files = [_read_file(one, name) for one in attached if type(one) is dict] if type(attached) is list else []
        said: Fields = {"output": output}
        if files:
            text = [] if type(output) is not str else [p.TextPart(text=output)]
            said = {"content": [*text, *files]}
        return call, p.ToolResultPart(**named, **said, extra=_of_edit(part, state, name))
    if status == "error":
        why = fields_of(state.get("metadata")).get("interrupted") is True
        error = state.get("error", UNSET)
        return call, p.ToolResultPart(
            **named,
            output=error,
            is_error=True,
            status="interrupted" if why else UNSET,
            extra=_of_edit(part, state, name),
        )
    return call, None


def _of_edit(part: Fields, state: Fields, name: str) -> Fields | UnsetType:
    """What the result of a tool that edits files says of them."""
    if part.get("tool") not in _EDITING or type(state.get("metadata")) is not dict:
        return UNSET
    return {name: {"metadata": state["metadata"]}}


def _write_file(part: p.FilePart) -> Fields | None:
    media = part.media_type if type(part.media_type) is str else "application/octet-stream"
    if type(part.data) is str:
        url = f"data:{media};base64,{part.data}"
    elif type(part.url) is str:
        url = part.url
    else:
        return None
    named = {"filename": part.name} if type(part.name) is str else {}
    return {"type": "file", "mime": media, **named, "url": url}


def _write_call(call: p.ToolCallPart, result: p.ToolResultPart | None, times: Fields, name: str) -> Fields:
    given = call.input if type(call.input) is dict else {} if call.input is UNSET else {"input": call.input}
    if call.input is UNSET and type(call.input_text) is str:
        given = {"input": call.input_text}
    tool = call.tool_name if type(call.tool_name) is str else "tool"
    own = call.tool_call_id if type(call.tool_call_id) is str else ""
    out: Fields = {"type": "tool", "tool": tool, "callID": own}
    if result is None:
        stopped = {"status": "error", "input": given, "error": "Tool execution aborted"}
        return {**out, "state": {**stopped, "metadata": {"interrupted": True}, "time": times}}
    text, files = _write_output(result)
    metadata = fields_of(unpack(name, result.extra)[0].get("metadata"))
    if result.is_error is True:
        if result.status == "interrupted":
            metadata = {**metadata, "interrupted": True}
        state = {"status": "error", "input": given, "error": text, "metadata": metadata, "time": times}
        return {**out, "state": state}
    state = {"status": "completed", "input": given, "output": text, "title": "", "metadata": metadata, "time": times}
    return {**out, "state": {**state, "attachments": files} if files else state}


def _write_output(result: p.ToolResultPart) -> tuple[str, list[Fields]]:
    if result.content is UNSET:
        output = "" if result.output is UNSET else result.output
        return output if type(output) is str else exact_json.encode(output).decode("utf-8", "surrogatepass"), []
    texts = [one.text for one in result.content if type(one) is p.TextPart]
    files = [file for one in result.content if type(one) is p.FilePart and (file := _write_file(one)) is not None]
    return "\n".join(texts), files


# -- usage -----------------------------------------------------------------------------------------------------------


def _read_usage(info: Fields, parts: list[Fields]) -> Usage | UnsetType:
    """The tokens of the steps of a message, together; of a message without steps, its own."""
    steps = [fields_of(one.get("tokens")) for one in parts if one.get("type") == "step-finish"]
    given = steps or [fields_of(info.get("tokens"))]
    sums: dict[str, int] = {}
    for one in given:
        cache = fields_of(one.get("cache"))
        counts = {**{key: one.get(key) for key in ("input", "output", "reasoning")}, "read": cache.get("read")}
        for key, value in {**counts, "write": cache.get("write")}.items():
            if type(value) is int:
                sums[key] = sums.get(key, 0) + value
    if not any(sums.values()):
        return UNSET
    count = {key: sums.get(key, 0) for key in ("input", "output", "reasoning", "read", "write")}
    return Usage(
        input_tokens=count["input"] + count["read"] + count["write"],
        output_tokens=count["output"] + count["reasoning"],
        reasoning_tokens=sums.get("reasoning", UNSET),
        cache_read_tokens=sums.get("read", UNSET),
        cache_write_tokens=sums.get("write", UNSET),
    )


def _write_usage(usage: Usage | UnsetType) -> Fields:
    def count(value: Any) -> int:
        return value if type(value) is int else 0

    if usage is UNSET:
        return {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    read, wrote, thought = map(count, (usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens))
    output = max(0, count(usage.output_tokens) - thought)
    given = max(0, count(usage.input_tokens) - read - wrote)
    return {"input": given, "output": output, "reasoning": thought, "cache": {"read": read, "write": wrote}}


# -- messages --------------------------------------------------------------------------------------------------------

_KNOWN = frozenset({"id", "sessionID", "role", "time", "parentID", "modelID", "providerID", "mode", "agent", "path"})
_KNOWN |= {"cost", "tokens", "finish", "summary", "model", "error"}


def read_message(info: Fields, parts: list[Fields], at: Fields, name: str) -> list[Message]:
    """A message, and the tool message of the results in it."""
    role = info.get("role")
    path = fields_of(info.get("path"))
    cwd = path.get("cwd")
    if type(cwd) is str and cwd:
        at = {**at, "context": Context(cwd=cwd)}
    rest = {key: value for key, value in info.items() if key not in _KNOWN}
    if "error" in info:
        rest["error"] = info["error"]
    if role == "assistant":
        return _read_answer(info, parts, at, rest, name)
    if role != "user":
        return [Message(role="event", parts=[p.RawPart(format=name, value=info)], **at)]
    given = [one for part in parts if (one := _read_given(part, name)) is not None]
    typed = any(type(one) is not p.DataPart and type(one) is not p.RawPart for one in given)
    return [Message(role="user" if typed else "event", parts=given, extra=pack(name, rest), **at)]


def _read_given(part: Fields, name: str) -> Any:
    """A part of a prompt."""
    kind = part.get("type")
    if kind == "text" and type(part.get("text")) is str:
        return _read_text(part, name, "user")
    if kind == "file":
        return _read_file(part, name)
    return None if kind in _SILENT else p.RawPart(format=name, value=part)


_SILENT = frozenset({"step-start", "step-finish", "snapshot", "patch", "retry", "agent"})


def _read_answer(info: Fields, parts: list[Fields], at: Fields, rest: Fields, name: str) -> list[Message]:
    said: list[Any] = []
    results: list[Any] = []
    todos: list[Todo] | UnsetType = UNSET
    for part in parts:
        kind, text = part.get("type"), part.get("text")
        if kind == "text" and type(text) is str:
            said.append(p.TextPart(text=text))
        elif kind == "reasoning" and type(text) is str:
            said.append(p.ReasoningPart(text=text))
        elif kind == "tool":
            call, result = _read_call(part, name)
            said.append(call)
            if result is not None:
                results.append(result)
            todos = _read_todos(call, todos)
        elif kind == "file":
            said.append(_read_file(part, name))
        elif kind not in _SILENT:
            said.append(p.RawPart(format=name, value=part))
    if (step := _read_snapshots(parts)) is not None:
        rest["snapshot"] = step
    finish = text_of(info.get("finish"))
    provider, model = text_of(info.get("providerID")), text_of(info.get("modelID"))
    answer = Message(
        role="assistant",
        parts=said,
        model=UNSET if provider is UNSET and model is UNSET else ModelRef(provider=provider, name=model),
        usage=_read_usage(info, parts),
        finish_reason=finish if finish is UNSET else _FINISH.get(finish, finish),
        todos=todos,
        extra=pack(name, rest),
        **at,
    )
    if not results:
        return [answer]
    more = {"context": at["context"]} if "context" in at else {}
    done = {"id": f"{at['id']}{RESULTS}", "parent_message_id": at["id"], "created_at": at["created_at"], **more}
    return [answer, Message(role="tool", parts=results, **done)]


def _read_snapshots(parts: list[Fields]) -> Fields | None:
    """The trees of the workspace before and after the steps of a message."""
    before = next((one.get("snapshot") for one in parts if one.get("type") == "step-start"), None)
    after = next((one.get("snapshot") for one in reversed(parts) if one.get("type") == "step-finish"), None)
    return {"before": before, "after": after} if type(before) is str and type(after) is str else None


def _read_todos(call: p.ToolCallPart, before: list[Todo] | UnsetType) -> list[Todo] | UnsetType:
    listed = fields_of(call.input).get("todos") if call.tool_name == "todowrite" else None
    if type(listed) is not list or not all(type(one) is dict for one in listed):
        return before
    return [Todo(content=text_of(one.get("content")), status=text_of(one.get("status"))) for one in listed]


def write_message(
    message: Message, results: dict[int, p.ToolResultPart], at: Fields, name: str
) -> tuple[Fields, list[Any]]:
    """The data of a message and of its parts; `at` has time, cwd, root, the prompt it answers, provider and model."""
    rest = unpack(name, message.extra)[0]
    rest.pop("snapshot", None)
    moment = at["time"]
    parts: list[Any] = []
    for j, part in enumerate(message.parts):
        if type(part) is p.TextPart or type(part) is p.RefusalPart:
            text = part.text if message.role == "assistant" or unquoted(part.text) == part.text else quoted(part.text)
            parts.append({"type": "text", "text": text})
        elif type(part) is p.ReasoningPart and message.role == "assistant":
            parts.append({"type": "reasoning", "text": part.text, "time": {"start": moment, "end": moment}})
        elif type(part) is p.ToolCallPart and message.role == "assistant":
            parts.append(_write_call(part, results.get(j), {"start": moment, "end": moment}, name))
        elif type(part) is p.FilePart:
            parts.append(_write_file(part))
        elif type(part) is p.CompactionPart and type(part.text) is str:
            parts.append({"type": "text", "text": part.text})
        elif type(part) is p.DataPart and type(part.data) is dict and type(part.data.get("text")) is str:
            parts.append({"type": "text", "text": part.data["text"], "synthetic": True})
        elif type(part) is p.RawPart and part.format == name and type(part.value) is dict:
            parts.append(part.value)
    parts = [part for part in parts if part is not None]
    model = message.model if message.model is not UNSET else ModelRef()
    named = (model.provider or at["provider"], model.name or at["model"])
    if message.role != "assistant":
        head = {"role": "user", "time": {"created": moment}, "agent": "build"}  # no model: OpenCode takes its default
        return {**head, **rest}, parts
    tokens = _write_usage(message.usage)
    reason = message.finish_reason if type(message.finish_reason) is str else None
    calls = any(type(part) is p.ToolCallPart for part in message.parts)
    finish = _FINISHED.get(reason, reason) if reason is not None else "tool-calls" if calls else "stop"
    info = {"role": "assistant", "time": {"created": moment, "completed": moment}, "parentID": at["asked"]}
    info |= {"modelID": named[1], "providerID": named[0], "mode": "build", "agent": "build"}
    info |= {"path": {"cwd": at["cwd"], "root": at["root"]}, "cost": 0, "tokens": tokens, "finish": finish}
    done = {"type": "step-finish", "reason": finish, "tokens": tokens, "cost": 0}
    return {**info, **rest}, [{"type": "step-start"}, *parts, done]
