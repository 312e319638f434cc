"""The validation rules of the specification: each has documents that break it, and one clear finding for each."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hansard import formats
from hansard.cli import run
from hansard.formats.rules.checks import validate, validate_all
from hansard.model import exact_json
from tests.formats.test_seeds import examples

TIME = "2026-01-15T10:00:0{}Z"
AGENT = {"agent_id": "a1", "agent_name": "Weather", "created_at": TIME.format(0)}
CALL = {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "c1", "args": {}}
RETURN = {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "c1", "status": "success", "content": 1}
GOOD: dict[str, Any] = {
    "version": "2.0.0",
    "thread_id": "550e8400-e29b-41d4-a716-446655440000",
    "created_at": TIME.format(0),
    "updated_at": TIME.format(5),
    "agents": {"a1": AGENT, "a2": {**AGENT, "agent_id": "a2"}},
    "turns": [
        {
            "turn_type": "user",
            "submitted_at": TIME.format(0),
            "parts": [{"part_kind": "user-prompt", "content": "hi"}],
        },
        {
            "turn_type": "agent",
            "agent_id": "a1",
            "started_at": TIME.format(1),
            "completed_at": TIME.format(3),
            "messages": [
                {"message_type": "response", "timestamp": TIME.format(1), "agent_id": "a1", "parts": [CALL]},
                {"message_type": "request", "timestamp": TIME.format(2), "agent_id": "a1", "parts": [RETURN]},
                {
                    "message_type": "system",
                    "timestamp": TIME.format(3),
                    "event_type": "agent.handoff",
                    "event_data": {},
                    "source_agent": "a1",
                    "target_agents": ["a2"],
                },
            ],
        },
        {
            "turn_type": "agent",
            "agent_id": "a2",
            "started_at": TIME.format(3),
            "completed_at": TIME.format(4),
            "messages": [
                {
                    "message_type": "response",
                    "timestamp": TIME.format(4),
                    "agent_id": "a2",
                    "parts": [{"part_kind": "text", "content": "ok"}],
                }
            ],
        },
    ],
}
MISSING = object()


def broken(path: str, value: Any) -> dict[str, Any]:
    """The good thread with another value at a path, or without it."""
    document = copy.deepcopy(GOOD)
    *way, last = path.replace("]", "").replace("[", ".").split(".")[1:]
    place: Any = document
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    if value is MISSING:
        del place[last]
    else:
        place[last] = value
    return document


def said(document: Any) -> list[tuple[str, str, str]]:
    found = validate_all(exact_json.encode(document))
    return [(finding.check, finding.severity, finding.path) for finding in found]


BROKEN = [
    # rule 1: all timestamps are valid ISO 8601
    ("times", "$.created_at", "yesterday"),
    ("times", "$.updated_at", 5),
    ("times", "$.agents.a1.created_at", None),
    ("times", "$.turns[0].submitted_at", "2026-01-15"),
    ("times", "$.turns[1].started_at", 1768471200),
    ("times", "$.turns[1].completed_at", ["now"]),
    ("times", "$.turns[1].messages[2].timestamp", {}),
    # rule 3: agent_id is a key of the registry, and so are source and target
    ("agents", "$.turns[1].agent_id", "a9"),
    ("agents", "$.turns[1].messages[0].agent_id", "a9"),
    ("agents", "$.turns[1].messages[2].source_agent", "a9"),
    ("agents", "$.agents.a2.agent_id", "other"),
    # the version
    ("version", "$.version", "9.0.0"),
    ("version", "$.version", 2),
    ("version", "$.version", "2.0.0-beta"),
    # required fields
    *(("required", f"$.{name}", MISSING) for name in ("version", "thread_id", "created_at", "updated_at")),
    *(("required", f"$.agents.a1.{name}", MISSING) for name in ("agent_id", "agent_name", "created_at")),
    *(("required", f"$.turns[0].{name}", MISSING) for name in ("submitted_at", "parts")),
    *(("required", f"$.turns[1].{name}", MISSING) for name in ("agent_id", "started_at", "completed_at")),
    *(("required", f"$.turns[1].messages[1].{name}", MISSING) for name in ("timestamp", "agent_id")),
    ("required", "$.turns[1].messages[2].timestamp", MISSING),
    ("required", "$.turns[1].messages[1].parts[0].status", MISSING),
    ("required", "$.turns[1].messages[0].parts[0].args", MISSING),
]


def test_the_good_thread_has_no_findings() -> None:
    assert said(GOOD) == []
    assert validate(formats.read(exact_json.encode(GOOD))) == []


@pytest.mark.parametrize(
    ("rule", "path", "value"), BROKEN, ids=lambda value: "missing" if value is MISSING else str(value)[:40]
)
def test_what_breaks_a_rule_is_one_error_at_its_place(rule: str, path: str, value: Any) -> None:
    document = broken(path, value)
    assert said(document) == [(rule, "error", path)]
    assert formats.write(formats.read(exact_json.encode(document)), "thread-protocol").data == document


CHANGES: list[tuple[str, Callable[[Any], Any], list[tuple[str, str, str]]]] = [
    (
        "rule 2: another id",
        lambda turns: turns[1]["messages"][1]["parts"][0].update(tool_call_id="c9"),
        [("tool-results", "error", "$.turns[1].messages[1].parts[0].tool_call_id")],
    ),
    (
        "rule 2: another tool",
        lambda turns: turns[1]["messages"][1]["parts"][0].update(tool_name="g"),
        [("tool-results", "error", "$.turns[1].messages[1].parts[0].tool_name")],
    ),
    (
        "rule 3: a target",
        lambda turns: turns[1]["messages"][2].update(target_agents=["a2", "a9"]),
        [("agents", "error", "$.turns[1].messages[2].target_agents[1]")],
    ),
    (
        "rule 4: turns overlap",
        lambda turns: turns[2].update(started_at=TIME.format(2)),
        [("turns", "error", "$.turns[2].started_at")],
    ),
    (
        "rule 4: completed before it began",
        lambda turns: turns[2].update(completed_at=TIME.format(2)),
        [("turns", "error", "$.turns[2].started_at")],
    ),
    (
        "rule 4: a user turn inside an agent turn",
        lambda turns: turns.append({**turns[0], "submitted_at": TIME.format(2)}),
        [("turns", "error", "$.turns[3].submitted_at")],
    ),
    (
        "rule 5: messages out of order",
        lambda turns: turns[1]["messages"][1].update(timestamp=TIME.format(0)),
        [("message-order", "error", "$.turns[1].messages[1].timestamp")],
    ),
    ("equal times are in order", lambda turns: turns[1]["messages"][1].update(timestamp=TIME.format(1)), []),
    ("an active run is a partial turn, the last", lambda turns: turns[2].pop("completed_at"), []),
]


@pytest.mark.parametrize(("change", "expected"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_the_rules_over_several_places(change: Callable[[Any], Any], expected: list[tuple[str, str, str]]) -> None:
    document = copy.deepcopy(GOOD)
    change(document["turns"])
    assert said(document) == expected
    assert formats.write(formats.read(exact_json.encode(document)), "thread-protocol").data == document


@pytest.mark.parametrize(("seed", "raw"), [param for param in examples() if param.values[0] == "002"])
def test_the_examples_of_the_specification_have_no_errors(seed: str, raw: bytes) -> None:
    assert [finding for finding in validate_all(raw) if finding.severity == "error"] == []


def test_a_fragment_is_one_warning_beside_its_agents() -> None:
    found = said({"turns": GOOD["turns"][:1]})
    assert found == [("required", "warning", "$")]


def test_a_conversation_that_was_read_from_a_thread_is_checked_as_one() -> None:
    newer = formats.read(exact_json.encode(broken("$.version", "9.0.0")))
    assert [(one.check, one.path) for one in validate(newer)] == [("version", "$.version")]
    late = copy.deepcopy(GOOD)
    late["turns"][2]["started_at"] = TIME.format(2)
    assert [(one.check, one.severity) for one in validate(formats.read(exact_json.encode(late)))] == [
        ("turns", "error")
    ]


def test_the_command_names_a_turn_that_overlaps_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = copy.deepcopy(GOOD)
    document["turns"][2]["started_at"] = TIME.format(2)
    path = tmp_path / "thread.json"
    path.write_bytes(exact_json.encode(document))
    before = path.read_bytes()
    assert run(["validate", str(path)]) == 1
    assert capsys.readouterr().out == (
        "error: $.turns[2].started_at: the turn begins at 2026-01-15T10:00:02Z, before turns[1] ended at "
        "2026-01-15T10:00:03Z [turns]; turns must not overlap: correct the times, or order the turns\n"
        "1 errors, 0 warnings\n"
    )
    assert path.read_bytes() == before
    assert run(["convert", str(path), "--to", "thread-protocol", "-o", str(tmp_path / "again.json")]) == 0
    assert exact_json.decode((tmp_path / "again.json").read_bytes()) == document
