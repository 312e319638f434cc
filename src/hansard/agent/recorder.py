"""Recording an agent you already have: a Pydantic AI capability that keeps what its runs say in a ledger.

    agent = pydantic_ai.Agent(model, capabilities=[Recorder(ledger)])

The prompt is durable before the model is asked, every event before it is given on, a tool's call before the tool runs
and its result right after. A thread is a conversation of Pydantic AI (its `conversation_id`), unless one is named.
A history that is given is recognised by what was said; where it leaves the thread, the run is a branch. What history
processors cut or change is kept as it was.

One thing no hook sees: `run_stream` ends on the text before a tool call, and what the tools behind it gave back comes
later. The results are kept as the tools gave them, in a message marked as interrupted; behind the block,
`await recorder.sync_tail(result)` puts the messages in its place that the run ended with.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage
from pydantic_ai.tools import RunContext

from hansard.agent.run_recorder import RunRecorder
from hansard.errors import HansardError
from hansard.ledger.ledger import Ledger

_RECENT = 256


class Recorder(AbstractCapability[Any]):
    """`thread_id`: all runs belong to this thread; `agent_id`: who speaks (else the agent's name)."""

    def __init__(self, ledger: Ledger, thread_id: str | None = None, agent_id: str | None = None) -> None:
        self.ledger, self.thread_id, self.agent_id = ledger, thread_id, agent_id
        self._recent: OrderedDict[str, RunRecorder] = OrderedDict()

    @classmethod
    def get_serialization_name(cls) -> str | None:
        return None

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        run = RunRecorder(self.ledger, thread_id=self.thread_id, agent_id=self.agent_id)
        if ctx.run_id is not None:
            self._recent[ctx.run_id] = run
            while len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return run

    async def sync_tail(self, result: Any) -> None:
        """Behind a `run_stream` block: the thread ends with exactly the messages of this result."""
        messages: Sequence[ModelMessage] = result.all_messages()
        run = next((found for m in reversed(messages) if (found := self._recent.get(m.run_id or ""))), None)
        if run is None:
            raise HansardError("this result is of no run that was recorded here lately; give the one of `run_stream`")
        await run.sync_tail(messages)
