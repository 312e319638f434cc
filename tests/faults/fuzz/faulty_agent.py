"""An agent whose coming breaks the server's search: whoever asks for undocumented answers must see it."""

from __future__ import annotations

from typing import Any

from hansard import Ledger
from hansard.agent import Agent
from tests.server import scripted


def _broken(*_: Any, **__: Any) -> Any:
    raise KeyError("planted")


def make(ledger: Ledger) -> Agent:
    Ledger.search = _broken  # type: ignore[method-assign]
    return scripted.make(ledger)
