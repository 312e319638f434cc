"""A run of Pydantic AI while it is made: responses and the requests that answer them, in the words of its history."""

from __future__ import annotations

from typing import Any

from hansard.formats.documents import read
from hansard.formats.pydantic_ai.fields import DIALECTS, NEWEST
from hansard.streams.text_buffer import joined

NAME = "pydantic-ai"
GROWS = {"text": "content", "thinking": "content", "tool-call": "args", "builtin-tool-call": "args"}
_OLDER = "2.62"
_Fields = dict[str, Any]


class Slot:
    """A part of the response: its words as they came, and its pieces."""

    __slots__ = ("block", "ended", "key", "kind", "pieces")

    def __init__(self, key: str) -> None:
        self.key, self.kind = key, ""
        self.block: _Fields = {}
        self.pieces: list[str] = []
        self.ended = False

    def begin(self, part: _Fields) -> str:
        """Take a part in as it starts; gives back the first piece of what grows in it."""
        self.block, self.kind, self.pieces, self.ended = dict(part), part.get("part_kind", ""), [], False
        field = GROWS.get(self.kind)
        first = part.get(field) if field is not None else None
        if type(first) is not str or not first:
            return ""
        self.block[field] = ""  # type: ignore[index]
        self.pieces.append(first)
        return first

    def native(self) -> _Fields:
        """The part as a history would have it."""
        if not self.pieces:
            return self.block
        field = GROWS[self.kind]
        return {**self.block, field: (self.block.get(field) or "") + joined(self.pieces)}

    def part(self) -> Any:
        return read_part("response", self.native())


class Response:
    """A response, and the parts of the request that answers it."""

    __slots__ = ("final", "over", "request", "slots")

    def __init__(self) -> None:
        self.slots: dict[int, Slot] = {}
        self.request: list[_Fields] = []
        self.over = self.final = False

    def calls(self) -> list[Any]:
        kept = [slot.block for _, slot in sorted(self.slots.items()) if slot.kind == "tool-call"]
        return [block.get("tool_call_id") for block in kept]

    def parts(self) -> list[_Fields]:
        return [slot.native() for _, slot in sorted(self.slots.items())]

    def records(self, release: str) -> list[_Fields]:
        """The response and, if there is any of it, the request."""
        found = [_record("response", self.parts(), release)] if self.slots else []
        if self.request:
            place = {call_id: i for i, call_id in enumerate(self.calls())}
            found.append(_record("request", sorted(self.request, key=lambda part: _order(part, place)), release))
        return found


def release_of(parts: list[_Fields]) -> str:
    """The release that wrote the parts: the older one does not list the files in what tools return."""
    returned = [part for part in parts if type(part.get("content")) in (list, dict)]
    kinds = ("tool-return", "builtin-tool-return")
    older = any(part.get("part_kind") in kinds and "content_file_digests" not in part for part in returned)
    return _OLDER if older else NEWEST


def _record(kind: str, parts: list[_Fields], release: str = NEWEST) -> _Fields:
    """A message with all the fields of its release, none of which the events tell."""
    record = {**DIALECTS[release].defaults[kind], "parts": parts, "kind": kind}
    if kind == "request":
        record["timestamp"] = next((part["timestamp"] for part in parts if "timestamp" in part), None)
    return record


def _order(part: _Fields, place: dict[Any, int]) -> int:
    """Results stand in the order of their calls, before all else."""
    called = part.get("part_kind") in ("tool-return", "retry-prompt")
    return place.get(part.get("tool_call_id"), len(place)) if called else len(place) + 1


def read_part(kind: str, part: _Fields) -> Any:
    """One native part as the format reads it."""
    return read([_record(kind, [part], release_of([part]))], NAME).messages[0].parts[0]
