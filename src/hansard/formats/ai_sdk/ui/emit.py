"""The AI SDK's UI message stream: SSE that `useChat` of version 5, 6 or 7 reads.

    delta                              chunks
    the first message-start            start with the message's id: an answer that continues repeats its id
    further ones, step-start           finish-step, start-step
    text, refusal                      text-start, text-delta, text-end
    reasoning                          reasoning-start, -delta, -end; none while there is no text
    tool-call                          tool-input-start, -delta, -available; -error if the input is not valid JSON;
                                       tool-approval-request, -response
    tool-result, retry                 tool-output-available, -error, -denied
    event (`event_deltas`)             message-metadata, data-<event type>
    source, file, data, raw            source-url, source-document, file, data-<name>, custom, reasoning-file
    failure                            data-error and error, at the end: clients stop reading after an error
    end                                finish-step, finish, [DONE]

The format `ai-sdk-ui` decides what a client sees of a part, so a stream and a written message cannot differ:
signatures, encrypted reasoning, usage, models and provider ids stay on the server. Blocks are numbered, never named by
a provider id. A call whose stream was cut stays `input-streaming`: no client runs half a call. With `own=True` the
deltas come from such a stream already: their metadata belongs to the client and is sent, steps and finish reason are
complete, and an error is not part of the message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from hansard.formats.ai_sdk.ui.content import write_part
from hansard.formats.ai_sdk.ui.events import EVENTS, entry, is_shown
from hansard.formats.ai_sdk.ui.rules import conform_to_version
from hansard.formats.ai_sdk.ui.tools import NAME, write_tool
from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.model.parts import DataPart, ReasoningPart, RetryPart, ToolCallPart, ToolResultPart
from hansard.streams.deltas import Delta, MessageDelta, Other
from hansard.streams.emitter_base import CUT, DONE, GROWING, PartEmitter, Slot

_INVALID_JSON = "The input of the call is not valid JSON."
_REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool-calls",
    "content_filter": "content-filter",
    "error": "error",
}
_PASSED = ("abort", "steering-message")
_INPUT_ERROR = "tool-input-error"


# -- the chunks that each version takes ----------------------------------------------------------------------------

# A chunk of an unknown type ends the client's stream in every version, a chunk with an unknown field in those released
# before July 2026. So a chunk goes out only to a version that knows it, and with the fields that version has:
#
#     oldest    what 5.0.0, 6.0.0 and 7.0.0 all take
#     v5        the newest of version 5: also a reason to finish, errors in inputs, preliminary outputs
#     v6        also approvals, denials, titles, metadata of tools
#     v7        also files of reasoning, custom parts, answers to approvals, citations
#
# The numbers are the versions that introduced a chunk or a field; 5.1 is a later version 5, and so on.
_LEVELS = {"oldest": 5.0, "v5": 5.9, "v6": 6.9, "v7": 7.9}
_META = {"providerMetadata": 5.0}
_INPUT = {
    "toolCallId": 5.0,
    "toolName": 5.0,
    "providerExecuted": 5.0,
    "dynamic": 5.0,
    "title": 6.0,
    "toolMetadata": 6.1,
}
_OUTPUT = {"toolCallId": 5.0, "providerExecuted": 5.0, "dynamic": 5.0, "providerMetadata": 6.1, "toolMetadata": 6.1}
_APPROVAL = {"approvalId": 6.0, "toolCallId": 6.0, "signature": 6.1, "approvalDescriptor": 6.1, "inputSchemaInput": 6.1}
_CHUNKS: dict[str, tuple[float, dict[str, float]]] = {
    "start": (5.0, {"messageId": 5.0, "messageMetadata": 5.0}),
    "start-step": (5.0, {}),
    "text-start": (5.0, {"id": 5.0, **_META}),
    "text-end": (5.0, {"id": 5.0, "citations": 7.1, **_META}),
    "reasoning-start": (5.0, {"id": 5.0, **_META}),
    "reasoning-end": (5.0, {"id": 5.0, **_META}),
    "tool-input-start": (5.0, {**_INPUT, "providerMetadata": 6.1, "inputEncoding": 6.1}),
    "tool-input-available": (5.0, {**_INPUT, **_META, "input": 5.0}),
    "tool-input-error": (5.1, {**_INPUT, **_META, "input": 5.0, "errorText": 5.0}),
    "tool-approval-request": (6.0, {**_APPROVAL, "reason": 7.1, "isAutomatic": 7.0}),
    "tool-approval-response": (7.0, {"approvalId": 7.0, "approved": 7.0, "reason": 7.0, "providerExecuted": 7.0}),
    "tool-output-available": (5.0, {**_OUTPUT, "output": 5.0, "preliminary": 5.1}),
    "tool-output-error": (5.0, {**_OUTPUT, "errorText": 5.0}),
    "tool-output-denied": (6.0, {"toolCallId": 6.0}),
    "source-url": (5.0, {"sourceId": 5.0, "url": 5.0, "title": 5.0, **_META}),
    "source-document": (5.0, {"sourceId": 5.0, "mediaType": 5.0, "title": 5.0, "filename": 5.0, **_META}),
    "file": (5.0, {"url": 5.0, "mediaType": 5.0, **_META}),
    "reasoning-file": (7.0, {"url": 7.0, "mediaType": 7.0, **_META}),
    "custom": (7.0, {"kind": 7.0, **_META}),
    "steering-message": (7.1, {"id": 7.1, "parts": 7.1}),
    "message-metadata": (5.0, {"messageMetadata": 5.0}),
    "finish-step": (5.0, {}),
    "reset-step": (7.1, {}),
    "finish": (5.0, {"finishReason": 5.1, "messageMetadata": 5.0}),
    "abort": (5.0, {"reason": 5.1}),
    "error": (5.0, {"errorText": 5.0}),
}
_DATA: tuple[float, dict[str, float]] = (5.0, {"id": 5.0, "data": 5.0, "transient": 5.0})


def _chunk_for(kind: str, fields: dict[str, Any], level: float) -> dict[str, Any] | None:
    """The chunk with the fields that a client of this level accepts; None if it does not know the chunk."""
    since, known = _DATA if kind.startswith("data-") else _CHUNKS.get(kind, (99.0, {}))
    if since > level:
        return None
    out: dict[str, Any] = {"type": kind}
    for key, value in fields.items():
        if value is not UNSET and known.get(key, 99.0) <= level:
            out[key] = value
    return out


def _may_be_unsafe(raw: bytes) -> bool:
    """Whether this JSON may have a key that safe JavaScript parsers reject."""
    return b'"__proto__"' in raw or (b'"constructor"' in raw and b'"prototype"' in raw)


def _without_unsafe_keys(value: Any) -> Any:
    """The data without the keys that safe JavaScript parsers reject."""
    if type(value) is dict:
        return {key: _without_unsafe_keys(item) for key, item in value.items() if not _is_unsafe_key(key, item)}
    return [_without_unsafe_keys(item) for item in value] if type(value) is list else value


def _is_unsafe_key(key: str, item: Any) -> bool:
    return key == "__proto__" or (key == "constructor" and type(item) is dict and "prototype" in item)


# -- the emitter ---------------------------------------------------------------------------------------------------


def event_deltas(message: Message) -> list[Delta]:
    """An event as chunks for the clients of a stream; the emitter keeps the metadata together."""
    out: list[Delta] = []
    for part in message.parts if is_shown(message) else ():
        if isinstance(part, DataPart):
            named = {} if part.id is UNSET else {"id": part.id}
            data = None if part.data is UNSET else part.data
            value = {"type": f"data-{part.name}", **named, "data": data, EVENTS: entry(message, part)}
            out.append(Other(format=NAME, value=value))
    return out


class AiSdkUiEmitter(PartEmitter):
    """Emits one UIMessage."""

    name = NAME
    targets = ("v5", "v6", "v7", "oldest")
    headers = {**PartEmitter.headers, "connection": "keep-alive", "x-vercel-ai-ui-message-stream": "v1"}

    def __init__(self, target: str | None = None, message_id: str | None = None, *, own: bool = False) -> None:
        super().__init__(target or "v6", message_id)
        self._own = own
        self._level = _LEVELS[self.target or "v6"]
        self._profile = self.target if self.target in ("v6", "v7") else "v5"
        self._blocks = self._made = 0
        self._step = self._stepped = self._used = self._aborted = False
        self._abort: dict[str, Any] = {}
        self._last: Any = UNSET
        self._events: list[Any] = []
        self._calls: dict[str, ToolCallPart] = {}
        self._rejected: dict[str, dict[str, Any]] = {}  # inputs that the stream itself reported as rejected
        self._known_calls: set[str] = set()  # calls of this answer that the client already has
        self.about: dict[str, Any] | None = None  # metadata for the client, which also hears of interruptions then

    def go_on(self, call_ids: Iterable[str]) -> None:
        """The client has these calls from an earlier stream: send only their results, before a step begins."""
        self._known_calls.update(call_ids)

    # -- the frame -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        start = self.start
        message_id = self.message_id if self.message_id is not None else start.id
        metadata = start.metadata if self._own else self.about or UNSET
        self.chunk("start", messageId=message_id, messageMetadata=metadata)

    @property
    def is_complete(self) -> bool:
        """Whether the answer has ended as a whole."""
        return bool(self._ends) and self._ends[-1] == "done" and not self.failures and not self._aborted

    def turn(self) -> None:
        if self._level < 7:  # no block continues across a step; later text is a new block
            self._end_words()
        if self._step and self._used:
            self._finish_step()
        self._start_step()

    def reset(self) -> None:
        self._end_words()
        self.chunk("reset-step")

    def _end_words(self) -> None:
        for slot in self._open.values():
            if slot.head and type(slot.part) in GROWING:
                self.inside(f"{_kind(slot.part)}-end", id=slot.id)
                slot.head = b""

    def said(self, delta: MessageDelta) -> None:
        if self._own and delta.metadata is not UNSET:
            if delta.finish_reason is UNSET:
                self.chunk("message-metadata", messageMetadata=delta.metadata)
            else:
                self._last = delta.metadata

    def other(self, delta: Other) -> None:
        value = delta.value
        kind = value.get("type") if delta.format == NAME and type(value) is dict else None
        if kind == _INPUT_ERROR:
            if self._own and self._level >= 5.1 and type(value.get("toolCallId")) is str:
                self._rejected[value["toolCallId"]] = {key: item for key, item in value.items() if key != "type"}
        elif type(kind) is str and (kind in _PASSED or (kind.startswith("data-") and "data" in value)):
            self._begin()
            if type(told := value.get(EVENTS)) is dict and not self._own:
                self._events = [*self._events, told]
                self.chunk("message-metadata", messageMetadata={EVENTS: self._events})
            fields = {key: item for key, item in value.items() if key != "type"}
            if kind == "abort":
                self._aborted = True
                self._abort = fields
                if not self._own:
                    return  # at the end: what was received is closed first
            self.chunk(kind, **fields)

    def end(self) -> None:
        for text in self._failed():
            self.part(DataPart(name="error", data=text))
        if self.about is not None and self._used and not self.is_complete:
            self.chunk("message-metadata", messageMetadata={"interrupted": True})
        if self._aborted:
            if not self._own:
                self.chunk("abort", **self._abort)
            self._out.append(DONE)
            return
        if not self._stepped and not self._own:
            self._start_step()
        if self.failures:
            self.chunk("error", errorText="; ".join(self.failures))
        self._finish_step()
        word = self._reason if self._own and not self.failures else self.reason()
        reason = _REASONS.get(word, self._version_reason(word)) if word is not UNSET else UNSET
        self.chunk("finish", finishReason=reason, messageMetadata=self._last)
        self._out.append(DONE)

    def _version_reason(self, word: str) -> str:
        """A finish reason that only some versions of the SDK know."""
        only = {"unknown": 5.1 <= self._level < 6, "interrupted": self._level >= 7.1}
        return word if only.get(word) else "other"

    def _failed(self) -> list[str]:
        """The failures that are also part of the message; a cut stream is not: the state of the message says so."""
        return self.failures if self.failures != [CUT] and not self._own else []

    def _start_step(self) -> None:
        if not self._step:
            self._step = self._stepped = True
            self._used = False
            self.chunk("start-step")

    def _finish_step(self) -> None:
        if self._step:
            self._step = False
            self.chunk("finish-step")

    def chunk(self, kind: str, /, **fields: Any) -> None:
        """Emit a chunk if this version accepts it, without UNSET fields."""
        value = _chunk_for(kind, fields, self._level)
        if value is None:
            return
        raw = exact_json.encode(value)
        if _may_be_unsafe(raw):
            raw = exact_json.encode(_without_unsafe_keys(value))
        self._out.append(b"data: " + raw + b"\n\n")

    def inside(self, kind: str, /, **fields: Any) -> None:
        """Emit a chunk inside a step."""
        if not self._own:
            self._start_step()
        self._used = True
        self.chunk(kind, **fields)

    def shown(self, native: Any) -> dict[str, Any] | None:
        """A part as this version accepts it; None if it does not."""
        record = {"id": "", "role": "assistant", "parts": [native]}
        parts = conform_to_version([record], self._profile or "v6", lambda place: "")[0]["parts"]
        return parts[0] if parts else None

    # -- parts -----------------------------------------------------------------------------------------------------

    def open(self, slot: Slot) -> None:
        part = slot.part
        if type(part) is ToolCallPart:
            if part.tool_call_id not in self._known_calls:
                self._open_call(slot, part)
        elif type(part) in GROWING and (type(part) is not ReasoningPart or part.text):
            self.open_words(slot)

    def change(self, slot: Slot, before: Any) -> None:
        part = slot.part
        kind = type(part)
        if kind is ToolResultPart or kind is RetryPart:
            self.result(part)
        elif kind is DataPart and part.id is not UNSET:
            self.part(part)
        elif kind is ToolCallPart and type(before) is ToolCallPart and slot.id not in self._known_calls:
            self._calls[slot.id] = part
            fields = self._input(part, slot.id)
            if part.input is not before.input and part.input != before.input:
                self.inside("tool-input-available", **fields)
            if type(fields["approval"]) is dict and part.approval != before.approval:
                self._approval(slot.id, fields["approval"], asked=type(before.approval) is dict)

    def leave(self, slot: Slot) -> None:
        if type(slot.part) is ToolCallPart:
            return
        if type(slot.part) not in GROWING:
            self.close(slot)
        elif slot.head:
            native = write_part(slot.part, "assistant")
            if native is UNSET or native.get("state") != "streaming":
                self.inside(f"{_kind(slot.part)}-end", id=slot.id)

    def part(self, part: Any) -> None:
        native = write_part(part, "assistant")
        shown = self.shown(native) if native is not UNSET else None
        if shown is not None:
            self.inside(shown.pop("type"), **shown)

    def open_words(self, slot: Slot) -> None:
        self._blocks += 1
        kind, native = _kind(slot.part), write_part(slot.part, "assistant")
        shown = self.shown(native) if native is not UNSET else None
        slot.id = (shown or {}).get("id", str(self._blocks))
        self.inside(f"{kind}-start", id=slot.id, providerMetadata=(shown or {}).get("providerMetadata", UNSET))
        slot.head = b'data: {"type":"%b-delta","id":%b,"delta":' % (kind.encode(), exact_json.encode(slot.id))
        slot.tail = b"}\n\n"
        if len(slot.part.text) > slot.sent:
            self.grow(slot, slot.part.text[slot.sent :])

    def close_words(self, slot: Slot) -> None:
        part, native = slot.part, write_part(slot.part, "assistant")
        if native is UNSET or (not slot.head and 0 < len(part.text) <= slot.sent):
            return
        if not slot.head:
            self.open_words(slot)
        elif len(part.text) > slot.sent:
            self.grow(slot, part.text[slot.sent :])
        shown = self.shown(native) or {}
        fields = {key: shown[key] for key in ("providerMetadata", "citations") if key in shown}
        self.inside(f"{_kind(part)}-end", id=slot.id, **fields)

    # -- tools -----------------------------------------------------------------------------------------------------

    def _input(self, call: ToolCallPart, call_id: str) -> dict[str, Any]:
        native = self.shown(write_tool(call, None, call_id, [])) or {}
        name = call.tool_name if type(call.tool_name) is str else ""
        fields: dict[str, Any] = {
            key: native[key] for key in ("input", "providerExecuted", "title", "toolMetadata") if key in native
        }
        fields.update(toolCallId=call_id, toolName=name, approval=native.get("approval", UNSET))
        fields.update(providerMetadata=native.get("callProviderMetadata", UNSET), state=native.get("state"))
        fields.update(inputEncoding=native.get("inputEncoding", UNSET))
        if native.get("type") == "dynamic-tool":
            fields["dynamic"] = True
        return fields

    def _open_call(self, slot: Slot, call: ToolCallPart) -> None:
        """Begin a call; its input is streamed only if id and name are known and the input is not."""
        self._made += 1
        slot.id = f"call-{self._made}"
        if type(call.tool_call_id) is not str or type(call.tool_name) is not str:
            return
        if call.input is not UNSET or call.input_text is not UNSET:
            return
        slot.id = call.tool_call_id
        self.inside("tool-input-start", **self._input(call, slot.id))
        slot.head = b'data: {"type":"tool-input-delta","toolCallId":%b,"inputTextDelta":' % exact_json.encode(slot.id)
        slot.tail = b"}\n\n"

    def close_call(self, slot: Slot, call: ToolCallPart) -> None:
        if not slot.head and type(call.tool_call_id) is str:
            slot.id = call.tool_call_id
        self._calls[slot.id] = call
        if slot.id in self._known_calls:
            return
        if call.tool_call_id is UNSET:
            self._nameless.append((slot.id, call))
        if slot.id in self._rejected:
            self.inside(_INPUT_ERROR, **self._rejected[slot.id])
            return
        fields = self._input(call, slot.id)
        if fields["state"] == "input-streaming":
            return
        if call.input is UNSET and call.input_text is not UNSET:
            self._invalid_input(slot, fields)
            return
        self.inside("tool-input-available", **fields)
        approval = fields["approval"]
        if type(approval) is dict:
            self._approval(slot.id, approval)

    def _invalid_input(self, slot: Slot, fields: dict[str, Any]) -> None:
        if self._level >= 5.1:
            self.inside(_INPUT_ERROR, errorText=_INVALID_JSON, **fields)
            return
        if not slot.head:
            self.inside("tool-input-start", **fields)
        self.inside(
            "tool-output-error", errorText=_INVALID_JSON, toolCallId=slot.id, dynamic=fields.get("dynamic", UNSET)
        )

    def _approval(self, call_id: str, approval: dict[str, Any], *, asked: bool = False) -> None:
        names = {"descriptor": "approvalDescriptor", "requestReason": "reason"}
        more = {names.get(key, key): item for key, item in approval.items() if key not in ("id", "approved", "reason")}
        if not asked:
            self.inside("tool-approval-request", approvalId=approval["id"], toolCallId=call_id, **more)
        if "approved" in approval:
            reason = approval.get("reason", UNSET)
            self.inside(
                "tool-approval-response", approvalId=approval["id"], approved=approval["approved"], reason=reason
            )

    def result(self, part: Any) -> None:
        call_id, call = self._answered(part)
        if self._rejected.pop(call_id, None) is not None:  # already reported with the input
            return
        native = self.shown(write_tool(call, part, call_id, [])) if call is not None else None
        if native is None:
            return
        fields: dict[str, Any] = {
            key: native[key] for key in ("providerExecuted", "preliminary", "toolMetadata") if key in native
        }
        fields.update(toolCallId=call_id, providerMetadata=native.get("resultProviderMetadata", UNSET))
        if native["type"] == "dynamic-tool":
            fields["dynamic"] = True
        state, told = native["state"], call_id in self._known_calls
        say = self.chunk if told and not self._step else self.inside
        if state == "output-denied":
            if type(call.approval) is not dict and not told:  # type: ignore[union-attr]
                self._approval(call_id, native["approval"])
            say("tool-output-denied", toolCallId=call_id)
        elif state == "output-error":
            say("tool-output-error", errorText=native["errorText"], **fields)
        elif "output" in native:
            say("tool-output-available", output=native["output"], **fields)
        if "preliminary" not in native:
            self._known_calls.discard(call_id)  # a later call may reuse the id

    def _answered(self, part: Any) -> tuple[str, ToolCallPart | None]:
        """The call that a result answers; the client knows a call of an earlier stream by its id."""
        if type(part.tool_call_id) is str:
            call = self._calls.get(part.tool_call_id)
            if call is None and getattr(part, "provider_executed", UNSET) is not True:
                call = ToolCallPart(tool_call_id=part.tool_call_id, tool_name=part.tool_name)
            return part.tool_call_id, call
        return self.take_nameless(part.tool_name)


def _kind(part: Any) -> str:
    return "reasoning" if type(part) is ReasoningPart else "text"
