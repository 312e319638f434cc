"""The five documents the product was ordered from: every example in them is read, checked, written back and shown."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from hansard import formats
from hansard.errors import Unreadable
from hansard.formats.rules.checks import validate
from hansard.model import Conversation, Thinking, Usage, exact_json, native
from hansard.model.tree import active_path, is_linear
from tests.conftest import CORPUS, GOLDEN

SEEDS = CORPUS.parent / "seeds" if CORPUS else None
FORMATS = {"000": "hansard", "001": "agent-store", "002": "thread-protocol", "003": "sage", "004": "provider-message"}
EXAMPLES = re.compile(r"^```json\n(.*?)^```", re.DOTALL | re.MULTILINE)
NOT_JSON = {"packages/"}


def examples() -> list[Any]:
    """Every block marked as JSON that is JSON, with the number of its seed."""
    if SEEDS is None or not SEEDS.is_dir():
        return []
    found = []
    for path in sorted(SEEDS.glob("*.txt")):
        for i, block in enumerate(EXAMPLES.findall(path.read_text())):
            if block.split("\n", 1)[0] not in NOT_JSON:
                found.append(pytest.param(path.name[:3], block.encode(), id=f"{path.name[:3]}-{i}"))
    return found


GOLDENS = [
    pytest.param(path.name[:3], path.read_bytes(), id=path.name) for path in sorted((GOLDEN / "seeds").glob("*"))
]


def strings(value: Any) -> set[str]:
    """Everything a document says in words."""
    if type(value) is dict:
        return set().union(*map(strings, value.values()))
    if type(value) is list:
        return set().union(*map(strings, value))
    return {value} if type(value) is str else set()


def values(raw: bytes) -> Any:
    try:
        return exact_json.decode(raw)
    except Unreadable:
        return [exact_json.decode(line) for line in raw.splitlines() if line.strip()]


def errors(conversation: Conversation) -> list[Any]:
    return [finding for finding in validate(conversation, None) if finding.severity == "error"]


def assert_kept(name: str, raw: bytes) -> Conversation:
    """Detected, read, checked, written back the same, nothing said left out of what is shown."""
    conversation = formats.read(raw)
    assert conversation.messages or conversation.snapshots
    assert formats.detect(raw) == name
    written = formats.write(conversation, name)
    assert written.losses == []
    assert exact_json.same(values(written.json), values(raw))
    if formats.get(name).verbatim:
        assert written.json == raw
    alone = len(conversation.messages) == 1 and conversation.messages[0].role == "tool"
    assert [error for error in errors(conversation) if not alone or error.check != "tool-results"] == []
    stored = formats.write(conversation, "hansard")
    assert stored.losses == []
    shown = strings(exact_json.decode(exact_json.pretty(exact_json.decode(stored.json))))
    text = "\n".join(shown)
    assert {word for word in strings(values(raw)) if word not in text} <= SPELLED_BY_STRUCTURE
    return conversation


SPELLED_BY_STRUCTURE = {
    *("tool_result", "file_history_snapshot", "tool-invocation", "result", "call"),
    *("2.0.0", "agent", "response", "request", "user-prompt", "tool-return", "system", "thinking", "success"),
}


@pytest.mark.parametrize(("seed", "raw"), examples())
def test_every_example_of_the_seeds_is_kept(seed: str, raw: bytes) -> None:
    assert_kept(FORMATS[seed], raw)


def test_the_seeds_are_there_or_we_say_why_not() -> None:
    if SEEDS is None or not SEEDS.is_dir():
        pytest.skip("no folder `seeds` beside HANSARD_CORPUS: the seeds' own examples are not read")
    assert len(examples()) >= 6


@pytest.mark.parametrize(("seed", "raw"), GOLDENS)
def test_what_the_seeds_describe_is_kept(seed: str, raw: bytes) -> None:
    assert_kept(FORMATS[seed], raw)


def test_the_examples_of_a_session_are_one_session() -> None:
    records = [param.values[1] for param in examples() if param.values[0] == "003"]
    if not records:
        pytest.skip("no folder `seeds` beside HANSARD_CORPUS: the session is not put together")
    raw = b"".join(exact_json.encode(exact_json.decode(record)) + b"\n" for record in records)
    conversation = formats.read(raw)
    user, assistant, tool = conversation.messages
    assert formats.write(conversation, "sage").json == raw
    assert errors(conversation) == []
    assert conversation.id == "session-123"
    assert active_path(conversation) == [0, 1, 2]
    assert (user.parent_message_id, assistant.parent_message_id, tool.parent_message_id) == (
        None,
        user.id,
        assistant.id,
    )
    assert user.thinking == Thinking(level="high", disabled=False, triggers=[])
    assert user.context == replace(assistant.context, user_type="external")
    assert assistant.usage == Usage(input_tokens=1500, output_tokens=200, cache_read_tokens=500, cache_write_tokens=0)
    assert [todo.status for todo in assistant.todos] == ["completed", "in_progress"]
    (snapshot,) = conversation.snapshots
    assert (snapshot.message_id, snapshot.update) == (assistant.id, False)
    assert list(snapshot.files) == ["weather_app/index.html"]


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / "seeds" / name).read_bytes())


def test_a_linear_conversation_is_a_tree_with_one_path() -> None:
    conversation = golden("000_linear.json")
    assert is_linear(conversation.messages)
    kinds = [part["type"] for message in conversation.messages for part in native.plain(message)["parts"]]
    assert kinds == ["text", "file", "reasoning", "tool-call", "tool-result", "text"]


def test_a_branched_conversation_follows_its_last_message() -> None:
    conversation = golden("000_branched.json")
    assert active_path(conversation) == [0, 1, 3]


def test_rows_and_messages_of_the_store_say_the_same() -> None:
    said = formats.write(golden("001_canonical_messages.json"), "anthropic").json
    assert formats.write(golden("001_table_rows.json"), "anthropic").json == said
