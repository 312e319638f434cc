"""pi sessions: a real tree, entries in which nobody speaks, and the older files without ids."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.formats.coding_agents.session_file import without_evidence
from hansard.model import CompactionPart, Conversation, Message, TextPart, native
from hansard.model.tree import active_path
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents
from tests.strategies import plain_conversations

NAME = "pi"
FILES = sorted((GOLDEN / NAME).glob("*.jsonl"))


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / NAME / f"{name}.jsonl").read_bytes(), NAME)


def said(message: Message) -> str:
    return " ".join(part.text for part in message.parts if isinstance(part, TextPart))


def test_branches_are_kept_and_the_last_one_is_followed() -> None:
    conversation = golden("branches")
    path = [said(conversation.messages[i]) for i in active_path(conversation)]
    assert path == ["First.", "One.", "We counted to two.", "Second, again?", "Two, again.", ""]
    assert len(conversation.messages) == 8


def test_a_file_of_version_1_is_a_line_with_ids_that_stay() -> None:
    conversation = golden("version_1")
    assert len(active_path(conversation)) == len(conversation.messages) == 3
    ids = [message.id for message in conversation.messages]
    assert ids == [message.id for message in golden("version_1").messages]
    assert len(set(ids)) == 3


def test_signatures_are_bound_to_who_made_them() -> None:
    part = golden("tools_and_thinking").messages[1].parts[0]
    assert part.binding is not UNSET  # type: ignore[union-attr]
    assert part.binding.provider == "anthropic"  # type: ignore[union-attr]
    assert part.binding.transport == "anthropic-messages"  # type: ignore[union-attr]


def test_the_name_of_a_session_is_its_title_and_no_message() -> None:
    conversation = golden("entries")
    assert conversation.title == "A name"
    roles = ["event", "user", "user", "user", "event", "user", "event"]
    assert [message.role for message in conversation.messages] == roles
    assert len(active_path(conversation)) == len(conversation.messages) == 7


def test_what_the_model_is_told_of_entries_is_said_by_the_user() -> None:
    words = [said(message) for message in golden("told_to_the_model").messages if message.role == "user"]
    assert words == [
        "go",
        "Ran `ls`\n```\nx\ny\n```",
        "Ran `false`\n(no output)\n\nCommand exited with code 1",
        "A hint. And a picture:",
        "An older hint.",
        "It went astray.",
        "",
    ]
    events = [message for message in golden("told_to_the_model").messages if message.role == "event"]
    assert [said(message) for message in events] == ["Ran `pwd`\n```\n/\n```\n\n(command cancelled)"]
    summaries = [part.text for one in golden("entries").messages for part in one.parts if type(part) is CompactionPart]
    assert summaries == ["All so far."]


def test_a_command_whose_words_were_changed_is_an_ordinary_message() -> None:
    conversation = without_evidence(golden("told_to_the_model"), NAME)
    changed = replace(conversation.messages[1], parts=[TextPart(text="Ran nothing.")])
    written = formats.write(replace(conversation, messages=[changed], head=UNSET), NAME).json
    assert [said(message) for message in formats.read(written, NAME).messages] == ["Ran nothing."]
    assert b"bashExecution" not in written


def test_broken_entries_are_reported_and_the_rest_is_read() -> None:
    conversation = golden("broken")
    assert [said(message) for message in conversation.messages] == ["hi", "hello", "the same id", "still here"]
    assert conversation.extra is not UNSET
    kinds = [report["kind"] for report in conversation.extra[NAME]["$"]["reports"]]
    assert kinds == ["repair", "bad", "repair", "bad"]
    assert len({message.id for message in conversation.messages}) == 4


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_messages_say_all_without_their_file(path: Path) -> None:
    conversation = without_evidence(formats.read(path.read_bytes(), NAME), NAME)
    again = without_evidence(formats.read(formats.write(conversation, NAME).json, NAME), NAME)
    assert [native.encode(message) for message in again.messages] == [
        native.encode(one) for one in conversation.messages
    ]
    assert again.title == conversation.title


@given(conversation=plain_conversations)
def test_a_plain_conversation_is_written_without_loss(conversation: Conversation) -> None:
    assert formats.write(conversation, NAME).losses == []


def test_a_real_session_is_one_line_with_the_tokens_it_says(corpus: Path) -> None:
    (raw,) = corpus_documents(corpus, NAME)
    conversation = formats.read(raw, NAME)
    assert len(active_path(conversation)) == len(conversation.messages) == 1018
    usages = [message.usage for message in conversation.messages if message.usage is not UNSET]
    assert len(usages) == 453
