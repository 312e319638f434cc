"""Gemini's stream: every event is a response (`GenerateContentResponse`) with more parts of the answer.

    candidates[].content     text grows; thoughts, calls, files, code are whole, but see `gemini_arguments`
    functionCall             whole; or with `willContinue` the beginning of a call, which pieces without a name go on
    finishReason             the end; so is a `blockReason` of the prompt
    usageMetadata            counts on from chunk to chunk: the last one holds
    error                    a failure
    responseId               another one, behind an end or beside the first, is that of another answer
    all else                 said again it is replaced; grounding and citations are put together

The events are SSE, JSON lines, or the items of one JSON array. The first candidate is the message; pieces of the
others are given out as `other`, and `body` has them whole.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.documents import read
from hansard.formats.gemini.content import read_part
from hansard.formats.gemini.fields import NAME, PROVIDER, is_snake
from hansard.formats.gemini.stream.partial_args import Arguments
from hansard.model import exact_json
from hansard.model.conversation import Message, ModelRef
from hansard.model.exact_json import decode_record
from hansard.model.parts import ReasoningPart, TextPart, ToolCallPart
from hansard.streams.answers import AnswersDecoder
from hansard.streams.decoder_base import Reader
from hansard.streams.deltas import Delta, MessageStart, PartDelta, PartEnd, PartStart
from hansard.streams.json_array import ArrayReader
from hansard.streams.learned_pattern import OBJECT
from hansard.streams.text_buffer import joined

_CALLS = ("functionCall", "function_call")
_USAGES = ("usageMetadata", "usage_metadata")
_RESPONSE = ("candidates", "promptFeedback", "prompt_feedback", *_USAGES)
_ANY = msgspec.json.Decoder(msgspec.Raw)


# -- the answer as far as it came --------------------------------------------------------------------------------------

_MERGED = frozenset(
    {"groundingMetadata", "grounding_metadata", "citationMetadata", "citation_metadata"}
    | {"urlContextMetadata", "url_context_metadata"}
)
_APPENDED = frozenset({"logprobsResult", "logprobs_result"})


def either(block: dict[str, Any], camel: str, snake: str) -> Any:
    """The value under one of two spellings."""
    value = block.get(camel)
    return value if value is not None else block.get(snake)


class Slot:
    """A part: its block, and what grows in it."""

    __slots__ = ("args", "block", "call", "key", "pieces")

    def __init__(self, block: dict[str, Any], key: str) -> None:
        self.block, self.key = block, key
        self.pieces: list[str] | None = None
        self.args: Arguments | None = None  # while a call is open
        self.call = ""  # the key of the call in the block

    def native(self) -> dict[str, Any]:
        """The part as a whole answer would have it; an open call says that its arguments are not all there."""
        if self.pieces is not None:
            return {**self.block, "text": joined(self.pieces)}
        if self.args is None:
            return self.block
        held = {"partialArgs": list(self.args.odd), "willContinue": True}
        return {**self.block, self.call: {**self.block[self.call], **held}}

    def close(self) -> None:
        """The call is whole."""
        if self.args is not None:
            held = dict(self.block[self.call])
            value = self.args.value()
            if value:
                given = held.get("args")
                held["args"] = {**given, **value} if type(given) is dict else value
            if self.args.odd:
                held["partialArgs"] = list(self.args.odd)
            self.block, self.args = {**self.block, self.call: held}, None

    def snake(self) -> bool:
        return bool(is_snake([self.block]))


class Candidate:
    """One candidate as far as it came."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.fields: dict[str, Any] = {}
        self.content: dict[str, Any] | None = None
        self.slots: list[Slot] = []
        self.empty: dict[str, Any] | None = None  # an empty text, if nothing else was said
        self.finish: Any = None

    def going_on(self, call_id: Any, named: bool) -> Slot | None:
        """The open call that a piece belongs to: the one with its id, or for a piece without a name the last."""
        for slot in reversed(self.slots):
            if slot.args is not None:
                known = slot.block[slot.call].get("id")
                if known == call_id if call_id and known else not named:
                    return slot
        return None

    def about(self, said: dict[str, Any]) -> None:
        """What is said around the content."""
        for key, value in said.items():
            old = self.fields.get(key)
            if value is None:
                self.fields.setdefault(key, None)
            elif key in _MERGED or key in _APPENDED:
                self.fields[key] = _grown(old, value, always=key in _APPENDED)
            else:
                self.fields[key] = exact_json.copied(value)
        self.finish = either(said, "finishReason", "finish_reason") or self.finish

    def native(self) -> dict[str, Any]:
        if self.content is None:
            return self.fields
        blocks = [slot.native() for slot in self.slots]
        if not blocks and self.empty is not None:
            blocks = [self.empty]
        parts = {"parts": blocks} if blocks or "parts" in self.content else {}
        return {**self.fields, "content": {**self.content, **parts}}


class Response:
    """One answer: what is said about all of it, its candidates, and what was told of it."""

    def __init__(self, number: int) -> None:
        self.prefix = f"{number + 1}." if number else ""  # of the keys of its parts
        self.body: dict[str, Any] = {}
        self.usage = b""  # the last usage, where it was not parsed
        self.candidates: dict[int, Candidate] = {}
        self.first: Candidate | None = None
        self.told: Any = None

    @property
    def ended(self) -> bool:
        feedback = either(self.body, "promptFeedback", "prompt_feedback")
        blocked = type(feedback) is dict and either(feedback, "blockReason", "block_reason")
        return bool(blocked) or (self.first is not None and bool(self.first.finish))

    def native(self) -> dict[str, Any]:
        """The provider's answer as if it had come whole."""
        body = dict(self.body)
        if self.usage:
            body["usageMetadata"] = decode_record(self.usage)  # of a key given twice the last one counts
        if self.candidates:
            body["candidates"] = [self.candidates[index].native() for index in sorted(self.candidates)]
        return body


def _grown(old: Any, value: Any, always: bool) -> Any:
    """Lists are said again with more behind, or go on where they were."""
    if type(old) is dict and type(value) is dict:
        return {**old, **{key: _grown(old.get(key), item, always) for key, item in value.items()}}
    if type(old) is list and type(value) is list:
        return list(value) if not always and value[: len(old)] == old else [*old, *value]
    return value if value is not None else old


# -- events ------------------------------------------------------------------------------------------------------------


class GeminiDecoder(AnswersDecoder[Response]):
    """One answer, or several one after the other."""

    name = NAME
    VARYING = {_USAGES[0]: OBJECT}

    def __init__(self) -> None:
        super().__init__(Response)
        self._begun = False

    def reader(self, begin: bytes) -> Reader:
        return ArrayReader() if begin[:1] == b"[" else super().reader(begin)

    # -- what comes by the thousand ------------------------------------------------------------------------------------

    def _repeats(self, data: bytes, field: str, slot: Slot) -> None:
        """A piece came; of those that follow it the usage beside them is the last one so far."""
        now, args, pieces = self._now, slot.args, slot.pieces if slot.pieces is not None else []

        def take(text: str, values: dict[str, bytes]) -> bool:
            usage = values.get(_USAGES[0])
            if usage is not None:
                try:
                    _ANY.decode(usage)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    return False
                now.usage = usage
            if not text:
                return False
            if args is not None:
                text = args.more(text)
            else:
                pieces.append(text)
            self._out.append(PartDelta(key=slot.key, text=text))
            return True

        self.grew(data, field, slot.key, pieces, take)

    # -- events --------------------------------------------------------------------------------------------------------

    def handle(self, event: Any, kind: str) -> None:
        if type(event) is list and event and all(type(item) is dict for item in event):
            self._data = None
            for item in event:
                self.handle(item, kind)
            return
        before = len(self._out)
        error = event.get("error") if type(event) is dict else None
        if error:
            text = error.get("message") if type(error) is dict else error
            self.fail(text if type(text) is str else "the provider reported an error", error)
        if type(event) is not dict or not any(key in event for key in _RESPONSE):
            if not error:
                self.other(event)
            return
        self.turn_to(either(event, "responseId", "response_id"), bool(event.get("candidates")))
        self._about(event)
        if not self._begun:
            self._begun = True
            name = either(event, "modelVersion", "model_version") or UNSET
            made = either(event, "responseId", "response_id") or UNSET
            self.emit(MessageStart(model=ModelRef(provider=PROVIDER, name=name, response_id=made)))
        candidates = event.get("candidates")
        for candidate in candidates if type(candidates) is list else []:
            self._candidate(candidate)
        if self._now.ended:
            self._tell()
        elif len(self._out) == before + 1:
            self._repeatable(candidates, self._out[before])

    def _repeatable(self, candidates: Any, delta: Delta) -> None:
        """An event with more around its piece than is common, all of which is replaced: the next may have the same."""
        first = self._now.first
        if type(delta) is not PartDelta or self._data is None or first is None or len(candidates) != 1:
            return
        parts = candidates[0].get("content", {}).get("parts")
        if type(parts) is not list or len(parts) != 1 or type(parts[0]) is not dict:
            return
        slot, part = first.slots[-1], parts[0]
        if _APPENDED & candidates[0].keys():
            return
        if slot.pieces is not None and part.get("text") == delta.text:
            self._repeats(self._data, "text", slot)
        elif slot.args is not None and _goes_on(part, slot.args):
            self._repeats(self._data, "stringValue", slot)

    def _about(self, event: dict[str, Any]) -> None:
        for key, value in event.items():
            if key in _USAGES and value is not None:
                self._now.usage = b""
            if key not in ("candidates", "error") and (value is not None or key not in self._now.body):
                self._now.body[key] = exact_json.copied(value)

    def _candidate(self, said: Any) -> None:
        if type(said) is not dict:
            self.other(said)
            return
        index = said.get("index")
        index = index if type(index) is int else 0
        candidate = self._now.candidates.get(index)
        if candidate is None:
            candidate = self._now.candidates[index] = Candidate(index)
            if index == 0:
                self._now.first = candidate
        if candidate is not self._now.first:
            self.other(said)
        candidate.about({key: value for key, value in said.items() if key != "content"})
        content = said.get("content")
        if type(content) is not dict:
            return
        if candidate.content is None:
            candidate.content = {}
        parts = content.get("parts")
        candidate.content.update((key, value) for key, value in content.items() if key != "parts" and value is not None)
        if parts is None or type(parts) is list:
            if "parts" in content:
                candidate.content.setdefault("parts", parts)
            for block in parts or []:
                self._part(candidate, block)
        else:
            self.other(said)
        if candidate.finish == "STOP":
            for slot in candidate.slots:
                self._close(candidate, slot)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _part(self, candidate: Candidate, block: Any) -> None:
        if type(block) is not dict:
            self._whole_part(candidate, block)
            return
        for key in _CALLS:
            if type(block.get(key)) is dict:
                self._call(candidate, block, key)
                return
        text = block.get("text")
        about = {key: value for key, value in block.items() if key != "text"}
        if type(text) is not str or any(about[key] is not None for key in about if key != "thought"):
            self._whole_part(candidate, block)
            return
        last = candidate.slots[-1] if candidate.slots else None
        if last is None or last.pieces is None or last.block != about:
            if not text:
                candidate.empty = candidate.empty or block
                return
            last = self._new(candidate, about)
            last.pieces = []
            self._start(candidate, last, ReasoningPart(text="") if about.get("thought") is True else TextPart(text=""))
        if last.pieces is not None and text:
            last.pieces.append(text)
            self._words(candidate, last, text)

    def _whole_part(self, candidate: Candidate, block: Any) -> None:
        """A part that is there at once; its words are given out as if they had grown."""
        slot = self._new(candidate, block)
        part: Any = read_part(block, slot.snake())
        if type(part) is TextPart or type(part) is ReasoningPart:
            self._start(candidate, slot, replace(part, text=""))
            self._words(candidate, slot, part.text)
        elif type(part) is ToolCallPart and part.provider_executed is not True:
            self._start(candidate, slot, replace(part, input=UNSET))
            self._words(candidate, slot, exact_json.encode(part.input).decode() if part.input is not UNSET else "")
        else:
            self._start(candidate, slot, part)
        self._end(candidate, slot, part)

    def _call(self, candidate: Candidate, block: dict[str, Any], key: str) -> None:
        held = block[key]
        pieces, goes_on = either(held, "partialArgs", "partial_args"), either(held, "willContinue", "will_continue")
        named = bool(held.get("name"))
        slot = candidate.going_on(held.get("id"), named)
        if slot is not None:
            self._more(candidate, slot, block, key)
        elif goes_on is not True and type(pieces) is not list:
            if named or any(value is not None for value in held.values()) or len(block) > 1:
                self._whole_part(candidate, block)
            return
        else:
            slot = self._new(candidate, {**block, key: {}})
            slot.args, slot.call = Arguments(), key
            slot.block[key] = {name: value for name, value in held.items() if name not in _GROWING}
            part: Any = read_part({**slot.block, key: {**slot.block[key], "args": {}}}, slot.snake())
            self._start(candidate, slot, replace(part, input=UNSET) if type(part) is ToolCallPart else part)
        for piece in pieces if type(pieces) is list else []:
            if slot.args is not None:
                self._words(candidate, slot, slot.args.take(piece))
        if goes_on is not True:
            self._close(candidate, slot)

    def _close(self, candidate: Candidate, slot: Slot) -> None:
        if slot.args is not None:
            self._words(candidate, slot, slot.args.end())
            slot.close()
            self._end(candidate, slot, read_part(slot.native(), slot.snake()))

    def _more(self, candidate: Candidate, slot: Slot, block: dict[str, Any], key: str) -> None:
        """What a further piece of a call says beside its arguments."""
        for name, value in block[key].items():
            if name not in _GROWING and value is not None:
                slot.block[slot.call][name] = value
        for name, value in block.items():
            if name != key and value is not None:
                slot.block[name] = value

    def _new(self, candidate: Candidate, block: Any) -> Slot:
        before = candidate.slots[-1] if candidate.slots else None
        if before is not None and before.pieces is not None:
            self._end(candidate, before, read_part(before.native(), before.snake()))
        slot = Slot(block, f"{self._now.prefix}{len(candidate.slots)}")
        candidate.slots.append(slot)
        return slot

    def _start(self, candidate: Candidate, slot: Slot, part: Any) -> None:
        if candidate is self._now.first:
            self.emit(PartStart(key=slot.key, part=part))

    def _words(self, candidate: Candidate, slot: Slot, text: str) -> None:
        if candidate is self._now.first and text:
            self.emit(PartDelta(key=slot.key, text=text))

    def _end(self, candidate: Candidate, slot: Slot, part: Any) -> None:
        if candidate is self._now.first:
            self.emit(PartEnd(key=slot.key, part=part))

    # -- the end -------------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        """Usage and finish reason, once the answer has ended."""
        body = {key: value for key, value in self.body().items() if key != "candidates"}
        reason = self._now.first.finish if self._now.first is not None else None
        about = {"finishReason": reason} if reason else {}
        (message,) = read({**body, "candidates": [{"content": {"role": "model", "parts": []}, **about}]}, NAME).messages
        self.tell(message)

    def whole(self) -> list[Message]:
        messages: list[Message] = []
        for answer in self._answers.all:
            body, slots = answer.native(), answer.first.slots if answer.first is not None else []
            if not any(key in body for key in _RESPONSE):
                continue
            if answer.usage and not exact_json.is_json(answer.usage):
                self.fail("the last usage names a key twice", answer.usage.decode("utf-8", "replace"))
            (message,) = read(body, NAME).messages
            parts: list[Any] = list(message.parts)
            for i, slot in enumerate(slots):
                if slot.args is not None and type(parts[i]) is ToolCallPart and slot.args.json():
                    parts[i] = replace(parts[i], input_text=slot.args.json())
            self._settle(answer.prefix, parts, slots)
            message = replace(message, parts=parts)
            messages.append(message if answer.ended or self._done else replace(message, state="partial"))
        return messages

    def _settle(self, prefix: str, parts: list[Any], slots: list[Slot]) -> None:
        """The parts of an answer end."""
        for i, part in enumerate(parts):
            if i >= len(slots):
                self.emit(PartStart(key=f"{prefix}{i}", part=part))
            if i >= len(slots) or slots[i].args is not None or (slots[i].pieces is not None and i == len(slots) - 1):
                self.emit(PartEnd(key=f"{prefix}{i}", part=part))


_GROWING = ("partialArgs", "partial_args", "willContinue", "will_continue")


def _goes_on(part: dict[str, Any], args: Arguments) -> bool:
    """Whether the part is one more piece of a string argument, and nothing else."""
    call = part.get("functionCall")
    if len(part) != 1 or type(call) is not dict or call.keys() != {"partialArgs", "willContinue"}:
        return False
    pieces = call["partialArgs"]
    if call["willContinue"] is not True or len(pieces) != 1 or pieces[0].keys() - {"willContinue"} != _STRING_PIECE:
        return False
    return type(pieces[0]["stringValue"]) is str and args.is_growing(pieces[0]["jsonPath"])


_STRING_PIECE = {"jsonPath", "stringValue"}
