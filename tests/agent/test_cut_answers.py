"""What stays of an answer that was not completed: each row of the table in docs/guarantees.md, through `Agent`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import hansard
from hansard import Ledger, Message
from hansard.agent import Agent, ScriptedModel
from hansard.streams.deltas import Delta, MessageStart, PartDelta, PartStart
from tests.server.live import expire_leases

PAGE = Path(__file__).parents[2] / "docs" / "guarantees.md"
ASK: Any = {"id": "t", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "one"}]}]}
FIRST, MOVED = "any of these before the first delta of text or a call", "the head was moved by another writer meanwhile"


class Cut:
    """An answer that was cut: `said` is whether the page had seen text of it, `move` moves the head before the end."""

    def __init__(self, ledger: Ledger, said: bool, move: Callable[[], object]) -> None:
        self.ledger, self.said, self.move, self.gate = ledger, said, move, False
        self.sent = b""

    def agent(self, *last: dict[str, Any]) -> Agent:
        step = [*(["Half "] if self.said else []), {"text": "", "pieces": self._until_open()}, *last]
        return Agent(ScriptedModel([step], delay=0.002), ledger=self.ledger)

    def _until_open(self) -> Iterator[str]:
        while not self.gate:
            yield ""

    async def read(self, stream: AsyncIterator[bytes], end: Callable[[], Awaitable[object]]) -> None:
        """What the page gets: until it has seen what there is, then to the end."""
        seen = False
        async for data in stream:
            self.sent += data
            if not seen and (b"Half" if self.said else b'"start"') in self.sent:
                seen = True
                self.move()
                await end()

    @property
    def types(self) -> list[str]:
        assert self.sent.endswith(b"data: [DONE]\n\n")
        return [json.loads(line[6:])["type"] for line in self.sent.splitlines() if line.startswith(b"data: {")]


# How each is brought about: until the end of what the page gets.


async def killed(cut: Cut, url: str) -> None:
    cut.ledger.create_thread("t")
    cut.ledger.append("t", Message.user("one"))
    run = cut.ledger.begin_run("t", "assistant")
    deltas: list[Delta] = [MessageStart(id="m")]
    if cut.said:
        deltas += [PartStart(key="0", part=hansard.TextPart(text="")), PartDelta(key="0", text="Half ")]
    run.write(deltas).result()
    run.release()
    stream: Any = await Agent(ScriptedModel(["Next."]), ledger=cut.ledger).resume("t")
    await cut.read(stream, lambda: asyncio.to_thread(expire, url))


async def stopped(cut: Cut, url: str) -> None:
    with hansard.open(url) as other:
        elsewhere = Agent(ScriptedModel(["Next."]), ledger=other)
        await cut.read(await cut.agent().sse(ASK), lambda: elsewhere.stop("t"))


async def replaced(cut: Cut, url: str) -> None:
    other = Agent(ScriptedModel(["Next."]), ledger=cut.ledger)
    await cut.read(await cut.agent().sse(ASK), lambda: other.run("t", "two", on_busy="stop"))


async def ended(cut: Cut, url: str) -> None:
    agent = cut.agent()
    await cut.read(await agent.sse(ASK), agent.close)


async def failed(cut: Cut, url: str) -> None:
    async def go_on() -> None:
        cut.gate = True

    await cut.read(await cut.agent({"error": "tired"}).sse(ASK), go_on)


async def database_gone(cut: Cut, url: str) -> None:
    agent = cut.agent()
    await cut.read(await agent.sse(ASK), lambda: asyncio.to_thread(allow, url, False))
    cut.gate = True
    await agent.wait()
    allow(url, True)
    expire(url)


def expire(url: str) -> None:
    """As if 15 seconds had passed since the last sign of life."""
    late = "update run set lease_until = 1 where status = 'active'"
    if url.startswith("postgresql"):
        with psycopg.connect(url) as connection:
            connection.execute(late)
    else:
        expire_leases(Path(url))


def allow(url: str, yes: bool) -> None:
    """Let clients connect, or end them all and let none in."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url.replace(str(name), "postgres"), autocommit=True) as other:
        other.execute(f"alter database {name} with allow_connections {str(yes).lower()}".encode())
        if not yes:
            other.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name])


WAYS: dict[str, Callable[[Cut, str], Awaitable[None]]] = {
    "the process was killed": killed,
    "it was stopped, from any process": stopped,
    'a second request in the thread, `on_busy="stop"`': replaced,
    "its server was ended (`agent.close()`, or a signal to `hansard serve`)": ended,
    "the provider or a tool failed": failed,
    "the database went away": database_gone,
}


MOMENTS = ("said", FIRST, MOVED)


def rows() -> dict[str, list[str]]:
    """The table: what happened, and the other cells of its row."""
    table = PAGE.read_text().partition("| what happened | the run |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table]
    return {what: rest for what, *rest in cells}


def codes(cell: str) -> list[str]:
    return re.findall("`([^`]+)`", cell)


def test_every_row_is_brought_about_here() -> None:
    assert list(rows()) == [*WAYS, FIRST, MOVED]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("what", WAYS)
def test_a_row_of_the_table(request: pytest.FixtureRequest, tmp_path: Path, what: str, moment: str) -> None:
    gone = WAYS[what] is database_gone
    url = request.getfixturevalue("database") if gone else str(tmp_path / "ledger.db")
    status, error, page = rows()[what]
    with hansard.open(url) as look, hansard.open(url, **({"retry_for": 0.2} if gone else {})) as ledger:

        def move() -> None:
            if moment == MOVED:
                look.append("t", Message.user("elsewhere"))

        async def go() -> tuple[Cut, list[Any]]:
            cut = Cut(ledger, moment != FIRST, move)
            await WAYS[what](cut, url)
            return cut, await Agent(ScriptedModel(["Next."]), ledger=look).ui_messages("t")

        cut, shown = asyncio.run(go())
        run = look.runs("t")[0]
        assert run.status == codes(status)[0]
        told = run.error if isinstance(run.error, dict) else {"type": "none"}
        assert told["type"] == (codes(error) or [error.replace("type and text of the error", "ScriptedError")])[0]
        assert [kind for kind in cut.types if kind in ("abort", "error")] == [codes(page)[-1]]
        kept = [message for message in look.transcript("t") if message.run_id == run.id]
        assert [(message.text, message.state) for message in kept] == (
            [("Half ", "interrupted")] if moment == "said" else []
        )
        of_run = "".join(message.text for message in look.run_messages("t", run.id) if message.role == "assistant")
        assert of_run == ("" if moment == FIRST else "Half ")
        marked = [message for message in shown if message.get("metadata", {}).get("interrupted")]
        assert ["".join(part.get("text", "") for part in message["parts"]) for message in marked] == (
            ["Half "] if moment == "said" else []
        )
        if moment == "said":
            assert b'"interrupted":true' in cut.sent
        assert look.verify() == []
