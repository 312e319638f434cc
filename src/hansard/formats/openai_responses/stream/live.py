"""How the items of a Responses stream are given out while they grow: parts that start, grow and end.

A message gives a part for each block, every other item one part, and one more for the result that it holds itself.
Parts end when their item is done. What was given out live and turns out wrong is said again by a `part-end`.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.openai_responses.content import read_block
from hansard.formats.openai_responses.stream.items import (
    CALLS,
    CLOSING,
    HERE,
    ROWS,
    Growth,
    Item,
    Path,
    Slot,
    at,
)
from hansard.formats.openai_responses.tools import Calls
from hansard.model.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart
from hansard.streams.decoder_base import EventDecoder
from hansard.streams.deltas import PartDelta, PartEnd, PartStart
from hansard.streams.text_buffer import escaped

_GAP = "\n\n"  # between the texts of one reasoning, as the format joins them


class LiveItems(EventDecoder):
    """Gives items out."""

    # -- parts -----------------------------------------------------------------------------------------------------

    def _open(self, item: Item, calls: Calls) -> None:
        """An item begins; what it says already is given out as its first piece."""
        native, growth = item.native, CALLS.get(item.kind)
        if item.kind == "message":
            for i, row in enumerate(_rows(native, "content")):
                self._open_row(item, "content", i, row)
            return
        part, *held = item.parts(calls)
        if type(part) is ReasoningPart:
            part, item.grows = replace(part, text=""), True
        elif type(part) is ToolCallPart and growth is not None and at(native, ("operation", "type")) != "delete_file":
            part, item.grows = replace(part, input=UNSET, input_text=UNSET), True
        self._start(item, 0, part)
        for i, result in enumerate(held):
            self._start(item, i + 1, result)
        if type(part) is ReasoningPart:
            for field in ("summary", "content"):
                for i, row in enumerate(_rows(native, field)):
                    self._open_row(item, field, i, row)
        elif item.grows and growth is not None:
            rows = at(native, growth.path[:-1]) if HERE in growth.path else [""]
            for i in range(len(rows) if type(rows) is list else 0):
                self._slot(item, growth, i)
            if growth.wrapped and not item.live:
                self._show(item, item.opening(growth))

    def _open_row(self, item: Item, field: str, index: int, row: Any) -> None:
        """A block of a message or of reasoning begins."""
        kind = row.get("type") if type(row) is dict else None
        growth = ROWS.get(kind) if type(kind) is str else None
        if growth is not None and growth.item == item.kind and growth.path[0] == field:
            self._slot(item, growth, index)
        elif item.kind == "message" and index not in item.keys:
            self._start(item, index, read_block(row, "output_text", {}))

    def _start(self, item: Item, place: int, part: Any) -> None:
        key = item.keys[place] = f"{item.key}.{place}"
        self.emit(PartStart(key=key, part=part))

    def _end(self, item: Item, calls: Calls, first: int = 0) -> None:
        """Give out what the item says, where that was not said before."""
        places = sorted(item.keys)
        for i, part in enumerate(item.parts(calls)):
            if i < first:
                continue
            if i >= len(places):
                places.append(places[-1] + 1 if places else 0)
                self._start(item, places[i], part)
            key, said = item.keys[places[i]], replace(part, extra=UNSET)
            if item.shown.get(key) != said:
                item.shown[key] = said
                self.emit(PartEnd(key=key, part=part))

    # -- texts -----------------------------------------------------------------------------------------------------

    def _slot(self, item: Item, growth: Growth, index: int) -> Slot:
        """The place where a text grows, made on first sight."""
        path = tuple([index if key == HERE else key for key in growth.path])
        slot = item.slots.get(path)
        if slot is not None:
            return slot
        if growth.row and at(item.native, path[:-1]) is None:
            item.place(path[:-1], dict(growth.row))
        slot = Slot(item, path, self._shown_by(item, growth, path, index), growth.wrapped)
        item.slots[path] = slot
        if not slot.key:
            item.off = item.off or item.shows != "summary"
        elif growth.wrapped:
            self._show(item, '","' if len(item.slots) > 1 else "" if item.live else item.opening(growth))
        base = at(item.native, path)
        if type(base) is str and base:
            self._grow(slot, base)
        return slot

    def _shown_by(self, item: Item, growth: Growth, path: Path, index: int) -> str:
        """The key of the part that shows a text; nothing when no part can."""
        if growth.item == "message":
            if index not in item.keys:
                part = read_block(at(item.native, path[:-1]), "output_text", {})
                item.grows = type(part) in (TextPart, RefusalPart)
                self._start(item, index, replace(part, text="") if item.grows else part)
                return item.keys[index] if item.grows else ""
            return item.keys[index]
        if not item.grows:
            return ""
        if growth.item == "reasoning":
            field = item.shows = item.shows or str(path[0])
            if field != path[0]:
                item.off = item.off or field == "content"
                return ""
            others: list[Any] = [other[1] for other in item.slots if other[0] == field]
            if others:
                item.off = item.off or max(others) > index
                self.emit(PartDelta(key=item.keys[0], text=_GAP))
        return item.keys[0]

    def _grow(self, slot: Slot, text: str) -> None:
        slot.pieces.append(text)
        if slot.key:
            if slot.wrapped:
                self._show(slot.item, escaped(text))
            else:
                self.emit(PartDelta(key=slot.key, text=text))

    def _show(self, item: Item, text: str) -> None:
        """A piece of the JSON of a call's input."""
        if text:
            item.live.append(text)
            self.emit(PartDelta(key=item.keys[0], text=text))

    def _say(self, slot: Slot, growth: Growth, text: str) -> None:
        """The whole text: usually what was received; else the rest of it, or another."""
        item, before = slot.item, slot.text()
        if text.startswith(before):
            if text != before:
                self._grow(slot, text[len(before) :])
        elif text:
            slot.pieces, item.off = [text], True
            if slot.wrapped and HERE not in growth.path:
                item.live = [item.opening(growth), escaped(text)]
        if slot.key and growth.item in CLOSING and not slot.closed:
            slot.closed = True
            self._show(item, CLOSING[growth.item])


def _rows(native: Any, field: str) -> list[Any]:
    rows = native.get(field)
    return rows if type(rows) is list else []
