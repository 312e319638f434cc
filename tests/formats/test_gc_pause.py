"""No garbage is collected while documents are converted: in a process with many objects that is half of the time."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import formats
from hansard.errors import HansardError
from hansard.formats.coding_agents.session_file import Reading
from hansard.model import Conversation, Message, TextPart, ToolCallPart
from hansard.sessions.discovery import Session
from hansard.sessions.importer import import_session
from hansard.workspace import Workspace, scan
from tests.conftest import GOLDEN

LONG = Conversation(
    messages=[
        Message(role="assistant", parts=[ToolCallPart(tool_call_id=f"{i}", tool_name="f", input={"a": [i]})])
        if i % 2
        else Message(role="user", parts=[TextPart(text=f"{i}")])
        for i in range(2000)
    ]
)


@contextmanager
def collections() -> Iterator[list[str]]:
    """The collections between begin and end, in a process where every few objects begin one."""
    found: list[str] = []
    before = gc.get_threshold()
    gc.callbacks.append(note := lambda phase, info: found.append(phase))
    gc.set_threshold(20, 1, 1)
    try:
        yield found
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(note)


DOCUMENT: Any = formats.write(LONG, "anthropic").data


@pytest.mark.parametrize(
    "convert",
    [
        lambda: formats.read(DOCUMENT, "anthropic"),
        lambda: formats.read_all(DOCUMENT, "anthropic"),
        lambda: formats.write(LONG, "openai-chat"),
        lambda: formats.convert(DOCUMENT, "openai-chat", "anthropic"),
    ],
    ids=["read", "read_all", "write", "convert"],
)
def test_a_conversion_collects_nothing(convert: Callable[[], object]) -> None:
    convert()  # modules are loaded
    with collections() as found:
        convert()
        during = len(found)
        kept = [[i] for i in range(1000)]
    assert during <= 4 < len(found), len(kept)
    assert gc.isenabled()


def test_a_conversion_that_fails_leaves_the_collector_on() -> None:
    with pytest.raises(HansardError):
        formats.read(b"{", "anthropic")
    assert gc.isenabled()


def test_the_files_of_a_workspace_and_of_a_session_are_read_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on: list[bool] = []

    def noting(owner: Any, name: str) -> None:
        method = getattr(owner, name)

        def noted(*given: Any, **more: Any) -> Any:
            on.append(gc.isenabled())
            return method(*given, **more)

        monkeypatch.setattr(owner, name, noted)

    project = tmp_path / "project"
    project.mkdir()
    (project / "a").write_text("x")
    with hansard.open(":memory:") as ledger, Workspace(ledger, project) as files:
        noting(scan.Scan, "_folder")
        files.snapshot()
        noting(Reading, "feed")
        import_session(ledger, Session(GOLDEN / "claude-code" / "compaction.jsonl", ""))
    assert len(on) >= 2
    assert not any(on)
    assert gc.isenabled()
