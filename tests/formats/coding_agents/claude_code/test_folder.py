"""Folders of Claude Code sessions: sub-agents hang on the calls that started them, and every file comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.coding_agents.claude_code.folder import join, read_project, split
from hansard.formats.coding_agents.session_file import evidence
from hansard.model import Conversation, Message, TextPart, ToolCallPart
from hansard.model.tree import active_path, parents


def folder(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*.jsonl"))}


@pytest.fixture
def projects(corpus: Path) -> list[dict[str, bytes]]:
    return [folder(path) for path in sorted((corpus / "sessions" / "claude-code-projects").iterdir())]


def callers(conversation: Conversation) -> dict[str, str]:
    """For every sub-agent the call that its side chain hangs on."""
    calls = {}
    by_id = {message.id: message for message in conversation.messages}
    for message in conversation.messages:
        if message.sidechain is True and type(message.parent_message_id) is str:
            above = by_id[message.parent_message_id]
            if above.sidechain is not True:
                assert message.metadata is not UNSET
                called = [part.tool_call_id for part in above.parts if isinstance(part, ToolCallPart)]
                assert message.metadata["toolCallId"] in called
                if type(message.agent_id) is str:
                    calls[message.agent_id] = message.metadata["toolCallId"]
    return calls


def test_sub_agents_hang_on_the_calls_that_started_them(projects: list[dict[str, bytes]]) -> None:
    found: dict[str, str] = {}
    for files in projects:
        for conversation in read_project(files).values():
            found |= callers(conversation)
            sides = [message.sidechain is True for message in conversation.messages]
            assert all(sides) or not any(sides[i] for i in active_path(conversation))
    expected = {"aaaa111111111111", "bbbb222222222222", "ag000001", "ag000002", "ag000003", "c8d9b115", "a2271d1"}
    assert set(found) == expected


def test_no_file_of_a_folder_is_left_out_and_each_comes_back(projects: list[dict[str, bytes]]) -> None:
    for files in projects:
        joined = read_project(files)
        given: dict[str, bytes] = {}
        for name, conversation in joined.items():
            below = {one: raw for one, raw in files.items() if one.startswith(name.removesuffix(".jsonl") + "/")}
            beside = {
                one: raw
                for one, raw in files.items()
                if one not in joined and "/" not in one and f'"{name.removesuffix(".jsonl")}"'.encode() in raw
            }
            given |= split(conversation, {name: files[name], **below, **beside})
        assert given == files


def test_a_new_message_of_a_sub_agent_goes_to_its_file(projects: list[dict[str, bytes]]) -> None:
    files = next(files for files in projects if any("a2271d1" in name for name in files))
    main = next(name for name in files if name.startswith("29ccd257") and "/" not in name)
    agent = next(name for name in files if "a2271d1" in name)
    conversation = read_project(files)[main]
    new = Message(role="user", parts=[TextPart(text="More?")], sidechain=True, agent_id="a2271d1")
    longer = replace(conversation, messages=[*conversation.messages, new])
    given = split(longer, {main: files[main], agent: files[agent]})
    assert given[main] == files[main]
    assert given[agent].startswith(files[agent])
    assert b"More?" in given[agent]


def test_a_sub_agent_nobody_called_is_a_root(projects: list[dict[str, bytes]]) -> None:
    files = next(files for files in projects if "agent-88061e52.jsonl" in files)
    conversation = read_project(files)["7acd37a8-2745-4b58-a8a9-46164b22ad9e.jsonl"]
    alone = [i for i, message in enumerate(conversation.messages) if message.agent_id == "88061e52"]
    assert [parents(conversation.messages)[i] for i in alone] == [None]


def test_joining_leaves_the_session_as_it_was(projects: list[dict[str, bytes]]) -> None:
    for files in projects:
        for name, conversation in read_project(files).items():
            assert evidence(conversation, "claude-code") in (files[name], None)
            assert join(conversation, {}) == replace(conversation)
