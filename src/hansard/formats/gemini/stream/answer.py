"""A Gemini answer that is growing: its candidates, their parts, and the body as it would have come whole.

Texts that follow one another, thoughts or not, without a signature are one part. Everything else is a part as it
came, but for a call whose arguments come in pieces. An empty text that could only be a part of its own is the end of a
stream, not a part.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.gemini.fields import is_snake
from hansard.formats.gemini.stream.partial_args import Arguments
from hansard.model import exact_json
from hansard.model.exact_json import decode_record
from hansard.streams.text_buffer import joined

_MERGED = frozenset(
    {"groundingMetadata", "grounding_metadata", "citationMetadata", "citation_metadata"}
    | {"urlContextMetadata", "url_context_metadata"}
)
APPENDED = frozenset({"logprobsResult", "logprobs_result"})


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
            elif key in _MERGED or key in APPENDED:
                self.fields[key] = _grown(old, value, always=key in APPENDED)
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
