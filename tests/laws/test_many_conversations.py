"""Documents of many conversations: cut and put together they are the same, line for line; one alone is one document."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import formats
from hansard.errors import CannotWrite, Unreadable
from hansard.formats.contract import WrittenAll
from hansard.model import Conversation, exact_json, native
from tests.conftest import GOLDEN
from tests.strategies import conversations

NAMES = [name for name in formats.names() if formats.get(name).split is not None]
GOLDENS = [
    pytest.param(name, path, id=f"{name}/{path.name}")
    for name in NAMES
    for path in sorted((GOLDEN / name).glob("*"))
    if path.is_file()
]
many = st.lists(conversations, min_size=2, max_size=4)


def identical(left: Conversation, right: Conversation) -> bool:
    return exact_json.same(native.plain(left), native.plain(right))


def lines(raw: bytes) -> list[Any]:
    """Every line of a file: what it says, and what stands around it."""
    found: list[Any] = []
    for line in raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        text = line.strip()
        found.append((line[: len(line) - len(line.lstrip())], exact_json.decode(text)) if text else line)
    return found


@pytest.mark.parametrize(("name", "path"), GOLDENS)
def test_a_file_comes_back_line_for_line(name: str, path: Path) -> None:
    raw = path.read_bytes()
    written = formats.write_all(formats.read_all(raw, name), name)
    assert written.losses == []
    if path.suffix == ".jsonl" and name != "hansard":
        assert lines(written.json) == lines(raw)
        assert written.json.count(b"\r") == raw.count(b"\r")
        assert written.json.startswith(b"\xef\xbb\xbf") == raw.startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize("name", NAMES)
@given(said=many)
def test_no_losses_if_and_only_if_all_read_back_the_same(name: str, said: list[Conversation]) -> None:
    written = formats.write_all(said, name)
    again = formats.read_all(written.json, name)
    assert len(again) == len(said)
    assert (written.losses == []) == all(map(identical, again, said))


@pytest.mark.parametrize("name", NAMES)
@given(said=many)
def test_a_document_of_many_is_cut_into_documents_of_one(name: str, said: list[Conversation]) -> None:
    chosen = formats.get(name)
    assert chosen.split is not None
    assert chosen.join is not None
    written = formats.write_all(said, name)
    document = written.json if chosen.text else written.data
    pieces = chosen.split(deepcopy(document))
    assert len(pieces) == len(said)
    assert chosen.join(pieces) == document
    for piece in pieces:
        assert len(chosen.split(deepcopy(piece))) == 1


@pytest.mark.parametrize("name", NAMES)
def test_losses_say_of_which_conversation_they_are(name: str) -> None:
    said = [formats.read([{"role": "user", "content": word}], "anthropic") for word in ("one", "two")]
    written = formats.write_all(said, "sharegpt")
    assert isinstance(written, WrittenAll)
    assert {loss.path.partition(".")[0] for loss in written.losses} == {"$[0]", "$[1]"}


@pytest.mark.parametrize("name", NAMES)
def test_reading_one_of_many_names_the_way_out(name: str) -> None:
    said = [formats.read([{"role": "user", "content": word}], "anthropic") for word in ("one", "two")]
    raw = formats.write_all(said, name).json
    with pytest.raises(Unreadable, match=r"2 conversations in one document; read them with hansard\.read_all"):
        formats.read(raw, name)


@pytest.mark.parametrize("name", ["openai-finetune", "sharegpt"])
def test_a_last_line_becomes_one_in_the_middle(name: str) -> None:
    raw = b'{"messages":[{"role":"user","content":"x"}],"conversations":[{"from":"human","value":"x"}]}'
    last = formats.read(raw, name)
    written = formats.write_all([last, last], name)
    assert written.json == raw + b"\n" + raw or name == "sharegpt"
    assert lines(written.json) == lines(raw + b"\n" + raw)
    assert [loss.path[:4] for loss in written.losses] == ["$[0]"], "the newline that the first one got"


def test_a_format_of_one_says_which_hold_many() -> None:
    said = [formats.read([{"role": "user", "content": word}], "anthropic") for word in ("one", "two")]
    with pytest.raises(CannotWrite, match=r"2 conversations do not fit .* write them to hansard, "):
        formats.write_all(said, "anthropic")


@pytest.mark.parametrize("name", ["openai-finetune", "sharegpt"])
def test_a_bad_line_is_named(name: str) -> None:
    good = b'{"messages":[{"role":"user","content":"x"}],"conversations":[]}\n'
    with pytest.raises(Unreadable, match=r"^line 2, \$\."):
        formats.read_all(good + b'{"messages":7,"conversations":7}\n', name)
    with pytest.raises(Unreadable, match=r"^line 4, \$: not JSON at column 13"):
        formats.read_all(good + b"\n \r\n" + b'{"messages":\n' + good, name)
    with pytest.raises(Unreadable, match=r"^\$\[1\]\."):
        formats.read_all(b"[" + good + b",\n{}]", name)
