"""`hansard serve`: one clear line for what cannot be served, a clean end, and streams in few pieces."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.errors import HansardError
from hansard.server.chat import coalesced
from tests.server.live import BEARER, ROOT, LiveServer
from tests.waiting import wait_until_async


def serve(*arguments: str, db: Path) -> tuple[int, str]:
    """What a server that does not start says."""
    command = [sys.executable, "-m", "hansard", "serve", "--db", str(db), *arguments]
    environment = {**os.environ, "HOME": str(db.parent)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = serve("--port", str(port), db=tmp_path / "l.db")
    assert code == 2
    assert said.count("\n") == 1
    assert f"port {port} is in use" in said
    assert "--port" in said


def test_an_address_that_others_can_reach_needs_a_token(tmp_path: Path) -> None:
    code, said = serve("--host", "0.0.0.0", "--port", "0", db=tmp_path / "l.db")
    assert (code, "--token" in said, said.count("\n")) == (2, True, 1)


@pytest.mark.parametrize(
    "name", ["nowhere:agent", "tests.server.scripted:nothing", "json:dumps", "tests.server.live:ROOT"]
)
def test_an_agent_that_is_none_is_named(tmp_path: Path, name: str) -> None:
    code, said = serve("--agent", name, "--port", "0", db=tmp_path / "l.db")
    assert (code, said.count("\n")) == (2, 1)
    assert f"--agent {name}" in said


def test_an_interrupt_ends_it_without_a_word_even_while_it_answers(tmp_path: Path) -> None:
    with LiveServer(tmp_path / "l.db", delay=0.05) as server:
        message = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "slow 1000"}]}
        body = json.dumps({"id": "c", "messages": [message], "trigger": "submit-message"}).encode()
        asked = urllib.request.Request(f"{server.url}/api/chat", body, {"content-type": "application/json", **BEARER})
        with urllib.request.urlopen(asked) as response:
            while b"text-delta" not in response.readline():
                pass
            code, errors = server.interrupt()
    assert (code, errors) == (0, "")
    with hansard.open(str(tmp_path / "l.db")) as ledger:
        (run,) = ledger.runs("c")
        assert run.status in ("aborted", "failed")
        assert ledger.run_messages("c", run.id)[0].parts[0].text.startswith("w0 ")


async def _given(pieces: list[bytes | Exception]) -> AsyncIterator[bytes]:
    for piece in pieces:
        if isinstance(piece, Exception):
            raise piece
        yield piece


def test_what_waits_goes_as_one_piece() -> None:
    async def slowly() -> list[bytes]:
        got = []
        async for piece in coalesced(b"0", _given([b"%d" % i for i in range(1, 500)]), set()):
            got.append(piece)
            for _ in range(1000):  # turns of the event loop in which the other side goes on
                await asyncio.sleep(0)
        return got

    pieces = asyncio.run(slowly())
    assert b"".join(pieces) == b"".join(b"%d" % i for i in range(500))
    assert len(pieces) < 10


def test_what_does_not_wait_goes_at_once() -> None:
    async def quickly() -> list[bytes]:
        taken = asyncio.Event()

        async def one_by_one() -> AsyncIterator[bytes]:
            for piece in (b"a", b"b", b"c"):
                taken.clear()
                yield piece
                await taken.wait()

        got = []
        async for piece in coalesced(b"", one_by_one(), set()):
            got.append(piece)
            taken.set()
        return got

    assert asyncio.run(quickly()) == [b"a", b"b", b"c"]


def test_a_stream_that_breaks_says_so_in_the_stream() -> None:
    async def broken() -> bytes:
        return b"".join(
            [piece async for piece in coalesced(b"a", _given([b"b", HansardError("the disk is full")]), set())]
        )

    assert asyncio.run(broken()) == b'abdata: {"type":"error","errorText":"the disk is full"}\n\n'


def test_a_listener_that_leaves_lets_go_of_the_stream() -> None:
    async def leave() -> list[str]:
        told: list[str] = []

        async def endless() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"x"
                    await asyncio.sleep(0)
            finally:
                told.append("let go")

        stream: Any = coalesced(b"", endless(), set())
        await anext(stream)
        await stream.aclose()
        await wait_until_async(lambda: told, "the stream that is let go")
        return told

    assert asyncio.run(leave()) == ["let go"]


def test_what_was_there_when_it_began_to_serve_is_not_looked_through_again(tmp_path: Path) -> None:
    """Full collections of all that an agent's libraries hold made every stream wait."""
    program = (
        "import gc, runpy, sys, uvicorn\n"
        "uvicorn.Server.run = lambda server, sockets: print('frozen', gc.get_freeze_count(), len(gc.get_objects()))\n"
        "sys.argv[1:] = ['serve', '--port', '0', '--db', sys.argv[1]]\n"
        "runpy.run_module('hansard', run_name='__main__')\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "l.db")]
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    frozen, others = map(int, done.stdout.partition("frozen ")[2].split())
    assert frozen > 10 * others
