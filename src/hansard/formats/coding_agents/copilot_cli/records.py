"""Events of Copilot CLI, each kind read and written side by side; the map is in the package docstring.

A reader gets a copy of the event's data and takes out what it understands; the rest is residue of the message.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.coding_agents.records import only_part
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.conversation import Message, ModelRef, Usage

NAME = "copilot-cli"
PROVIDER = "github-copilot"
COMPACTED = "session.compaction_complete"
THOUGHT = "assistant.reasoning"
USAGE = "session.usage_record"  # the tokens of a call, before its answer
ASKED = "tool.user_requested"
_KIND = "event"  # the mark of an event that is not the default one of its role
Data = dict[str, Any]
_COUNTS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadTokens": "cache_read_tokens",
    "cacheWriteTokens": "cache_write_tokens",
    "reasoningTokens": "reasoning_tokens",
}


class EventState:
    """State of reading that later events need: tool names by call, the model, the last token count."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.model: Any = UNSET
        self.counted: Any = None
        self.usage: dict[str, Any] = {}  # of calls whose answer has not come

    def add_usage(self, usage: Data) -> None:
        """Add the tokens of a call; they belong to the next answer."""
        for key, name in _COUNTS.items():
            if type(usage.get(key)) is int:
                self.usage[name] = self.usage.get(name, 0) + usage[key]

    def set_model(self, model: Any) -> None:
        """Set the model of later events; `auto` names no model."""
        if type(model) is str and model and model != "auto":
            self.model = model


# -- files inside ----------------------------------------------------------------------------------------------------


def _take_files(held: Data, key: str, kinds: tuple[str, ...], marks: Data) -> list[p.FilePart]:
    """The files a list holds by value; the other entries stay, and a mark keeps the files' indices."""
    entries = held.get(key)
    if type(entries) is not list:
        return []
    places = [i for i, entry in enumerate(entries) if _is_file(entry, kinds)]
    files: list[p.FilePart] = []
    for i in places:
        rest = dict(entries[i])
        data, media = rest.pop("data"), rest.pop("mimeType")
        kind = rest.pop("type")
        files.append(
            p.FilePart(
                data=data, media_type=media, extra=pack(NAME, rest, {} if kind in _DEFAULT_TYPES else {"type": kind})
            )
        )
    if files:
        taken = set(places)
        others = [entry for i, entry in enumerate(entries) if i not in taken]
        held[key] = others
        if not others:
            del held[key]
        elif places != list(range(len(others), len(entries))):
            marks["files"] = places
    return files


_DEFAULT_TYPES = ("blob", "image")


def _is_file(entry: Any, kinds: tuple[str, ...]) -> bool:
    if type(entry) is not dict or entry.get("type") not in kinds:
        return False
    return type(entry.get("data")) is str and type(entry.get("mimeType")) is str


def _put_files(held: Data, key: str, kind: str, parts: list[Any], marks: Data) -> None:
    """Put the files of a message back into their list."""
    files = [_write_file(part, kind) for part in parts if type(part) is p.FilePart and _is_by_value(part)]
    if not files:
        return
    known = held.get(key)
    entries: list[Any] = list(known) if type(known) is list else []
    places = marks.get("files")
    if type(places) is not list or len(places) != len(files) or not all(type(at) is int for at in places):
        places = range(len(entries), len(entries) + len(files))
    for at, entry in zip(places, files, strict=True):
        entries.insert(at, entry)
    held[key] = entries


def _is_by_value(part: p.FilePart) -> bool:
    return part.data is not UNSET and part.media_type is not UNSET


def _write_file(part: p.FilePart, kind: str) -> Data:
    rest, marks = unpack(NAME, part.extra)
    return {"type": marks.get("type", kind), "data": part.data, "mimeType": part.media_type, **rest}


# -- system and user -------------------------------------------------------------------------------------------------


def _read_system(data: Data, fields: Data, state: EventState) -> Message:
    text, role = take_str(data, "content"), "system"
    if data.get("role") in ("system", "developer"):
        role = data.pop("role")
    return Message(role=role, parts=[p.TextPart(text=text)], **fields, extra=pack(NAME, data))


def _read_user(data: Data, fields: Data, state: EventState) -> Message:
    parts: list[Any] = [p.TextPart(text=take_str(data, "content"))]
    marks: Data = {}
    parts += _take_files(data, "attachments", ("blob",), marks)
    return Message(role="user", parts=parts, **fields, extra=pack(NAME, data, marks))


def _text_of(part: Any) -> str | None:
    """The text of a part, if it has any."""
    text = part.text if type(part) in (p.TextPart, p.RefusalPart, p.CompactionPart) else None
    return text if type(text) is str else None


def write_input(message: Message, data: Data, marks: Data) -> Data:
    text = "\n\n".join(text for part in message.parts if (text := _text_of(part)) is not None)
    if message.role == "user":
        _put_files(data, "attachments", "blob", message.parts, marks)
        return {"type": "user.message", "data": {"content": text, **data}}
    role = "developer" if message.role == "developer" else "system"
    return {"type": "system.message", "data": {"role": role, "content": text, **data}}


# -- answers ---------------------------------------------------------------------------------------------------------


def _read_answer(data: Data, fields: Data, state: EventState) -> Message:
    text, requests = take_str(data, "content"), data.pop("toolRequests", [])
    thought, opaque = take_maybe_str(data, "reasoningText"), take_maybe_str(data, "reasoningOpaque")
    model, response = take_maybe_str(data, "model"), take_maybe_str(data, "messageId")
    model = state.model if model is UNSET else model
    parts: list[Any] = []
    if thought is not UNSET or opaque is not UNSET:
        bound = UNSET if opaque is UNSET else p.Binding(provider=PROVIDER, model=model)
        parts.append(p.ReasoningPart(text="" if thought is UNSET else thought, signature=opaque, binding=bound))
    if text:
        parts.append(p.TextPart(text=text))
    if type(requests) is not list:
        raise SchemaMismatch("toolRequests")
    for request in requests:
        parts.append(_read_request(request, state.names))
    named = model is not UNSET or response is not UNSET
    return Message(
        role="assistant",
        parts=parts,
        **fields,
        model=ModelRef(provider=PROVIDER, name=model, response_id=response) if named else UNSET,
        usage=_read_usage(data, state),
        extra=pack(NAME, data),
    )


def _read_usage(data: Data, state: EventState) -> Usage | UnsetType:
    """The tokens of a response; several messages of one response all repeat its total, which counts once."""
    if state.usage:
        usage, state.usage = Usage(**state.usage), {}
        if type(data.get("outputTokens")) is int:
            state.counted = (data.get("apiCallId"), data.pop("outputTokens"))
        return usage
    if type(data.get("outputTokens")) is not int:
        return UNSET
    call = data.get("apiCallId")
    count = (call, data["outputTokens"])
    if type(call) is str and count == state.counted:
        return UNSET
    state.counted = count
    return Usage(output_tokens=data.pop("outputTokens"))


def _read_request(request: Any, names: dict[str, str]) -> p.ToolCallPart:
    if type(request) is not dict:
        raise SchemaMismatch("toolRequests")
    rest = dict(request)
    call, name = take_str(rest, "toolCallId"), take_str(rest, "name")
    names[call] = name
    given = rest.pop("arguments", UNSET)
    return p.ToolCallPart(tool_call_id=call, tool_name=name, input=given, extra=pack(NAME, rest))


def write_answer(message: Message, data: Data) -> Data:
    out: Data = {}
    if message.model is not UNSET:
        set_present(out, messageId=message.model.response_id, model=message.model.name)
    texts = [text for part in message.parts if (text := _text_of(part)) is not None]
    calls = [part for part in message.parts if type(part) is p.ToolCallPart]
    out |= {"content": "\n\n".join(texts), "toolRequests": [_write_request(part) for part in calls]}
    for part in message.parts:
        if type(part) is p.ReasoningPart:
            set_present(out, reasoningText=part.text or UNSET)
            if part.binding is not UNSET and part.binding.provider == PROVIDER:
                set_present(out, reasoningOpaque=part.signature)
    if message.usage is not UNSET:
        set_present(out, outputTokens=message.usage.output_tokens)
    return {"type": "assistant.message", "data": {**out, **data}}


def _write_request(part: p.ToolCallPart, key: str = "name") -> Data:
    call = "" if part.tool_call_id is UNSET else part.tool_call_id
    out = {"toolCallId": call, key: "tool" if part.tool_name is UNSET else part.tool_name}
    given = part.input
    if given is UNSET and type(part.input_text) is str:
        given = part.input_text
    return {**set_present(out, arguments=given), **unpack(NAME, part.extra)[0]}


def _read_thought(data: Data, fields: Data, state: EventState) -> Message:
    part = p.ReasoningPart(text=take_str(data, "content"))
    return Message(role="assistant", parts=[part], **fields, extra=pack(NAME, data, {_KIND: THOUGHT}))


def _read_asked(data: Data, fields: Data, state: EventState) -> Message:
    """A tool call by the user, not a model."""
    call, name = take_str(data, "toolCallId"), take_str(data, "toolName")
    state.names[call] = name
    part = p.ToolCallPart(tool_call_id=call, tool_name=name, input=data.pop("arguments", UNSET))
    return Message(role="assistant", parts=[part], **fields, extra=pack(NAME, data, {_KIND: ASKED}))


def write_other(message: Message, data: Data, marks: Data) -> Data | None:
    """The event of a message that is not the default one of its role, if the message still matches it."""
    part = only_part(message)
    if marks.get(_KIND) == THOUGHT and type(part) is p.ReasoningPart:
        return {"type": THOUGHT, "data": {"content": part.text, **data}}
    if message.role == "user" and type(part) is p.CompactionPart and type(part.text) is str:
        return {"type": COMPACTED, "data": {"success": True, "summaryContent": part.text, **data}}
    if marks.get(_KIND) == ASKED and type(part) is p.ToolCallPart:
        return {"type": ASKED, "data": {**_write_request(part, "toolName"), **data}}
    return None


# -- results ---------------------------------------------------------------------------------------------------------


def _read_result(data: Data, fields: Data, state: EventState) -> Message:
    call, success = take_str(data, "toolCallId"), data.pop("success", None)
    if type(success) is not bool:
        raise SchemaMismatch("success")
    state.set_model(data.get("model"))
    key, inner = ("result", "content") if success or "error" not in data else ("error", "message")
    held = data.get(key)
    answer: Data = {}
    marks: Data = {}
    if type(held) is dict and type(held.get(inner)) is str:
        held = dict(held)
        answer = {"output": held.pop(inner)}
        files = _take_files(held, "contents", ("image", "audio"), marks)
        if files:
            answer = {"content": [p.TextPart(text=answer["output"]), *files]}
        data.pop(key)
        if held:
            data[key] = held
    name = state.names.get(call, UNSET)
    part = p.ToolResultPart(tool_call_id=call, tool_name=name, is_error=not success, **answer)
    return Message(role="tool", parts=[part], **fields, extra=pack(NAME, data, marks))


def write_result(part: p.ToolResultPart, data: Data, marks: Data) -> Data:
    failed = part.is_error is True
    output = part.output
    if part.content is not UNSET:
        output = "\n".join(inner.text for inner in part.content if type(inner) is p.TextPart)
    elif type(output) is not str and output is not UNSET:
        output = exact_json.encode(output).decode()
    out: Data = {"toolCallId": "" if part.tool_call_id is UNSET else part.tool_call_id, "success": not failed}
    key, inner_key = ("error", "message") if failed and "result" not in data else ("result", "content")
    held = data.pop(key, {})
    more = dict(held) if type(held) is dict else {}
    if key == "result" and part.content is not UNSET:
        _put_files(more, "contents", "image", part.content, marks)
    if output is not UNSET or more:
        out[key] = {**set_present({}, **{inner_key: output}), **more}
    return {"type": "tool.execution_complete", "data": {**out, **data}}


# -- events ----------------------------------------------------------------------------------------------------------


def _read_compacted(data: Data, fields: Data, state: EventState) -> Message:
    part = p.CompactionPart(text=take_str(data, "summaryContent"))
    if data.get("success") is True:
        del data["success"]
    return Message(role="user", parts=[part], **fields, extra=pack(NAME, data))


def _read_asset(data: Data, fields: Data, state: EventState) -> Message:
    """The bytes of an attachment that a later event refers to."""
    part = p.FilePart(data=take_str(data, "data"), media_type=take_str(data, "mimeType"))
    return Message(role="event", parts=[part], **fields, extra=pack(NAME, data))


def _read_note(kind: str) -> Any:
    def read(data: Data, fields: Data, state: EventState) -> Message:
        return Message(role="event", parts=[p.DataPart(name=kind, data=data)], **fields)

    return read


def write_event(message: Message, data: Data) -> Data | None:
    """The event of an event message; None if Copilot CLI cannot express it."""
    part = only_part(message)
    if type(part) is p.FilePart and _is_by_value(part) and type(data.get("assetId")) is str:
        return {"type": _ASSET, "data": {"data": part.data, "mimeType": part.media_type, **data}}
    if type(part) is p.DataPart and part.name in _NOTES and type(part.data) is dict:
        return {"type": part.name, "data": part.data}
    return None


_ASSET = "session.binary_asset"
_NOTES = frozenset({"session.error", "session.info", "session.warning", "session.task_complete", "session.handoff"})
_NOTES |= {"system.notification", "skill.invoked", "subagent.started", "subagent.completed", "subagent.failed"}

READERS: dict[str, Any] = {
    "system.message": _read_system,
    "user.message": _read_user,
    "assistant.message": _read_answer,
    THOUGHT: _read_thought,
    ASKED: _read_asked,
    "tool.execution_complete": _read_result,
    COMPACTED: _read_compacted,
    _ASSET: _read_asset,
    **{kind: _read_note(kind) for kind in sorted(_NOTES)},
}
