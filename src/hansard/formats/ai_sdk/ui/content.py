"""Parts of UIMessages except tools: text, reasoning, files, sources, data, and user messages inside an answer.

`Turn` collects what one UIMessage becomes: an assistant message and, if tools answered, a tool message for each step.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.ai_sdk.reasoning import put_opaque, take_opaque
from hansard.formats.ai_sdk.ui.events import as_message
from hansard.formats.ai_sdk.ui.tools import NAME, read_finished, read_tool
from hansard.formats.residue import HINTS, SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model import parts as p
from hansard.model.conversation import Message
from hansard.model.display import shown_media, shown_url
from hansard.model.hashing import opaque

STEP = "step-start"


# -- the messages of one UIMessage ---------------------------------------------------------------------------------


class Turn:
    """Takes the parts of one UIMessage after another, in order; its messages are the last in `out`.

    Only assistant messages have steps; other roles give one message. `unchecked` collects values that may hold the key
    `__proto__`, which JavaScript parsers reject.
    """

    __slots__ = ("_parts", "_results", "_waiting", "events", "out", "role", "start", "steps", "unchecked")

    def __init__(self) -> None:
        self.out: list[Message] = []
        self.unchecked: list[Any] = []
        self.events: list[dict[str, Any]] = []
        self._parts: list[Any] | None = None
        self._results: list[Any] | None = None
        self._waiting: set[str] | None = None

    def begin(self, role: str) -> None:
        """Begin the next UIMessage."""
        self.role, self.start = role, len(self.out)
        self.steps = role == "assistant"
        if self.steps:
            self._parts = self._waiting = None
        else:
            self._parts = []
            self.out.append(Message(role=role, parts=self._parts))

    def add(self, part: p.Part) -> None:
        """Add a part to the current step; before the first `step-start`, begin a step without one."""
        (self._begin({"step": False}) if self._parts is None else self._parts).append(part)

    def step(self, rest: dict[str, Any]) -> None:
        """Begin a step; `rest` holds the other fields of its `step-start`."""
        self._begin({"step": rest} if rest else None)

    def tool(self, call: p.ToolCallPart, result: p.ToolResultPart | None) -> None:
        """Add a call and its result; only a provider-executed result goes into the same message."""
        call_id = call.tool_call_id
        beside = not self.steps or call.provider_executed is True
        parts = self._begin({"step": False}) if self._parts is None else self._parts
        if not beside and type(call_id) is str:
            if result is not None and self._waiting and call_id in self._waiting:
                raise SchemaMismatch("toolCallId")  # an earlier call of the step with this id would take the result
            if result is None or result.preliminary is True:
                self._waiting = self._waiting or set()
                self._waiting.add(call_id)
        parts.append(call)
        if result is None:
            return
        if beside:
            parts.append(result)
        elif self._results is None:
            self._results = [result]
            self.out.append(Message(role="tool", parts=self._results))
        else:
            self._results.append(result)

    def steer(self, message: Message) -> None:
        """Add a user message in the middle of the answer."""
        self.first()
        self.out.append(message)
        self._parts = self._waiting = None

    def event(self, message: Message) -> None:
        """Add a system event between the messages of the answer."""
        self.out.append(message)
        self._parts = self._results = self._waiting = None

    def first(self) -> Message:
        """The first message other than events; created if the UIMessage has no parts."""
        if len(self.out) == self.start:
            self._begin({"step": False})
        said = (message for message in self.out[self.start :] if message.role != "event")
        return next(said, self.out[self.start])

    def _begin(self, hints: dict[str, Any] | None) -> list[Any]:
        parts: list[Any] = []
        self._parts, self._results, self._waiting = parts, None, None
        if hints is None:
            self.out.append(Message(role="assistant", parts=parts))
        else:
            self.out.append(Message(role="assistant", parts=parts, extra={NAME: {HINTS: hints}}))
        return parts


# -- parts ---------------------------------------------------------------------------------------------------------


def _read_state(block: dict[str, Any], role: str) -> dict[str, Any]:
    """Spelling hint for a state other than the default: `done` in assistant messages, absent in user messages."""
    state = block.pop("state", UNSET)
    if state == ("done" if role == "assistant" else UNSET):
        return {}
    return {"stateless": True} if state is UNSET else {"state": state}


def _put_state(out: dict[str, Any], role: str, hints: dict[str, Any]) -> None:
    if "state" in hints:
        out["state"] = hints["state"]
    elif role == "assistant" and not hints.get("stateless"):
        out["state"] = "done"


def _read_text(block: dict[str, Any], role: str) -> p.Part:
    text, hints = take_str(block, "text"), _read_state(block, role)
    fields = take_opaque(block, "providerMetadata")
    return p.TextPart(text=text, **fields, extra=pack(NAME, block, hints))


def _read_reasoning(block: dict[str, Any], role: str) -> p.Part:
    text, hints = take_str(block, "text"), _read_state(block, role)
    fields = take_opaque(block, "providerMetadata", encrypted=True, item=True)
    return p.ReasoningPart(text=text, **fields, extra=pack(NAME, block, hints))


def _text_writer(kind: str, item: bool) -> Any:
    def write(part: Any, role: str) -> dict[str, Any] | None:
        rest: dict[str, Any] = {}
        hints: dict[str, Any] = {}
        kept = False
        if part.extra is not UNSET and NAME in part.extra:
            rest, hints = unpack(NAME, part.extra)
            kept = put_opaque(rest, "providerMetadata", part, item=item)
        if kind == "reasoning" and not part.text and opaque(part) and not kept:
            return None
        out: dict[str, Any] = {"type": kind, "text": part.text}
        _put_state(out, role, hints)
        out.update(rest)
        return out

    return write


def _read_file(block: dict[str, Any], role: str) -> p.Part:
    media, url = take_str(block, "mediaType"), take_str(block, "url")
    fields: dict[str, Any] = {"media_type": media, "name": take_maybe_str(block, "filename")}
    hints: dict[str, Any] = {}
    reference = block.get("providerReference")
    if type(reference) is dict and len(reference) == 1 and all(type(value) is str for value in reference.values()):
        ((owner, fields["file_id"]),) = block.pop("providerReference").items()
        fields["binding"] = p.Binding(provider=owner)
        hints["reference"] = owner
    if url or "reference" not in hints:
        head = f"data:{media};base64,"
        fields.update({"data": url[len(head) :]} if url.startswith(head) else {"url": url})
    if "reference" not in hints:
        fields.update(take_opaque(block, "providerMetadata"))
    return p.FilePart(**fields, extra=pack(NAME, block, hints))


def _write_file(part: p.FilePart, role: str) -> dict[str, Any] | None:
    rest, hints = unpack(NAME, part.extra)
    url = shown_url(part)
    out: dict[str, Any] = {"type": "file", "mediaType": shown_media(part)}
    if type(hints.get("reference")) is str and part.file_id is not UNSET:
        out.update(url=url or "", providerReference={hints["reference"]: part.file_id})
    elif url is None:
        return None
    else:
        out["url"] = url
        put_opaque(rest, "providerMetadata", part)
    return {**set_present(out, filename=part.name), **rest}


def _read_url(block: dict[str, Any], role: str) -> p.Part:
    source, url = take_str(block, "sourceId"), take_str(block, "url")
    return p.SourcePart(source_id=source, url=url, title=take_maybe_str(block, "title"), extra=pack(NAME, block))


def _read_document(block: dict[str, Any], role: str) -> p.Part:
    source, media, title = take_str(block, "sourceId"), take_str(block, "mediaType"), take_str(block, "title")
    name = take_maybe_str(block, "filename")
    return p.SourcePart(source_id=source, media_type=media, title=title, name=name, extra=pack(NAME, block))


def _write_source(part: p.SourcePart, role: str) -> dict[str, Any] | None:
    rest, _ = unpack(NAME, part.extra)
    if part.url is not UNSET:
        source = part.source_id if part.source_id is not UNSET else part.url
        return {**set_present({"type": "source-url", "sourceId": source, "url": part.url}, title=part.title), **rest}
    title = part.title if part.title is not UNSET else part.name
    if title is UNSET:
        return None
    source = part.source_id if part.source_id is not UNSET else title
    out = {"type": "source-document", "sourceId": source, "mediaType": shown_media(part), "title": title}
    return {**set_present(out, filename=part.name), **rest}


def _read_data(block: dict[str, Any], name: str) -> p.Part:
    if "data" not in block:
        raise SchemaMismatch("data")
    data, part_id = block.pop("data"), take_maybe_str(block, "id")
    return p.DataPart(name=name, id=part_id, data=data, extra=pack(NAME, block))


def _write_data(part: p.DataPart, role: str) -> dict[str, Any]:
    out = set_present({"type": f"data-{part.name}"}, id=part.id)
    out["data"] = part.data if part.data is not UNSET else None
    return {**out, **unpack(NAME, part.extra)[0]}


def _write_refusal(part: p.RefusalPart, role: str) -> dict[str, Any]:
    out = {"type": "text", "text": part.text}
    _put_state(out, role, {})
    return out


def _read_steering(block: dict[str, Any]) -> Message:
    message_id, parts = take_str(block, "id"), block.pop("parts", None)
    if type(parts) is not list:
        raise SchemaMismatch("parts")
    inner: list[Any] = []
    for part in parts:
        kind = part.get("type") if type(part) is dict else None
        if kind not in ("text", "file"):
            raise SchemaMismatch("parts")
        inner.append(_read_part({key: value for key, value in part.items() if key != "type"}, str(kind), part, "user"))
    extra = pack(NAME, block, {"steering": True})
    return Message(role="user", id=message_id, parts=inner, extra=extra)


def write_steering(message: Message) -> dict[str, Any]:
    """Write a user message in the middle of an answer as a part of the answer."""
    rest, _ = unpack(NAME, message.extra)
    parts = [made for part in message.parts if (made := write_part(part, "user")) is not UNSET]
    return {**set_present({"type": "steering-message"}, id=message.id), "parts": parts, **rest}


# -- all parts of a message ----------------------------------------------------------------------------------------


def read_parts(turn: Turn, blocks: list[Any]) -> None:
    """Read the native parts of a message; most (text, steps, finished calls) take the fast path here."""
    default = "done" if turn.steps else None
    for block in blocks:
        kind = block.get("type") if type(block) is dict else None
        if kind == "text":
            text, state, size = block.get("text"), block.get("state"), len(block)
            if type(text) is str and (size == 2 or (size == 3 and type(state) is str)):
                if state == default:
                    turn.add(p.TextPart(text=text))
                else:
                    hints = {"stateless": True} if state is None else {"state": state}
                    turn.add(p.TextPart(text=text, extra={NAME: {HINTS: hints}}))
                continue
        elif kind == STEP and default and len(block) == 1:
            turn.step({})
            continue
        elif type(kind) is str and kind[:5] == "tool-" and (pair := read_finished(block, kind[5:], turn.unchecked)):
            try:
                turn.tool(*pair)
            except SchemaMismatch:
                turn.add(p.RawPart(format=NAME, value=block))
            continue
        turn.unchecked.append(block)
        _read_any(turn, block, kind)


def _read_any(turn: Turn, block: Any, kind: Any) -> None:
    """Read any native part; keep an unknown or malformed one as a raw part."""
    if type(kind) is not str:
        turn.add(p.RawPart(format=NAME, value=block))
        return
    taken = dict(block)
    del taken["type"]
    if kind == STEP and turn.steps:
        turn.step(taken)
        return
    try:
        if kind.startswith("tool-"):
            turn.tool(*read_tool(taken, kind[5:], False))
        elif kind == "dynamic-tool":
            turn.tool(*read_tool(taken, take_str(taken, "toolName"), True))
        elif kind == "steering-message" and turn.steps:
            turn.steer(_read_steering(taken))
        else:
            part = _read_part(taken, kind, block, turn.role)
            if turn.events and type(part) is p.DataPart and part.name == turn.events[0]["event_type"]:
                turn.event(as_message(turn.events.pop(0), part))
            else:
                turn.add(part)
    except SchemaMismatch:
        turn.add(p.RawPart(format=NAME, value=block))


def _read_part(taken: dict[str, Any], kind: str, block: dict[str, Any], role: str) -> p.Part:
    reader = _READERS.get(kind)
    try:
        if reader is not None:
            return reader(taken, role)  # type: ignore[no-any-return]
        if kind.startswith("data-"):
            return _read_data(taken, kind[5:])
    except SchemaMismatch:
        pass
    return p.RawPart(format=NAME, value=block)


def write_part(part: p.Part, role: str) -> Any:
    """Write a part as a client sees it; UNSET for parts that clients do not see."""
    if type(part) is p.RawPart:
        return part.value if part.format == NAME else UNSET
    writer = _WRITERS.get(type(part))
    made = writer(part, role) if writer is not None else None
    return made if made is not None else UNSET


_READERS: dict[str, Any] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "file": _read_file,
    "source-url": _read_url,
    "source-document": _read_document,
}
_WRITERS: dict[type, Any] = {
    p.TextPart: _text_writer("text", False),
    p.ReasoningPart: _text_writer("reasoning", True),
    p.FilePart: _write_file,
    p.SourcePart: _write_source,
    p.DataPart: _write_data,
    p.RefusalPart: _write_refusal,
}
