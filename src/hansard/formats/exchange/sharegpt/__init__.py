"""ShareGPT training files."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

LISTS = ("conversations", "items")


def sniff(document: Any) -> int:
    """Lists of `from` and `value` are unique to ShareGPT."""
    from hansard.formats.exchange.dataset import first_objects

    records = first_objects(document)
    sure = 3
    for record in records:
        said = (
            next((record[key] for key in LISTS if type(record.get(key)) is list), None) if _is_object(record) else None
        )
        if said is None or not all(map(_is_object, said)):
            return 0
        if not any("from" in one and "value" in one for one in said):
            sure = 1
    return sure if records else 0


def _is_object(value: Any) -> bool:
    return type(value) is dict


FORMAT = Format(
    name="sharegpt",
    title="ShareGPT training files",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"conversations", "items"}),
    text=True,
)
