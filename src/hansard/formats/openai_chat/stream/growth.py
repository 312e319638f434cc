"""How values of a chat stream are merged, chunk by chunk, into those of a whole answer.

    strings        concatenated; identifiers (role, id, type ...) are replaced, but not by empty values
    numbers        replaced
    objects        key by key
    lists          items with the same index (and type) are merged, others are appended

`Pieces` are joined once, by `finalize`. A string under an unknown key may be text, or an identifier that every chunk
repeats: fragments that are all equal are taken for an identifier.
"""

from __future__ import annotations

from typing import Any

from hansard.model import exact_json
from hansard.streams.text_buffer import joined, joined_base64

_NAMES = frozenset({"role", "id", "name", "type", "format", "signature", "object", "model", "tool_call_id"})
_TEXT_FIELDS = frozenset(
    {"content", "refusal", "reasoning", "reasoning_content", "text", "summary", "thinking"}
    | {"arguments", "input", "transcript"}
)


_WHOLE = frozenset({"executed_tools"})


class Pieces(list[str]):
    """A string that may still grow, as a list of fragments."""

    __slots__ = ()


def merge(target: dict[str, Any], given: dict[str, Any]) -> None:
    """Update the fields beside the text: later values replace earlier ones; null and empty strings replace nothing."""
    for key, value in given.items():
        old = target.get(key)
        if value is None or value == "":
            if old is None:
                target[key] = value
        elif type(value) is dict and type(old) is dict:
            merge(old, value)
        else:
            target[key] = exact_json.copied(value)


def grow(target: dict[str, Any], delta: dict[str, Any]) -> None:
    """Merge a delta into an object."""
    for key, value in delta.items():
        kind, old = type(value), target.get(key)
        if value is None:
            target.setdefault(key, None)
        elif kind is str:
            if key in _NAMES:
                if value or old is None:
                    target[key] = value
            elif type(old) is Pieces:
                old.append(value)
            else:
                target[key] = Pieces([value])
        elif type(old) is Pieces:
            continue  # not text: keep the text
        elif kind is dict:
            if type(old) is not dict:
                old = target[key] = {}
            grow(old, value)
        elif kind is list:
            if type(old) is not list:
                old = target[key] = []
            grow_list(old, value, whole=key in _WHOLE)
        else:
            target[key] = value


def grow_list(target: list[Any], items: list[Any], *, runs: bool = False, whole: bool = False) -> list[int]:
    """Merge items into a list; returns their indices. With `runs`, an item without an index continues the last one.

    With `whole`, a repeated item is complete and replaces the fields of the first.
    """
    more = merge if whole else grow
    places = []
    before = len(target)
    for item in items:
        place = len(target)
        if type(item) is dict:
            if type(item.get("index")) is int:
                place = _place(target, item)
            elif runs and target and len(target) == before and _continues(target[-1], item):
                place -= 1
        if place < len(target):
            more(target[place], item)
        elif type(item) is dict:
            target.append({})
            more(target[place], item)
        else:
            target.append(item)
        places.append(place)
    return places


def _place(target: list[Any], item: dict[str, Any]) -> int:
    for place in range(len(target) - 1, -1, -1):
        old = target[place]
        if type(old) is dict and old.get("index") == item["index"]:
            if _same(old, item, "type") and _same(old, item, "id"):
                return place
    return len(target)


def _continues(old: Any, item: dict[str, Any]) -> bool:
    """Whether the item continues the reasoning item `old`; a signature ends one."""
    if type(old) is not dict or old.get("signature") or "index" in old or item.get("type") not in _GROWING:
        return False
    return _same(old, item, "type") and _same(old, item, "id") and _same(old, item, "format")


_GROWING = frozenset({"reasoning.text", "reasoning.summary", "thinking"})


def _same(old: dict[str, Any], item: dict[str, Any], key: str) -> bool:
    mine, other = old.get(key), item.get(key)
    return mine is None or other is None or bool(mine == other)


def is_plain_text(item: Any) -> bool:
    """Whether it is a content item with a growing text and no other field."""
    return type(item) is dict and len(item) == 2 and item.get("type") == "text" and type(item.get("text")) is Pieces


def grow_content(items: list[Any], item: Any, first: bool, reasoning_count: int) -> tuple[str, int, str] | None:
    """Add one item of content: consecutive texts are one text, other items are appended.

    A thought continues the one before it when it is the `first` item of a chunk: one chunk may hold several.
    `thoughts` is how many of the items so far are thoughts.
    Returns the group and number of the part that grows, and its text.
    """
    kind = item.get("type") if type(item) is dict else None
    if kind == "thinking" and type(item.get("thinking")) is list:
        continues = first and bool(items) and _is_thinking(items[-1]) and items[-1].get("closed") is not True
        if not continues:
            items.append({"type": kind, "thinking": []})
        items[-1] |= {key: value for key, value in item.items() if key != "thinking"}
        entries = items[-1]["thinking"]
        texts = [_grow_text(entries, entry, continues and i == 0) for i, entry in enumerate(item["thinking"])]
        return "reasoning", reasoning_count - continues, "".join(texts)
    if kind != "text" or type(item.get("text")) is not str:
        items.append(item)
        return None
    text = _grow_text(items, item, True)
    return "text", len(items) - 1 - reasoning_count, text


def _grow_text(items: list[Any], item: Any, continues: bool) -> str:
    text = item.get("text") if type(item) is dict and item.get("type") == "text" else None
    if type(text) is not str:
        items.append(item)
        return ""
    if not (continues and items and len(item) == 2 and is_plain_text(items[-1])):
        items.append({**item, "text": Pieces()})
    items[-1]["text"].append(text)
    return text


def _is_thinking(item: Any) -> bool:
    return type(item) is dict and item.get("type") == "thinking" and type(item.get("thinking")) is list


def finalize(value: Any, key: str = "") -> Any:
    """The value with all its pieces joined."""
    kind = type(value)
    if kind is Pieces:
        if len(value) > 1 and key not in _TEXT_FIELDS and value.count(value[0]) == len(value):
            return value[0]
        if key not in _TEXT_FIELDS:
            value = list(value)  # `finalize` may compare them again
        return joined_base64(value) if key == "data" else joined(value)
    if kind is dict:
        return {name: finalize(item, name) for name, item in value.items()}
    return [finalize(item) for item in value] if kind is list else value
