"""Runs that are begun inside a run: an agent asks another one from within a tool.

Such a run does not write into the thread of its caller, which is waiting for it. It gets a thread of its own below the
call: `parent_thread_id` names the caller's thread, `metadata.call` the run, message and call. An agent that is asked
again within the same call continues its sub-thread; agents asked at the same time have one each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hansard.agent.tool_call_context import Call, SubThread, calling
from hansard.errors import NotFound
from hansard.ledger.ids import new_id
from hansard.ledger.ledger import Ledger


class Placed(NamedTuple):
    """The thread of a run; `call` and `sub` are set if the run was begun inside a run."""

    thread_id: str
    call: Call | None = None
    sub: SubThread | None = None

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The metadata of a new thread: the call it belongs to."""
        if self.call is None:
            return None
        call = self.call
        return {"call": {"runId": call.run_id, "messageId": call.message_id, "toolCallId": call.tool_call_id}}

    @property
    def parent_thread_id(self) -> str | None:
        return None if self.call is None else self.call.thread_id

    def end(self) -> None:
        """The run has ended: its agent may continue the sub-thread."""
        if self.sub is not None:
            self.sub.busy = False


async def place_run(ledger: Ledger, thread_id: str, agent_id: str | None) -> Placed:
    """The thread of a run that is to write into `thread_id`: a sub-thread if a run in that thread waits for it."""
    call = calling.get()
    if call is None or not await _is_recorded_in(ledger, call):
        return Placed(thread_id)
    if thread_id not in _waiting(call):
        return Placed(thread_id, call)
    for sub in call.children:
        if sub.agent_id == agent_id and not sub.busy:
            sub.busy = True
            return Placed(sub.thread_id, call, sub)
    sub = SubThread(thread_id=new_id(), agent_id=agent_id)
    call.children.append(sub)
    return Placed(sub.thread_id, call, sub)


async def _is_recorded_in(ledger: Ledger, call: Call) -> bool:
    """Whether the run of a call is in this ledger, opened once or twice."""
    if call.ledger is ledger:
        return True
    try:
        await ledger.aio.get_run(call.thread_id, call.run_id)
    except NotFound:
        return False
    return True


def _waiting(call: Call | None) -> set[str]:
    """The threads whose runs wait for this call."""
    found: set[str] = set()
    while call is not None:
        found.add(call.thread_id)
        call = call.parent
    return found
