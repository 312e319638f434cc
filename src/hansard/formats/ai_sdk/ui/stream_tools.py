"""The tools of the AI SDK's UI message stream: a part for each call, which goes from state to state.

tool-input-start, -delta            input-streaming: the text so far, and what it says as JSON
tool-input-available, -error        input-available; output-error, with the input as it came
tool-output-available, -error       output-available, output-error; preliminary outputs replace one another
tool-output-denied                  output-denied
tool-approval-request, -response    approval-requested, approval-responded
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.ai_sdk.ui.stream_message import STREAMING, Answer, Slot, read_block
from hansard.streams.decoder_base import EventDecoder
from hansard.streams.deltas import MessageStart, PartDelta, PartEnd, PartStart

INPUT = "tool-input-delta"
META = "providerMetadata"


class ToolDecoder(EventDecoder):
    """The answers so far, and the chunks about tools."""

    def __init__(self) -> None:
        super().__init__()
        self._answers: list[Answer] = []
        self._inputs: dict[str, Slot] = {}
        self._resting: dict[str, Slot] = {}  # inputs that were begun and are whole, or of an earlier step
        self._keys = 0
        self._handlers = {
            "tool-input-start": self._input_start,
            INPUT: self._input_delta,
            "tool-input-available": self._input_available,
            "tool-input-error": self._input_error,
            "tool-output-available": self._output,
            "tool-output-error": self._output_error,
            "tool-output-denied": self._denied,
            "tool-approval-request": self._approval_request,
            "tool-approval-response": self._approval_response,
        }

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
        slot = self._tool(chunk, bool(chunk.get("dynamic")), STREAMING, inputEncoding=encoding)
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
            self._input_start({key: value for key, value in start.items() if key not in (META, "providerExecuted")})
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
        for key, native in (("providerExecuted", "providerExecuted"), (META, "callProviderMetadata")):
            if chunk.get(key) is not None:
                slot.block[native] = chunk[key]
        self.tell(slot)
