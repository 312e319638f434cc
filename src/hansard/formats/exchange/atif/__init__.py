"""ATIF trajectories."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """`schema_version` names the format."""
    if type(document) is not dict or type(document.get("steps")) is not list:
        return 0
    version = document.get("schema_version")
    return 3 if type(version) is str and version.startswith("ATIF") else 0


FORMAT = Format(
    name="atif",
    title="ATIF, Harbor's trajectories",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"schema_version"}),
    item_keys=frozenset(),
    trees=True,
)
