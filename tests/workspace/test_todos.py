"""The todo list of a thread at a message: set on the message, or written by an agent's tool."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from hansard import Ledger
from hansard.model.conversation import Message, Todo
from hansard.model.parts import ToolCallPart
from hansard.workspace.todos import todos_at
from tests.workspace.trees import say


def called(tool: str, given: Any) -> Message:
    return Message(role="assistant", parts=[ToolCallPart(tool_name=tool, tool_call_id="c", input=given)])


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("TodoWrite", {"todos": [{"content": "tea", "status": "pending", "activeForm": "making tea"}, {}]}),
        ("write_todos", {"todos": [{"description": "tea", "status": "pending", "activeForm": "making tea"}, {}]}),
        ("update_plan", {"plan": [{"step": "tea", "status": "pending", "activeForm": "making tea"}, {}]}),
    ],
    ids=["claude-code", "gemini-cli", "codex"],
)
def test_the_list_that_an_agents_tool_wrote(ledger: Ledger, tool: str, given: Any) -> None:
    thread = ledger.create_thread().id
    before = ledger.append(thread, say("user")).id
    written = ledger.append(thread, called(tool, given)).id
    after = written
    for _ in range(3):
        after = ledger.append(thread, say("assistant")).id
    empty = Todo(content=UNSET, status=UNSET, active_form=UNSET)
    todos = [Todo(content="tea", status="pending", active_form="making tea"), empty]
    assert todos_at(ledger, thread, written) == todos_at(ledger, thread, after) == todos
    assert todos_at(ledger, thread, before) == []


@pytest.mark.parametrize("given", [{"todos": "tea"}, {"todos": ["tea"]}, {}, "tea", None])
def test_what_is_not_a_list_of_todos_is_passed_over(ledger: Ledger, given: Any) -> None:
    thread = ledger.create_thread().id
    ledger.append(thread, called("TodoWrite", {"todos": [{"content": "tea", "status": "completed"}]}))
    ledger.append(thread, called("Read", {"todos": [{"content": "not a list of todos"}]}))
    head = ledger.append(thread, called("TodoWrite", given)).id
    assert [(todo.content, todo.status) for todo in todos_at(ledger, thread, head)] == [("tea", "completed")]


def test_a_list_far_up_the_thread_still_holds(ledger: Ledger) -> None:
    thread = ledger.create_thread().id
    ledger.append(thread, called("TodoWrite", {"todos": [{"content": "tea"}]}))
    head = ledger.append(thread, [say("user") for _ in range(250)])[-1].id
    assert [todo.content for todo in todos_at(ledger, thread, head)] == ["tea"]


def test_without_a_thread_or_a_message_there_is_none(ledger: Ledger) -> None:
    thread = ledger.create_thread().id
    ledger.append(thread, called("TodoWrite", {"todos": [{"content": "tea"}]}))
    assert todos_at(ledger, None, "x") == todos_at(ledger, thread, None) == []
