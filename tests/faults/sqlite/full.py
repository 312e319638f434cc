"""A disk that is really full: the call says so, reading goes on, and so does writing when there is room again."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import apsw

import hansard
from hansard.errors import HansardError, StorageError
from tests.faults.harness import Outcome, Place, proof
from tests.faults.operations import Line, Writer, broken
from tests.faults.sqlite.small_disk import small_disk


class Deaf:
    """A connection on which nobody hears that a commit failed."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, text: str, *values: Any) -> Any:
        try:
            return self._connection.execute(text, *values)
        except apsw.FullError:
            if text != "commit":
                raise


@proof(
    "a disk that is really full, SQLite",
    holds="the call raises StorageError, acknowledged data stays readable, the handle works again when there is space",
    tries=100,
    sample=5,
    defects=("the error is not heard",),
)
def full_disk(tries: int, place: Place, defect: str | None) -> Outcome:
    failures: list[str] = []
    seen: Counter[str] = Counter()
    kind = ""
    for number in range(tries):
        lines: list[Line] = []
        size = random.Random(number).randrange(400_000, 1_200_000)
        with small_disk(place.folder / f"disk{number}", size) as disk:
            kind = disk.kind
            path = str(disk.folder / "ledger.db")
            with hansard.open(path) as ledger:
                if defect is not None:
                    ledger._driver._writer = Deaf(ledger._driver._writer)  # type: ignore[attr-defined]
                writer = Writer(ledger, lines.append, f"f{number}", number)
                try:
                    for _ in range(2_000):
                        writer.deed()
                    failures.append(f"disk {number}: never full")
                except HansardError as error:
                    seen["reported full"] += "full" in str(error)
                try:
                    ledger.transcript(writer.threads[0])
                    seen["operations while full"] += _on(writer)
                    disk.grow(64 << 20)
                    writer.append()
                    failures += [f"disk {number}: {one}" for one in broken(ledger, lines)]
                except HansardError as error:
                    failures.append(f"disk {number}: does not go on: {error}")
            disk.grow(64 << 20)
            with hansard.open(path) as ledger:
                failures += [f"disk {number}, opened again: {one}" for one in broken(ledger, lines)]
        seen["acknowledged"] += sum("ack" in line for line in lines)
    return Outcome(tries=tries, failures=failures[:50], seen={**seen, "disk": kind})


def _on(writer: Writer) -> bool:
    """A small thing may still find room; whatever comes of it is told."""
    try:
        writer.append()
    except StorageError:
        return False
    return True
