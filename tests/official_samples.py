"""Samples of what the types of the official SDKs describe: every member of a union once, every field filled or null.

samples(ContentBlock, "least")   # only what must be there
samples(ContentBlock, "most")    # every field
samples(ContentBlock, "nulls")   # every field, null where it may be
"""

from __future__ import annotations

import types
import typing
from collections import abc
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel

FILLINGS = ("least", "most", "nulls")
_DEEP = 6
_WORDS = {"arguments": "{}", "call_id": "c1", "tool_use_id": "c1"}
_PLAIN: dict[Any, Any] = {int: 1, float: 0.5, bool: True, bytes: "aGk=", datetime: "2026-01-01T00:00:00Z"}


def samples(kind: Any, filling: str, name: str = "", depth: int = 0) -> list[Any]:
    """Values of a type, the first of them the plainest."""
    while get_origin(kind) is Annotated or type(kind).__name__ == "TypeAliasType":
        kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind.__value__
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if type(None) in inner and filling == "nulls":
            return [None]
        found = [one for member in inner if member is not type(None) for one in samples(member, filling, name, depth)]
        return found if depth < 4 else found[:1]
    if origin is Literal:
        return list(inner) if depth < 2 and name != "type" else [inner[0]]
    if origin in (list, abc.Iterable, abc.Sequence):
        return [samples(inner[0], filling, name, depth + 1)]
    if origin in (dict, abc.Mapping):
        return [{"k": one} for one in samples(inner[1], "least", name, depth + 1)[:1]] or [{}]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _records(kind, filling, depth) if depth < _DEEP else []
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [next(iter(kind)).value]
    if kind is str:
        return ["https://example.org/a" if "url" in name else _WORDS.get(name, "words")]
    return [_PLAIN.get(kind, {"k": 1})]


def _records(kind: type[BaseModel], filling: str, depth: int) -> list[Any]:
    """The record with the first value of every field, and one more for each of the other values."""
    first: dict[str, Any] = {}
    others: list[dict[str, Any]] = []
    for key, field in kind.model_fields.items():
        if filling != "least" or field.is_required():
            name = field.alias or key
            found = samples(field.annotation, filling, name, depth + 1)
            if found:
                first[name] = found[0]
                others += [{name: one} for one in found[1:]]
    return [first, *({**first, **other} for other in others)]
