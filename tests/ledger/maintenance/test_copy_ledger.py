"""A ledger copied to another backend: the same rows, numbers and hashes, whole or not at all, and it goes on."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import psycopg
import pytest

import hansard
from hansard.cli import run
from hansard.errors import StorageError
from hansard.ledger.maintenance import copy_ledger
from hansard.model import Message, TextPart

SAMPLES = Path(str(files("hansard") / "samples"))


@pytest.fixture
def filled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A ledger of many kinds: branches, runs, a session file with its bytes, big words, a forgotten thread."""
    url = str(tmp_path / "ledger.db")
    paths = [str(path) for path in sorted(SAMPLES.iterdir()) if path.suffix != ".sse"]
    assert run(["import", *paths, "--db", url]) == 0
    with hansard.open(url) as ledger:
        thread = ledger.create_thread("big", title="Tea")
        ledger.append(thread.id, Message(role="user", parts=[TextPart(text="word " * 50_000)]))
        ledger.append(thread.id, Message(role="user", parts=[TextPart(text="\x00 and \ud800")]))
        live = ledger.begin_run(thread.id, "waiter")
        ledger.stage(thread.id, live.id, Message(role="assistant", parts=[TextPart(text="half an answer")]))
        ledger.create_thread("gone")
        ledger.forget("gone")
    capsys.readouterr()
    return url


def said(url: str) -> dict[str, object]:
    with hansard.open(url) as ledger:
        return {thread.id: ledger.export_conversation(thread.id) for thread in ledger.threads(limit=1000).items}


def test_a_copy_on_postgresql_says_the_same_and_goes_on(
    filled: str, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["copy", database, "--db", filled]) == 0
    assert capsys.readouterr().out.endswith("messages, both ledgers are equal\n")
    assert said(database) == said(filled)
    with hansard.open(database) as ledger:
        assert ledger.verify() == []
        assert ledger.search("half answer").items
        assert ledger.tombstone("gone").id == "gone"
        new = ledger.create_thread(title="more")
        ledger.append(new.id, Message(role="user", parts=[TextPart(text="numbered on")]))
        assert ledger.verify() == []
        assert ledger.search("numbered").items


def test_a_copy_of_a_copy_is_the_first_again(filled: str, database: str, tmp_path: Path) -> None:
    assert run(["copy", database, "--db", filled]) == 0
    back = str(tmp_path / "back.db")
    assert run(["copy", back, "--db", database]) == 0
    assert said(back) == said(filled)


def test_nothing_is_copied_onto_something(filled: str, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    with hansard.open(database) as ledger:
        ledger.create_thread("mine")
    assert run(["copy", database, "--db", filled]) == 2
    assert "not empty" in capsys.readouterr().err
    assert list(said(database)) == ["mine"]
    assert run(["copy", filled, "--db", database]) == 2
    assert "already exists" in capsys.readouterr().err


def test_a_copy_that_fails_half_way_leaves_nothing(filled: str, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with hansard.open(database) as ledger:
        pass
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("alter table blob add constraint odd check (size < 0)")  # the last table refuses its rows
    assert run(["copy", database, "--db", filled]) == 2
    with hansard.open(database) as ledger:
        assert ledger.threads().items == []


def test_a_copy_that_is_not_the_same_is_refused(filled: str, database: str) -> None:
    with hansard.open(database):
        pass
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "create function lie() returns trigger language plpgsql as $$ begin new.role = 'liar'; return new; end $$"
        )
        connection.execute("create trigger lies before insert on message for each row execute function lie()")
    refused = pytest.raises(StorageError, match="differ from the source")
    with hansard.open(filled) as source, hansard.open(database) as target, refused:
        copy_ledger.copy(source._driver, target._driver)
