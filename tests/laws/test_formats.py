"""The laws of formats, over everything in the registry: a new format is tested the moment it is listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from hansard import formats
from hansard.errors import UnknownFormat, Unreadable
from hansard.formats.detection import may_be
from hansard.model import Conversation, exact_json, native
from tests import loss_report
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents
from tests.strategies import conversations, json_values

NAMES = [name for name in formats.names() if not formats.get(name).write_only]  # `test_pages` has the others
GOLDENS = [
    pytest.param(name, path, id=f"{name}/{path.name}")
    for name in NAMES
    for path in sorted((GOLDEN / name).glob("*"))
    if path.is_file()
]


def identical(left: Conversation, right: Conversation) -> bool:
    return exact_json.same(native.plain(left), native.plain(right))


def assert_round_trip(name: str, raw: bytes) -> None:
    written = formats.write_all(formats.read_all(raw, name), name)
    assert written.losses == []
    if formats.get(name).verbatim:
        assert written.json == raw
    else:
        assert exact_json.same(values(written.json), values(raw))


def values(raw: bytes) -> Any:
    """What a document says: one JSON value, or one a line."""
    try:
        return exact_json.decode(raw)
    except Unreadable:
        return [exact_json.decode(line) for line in raw.splitlines() if line.strip()]


@pytest.mark.parametrize(("name", "path"), GOLDENS)
def test_a_golden_file_is_written_as_it_was_read(name: str, path: Path) -> None:
    assert_round_trip(name, path.read_bytes())


@pytest.mark.parametrize(("name", "path"), GOLDENS)
def test_a_golden_file_survives_native_json(name: str, path: Path) -> None:
    conversations = formats.read_all(path.read_bytes(), name)
    stored = formats.write_all(conversations, "hansard")
    assert stored.losses == []
    again = formats.read_all(stored.json, "hansard")
    assert len(again) == len(conversations)
    assert all(map(identical, again, conversations))


@pytest.mark.parametrize("name", NAMES)
def test_every_format_has_golden_files(name: str) -> None:
    assert sum(1 for path in (GOLDEN / name).glob("*") if path.is_file()) >= 5


@pytest.mark.parametrize("name", NAMES)
def test_the_corpus_is_written_as_it_was_read(name: str, corpus: Path) -> None:
    documents = corpus_documents(corpus, name)
    for raw in documents:
        assert_round_trip(name, raw)


@pytest.mark.parametrize("name", NAMES)
@given(conversation=conversations)
def test_the_losses_are_the_places_that_read_back_otherwise(name: str, conversation: Conversation) -> None:
    before = native.encode(conversation)
    written = formats.write(conversation, name)
    loss_report.check(written)
    assert native.encode(conversation) == before, "writing changed its input"


@pytest.mark.parametrize("name", NAMES)
def test_the_losses_of_golden_files_are_the_places_that_read_back_otherwise(name: str) -> None:
    for path in sorted(path for path in (GOLDEN / name).glob("*") if path.is_file())[:3]:
        for conversation in formats.read_all(path.read_bytes(), name):
            for to in ("openai-chat", "anthropic", "gemini", "pydantic-ai", "thread-protocol", "claude-code"):
                loss_report.check(formats.write(conversation, to))


@pytest.mark.parametrize("name", NAMES)
@given(conversation=conversations)
def test_what_was_written_reads_and_writes_the_same_again(name: str, conversation: Conversation) -> None:
    once = formats.write(conversation, name)
    again = formats.write(formats.read(once.json, name), name)
    if formats.get(name).verbatim:
        assert again.json == once.json
    else:
        assert exact_json.same(values(again.json), values(once.json))


PLAINLY_ANOTHERS = {"ai-sdk-model/an_object_with_messages.json"}  # a `system` beside the messages: Anthropic's way


@pytest.mark.parametrize(("name", "path"), GOLDENS)
def test_a_format_is_told_from_the_data_or_not_at_all(name: str, path: Path) -> None:
    try:
        found = formats.detect(path.read_bytes())
    except UnknownFormat:
        return
    if found == "openai-chat" and name != found:  # a plain body of roles and texts means the same in every format
        read = (formats.read(path.read_bytes(), one).messages for one in (name, found))
        said, again = ([(one.role, [part.text for part in one.parts]) for one in messages] for messages in read)  # type: ignore[union-attr]
        assert said == again
        return
    assert found == name or f"{name}/{path.name}" in PLAINLY_ANOTHERS


@pytest.mark.parametrize("name", NAMES)
@given(value=json_values)
def test_telling_a_format_never_fails(name: str, value: Any) -> None:
    odd = {"role": value, "kind": value, "type": value, "content": [{"type": value}], "parts": [{"type": value}]}
    said = {"role": "user", "content": [{"type": value, "part_kind": value}], "parts": [{"type": value}]}
    for record in (value, odd, said, {"role": "user", "content": value}, {"parts": value}, {"tool_calls": [value]}):
        for key in ("messages", "contents", "input", "candidates", "choices", "turns"):
            for shape in (record, [record], {key: [record]}, {key: record}):
                sure = formats.get(name).sniff(shape)
                assert sure in (0, 1, 2, 3)
                assert not sure or may_be(formats.get(name), shape)
