"""A run whose process died does not keep a chat waiting: every way back into the thread ends it first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import hansard
from hansard import Ledger
from hansard.agent import Agent, ScriptedModel
from hansard.model import Message, TextPart
from hansard.streams.deltas import MessageStart, PartDelta, PartStart


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db")


@pytest.fixture
def ledger(path: str) -> Iterator[Ledger]:
    with hansard.open(path) as opened:
        opened.create_thread("t")
        opened.append("t", Message(role="user", parts=[TextPart(text="hi")]))
        yield opened


def begun(ledger: Ledger) -> str:
    """A run that has said a word, of a process that stops renewing its lease."""
    run = ledger.begin_run("t", "assistant")
    run.write([MessageStart(id="m"), PartStart(key="0", part=TextPart(text="")), PartDelta(key="0", text="Half")])
    run.flush()
    run.release()
    return run.id


def expire(path: str) -> None:
    with apsw.Connection(path) as other:
        other.execute("update run set lease_until = 1 where status = 'active'")


def agent(ledger: Ledger) -> Agent:
    return Agent(ScriptedModel(["Whole."]), ledger=ledger)


def body(text: str) -> dict[str, Any]:
    said = {"id": "u2", "role": "user", "parts": [{"type": "text", "text": text}]}
    return {"id": "t", "trigger": "submit-message", "messages": [said]}


async def drained(stream: Any) -> bytes:
    return b"".join([data async for data in stream])


@pytest.mark.parametrize("way", ["active_run", "resume", "ui_messages", "stop", "sse", "run"])
def test_every_way_back_ends_the_dead_run(ledger: Ledger, path: str, way: str) -> None:
    run_id = begun(ledger)

    async def go() -> Any:
        back = agent(ledger)
        assert await back.active_run("t") is not None  # its lease still runs
        expire(path)
        if way == "sse":
            found: Any = await drained(back.sse(body("again")))
        elif way == "run":
            found = (await back.run("t", "again")).output
        else:
            found = await getattr(back, way)("t")
        await back.wait()
        return found

    found = asyncio.run(go())
    assert ledger.run("t", run_id).status == "failed"
    assert ledger.run_messages("t", run_id)[-1].parts == [TextPart(text="Half")]
    assert {"active_run": None, "resume": None, "stop": False, "run": "Whole."}.get(way, found) == found
    if way == "sse":
        assert b"Whole." in found


def test_a_follower_gets_what_was_said_and_then_the_end(ledger: Ledger, path: str) -> None:
    run_id = begun(ledger)

    async def go() -> bytes:
        stream = await agent(ledger).resume("t")
        assert stream is not None
        out = b""
        async for data in stream:
            out += data
            if b"Half" in data:
                expire(path)  # the page was open when the process died
        return out

    out = asyncio.run(go())
    assert b"Half" in out
    assert out.endswith(b"data: [DONE]\n\n")
    assert ledger.run("t", run_id).status == "failed"


def test_one_thread_is_recovered_alone(ledger: Ledger, path: str) -> None:
    run_id = begun(ledger)
    ledger.create_thread("other")
    other = ledger.begin_run("other")
    other.release()
    assert ledger.recover("t") == []
    expire(path)
    assert ledger.recover("t") == [("t", run_id)]
    assert ledger.run("other", other.id).status == "active"
    assert ledger.recover() == [("other", other.id)]
