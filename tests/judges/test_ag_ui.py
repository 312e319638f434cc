"""AG-UI streams, checked with the types of the ag-ui-protocol package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from hansard.model import RefusalPart, TextPart
from tests.judges.emitted import answers, emit
from tests.laws.test_streams import as_sse, decode, recorded


def run_events(raw: bytes) -> list[dict[str, Any]]:
    """The events, each one of the protocol's own with no field that it does not know."""
    core = pytest.importorskip("ag_ui.core", reason="ag-ui-protocol is not installed: AG-UI events are not judged")
    from pydantic import TypeAdapter

    adapter = TypeAdapter(core.Event)
    found = []
    for event in raw.split(b"\n\n")[:-1]:
        value = json.loads(event.removeprefix(b"data: "))
        judged = adapter.validate_python(value)
        assert not judged.model_extra, judged
        assert judged.model_dump(mode="json", by_alias=True) == value
        found.append(value)
    return found


def assert_in_order(events: list[dict[str, Any]]) -> None:
    """What the protocol asks of the order: a run around everything, nothing grows that is not open."""
    assert events[0]["type"] == "RUN_STARTED"
    assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    still: set[Any] = set()
    for event in events:
        thing, _, what = event["type"].rpartition("_")
        name = event.get("toolCallId") or event.get("messageId") or event.get("stepName")
        if what in ("START", "STARTED") and thing != "RUN":
            assert (thing, name) not in still
            still.add((thing, name))
        elif what in ("CONTENT", "ARGS"):
            assert (thing, name) in still
            assert event["delta"]
        elif what in ("END", "FINISHED") and thing != "RUN":
            still.remove((thing, name))
    assert not still or events[-1]["type"] == "RUN_ERROR"


@given(answer=answers())
def test_any_answer_is_a_run_of_ag_ui(answer: Any) -> None:
    messages, deltas = answer
    events = run_events(emit(deltas, "ag-ui", message_id="m1", thread_id="t1", run_id="r1"))
    assert_in_order(events)
    said = [part for one in messages for part in one.parts]
    shown = "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert shown == "".join(part.text for part in said if type(part) in (TextPart, RefusalPart))


def test_recorded_streams_are_runs_of_ag_ui(corpus: Path) -> None:
    for name, path in recorded(corpus):
        assert_in_order(run_events(emit(decode(name, [as_sse(path)]), "ag-ui", message_id="m1")))
