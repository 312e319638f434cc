"""The primary is killed under load, its standby takes over: nothing that was acknowledged is missing there.

The ledger is opened with the addresses of both and `target_session_attrs=read-write`, so the writers find the new
primary by themselves. With a synchronous standby an acknowledgement means two machines. The defect is a standby that
is not waited for, and that gets its news late. The killed one does not come back: whoever promotes must see to that.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

import hansard
from hansard import Ledger
from tests.faults.harness import Outcome, Place, proof
from tests.faults.postgres.kills import Writer, more_from
from tests.faults.postgres.server import Postgres, addresses
from tests.ledger.said import transcript

_WRITERS = 3
_LOAD = 0.5
LATE = "the standby is not waited for, and gets its news late"


@proof(
    "PostgreSQL: the standby takes over",
    holds="acknowledged data is on the standby, once and in order; the writers reconnect without an error",
    tries=20,
    sample=1,
    defects=(LATE,),
)
def standby_takes_over(tries: int, place: Place, defect: str | None) -> Outcome:
    failures: list[str] = []
    acknowledged = moved = 0
    longest = 0.0
    with ExitStack() as servers:
        primary = servers.enter_context(Postgres())
        hansard.open(primary.address).close()
        for number in range(tries):
            standby = servers.enter_context(primary.standby())
            primary.wait_for("select count(*) from pg_stat_replication where state = 'streaming'", 1)
            _wait_for_standby(primary, defect is None)
            with hansard.open(addresses(primary, standby), retry_for=120) as ledger:
                writers = [Writer(ledger, f"{number}-{n}") for n in range(_WRITERS)]
                for one in writers:
                    one.start()
                more_from(writers)
                failures += _read_there(standby, ledger, writers[0].key) if defect is None else []
                if defect is not None:
                    standby.hold("walreceiver", still=True)
                    more_from(writers)
                more_from(writers)
                time.sleep(_LOAD)
                primary.kill()
                began = time.monotonic()
                standby.hold("walreceiver", still=False)
                standby.promote()
                _wait_for_standby(standby, False)
                before = sum(len(one.acknowledged) for one in writers)
                more_from(writers)
                longest = max(longest, time.monotonic() - began)
                for one in writers:
                    one.stopping.set()
                for one in writers:
                    one.join()
                failures += [line for one in writers for line in (*one.failures, *one.missing())]
                failures += [str(problem) for problem in ledger.verify()]
                total = sum(len(one.acknowledged) for one in writers)
                acknowledged, moved = acknowledged + total, moved + total - before
            primary.close()
            primary = standby
    seen: dict[str, int | float | str] = {"acknowledged": acknowledged, "of them after the move": moved}
    return Outcome(tries=tries, failures=failures, seen=seen | {"longest wait of the writers, s": round(longest, 1)})


def _wait_for_standby(server: Postgres, wanted: bool) -> None:
    """Does an acknowledgement mean that the standby has it too?"""
    with server.connect() as connection:
        connection.execute(f"alter system set synchronous_standby_names = '{'*' if wanted else ''}'".encode())
        connection.execute("select pg_reload_conf()")
    if wanted:
        server.wait_for("select sync_state from pg_stat_replication", "sync")


def _read_there(standby: Postgres, ledger: Ledger, thread: str) -> list[str]:
    """A standby can be read as it is: with the same ledger, and what it has been told so far."""
    known = transcript(ledger, thread)
    until = time.monotonic() + 60
    with hansard.open(standby.address) as reader:
        while (found := transcript(reader, thread))[: len(known)] != known:
            if time.monotonic() > until:
                return [f"the standby says {found[-3:]}, the primary said {known[-3:]}"]
            time.sleep(0.05)
    return []
