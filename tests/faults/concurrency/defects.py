"""What a store would be like that somebody had not thought through: each is put into an opened ledger.

They are what the proofs of concurrency must notice. None of them is reachable from outside.
"""

from __future__ import annotations

import time
from typing import Any

import apsw
import psycopg

from hansard import Ledger
from hansard.ledger.backends import postgres, sqlite

UNLOCKED = "the thread is not locked"
SCATTERED = "each statement is a transaction of its own"
FORGETFUL = "the run that stood there is not superseded"
_INDEX = "run_one_committed"
_WHILE = 0.01


def break_it(ledger: Ledger, defect: str | None) -> None:
    """Put a defect into an opened ledger; the caller has dropped the index behind it with `drop_backstop`."""
    driver: Any = ledger._driver
    if defect == UNLOCKED:
        driver._tx = lambda connection: _Unlocked(connection, driver.tenant, driver._watchdog)
    elif defect == SCATTERED:
        tx = _Slow(driver._connect(), driver.tenant)
        driver.write = lambda job: job(tx)
    elif defect == FORGETFUL:
        for tx_class in (postgres._Tx, sqlite._Tx):  # of this whole process: it is a child that ends soon
            _forget(tx_class)


def _forget(tx_class: Any) -> None:
    everything = tx_class.all
    tx_class.all = lambda tx, name, **values: [] if name == "committed_at" else everything(tx, name, **values)


class _Unlocked(postgres._Tx):
    """Reads a row it is going to write as if nobody else could."""

    def one(self, name: str, /, **values: Any) -> Any:
        found = super().one(name.removeprefix("lock_"), **values)
        time.sleep(_WHILE)
        return found


class _Slow(sqlite._Tx):
    """Gives the others time to come in between."""

    def one(self, name: str, /, **values: Any) -> Any:
        found = super().one(name, **values)
        time.sleep(_WHILE)
        return found


def drop_backstop(url: str) -> None:
    """Without the index that refuses a second committed run at a fork point."""
    if url.startswith("postgresql:"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"drop index {_INDEX}".encode())
    else:
        file = apsw.Connection(url)
        file.execute(f"drop index {_INDEX}")
        file.close()
