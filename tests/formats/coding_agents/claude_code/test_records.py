"""Claude Code sessions: lines of other releases and programs, and what is said between prompts and answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from hansard import formats
from hansard.formats.coding_agents.session_file import without_evidence
from hansard.model import DataPart
from hansard.model.tree import active_path
from tests.conftest import GOLDEN
from tests.formats.coding_agents.claude_code.test_claude_code import NAME, forks, golden, said


def test_what_the_user_says_while_an_answer_is_under_way_is_the_users_word() -> None:
    conversation = golden("said_while_working")
    assert forks(conversation) == []
    words = [said(message) for message in conversation.messages if message.role == "user"]
    assert words == ["Say hello in every file.", "No: hi.", "As here."]
    again = formats.read(formats.write(without_evidence(conversation, NAME), NAME).json, NAME)
    assert [(one.role, one.parts) for one in again.messages] == [(one.role, one.parts) for one in conversation.messages]


def test_lines_that_say_little_are_read_one_after_the_other() -> None:
    raw = (GOLDEN / NAME / "bare_lines.jsonl").read_bytes()
    assert formats.detect(raw) == NAME
    conversation = golden("bare_lines")
    assert [message.role for message in conversation.messages] == ["user", "assistant", "user", "assistant", "tool"]
    assert [said(message) for message in conversation.messages][:3] == ["Say hello.", "Hello.", "Now list."]
    assert len(active_path(conversation)) == 5


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"message": {"role": "assistant", "type": "message", "content": []}}, NAME),
        ({"message": {"content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]}}, NAME),
        ({"sessionId": "bbbb0000-0000-4000-8000-000000000001"}, NAME),
        ({"sessionId": "bbbb0000-0000-4000-8000-000000000001", "context": {"cwd": "/"}}, "sage"),
        ({"sessionId": "session-7"}, "sage"),
    ],
)
def test_lines_that_say_little_are_told_from_those_of_sage(fields: dict[str, Any], name: str) -> None:
    line = {"type": "assistant", "uuid": "u", "parentUuid": None, "sessionId": "s"}
    line["message"] = {"role": "assistant", "content": "Hi."}
    assert formats.detect(json.dumps(line | fields).encode() + b"\n") == name


def test_a_title_that_stands_in_the_chain_is_a_title() -> None:
    first, *others = (GOLDEN / NAME / "prompt_and_answer.jsonl").read_bytes().splitlines(keepends=True)
    title = {"type": "custom-title", "customTitle": "Mine", "sessionId": "s", "uuid": "t1"}
    raw = first + json.dumps(title).encode() + b"\n" + b"".join(others)
    conversation = formats.read(raw, NAME)
    assert conversation.title == "Mine"
    assert len(conversation.messages) == len(golden("prompt_and_answer").messages)


def test_notes_of_older_releases_are_read() -> None:
    (event,) = [message for message in golden("note_of_an_older_release").messages if message.role == "event"]
    (part,) = event.parts
    assert isinstance(part, DataPart)
    assert part.data["content"] == "Running a hook..."


def test_what_is_printed_for_programs_is_a_session_too() -> None:
    raw = (GOLDEN / NAME / "printed_for_programs.jsonl").read_bytes()
    assert formats.detect(raw) == NAME
    conversation = golden("printed_for_programs")
    assert conversation.id == "bbbb0000-0000-4000-8000-000000000001"
    path = [conversation.messages[i] for i in active_path(conversation)]
    assert [message.role for message in path] == ["event", "user", "assistant", "tool", "assistant", "event"]
    aside = [message for message in conversation.messages if message.sidechain is True]
    assert [said(message) for message in aside] == ["Count them.", "There are three."]
    assert aside[0].parent_message_id == path[2].id
    assert [one.usage.output_tokens for one in path if one.usage is not UNSET] == [20, 2]


@pytest.mark.parametrize("cut", [slice(40, None), slice(None, -1)])
def test_what_a_sub_agent_says_inside_a_torn_line_is_no_line(cut: slice) -> None:
    raw = (GOLDEN / NAME / "prompt_and_answer.jsonl").read_bytes()
    inner = {"type": "assistant", "uuid": "i", "message": {"role": "assistant", "content": [{"type": "thinking"}]}}
    line = {"uuid": "p", "parentUuid": None, "sessionId": "s", "type": "progress", "data": {"message": inner}}
    conversation = formats.read(raw + json.dumps(line).encode()[cut] + b"\n", NAME)
    assert len(conversation.messages) == len(golden("prompt_and_answer").messages)
