"""The ledger beside the stores people use: an append, at the start and later; what it takes on disk; load; fork.

Every store is driven through its public calls with its default settings, one durable append a message. It runs in an
environment of its own (`.venv-stores`), because these libraries want other releases than the translating ones do.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

COUNT, FEW = 600, 15  # messages in all; how many appends are timed at the start and at the end


class Store(Protocol):
    name: str

    def append(self, text: str) -> None: ...
    def load(self) -> int: ...
    def fork(self) -> None: ...
    def close(self) -> None: ...


class Hansard:
    name = "hansard"

    def __init__(self, folder: Path) -> None:
        import hansard
        from hansard import Message
        from hansard.model import TextPart

        self.ledger = hansard.open(str(folder / "ledger.db"))
        self.thread = self.ledger.create_thread("t").id
        self.message: Callable[[str], Any] = lambda text: Message(role="user", parts=[TextPart(text=text)])
        self.ids: list[str] = []

    def append(self, text: str) -> None:
        self.ids.append(self.ledger.append(self.thread, self.message(text)).id)

    def load(self) -> int:
        return len(self.ledger.transcript(self.thread))

    def fork(self) -> None:
        head = self.ids[-1]
        self.ledger.checkout(self.thread, self.ids[len(self.ids) * 9 // 10])
        self.ledger.append(self.thread, self.message("another way"))
        self.ledger.checkout(self.thread, head)

    def close(self) -> None:
        self.ledger.close()


class AgentsSession:
    name = "OpenAI Agents SQLiteSession"

    def __init__(self, folder: Path) -> None:
        from agents import SQLiteSession

        self.open = lambda name: SQLiteSession(name, folder / "session.db")
        self.session = self.open("t")
        self.loop = asyncio.new_event_loop()

    def append(self, text: str) -> None:
        self.loop.run_until_complete(self.session.add_items([{"role": "user", "content": text}]))

    def load(self) -> int:
        return len(self.loop.run_until_complete(self.session.get_items()))

    def fork(self) -> None:
        items = self.loop.run_until_complete(self.session.get_items())  # there is no fork: a copy is what one can do
        copy = self.open("copy")
        self.loop.run_until_complete(copy.add_items(items[: len(items) * 9 // 10]))
        self.loop.run_until_complete(copy.add_items([{"role": "user", "content": "another way"}]))
        copy.close()

    def close(self) -> None:
        self.session.close()
        self.loop.close()


class LangGraph:
    name = "LangGraph SqliteSaver"

    def __init__(self, folder: Path) -> None:
        import sqlite3

        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import START, MessagesState, StateGraph

        self.connection = sqlite3.connect(str(folder / "checkpoints.db"), check_same_thread=False)
        graph = StateGraph(MessagesState)
        graph.add_node("say", lambda state: {"messages": []})
        graph.add_edge(START, "say")
        self.graph = graph.compile(checkpointer=SqliteSaver(self.connection))
        self.config: Any = {"configurable": {"thread_id": "t"}}

    def append(self, text: str) -> None:
        self.graph.update_state(self.config, {"messages": [("user", text)]})

    def load(self) -> int:
        return len(self.graph.get_state(self.config).values["messages"])

    def fork(self) -> None:
        *_, state = self.graph.get_state_history(self.config, limit=COUNT // 10)
        self.graph.update_state(state.config, {"messages": [("user", "another way")]})

    def close(self) -> None:
        self.connection.close()


def texts(count: int) -> list[str]:
    """60 % text of 200 B to 4 KB, 30 % of a hundred bytes, 10 % of 20 KB, as in agents' threads."""
    rng = random.Random(3)
    words = ["".join(rng.choices("etaoinshrdlucmfwyp", k=2 + i % 9)) for i in range(3000)]

    def prose(length: int) -> str:
        return " ".join(rng.choices(words, k=length // 7))

    return [
        prose(rng.randint(200, 4000) if kind < 0.6 else 100 if kind < 0.9 else 20_000)
        for kind in (rng.random() for _ in range(count))
    ]


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def measure(kind: Callable[[Path], Store], said: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        store = kind(folder)
        first = statistics.median(timed(lambda: store.append("x" * 2_000)) for _ in range(FEW))
        for text in said:
            store.append(text)
        last = statistics.median(timed(lambda: store.append("x" * 2_000)) for _ in range(FEW))
        payload = sum(map(len, said)) + 2_000 * FEW * 2
        expected = len(said) + FEW * 2
        if store.load() != expected:
            raise SystemExit(f"{store.name} has {store.load()} messages instead of {expected}")
        load = min(timed(store.load) for _ in range(3))
        fork = timed(store.fork)
        store.close()
        disk = size(folder)
        return {"first": first, "last": last, "disk": disk, "times": disk / payload, "load": load, "fork": fork}


def main() -> None:
    said = texts(COUNT)
    print(f"\nStores, {COUNT:,} messages, {sum(map(len, said)) / 1e6:.1f} MB of text (wall time)")
    print(f"  {'':<30} {'append at 0':>12} {f'at {COUNT:,}':>12} {'on disk':>20} {'load':>10} {'fork':>10}")
    for kind in (Hansard, AgentsSession, LangGraph):
        try:
            row = measure(kind, said)
        except ImportError as error:
            print(f"  {kind.name} could not be imported: {error}")
            continue
        print(
            f"  {kind.name:<30} {row['first']:9.2f} ms {row['last']:9.2f} ms {row['disk'] / 1e6:9.1f} MB "
            f"({row['times']:6.2f}x) {row['load']:7.1f} ms {row['fork']:7.1f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
