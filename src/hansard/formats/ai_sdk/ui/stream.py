"""The AI SDK's UI message stream: UIMessageChunks over SSE or as lines, versions 5, 6 and 7.

    start                            the id of the answer; another id begins another answer
    start-step, finish-step          a step; its end adds nothing
    text-, reasoning- start/delta/end
    tool-input- start/delta/available/error, tool-output- available/error/denied, tool-approval- request/response
    source-url, source-document, file, reasoning-file, custom
    data-*                           replaces the part of the same type and id; transient ones are passed on only
    steering-message, reset-step     a user message inside the answer; the step starts again
    message-metadata, finish         metadata is merged; the finish reason
    abort, error                     interrupted; a failure

    tool-input-start, -delta            input-streaming: the text so far, and its value as partial JSON
    tool-input-available, -error        input-available; output-error, with the input as received
    tool-output-available, -error       output-available, output-error; preliminary outputs replace one another
    tool-output-denied                  output-denied
    tool-approval-request, -response    approval-requested, approval-responded

The decoder builds the UIMessage as the newest client does. The versions differ little: 5 and 6 end open texts with
their step, and keep the input of an invalid call as `rawInput`; 5 has no result metadata, no titles, and does not
rename a tool. Following 7 loses nothing. A delta for a part that never began is a fatal error in the clients; here it
is a failure, and the delta is kept. Chunks after `[DONE]` still count, as they do in the clients.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.ai_sdk.ui.content import STEP
from hansard.formats.ai_sdk.ui.tools import NAME
from hansard.formats.documents import read
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
_KNOWN_KEYS = frozenset(
    {"type", "toolCallId", "toolName", "dynamic", "providerMetadata", "inputTextDelta", "title", "toolMetadata"}
    | {"providerExecuted", *_CHANGING}
)
_UNMERGED = ("__proto__", "constructor", "prototype")
FINISH_REASONS = {"tool-calls": "tool_call", "content-filter": "content_filter"}
_TEXT, _REASONING = "text-delta", "reasoning-delta"


# -- a UIMessage in the making -------------------------------------------------------------------------------------


class Slot:
    """One part in the SDK's own fields, and the pieces of a text or input that grows (joined when read)."""

    __slots__ = ("answered", "block", "key", "pieces", "said", "start")

    def __init__(self, block: dict[str, Any], key: str) -> None:
        self.block, self.key = block, key
        self.pieces: list[str] = []
        self.start: dict[str, Any] = {}  # the chunk that a tool's input began with
        self.said: Any = None  # the part as it was last emitted
        self.answered = False

    @property
    def dynamic(self) -> bool:
        return bool(self.block["type"] == "dynamic-tool")

    @property
    def is_open(self) -> bool:
        return self.block.get("state") in ("streaming", _STREAMING)

    def native(self) -> dict[str, Any]:
        """The part as a client has it now."""
        block = self.block
        if not self.pieces or (self.start and block["state"] != _STREAMING):
            return block
        text = joined(self.pieces)
        if not self.start:
            return {**block, "text": text}
        value = text if self.start.get("inputEncoding") == "text" else partial(text)
        return {**block, **({"input": value} if value is not UNSET else {}), "rawInput": text}

    def update(self, chunk: dict[str, Any], state: str, **fields: Any) -> None:
        """Move a tool part to another state; drop the fields that the state does not have."""
        block = self.block = {key: value for key, value in self.block.items() if key not in _CHANGING}
        block["state"] = state
        block.update({key: value for key, value in fields.items() if value is not UNSET})
        for key in ("title", "toolMetadata", "providerExecuted"):
            if chunk.get(key) is not None:
                block[key] = chunk[key]
        if chunk.get("providerMetadata") is not None:
            ended = state in ("output-available", "output-error")
            block["resultProviderMetadata" if ended else "callProviderMetadata"] = chunk["providerMetadata"]
        for key in chunk.keys() - _KNOWN_KEYS:
            block.setdefault(key, chunk[key])


class Answer:
    """One UIMessage: its id and metadata, its parts, and how it ended.

    As in the newest client (v7), a tool part is found by its call id within the current step; a result or an approval
    looks there first, then backwards through the whole message. A data part is found by type and id anywhere.
    """

    def __init__(self) -> None:
        self.id: str | None = None
        self.metadata: Any = None
        self.slots: list[Slot] = []
        self.finish: Any = UNSET
        self.aborted = False
        self.turns = 0  # model messages so far: steps, and parts before the first step or after a steering message
        self._begun = False
        self._step = 0  # where the current step begins
        self._here: dict[str, list[Slot]] = {}  # the tools of the current step
        self._tools: dict[str, Slot] = {}  # the last of each call id
        self._data: dict[tuple[str, str], Slot] = {}

    def add(self, slot: Slot) -> None:
        self.slots.append(slot)
        block = slot.block
        kind = block["type"]
        if kind == _STEERING:
            self._begun = False
        elif kind == STEP or not self._begun:
            self._begun = True
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
        """Drop the current step."""
        kept = self.slots[: self._step]
        self.slots, self.turns, self._begun, self._step = [], 0, False, 0
        self._here, self._tools, self._data = {}, {}, {}
        for slot in kept:
            self.add(slot)

    def tool_here(self, call_id: str, dynamic: bool | None = None) -> Slot | None:
        """The tool part of the current step; with `dynamic`, only of that kind."""
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
        """Merge objects deeply, replace all else, ignore null."""
        if metadata is not None:
            self.metadata = _merged(self.metadata, metadata)

    def record(self, place: int) -> dict[str, Any]:
        """The UIMessage; without an id it gets the one that the format reads as no id."""
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
    """Read one native part as the format does: into a part, or a call and its result."""
    messages = read([{"id": "", "role": "assistant", "parts": [block]}], NAME).messages
    return [part for message in messages for part in message.parts]


# -- the decoder ---------------------------------------------------------------------------------------------------


class AiSdkUiDecoder(EventDecoder):
    """Decodes one answer, or several in sequence."""

    name = NAME
    TEXT_FIELD, INPUT_FIELD = "delta", "inputTextDelta"  # the keys of pieces in the chunks of the stream

    def __init__(self) -> None:
        super().__init__()
        self._answers: list[Answer] = []
        self._inputs: dict[str, Slot] = {}
        self._complete_inputs: dict[str, Slot] = {}  # inputs that are complete, or of an earlier step
        self._keys = 0
        self._texts: dict[str, Slot] = {}
        self._reasoning: dict[str, Slot] = {}
        self._ended = False
        self._handlers = {
            "start": self._start,
            "start-step": self._start_step,
            "reset-step": self._reset_step,
            **dict.fromkeys(("text-start", "reasoning-start"), self._text_start),
            **dict.fromkeys((_TEXT, _REASONING), self._text_delta),
            **dict.fromkeys(("text-end", "reasoning-end"), self._text_end),
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

    def handle(self, event: Any, kind: str) -> None:
        named = event.get("type") if type(event) is dict else None
        handler = self._handlers.get(named) if type(named) is str else None
        if handler is not None:
            handler(event)
        elif type(named) is str and named.startswith("data-"):
            self._data_part(event)
        elif named is None and type(event) is dict and "error" in event:
            self.fail(f"error object instead of a chunk: {exact_json.encode(event['error']).decode()[:200]}", event)
        else:
            self.other(event)

    def on_done(self) -> None:
        self._ended = True

    def complete(self) -> bool:
        return self._ended and bool(self._answers)

    def whole(self) -> list[Message]:
        records = [answer.record(place) for place, answer in enumerate(self._answers)]
        messages = read(records, NAME).messages if records else []
        begin = 0
        for answer, record in zip(self._answers, records, strict=True):
            end = begin + len(read([record], NAME).messages) if len(records) > 1 else len(messages)
            self.finish_messages(answer, messages, begin, end)
            begin = end
        return messages

    def finish_messages(self, answer: Answer, messages: list[Message], begin: int, end: int) -> None:
        """Set what the stream says of an answer and a UIMessage cannot: finish reason and state."""
        if answer.finish is not UNSET:
            last = max(i for i in range(begin, end) if messages[i].role == "assistant" or i == begin)
            messages[last] = replace(messages[last], finish_reason=answer.finish)
        if answer.aborted or any(slot.is_open for slot in answer.slots):
            state = "interrupted" if answer.aborted else "partial"
            messages[end - 1] = replace(messages[end - 1], state=state)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def answer(self) -> Answer:
        """The current answer; a chunk without a `start` begins one too."""
        if not self._answers:
            self._answers.append(Answer())
            self.emit(MessageStart())
        return self._answers[-1]

    def put(self, block: dict[str, Any]) -> Slot:
        """Add a part."""
        self._keys += 1
        slot = Slot(block, f"p{self._keys}")
        self.answer().add(slot)
        return slot

    def update_part(self, slot: Slot) -> None:
        """Emit what is new of a part and, for a tool, of its result."""
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
            for growing in (self._texts, self._reasoning, self._inputs, self._complete_inputs):
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
            answer.finish = FINISH_REASONS.get(reason, reason)
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
        self._complete_inputs.update(self._inputs)
        self._inputs.clear()
        self.emit(StepStart())

    def _reset_step(self, chunk: dict[str, Any]) -> None:
        self.answer().reset_step()
        for growing in (self._texts, self._reasoning, self._inputs, self._complete_inputs):
            growing.clear()
        self.emit(StepReset())
        self.other(chunk)

    def _whole_part(self, chunk: dict[str, Any]) -> None:
        slot = self.put(_present(chunk))
        self.update_part(slot)

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
        self.update_part(slot)

    def _steering(self, chunk: dict[str, Any]) -> None:
        self.put(dict(chunk))
        self.other(chunk)

    # -- texts and reasoning ---------------------------------------------------------------------------------------

    def _text_start(self, chunk: dict[str, Any]) -> None:
        kind, given = chunk["type"].partition("-")[0], chunk["id"]
        named = {"id": given} if kind == "reasoning" else {}
        rest = {key: value for key, value in _present(chunk).items() if key not in ("type", "id", "text")}
        slot = self.put({"type": kind, **named, "text": "", **rest, "state": "streaming"})
        (self._reasoning if named else self._texts)[given] = slot
        self.update_part(slot)

    def _text_slot(self, chunk: dict[str, Any]) -> Slot:
        kind = chunk["type"].partition("-")[0]
        growing = self._reasoning if kind == "reasoning" else self._texts
        if chunk["id"] not in growing:
            self.fail(f"{chunk['type']} for unknown part {chunk['id']!r}", chunk)
            self._text_start({"type": f"{kind}-start", "id": chunk["id"]})
        slot = growing[chunk["id"]]
        for key, value in _present(chunk).items():
            if key == _META or key not in ("type", "id", "delta", "text", "state"):
                slot.block[key] = value
        return slot

    def _text_delta(self, chunk: dict[str, Any]) -> None:
        text = chunk["delta"]
        if type(text) is not str:
            raise TypeError("delta is not a string")
        slot = self._text_slot(chunk)
        slot.pieces.append(text)
        self.emit(PartDelta(key=slot.key, text=text))
        self.grew(self.TEXT_FIELD, slot.key, slot.pieces)

    def _text_end(self, chunk: dict[str, Any]) -> None:
        slot = self._text_slot(chunk)
        slot.block["state"] = "done"
        (self._reasoning if slot.block["type"] == "reasoning" else self._texts).pop(chunk["id"])
        self.update_part(slot)

    # -- tools ---------------------------------------------------------------------------------------------------------

    def _tool(self, chunk: dict[str, Any], dynamic: bool, state: str, **fields: Any) -> Slot:
        """The tool part of this step that the chunk concerns, or a new one, in its new state."""
        call_id, name = chunk["toolCallId"], chunk["toolName"]
        if type(call_id) is not str or type(name) is not str:
            raise TypeError("tool call without id or name")
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
        self._complete_inputs.pop(chunk["toolCallId"], None)
        self.update_part(slot)

    def _input_delta(self, chunk: dict[str, Any]) -> None:
        call_id, text = chunk["toolCallId"], chunk["inputTextDelta"]
        if type(text) is not str:
            raise TypeError("delta is not a string")
        slot = self._inputs.get(call_id)
        if slot is None:
            before = self._complete_inputs.pop(call_id, None)
            if before is None:
                self.fail(f"input for unknown tool call {call_id!r}", chunk)
            start = before.start if before is not None else {"toolCallId": call_id, "toolName": ""}
            pieces = list(before.pieces) if before is not None else []
            self._input_start({key: value for key, value in start.items() if key not in (_META, "providerExecuted")})
            slot = self._inputs[call_id]
            slot.pieces = pieces
        slot.pieces.append(text)
        self.emit(PartDelta(key=slot.key, text=text))
        self.grew(self.INPUT_FIELD, slot.key, slot.pieces)

    def _complete_input(self, call_id: str) -> None:
        """Mark the input of a call as complete; a late delta reopens it."""
        if call_id in self._inputs:
            self._complete_inputs[call_id] = self._inputs.pop(call_id)

    def _input_available(self, chunk: dict[str, Any]) -> None:
        given = chunk.get("input", UNSET)
        slot = self._tool(chunk, bool(chunk.get("dynamic")), "input-available", input=given)
        self._complete_input(chunk["toolCallId"])
        self.update_part(slot)

    def _input_error(self, chunk: dict[str, Any]) -> None:
        here = self.answer().tool_here(chunk["toolCallId"])
        dynamic = here.dynamic if here is not None else bool(chunk.get("dynamic"))
        given, text = chunk.get("input", UNSET), chunk["errorText"]
        slot = self._tool(chunk, dynamic, "output-error", input=given, errorText=text)
        self.other(chunk)  # a part cannot say whether the input was rejected or the call failed
        self._complete_input(chunk["toolCallId"])
        self.update_part(slot)

    def _answered(self, chunk: dict[str, Any]) -> Slot:
        """The call that an output or an approval belongs to, with its input so far."""
        slot = self.answer().tool(chunk["toolCallId"])
        if slot is None:
            self.fail(f"{chunk['type']} for unknown tool call {chunk['toolCallId']!r}", chunk)
            slot = self._tool({"toolName": "", **chunk}, bool(chunk.get("dynamic")), "input-available")
        slot.block = dict(slot.native())
        self._complete_input(chunk["toolCallId"])
        return slot

    def _output(self, chunk: dict[str, Any]) -> None:
        slot = self._answered(chunk)
        flag = chunk["preliminary"] if chunk.get("preliminary") is not None else UNSET
        output, given = chunk.get("output", UNSET), slot.block.get("input", UNSET)
        slot.update(chunk, "output-available", input=given, output=output, preliminary=flag)
        self.update_part(slot)

    def _output_error(self, chunk: dict[str, Any]) -> None:
        text, slot = chunk["errorText"], self._answered(chunk)
        given, raw = slot.block.get("input", UNSET), slot.block.get("rawInput", UNSET)
        slot.update(chunk, "output-error", input=given, rawInput=UNSET if slot.dynamic else raw, errorText=text)
        self.update_part(slot)

    def _denied(self, chunk: dict[str, Any]) -> None:
        slot = self._answered(chunk)
        slot.block["state"] = "output-denied"
        self.update_part(slot)

    def _approval_request(self, chunk: dict[str, Any]) -> None:
        approval = {"id": chunk["approvalId"]}
        slot = self._answered(chunk)
        names = {"approvalDescriptor": "descriptor", "reason": "requestReason"}
        for key, value in chunk.items():
            asks = value is not None or key == "inputSchemaInput"
            if asks and key not in ("type", "approvalId", "toolCallId") and (key, value) != ("isAutomatic", False):
                approval[names.get(key, key)] = value
        slot.block.update(state="approval-requested", approval=approval)
        self.update_part(slot)

    def _approval_response(self, chunk: dict[str, Any]) -> None:
        slot, approved = self.answer().tool_of_approval(chunk["approvalId"]), chunk["approved"]
        if slot is None:
            self.fail(f"response to unknown approval {chunk['approvalId']!r}", chunk)
            return
        reason = {"reason": chunk["reason"]} if chunk.get("reason") is not None else {}
        slot.block = dict(slot.native())
        approval = {**slot.block["approval"], "approved": approved, **reason}
        slot.block.update(state="approval-responded", approval=approval)
        for key, native in (("providerExecuted", "providerExecuted"), (_META, "callProviderMetadata")):
            if chunk.get(key) is not None:
                slot.block[native] = chunk[key]
        self.update_part(slot)


def _present(chunk: dict[str, Any]) -> dict[str, Any]:
    """The chunk without null fields."""
    return {key: value for key, value in chunk.items() if value is not None}


def _object(metadata: Any) -> Any:
    return metadata if type(metadata) is dict else UNSET
