"""The five rules every conversation should keep: each is shown kept, and broken in every way it knows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from hansard import formats
from hansard.model import (
    Agent,
    Conversation,
    Message,
    PendingCall,
    Run,
    Snapshot,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hansard.model.validate import CHECKS, validate
from tests.conftest import GOLDEN
from tests.strategies import conversations


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-02T03:{minute:02}:{second:02}Z"


def say(role: str, time: Any = None, **more: Any) -> Message:
    more |= {"created_at": time} if time else {}
    return Message(role=role, parts=[TextPart(text="hi")], **more)


def call(call_id: str) -> Message:
    return Message(role="assistant", parts=[ToolCallPart(tool_call_id=call_id, tool_name="f", input={})])


def result(call_id: str) -> Message:
    return Message(role="tool", parts=[ToolResultPart(tool_call_id=call_id, tool_name="f", output=1, is_error=False)])


def found(conversation: Conversation) -> list[tuple[str, str, str]]:
    return [(finding.check, finding.severity, finding.path) for finding in validate(conversation)]


def talk(*messages: Message, **more: Any) -> Conversation:
    return Conversation(messages=list(messages), **more)


A = {"a1": Agent(id="a1")}
R1 = Run(id="r1", agent_id="a1", started_at=at(1), completed_at=at(2))


@pytest.mark.parametrize(
    ("conversation", "expected"),
    [
        (talk(say("user", "yesterday")), [("times", "error", "$.messages[0].createdAt")]),
        (talk(say("user", "2026-01-02T03:04:05.123456789+01:00")), []),
        (
            talk(
                created_at="x",
                updated_at="2026-13-01T00:00:00Z",
                agents={"a1": Agent(id="a1", created_at="")},
                runs=[Run(id="r", started_at="a", completed_at="b")],
                snapshots=[Snapshot(created_at="c")],
            ),
            [
                ("times", "error", "$.createdAt"),
                ("times", "error", "$.updatedAt"),
                ("times", "error", "$.agents.a1.createdAt"),
                ("times", "error", "$.runs[0].startedAt"),
                ("times", "error", "$.runs[0].completedAt"),
                ("times", "error", "$.snapshots[0].createdAt"),
            ],
        ),
        (talk(call("c1"), result("c1")), []),
        (talk(call("c1")), []),
        (talk(call("c1"), result("c2")), [("tool-results", "error", "$.messages[1].parts[0].toolCallId")]),
        (talk(result("c1"), call("c1")), [("tool-results", "error", "$.messages[0].parts[0].toolCallId")]),
        (
            talk(call("c1"), say("user"), say("assistant")),
            [("tool-results", "warning", "$.messages[0].parts[0].toolCallId")],
        ),
        (
            talk(
                call("c1"), say("user"), say("assistant"), runs=[Run(id="r", pending=[PendingCall(tool_call_id="c1")])]
            ),
            [],
        ),
        (talk(say("assistant", agent_id="a1"), agents=A), []),
        (talk(say("assistant", agent_id="a2"), agents=A), [("agents", "error", "$.messages[0].agentId")]),
        (talk(say("assistant", agent_id="a2")), [("agents", "warning", "$.messages[0].agentId")]),
        (talk(runs=[Run(id="r", agent_id="a9")], agents=A), [("agents", "error", "$.runs[0].agentId")]),
        (talk(agents={"key": Agent(id="a1")}), [("agents", "error", "$.agents.key.id")]),
        (
            talk(
                say("user", at(0)),
                say("assistant", run_id="r1"),
                say("assistant", run_id="r2"),
                agents=A,
                runs=[R1, Run(id="r2", started_at=at(2), completed_at=at(3))],
            ),
            [],
        ),
        (
            talk(
                say("assistant", run_id="r1"),
                say("assistant", run_id="r2"),
                agents=A,
                runs=[R1, Run(id="r2", started_at=at(1, 59), completed_at=at(3))],
            ),
            [("turns", "error", "$.runs[1]")],
        ),
        (
            talk(say("assistant", run_id="r1"), runs=[Run(id="r1", started_at=at(5), completed_at=at(4))]),
            [("turns", "error", "$.runs[0]")],
        ),
        (talk(say("user", at(5)), say("assistant", at(4))), [("turns", "warning", "$.messages[1]")]),
        (
            talk(say("user", at(1, 1), run_id="r1"), say("assistant", at(2), run_id="r1"), agents=A, runs=[R1]),
            [],
        ),
        (
            talk(
                say("assistant", at(1), run_id="r1"),
                say("user", at(2)),
                say("assistant", at(2), run_id="r1"),
                agents=A,
                runs=[R1],
            ),
            [],
        ),
        (
            talk(say("user", at(0)), say("assistant", at(2)), say("assistant", at(1)), say("assistant", at(2))),
            [("message-order", "error", "$.messages[2].createdAt")],
        ),
        (talk(say("user", at(0)), say("assistant", at(1)), say("assistant"), say("assistant", at(1))), []),
    ],
)
def test_the_rules_find_what_breaks_them(conversation: Conversation, expected: list[tuple[str, str, str]]) -> None:
    assert found(conversation) == expected


def test_every_check_has_a_meaning_and_findings_have_its_name() -> None:
    assert set(CHECKS) == {
        "roles",
        "parts",
        "schema-version",
        "times",
        "tool-results",
        "agents",
        "turns",
        "message-order",
    }
    assert all(meaning for _, meaning in CHECKS.values())


def test_a_turn_may_begin_when_the_one_before_it_ends() -> None:
    conversation = formats.read((GOLDEN / "seeds" / "002_two_agents.json").read_bytes())
    first, second = conversation.runs  # type: ignore[misc]
    assert first.completed_at == second.started_at
    assert validate(conversation) == []


def test_a_fragment_without_a_registry_is_only_pointed_out() -> None:
    conversation = formats.read((GOLDEN / "seeds" / "002_message_enrichment.json").read_bytes())
    assert {finding.severity for finding in validate(conversation)} == {"warning"}


def test_branches_that_are_not_followed_are_not_compared() -> None:
    fork = [
        say("user", at(0), id="m1", parent_message_id=None),
        say("assistant", at(9), id="m2", parent_message_id="m1"),
        say("assistant", at(3), id="m3", parent_message_id="m1"),
    ]
    assert found(talk(*fork)) == []
    assert found(talk(*[replace(message, parent_message_id=None) for message in fork[:1]])) == []


@given(conversation=conversations)
def test_validating_never_fails_and_changes_nothing(conversation: Conversation) -> None:
    for finding in validate(conversation):
        assert finding.check in CHECKS
        assert finding.path.startswith("$.")
        assert finding.severity in ("error", "warning")
        assert finding.problem
        assert finding.fix
