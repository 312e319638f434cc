"""200 answers that stream at once through a server, each recorded: nothing is lost, nobody waits, memory stays."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import Any

import hansard
from tests.faults.harness import Outcome, Place, proof
from tests.ledger.said import transcript
from tests.server.live import BEARER, LiveServer

AT_ONCE = 200
WORDS, DELAY = 200, 0.1  # an answer of twenty seconds: 200 streams, thirty times, are ten minutes
QUICK_WORDS, QUICK_DELAY = 40, 0.02
_WORD = re.compile(rb'"delta":"((?:w\d+ )+)"')


@proof(
    "load: 200 streams",
    holds="every token of every answer reaches its client and the ledger",
    tries=6000,
    sample=20,
    defects=("forgetful recorder",),
)
def streams(tries: int, place: Place, defect: str | None) -> Outcome:
    words, delay = (WORDS, DELAY) if tries >= AT_ONCE else (QUICK_WORDS, QUICK_DELAY)
    db = place.folder / "load.db"
    agent = "tests.faults.load.forgetful_agent:make" if defect else "tests.server.scripted:make"
    began = time.monotonic()
    with LiveServer(db, delay=delay, agent=agent) as server:
        assert server.process is not None
        watch = _Watch(server.process.pid, began)
        asyncio.run(_all(server, tries, words, watch))
        watch.look()
        said = _said(server.log)
    failures = list(watch.failures)
    whole = "".join(f"w{i} " for i in range(words))
    with hansard.open(str(db)) as ledger:
        for key in range(tries):
            kept = "".join(transcript(ledger, f"t{key}")[1:])
            if kept != whole:
                failures.append(f"t{key}: {len(kept.split())} of {words} words are in the ledger")
        failures += [str(problem) for problem in ledger.verify()]
    late = sorted(watch.heard[key] - said[key] for key in watch.heard.keys() & said.keys())
    seen: dict[str, int | float | str] = {
        "at once": min(tries, AT_ONCE),
        "minutes": round((time.monotonic() - began) / 60, 1),
        "words": len(watch.heard),
        "p50 ms": round(1000 * late[len(late) // 2], 1),
        "p99 ms": round(1000 * late[len(late) * 99 // 100], 1),
        "MB at first": watch.memory[0],
        "MB at last": watch.memory[-1],
    }
    return Outcome(tries=tries, failures=failures, seen=seen)


class _Watch:
    """What the clients heard and when, and how much memory the server holds."""

    def __init__(self, pid: int, began: float) -> None:
        self.heard: dict[str, float] = {}
        self.failures: list[str] = []
        self.memory: list[int] = []
        self._pid = pid

    def look(self) -> None:
        with open(f"/proc/{self._pid}/status") as file:
            self.memory.append(int(file.read().partition("VmRSS:")[2].split()[0]) >> 10)


async def _all(server: LiveServer, tries: int, words: int, watch: _Watch) -> None:
    waiting = iter(range(tries))

    async def client() -> None:
        for key in waiting:
            await _stream(server, key, words, watch)

    clients = [asyncio.create_task(client()) for _ in range(min(AT_ONCE, tries))]
    await asyncio.sleep(2 if words == WORDS else 0.5)
    watch.look()
    await asyncio.gather(*clients)


async def _stream(server: LiveServer, key: int, words: int, watch: _Watch) -> None:
    """One answer, as a client sees it."""
    said = {"id": f"u{key}", "role": "user", "parts": [{"type": "text", "text": f"slow {words} s{key}"}]}
    body = json.dumps({"id": f"t{key}", "messages": [said], "trigger": "submit-message"}).encode()
    given = {"host": f"127.0.0.1:{server.port}", "content-type": "application/json", "connection": "close", **BEARER}
    head = "POST /api/chat HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in given.items())
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    count = 0
    async for line in reader:
        if found := _WORD.search(line):
            now = time.time()
            for _ in found[1].split():
                watch.heard[f"s{key} {count}"] = now
                count += 1
    writer.close()
    if count != words:
        watch.failures.append(f"t{key}: the client heard {count} of {words} words")


def _said(log: Any) -> dict[str, float]:
    """When each word was said."""
    lines = (line.rsplit(" ", 1) for line in log.read_text().splitlines())
    return {key: float(when) for key, when in lines}
