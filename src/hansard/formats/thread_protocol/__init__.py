"""ThreadProtocol 2.0.0."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """Turns with a turn_type are unique to this format."""
    records = document.get("turns") if type(document) is dict else None
    if type(records) is not list or not all(type(turn) is dict and "turn_type" in turn for turn in records):
        return 0
    return 3 if records or "thread_id" in document else 1


FORMAT = Format(
    name="thread-protocol",
    title="ThreadProtocol 2.0.0",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"turns"}),
    binds=True,
    why={
        "runId": "the position of a run in the thread is its name",
        "runs": "the position of a run in the thread is its name",
    },
)
