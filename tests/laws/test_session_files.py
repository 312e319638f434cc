"""The laws of session files, over every format that has them: any cut, any damage, growth, and new turns."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import Unreadable
from hansard.formats.coding_agents.session_file import Reading, SessionFile
from hansard.model import Conversation, Message, TextPart, native
from tests.conftest import GOLDEN

NAMES = [name for name in formats.names() if formats.get(name).session is not None]
GOLDENS = [
    pytest.param(name, path, id=f"{name}/{path.name}")
    for name in NAMES
    for path in sorted((GOLDEN / name).glob("*"))
    if path.is_file()
]


def session(name: str) -> SessionFile:
    found = formats.get(name).session
    assert found is not None
    return found


def read_in(name: str, raw: bytes, cuts: list[int]) -> tuple[list[Message], Reading]:
    reading = session(name).open()
    messages: list[Message] = []
    at = 0
    for cut in [*sorted(min(cut, len(raw)) for cut in cuts), len(raw)]:
        messages += reading.feed(raw[at:cut])
        at = cut
    return messages + reading.finish(), reading


@pytest.mark.parametrize(("name", "path"), GOLDENS)
@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 4000), max_size=4))
def test_any_cut_of_the_bytes_gives_the_same_messages(name: str, path: Path, cuts: list[int]) -> None:
    raw = path.read_bytes()
    whole, reading = read_in(name, raw, [])
    pieces, again = read_in(name, raw, cuts)
    assert native.encode(pieces) == native.encode(whole)
    assert again.reports == reading.reports
    assert again.unsettled == reading.unsettled


@pytest.mark.parametrize(("name", "path"), GOLDENS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_damaged_file_comes_back_byte_for_byte(name: str, path: Path, data: st.DataObject) -> None:
    raw = path.read_bytes()
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, min(len(raw), start + 200)))
    damaged = raw[:start] + data.draw(st.one_of(st.binary(max_size=8), st.just(b"\n"), st.just(b"{}"))) + raw[end:]
    try:
        conversation = formats.read(damaged, name)
    except Unreadable:
        assert not read_in(name, damaged, [])[0]
        return
    assert formats.write(conversation, name).data == damaged


@pytest.mark.parametrize(("name", "path"), GOLDENS)
def test_a_grown_file_only_adds_messages(name: str, path: Path) -> None:
    raw = path.read_bytes()
    later = read_in(name, raw, [])[0]
    ends = [i + 1 for i, byte in enumerate(raw) if byte == 10]
    for end in ends if raw[:1] == b"{" and raw[1:2] != b"\n" else []:
        earlier, reading = read_in(name, raw[:end], [])
        settled = [message for message in earlier if message.id not in reading.unsettled]
        known = {message.id: message for message in later}
        for message in settled:
            assert native.encode(known[message.id]) == native.encode(message)


@pytest.mark.parametrize(("name", "path"), GOLDENS)
def test_new_turns_stand_behind_the_old_bytes(name: str, path: Path) -> None:
    raw = path.read_bytes()
    conversation = formats.read(raw, name)
    ids = [message.id for message in conversation.messages]
    tip = conversation.head if conversation.head is not UNSET else ids[-1] if ids else None
    asked = Message(role="user", parts=[TextPart(text="What now?")], parent_message_id=tip)
    grown = replace(conversation, messages=[*conversation.messages, asked], head=UNSET)
    written = formats.write(grown, name).json
    if raw[:2] != b"{\n":  # one document over many lines has its end at its end
        assert written.startswith(raw)
    assert said(formats.read(written, name)) == [*said(conversation), "What now?"]


def said(conversation: Conversation) -> list[str]:
    return [part.text for message in conversation.messages for part in message.parts if isinstance(part, TextPart)]


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_file_is_an_empty_conversation(name: str) -> None:
    empty = formats.read(b"", name)
    assert empty.messages == []
    assert formats.write(empty, name).data == b""


@pytest.mark.parametrize("name", ["codex", "gemini-cli"])
def test_a_file_of_something_else_is_refused(name: str) -> None:
    for other in (b'{"messages":[{"role":"user","content":"hi"}]}\n', b"17", b"<html>", b'{"a":1}\n{"b":2}\n'):
        with pytest.raises(Unreadable, match="no record of a"):
            formats.read(other, name)
