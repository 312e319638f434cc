"""Decoder of Gemini's stream: every event is a `GenerateContentResponse` with more parts of the answer.

    candidates[].content     text grows; thoughts, calls, files and code are whole, but see `partial_args`
    functionCall             whole; or with `willContinue` the start of a call that events without a name continue
    finishReason             the end; so is a `blockReason` of the prompt
    usageMetadata            cumulative: the last one counts
    error                    a failure
    responseId               a different one, after an end or interleaved with the first, belongs to another answer
    all other keys           replaced by later values; grounding and citations are merged

Events are SSE, JSON lines, or items of one JSON array. The first candidate is the message; deltas of the others are
emitted as `other`, and `body` has them whole.

Consecutive texts (thoughts or not) without a signature are one part. Every other block is a part of its own, except
for a call whose arguments are streamed. An empty text that would be a part of its own only marks the end of a stream.
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


# -- the answer so far ------------------------------------------------------------------------------------------------

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
    """A part that is being streamed: its block, and the text or arguments that grow."""

    __slots__ = ("args", "block", "call", "key", "pieces")

    def __init__(self, block: dict[str, Any], key: str) -> None:
        self.block, self.key = block, key
        self.pieces: list[str] | None = None
        self.args: Arguments | None = None  # while a call is open
        self.call = ""  # the key of the call in the block

    def native(self) -> dict[str, Any]:
        """The part as in a whole answer; an open call keeps `willContinue`."""
        if self.pieces is not None:
            return {**self.block, "text": joined(self.pieces)}
        if self.args is None:
            return self.block
        held = {"partialArgs": list(self.args.unknown), "willContinue": True}
        return {**self.block, self.call: {**self.block[self.call], **held}}

    def close(self) -> None:
        """Complete the call."""
        if self.args is not None:
            held = dict(self.block[self.call])
            value = self.args.value()
            if value:
                given = held.get("args")
                held["args"] = {**given, **value} if type(given) is dict else value
            if self.args.unknown:
                held["partialArgs"] = list(self.args.unknown)
            self.block, self.args = {**self.block, self.call: held}, None

    def snake(self) -> bool:
        return bool(is_snake([self.block]))


class Candidate:
    """One candidate as received so far."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.fields: dict[str, Any] = {}
        self.content: dict[str, Any] | None = None
        self.slots: list[Slot] = []
        self.empty: dict[str, Any] | None = None  # an empty text, if nothing else arrived
        self.finish: Any = None

    def find_open_call(self, call_id: Any, named: bool) -> Slot | None:
        """The open call that a fragment belongs to: by id; without a name, the last one."""
        for slot in reversed(self.slots):
            if slot.args is not None:
                known = slot.block[slot.call].get("id")
                if known == call_id if call_id and known else not named:
                    return slot
        return None

    def update_fields(self, given: dict[str, Any]) -> None:
        """Update the fields beside the content."""
        for key, value in given.items():
            old = self.fields.get(key)
            if value is None:
                self.fields.setdefault(key, None)
            elif key in _MERGED or key in _APPENDED:
                self.fields[key] = _merge_lists(old, value, always=key in _APPENDED)
            else:
                self.fields[key] = exact_json.copied(value)
        self.finish = either(given, "finishReason", "finish_reason") or self.finish

    def native(self) -> dict[str, Any]:
        if self.content is None:
            return self.fields
        blocks = [slot.native() for slot in self.slots]
        if not blocks and self.empty is not None:
            blocks = [self.empty]
        parts = {"parts": blocks} if blocks or "parts" in self.content else {}
        return {**self.fields, "content": {**self.content, **parts}}


class Response:
    """One answer: its body, its candidates, and the usage already emitted."""

    def __init__(self, number: int) -> None:
        self.prefix = f"{number + 1}." if number else ""  # of the keys of its parts
        self.body: dict[str, Any] = {}
        self.usage = b""  # the last usage, as bytes that were not parsed
        self.candidates: dict[int, Candidate] = {}
        self.first: Candidate | None = None
        self.told: Any = None

    @property
    def ended(self) -> bool:
        feedback = either(self.body, "promptFeedback", "prompt_feedback")
        blocked = type(feedback) is dict and either(feedback, "blockReason", "block_reason")
        return bool(blocked) or (self.first is not None and bool(self.first.finish))

    def native(self) -> dict[str, Any]:
        """The provider's answer as a whole (not streamed) response."""
        body = dict(self.body)
        if self.usage:
            body["usageMetadata"] = decode_record(self.usage)  # the last of duplicate keys counts
        if self.candidates:
            body["candidates"] = [self.candidates[index].native() for index in sorted(self.candidates)]
        return body


def _merge_lists(old: Any, value: Any, always: bool) -> Any:
    """Merge a later value: lists are either repeated with more items at the end, or continued."""
    if type(old) is dict and type(value) is dict:
        return {**old, **{key: _merge_lists(old.get(key), item, always) for key, item in value.items()}}
    if type(old) is list and type(value) is list:
        return list(value) if not always and value[: len(old)] == old else [*old, *value]
    return value if value is not None else old


# -- events ------------------------------------------------------------------------------------------------------------


class GeminiDecoder(AnswersDecoder[Response]):
    """Decode one answer, or several in a row."""

    name = NAME
    VARYING = {_USAGES[0]: OBJECT}

    def __init__(self) -> None:
        super().__init__(Response)
        self._begun = False

    def reader(self, begin: bytes) -> Reader:
        return ArrayReader() if begin[:1] == b"[" else super().reader(begin)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _learn(self, field: str, slot: Slot) -> None:
        """Learn the event's byte pattern; of the usage beside later fragments only the last one is kept."""
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
                text = args.append(text)
            else:
                pieces.append(text)
            self._out.append(PartDelta(key=slot.key, text=text))
            return True

        self.grew(field, slot.key, pieces, take)

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
        self._update_body(event)
        if not self._begun:
            self._begun = True
            name = either(event, "modelVersion", "model_version") or UNSET
            made = either(event, "responseId", "response_id") or UNSET
            self.emit(MessageStart(model=ModelRef(provider=PROVIDER, name=name, response_id=made)))
        candidates = event.get("candidates")
        for candidate in candidates if type(candidates) is list else []:
            self._candidate(candidate)
        if self._now.ended:
            self._emit_usage()
        elif len(self._out) == before + 1:
            self._learn_from(candidates, self._out[before])

    def _learn_from(self, candidates: Any, delta: Delta) -> None:
        """Learn from an event whose only effect was one text delta."""
        first = self._now.first
        if type(delta) is not PartDelta or first is None or len(candidates) != 1:
            return
        parts = candidates[0].get("content", {}).get("parts")
        if type(parts) is not list or len(parts) != 1 or type(parts[0]) is not dict:
            return
        slot, part = first.slots[-1], parts[0]
        if _APPENDED & candidates[0].keys():
            return
        if slot.pieces is not None and part.get("text") == delta.text:
            self._learn("text", slot)
        elif slot.args is not None and _is_string_piece(part, slot.args):
            self._learn("stringValue", slot)

    def _update_body(self, event: dict[str, Any]) -> None:
        for key, value in event.items():
            if key in _USAGES and value is not None:
                self._now.usage = b""
            if key not in ("candidates", "error") and (value is not None or key not in self._now.body):
                self._now.body[key] = exact_json.copied(value)

    def _candidate(self, given: Any) -> None:
        if type(given) is not dict:
            self.other(given)
            return
        index = given.get("index")
        index = index if type(index) is int else 0
        candidate = self._now.candidates.get(index)
        if candidate is None:
            candidate = self._now.candidates[index] = Candidate(index)
            if index == 0:
                self._now.first = candidate
        if candidate is not self._now.first:
            self.other(given)
        candidate.update_fields({key: value for key, value in given.items() if key != "content"})
        content = given.get("content")
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
            self.other(given)
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
        rest = {key: value for key, value in block.items() if key != "text"}
        if type(text) is not str or any(rest[key] is not None for key in rest if key != "thought"):
            self._whole_part(candidate, block)
            return
        last = candidate.slots[-1] if candidate.slots else None
        if last is None or last.pieces is None or last.block != rest:
            if not text:
                candidate.empty = candidate.empty or block
                return
            last = self._new(candidate, rest)
            last.pieces = []
            self._start(candidate, last, ReasoningPart(text="") if rest.get("thought") is True else TextPart(text=""))
        if last.pieces is not None and text:
            last.pieces.append(text)
            self._emit_text(candidate, last, text)

    def _whole_part(self, candidate: Candidate, block: Any) -> None:
        """Emit a part that arrived whole; its text is emitted as a delta."""
        slot = self._new(candidate, block)
        part: Any = read_part(block, slot.snake())
        if type(part) is TextPart or type(part) is ReasoningPart:
            self._start(candidate, slot, replace(part, text=""))
            self._emit_text(candidate, slot, part.text)
        elif type(part) is ToolCallPart and part.provider_executed is not True:
            self._start(candidate, slot, replace(part, input=UNSET))
            self._emit_text(candidate, slot, exact_json.encode(part.input).decode() if part.input is not UNSET else "")
        else:
            self._start(candidate, slot, part)
        self._end(candidate, slot, part)

    def _call(self, candidate: Candidate, block: dict[str, Any], key: str) -> None:
        held = block[key]
        pieces, continues = either(held, "partialArgs", "partial_args"), either(held, "willContinue", "will_continue")
        named = bool(held.get("name"))
        slot = candidate.find_open_call(held.get("id"), named)
        if slot is not None:
            self._update_call(candidate, slot, block, key)
        elif continues is not True and type(pieces) is not list:
            if named or any(value is not None for value in held.values()) or len(block) > 1:
                self._whole_part(candidate, block)
            return
        else:
            slot = self._new(candidate, {**block, key: {}})
            slot.args, slot.call = Arguments(), key
            slot.block[key] = {name: value for name, value in held.items() if name not in _ARGUMENT_KEYS}
            part: Any = read_part({**slot.block, key: {**slot.block[key], "args": {}}}, slot.snake())
            self._start(candidate, slot, replace(part, input=UNSET) if type(part) is ToolCallPart else part)
        for piece in pieces if type(pieces) is list else []:
            if slot.args is not None:
                self._emit_text(candidate, slot, slot.args.take(piece))
        if continues is not True:
            self._close(candidate, slot)

    def _close(self, candidate: Candidate, slot: Slot) -> None:
        if slot.args is not None:
            self._emit_text(candidate, slot, slot.args.end())
            slot.close()
            self._end(candidate, slot, read_part(slot.native(), slot.snake()))

    def _update_call(self, candidate: Candidate, slot: Slot, block: dict[str, Any], key: str) -> None:
        """Update the call with the fields that a later fragment has beside arguments."""
        for name, value in block[key].items():
            if name not in _ARGUMENT_KEYS and value is not None:
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

    def _emit_text(self, candidate: Candidate, slot: Slot, text: str) -> None:
        if candidate is self._now.first and text:
            self.emit(PartDelta(key=slot.key, text=text))

    def _end(self, candidate: Candidate, slot: Slot, part: Any) -> None:
        if candidate is self._now.first:
            self.emit(PartEnd(key=slot.key, part=part))

    # -- the end -------------------------------------------------------------------------------------------------------

    def _emit_usage(self) -> None:
        """Emit usage and finish reason once the answer has ended."""
        body = {key: value for key, value in self.body().items() if key != "candidates"}
        reason = self._now.first.finish if self._now.first is not None else None
        fields = {"finishReason": reason} if reason else {}
        (message,) = read(
            {**body, "candidates": [{"content": {"role": "model", "parts": []}, **fields}]}, NAME
        ).messages
        self.tell(message)

    def whole(self) -> list[Message]:
        messages: list[Message] = []
        for answer in self._answers.all:
            body, slots = answer.native(), answer.first.slots if answer.first is not None else []
            if not any(key in body for key in _RESPONSE):
                continue
            if answer.usage and not exact_json.is_json(answer.usage):
                self.fail("the last usage has a duplicate key", answer.usage.decode("utf-8", "replace"))
            (message,) = read(body, NAME).messages
            parts: list[Any] = list(message.parts)
            for i, slot in enumerate(slots):
                if slot.args is not None and type(parts[i]) is ToolCallPart and slot.args.json():
                    parts[i] = replace(parts[i], input_text=slot.args.json())
            self._end_parts(answer.prefix, parts, slots)
            message = replace(message, parts=parts)
            messages.append(message if answer.ended or self._done else replace(message, state="partial"))
        return messages

    def _end_parts(self, prefix: str, parts: list[Any], slots: list[Slot]) -> None:
        """Emit the ends of the parts of an answer."""
        for i, part in enumerate(parts):
            if i >= len(slots):
                self.emit(PartStart(key=f"{prefix}{i}", part=part))
            if i >= len(slots) or slots[i].args is not None or (slots[i].pieces is not None and i == len(slots) - 1):
                self.emit(PartEnd(key=f"{prefix}{i}", part=part))


_ARGUMENT_KEYS = ("partialArgs", "partial_args", "willContinue", "will_continue")


def _is_string_piece(part: dict[str, Any], args: Arguments) -> bool:
    """Whether the part is one more fragment of a string argument, and nothing else."""
    call = part.get("functionCall")
    if len(part) != 1 or type(call) is not dict or call.keys() != {"partialArgs", "willContinue"}:
        return False
    pieces = call["partialArgs"]
    if call["willContinue"] is not True or len(pieces) != 1 or pieces[0].keys() - {"willContinue"} != _STRING_PIECE:
        return False
    return type(pieces[0]["stringValue"]) is str and args.is_growing(pieces[0]["jsonPath"])


_STRING_PIECE = {"jsonPath", "stringValue"}
