"""Emitter of AG-UI, the Agent User Interaction protocol, as SSE.  As of ag-ui-protocol 1.0.

    delta                        events
    the first message-start      RUN_STARTED with the caller's thread and run
    each step                    STEP_STARTED, STEP_FINISHED
    text, refusal                TEXT_MESSAGE_START, _CONTENT, _END: each text is a message
    reasoning                    REASONING_START, REASONING_MESSAGE_START, _CONTENT, _END, REASONING_END
    tool-call                    TOOL_CALL_START, _ARGS, _END
    tool-result, retry           TOOL_CALL_RESULT
    data, source, file           CUSTOM: the data's name, `source`, `file`
    end                          RUN_FINISHED; calls that wait for approval are its interrupts
    failure, cut                 RUN_ERROR

The target `thinking` is the protocol before 1.0, which used THINKING_* events for reasoning. Signatures, encrypted
content and usage are not sent. A call whose stream was cut is not ended: clients must not run half a call.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.model import exact_json
from hansard.model.arguments import write_arguments
from hansard.model.display import denied, failed, shown_error, shown_media, shown_output, shown_url, without_ciphers
from hansard.model.parts import (
    DataPart,
    FilePart,
    ReasoningPart,
    SourcePart,
    ToolCallPart,
)
from hansard.streams.emitter_base import GROWING, PartEmitter, Slot

NAME = "ag-ui"
_DENIED = "Tool call execution denied."


class AgUiEmitter(PartEmitter):
    """Emit one run."""

    name = NAME
    targets = ("reasoning", "thinking")

    def __init__(
        self, target: str | None = None, message_id: str | None = None, *, thread_id: str = "", run_id: str = ""
    ) -> None:
        super().__init__(target or "reasoning", message_id)
        self._run = {"threadId": thread_id, "runId": run_id}
        self._id, self._texts, self._thoughts, self._calls, self._steps = "message", 0, 0, 0, 0
        self._asked: dict[str, Any] = {}

    def event(self, kind: str, /, **fields: Any) -> None:
        """Send one event; UNSET fields are left out."""
        self.send({"type": kind, **{key: value for key, value in fields.items() if value is not UNSET}})

    # -- the frame -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        if self.message_id is not None:
            self._id = self.message_id
        elif self.start.id is not UNSET:
            self._id = self.start.id
        self.event("RUN_STARTED", **self._run)
        self._step()

    def turn(self) -> None:
        self.event("STEP_FINISHED", stepName=f"step-{self._steps}")
        self._step()

    def _step(self) -> None:
        self._steps += 1
        self.event("STEP_STARTED", stepName=f"step-{self._steps}")

    def end(self) -> None:
        self.event("STEP_FINISHED", stepName=f"step-{self._steps}")
        if self.failures:
            self.event("RUN_ERROR", message="; ".join(self.failures))
            return
        interrupts = [
            {"id": approval["id"], "reason": "tool_approval", "toolCallId": call_id}
            for call_id, approval in self._asked.items()
        ]
        outcome = {"type": "interrupt", "interrupts": interrupts} if interrupts else UNSET
        self.event("RUN_FINISHED", **self._run, outcome=outcome)

    # -- parts -----------------------------------------------------------------------------------------------------

    def open(self, slot: Slot) -> None:
        part = slot.part
        if type(part) is ToolCallPart:
            if type(part.tool_name) is str and type(part.tool_call_id) is str:
                self._open_call(slot, part)
        elif type(part) in GROWING and part.text:
            self.open_words(slot)

    def leave(self, slot: Slot) -> None:
        if type(slot.part) in GROWING:
            self._end_words(slot)
        elif type(slot.part) is not ToolCallPart:
            self.close(slot)

    def open_words(self, slot: Slot) -> None:
        if type(slot.part) is ReasoningPart:
            self._thoughts += 1
            slot.id = f"{self._id}-reasoning-{self._thoughts}"
            slot.head = self._open_thought(slot.id)
        else:
            self._texts += 1
            slot.id = self._id if self._texts == 1 else f"{self._id}-{self._texts}"
            self.event("TEXT_MESSAGE_START", messageId=slot.id, role="assistant")
            slot.head = _content("TEXT_MESSAGE_CONTENT", slot.id)
        slot.tail = b"}\n\n"
        if slot.part.text:
            self.grow(slot, slot.part.text)

    def _open_thought(self, block_id: str) -> bytes:
        if self.target == "thinking":
            self.event("THINKING_START")
            self.event("THINKING_TEXT_MESSAGE_START")
            return b'data: {"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":'
        self.event("REASONING_START", messageId=block_id)
        self.event("REASONING_MESSAGE_START", messageId=block_id, role="reasoning")
        return _content("REASONING_MESSAGE_CONTENT", block_id)

    def close_words(self, slot: Slot) -> None:
        text = slot.part.text
        if not slot.head and text:
            self.open_words(slot)
        elif slot.head and len(text) > slot.sent:
            self.grow(slot, text[slot.sent :])
        self._end_words(slot)

    def _end_words(self, slot: Slot) -> None:
        if not slot.head:
            return
        if type(slot.part) is not ReasoningPart:
            self.event("TEXT_MESSAGE_END", messageId=slot.id)
        elif self.target == "thinking":
            self.event("THINKING_TEXT_MESSAGE_END")
            self.event("THINKING_END")
        else:
            self.event("REASONING_MESSAGE_END", messageId=slot.id)
            self.event("REASONING_END", messageId=slot.id)

    def part(self, part: Any) -> None:
        if type(part) is DataPart:
            self.event("CUSTOM", name=part.name, value=part.data if part.data is not UNSET else None)
        elif type(part) is SourcePart:
            source = {"id": part.source_id, "url": part.url, "title": part.title, "mediaType": part.media_type}
            self.event("CUSTOM", name="source", value={key: item for key, item in source.items() if item is not UNSET})
        elif type(part) is FilePart and (url := shown_url(part)) is not None:
            value = {"url": url, "mediaType": shown_media(part)}
            self.event("CUSTOM", name="file", value={**value, **({"name": part.name} if part.name else {})})

    # -- tools -----------------------------------------------------------------------------------------------------

    def _open_call(self, slot: Slot, call: ToolCallPart) -> None:
        """Start a call; it is streamed if its id and name are known from the start."""
        self._calls += 1
        slot.id = call.tool_call_id if type(call.tool_call_id) is str else f"call-{self._calls}"
        name = call.tool_name if type(call.tool_name) is str else ""
        self.event("TOOL_CALL_START", toolCallId=slot.id, toolCallName=name, parentMessageId=self._id)
        slot.head = b'data: {"type":"TOOL_CALL_ARGS","toolCallId":%b,"delta":' % exact_json.encode(slot.id)
        slot.tail = b"}\n\n"

    def close_call(self, slot: Slot, call: ToolCallPart) -> None:
        if not slot.head:
            self._open_call(slot, call)
        if not slot.sent:
            self.grow(slot, write_arguments(call) or "{}")
        self.event("TOOL_CALL_END", toolCallId=slot.id)
        if call.tool_call_id is UNSET:
            self._nameless.append((slot.id, call))
        approval = call.approval
        if type(approval) is dict and type(approval.get("id")) is str and "approved" not in approval:
            self._asked[slot.id] = approval

    def result(self, part: Any) -> None:
        call_id = part.tool_call_id
        if type(call_id) is not str:
            call_id, call = self.take_nameless(part.tool_name)
            if call is None:
                return
        self._asked.pop(call_id, None)
        value = shown_error(part) if failed(part) or denied(part) else shown_output(part)
        if getattr(part, "provider_executed", UNSET) is True:
            value = without_ciphers(value)
        if denied(part) and not value:
            value = _DENIED
        text = value if type(value) is str else exact_json.encode(value).decode("utf-8", "surrogatepass")
        self.event("TOOL_CALL_RESULT", messageId=f"{call_id}-result", toolCallId=call_id, content=text, role="tool")


def _content(kind: str, message_id: str) -> bytes:
    return b'data: {"type":"%b","messageId":%b,"delta":' % (kind.encode(), exact_json.encode(message_id))
