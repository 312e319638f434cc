"""The ledger's commands: nothing in the data reaches a terminal as a command, bad input is one line, never a trace."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hansard
from hansard import Conversation, Message, cli
from hansard.cli.options import default_path, open_ledger, resolve, resolve_message
from hansard.cli.terminal import display
from hansard.errors import HansardError
from hansard.model import DataPart, FilePart, RawPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

TRICKS = "\x1b[31mred\x07 \x9b2J \u202eexe.txt\u2066 zero\u200bwidth \ufeff \U000e0041 \ud800 \x00 \r\x08 \u2028 \x7f"
STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def tricky() -> Conversation:
    """A conversation that plays its tricks in every field."""
    parts = [
        TextPart(text=TRICKS),
        ReasoningPart(text=TRICKS),
        ToolCallPart(tool_call_id="c", tool_name=TRICKS, input={TRICKS: TRICKS}),
        ToolResultPart(tool_call_id="c", tool_name=TRICKS, output=TRICKS),
        FilePart(name=TRICKS, media_type=TRICKS, url=TRICKS),
        DataPart(name=TRICKS, data=TRICKS),
        RawPart(format=TRICKS, value=TRICKS),
    ]
    first = Message(role=TRICKS, parts=parts, id=f"m{TRICKS}", agent_id=TRICKS, created_at=TRICKS, state=TRICKS)
    return Conversation(id=f"t{TRICKS}", title=TRICKS, messages=[first, Message(role="user", parts=parts)])


@pytest.fixture
def db(tmp_path: Path) -> str:
    path = str(tmp_path / "ledger.db")
    with hansard.open(path) as ledger:
        ledger.import_conversation(tricky())
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["threads"],
        ["show", "t"],
        ["show", "t", "--full"],
        ["show", "t", "--branch", "m"],
        ["tree", "t"],
        ["checkout", "t", "m"],
        ["fork", "t", "m"],
        ["fork", "t", TRICKS],
        ["show", TRICKS],
        ["stats"],
        ["verify"],
        ["prune"],
        ["export", "t", "--to", "anthropic", "-o", os.devnull],
        ["export", "t", "--to", TRICKS],
        ["import", TRICKS.replace("\0", "").replace("\ud800", "\udc80")],
        ["convert", TRICKS.replace("\0", "").replace("\ud800", "\udc80"), "--to", "gemini"],
        ["forget", "t", "--yes"],
    ],
)
def test_no_command_passes_tricks_on(words: list[str], db: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(words if words[0] == "convert" else [*words, "--db", db]) in (0, 1, 2)
    said = capfd.readouterr()
    assert not STEERS.search(said.out + said.err)
    assert "Traceback" not in said.err
    assert "internal error" not in said.err


def test_a_damaged_ledger_is_told_without_tricks(db: str, capfd: pytest.CaptureFixture[str]) -> None:
    with hansard.open(db) as ledger:
        ledger._driver._writer.execute("update message set depth = depth + 5 where depth > 1")  # type: ignore[attr-defined]
    assert cli.run(["verify", "--db", db]) == 1
    assert not STEERS.search(capfd.readouterr().out)


@given(st.text())
def test_shown_text_never_steers(text: str) -> None:
    assert not STEERS.search(display(text))
    assert "\n" not in display(text)
    assert not STEERS.search(display(text, lines=True))


@given(st.text(st.characters(categories=["L", "Nd", "P", "S", "Zs"], exclude_characters="\u115f\u1160\u3164\uffa0")))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    assert display(text) == text


def test_a_file_that_is_no_ledger_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, data in (("text", b"hello " * 100), ("cut", b"SQLite format 3\0" + b"\0" * 50), ("zeros", b"\0" * 9000)):
        (tmp_path / name).write_bytes(data)
        for words in (["threads"], ["verify"], ["stats"], ["import", __file__]):
            assert cli.run([*words, "--db", str(tmp_path / name)]) == 2
            said = capfd.readouterr().err
            assert said.count("\n") == 1, said
            assert "internal error" not in said
        assert (tmp_path / name).read_bytes() == data


def test_a_thread_is_found_by_id_beginning_or_title(db: str) -> None:
    with open_ledger(db) as ledger:
        ledger.create_thread("alpha", title="Tea")
        ledger.create_thread("alpine", title="Tea")
        assert resolve(ledger, "alpha").id == resolve(ledger, "alph").id == "alpha"
        assert resolve(ledger, TRICKS).title == TRICKS
        with pytest.raises(HansardError, match="matches 2"):
            resolve(ledger, "alp")
        with pytest.raises(HansardError, match="matches 2"):
            resolve(ledger, "Tea")
        with pytest.raises(HansardError, match="no thread 'beta'"):
            resolve(ledger, "beta")
        with pytest.raises(HansardError, match="no message 'x'"):
            resolve_message(ledger, "alpha", "x")


def test_the_ledger_of_a_user_is_theirs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HANSARD_DB", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(HansardError, match="no ledger at"):
        open_ledger(None)
    open_ledger(None, create=True).close()
    assert default_path() == str(tmp_path / "hansard" / "ledger.db")
    assert stat.S_IMODE((tmp_path / "hansard").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "hansard" / "ledger.db").stat().st_mode) == 0o600


@pytest.mark.parametrize("command", sorted(cli.COMMANDS))
def test_every_command_explains_itself_and_loads_late(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run([command, "--help"]) == 0
    assert "--json" in capfd.readouterr().out or command in ("stream", "serve", "watch", "completion")


def test_listing_the_commands_loads_no_database() -> None:
    text = "import sys; from hansard import cli; cli.run(['--help']); print({'apsw', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
