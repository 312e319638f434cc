"""kill -9 of the server while answers stream: after the restart every client resumes its answer, whole and once.

`make prove` kills at a random moment, and every word must be kept that was said a quarter of a second before.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import hansard
from tests.server.live import BEARER, LiveServer
from tests.waiting import wait_until_async

GAP, LATEST = 0.05, 0.25


class Listener:
    """One client of one chat: the chunks it got."""

    def __init__(self, thread_id: str) -> None:
        self.id = thread_id
        self.chunks: list[dict[str, Any]] = []

    async def ask(self, client: httpx.AsyncClient) -> None:
        message = {"id": f"u-{self.id}", "role": "user", "parts": [{"type": "text", "text": f"slow 2000 {self.id}"}]}
        body = {"id": self.id, "messages": [message], "trigger": "submit-message"}
        await self._listen(client.stream("POST", "/api/chat", json=body))

    async def resume(self, client: httpx.AsyncClient) -> None:
        await self._listen(client.stream("GET", f"/api/chat/{self.id}/stream"))

    async def _listen(self, stream: Any) -> None:
        try:
            async with stream as response:
                assert response.status_code == 200, await response.aread()
                async for line in response.aiter_lines():
                    if line.startswith("data: {"):
                        self.chunks.append(json.loads(line[6:]))
        except httpx.TransportError:
            pass  # the server was killed

    @property
    def words(self) -> list[str]:
        return [chunk["delta"] for chunk in self.chunks if chunk["type"] == "text-delta"]


def test_a_killed_server_loses_nothing_that_a_client_saw(tmp_path: Path) -> None:
    asyncio.run(_scenario(tmp_path / "ledger.db", 5))


@pytest.mark.prove
@pytest.mark.parametrize("_", range(5))
def test_a_server_killed_at_any_moment_loses_nothing_older_than_a_moment(tmp_path: Path, _: int) -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    moment = random.Random(seed).uniform(0, 1.5)
    asyncio.run(_scenario(tmp_path / "ledger.db", 20, lambda: asyncio.sleep(moment)))


async def _scenario(db: Path, streams: int, wait: Callable[[], Awaitable[None]] | None = None) -> None:
    listeners = [Listener(f"chat-{i}") for i in range(streams)]
    limits = httpx.Limits(max_connections=None)
    with LiveServer(db, delay=GAP) as server:
        async with httpx.AsyncClient(base_url=server.url, headers=BEARER, timeout=60, limits=limits) as client:
            tasks = [asyncio.create_task(listener.ask(client)) for listener in listeners]
            await wait_until_async(
                lambda: min(len(listener.words) for listener in listeners) >= 5, "five words of each"
            )
            if wait is not None:
                await wait()
            killed = time.time()
            server.kill()
            await asyncio.gather(*tasks)
        server.start()
        again = [Listener(listener.id) for listener in listeners]
        async with httpx.AsyncClient(base_url=server.url, headers=BEARER, timeout=60, limits=limits) as client:
            tasks = [asyncio.create_task(listener.resume(client)) for listener in again]
            if wait is None:
                await wait_until_async(lambda: all(listener.words for listener in again), "the resumed streams")
                await asyncio.to_thread(server.expire_leases)
            await asyncio.gather(*tasks)
            for before, after in zip(listeners, again, strict=True):
                _assert_resumed(before, after)
            for listener in listeners:
                transcript = (await client.get(f"/api/threads/{listener.id}/messages")).json()["items"]
                assert [message["role"] for message in transcript][::-1] == ["user", "assistant"]
                (run,) = (await client.get(f"/api/threads/{listener.id}/runs")).json()
                assert run["status"] == "failed"
                said = (await client.get(f"/api/threads/{listener.id}/runs/{run['id']}")).json()["messages"]
                assert [message["state"] for message in said] == ["interrupted"]
                assert (await client.get(f"/api/chat/{listener.id}/stream")).status_code == 204
    lines = [line.split() for line in server.log.read_text().splitlines()]
    spoken = [(name, float(when)) for name, _, when in lines]
    with hansard.open(str(db)) as ledger:
        assert ledger.verify() == []
        for listener, resumed in zip(listeners, again, strict=True):
            (run,) = ledger.runs(listener.id)
            (partial,) = ledger.run_messages(listener.id, run.id)
            kept = partial.parts[0].text.split()
            assert kept == [f"w{i}" for i in range(len(kept))]
            assert kept == "".join(resumed.words).split()
            if wait is not None:
                assert len(kept) >= sum(when <= killed - LATEST for name, when in spoken if name == listener.id)


def _assert_resumed(before: Listener, after: Listener) -> None:
    """The whole stream from its start, what was seen before first, nothing twice and nothing left out."""
    seen = [chunk for chunk in before.chunks if chunk["type"] != "finish"]
    assert after.chunks[: len(seen)] == seen
    assert after.chunks[0]["type"] == "start"
    assert after.words == [f"w{i} " for i in range(len(after.words))]
