"""Reads from a replica that is late, frozen or killed: each shows what its own ledger wrote before, and none fails.

The writers of one ledger read what they just wrote. Meanwhile the replica in turn follows, does not hear of anything,
or is killed and started again.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import hansard
from hansard.ledger.backends import read_replica
from hansard.ledger.backends.read_replica import ReadReplica
from tests.faults.harness import Outcome, Place, proof
from tests.faults.postgres.server import Postgres
from tests.ledger.said import said, transcript

_WRITERS, _ROUND = 4, 15
_WAIT, _AGAIN = 0.05, 0.1  # short, so that the replica is asked again within the same round
NOT_WAITED = "the replica is asked whether it has the last write or not"


@proof(
    "PostgreSQL: reads from a replica",
    holds="every read shows what its ledger wrote before; no read fails while the replica is late or away",
    tries=4000,
    sample=200,
    defects=(NOT_WAITED,),
)
def reads_from_a_replica(tries: int, place: Place, defect: str | None) -> Outcome:
    failures: list[str] = []
    seen: Counter[str] = Counter()

    def write_and_read(ledger: hansard.Ledger, thread: str, numbers: range) -> None:
        for number in numbers:
            try:
                ledger.append(thread, said(f"number {number}"))
                if (found := transcript(ledger, thread)[-1]) != f"number {number}":
                    failures.append(f"{thread}: {found!r} was read after number {number} was written")
            except Exception as error:
                failures.append(f"{thread}, number {number}: {error}")

    with Postgres() as primary:
        hansard.open(primary.address).close()
        with (
            primary.standby() as standby,
            _counted(seen, late=defect is None),
            patch.object(read_replica, "_AGAIN", _AGAIN),
            hansard.open(primary.address, read_url=standby.address, replica_wait=_WAIT) as ledger,
        ):
            threads = [ledger.create_thread().id for _ in range(_WRITERS)]
            for first in range(0, tries // _WRITERS, _ROUND):
                state = first // _ROUND % 3
                if state == 1:
                    standby.hold("walreceiver", still=True)
                elif state == 2:
                    standby.kill()
                part = range(first, min(first + _ROUND, tries // _WRITERS))
                workers = [threading.Thread(target=write_and_read, args=(ledger, one, part)) for one in threads]
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
                if state == 1:
                    standby.hold("walreceiver", still=False)
                elif state == 2:
                    standby.start()
            problems = [str(problem) for problem in ledger.verify()]
    return Outcome(tries=tries, failures=[*failures, *problems], seen=dict(seen))


@contextmanager
def _counted(seen: Counter[str], *, late: bool) -> Iterator[None]:
    """Count who answers. Without `late` no replica counts as late: the defect."""
    ask, is_late = ReadReplica.connection, ReadReplica._is_late

    @contextmanager
    def counted(self: ReadReplica) -> Iterator[Any]:
        with ask(self) as connection:
            seen["primary" if connection is None else "replica"] += 1
            yield connection

    waits = is_late if late else (lambda *_: False)
    with patch.object(ReadReplica, "connection", counted), patch.object(ReadReplica, "_is_late", waits):
        yield
