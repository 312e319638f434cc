"""What `import hansard` gives: help that renders, hints that resolve, an async API with the signatures of the other."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import AsyncLedger, Ledger, agent, formats, ledger, model, streams

ROOT = Path(__file__).parent.parent
PLACES = {"hansard": hansard, "agent": agent, "formats": formats, "model": model, "streams": streams, "ledger": ledger}
NAMES = [
    (place, name)
    for place, module in PLACES.items()
    for name in getattr(module, "__all__", ["open"])
    if not isinstance(getattr(module, name), (str, tuple, dict))
]
LINES = 330  # Ledger has the most


def named(place: str, name: str) -> Any:
    return getattr(PLACES[place], name)


def hinted(value: Any) -> Iterator[Any]:
    """A function, or the public functions of a class with what properties call."""
    if not inspect.isclass(value):
        if inspect.isfunction(value):
            yield value
        return
    yield value
    for key, item in vars(value).items():
        found = getattr(item, "fget", None) or getattr(item, "func", None) or getattr(item, "__func__", item)
        if inspect.isfunction(found) and (not key.startswith("_") or key == "__init__"):
            yield found


@pytest.mark.parametrize(("place", "name"), NAMES, ids=lambda each: each)
def test_help_of_every_public_name_renders(place: str, name: str) -> None:
    value = named(place, name)
    text = pydoc.plain(pydoc.render_doc(value))
    assert len(text.splitlines()) < LINES


@pytest.mark.parametrize(("place", "name"), NAMES, ids=lambda each: each)
def test_hints_of_every_public_name_resolve(place: str, name: str) -> None:
    for value in hinted(named(place, name)):
        typing.get_type_hints(value)


def test_help_of_the_package_renders() -> None:
    assert "Hansard: one lossless ledger" in pydoc.plain(pydoc.render_doc(hansard))


def test_help_begins_with_what_matters() -> None:
    shown = pydoc.plain(pydoc.render_doc(hansard.Message))
    assert "Message(*, role: str, parts: list[" in shown.splitlines()[3]
    recorder = pydoc.plain(pydoc.render_doc(hansard.Recorder))
    assert "sync_tail" in recorder
    assert len(recorder.splitlines()) < 60


def test_every_public_type_and_function_says_what_it_is() -> None:
    for name in hansard.__all__:
        doc = inspect.getdoc(getattr(hansard, name))
        assert doc, name
        assert not doc.startswith(f"{name}("), name


def test_the_async_ledger_has_the_methods_of_the_ledger() -> None:
    plain = {name for name in vars(Ledger) if not name.startswith("_")} - {"aio", "follow_async"}
    assert {name for name in vars(AsyncLedger) if not name.startswith("_")} == plain
    for name in plain - {"dialect", "migrated"}:
        one, other = inspect.signature(getattr(Ledger, name)), inspect.signature(getattr(AsyncLedger, name))
        assert one.parameters == other.parameters, name
        assert (
            str(one.return_annotation).replace("Iterator", "AsyncIterator")
            == str(other.return_annotation).removeprefix("'")
            or one.return_annotation == other.return_annotation
        ), name


def test_the_async_ledger_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "async_ledger.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("place", "name"), NAMES, ids=lambda each: each)
def test_every_parameter_is_explicit(place: str, name: str) -> None:
    for function in hinted(named(place, name)):
        if inspect.isfunction(function) and function.__module__.startswith("hansard."):  # not that of a Protocol
            kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
            assert inspect.Parameter.VAR_KEYWORD not in kinds, function.__name__
    opened = inspect.signature(hansard.open).parameters
    assert {"tenant", "durability", "connections", "retry_for", "statement_timeout"} <= set(opened)


def test_options_of_the_other_database_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(hansard.HansardError, match="retry_for is for a ledger on PostgreSQL"):
        hansard.open(tmp_path / "a.db", retry_for=3)
    with pytest.raises(hansard.HansardError, match="vfs is for a ledger on SQLite"):
        hansard.open("postgresql://localhost/x", vfs="unix")
