"""PostgreSQL falls silent in the middle: the call ends within the limits it was given, and the next one works.

Two silences: the other side's kernel still answers but nothing is said (a frozen server, a lost proxy), and packets
vanish (a network that lost the way). Each begins at some byte of a request or a reply, or before the first byte of a
connection. A call may succeed late or fail with StorageError; it may not hang, and nothing may be there twice.
"""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import hansard
from hansard.errors import StorageError
from hansard.ledger.backends.connection_watchdog import ConnectionWatchdog
from tests.faults.harness import Outcome, Place, proof
from tests.faults.postgres.tcp_proxy import How, Proxy
from tests.ledger.said import said

_LIMITS: dict[str, Any] = {"statement_timeout": 1.0, "network_timeout": 2.0, "lock_timeout": 0.5}
_RETRY_FOR = (1.0, 4.0)
_ENDS = sum(_LIMITS.values()) + max(_RETRY_FOR)
_SLACK = 6.0  # for a busy machine: it is a hang that we look for
_AT_ONCE = 20


class _Deaf(ConnectionWatchdog):
    """Never hangs up."""

    def _work(self) -> None:
        return


@proof(
    "PostgreSQL: the network stops responding",
    holds="no call waits longer than retry_for, statement_timeout, lock_timeout and network_timeout together",
    tries=400,
    sample=16,
    defects=("nobody listens for silence",),
    control_tries=2,
)
def silent_networks(tries: int, place: Place, defect: str | None) -> Outcome:
    database = place.database()
    with hansard.open(database) as ledger:
        for number in range(tries):
            ledger.create_thread(f"t{number}")
    failures: list[str] = []
    ways: dict[str, int] = {"succeeded late": 0, "failed in time": 0}
    longest = [0.0]
    with ThreadPoolExecutor(_AT_ONCE) as together:
        for found in together.map(lambda number: _one(database, number, defect), range(tries)):
            failures += found[0]
            ways[found[1]] = ways.get(found[1], 0) + 1
            longest[0] = max(longest[0], found[2])
    with hansard.open(database) as ledger:
        for number in range(tries):
            kept = [message.id for message in ledger.transcript(f"t{number}")]
            if kept != [f"{number}-before", f"{number}-silent", f"{number}-after"] and not failures:
                failures.append(f"not each message once: {kept}")
        failures += [str(problem) for problem in ledger.verify()]
    return Outcome(
        tries=tries, failures=failures, seen={**ways, "longest, s": round(longest[0], 1), "limits together, s": _ENDS}
    )


def _one(database: str, number: int, defect: str | None) -> tuple[list[str], str, float]:
    """One ledger, one silence: what was wrong, how the call ended, how long it took."""
    rng, thread = random.Random(number), f"t{number}"
    how: How = rng.choice(("swallow", "drop")) if defect is None else "swallow"
    with Proxy(database) as proxy:
        ledger = hansard.open(proxy.address, connections=1, retry_for=_RETRY_FOR[number % 2], **_LIMITS)
        if defect is not None:
            ledger._driver._watchdog = _Deaf(1.0)  # type: ignore[attr-defined]
        ledger.append(thread, said("before", id=f"{number}-before"))
        if defect is None:
            proxy.silent = rng.random() < 0.5  # connections that are made meanwhile get no answer either
        direction = rng.choice(("request", "reply"))
        proxy.arm(direction, rng.randrange(60), how)
        key = f"{number}-silent"
        ended: list[str] = []

        def call() -> None:
            try:
                if rng.random() < 0.5:
                    ledger.append(thread, said("in silence", id=key))
                else:
                    ledger.append(thread, [said("in silence", id=key)], parent=f"{number}-before")
                ended.append("succeeded late")
            except StorageError:
                ended.append("failed in time")

        began = time.monotonic()
        calling = threading.Thread(target=call, daemon=True)
        calling.start()
        calling.join(_ENDS + (_SLACK if defect is None else 0))
        took = time.monotonic() - began
        if not ended:
            return [f"{direction}, {how}: a call that hangs after {took:.0f} s"], "hung", took
        proxy.silent = False
        if not proxy.disarm():
            return [f"{direction}, {how}: the proxy was not silent"], ended[0], took
        wrong = _goes_on(ledger, thread, number, key)
        ledger.close()
        return wrong, ended[0], took


def _goes_on(ledger: hansard.Ledger, thread: str, number: int, key: str) -> list[str]:
    """With the network back, the call that was in doubt can be made again, and others work."""
    until = time.monotonic() + _ENDS + _SLACK
    while True:
        try:
            ledger.append(thread, said("in silence", id=key))
            ledger.append(thread, said("after", id=f"{number}-after"))
            return []
        except StorageError as error:
            if time.monotonic() > until:
                return [f"the ledger does not recover: {error}"]
