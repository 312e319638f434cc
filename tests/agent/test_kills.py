"""kill -9 at four points of a run: what its caller has seen is in the ledger."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hansard
from hansard.ledger.ids import clock
from hansard.ledger.live.interrupt import UNKNOWN, recover
from hansard.model import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

LAST = {"first": "'look. '", "tool": "seen tool", "second": "'is '", "end": "seen end"}


def killed(path: str, point: str) -> None:
    command = [sys.executable, "-m", "tests.agent.dying_agent", path, point]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if LAST[point] in line:
                break
        process.send_signal(signal.SIGKILL)


def kept(path: str) -> tuple[str, list[Message]]:
    """The run and what it said, after somebody found that its process is dead."""
    with hansard.open(path) as ledger:
        recover(ledger._driver, clock() + 60_000)
        (run,) = ledger.runs("t")
        return str(run.status), ledger.run_messages("t", run.id)


@pytest.mark.parametrize("point", LAST)
def test_nothing_that_was_seen_is_lost(tmp_path: Path, point: str) -> None:
    path = str(tmp_path / "ledger.db")
    killed(path, point)
    status, messages = kept(path)
    parts = [part for message in messages for part in message.parts]
    text = [part.text for part in parts if isinstance(part, TextPart)]
    assert status == ("committed" if point == "end" else "failed")
    assert text[:2] == ["what is it?", "Let me look. "]
    assert [part.text for part in parts if isinstance(part, ReasoningPart)] == ["Hm hm."]
    calls = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    results = {part.tool_call_id: part.output for part in parts if isinstance(part, ToolResultPart)}
    if point == "first":
        assert (calls, results, messages[-1].state) == ([], {}, "interrupted")
    elif point == "tool":
        assert (calls, results) == (["q", "d"], {"q": "quickly", "d": UNKNOWN})
        assert {message.state for message in messages[1:3]} == {"interrupted"}
    else:
        assert (calls, results) == (["q", "d"], {"q": "quickly", "d": "dug"})
        assert "".join(text[2:]) == ("It is " if point == "second" else "It is four.")
    with hansard.open(path) as ledger:
        assert ledger.verify() == []
        assert [message.id for message in ledger.transcript("t")] == [message.id for message in messages]
