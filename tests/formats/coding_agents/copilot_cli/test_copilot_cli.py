"""Copilot CLI event logs: who spoke, over the events in which nobody does."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.formats.coding_agents.identity import is_uuid
from hansard.formats.coding_agents.session_file import without_evidence
from hansard.model import (
    CompactionPart,
    Context,
    Conversation,
    FilePart,
    Message,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    native,
)
from hansard.model.tree import active_path
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents
from tests.strategies import plain_conversations

NAME = "copilot-cli"
FILES = sorted((GOLDEN / NAME).glob("*.jsonl"))


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / NAME / f"{name}.jsonl").read_bytes(), NAME)


def said(message: Message) -> str:
    return " ".join(part.text for part in message.parts if isinstance(part, TextPart))


@pytest.mark.parametrize("path", [path for path in FILES if path.stem != "broken"], ids=lambda path: path.stem)
def test_every_message_is_on_the_path(path: Path) -> None:
    conversation = formats.read(path.read_bytes(), NAME)
    assert len(active_path(conversation)) == len([one for one in conversation.messages if one.sidechain is not True])


def test_hooks_and_turns_are_no_messages() -> None:
    assert [message.role for message in golden("hooks").messages] == ["user", "assistant"]
    assert [message.role for message in golden("prompt_and_answer").messages] == [
        "system",
        "user",
        "assistant",
        "event",
    ]


def test_calls_and_results_are_read_with_their_failures() -> None:
    conversation = golden("tools")
    calls = [part for part in conversation.messages[1].parts if isinstance(part, ToolCallPart)]
    assert [part.tool_name for part in calls] == ["bash", "view"]
    results = [part for message in conversation.messages for part in message.parts if isinstance(part, ToolResultPart)]
    assert [(part.tool_name, part.output, part.is_error) for part in results] == [
        ("bash", "a\nb", False),
        ("view", "no such file", True),
    ]


def test_agents_that_were_started_are_side_chains_of_their_own() -> None:
    conversation = golden("sub_agents")
    path = [conversation.messages[i] for i in active_path(conversation)]
    assert [message.role for message in path] == ["user", "assistant", "tool", "tool", "assistant"]
    by_id = {message.id: message for message in conversation.messages}
    for agent, words in (
        ("agent-1", ["", "Count a.", "", "", "Three in a.", ""]),
        ("agent-2", ["", "Count b.", "Four in b."]),
    ):
        chain = [message for message in conversation.messages if message.agent_id == agent]
        assert [said(message) for message in chain] == words
        assert [by_id[message.parent_message_id].id for message in chain[1:]] == [message.id for message in chain[:-1]]
        assert by_id[chain[0].parent_message_id] == path[1]
    assert conversation.messages[-1].sidechain is True


def test_events_of_newer_releases_are_read() -> None:
    conversation = golden("newer_events")
    messages = conversation.messages
    roles = "developer event user assistant assistant tool assistant event assistant tool event event user assistant"
    assert " ".join(message.role for message in messages) == roles
    files = [part for part in messages[2].parts if isinstance(part, FilePart)]
    assert [(part.data, part.media_type) for part in files] == [("aGk=", "image/png")]
    thoughts = [part.text for one in messages for part in one.parts if isinstance(part, ReasoningPart)]
    assert thoughts == ["Two pictures.", "Nobody says this again."]
    counts = [one.usage.output_tokens for one in messages if one.usage is not UNSET]
    assert counts == [40, 4]
    models = [one.model.name for one in messages if one.model is not UNSET]
    assert models == ["gpt-5.4", "gpt-5.4", "claude-sonnet-5"]
    results = [part for one in messages for part in one.parts if isinstance(part, ToolResultPart)]
    assert [(part.tool_name, part.output) for part in results] == [("view", UNSET), ("bash", "b.png")]
    assert results[0].content is not UNSET
    assert [type(part) for part in results[0].content] == [TextPart, FilePart]
    assert [part.text for one in messages for part in one.parts if isinstance(part, CompactionPart)] == [
        "Two pictures were shown."
    ]


def test_compactions_and_refusals_of_others_are_written() -> None:
    compacted = Message(role="user", parts=[CompactionPart(text="So far: nothing.")])
    refused = Message(role="assistant", parts=[RefusalPart(text="I will not.")])
    written = formats.write(Conversation(messages=[compacted, refused]), NAME)
    again = formats.read(written.json, NAME).messages
    assert again[0].parts == compacted.parts
    assert said(again[1]) == "I will not."
    assert all("refusal" in loss.what or "I will not." in loss.what for loss in written.losses)


def test_messages_stand_in_the_folder_of_the_session() -> None:
    place = Context(cwd="/home/ada/notes", git_branch="main")
    assert {message.context for message in golden("tools").messages} == {place}
    moved = golden("newer_events").messages
    assert moved[0].context == Context(cwd="/home/ada/notes")
    words = [Message(role=role, parts=[TextPart(text="Hi.")], context=place) for role in ("user", "assistant")]
    written = formats.write(Conversation(messages=words), NAME)
    assert written.losses == []
    assert [message.context for message in formats.read(written.json, NAME).messages] == [place, place]


def test_broken_events_are_reported_and_the_rest_is_read() -> None:
    conversation = golden("broken")
    assert [said(message) for message in conversation.messages] == ["hi", "hello", "the same id", "still here"]
    assert conversation.extra is not UNSET
    kinds = [report["kind"] for report in conversation.extra[NAME]["$"]["reports"]]
    assert kinds == ["repair", "bad", "repair", "bad", "bad"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_messages_say_all_without_their_file(path: Path) -> None:
    conversation = without_evidence(formats.read(path.read_bytes(), NAME), NAME)
    again = without_evidence(formats.read(formats.write(conversation, NAME).json, NAME), NAME)
    assert [native.encode(message) for message in again.messages] == [
        native.encode(one) for one in conversation.messages
    ]


@given(conversation=plain_conversations)
def test_one_text_a_message_is_written_without_loss(conversation: Conversation) -> None:
    plain = [replace(message, parts=message.parts[:1]) for message in conversation.messages if said(message)]
    plain = [message for message in plain if said(message)]
    assert formats.write(replace(conversation, messages=plain), NAME).losses == []


def test_a_real_log_is_read(corpus: Path) -> None:
    (raw,) = corpus_documents(corpus, NAME)
    assert [message.role for message in formats.read(raw, NAME).messages] == ["system", "user", "assistant", "event"]


@pytest.mark.parametrize(("agent", "count"), [("A", 1), ("B", 2)])
def test_a_thought_is_said_again_only_by_the_agent_that_thought_it(agent: str, count: int) -> None:
    events = [
        {"type": "session.start", "id": "s", "parentId": None, "data": {"sessionId": "x"}},
        {"type": "assistant.reasoning", "id": "t", "parentId": "s", "agentId": "A", "data": {"content": "Ok"}},
        {"type": "assistant.message", "id": "m", "parentId": "t", "agentId": agent, "data": {"content": "Hi."}},
    ]
    events[2]["data"]["reasoningText"] = "Ok then"  # type: ignore[index]
    raw = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
    assert len(formats.read(raw, "copilot-cli").messages) == count


def test_what_is_written_is_what_the_cli_accepts() -> None:
    """It refuses a session without its version, and events whose ids are not UUIDs."""
    said = [Message(role="user", parts=[TextPart(text=text)], id=f"of:{text}") for text in ("one", "two")]
    lines = [
        json.loads(line) for line in formats.write(Conversation(messages=said, id="s"), "copilot-cli").json.splitlines()
    ]
    assert lines[0]["data"]["copilotVersion"] == "1.0.102"
    assert all(is_uuid(line["id"]) for line in lines)
    assert [line["parentId"] for line in lines[1:]] == [None, lines[1]["id"]]
