"""Asyncio interface to a run of the ledger: write deltas to its journal, stage messages, end it.

Nothing awaited here blocks the loop. `write` does not wait: the deltas become durable a moment later, and `durable`
waits for that. Listeners receive each delta with the future of its write.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.agent.delegation import Placed
from hansard.agent.durability import durable
from hansard.errors import Conflict, NotFound
from hansard.ledger import threads
from hansard.ledger.ledger import Ledger
from hansard.ledger.live.journal import DurableFuture
from hansard.ledger.live.run_handle import RunHandle
from hansard.ledger.results import Thread
from hansard.ledger.rows import find_thread
from hansard.model.conversation import Agent, Message, PendingCall, Run
from hansard.model.request import Settings, Tool
from hansard.model.stored import plain, plain_messages
from hansard.streams.accumulator import Accumulator
from hansard.streams.deltas import Delta

Save: TypeAlias = Callable[[Sequence[Message]], Awaitable[None]]
Listener: TypeAlias = Callable[[list[Delta], DurableFuture], None]
_SAYS = ("assistant", "tool")


class AsyncRun:
    """A run that was begun: deltas for its journal and `listener`, whole messages for the ledger and `save`."""

    def __init__(
        self,
        ledger: Ledger,
        run: RunHandle,
        agent_id: str | None,
        listener: Listener | None = None,
        save: Save | None = None,
    ) -> None:
        self.ledger, self.run, self.agent_id = ledger, run, agent_id
        self.staged: list[Message] = []
        self._listener, self._save = listener, save
        self._future: DurableFuture | None = None
        self._since = Accumulator()
        self._unsaid = True
        self._asked: tuple[list[Tool] | UnsetType, Settings | UnsetType] = UNSET, UNSET

    def asks(self, tools: list[Tool] | UnsetType, settings: Settings) -> None:
        """Note what a request to the model says besides its messages; it is stored with the next messages."""
        self._asked = tools, settings

    @property
    def thread_id(self) -> str:
        return self.run.thread_id

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def staged_an_answer(self) -> bool:
        return any(message.role == "assistant" for message in self.staged)

    def write(self, deltas: list[Delta]) -> DurableFuture | None:
        """Put deltas into the journal; the future is done when they are durable."""
        if not deltas:
            return self._future
        self._future = self.run.write(deltas)
        for delta in deltas:
            self._since.fold(delta)
        self._unsaid = False
        if self._listener is not None:
            self._listener(deltas, self._future)
        return self._future

    async def durable(self) -> None:
        """Wait until everything written is durable."""
        if self._future is not None and not self._future.done():
            self.run.hurry()
            await durable(self._future)
        if self.run.lost is not None:
            raise self.run.lost

    async def stage(self, messages: Sequence[Message]) -> list[Message]:
        """Stage messages that replace all deltas written so far."""
        given = [self._of_agent(message) for message in messages]
        if not given:
            return []
        await self.durable()
        tools, settings = self._asked
        stored = plain_messages(
            await self.ledger.aio.stage(
                self.thread_id,
                self.id,
                given,
                fence=self.run.fence,
                through=self.run.written,
                tools=tools,
                settings=settings,
            )
        )
        self._asked = UNSET, UNSET
        if self._save is not None:
            await self._save(stored)
        self.staged += stored
        self._since, self._unsaid = Accumulator(), True
        return stored

    def partial(self) -> list[Message]:
        """The messages of the deltas after the last staged message."""
        return [] if self._unsaid else [message for message in self._since.messages() if message.parts]

    async def commit(self, pending: list[PendingCall], prune: dict[str, Any] | None = None) -> Run:
        await self.durable()
        self.run.release()
        done: Run = await self.ledger.aio.commit(
            self.thread_id, self.id, pending=pending or UNSET, fence=self.run.fence, **(prune or {})
        )
        return done

    async def fail(self, error: BaseException) -> None:
        await self._ended("fail", {"type": type(error).__name__, "message": str(error)})

    async def abort(self) -> None:
        await self._ended("abort")

    async def _ended(self, how: str, *more: Any) -> None:
        self.run.release()
        await getattr(self.ledger.aio, how)(self.thread_id, self.id, *more, fence=self.run.fence)

    def _of_agent(self, message: Message) -> Message:
        if self.agent_id is None or message.role not in _SAYS or message.agent_id is not UNSET:
            return message
        return replace(message, agent_id=self.agent_id)


def _with_what_is_known(agent: Agent, known: Agent) -> Agent:
    """The agent with what its entry says besides: where it is configured, since when it is there."""
    kept = {key: getattr(known, key) for key in ("config_ref", "created_at", "extra") if getattr(agent, key) is UNSET}
    return replace(agent, **kept)


async def stored_thread(ledger: Ledger, thread_id: str) -> Thread:
    """A thread as it is stored, without a title made from its messages."""

    def read(_: Ledger) -> Thread:
        return ledger._read(lambda tx: threads.as_thread(tx, find_thread(tx, thread_id)))

    return await ledger.aio._jobs.in_thread(read)


async def check_owner(ledger: Ledger, thread_id: str, resource_id: str | None) -> Thread | None:
    """The thread; None if it does not exist. Another user's thread is reported as one that does not exist."""
    try:
        thread = await stored_thread(ledger, thread_id)
    except NotFound:
        return None
    if resource_id is not None and thread.resource_id != resource_id:
        raise NotFound(f"no thread {thread_id!r}")
    return thread


async def open_thread(
    ledger: Ledger,
    thread_id: str,
    agent: Agent | None = None,
    *,
    resource_id: str | None = None,
    title: str | None = None,
    placed: Placed | None = None,
) -> None:
    """Ensure that the thread exists and lists the agent; a new one belongs to `resource_id` and has a title.

    A new thread of a run that was begun inside a run is linked to the call, and belongs to the caller's user.
    """
    thread = await check_owner(ledger, thread_id, resource_id)
    if thread is None:
        parent_id = placed.parent_thread_id if placed is not None else None
        metadata = placed.metadata if placed is not None else None
        if parent_id is not None and resource_id is None:
            resource_id = (await stored_thread(ledger, parent_id)).resource_id
        try:
            await ledger.aio.create_thread(
                thread_id,
                agents=UNSET if agent is None else [agent],
                resource_id=UNSET if resource_id is None else resource_id,
                title=title or UNSET,
                metadata=UNSET if metadata is None else metadata,
                parent_thread_id=UNSET if parent_id is None else parent_id,
            )
        except Conflict:  # another writer created it
            thread = await check_owner(ledger, thread_id, resource_id)
    if thread is None or agent is None:
        return
    known = plain(thread.agents.get(agent.id))
    if known is not None:
        agent = _with_what_is_known(agent, known)
    if known != agent:
        await ledger.aio.update_thread(thread_id, agents=[agent])
