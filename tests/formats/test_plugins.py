"""A plug-in as its author meets it: its files are found, its faults carry its name, and `check` runs the laws."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import Format, formats
from hansard.cli import run
from hansard.errors import PluginError, UnknownFormat
from hansard.formats import registry
from hansard.formats.conformance import _FOREIGN
from tests.conftest import GOLDEN

SOURCE = '''"""Logs of JSON lines: {"who": ..., "said": ...}."""

import json

from hansard import Conversation, Format, Message, TextPart
from hansard.errors import Unreadable
from hansard.formats import residue


def read(document):
    messages = []
    for number, line in enumerate(document.splitlines(), 1):
        try:
            entry = json.loads(line)
            who, said = entry.pop("who"), entry.pop("said")
        except (ValueError, KeyError, AttributeError, TypeError):
            raise Unreadable("no JSON with who and said", f"line {number}") from None
        if not isinstance(said, str) or who not in ("user", "assistant"):
            raise Unreadable("no text, or an unknown author", f"line {number}")
        messages.append(Message(role=who, parts=[TextPart(text=said)], extra=residue.pack("mylog", entry)))
    return Conversation(messages=messages)


def write(conversation, target):
    lines = []
    for message in conversation.messages:
        rest, _ = residue.unpack("mylog", message.extra)
        who = "assistant" if message.role == "assistant" else "user"
        lines.append(json.dumps({"who": who, "said": message.text, **rest}))
    return "".join(line + "\\n" for line in lines).encode()


def sniff(document):
    return 3 if isinstance(document, bytes) and document.startswith(b'{"who": ') else 0


FORMAT = Format(name="mylog", title="My logs", module=__name__, sniff=sniff, text=True, suffix="jsonl")
'''
ONE = b'{"who": "user", "said": "hi", "mood": "good"}\n'
LOG = ONE + b'{"who": "assistant", "said": "hello"}\n'
Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a plug-in from its source, as `pip install` would."""

    def installed(source: str) -> None:
        (tmp_path / "hansard_mylog.py").write_text(source)
        info = tmp_path / "hansard_mylog-0.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hansard-mylog\nVersion: 0.1\n")
        (info / "entry_points.txt").write_text("[hansard.formats]\nmylog = hansard_mylog:FORMAT\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        forget()

    def forget() -> None:
        for cached in (registry.own_rows, registry.plugins, registry.get):
            cached.cache_clear()
        sys.modules.pop("hansard_mylog", None)

    yield installed
    forget()


@pytest.mark.parametrize("log", [ONE, LOG], ids=["one line", "two lines"])
def test_its_files_are_detected(
    install: Install, log: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(SOURCE)
    assert hansard.detect(log) == hansard.detect(log.decode()) == "mylog"
    assert hansard.read(log).messages[0].text == "hi"
    assert hansard.convert(log, to="mylog").json == log
    path, db = tmp_path / "a.jsonl", str(tmp_path / "l.db")
    path.write_bytes(log)
    assert run(["convert", str(path), "--to", "anthropic"]) == 0
    assert '"hi"' in capsys.readouterr().out
    assert run(["import", str(path), "--db", db]) == 0
    with hansard.open(db) as ledger:
        (thread,) = ledger.threads().items
        assert ledger.transcript(thread.id)[0].text == "hi"


@pytest.mark.parametrize(
    ("planted", "line", "use"),
    [
        ("def read(document):", "raise KeyError('who')", lambda: hansard.read(LOG, "mylog")),
        ("def write(conversation, target):", "1 / 0", lambda: hansard.convert(LOG, "mylog", "mylog")),
        ("def sniff(document):", "document.nonsense()", lambda: hansard.read(LOG)),
    ],
    ids=["read", "write", "sniff"],
)
def test_a_fault_in_it_carries_its_name_and_line(
    install: Install, planted: str, line: str, use: Callable[[], Any]
) -> None:
    source = SOURCE.replace(planted, f"{planted}\n    {line}")
    install(source)
    number = source.split("\n").index(f"    {line}") + 1
    with pytest.raises(PluginError) as caught:
        use()
    assert f"plug-in 'mylog' (hansard-mylog 0.1), hansard_mylog.py:{number}: " in str(caught.value)


def test_a_fault_in_it_is_no_fault_of_ours(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(SOURCE.replace("def read(document):", "def read(document):\n    return None"))
    (tmp_path / "a.jsonl").write_bytes(LOG)
    assert run(["convert", str(tmp_path / "a.jsonl"), "--to", "anthropic"]) == 2
    said = capsys.readouterr().err
    assert (
        "plug-in 'mylog' (hansard-mylog 0.1): read returned NoneType, not Conversation; report it to its author" in said
    )
    assert "internal error" not in said


def test_one_that_cannot_be_imported_is_named(install: Install) -> None:
    install("import nothing_of_this_name\n")
    with pytest.raises(PluginError, match=r"hansard_mylog.py:1: ModuleNotFoundError"):
        hansard.read(LOG, "mylog")


def test_json_lines_of_no_format_are_not_called_damaged() -> None:
    with pytest.raises(UnknownFormat, match="these 2 JSON lines fit no format"):
        hansard.read(b'{"a": 1}\n{"a": 2}\n')


# -- formats.check -------------------------------------------------------------------------------------------------


def row_of(source: str) -> Format:
    import types

    module = types.ModuleType("hansard_mylog")
    sys.modules["hansard_mylog"] = module
    exec(compile(source, "hansard_mylog.py", "exec"), module.__dict__)
    found: Format = module.FORMAT
    return found


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    sys.modules.pop("hansard_mylog", None)


def test_check_finds_nothing_in_a_good_plug_in() -> None:
    assert formats.check(row_of(SOURCE), [LOG, ONE.decode()]) == []


@pytest.mark.parametrize(
    ("good", "bad", "check"),
    [
        ("**rest", "**{}", "round-trip"),
        ("return 3 if", "return 0 if", "detect"),
        ("return 3 if", "return 7 if", "detect"),
        ("return 3 if", "document.x; return 3 if", "read"),
        ("extra=residue", "id=__import__('uuid').uuid4().hex, extra=residue", "losses"),
        ("(ValueError, KeyError, AttributeError, TypeError)", "ValueError", "read"),
        ("message.text,", "message.parts[0].text,", "write"),
        ("    lines = []\n", "    lines = []\n    conversation.messages.clear()\n", "write"),
    ],
)
def test_check_finds_planted_defects(good: str, bad: str, check: str) -> None:
    assert good in SOURCE
    found = formats.check(row_of(SOURCE.replace(good, bad)), [LOG])
    assert check in {one.check for one in found}, found
    assert all(one.severity == "error" and one.fix for one in found)


def test_check_wants_samples() -> None:
    assert [one.check for one in formats.check(formats.get("gemini"), [])] == ["samples"]


@pytest.mark.parametrize("name", [name for name in formats.names() if not formats.get(name).write_only])
def test_check_agrees_with_the_laws_about_our_own_formats(name: str) -> None:
    paths = sorted(path for path in (GOLDEN / name).glob("*") if path.is_file())[:3]
    found = formats.check(formats.get(name), paths)
    assert [one for one in found if one.check != "detect"] == []
    assert len(_FOREIGN) == 4
