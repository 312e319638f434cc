"""An agent whose recorder forgets the last words of every answer: whoever looks for losses must see it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from hansard import Ledger
from hansard.agent import Agent
from hansard.agent.async_run import AsyncRun
from hansard.model import TextPart
from tests.server import scripted

_stage = AsyncRun.stage


async def _forgetting(self: Any, messages: Any, *given: Any, **options: Any) -> Any:
    kept = [replace(one, parts=[_cut(part) for part in one.parts]) for one in messages]
    return await _stage(self, kept, *given, **options)


def _cut(part: Any) -> Any:
    return replace(part, text=part.text[:-4]) if isinstance(part, TextPart) else part


def make(ledger: Ledger) -> Agent:
    AsyncRun.stage = _forgetting  # type: ignore[method-assign]
    return scripted.make(ledger)
