"""What turns one JSON value into another, as JSON: small when little differs.

ATIF has a place for anybody's own fields. There goes what its own fields do not say of a canonical value.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.residue import Unfit
from hansard.model import exact_json


def difference(before: Any, after: Any) -> dict[str, Any] | None:
    """What `applied` makes `after` from `before` with; None when they are the same.

    >>> difference({"a": 1, "b": [1, 2]}, {"b": [1, 3], "c": None})
    {'in': {'b': {'in': {'1': {'is': 3}}}}, 'set': {'c': None}, 'unset': ['a']}
    """
    if exact_json.same(before, after):
        return None
    inner: dict[str, Any] = {}
    if type(before) is list and type(after) is list and len(before) == len(after):
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            if (found := difference(old, new)) is not None:
                inner[str(i)] = found
        return {"in": inner}
    if type(before) is not dict or type(after) is not dict:
        return {"is": after}
    for key in before.keys() & after.keys():
        if (found := difference(before[key], after[key])) is not None:
            inner[key] = found
    out: dict[str, Any] = {"in": dict(sorted(inner.items()))} if inner else {}
    if added := {key: value for key, value in after.items() if key not in before}:
        out["set"] = added
    if gone := [key for key in before if key not in after]:
        out["unset"] = gone
    return out


def applied(before: Any, record: Any) -> Any:
    """`after` again; a record that does not belong to this value is Unfit."""
    if type(record) is not dict:
        raise Unfit("record")
    if "is" in record:
        return record["is"]
    inner, added, gone = record.get("in", {}), record.get("set", {}), record.get("unset", [])
    if type(inner) is not dict or type(added) is not dict or type(gone) is not list:
        raise Unfit("record")
    if type(before) is list:
        places = {str(i) for i in range(len(before))}
        if not places.issuperset(inner):
            raise Unfit("record")
        return [applied(item, inner[str(i)]) if str(i) in inner else item for i, item in enumerate(before)]
    if type(before) is not dict or not before.keys() >= inner.keys():
        raise Unfit("record")
    out = {key: applied(item, inner[key]) if key in inner else item for key, item in before.items() if key not in gone}
    return {**out, **added}
