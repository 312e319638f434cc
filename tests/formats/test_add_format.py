"""A format added as the guide in `hansard.formats.contract` says: a folder and one line, or an entry point."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given

import hansard
from hansard import formats
from hansard.errors import UnknownFormat, Unreadable
from hansard.formats import registry
from hansard.model import Conversation
from hansard.sessions import importer
from tests.laws import test_formats as laws
from tests.strategies import conversations

NAME = "irc-log"
ROW = '''"""IRC logs: a line `NAME: TEXT` for each message. Lost, and reported: everything but who said what."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """Lines with a name; other formats have such lines too."""
    if type(document) is not bytes:
        return 0
    lines = document.removesuffix(b"\\n").split(b"\\n")
    return 2 if all(b": " in line and not line.startswith((b"{", b"[")) for line in lines) else 0


FORMAT = Format(name="irc-log", title="IRC logs", module=__name__, sniff=sniff, text=True, verbatim=True, suffix="log")
'''
MESSAGES = '''"""Messages of IRC logs, read and written."""

from __future__ import annotations

import re

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import TextPart


def read(document: bytes) -> Conversation:
    messages = []
    for number, line in enumerate(document.decode().split("\\n")[:-1], start=1):
        name, colon, text = line.partition(": ")
        if not colon:
            raise Unreadable("no name and text", f"line {number}", "write it as NAME: TEXT")
        role = "assistant" if name == "bot" else "user"
        messages.append(Message(role=role, parts=[TextPart(text=text)], agent_id=name))
    return Conversation(messages=messages)


def write(conversation: Conversation, target: Target) -> bytes:
    lines = []
    for message in conversation.messages:
        name = message.agent_id if isinstance(message.agent_id, str) else "bot" if message.role == "assistant" else "me"
        text = " ".join(part.text for part in message.parts if isinstance(part, TextPart))
        lines.append(f"{re.sub('[^a-z]', '_', name)}: {text.replace(chr(10), ' ')}\\n")
    return "".join(lines).encode("utf-8", "replace")
'''
LOG = b"ann: hello\nbot: good day\nann: and what is: this?\n"


@pytest.fixture(scope="module", params=["a folder and one line", "a folder and an entry point"], autouse=True)
def added(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("toy")
    package = folder / "irclog"
    package.mkdir()
    (package / "__init__.py").write_text(ROW)
    (package / "messages.py").write_text(MESSAGES)
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "a folder and one line":
            patch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
            patch.setattr(registry, "_MODULES", (*registry._MODULES, "irclog"))
        else:
            info = folder / "irclog-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: irclog\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text(f"[hansard.formats]\n{NAME} = irclog:FORMAT\n")
            patch.syspath_prepend(str(folder))
        _forget()
        yield
    _forget()


def _forget() -> None:
    for cached in (registry.own_rows, registry.plugins, registry.get):
        cached.cache_clear()
    for module in [name for name in sys.modules if "irclog" in name]:
        del sys.modules[module]


def test_it_is_listed_and_its_reader_is_loaded_when_it_is_used() -> None:
    assert NAME in formats.names()
    row = formats.get(NAME)
    assert f"{row.module}.messages" not in sys.modules
    assert (row.split, row.rules, row.session, row.decode_typed) == (None, None, None, None)
    assert f"{row.module}.messages" in sys.modules


def test_its_files_are_detected_when_they_are_read_converted_and_imported(tmp_path: Path) -> None:
    assert hansard.detect(LOG) == NAME
    assert [message.agent_id for message in hansard.read(LOG).messages] == ["ann", "bot", "ann"]
    assert hansard.convert(LOG.decode(), to="anthropic").json == hansard.convert(LOG, "anthropic", NAME).json
    path = tmp_path / "talk.log"
    path.write_bytes(LOG)
    assert importer.detect(path) == NAME


def test_others_are_still_detected_and_nonsense_is_still_named() -> None:
    assert hansard.detect(b'{"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}') == "gemini"
    with pytest.raises(Unreadable, match="not JSON"):
        hansard.read(b"nobody says this")
    with pytest.raises(UnknownFormat, match="unknown format 'irc-lgo'; did you mean 'irc-log'"):
        formats.get("irc-lgo")


def test_a_file_is_written_as_it_was_read() -> None:
    laws.assert_round_trip(NAME, LOG)


@given(conversation=conversations)
def test_the_laws_of_formats_hold(conversation: Conversation) -> None:
    for law in (
        laws.test_the_losses_are_the_places_that_read_back_otherwise,
        laws.test_what_was_written_reads_and_writes_the_same_again,
    ):
        law.hypothesis.inner_test(NAME, conversation)  # type: ignore[attr-defined]
