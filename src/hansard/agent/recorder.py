"""Pydantic AI capability that records the runs of an existing agent in a ledger.

    agent = pydantic_ai.Agent(model, capabilities=[Recorder(ledger)])

The prompt is durable before the request to the model, every event before it is passed on, a tool call before the tool
runs and its result right after. A thread is a conversation of Pydantic AI (its `conversation_id`), unless one is named.
A given history is matched by content; where it differs from the thread, the run is a branch. Messages that history
processors remove or change are kept unchanged.

Limitation: `run_stream` ends at the text before a tool call, and no hook receives the results of the tools after it.
They are stored as the tools returned them, in a message marked as interrupted; after the block,
`await recorder.sync_tail(result)` replaces it with the final messages of the run.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import CapabilityOrdering
from pydantic_ai.messages import AgentStreamEvent, ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import DeferredToolRequests, RunContext

from hansard.agent.async_run import AsyncRun, Listener, open_thread
from hansard.agent.brief_help import BriefHelp
from hansard.agent.delegation import Placed, place_run
from hansard.agent.durability import durable_events
from hansard.agent.events import RunEvents
from hansard.agent.history_match import Place, find_place
from hansard.agent.model_messages import HistoryReader
from hansard.agent.model_request import settings_of, tools_of
from hansard.agent.tool_call_context import Call, calling
from hansard.agent.ui_turns import with_approval
from hansard.errors import Conflict, HansardError
from hansard.formats.ai_sdk.ui.emit import event_deltas
from hansard.ledger.ids import new_id
from hansard.ledger.ledger import Ledger
from hansard.ledger.live.run_handle import RunHandle
from hansard.model.calls import Links
from hansard.model.conversation import Agent, Message, PendingCall
from hansard.model.default_title import chat_title
from hansard.model.parts import ToolCallPart, ToolResultPart
from hansard.streams.deltas import Delta, End, Failure, MessageDelta

_RECENT_MESSAGES = 64  # messages of the run to compare when the history was changed


class RunCapability(AbstractCapability[Any]):
    """`place`: where the run starts, if the history is the thread's own; found by matching otherwise."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        thread_id: str | None = None,
        agent_id: str | None = None,
        place: Place | None = None,
        message_id: str | None = None,
        listener: Listener | None = None,
        waits: bool = True,
        preface: list[Message] | None = None,
        save: Callable[[Sequence[Message]], Awaitable[None]] | None = None,
        prune: dict[str, Any] | None = None,
        begun: RunHandle | None = None,
    ) -> None:
        self.ledger, self.thread_id, self.agent_id = ledger, thread_id, agent_id
        self._place, self._listener, self._waits = place, listener, waits
        self._preface, self._save, self._prune = preface or [], save, prune
        self._begun = begun  # a run that the caller began already
        self.events = RunEvents(message_id or new_id())
        self.run: AsyncRun | None = None
        self._run_id = ""
        self._reader: HistoryReader | None = None
        self._live: Sequence[ModelMessage] = ()
        self._mark: tuple[int, ModelMessage | None] = (0, None)  # number of messages seen, and the last one
        self._own: list[ModelMessage] = []
        self._noted: list[ModelMessage] = []
        self._resumed = self._asked = False  # the run answers the last request of the history, known or not yet
        self._tail: list[str] = []  # ids of messages that hooks alone made
        self._approved: dict[Any, dict[str, Any]] = {}  # approved calls with the reason
        self._next_id: str | None = None  # of the answer whose tools run before it is staged
        self._placed: Placed | None = None

    def get_ordering(self) -> CapabilityOrdering | None:
        return CapabilityOrdering(position="innermost")

    # -- the run ---------------------------------------------------------------------------------------------------

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Any) -> AgentRunResult[Any]:
        try:
            await self._begin(ctx)
            try:
                result: AgentRunResult[Any] = await handler()
            except BaseException as error:
                await asyncio.shield(self._broke(error))
                raise
            await self._finish(result)
            return result
        finally:
            if self._placed is not None:
                self._placed.end()

    async def _begin(self, ctx: RunContext[Any]) -> None:
        self._run_id = ctx.run_id or new_id()
        thread_id = self.thread_id or ctx.conversation_id or self._run_id
        named = getattr(ctx.agent, "name", None) if ctx.agent is not None else None
        self.agent_id = self.agent_id or named
        history = list(ctx.messages)
        self._resumed = ctx.prompt is None and bool(history) and isinstance(history[-1], ModelRequest)
        if self._place is None:
            agent = Agent(id=self.agent_id, name=named or UNSET) if self.agent_id is not None else None
            self._placed = await place_run(self.ledger, thread_id, self.agent_id)
            thread_id = self._placed.thread_id
            title = chat_title([Message.user(ctx.prompt)]) if isinstance(ctx.prompt, str) else None
            title = title if self._placed.call is not None else None
            await open_thread(self.ledger, thread_id, agent, title=title, placed=self._placed)
            self._place = await find_place(self.ledger, thread_id, history, resumed=self._resumed)
            self._asked = self._resumed and not self._place.knows_last
            self._resumed = self._resumed and self._place.knows_last
        self.thread_id = thread_id
        self._mark = len(history), history[-1] if history else None
        self._reader = HistoryReader(thread_id, self._place.before)
        begun = self._begun or await self.ledger.aio.begin_run(
            thread_id,
            UNSET if self.agent_id is None else self.agent_id,
            fork_from=self._place.fork_from,
            id=self._run_id,
        )
        self.run = AsyncRun(self.ledger, begun, self.agent_id, self._listener, self._save)
        preface = await self.run.stage(self._preface)
        self._reader.follow(preface)
        if told := [delta for message in preface for delta in event_deltas(message)]:
            self.run.write([*self.events.begin(), *told])
        await self._settle(history)

    async def _settle(self, history: list[ModelMessage]) -> None:
        """Mark pending calls as answered by this run, so that their tools do not run again after a crash."""
        if self.thread_id is not None and history and isinstance(history[-1], ModelResponse):
            called = {part.tool_call_id for part in history[-1].tool_calls}
            waiting = [call.tool_call_id for call in await self.ledger.aio.pending(self.thread_id)]
            if answered := [call_id for call_id in waiting if call_id in called]:
                await self.ledger.aio.settle(self.thread_id, answered)

    async def _finish(self, result: AgentRunResult[Any]) -> None:
        run = self._running()
        await self._sync(result.all_messages())
        left = self._unstaged_results()
        if left is not None:
            self._tail = [message.id for message in await self._stage([left]) if isinstance(message.id, str)]
        run.write([*self.events.begin(), End(how="done")])
        output = result.output
        pending = self._pending(output) if isinstance(output, DeferredToolRequests) else []
        try:
            await run.commit(pending, self._prune)
        except Conflict as error:
            await run.fail(error)
            raise

    async def _broke(self, error: BaseException) -> None:
        """Store the partial answer and the error."""
        run = self._running()
        stopped = isinstance(error, (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt))
        try:
            if not stopped:
                run.write([*self.events.begin(), Failure(text=str(error) or type(error).__name__), End(how="cut")])
            partial = run.partial()
            if await self._sync(self._live):
                partial = [message for message in partial if message.role == "tool"]
            partial = [replace(message, state="interrupted") for message in partial]
            if partial and not run.staged_an_answer:
                partial[0] = replace(partial[0], id=self.events.message_id)
            await run.stage(partial)
            await (run.abort() if stopped else run.fail(error))
        except HansardError:  # another process ended the run: its record is complete
            run.run.release()

    async def sync_tail(self, messages: Sequence[ModelMessage]) -> None:
        """Append the final messages of a run after the staged ones, in place of those that hooks made."""
        run, reader = self._running(), self._reader
        rest = [message for message in messages if message.run_id == self._run_id][len(self._own) :]
        if not rest or reader is None:
            return
        behind = run.staged[: len(run.staged) - len(self._tail)] if self._tail else run.staged
        reader = HistoryReader(run.thread_id, [*(self._place.before if self._place else []), *behind])
        last = behind[-1].id if behind else UNSET
        agent_id = UNSET if self.agent_id is None else self.agent_id
        begun = await self.ledger.aio.begin_run(run.thread_id, agent_id, id=f"{run.id}~tail", fork_from=last)
        more = AsyncRun(self.ledger, begun, self.agent_id)
        await more.stage(reader.read(rest))
        await more.commit([])
        self._own += rest
        self._tail = []

    # -- messages --------------------------------------------------------------------------------------------------

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self._live = ctx.messages
        self._running().asks(tools_of(request_context), settings_of(request_context))
        await self._sync(ctx.messages)
        return request_context

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        self._live = ctx.messages or self._live
        made = getattr(result, "request", None) or getattr(result, "model_response", None)
        if made is not None and not any(made is known for known in self._noted) and not self._is_own(made):
            self._noted.append(made)
        if isinstance(made, ModelResponse) and made.run_id == self._run_id:
            self._running().write(_facts(made))
        return result

    async def _sync(self, messages: Sequence[ModelMessage]) -> bool:
        """Stage the new messages of this run; whether an answer was among them."""
        fresh = self._fresh(messages)
        if not fresh or self._reader is None:
            return False
        self._own += fresh
        await self._stage(self._reader.read(fresh, self._enriched))
        return any(isinstance(message, ModelResponse) for message in fresh)

    def _fresh(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The new messages of this run: those after the last one seen, if it has not moved."""
        count, last = self._mark
        if count <= len(messages) and (count == 0 or messages[count - 1] is last):
            fresh = [message for message in messages[count:] if message.run_id == self._run_id]
        else:  # a history processor changed the history: what the run made is new, and what follows it
            own = {id(message) for message in [*self._own[-_RECENT_MESSAGES:], *self._noted]}
            after = next((i for i in reversed(range(len(messages))) if id(messages[i]) in own), len(messages))
            tail = [message for message in messages[after + 1 :] if message.run_id == self._run_id]
            made = [one for one in self._noted if one.run_id == self._run_id and not self._is_own(one)]
            fresh = [*made, *tail]
        if self._asked and messages and not any(messages[-1] is message for message in fresh):
            fresh = [messages[-1], *fresh]
        self._asked = False
        self._mark = len(messages), messages[-1] if messages else None
        self._noted = []
        if self._resumed and fresh and isinstance(fresh[0], ModelRequest):
            fresh = fresh[1:]  # the last request of the history, which was there before
        self._resumed = False
        return fresh

    def _is_own(self, made: ModelMessage) -> bool:
        return any(made is message for message in self._own[-_RECENT_MESSAGES:])

    async def _stage(self, messages: list[Message]) -> list[Message]:
        run = self._running()
        given = list(messages)
        if self._next_id is not None or not run.staged_an_answer:
            first = next((i for i, message in enumerate(given) if message.role == "assistant"), None)
            if first is not None:
                given[first] = replace(given[first], id=self._answer_id())
                self._next_id = None
        return await run.stage(given)

    def _answer_id(self) -> str:
        """The id of the current answer; clients know the first one of a run from its start."""
        if not self._running().staged_an_answer:
            return self.events.message_id
        self._next_id = self._next_id or new_id()
        return self._next_id

    def _enriched(self, message: Message) -> Message:
        """A message with the additional data that clients see: approvals and the application's data."""
        asked, data = self.events.approvals, self.events.data
        if message.role == "tool" and self._approved:
            return replace(message, parts=[self._with_approval(part) for part in message.parts])
        if message.role != "assistant" or not (asked or data):
            return message
        self.events.data = []
        parts: list[Any] = []
        for part in message.parts:
            if type(part) is ToolCallPart and part.tool_call_id in asked:
                part = replace(part, approval={"id": asked[part.tool_call_id]})
            parts.append(part)
        return replace(message, parts=[*parts, *data])

    def _with_approval(self, part: Any) -> Any:
        given = self._approved.get(part.tool_call_id) if type(part) is ToolResultPart else None
        return part if given is None else with_approval(part, given)

    def _unstaged_results(self) -> Message | None:
        """Tool results that are in no message of the run."""
        links = Links(self._running().staged)
        told = {part.tool_call_id for part in links.results.values()}
        waiting = {links.calls[place].tool_call_id for place in links.unanswered()}
        left = [part for call_id, (_, part) in self.events.results.items() if call_id in waiting - told]
        return Message(role="tool", parts=list(left), state="interrupted") if left else None

    def _pending(self, requests: DeferredToolRequests) -> list[PendingCall]:
        found = []
        for kind, calls in (("approval", requests.approvals), ("external", requests.calls)):
            for call in calls:
                metadata = dict(requests.metadata.get(call.tool_call_id) or {})
                if call.tool_call_id in self.events.approvals:
                    metadata["approvalId"] = self.events.approvals[call.tool_call_id]
                found.append(PendingCall(tool_call_id=call.tool_call_id, kind=kind, metadata=metadata or UNSET))
        return found

    def _running(self) -> AsyncRun:
        if self.run is None:
            raise HansardError("this run has not started; pass `Recorder(ledger)` as a capability of the agent")
        return self.run

    # -- events and tools ------------------------------------------------------------------------------------------

    async def wrap_run_event_stream(
        self, ctx: RunContext[Any], *, stream: AsyncIterable[AgentStreamEvent]
    ) -> AsyncIterator[AgentStreamEvent]:
        self._live = ctx.messages or self._live
        if self._waits:
            async for event in durable_events(stream, self._take, self._running().run.hurry):
                yield event
            return
        async for event in stream:
            self._take(event)
            yield event

    def _take(self, event: AgentStreamEvent) -> Any:
        return self._running().write(self.events.event(event))

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, handler: Any
    ) -> Any:
        run = self._running()
        if ctx.tool_call_approved and isinstance(ctx.tool_call_metadata, dict):
            if isinstance(given := ctx.tool_call_metadata.get("approval"), dict):
                self._approved[call.tool_call_id] = given
        run.write(self.events.called(call))
        await run.durable()
        told = Call(
            ledger=self.ledger,
            thread_id=run.thread_id,
            run_id=run.id,
            message_id=self._answer_id(),
            tool_call_id=call.tool_call_id,
            agent_id=self.agent_id,
            parent=calling.get(),
        )
        token = calling.set(told)
        try:
            result = await handler(args)
        finally:
            calling.reset(token)
        run.write(self.events.returned(call, result))
        await run.durable()
        return result


def _facts(response: ModelResponse) -> list[Delta]:
    if response.finish_reason is None:
        return []
    return [MessageDelta(finish_reason=response.finish_reason)]


_RECENT_RUNS = 256


class Recorder(AbstractCapability[Any], metaclass=BriefHelp):
    """Records the runs of a Pydantic AI agent in a ledger: give it to the agent as a capability.

    `thread_id` is the thread of all runs; if omitted, each is in a thread named by its `conversation_id`. `agent_id` is
    the author of the answers; if omitted, the name of the agent.

    >>> import asyncio, hansard, pydantic_ai
    >>> from hansard.agent import ScriptedModel
    >>> async def main() -> None:
    ...     with hansard.open(":memory:") as ledger:
    ...         recorder = hansard.Recorder(ledger, "tea")
    ...         agent = pydantic_ai.Agent(ScriptedModel(["Assam."]), capabilities=[recorder])
    ...         await agent.run("Which tea?")
    ...         print([message.text for message in ledger.transcript("tea")])
    >>> asyncio.run(main())
    ['Which tea?', 'Assam.']
    """

    def __init__(self, ledger: Ledger, thread_id: str | None = None, agent_id: str | None = None) -> None:
        self.ledger, self.thread_id, self.agent_id = ledger, thread_id, agent_id
        self._recent: OrderedDict[str, RunCapability] = OrderedDict()

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: a ledger cannot be written into the description of an agent."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        """The capability that records one run; Pydantic AI calls this."""
        run = RunCapability(self.ledger, thread_id=self.thread_id, agent_id=self.agent_id)
        if ctx.run_id is not None:
            self._recent[ctx.run_id] = run
            while len(self._recent) > _RECENT_RUNS:
                self._recent.popitem(last=False)
        return run

    async def sync_tail(self, result: Any) -> None:
        """Call after a `run_stream` block: makes the thread end with exactly the messages of this result."""
        messages: Sequence[ModelMessage] = result.all_messages()
        run = next((found for m in reversed(messages) if (found := self._recent.get(m.run_id or ""))), None)
        if run is None:
            raise HansardError("no recent run of this recorder has this result; pass the one of `run_stream`")
        await run.sync_tail(messages)
