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

from hansard.formats.ai_sdk.ui.stream_message import NAME, STEP, Answer, Slot
from hansard.formats.ai_sdk.ui.stream_tools import INPUT, META, ToolDecoder
from hansard.formats.documents import read_plain
from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.streams.deltas import MessageDelta, MessageStart, PartDelta, StepReset, StepStart

FINISH = {"tool-calls": "tool_call", "content-filter": "content_filter"}
_TEXT, _REASONING = "text-delta", "reasoning-delta"


class _Text(Struct, forbid_unknown_fields=True, tag=_TEXT):
    id: str
    delta: str


class _Reasoning(Struct, forbid_unknown_fields=True, tag=_REASONING):
    id: str
    delta: str


class _Input(Struct, forbid_unknown_fields=True, tag=INPUT, rename={"id": "toolCallId", "delta": "inputTextDelta"}):
    id: str
    delta: str


_QUICK = msgspec.json.Decoder(_Text | _Reasoning | _Input)
_PIECES = (_Text, _Reasoning, _Input)


class AiSdkUiDecoder(ToolDecoder):
    """One answer, or several one after the other."""

    name = NAME
    pieces: tuple[tuple[type, type, type], msgspec.json.Decoder[Any]] = (_PIECES, _QUICK)
    words: ClassVar[dict[type, str]] = {_Text: "delta", _Reasoning: "delta", _Input: "inputTextDelta"}

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[str, Slot] = {}
        self._thoughts: dict[str, Slot] = {}
        types, self._quick = self.pieces
        self._growing = dict(zip(types, (self._texts, self._thoughts, self._inputs), strict=True))
        self._ended = False
        self._handlers |= {
            "start": self._start,
            "start-step": self._start_step,
            "reset-step": self._reset_step,
            **dict.fromkeys(("text-start", "reasoning-start"), self._words_start),
            **dict.fromkeys((_TEXT, _REASONING), self._words_delta),
            **dict.fromkeys(("text-end", "reasoning-end"), self._words_end),
            **dict.fromkeys(("source-url", "source-document", "file", "reasoning-file", "custom"), self._whole_part),
            "steering-message": self._steering,
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
            if key == META or key not in ("type", "id", "delta", "text", "state"):
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


def _present(chunk: dict[str, Any]) -> dict[str, Any]:
    """The chunk without the nulls that stand for nothing."""
    return {key: value for key, value in chunk.items() if value is not None}


def _object(metadata: Any) -> Any:
    return metadata if type(metadata) is dict else UNSET
