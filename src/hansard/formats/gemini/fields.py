"""Keys of Gemini's objects, and the helpers that all part readers and writers share.

Keys are camelCase on the wire and snake_case in the SDK, which also writes null for absent keys. Readers and writers
see camelCase only: `to_camel_case` when reading, `to_spelling` when writing. The spelling of the whole document is a
hint of the conversation; the hint `keys` lists the keys that are spelled the other way.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.gemini.reasoning import put_signature
from hansard.formats.residue import SchemaMismatch, pack, unpack

NAME = "gemini"
PROVIDER = "google"


class Keys:
    """The keys of one kind of object that have two spellings."""

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


def to_camel_case(block: dict[str, Any], keys: Keys, snake: bool, hints: dict[str, Any]) -> dict[str, Any]:
    """A copy with the known keys in camelCase; those in the other spelling go to the hint `keys`."""
    if not snake and keys.camel.keys().isdisjoint(block):
        return dict(block)
    out: dict[str, Any] = {}
    other_spelling = []
    for key, value in block.items():
        name = keys.camel.get(key)
        if name is not None and name not in block:
            out[name] = value
            if not snake:
                other_spelling.append(key)
        else:
            out[key] = value
            if snake and key in keys.snake:
                other_spelling.append(key)
    if other_spelling:
        hints["keys"] = sorted([*hints.get("keys", ()), *other_spelling])
    return out


def to_spelling(block: dict[str, Any], keys: Keys, snake: bool, hints: dict[str, Any]) -> dict[str, Any]:
    """The block in the document's spelling, except for the keys of the hint `keys`."""
    other_spelling = hints.get("keys")
    if type(other_spelling) is not list:
        if not snake:
            return block
        other_spelling = []
    out = {}
    for key, value in block.items():
        other = keys.snake.get(key)
        if other is not None and (key not in other_spelling if snake else other in other_spelling):
            out[other] = value
        else:
            out[key] = value
    return out


def is_snake(blocks: Any) -> bool | None:
    """Whether these parts are in snake_case; None if no key has two spellings."""
    if type(blocks) is list:
        for block in blocks:
            if type(block) is dict and not (len(block) == 1 and "text" in block):
                if not PART.snake.keys().isdisjoint(block):
                    return False
                if not PART.camel.keys().isdisjoint(block):
                    return True
    return None


def take_nulls(block: dict[str, Any], hints: dict[str, Any], where: str) -> None:
    """Remove null values, which the SDK writes for absent keys; one hint lists their keys."""
    if None in block.values():
        hints[where] = sorted(key for key, value in block.items() if value is None)
        for key in hints[where]:
            del block[key]


def put_nulls(block: dict[str, Any], hints: dict[str, Any], where: str) -> None:
    keys = hints.get(where)
    if type(keys) is list:
        for key in keys:
            if type(key) is str:
                block.setdefault(key, None)


def is_omitted(hints: dict[str, Any], key: str) -> bool:
    """Whether the document left out a key that is usually present."""
    missing = hints.get("without")
    return type(missing) is list and key in missing


def mark_omitted(hints: dict[str, Any], key: str) -> None:
    hints.setdefault("without", []).append(key)


# -- parts, and the object inside each --------------------------------------------------------------------------------


def take_fields(block: dict[str, Any], snake: bool, hints: dict[str, Any]) -> dict[str, Any]:
    """A copy of the part in camelCase without nulls, to take fields from."""
    taken = to_camel_case(block, PART, snake, hints)
    take_nulls(taken, hints, "null")
    return taken


def assemble(part: Any, writer: Any, snake: bool) -> Any:
    """Write the part in the document's spelling; UNSET if Gemini has no key for it."""
    rest, hints = unpack(NAME, part.extra)
    block = writer(part, rest, hints, snake)
    if block is UNSET:
        return UNSET
    put_nulls(block, hints, "null")
    return to_spelling(block, PART, snake, hints)


def take_inner(taken: dict[str, Any], key: str, snake: bool, hints: dict[str, Any]) -> dict[str, Any]:
    """Take the object inside a part, such as the value of `functionCall`."""
    inner = taken.pop(key)
    if type(inner) is not dict:
        raise SchemaMismatch(key)
    inner = to_camel_case(inner, INNER, snake, hints)
    take_nulls(inner, hints, "innerNull")
    return inner


def pack_part(taken: dict[str, Any], key: str, inner: dict[str, Any], hints: dict[str, Any]) -> Any:
    if inner:
        taken[key] = inner
    return pack(NAME, taken, hints)


def wrap_part(
    key: str, inner: dict[str, Any], part: Any, rest: dict[str, Any], hints: dict[str, Any], snake: bool
) -> dict[str, Any]:
    """Wrap the inner object into a part, with the residue of both."""
    left = rest.pop(key, None)
    if type(left) is dict:
        inner.update(left)
    put_nulls(inner, hints, "innerNull")
    return {**put_signature({key: to_spelling(inner, INNER, snake, hints)}, part), **rest}
