"""The call that a tool runs for: set by the recorder around every tool, so that file changes are attributed to it."""

from __future__ import annotations

from contextvars import ContextVar

from msgspec import Struct

from hansard.errors import HansardError
from hansard.ledger.ledger import Ledger


class Call(Struct, frozen=True, kw_only=True):
    """A running tool call; `message_id` is its message, also before that is in the ledger."""

    ledger: Ledger
    thread_id: str
    run_id: str
    message_id: str
    tool_call_id: str
    agent_id: str | None = None


calling: ContextVar[Call | None] = ContextVar("hansard_calling", default=None)


def current_call() -> Call:
    """The call of the current tool."""
    call = calling.get()
    if call is None:
        raise HansardError(
            "this run is not recorded; use hansard.agent.Agent, or give the agent capabilities=[Recorder(ledger)]"
        )
    return call
