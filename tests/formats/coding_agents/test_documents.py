"""Sessions that are one document, and Qwen Code's chain of records: what of them is said, and what undo knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import Unreadable
from hansard.formats.coding_agents.edits import UNKNOWN, edits_of, replayed
from hansard.model import Conversation, DataPart, Message, TextPart
from hansard.model.parts import ToolResultPart
from hansard.model.tree import active_path
from tests.conftest import GOLDEN


def golden(name: str, file: str) -> Conversation:
    return formats.read((GOLDEN / name / file).read_bytes(), name)


def said(conversation: Conversation, role: str) -> list[str]:
    messages = [conversation.messages[i] for i in active_path(conversation)]
    return [part.text for one in messages if one.role == role for part in one.parts if isinstance(part, TextPart)]


PROMPTS = [
    ("cline", "tools_and_failures.messages.json", ["Write notes."]),
    ("cline", "patches.messages.json", ["Patch it."]),
    ("mini-swe-agent", "commands_and_failures.traj.json", ["Look at the notes."]),
    ("mini-swe-agent", "another_template.traj.json", ["A task without its template."]),
    ("mini-swe-agent", "wrong_answers_and_interruptions.traj.json", ["Go.", "Temporary interruption caught: not that"]),
    ("continue", "tools_and_failures.json", ["Write notes."]),
    ("qwen-code", "rewound_and_titled.jsonl", ["Another first."]),
]


@pytest.mark.parametrize(("name", "file", "prompts"), PROMPTS)
def test_prompts_are_what_was_typed(name: str, file: str, prompts: list[str]) -> None:
    assert said(golden(name, file), "user") == prompts


def test_what_only_the_screen_shows_is_an_event() -> None:
    conversation = golden("cline", "shown_errors_and_odd_entries.messages.json")
    data = [part for one in conversation.messages for part in one.parts if isinstance(part, DataPart)]
    assert [(part.name, part.data) for part in data] == [("error", "The owner disconnected.")]
    assert len({one.id for one in conversation.messages}) == len(conversation.messages)


FAILURES = [
    ("cline", "tools_and_failures.messages.json", [False, True, True, False]),
    ("mini-swe-agent", "commands_and_failures.traj.json", [False, True, False]),
    ("continue", "tools_and_failures.json", [False, False, True, False]),
    ("continue", "unfinished_calls_and_odd_entries.json", [True]),
    ("qwen-code", "tools_and_failures.jsonl", [False, False, True]),
]


@pytest.mark.parametrize(("name", "file", "failed"), FAILURES)
def test_results_say_whether_they_failed(name: str, file: str, failed: list[bool]) -> None:
    parts = [part for one in golden(name, file).messages for part in one.parts if isinstance(part, ToolResultPart)]
    assert [part.is_error for part in parts] == failed


STEPS: list[tuple[str, str, list[tuple[str, Any, Any]]]] = [
    ("cline", "tools_and_failures.messages.json", [("/work/notes.txt", None, b"a\n")]),
    ("continue", "tools_and_failures.json", [("/work/notes.txt", None, b"a\n"), ("/work/notes.txt", b"a\n", b"b\n")]),
    ("qwen-code", "tools_and_failures.jsonl", [("/work/notes.txt", None, b"a\n")]),
    ("qwen-code", "sub_agent.jsonl", [("/work/cups.txt", None, b"seven\n")]),
    (
        "cline",
        "patches.messages.json",
        [
            ("/work/a.txt", None, b"one\ntwo\n"),
            ("/work/b.txt", UNKNOWN, UNKNOWN),
            ("/work/c.txt", UNKNOWN, None),
        ],
    ),
]


@pytest.mark.parametrize(("name", "file", "steps"), STEPS)
def test_edits_are_replayed(name: str, file: str, steps: list[tuple[str, Any, Any]]) -> None:
    found = [(step.path, step.before, step.after) for step in replayed(edits_of(golden(name, file)))]
    assert found == steps


def test_a_hunk_is_applied_to_a_file_and_taken_back() -> None:
    edit = next(one for one in edits_of(golden("cline", "patches.messages.json")) if one.path == "/work/b.txt")
    assert edit.reverse is not None
    assert edit.change(b"w\nx\ny\n") == b"w\nx\nz\n"
    assert edit.reverse(b"w\nx\nz\n") == b"w\nx\ny\n"
    assert edit.change(b"x\ny\nx\ny\n") is UNKNOWN  # twice: it does not say which


def test_a_sub_agent_of_qwen_code_follows_its_call() -> None:
    conversation = golden("qwen-code", "sub_agent.jsonl")
    below = [one for one in conversation.messages if one.sidechain is True]
    assert [one.role for one in below] == ["user", "assistant", "assistant", "tool", "assistant", "tool", "assistant"]
    assert below[0].metadata == {"toolCallId": "c1"}
    assert {one.agent_id for one in below} == {"general-purpose-44xcfk"}
    assert said(conversation, "assistant") == ["Seven."]
    used = [one.usage.output_tokens for one in conversation.messages if one.usage is not UNSET]
    assert used == [81, 9, 7, 81]


DOCUMENTS = [path for name in ("cline", "continue", "mini-swe-agent") for path in sorted((GOLDEN / name).iterdir())]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_new_message_is_the_last_entry_and_the_rest_stays(path: Path) -> None:
    name, before = path.parent.name, json.loads(path.read_bytes())
    conversation = formats.read(path.read_bytes(), name)
    asked = Message(role="user", parts=[TextPart(text="And now?")])
    written = json.loads(formats.write(replace(conversation, messages=[*conversation.messages, asked]), name).json)
    entries = next(key for key in before if isinstance(before[key], list))
    assert written[entries][:-1] == before[entries]
    assert "And now?" in json.dumps(written[entries][-1])
    assert {**written, entries: []} == {**before, entries: []}


@pytest.mark.parametrize("name", ["cline", "continue", "mini-swe-agent"])
def test_half_a_document_is_one_clear_error(name: str) -> None:
    path = next((GOLDEN / name).iterdir())
    with pytest.raises(Unreadable, match=f"no record of a {name} session"):
        formats.read(path.read_bytes()[:-40], name)
