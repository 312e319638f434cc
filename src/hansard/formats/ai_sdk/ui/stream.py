"""The AI SDK's UI message stream: UIMessageChunks over SSE or as lines, versions 5, 6 and 7.

    start                            the answer's id; another id begins another answer
    start-step, finish-step          a step; its end says nothing by itself
    text-, reasoning- start/delta/end
    tool-input- start/delta/available/error, tool-output- available/error/denied, tool-approval- request/response
    source-url, source-document, file, reasoning-file, custom
    data-*                           the same type and id is replaced; transient ones are only told
    steering-message, reset-step     the user speaks inside the answer; the step is said again
    message-metadata, finish         metadata is merged; the reason to finish
    abort, error                     interrupted; a failure

The UIMessage is put together as the newest client does it. The versions differ in little: 5 and 6 end open texts with
their step, and keep the input of a broken call as `rawInput`; 5 has no result metadata, no titles, and does not rename
a tool. Nothing is lost by following 7. A piece for something that never began is a fatal error to the clients; here it
is a failure, and the piece is kept. `[DONE]` is no end: what comes behind it still counts, as it does for them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from hansard.formats.ai_sdk.ui.content import STEP
from hansard.formats.ai_sdk.ui.tools import NAME
from hansard.formats.documents import read_plain
from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.streams.decoder_base import EventDecoder
from hansard.streams.deltas import MessageDelta, MessageStart, PartDelta, PartEnd, PartStart, StepReset, StepStart
from hansard.streams.partial_json import partial
from hansard.streams.text_buffer import joined

_INPUT = "tool-input-delta"
_META = "providerMetadata"
_STREAMING = "input-streaming"
_STEERING = "steering-message"
_CHANGING = ("input", "output", "errorText", "rawInput", "inputEncoding", "preliminary")
_KNOWN = frozenset(
    {"type", "toolCallId", "toolName", "dynamic", "providerMetadata", "inputTextDelta", "title", "toolMetadata"}
    | {"providerExecuted", *_CHANGING}
)
_UNMERGED = ("__proto__", "constructor", "prototype")
FINISH = {"tool-calls": "tool_call", "content-filter": "content_filter"}
_TEXT, _REASONING = "text-delta", "reasoning-delta"


# -- a UIMessage in the making -------------------------------------------------------------------------------------


class Slot:
    """One part: its words as they came, and the pieces of a text or input that grows."""

    __slots__ = ("answered", "block", "key", "pieces", "said", "start")

    def __init__(self, block: dict[str, Any], key: str) -> None:
        self.block, self.key = block, key
        self.pieces: list[str] = []
        self.start: dict[str, Any] = {}  # the chunk that a tool's input began with
        self.said: Any = None  # the part as it was given out last
        self.answered = False

    @property
    def dynamic(self) -> bool:
        return bool(self.block["type"] == "dynamic-tool")

    @property
    def is_open(self) -> bool:
        return self.block.get("state") in ("streaming", _STREAMING)

    def native(self) -> dict[str, Any]:
        """The part as a client has it."""
        block = self.block
        if not self.pieces or (self.start and block["state"] != _STREAMING):
            return block
        text = joined(self.pieces)
        if not self.start:
            return {**block, "text": text}
        value = text if self.start.get("inputEncoding") == "text" else partial(text)
        return {**block, **({"input": value} if value is not UNSET else {}), "rawInput": text}

    def update(self, chunk: dict[str, Any], state: str, **fields: Any) -> None:
        """Bring a tool part into another state: what the state has not goes, what was said of the tool stays."""
        block = self.block = {key: value for key, value in self.block.items() if key not in _CHANGING}
        block["state"] = state
        block.update({key: value for key, value in fields.items() if value is not UNSET})
        for key in ("title", "toolMetadata", "providerExecuted"):
            if chunk.get(key) is not None:
                block[key] = chunk[key]
        if chunk.get("providerMetadata") is not None:
            ended = state in ("output-available", "output-error")
            block["resultProviderMetadata" if ended else "callProviderMetadata"] = chunk["providerMetadata"]
        for key in chunk.keys() - _KNOWN:
            block.setdefault(key, chunk[key])


class Answer:
    """One UIMessage: its id and metadata, its parts, and how it ended."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.metadata: Any = None
        self.slots: list[Slot] = []
        self.finish: Any = UNSET
        self.aborted = False
        self.turns = 0  # the messages of the model so far: steps, and what stands before the first or behind steering
        self._spoken = False
        self._step = 0  # where the present step begins
        self._here: dict[str, list[Slot]] = {}  # the tools of the present step
        self._tools: dict[str, Slot] = {}  # the last of each call id
        self._data: dict[tuple[str, str], Slot] = {}

    def add(self, slot: Slot) -> None:
        self.slots.append(slot)
        block = slot.block
        kind = block["type"]
        if kind == _STEERING:
            self._spoken = False
        elif kind == STEP or not self._spoken:
            self._spoken = True
            self.turns += 1
        if kind == STEP:
            self._step, self._here = len(self.slots), {}
        elif kind.startswith("data-"):
            if block.get("id") is not None:
                self._data.setdefault((kind, block["id"]), slot)
        elif "toolCallId" in block:
            self._here.setdefault(block["toolCallId"], []).append(slot)
            self._tools[block["toolCallId"]] = slot

    def reset_step(self) -> None:
        """Nothing of the present step was said."""
        kept = self.slots[: self._step]
        self.slots, self.turns, self._spoken, self._step = [], 0, False, 0
        self._here, self._tools, self._data = {}, {}, {}
        for slot in kept:
            self.add(slot)

    def tool_here(self, call_id: str, dynamic: bool | None = None) -> Slot | None:
        """The tool part of the present step, of a kind if one is wanted."""
        for slot in self._here.get(call_id, ()):
            if dynamic is None or slot.dynamic == dynamic:
                return slot
        return None

    def tool(self, call_id: str) -> Slot | None:
        return self.tool_here(call_id) or self._tools.get(call_id)

    def tool_of_approval(self, approval_id: str) -> Slot | None:
        for slot in self.slots:
            approval = slot.block.get("approval")
            if type(approval) is dict and approval.get("id") == approval_id and "toolCallId" in slot.block:
                return slot
        return None

    def data(self, chunk: dict[str, Any]) -> Slot | None:
        return self._data.get((chunk["type"], chunk["id"])) if chunk.get("id") is not None else None

    def merge(self, metadata: Any) -> None:
        """Objects are merged deeply, all else is replaced; null says nothing."""
        if metadata is not None:
            self.metadata = _merged(self.metadata, metadata)

    def record(self, place: int) -> dict[str, Any]:
        """The message; one without an id has the name that the format reads as none."""
        record = {"id": self.id if self.id is not None else f"hansard-{place + 1}", "role": "assistant"}
        said = {} if self.metadata is None else {"metadata": self.metadata}
        return {**record, **said, "parts": [slot.native() for slot in self.slots]}


def _merged(base: Any, more: Any) -> Any:
    if type(base) is not dict or type(more) is not dict:
        return more
    out = dict(base)
    for key, value in more.items():
        if key not in _UNMERGED:
            out[key] = _merged(out.get(key), value)
    return out


def read_block(block: dict[str, Any]) -> list[Any]:
    """One native part as the format reads it: a part, or a call and its result."""
    messages = read_plain([{"id": "", "role": "assistant", "parts": [block]}], NAME).messages
    return [part for message in messages for part in message.parts]


# -- the decoder ---------------------------------------------------------------------------------------------------


class _Text(Struct, forbid_unknown_fields=True, tag=_TEXT):
    id: str
    delta: str


class _Reasoning(Struct, forbid_unknown_fields=True, tag=_REASONING):
    id: str
    delta: str


class _Input(Struct, forbid_unknown_fields=True, tag=_INPUT, rename={"id": "toolCallId", "delta": "inputTextDelta"}):
    id: str
    delta: str


_QUICK = msgspec.json.Decoder(_Text | _Reasoning | _Input)
_PIECES = (_Text, _Reasoning, _Input)


class AiSdkUiDecoder(EventDecoder):
    """One answer, or several one after the other."""

    name = NAME
    pieces: tuple[tuple[type, type, type], msgspec.json.Decoder[Any]] = (_PIECES, _QUICK)
    words: ClassVar[dict[type, str]] = {_Text: "delta", _Reasoning: "delta", _Input: "inputTextDelta"}

    def __init__(self) -> None:
        super().__init__()
        self._answers: list[Answer] = []
        self._inputs: dict[str, Slot] = {}
        self._resting: dict[str, Slot] = {}  # inputs that were begun and are whole, or of an earlier step
        self._keys = 0
        self._texts: dict[str, Slot] = {}
        self._thoughts: dict[str, Slot] = {}
        types, self._quick = self.pieces
        self._growing = dict(zip(types, (self._texts, self._thoughts, self._inputs), strict=True))
        self._ended = False
        self._handlers = {
            "start": self._start,
            "start-step": self._start_step,
            "reset-step": self._reset_step,
            **dict.fromkeys(("text-start", "reasoning-start"), self._words_start),
            **dict.fromkeys((_TEXT, _REASONING), self._words_delta),
            **dict.fromkeys(("text-end", "reasoning-end"), self._words_end),
            **dict.fromkeys(("source-url", "source-document", "file", "reasoning-file", "custom"), self._whole_part),
            "steering-message": self._steering,
            "tool-input-start": self._input_start,
            _INPUT: self._input_delta,
            "tool-input-available": self._input_available,
            "tool-input-error": self._input_error,
            "tool-output-available": self._output,
            "tool-output-error": self._output_error,
            "tool-output-denied": self._denied,
            "tool-approval-request": self._approval_request,
            "tool-approval-response": self._approval_response,
            "message-metadata": self._message_metadata,
            "finish": self._finish,
            "abort": self._abort,
            "error": self._error,
        }

    def quick(self, data: bytes) -> bool:
        try:
            chunk = self._quick.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        slot = self._growing[type(chunk)].get(chunk.id)
        if slot is None:
            return False
        slot.pieces.append(chunk.delta)
        self._out.append(PartDelta(key=slot.key, text=chunk.delta))
        self.grew(data, self.words[type(chunk)], slot.key, slot.pieces)
        return True

    def handle(self, event: Any, kind: str) -> None:
        named = event.get("type") if type(event) is dict else None
        handler = self._handlers.get(named) if type(named) is str else None
        if handler is not None:
            handler(event)
        elif type(named) is str and named.startswith("data-"):
            self._data_part(event)
        elif named is None and type(event) is dict and "error" in event:
            self.fail(f"an error in place of a chunk: {exact_json.encode(event['error']).decode()[:200]}", event)
        else:
            self.other(event)

    def on_done(self) -> None:
        self._ended = True

    def complete(self) -> bool:
        return self._ended and bool(self._answers)

    def whole(self) -> list[Message]:
        records = [answer.record(place) for place, answer in enumerate(self._answers)]
        messages = read_plain(records, NAME).messages if records else []
        begin = 0
        for answer, record in zip(self._answers, records, strict=True):
            end = begin + len(read_plain([record], NAME).messages) if len(records) > 1 else len(messages)
            self.say(answer, messages, begin, end)
            begin = end
        return messages

    def say(self, answer: Answer, messages: list[Message], begin: int, end: int) -> None:
        """What the stream said of an answer, and a UIMessage does not."""
        if answer.finish is not UNSET:
            last = max(i for i in range(begin, end) if messages[i].role == "assistant" or i == begin)
            messages[last] = replace(messages[last], finish_reason=answer.finish)
        if answer.aborted or any(slot.is_open for slot in answer.slots):
            state = "interrupted" if answer.aborted else "partial"
            messages[end - 1] = replace(messages[end - 1], state=state)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def answer(self) -> Answer:
        """The present one; what comes without a `start` begins one too."""
        if not self._answers:
            self._answers.append(Answer())
            self.emit(MessageStart())
        return self._answers[-1]

    def put(self, block: dict[str, Any]) -> Slot:
        """Another part."""
        self._keys += 1
        slot = Slot(block, f"p{self._keys}")
        self.answer().add(slot)
        return slot

    def tell(self, slot: Slot) -> None:
        """Give out what is new of a part and, for a tool, of its result."""
        part, *more = read_block(slot.native())
        first = slot.said is None
        if first:
            self.emit(PartStart(key=slot.key, part=part))
        if (not first and part != slot.said) or (not slot.is_open and (first or not more)):
            self.emit(PartEnd(key=slot.key, part=part))
        slot.said = part
        for result in more:
            if not slot.answered:
                self.emit(PartStart(key=f"{slot.key}.result", part=result))
            self.emit(PartEnd(key=f"{slot.key}.result", part=result))
            slot.answered = True

    # -- the answer ------------------------------------------------------------------------------------------------

    def _start(self, chunk: dict[str, Any]) -> None:
        given = chunk.get("messageId")
        if self._answers and given is not None and self._answers[-1].id not in (None, given):
            self._answers.append(Answer())
            for growing in (self._texts, self._thoughts, self._inputs, self._resting):
                growing.clear()
            self.emit(StepStart())
            self.other(chunk)
        elif not self._answers:
            self._answers.append(Answer())
        answer = self._answers[-1]
        answer.id = given if given is not None else answer.id
        answer.merge(chunk.get("messageMetadata"))
        if len(self._answers) == 1:
            named = answer.id if type(answer.id) is str else UNSET
            self.emit(MessageStart(id=named, metadata=_object(answer.metadata)))

    def _message_metadata(self, chunk: dict[str, Any]) -> None:
        answer = self.answer()
        answer.merge(chunk["messageMetadata"])
        self.emit(MessageDelta(metadata=_object(answer.metadata)))

    def _finish(self, chunk: dict[str, Any]) -> None:
        answer, reason = self.answer(), chunk.get("finishReason")
        if type(reason) is str:
            answer.finish = FINISH.get(reason, reason)
        answer.merge(chunk.get("messageMetadata"))
        changed = chunk.get("messageMetadata") is not None
        metadata = _object(answer.metadata) if changed else UNSET
        self._ended = True
        self.emit(MessageDelta(finish_reason=answer.finish, metadata=metadata))

    def _abort(self, chunk: dict[str, Any]) -> None:
        self.answer().aborted = self._ended = True
        self.other(chunk)

    def _error(self, chunk: dict[str, Any]) -> None:
        text = chunk.get("errorText")
        self.fail(text if type(text) is str else "the server reported an error", chunk)

    # -- steps and parts -------------------------------------------------------------------------------------------

    def _start_step(self, chunk: dict[str, Any]) -> None:
        self.put({**chunk, "type": STEP})
        self._resting.update(self._inputs)
        self._inputs.clear()
        self.emit(StepStart())

    def _reset_step(self, chunk: dict[str, Any]) -> None:
        self.answer().reset_step()
        for growing in (self._texts, self._thoughts, self._inputs, self._resting):
            growing.clear()
        self.emit(StepReset())
        self.other(chunk)

    def _whole_part(self, chunk: dict[str, Any]) -> None:
        slot = self.put(_present(chunk))
        self.tell(slot)

    def _data_part(self, chunk: dict[str, Any]) -> None:
        data = chunk["data"]
        if chunk.get("transient"):
            self.other(chunk)
            return
        slot = self.answer().data(chunk)
        if slot is None:
            slot = self.put(chunk)
        else:
            slot.block = {**slot.block, "data": data}
        self.tell(slot)

    def _steering(self, chunk: dict[str, Any]) -> None:
        self.put(dict(chunk))
        self.other(chunk)

    # -- texts and reasoning ---------------------------------------------------------------------------------------

    def _words_start(self, chunk: dict[str, Any]) -> None:
        kind, given = chunk["type"].partition("-")[0], chunk["id"]
        named = {"id": given} if kind == "reasoning" else {}
        rest = {key: value for key, value in _present(chunk).items() if key not in ("type", "id", "text")}
        slot = self.put({"type": kind, **named, "text": "", **rest, "state": "streaming"})
        (self._thoughts if named else self._texts)[given] = slot
        self.tell(slot)

    def _words(self, chunk: dict[str, Any]) -> Slot:
        kind = chunk["type"].partition("-")[0]
        growing = self._thoughts if kind == "reasoning" else self._texts
        if chunk["id"] not in growing:
            self.fail(f"a {chunk['type']} for {chunk['id']!r}, which did not begin", chunk)
            self._words_start({"type": f"{kind}-start", "id": chunk["id"]})
        slot = growing[chunk["id"]]
        for key, value in _present(chunk).items():
            if key == _META or key not in ("type", "id", "delta", "text", "state"):
                slot.block[key] = value
        return slot

    def _words_delta(self, chunk: dict[str, Any]) -> None:
        text = chunk["delta"]
        if type(text) is not str:
            raise TypeError("a delta that is no text")
        slot = self._words(chunk)
        slot.pieces.append(text)
        self.emit(PartDelta(key=slot.key, text=text))

    def _words_end(self, chunk: dict[str, Any]) -> None:
        slot = self._words(chunk)
        slot.block["state"] = "done"
        (self._thoughts if slot.block["type"] == "reasoning" else self._texts).pop(chunk["id"])
        self.tell(slot)

    # -- tools ---------------------------------------------------------------------------------------------------------

    def _tool(self, chunk: dict[str, Any], dynamic: bool, state: str, **fields: Any) -> Slot:
        """The tool part of this step that the chunk is about, or a new one, in its new state."""
        call_id, name = chunk["toolCallId"], chunk["toolName"]
        if type(call_id) is not str or type(name) is not str:
            raise TypeError("a tool call without id or name")
        slot = self.answer().tool_here(call_id, dynamic)
        named = {"type": "dynamic-tool", "toolName": name} if dynamic else {"type": f"tool-{name}"}
        if slot is None:
            slot = self.put({**named, "toolCallId": call_id})
        else:
            slot.block = {**slot.block, **named}
        slot.update(chunk, state, **fields)
        return slot

    def _input_start(self, chunk: dict[str, Any]) -> None:
        encoding = chunk["inputEncoding"] if chunk.get("inputEncoding") is not None else UNSET
        slot = self._tool(chunk, bool(chunk.get("dynamic")), _STREAMING, inputEncoding=encoding)
        slot.start, slot.pieces = chunk, []
        self._inputs[chunk["toolCallId"]] = slot
        self._resting.pop(chunk["toolCallId"], None)
        self.tell(slot)

    def _input_delta(self, chunk: dict[str, Any]) -> None:
        call_id, text = chunk["toolCallId"], chunk["inputTextDelta"]
        if type(text) is not str:
            raise TypeError("a delta that is no text")
        slot = self._inputs.get(call_id)
        if slot is None:
            before = self._resting.pop(call_id, None)
            if before is None:
                self.fail(f"input for the tool call {call_id!r}, which did not begin", chunk)
            start = before.start if before is not None else {"toolCallId": call_id, "toolName": ""}
            pieces = list(before.pieces) if before is not None else []
            self._input_start({key: value for key, value in start.items() if key not in (_META, "providerExecuted")})
            slot = self._inputs[call_id]
            slot.pieces = pieces
        slot.pieces.append(text)
        self.emit(PartDelta(key=slot.key, text=text))

    def _rest(self, call_id: str) -> None:
        """The input of a call does not grow any more, or only if a late piece comes."""
        if call_id in self._inputs:
            self._resting[call_id] = self._inputs.pop(call_id)

    def _input_available(self, chunk: dict[str, Any]) -> None:
        given = chunk.get("input", UNSET)
        slot = self._tool(chunk, bool(chunk.get("dynamic")), "input-available", input=given)
        self._rest(chunk["toolCallId"])
        self.tell(slot)

    def _input_error(self, chunk: dict[str, Any]) -> None:
        here = self.answer().tool_here(chunk["toolCallId"])
        dynamic = here.dynamic if here is not None else bool(chunk.get("dynamic"))
        given, text = chunk.get("input", UNSET), chunk["errorText"]
        slot = self._tool(chunk, dynamic, "output-error", input=given, errorText=text)
        self.other(chunk)  # a part cannot say whether the call was refused, or made and failed
        self._rest(chunk["toolCallId"])
        self.tell(slot)

    def _answered(self, chunk: dict[str, Any]) -> Slot:
        """The call that an output or an approval is for, with its input as it stands."""
        slot = self.answer().tool(chunk["toolCallId"])
        if slot is None:
            self.fail(f"a {chunk['type']} for the tool call {chunk['toolCallId']!r}, which was not made", chunk)
            slot = self._tool({"toolName": "", **chunk}, bool(chunk.get("dynamic")), "input-available")
        slot.block = dict(slot.native())
        self._rest(chunk["toolCallId"])
        return slot

    def _output(self, chunk: dict[str, Any]) -> None:
        slot = self._answered(chunk)
        flag = chunk["preliminary"] if chunk.get("preliminary") is not None else UNSET
        output, given = chunk.get("output", UNSET), slot.block.get("input", UNSET)
        slot.update(chunk, "output-available", input=given, output=output, preliminary=flag)
        self.tell(slot)

    def _output_error(self, chunk: dict[str, Any]) -> None:
        text, slot = chunk["errorText"], self._answered(chunk)
        given, raw = slot.block.get("input", UNSET), slot.block.get("rawInput", UNSET)
        slot.update(chunk, "output-error", input=given, rawInput=UNSET if slot.dynamic else raw, errorText=text)
        self.tell(slot)

    def _denied(self, chunk: dict[str, Any]) -> None:
        slot = self._answered(chunk)
        slot.block["state"] = "output-denied"
        self.tell(slot)

    def _approval_request(self, chunk: dict[str, Any]) -> None:
        approval = {"id": chunk["approvalId"]}
        slot = self._answered(chunk)
        names = {"approvalDescriptor": "descriptor", "reason": "requestReason"}
        for key, value in chunk.items():
            asks = value is not None or key == "inputSchemaInput"
            if asks and key not in ("type", "approvalId", "toolCallId") and (key, value) != ("isAutomatic", False):
                approval[names.get(key, key)] = value
        slot.block.update(state="approval-requested", approval=approval)
        self.tell(slot)

    def _approval_response(self, chunk: dict[str, Any]) -> None:
        slot, approved = self.answer().tool_of_approval(chunk["approvalId"]), chunk["approved"]
        if slot is None:
            self.fail(f"an answer to the approval {chunk['approvalId']!r}, which nobody asked for", chunk)
            return
        reason = {"reason": chunk["reason"]} if chunk.get("reason") is not None else {}
        slot.block = dict(slot.native())
        approval = {**slot.block["approval"], "approved": approved, **reason}
        slot.block.update(state="approval-responded", approval=approval)
        for key, native in (("providerExecuted", "providerExecuted"), (_META, "callProviderMetadata")):
            if chunk.get(key) is not None:
                slot.block[native] = chunk[key]
        self.tell(slot)


def _present(chunk: dict[str, Any]) -> dict[str, Any]:
    """The chunk without the nulls that stand for nothing."""
    return {key: value for key, value in chunk.items() if value is not None}


def _object(metadata: Any) -> Any:
    return metadata if type(metadata) is dict else UNSET
