"""Both back ends with a planted defect: what clients saw of an unfinished answer is kept off the transcript."""

from __future__ import annotations

from typing import Any

from hansard import Ledger
from hansard.agent import Agent
from hansard.ledger.live import interrupt
from tests.examples.chat_server import waiter

interrupt._was_seen = lambda tx, thread, row: False


def make(ledger: Ledger) -> Agent:
    return waiter(ledger)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    from fastapi_chat import app  # type: ignore[import-not-found,unused-ignore]

    return app
