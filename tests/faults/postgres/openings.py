"""Empty databases that many processes open at once, and tenants whose connections come and go.

Of those who open, one makes the tables and the others wait for it. A tenant sees its own rows and nobody else's, on
whatever connection its call runs, also without the condition in the statement: the server itself holds the line.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from multiprocessing.synchronize import Barrier
from typing import Any

import psycopg

import hansard
from hansard import Ledger
from hansard.errors import HansardError
from hansard.ledger.backends import postgres
from tests.faults.harness import Outcome, Place, proof
from tests.faults.processes import Failed, together, wait
from tests.ledger.said import said, words

_PROCESSES = 8
_TENANTS = 5
UNGUARDED = "whoever finds no tables makes them"
SHARED = "tenants share connections, and nobody says whose turn it is"


def open_at_once(number: int, barrier: Barrier, databases: list[str], defect: str | None) -> list[str]:
    """One process: open each of them together with the others, and say something."""
    wrong: list[str] = []
    if defect is not None:
        postgres._MIGRATING = os.getpid()  # a lock of one's own keeps nobody out
    for database in databases:
        wait(barrier)
        try:
            with hansard.open(database) as ledger:
                ledger.create_thread("t")
                ledger.append("t", said(str(number), id=str(number)))
        except Exception as error:
            wrong.append(f"process {number}: {error}")
    return wrong


@proof(
    "PostgreSQL: opened by many at once",
    holds="every process opens the ledger and can write to it immediately",
    tries=100,
    sample=2,
    defects=(UNGUARDED,),
)
def opened_at_once(tries: int, place: Place, defect: str | None) -> Outcome:
    databases = [place.database() for _ in range(tries)]
    try:
        failures = [line for told in together(open_at_once, _PROCESSES, databases, defect) for line in told]
    except Failed as error:
        return Outcome(tries=tries, failures=[str(error)])
    for database in databases if not failures else []:
        with hansard.open(database) as ledger:
            kept = Counter(words(ledger.transcript("t")))
            if kept != Counter(map(str, range(_PROCESSES))):
                failures.append(f"{dict(kept)} instead of each process once")
            failures += [str(problem) for problem in ledger.verify()]
    return Outcome(tries=tries, failures=failures, seen={"openings": tries * _PROCESSES})


@proof(
    "PostgreSQL: tenants on connections that come and go",
    holds="a tenant sees its own messages only, on every connection",
    tries=5_000,
    sample=60,
    defects=(SHARED,),
    control_tries=20,
)
def tenants_apart(tries: int, place: Place, defect: str | None) -> Outcome:
    database = place.database()
    address = _as_ordinary_role(database)
    ledgers = [hansard.open(address, tenant=f"tenant {n}", connections=2, retry_for=60) for n in range(_TENANTS)]
    for ledger in ledgers:
        ledger.append(ledger.create_thread("before").id, said("before"))
    for ledger in ledgers[1:] if defect is not None else []:
        driver: Any = ledger._driver
        driver._pool.close()
        driver._pool = ledgers[0]._driver._pool  # type: ignore[attr-defined]
    failures: list[str] = []
    callers = [
        threading.Thread(target=_talk, args=(ledger, n, -(-tries // _TENANTS), failures))
        for n, ledger in enumerate(ledgers)
    ]
    for one in callers:
        one.start()
    ended = _end_connections(database, callers)
    for ledger in ledgers:
        ledger.close()
    return Outcome(tries=max(tries, 1), failures=failures, seen={"tenants": _TENANTS, "connections ended": ended})


def _as_ordinary_role(database: str) -> str:
    """The address for a role that row-level security binds."""
    hansard.open(database).close()
    with psycopg.connect(database, autocommit=True) as connection:
        role = f"plain_{connection.info.dbname}"
        connection.execute(f"create role {role} login".encode())
        connection.execute(f"grant select, insert, update, delete on all tables in schema public to {role}".encode())
        connection.execute(f"grant usage on all sequences in schema public to {role}".encode())
    return database.replace("//postgres:", f"//{role}:")


def _talk(ledger: Ledger, number: int, times: int, failures: list[str]) -> None:
    """One tenant: it says something under the same ids as all others, and looks what it can see."""
    driver: Any = ledger._driver
    mine = [f"{number} says {n}" for n in range(times)]
    try:
        for n in range(times):
            shown = driver._retry(lambda one: one.execute("select distinct tenant from message").fetchall())
            if shown != [(driver.tenant,)]:
                failures.append(f"tenant {number} (row {driver.tenant}) is shown rows of {shown}")
            if n == 0:
                ledger.create_thread("t")
            ledger.append("t", said(mine[n], id=str(n)))
            if (heard := words(ledger.transcript("t"))) != mine[: n + 1]:
                failures.append(f"tenant {number} hears {heard[-3:]}")
            if len(page := ledger.threads().items) != 2:
                failures.append(f"tenant {number} is shown {len(page)} threads")
    except HansardError as error:
        failures.append(f"tenant {number}: {error}")


def _end_connections(database: str, callers: list[threading.Thread]) -> int:
    """While they talk, some connection is ended by the server now and then; how many were."""
    rng = random.Random(4)
    ended = 0
    with psycopg.connect(database, autocommit=True) as connection:
        while any(one.is_alive() for one in callers):
            rows = connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = current_database() and pid <> pg_backend_pid() order by random() limit 1"
            ).fetchall()
            ended += len(rows)
            time.sleep(rng.uniform(0.02, 0.2))
    return ended
