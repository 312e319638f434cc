"""Messages of AI SDK 4: `content` as a string beside `parts`, `toolInvocations`, `reasoning` and attachments.

    canonical                         native
    text                              text part; all of them together are `content`
    reasoning                         reasoning part; one canonical part for each of its `details`
    tool-call with its tool-result    tool-invocation part; also listed in `toolInvocations`
    source, file                      source (url), file (`mimeType`, base64 `data`)
    file                              an entry of `experimental_attachments`

The spelling hint `v4` names the fields that only repeat the parts; the writer makes them again from the parts. A field
that differs from the parts is residue. With a profile such a message is written as one of version 5 or later.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.ai_sdk.ui.content import Turn
from hansard.formats.ai_sdk.ui.tools import NAME
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.calls import Place
from hansard.model.conversation import Message
from hansard.model.display import Answer, shown_output, shown_url
from hansard.model.display import answers as answers_of

_STATES = ("partial-call", "call", "result")
_REPEATED = ("content", "toolInvocations", "reasoning", "experimental_attachments")
_PROVIDER = "anthropic"  # the only provider whose signatures version 4 keeps


def _object(hints: dict[str, Any], key: str) -> dict[str, Any]:
    held = hints.get(key)
    return held if type(held) is dict else {}


# -- parts ---------------------------------------------------------------------------------------------------------


def _read_text(block: dict[str, Any]) -> list[p.Part]:
    return [p.TextPart(text=take_str(block, "text"), extra=pack(NAME, block))]


def _write_text(part: p.TextPart) -> dict[str, Any]:
    return {"type": "text", "text": part.text, **unpack(NAME, part.extra)[0]}


def _read_reasoning(block: dict[str, Any]) -> list[p.Part]:
    whole, details = take_str(block, "reasoning"), block.pop("details", UNSET)
    if details is UNSET or details == []:
        return [p.ReasoningPart(text=whole, extra=pack(NAME, block, {"details": details == []}))]
    if type(details) is not list:
        raise SchemaMismatch("details")
    made: list[p.ReasoningPart] = []
    for k, detail in enumerate(details):
        if type(detail) is not dict:
            raise SchemaMismatch("details")
        left = dict(detail)
        kind = left.pop("type", None)
        fields: dict[str, Any] = {}
        if kind == "text":
            fields.update(text=take_str(left, "text"), signature=take_maybe_str(left, "signature"))
        elif kind == "redacted":
            fields.update(text="", encrypted=take_str(left, "data"))
        else:
            raise SchemaMismatch("details")
        if kind == "redacted" or fields["signature"] is not UNSET:
            fields["binding"] = p.Binding(provider=_PROVIDER)
        hints: dict[str, Any] = {"detail": left} if left else {}
        if k:
            hints["joined"] = True
        made.append(p.ReasoningPart(**fields, extra=pack(NAME, {} if k else block, hints)))
    if "".join(part.text for part in made) != whole:
        raise SchemaMismatch("reasoning")
    return [*made]


def _write_reasoning(part: p.ReasoningPart, before: Any) -> dict[str, Any] | None:
    """Write a reasoning part; a further detail is appended to the part before it, and None returned."""
    rest, hints = unpack(NAME, part.extra)
    if "details" in hints:
        out = {"type": "reasoning", "reasoning": part.text, **({"details": []} if hints["details"] else {})}
        return {**out, **rest}
    detail: dict[str, Any] = {"type": "text", "text": part.text}
    if part.encrypted is not UNSET:
        detail = {"type": "redacted", "data": part.encrypted}
    else:
        set_present(detail, signature=part.signature)
    detail.update(_object(hints, "detail"))
    if hints.get("joined") and type(before) is dict and before.get("type") == "reasoning" and "details" in before:
        before["details"].append(detail)
        before["reasoning"] += part.text if part.encrypted is UNSET else ""
        return None
    text = part.text if part.encrypted is UNSET else ""
    return {"type": "reasoning", "reasoning": text, "details": [detail], **rest}


def _read_invocation(block: dict[str, Any]) -> tuple[p.ToolCallPart, p.ToolResultPart | None]:
    inner = block.pop("toolInvocation", None)
    if type(inner) is not dict:
        raise SchemaMismatch("toolInvocation")
    left = dict(inner)
    state, call_id, name = take_str(left, "state"), take_str(left, "toolCallId"), take_str(left, "toolName")
    if state not in _STATES or (state == "result") != ("result" in left):
        raise SchemaMismatch("state")
    hints: dict[str, Any] = {}
    partial = p.PARTIAL if state == "partial-call" else UNSET
    result = None
    if state == "result":
        result = p.ToolResultPart(tool_call_id=call_id, tool_name=name, output=left.pop("result"), is_error=False)
    given = left.pop("args", UNSET)
    if left:
        hints["invocation"] = left
    call = p.ToolCallPart(tool_call_id=call_id, tool_name=name, input=given, state=partial)
    return replace(call, extra=pack(NAME, block, hints)), result


def _write_invocation(call: p.ToolCallPart, answer: Answer | None) -> dict[str, Any]:
    _, hints = unpack(NAME, call.extra)
    partial = (call.state == p.PARTIAL or hints.get("state") == "input-streaming") and answer is None
    out = {"state": "result" if answer is not None else "partial-call" if partial else "call"}
    set_present(out, toolCallId=call.tool_call_id, toolName=call.tool_name, args=call.input)
    if answer is not None:
        out["result"] = shown_output(answer)
    return {**out, **_object(hints, "invocation")}


def _read_source(block: dict[str, Any]) -> list[p.Part]:
    source = block.pop("source", None)
    if type(source) is not dict or source.get("sourceType") != "url":
        raise SchemaMismatch("source")
    left = {key: value for key, value in source.items() if key != "sourceType"}
    fields: dict[str, Any] = {
        "source_id": take_str(left, "id"),
        "url": take_str(left, "url"),
        "title": take_maybe_str(left, "title"),
    }
    return [p.SourcePart(**fields, extra=pack(NAME, block, {"source": left} if left else {}))]


def _write_source(part: p.SourcePart) -> dict[str, Any]:
    rest, hints = unpack(NAME, part.extra)
    source = set_present({"sourceType": "url"}, id=part.source_id, url=part.url, title=part.title)
    return {"type": "source", "source": {**source, **_object(hints, "source")}, **rest}


def _read_file(block: dict[str, Any]) -> list[p.Part]:
    media, data = take_str(block, "mimeType"), take_str(block, "data")
    return [p.FilePart(media_type=media, data=data, extra=pack(NAME, block))]


def _write_file(part: p.FilePart) -> dict[str, Any]:
    data = part.data if part.data is not UNSET else part.url
    return {**set_present({"type": "file"}, mimeType=part.media_type, data=data), **unpack(NAME, part.extra)[0]}


def _read_attachment(value: Any) -> p.Part:
    if type(value) is not dict:
        raise SchemaMismatch("attachment")
    left = dict(value)
    url, media, name = take_str(left, "url"), take_maybe_str(left, "contentType"), take_maybe_str(left, "name")
    head = f"data:{media};base64,"
    where: dict[str, Any] = {"data": url[len(head) :]} if media is not UNSET and url.startswith(head) else {"url": url}
    return p.FilePart(**where, media_type=media, name=name, extra=pack(NAME, left, {"attachment": True}))


def _write_attachment(part: p.FilePart) -> dict[str, Any]:
    out = set_present({}, name=part.name, contentType=part.media_type, url=shown_url(part))
    return {**out, **unpack(NAME, part.extra)[0]}


_READERS: dict[str, Any] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "source": _read_source,
    "file": _read_file,
}
_WRITERS: dict[type, Any] = {p.TextPart: _write_text, p.SourcePart: _write_source, p.FilePart: _write_file}


# -- messages ------------------------------------------------------------------------------------------------------


def _read_into(turn: Turn, block: Any) -> None:
    kind = block.get("type") if type(block) is dict else None
    taken = {key: value for key, value in block.items() if key != "type"} if type(block) is dict else {}
    try:
        if kind == "step-start" and turn.steps:
            turn.step(taken)
        elif kind == "tool-invocation":
            turn.tool(*_read_invocation(taken))
        else:
            for part in _READERS[str(kind)](taken):
                turn.add(part)
    except (SchemaMismatch, KeyError):
        turn.add(p.RawPart(format=NAME, value=block))


def read_v4_message(record: dict[str, Any], turn: Turn) -> list[str]:
    """Read the content of a message into the turn; the rest of the record is residue. Returns the hint `v4`."""
    parts = record.pop("parts", UNSET)
    kept: list[str] = []
    if type(parts) is list:
        kept.append("parts")
        for block in parts:
            _read_into(turn, block)
    else:
        if parts is not UNSET:
            record["parts"] = parts
        _read_without_parts(record, turn)
    try:
        for part in [_read_attachment(value) for value in record.get("experimental_attachments") or []]:
            turn.add(part)
    except (SchemaMismatch, TypeError):
        pass
    turn.first()
    made = turn.out[turn.start :]
    repeated = _repeated_fields(list(enumerate(made)), answers_of(made))
    for name in _REPEATED:
        if name in record and exact_json.same(record[name], repeated[name]):
            kept.append(name)
            del record[name]
    return kept


def _read_without_parts(record: dict[str, Any], turn: Turn) -> None:
    """Read a message without parts: reasoning, text, calls."""
    if type(record.get("reasoning")) is str:
        turn.add(p.ReasoningPart(text=record["reasoning"], extra=pack(NAME, {}, {"details": False})))
    if record["content"]:
        turn.add(p.TextPart(text=record["content"]))
    try:
        for pair in [_read_invocation({"toolInvocation": value}) for value in record.get("toolInvocations") or []]:
            turn.tool(*pair)
    except (SchemaMismatch, TypeError):
        pass


def _repeated_fields(messages: list[tuple[int, Message]], answers: dict[Place, Answer]) -> dict[str, Any]:
    """The fields that repeat the parts."""
    out: dict[str, Any] = {"content": "", "toolInvocations": [], "reasoning": "", "experimental_attachments": []}
    for i, message in messages:
        for j, part in enumerate(message.parts):
            if type(part) is p.TextPart:
                out["content"] += part.text
            elif type(part) is p.ReasoningPart:
                out["reasoning"] += part.text
            elif type(part) is p.ToolCallPart:
                out["toolInvocations"].append(_write_invocation(part, answers.get((i, j))))
            elif type(part) is p.FilePart and unpack(NAME, part.extra)[1].get("attachment"):
                out["experimental_attachments"].append(_write_attachment(part))
    return out


def write_v4_message(
    messages: list[tuple[int, Message]], answers: dict[Place, Answer], kept: Any, write_part: Any
) -> dict[str, Any]:
    """Write `content`, `parts` and the other fields that the hint `v4` names."""
    kept = kept if type(kept) is list else ["content", "parts"]
    repeated = _repeated_fields(messages, answers)
    out = {name: repeated[name] for name in _REPEATED if name in kept}
    if "parts" in kept:
        out["parts"] = []
        for i, message in messages:
            step = unpack(NAME, message.extra)[1].get("step", {})
            if messages[0][1].role == "assistant" and step is not False:
                out["parts"].append({"type": "step-start", **(step if type(step) is dict else {})})
            for j, part in enumerate(message.parts):
                _write_into(out["parts"], part, answers.get((i, j)), message.role, write_part)
    return out


def _write_into(out: list[Any], part: p.Part, answer: Answer | None, role: str, write_part: Any) -> None:
    if type(part) is p.ToolCallPart:
        rest = unpack(NAME, part.extra)[0]
        out.append({"type": "tool-invocation", "toolInvocation": _write_invocation(part, answer), **rest})
    elif type(part) is p.ReasoningPart:
        made = _write_reasoning(part, out[-1] if out else None)
        if made is not None:
            out.append(made)
    elif type(part) is p.FilePart and unpack(NAME, part.extra)[1].get("attachment"):
        return
    elif writer := _WRITERS.get(type(part)):
        out.append(writer(part))
    elif (other := write_part(part, role)) is not UNSET:
        out.append(other)
