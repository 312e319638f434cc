"""ATIF extensions: the difference between two JSON values, as JSON; small if they differ little.

ATIF has a place for extensions, `extra`. The writer stores there what its own fields cannot say of a canonical value.
The keys `in`, `set`, `unset` and `is` are stored in files: do not rename them.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.residue import SchemaMismatch
from hansard.model import exact_json


def diff(before: Any, after: Any) -> dict[str, Any] | None:
    """The record from which `apply` makes `after` of `before`; None if they are the same.

    >>> diff({"a": 1, "b": [1, 2]}, {"b": [1, 3], "c": None})
    {'in': {'b': {'in': {'1': {'is': 3}}}}, 'set': {'c': None}, 'unset': ['a']}
    """
    if exact_json.same(before, after):
        return None
    inner: dict[str, Any] = {}
    if type(before) is list and type(after) is list and len(before) == len(after):
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            if (found := diff(old, new)) is not None:
                inner[str(i)] = found
        return {"in": inner}
    if type(before) is not dict or type(after) is not dict:
        return {"is": after}
    for key in before.keys() & after.keys():
        if (found := diff(before[key], after[key])) is not None:
            inner[key] = found
    out: dict[str, Any] = {"in": dict(sorted(inner.items()))} if inner else {}
    if added := {key: value for key, value in after.items() if key not in before}:
        out["set"] = added
    if gone := [key for key in before if key not in after]:
        out["unset"] = gone
    return out


def apply(before: Any, record: Any) -> Any:
    """Apply a record of `diff`; raise SchemaMismatch if it does not match this value."""
    if type(record) is not dict:
        raise SchemaMismatch("record")
    if "is" in record:
        return record["is"]
    inner, added, gone = record.get("in", {}), record.get("set", {}), record.get("unset", [])
    if type(inner) is not dict or type(added) is not dict or type(gone) is not list:
        raise SchemaMismatch("record")
    if type(before) is list:
        places = {str(i) for i in range(len(before))}
        if not places.issuperset(inner):
            raise SchemaMismatch("record")
        return [apply(item, inner[str(i)]) if str(i) in inner else item for i, item in enumerate(before)]
    if type(before) is not dict or not before.keys() >= inner.keys():
        raise SchemaMismatch("record")
    out = {key: apply(item, inner[key]) if key in inner else item for key, item in before.items() if key not in gone}
    return {**out, **added}
