"""The call that a tool runs for: set by the recorder around every tool.

File changes are attributed to it, and a run that the tool begins gets a sub-thread below it (`delegation`).
"""

from __future__ import annotations

from contextvars import ContextVar

from msgspec import Struct

from hansard.errors import HansardError
from hansard.ledger.ledger import Ledger


class SubThread(Struct, kw_only=True):
    """A thread that a run within a call works in; `busy` while that run is active."""

    thread_id: str
    agent_id: str | None
    busy: bool = True


class Call(Struct, frozen=True, kw_only=True):
    """A running tool call; `message_id` is its message, also before that is in the ledger.

    `parent` is the call that the run of this call was begun for; `children` are the threads of the runs begun for it.
    """

    ledger: Ledger
    thread_id: str
    run_id: str
    message_id: str
    tool_call_id: str
    agent_id: str | None = None
    parent: Call | None = None
    children: list[SubThread] = []


calling: ContextVar[Call | None] = ContextVar("hansard_calling", default=None)


def current_call() -> Call:
    """The call of the current tool."""
    call = calling.get()
    if call is None:
        raise HansardError(
            "this run is not recorded; use hansard.agent.Agent, or give the agent capabilities=[Recorder(ledger)]"
        )
    return call
