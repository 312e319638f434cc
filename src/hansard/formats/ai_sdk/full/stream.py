"""The AI SDK's `fullStream` (TextStreamParts) as JSON lines, versions 5, 6 and 7: the server's view of its own run.

    text-, reasoning-, tool-input-   as in the UI message stream, `text` for `delta`, `id` for `toolCallId`
    tool-call                        tool-input-available, or tool-input-error when it is invalid
    tool-result, tool-error          tool-output-available, tool-output-error; the call too if it is missing
    tool-approval-*, tool-output-denied, source, file, reasoning-file, custom, steering-message
    finish-step                      model, usage, time and finish reason of the message of the step
    finish, abort, error             the end, an interruption, a failure
    tool-input-end, raw, ping        ignored

Each part becomes the UI chunk that `toUIMessageStream` would send (sources, reasoning and error texts included), so a
run reads the same from both of its streams. Parts may be tagged (`$error`, `$file`) or as `JSON.stringify` writes them,
which drops error texts. The list of tools is unknown: an invalid call counts as dynamic if it says so, unless its input
began otherwise.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.ai_sdk.ui.stream import FINISH_REASONS, AiSdkUiDecoder, Answer
from hansard.model import exact_json
from hansard.model.conversation import Message, ModelRef, Usage
from hansard.streams.deltas import MessageDelta

NAME = "ai-sdk-full"
_NO_ERROR_TEXT = "error without recorded text"
_Fields = dict[str, Any]


class AiSdkFullDecoder(AiSdkUiDecoder):
    """Decodes one run of `streamText`."""

    name = NAME
    TEXT_FIELD, INPUT_FIELD = "text", "delta"

    def __init__(self) -> None:
        super().__init__()
        self._steps: dict[
            tuple[int, int], _Fields
        ] = {}  # fields of the messages, by number of the answer and of the step
        self._invalid: set[Any] = set()  # calls that carried their own error

    def handle(self, event: Any, kind: str) -> None:
        given = event.get("type") if type(event) is dict else ""
        kind = given if type(given) is str else ""
        if kind == "finish-step":
            self._finish_step(event)
            return
        if kind == "start-step" and (event.get("request") or event.get("warnings")):
            self.other(event)
        if kind == "finish" and type(event.get("totalUsage")) is dict:
            self._finish_run(event)
        if kind == "tool-error" and event.get("toolCallId") in self._invalid:
            self.other(event)  # repeats the error of the call
            return
        if kind == "tool-call" and event.get("invalid") is True and error_text(event.get("error")) != _NO_ERROR_TEXT:
            self._invalid.add(event["toolCallId"])
        if kind in ("tool-result", "tool-error", "tool-approval-request"):
            self._ensure_call(event.get("toolCall", event))
        translate = _CHUNKS.get(kind)
        if translate is None and kind == "":
            super().handle(event, kind)
        elif translate is None:
            self.other(event)
        else:
            super().handle(translate(event), kind)

    def _ensure_call(self, call: _Fields) -> None:
        """Emit the call first if only its result or approval is known."""
        if self.answer().tool(call["toolCallId"]) is None and "toolName" in call:
            said = ("toolCallId", "toolName", "input", "providerExecuted", "dynamic")
            super().handle({"type": "tool-input-available", **{key: call[key] for key in said if key in call}}, "")

    def _finish_step(self, event: _Fields) -> None:
        answer, rest = self.answer(), dict(event)
        del rest["type"]
        response, usage, reason = rest.pop("response", None), rest.pop("usage", None), rest.pop("finishReason", None)
        fields: _Fields = {}
        if type(response) is dict:
            left = dict(response)
            fields["created_at"] = _text(left, "timestamp")
            fields["model"] = ModelRef(name=_text(left, "modelId"), response_id=_text(left, "id"))
            if left:
                rest["response"] = left
        if type(usage) is dict:
            fields["usage"] = read_usage(usage)
        if type(reason) is str:
            fields["finish_reason"] = FINISH_REASONS.get(reason, reason)
        if rest:
            fields["extra"] = {NAME: rest}
        self._steps[(len(self._answers), answer.turns)] = fields
        self.emit(
            MessageDelta(usage=fields.get("usage", UNSET), finish_reason=fields.get("finish_reason", UNSET)),
        )

    def _finish_run(self, event: _Fields) -> None:
        """Use the total only if no step reported its own usage."""
        if self._steps:
            self.other(event)
            return
        usage, answer = read_usage(event["totalUsage"]), self.answer()
        self._steps[(len(self._answers), answer.turns)] = {"usage": usage}
        self.emit(MessageDelta(usage=usage))

    def finish_messages(self, answer: Answer, messages: list[Message], begin: int, end: int) -> None:
        super().finish_messages(answer, messages, begin, end)
        spoken = [i for i in range(begin, end) if messages[i].role == "assistant"]
        for (number, turn), fields in self._steps.items():
            if self._answers[number - 1] is answer and 0 < turn <= len(spoken):
                message = messages[spoken[turn - 1]]
                extra = {**_or_empty(message.extra), **fields.get("extra", {})}
                messages[spoken[turn - 1]] = replace(message, **{**fields, "extra": extra or UNSET})


# -- parts to chunks -----------------------------------------------------------------------------------------------


def _renamed(kind: str | None = None, **names: str) -> Callable[[_Fields], _Fields]:
    def translate(part: _Fields) -> _Fields:
        chunk = {names.get(key, key): value for key, value in part.items()}
        return {**chunk, "type": kind} if kind is not None else chunk

    return translate


def _start_step(part: _Fields) -> _Fields:
    return {"type": "start-step"}


def _tool_call(part: _Fields) -> _Fields:
    chunk = {key: value for key, value in part.items() if key not in ("invalid", "error")}
    if part.get("invalid") is not True:
        return {**chunk, "type": "tool-input-available"}
    return {**chunk, "type": "tool-input-error", "errorText": error_text(part.get("error"))}


def _tool_result(part: _Fields) -> _Fields:
    chunk = {key: value for key, value in part.items() if key not in ("input", "title")}
    return {"output": None, **chunk, "type": "tool-output-available"}


def _tool_error(part: _Fields) -> _Fields:
    chunk = {key: value for key, value in part.items() if key not in ("input", "title", "error")}
    return {**chunk, "type": "tool-output-error", "errorText": error_text(part.get("error"))}


def _approval_request(part: _Fields) -> _Fields:
    chunk = {key: value for key, value in part.items() if key != "toolCall"}
    return {**chunk, "toolCallId": part["toolCall"]["toolCallId"]}


def _approval_response(part: _Fields) -> _Fields:
    return {key: value for key, value in part.items() if key != "toolCall"}


def _source(part: _Fields) -> _Fields:
    kind = "source-document" if part.get("sourceType") == "document" else "source-url"
    chunk = {key: value for key, value in part.items() if key not in ("id", "sourceType")}
    return {**chunk, "type": kind, "sourceId": part["id"]}


def _file(part: _Fields) -> _Fields:
    file = part["file"].get("$file", part["file"])
    data, media = file.get("base64", file.get("base64Data")), file["mediaType"]
    if data is None:
        held = file.get("uint8ArrayData", file.get("uint8Array"))
        data = base64.b64encode(bytes(held.values() if type(held) is dict else held)).decode()
    chunk = {key: value for key, value in part.items() if key != "file"}
    return {**chunk, "mediaType": media, "url": f"data:{media};base64,{data}"}


def _steering(part: _Fields) -> _Fields:
    content = part["message"]["content"]
    items = [{"type": "text", "text": content}] if type(content) is str else content
    parts = [_steered(item) if item.get("type") in ("file", "image") else item for item in items]
    return {"type": "steering-message", "id": part["id"], "parts": parts}


def _steered(item: _Fields) -> _Fields:
    data = item.get("data", item.get("image"))
    if type(data) is dict:
        data = data.get("url", data.get("data"))
    media = item.get("mediaType", "image/*" if item["type"] == "image" else "application/octet-stream")
    url = data if type(data) is str and data.startswith(("http:", "https:", "data:")) else f"data:{media};base64,{data}"
    rest = {key: value for key, value in item.items() if key not in ("type", "data", "image", "mediaType")}
    return {"type": "file", "mediaType": media, "url": url, **rest}


def _error(part: _Fields) -> _Fields:
    return {"type": "error", "errorText": error_text(part.get("error")), "error": part.get("error")}


def error_text(error: Any) -> str:
    """The text of an error: tagged, plain, or as data."""
    held = error.get("$error", error) if type(error) is dict else error
    if type(held) is dict and type(held.get("message")) is str:
        return held["message"]  # type: ignore[no-any-return]
    if type(held) is str:
        return held
    return exact_json.encode(held).decode() if held else _NO_ERROR_TEXT


_CHUNKS: dict[str, Callable[[_Fields], _Fields]] = {
    "start": _renamed(),
    "start-step": _start_step,
    "text-start": _renamed(),
    "text-delta": _renamed(text="delta"),
    "text-end": _renamed(),
    "reasoning-start": _renamed(),
    "reasoning-delta": _renamed(text="delta"),
    "reasoning-end": _renamed(),
    "tool-input-start": _renamed(id="toolCallId"),
    "tool-input-delta": _renamed(id="toolCallId", delta="inputTextDelta"),
    "tool-call": _tool_call,
    "tool-result": _tool_result,
    "tool-error": _tool_error,
    "tool-approval-request": _approval_request,
    "tool-approval-response": _approval_response,
    "tool-output-denied": _renamed(),
    "source": _source,
    "file": _file,
    "reasoning-file": _file,
    "custom": _renamed(),
    "steering-message": _steering,
    "finish": _renamed(),
    "abort": _renamed(),
    "error": _error,
}


# -- usage ---------------------------------------------------------------------------------------------------------


_COUNTS = {"inputTokens": "input_tokens", "outputTokens": "output_tokens", "totalTokens": "total_tokens"}
_FLAT = {"reasoningTokens": "reasoning_tokens", "cachedInputTokens": "cache_read_tokens"}
_DETAILS = {
    "inputTokenDetails": {"cacheReadTokens": "cache_read_tokens", "cacheWriteTokens": "cache_write_tokens"},
    "outputTokenDetails": {"reasoningTokens": "reasoning_tokens"},
}


def read_usage(usage: _Fields) -> Usage:
    """Read the tokens of a step, flat as in version 5 or with details as later; unknown counts are residue."""
    rest, fields = dict(usage), {}
    for native, name in {**_COUNTS, **_FLAT}.items():
        if type(rest.get(native)) is int:
            fields[name] = rest.pop(native)
    for group, names in _DETAILS.items():
        details = rest.get(group)
        if type(details) is dict:
            left = dict(details)
            for native, name in names.items():
                if type(left.get(native)) is int and fields.get(name, left[native]) == left[native]:
                    fields[name] = left.pop(native)
            rest[group] = left
            if not left:
                del rest[group]
    return Usage(**fields, extra={NAME: rest} if rest else UNSET)


def _text(fields: _Fields, key: str) -> Any:
    return fields.pop(key) if type(fields.get(key)) is str else UNSET


def _or_empty(extra: Any) -> _Fields:
    return extra if type(extra) is dict else {}
