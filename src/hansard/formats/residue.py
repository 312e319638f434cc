"""Residue: data of a format without a canonical field, and how a writer finds it again.

A reader takes what it understands out of a block; the rest is kept in `extra[format]`. Where the canonical
value leaves two spellings open (a string or a list, null or nothing) a *mark* under the key `$` says which
one it was; the usual spelling has no mark. A document that has a key `$` of its own keeps it inside the marks.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

HINTS = "$"


class SchemaMismatch(Exception):
    """A block whose fields are not of the kind its type promises: it is kept raw."""


def pack(name: str, rest: dict[str, Any], marks: dict[str, Any] | None = None) -> dict[str, Any] | UnsetType:
    """`extra` for a value of format `name`: the fields left over and the marks, or UNSET when there is nothing.

    >>> pack("x", {"a": 1}, {"content": "list"})
    {'x': {'a': 1, '$': {'content': 'list'}}}
    """
    if HINTS in rest:
        marks = {**(marks or {}), HINTS: rest.pop(HINTS)}
    if marks:
        return {name: {**rest, HINTS: marks}}
    return {name: rest} if rest else UNSET


def residue_of(
    name: str, block: dict[str, Any], known: frozenset[str], marks: dict[str, Any] | None = None
) -> dict[str, Any] | UnsetType:
    """`extra` for a block of which the `known` fields were read: quick when there is nothing else.

    >>> residue_of("x", {"type": "text", "text": "a"}, frozenset({"type", "text"}))
    UNSET
    """
    for key in block:
        if key not in known:
            return pack(name, {key: value for key, value in block.items() if key not in known}, marks)
    return {name: {HINTS: marks}} if marks else UNSET


def unpack(name: str, extra: dict[str, Any] | UnsetType) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields left over and the marks that `pack` kept; both are the caller's own to change.

    >>> unpack("x", {"x": {"a": 1, "$": {"content": "list"}}})
    ({'a': 1}, {'content': 'list'})
    """
    if extra is UNSET or name not in extra:
        return {}, {}
    kept = extra[name]
    if type(kept) is not dict:
        return {}, {}
    rest = dict(kept)
    marks = rest.pop(HINTS, None)
    if type(marks) is not dict:
        return rest, {}
    if HINTS in marks:
        marks = dict(marks)
        rest[HINTS] = marks.pop(HINTS)
    return rest, marks


def hinted(extra: dict[str, Any] | UnsetType, key: str, *names: str) -> bool:
    """Whether one of these formats left a mark of this name.

    >>> hinted({"x": {"$": {"name": True}}}, "name", "x", "y")
    True
    """
    return extra is not UNSET and any(key in unpack(name, extra)[1] for name in names)


def take_str(block: dict[str, Any], key: str) -> str:
    """Take a field that must be a string, or say that the block is SchemaMismatch."""
    value = block.pop(key, None)
    if type(value) is not str:
        raise SchemaMismatch(key)
    return value


def take_maybe_str(block: dict[str, Any], key: str) -> str | UnsetType:
    """Take a field if it is a string; null or another kind stays in the block as residue."""
    if type(block.get(key)) is str:
        return block.pop(key)  # type: ignore[no-any-return]
    return UNSET


def take_maybe_int(block: dict[str, Any], key: str) -> int | UnsetType:
    """Take a field if it is a whole number; null or another kind stays in the block as residue."""
    if type(block.get(key)) is int:
        return block.pop(key)  # type: ignore[no-any-return]
    return UNSET


def merge_residue(out: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """Add the residue after the canonical fields; canonical fields win."""
    for key, value in rest.items():
        out.setdefault(key, value)
    return out


def set_present(out: dict[str, Any], /, **fields: Any) -> dict[str, Any]:
    """Set the fields that are not UNSET."""
    for key, value in fields.items():
        if value is not UNSET:
            out[key] = value
    return out
