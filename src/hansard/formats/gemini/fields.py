"""The keys of Gemini's objects: camelCase on the wire, snake_case from the SDK, and null for what is not there.

Readers and writers see camelCase only: `camel` on the way in, `spelled` on the way out. The spelling of the whole
document is a mark of the conversation; the mark `keys` names the keys that are spelled the other way.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.gemini.reasoning import put_signature
from hansard.formats.residue import SchemaMismatch, pack, unpack

NAME = "gemini"
PROVIDER = "google"


class Keys:
    """The keys of one kind of object that are spelled in two ways."""

    def __init__(self, *names: str) -> None:
        self.snake = {name: "".join(f"_{c.lower()}" if c.isupper() else c for c in name) for name in names}
        self.camel = {snake: name for name, snake in self.snake.items()}


PART = Keys(
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "thoughtSignature",
)
INNER = Keys("mimeType", "fileUri", "displayName", "toolType")


def camel(block: dict[str, Any], keys: Keys, snake: bool, marks: dict[str, Any]) -> dict[str, Any]:
    """A copy with the known keys in camelCase; those not in the document's spelling are marked."""
    if not snake and keys.camel.keys().isdisjoint(block):
        return dict(block)
    out: dict[str, Any] = {}
    odd = []
    for key, value in block.items():
        name = keys.camel.get(key)
        if name is not None and name not in block:
            out[name] = value
            if not snake:
                odd.append(key)
        else:
            out[key] = value
            if snake and key in keys.snake:
                odd.append(key)
    if odd:
        marks["keys"] = sorted([*marks.get("keys", ()), *odd])
    return out


def spelled(block: dict[str, Any], keys: Keys, snake: bool, marks: dict[str, Any]) -> dict[str, Any]:
    """The block in the document's spelling, but for the keys that were marked as odd."""
    odd = marks.get("keys")
    if type(odd) is not list:
        if not snake:
            return block
        odd = []
    out = {}
    for key, value in block.items():
        other = keys.snake.get(key)
        if other is not None and (key not in odd if snake else other in odd):
            out[other] = value
        else:
            out[key] = value
    return out


def is_snake(blocks: Any) -> bool | None:
    """Are these parts spelled in snake_case? None when they have no key to tell by."""
    if type(blocks) is list:
        for block in blocks:
            if type(block) is dict and not (len(block) == 1 and "text" in block):
                if not PART.snake.keys().isdisjoint(block):
                    return False
                if not PART.camel.keys().isdisjoint(block):
                    return True
    return None


def take_nulls(block: dict[str, Any], marks: dict[str, Any], where: str) -> None:
    """The SDK writes null for all that is not there: one mark for all of them."""
    if None in block.values():
        marks[where] = sorted(key for key, value in block.items() if value is None)
        for key in marks[where]:
            del block[key]


def put_nulls(block: dict[str, Any], marks: dict[str, Any], where: str) -> None:
    keys = marks.get(where)
    if type(keys) is list:
        for key in keys:
            if type(key) is str:
                block.setdefault(key, None)


def lacks(marks: dict[str, Any], key: str) -> bool:
    """Did the document leave out what is usually said?"""
    missing = marks.get("without")
    return type(missing) is list and key in missing


def without(marks: dict[str, Any], key: str) -> None:
    marks.setdefault("without", []).append(key)


# -- parts, and the object inside each --------------------------------------------------------------------------------


def taken_apart(block: dict[str, Any], snake: bool, marks: dict[str, Any]) -> dict[str, Any]:
    """A copy of the part to take fields from."""
    taken = camel(block, PART, snake, marks)
    take_nulls(taken, marks, "null")
    return taken


def put_together(part: Any, writer: Any, snake: bool) -> Any:
    """The part as its writer has it, in the document's spelling; UNSET for what Gemini cannot say."""
    rest, marks = unpack(NAME, part.extra)
    block = writer(part, rest, marks, snake)
    if block is UNSET:
        return UNSET
    put_nulls(block, marks, "null")
    return spelled(block, PART, snake, marks)


def take_held(taken: dict[str, Any], key: str, snake: bool, marks: dict[str, Any]) -> dict[str, Any]:
    """The object that the part is about."""
    held = taken.pop(key)
    if type(held) is not dict:
        raise SchemaMismatch(key)
    held = camel(held, INNER, snake, marks)
    take_nulls(held, marks, "innerNull")
    return held


def packed(taken: dict[str, Any], key: str, held: dict[str, Any], marks: dict[str, Any]) -> Any:
    if held:
        taken[key] = held
    return pack(NAME, taken, marks)


def around(
    key: str, held: dict[str, Any], part: Any, rest: dict[str, Any], marks: dict[str, Any], snake: bool
) -> dict[str, Any]:
    """The part around the object it is about, with what was left over of both."""
    left = rest.pop(key, None)
    if type(left) is dict:
        held.update(left)
    put_nulls(held, marks, "innerNull")
    return {**put_signature({key: spelled(held, INNER, snake, marks)}, part), **rest}
