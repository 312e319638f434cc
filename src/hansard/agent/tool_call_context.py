"""Which call a tool is running for: set by the recorder around every tool, so that what tools do is tied to it."""

from __future__ import annotations

from contextvars import ContextVar

from msgspec import Struct

from hansard.errors import HansardError
from hansard.ledger.ledger import Ledger


class Call(Struct, frozen=True, kw_only=True):
    """A tool call on its way; `message_id` is the message that holds it, also before that is in the ledger."""

    ledger: Ledger
    thread_id: str
    run_id: str
    message_id: str
    tool_call_id: str
    agent_id: str | None = None


calling: ContextVar[Call | None] = ContextVar("hansard_calling", default=None)


def current_call() -> Call:
    """The call that the tool which asks is running for."""
    call = calling.get()
    if call is None:
        raise HansardError(
            "nobody records this run; use hansard.agent.Agent, or give the agent capabilities=[Recorder(ledger)]"
        )
    return call
