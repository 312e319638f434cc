"""Emitter of chat completion chunks: SSE as a server compatible with OpenAI sends it.

    delta                       chunk (`choices[0].delta`)
    message-start               {"role": "assistant", "content": ""}
    text, refusal               {"content"}, {"refusal"}
    reasoning                   {"reasoning_content"}, as DeepSeek and vLLM spell it
    tool-call                   {"tool_calls": [{"index", "id", "type", "function"}]}, its arguments as they arrive
    usage                       a chunk without choices, after the chunk with `finish_reason`
    failure, cut                {"error": {"message"}}; then there is no `finish_reason`
    end                         [DONE]

Provider-run tools, results, files, sources and data are not sent; steps are not separated. The caller gives the time
`created`: this module reads no clock.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.model import exact_json
from hansard.model.arguments import write_arguments
from hansard.model.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart
from hansard.streams.emitter_base import DONE, EventEmitter, Slot

NAME = "openai-chat"
_KEYS: dict[type, str] = {TextPart: "content", RefusalPart: "refusal", ReasoningPart: "reasoning_content"}
_REASONS = {"stop": "stop", "length": "length", "tool_call": "tool_calls", "content_filter": "content_filter"}


class OpenAIChatEmitter(EventEmitter):
    """Emit one completion."""

    name = NAME

    def __init__(self, target: str | None = None, message_id: str | None = None, *, created: int = 0) -> None:
        super().__init__(target, message_id)
        self._created, self._calls = created, 0
        self._frame: dict[str, Any] = {}
        self._before = b""

    def begin(self) -> None:
        model = self.start.model
        name = model.name if model is not UNSET and model.name is not UNSET else ""
        given = model.response_id if model is not UNSET and model.response_id is not UNSET else self.start.id
        made = self.message_id if self.message_id is not None else given
        self._frame = {
            "id": made if made is not UNSET else "chatcmpl-hansard",
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": name,
        }
        self._before = b"data: " + exact_json.encode(self._frame)[:-1] + b',"choices":[{"index":0,"delta":{'
        self.delta({"role": "assistant", "content": ""})

    def delta(self, delta: dict[str, Any], reason: str | None = None) -> None:
        """Send a chunk of the only choice."""
        self.send({**self._frame, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    def open(self, slot: Slot) -> None:
        part = slot.part
        if type(part) in _KEYS:
            self._open_text(slot)
            if part.text:
                self.grow(slot, part.text)
        elif type(part) is ToolCallPart and type(part.tool_name) is str and type(part.tool_call_id) is str:
            self._open_call(slot, part)

    def close(self, slot: Slot) -> None:
        part = slot.part
        if type(part) in _KEYS:
            if not slot.head:  # it started as another kind of part
                self._open_text(slot)
            if len(part.text) > slot.sent:
                self.grow(slot, part.text[slot.sent :])
        elif type(part) is ToolCallPart and part.provider_executed is not True:
            if not slot.head:
                self._open_call(slot, part)
            if not slot.sent:
                self.grow(slot, write_arguments(part) or "{}")

    def _open_text(self, slot: Slot) -> None:
        slot.head = self._before + b'"%b":' % _KEYS[type(slot.part)].encode()
        slot.tail = b'},"finish_reason":null}]}\n\n'

    def _open_call(self, slot: Slot, call: ToolCallPart) -> None:
        """Start a call; it is streamed if its id and name are known from the start."""
        if call.provider_executed is True:
            return
        index = self._calls
        self._calls += 1
        slot.id = call.tool_call_id if type(call.tool_call_id) is str else f"call-{self._calls}"
        name = call.tool_name if type(call.tool_name) is str else ""
        function = {"name": name, "arguments": ""}
        self.delta({"tool_calls": [{"index": index, "id": slot.id, "type": "function", "function": function}]})
        slot.head = self._before + b'"tool_calls":[{"index":%d,"function":{"arguments":' % index
        slot.tail = b'}}]},"finish_reason":null}]}\n\n'

    def end(self) -> None:
        if self.failures:
            self.send({"error": {"message": "; ".join(self.failures), "type": "server_error", "code": None}})
        else:
            reason = self.reason()
            self.delta({}, _REASONS.get(reason, "stop") if reason is not UNSET else "stop")
        if self.usage is not UNSET:
            self.send({**self._frame, "choices": [], "usage": self._usage_body()})
        self._out.append(DONE)

    def _usage_body(self) -> dict[str, Any]:
        usage: Any = self.usage
        given, made = usage.input_tokens or 0, usage.output_tokens or 0
        total = usage.total_tokens if usage.total_tokens is not UNSET else given + made
        out: dict[str, Any] = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": total}
        if usage.cache_read_tokens is not UNSET:
            out["prompt_tokens_details"] = {"cached_tokens": usage.cache_read_tokens}
        if usage.reasoning_tokens is not UNSET:
            out["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
        return out
