"""The agent runtime: Pydantic AI runs the agent, the ledger holds its history.

The history of a run is the thread as this agent sees it. A run is a task owned by the agent, so that a consumer that
disconnects does not stop it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models import Model
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

from hansard.agent.async_run import AsyncRun, check_owner, open_thread, stored_thread
from hansard.agent.delegation import Placed, place_run
from hansard.agent.history_match import Place
from hansard.agent.memory_store import MemoryStore, missing_methods
from hansard.agent.model_messages import model_messages, with_system_prompt
from hansard.agent.recorder import RunCapability
from hansard.agent.sse_response import (
    STOPPED,
    Answer,
    ChunkNumbers,
    headers_of,
    resumed,
    shown_or_failed,
    with_keep_alives,
)
from hansard.agent.store_runs import StoreThread, needs_ledger, stored_conversation, with_ids
from hansard.agent.stream_hub import StreamHub
from hansard.agent.thinking import default_thinking, model_settings, resolve_thinking, with_thinking
from hansard.agent.tool_call_context import calling
from hansard.agent.ui_turns import stored_path, ui_messages
from hansard.errors import Busy, Conflict, Forbidden, HansardError, NotFound
from hansard.ledger.ledger import Ledger
from hansard.ledger.live.run_handle import RunHandle
from hansard.model import native
from hansard.model.agent_view import agent_view, last_as_input
from hansard.model.conversation import Agent as Registered
from hansard.model.conversation import Conversation, Message, PendingCall, Run, Thinking
from hansard.model.default_title import chat_title
from hansard.model.parts import AnyPart, DataPart, TextPart
from hansard.model.stored import plain_messages
from hansard.streams import emitter
from hansard.streams.deltas import Delta, End
from hansard.streams.emitter_base import EventEmitter

if TYPE_CHECKING:
    from hansard.agent.chat_request import Request

Prompt: TypeAlias = str | Message | Sequence[str | AnyPart | Message] | None


_SHORTEST, _LONGEST = 0.02, 0.25  # seconds between two looks whether a thread is free


class BusyRule(NamedTuple):
    """What to do while another run is active in the thread: `stop`, `refuse` or `queue` until the deadline."""

    rule: str
    deadline: float
    timeout: float


def check_rule(rule: str) -> str:
    if rule not in ("stop", "refuse", "queue"):
        raise HansardError(f"unknown on_busy {rule!r} (choose from stop, refuse, queue)")
    return rule


SystemPrompts: TypeAlias = Callable[[str], "str | Awaitable[str | None] | None"]


class RunResult(Struct, frozen=True, kw_only=True):
    """Result of a run: its messages, its output, its pending calls."""

    thread_id: str
    run: Run
    messages: list[Message]
    output: Any = None
    pending: list[PendingCall] = []


class Agent:
    """An agent on Pydantic AI whose history is a thread of a ledger.

    `model` is a Pydantic AI model or its name; `agent=` takes a complete Pydantic AI agent instead, and `tools`,
    `instructions`, `output_type` and the arguments after `thinking` are those of one. `target` is the version of the
    AI SDK client.

    Messages are kept in `ledger`, or in a `store`: any `MemoryStore`, which is read when a run begins and written
    whenever a message is whole. `resume`, `stop`, branches and answers to pending calls need a ledger.

    `config_ref` names the agent's configuration outside the thread. `system_prompt` is a text, or a function that is
    called with that name (the agent's id without one) at each run and gives the system prompt for a history that has
    none: what ThreadProtocol leaves out of a thread comes back this way.
    >>> import asyncio, hansard
    >>> from hansard.agent import ScriptedModel
    >>> async def main() -> None:
    ...     with hansard.open(":memory:") as ledger:
    ...         agent = hansard.Agent(ScriptedModel(["Assam."]), ledger=ledger, name="waiter")
    ...         result = await agent.run("table-7", "Which tea?")
    ...         print(result.output, [message.agent_id for message in ledger.transcript("table-7")])
    >>> asyncio.run(main())
    Assam. [None, 'waiter']
    """

    def __init__(
        self,
        model: Model | str | None = None,
        *,
        ledger: Ledger | None = None,
        store: MemoryStore | None = None,
        name: str = "assistant",
        id: str | None = None,
        tools: Sequence[Any] = (),
        instructions: Any = None,
        config_ref: str | None = None,
        system_prompt: str | Sequence[str] | SystemPrompts | None = None,
        agent: PydanticAgent[Any, Any] | None = None,
        target: str = "v6",
        thinking: str | Thinking | None = None,
        output_type: Any = None,
        deps_type: Any = object,
        model_settings: Any = None,
        retries: int | None = None,
        toolsets: Sequence[Any] | None = None,
        capabilities: Sequence[Any] | None = None,
        on_busy: str = "stop",
        queue_timeout: float = 30.0,
    ) -> None:
        if (ledger is None) == (store is None):
            raise HansardError("an agent needs exactly one of ledger and store: Agent(model, ledger=hansard.open(...))")
        if store is not None and (missing := missing_methods(store)):
            raise HansardError(f"{type(store).__name__} is not a MemoryStore: it has no {', '.join(missing)}")
        self.thinking = default_thinking(thinking)
        self.store, self._ledger = store, ledger
        self._save: Callable[[Sequence[Message]], Awaitable[None]] | None = None
        self.name, self.id, self.target = name, id or name, target
        self.config_ref = config_ref
        self.on_busy, self.queue_timeout = check_rule(on_busy), queue_timeout
        self.system_prompt = system_prompt if callable(system_prompt) else None
        if agent is None:
            if model is None:
                raise HansardError("an agent needs a model: a Pydantic AI model, or a name such as 'openai:gpt-5'")
            agent = PydanticAgent(
                model,
                name=name,
                tools=list(tools),
                instructions=instructions,
                system_prompt=() if system_prompt is None or callable(system_prompt) else system_prompt,
                output_type=[str, DeferredToolRequests] if output_type is None else output_type,
                deps_type=deps_type,
                model_settings=model_settings,
                retries=retries,
                toolsets=toolsets,
                capabilities=capabilities,
            )
        self.agent = agent
        self._tasks: dict[asyncio.Task[Any], tuple[str, StreamHub]] = {}

    @property
    def ledger(self) -> Ledger:
        """The ledger of this agent; an error if it has a store instead."""
        if self._ledger is None:
            raise needs_ledger("this")
        return self._ledger

    def _require_ledger(self, what: str) -> None:
        if self._ledger is None:
            raise needs_ledger(what)

    # -- prompts ---------------------------------------------------------------------------------------------------

    async def stream(
        self,
        thread_id: str,
        prompt: Prompt = None,
        *,
        fork_from: str | UnsetType | None = UNSET,
        results: DeferredToolResults | None = None,
        deps: Any = None,
        prune: bool = False,
        resource_id: str | None = None,
        title: str | None = None,
        on_busy: str | None = None,
        queue_timeout: float | None = None,
    ) -> AsyncIterator[Delta]:
        """Send a prompt and stream the answer as deltas, each durable before it is yielded; arguments as in `start`."""
        stream, task = await self.start(
            thread_id,
            prompt,
            fork_from=fork_from,
            results=results,
            deps=deps,
            prune=prune,
            resource_id=resource_id,
            title=title,
            on_busy=on_busy,
            queue_timeout=queue_timeout,
        )
        try:
            async for delta in stream.deltas():
                yield delta
        finally:
            if calling.get() is not None:  # the caller is a run: this one ends with it
                task.cancel()

    async def run(
        self,
        thread_id: str,
        prompt: Prompt = None,
        *,
        fork_from: str | UnsetType | None = UNSET,
        results: DeferredToolResults | None = None,
        deps: Any = None,
        prune: bool = False,
        resource_id: str | None = None,
        title: str | None = None,
        on_busy: str | None = None,
        queue_timeout: float | None = None,
    ) -> RunResult:
        """Send a prompt and wait for the result; arguments as in `start`."""
        _, task = await self.start(
            thread_id,
            prompt,
            fork_from=fork_from,
            results=results,
            deps=deps,
            prune=prune,
            resource_id=resource_id,
            title=title,
            on_busy=on_busy,
            queue_timeout=queue_timeout,
        )
        if calling.get() is None:
            return await asyncio.shield(task)
        try:  # the caller is a run: this one ends with it
            return await task
        except asyncio.CancelledError:
            here = asyncio.current_task()
            if task.cancelled() and (here is None or not here.cancelling()):
                raise Conflict(f"the run of agent {self.id!r} was stopped") from None
            raise

    async def start(
        self,
        thread_id: str,
        prompt: Prompt = None,
        *,
        fork_from: str | UnsetType | None = UNSET,
        shown_id: str | None = None,
        results: DeferredToolResults | None = None,
        deps: Any = None,
        prune: bool = False,
        resource_id: str | None = None,
        title: str | None = None,
        on_busy: str | None = None,
        queue_timeout: float | None = None,
    ) -> tuple[StreamHub, asyncio.Task[RunResult]]:
        """Start a run and return its stream and its task.

        `prompt` is a text, a `Message`, or None to answer the head of the thread. `fork_from` is the message after
        which the run (or the prompt) is added, None for the root. `results` answer pending calls; `shown_id` is the
        clients' id of the answer that continues with them. `prune` deletes what the run replaces (everything else after
        `fork_from`) when it commits; a run that fails deletes nothing.

        A new thread belongs to the user `resource_id` and is called `title`, or as its first prompt begins; the thread
        of another user is reported as not found.

        A thread has one run at a time. While another one is active, in any process, `on_busy` decides: `stop` stops it,
        `refuse` raises `Busy`, `queue` waits for its end, at most `queue_timeout` seconds; the agent has the defaults.

        Inside a tool of another run, a run in the thread of that run gets a sub-thread of its own.
        """
        if self.store is not None:
            if fork_from is not UNSET:
                raise needs_ledger("a branch")
            if prune:
                raise needs_ledger("prune")
            if results is not None:
                raise needs_ledger("an answer to pending calls")
            return await self._start_in(await self._thread_of_store(thread_id), prompt, deps)
        model = self.agent.model
        model_name = model if isinstance(model, str) else getattr(model, "model_name", None)
        registered = Registered(
            id=self.id, name=self.name, model=model_name or UNSET, config_ref=self.config_ref or UNSET
        )
        said = _messages_of(prompt)
        if said:
            said = with_thinking(said, resolve_thinking(self.thinking, said))
        title = title or chat_title(said)
        placed = await place_run(self.ledger, thread_id, self.id)
        try:
            return await self._start(
                placed,
                registered,
                said,
                fork_from,
                shown_id,
                results,
                deps,
                prune,
                resource_id,
                title,
                self._busy_rule(on_busy, queue_timeout),
            )
        except BaseException:
            placed.end()
            raise

    async def _start(
        self,
        placed: Placed,
        registered: Registered,
        said: list[Message],
        fork_from: str | UnsetType | None,
        shown_id: str | None,
        results: DeferredToolResults | None,
        deps: Any,
        prune: bool,
        resource_id: str | None,
        title: str | None,
        busy: BusyRule,
    ) -> tuple[StreamHub, asyncio.Task[RunResult]]:
        thread_id, point = placed.thread_id, fork_from  # a prompt moves the run after it, and belongs to the branch
        await open_thread(self.ledger, thread_id, registered, resource_id=resource_id, title=title, placed=placed)
        while True:
            await self._make_way(thread_id, busy)
            before = (await self._place(thread_id, fork_from)).before
            if results is None and not said:
                check_answerable(before, self.id)
            thinking = resolve_thinking(self.thinking, [*before, *said])
            metadata: dict[str, Any] = {} if shown_id is None else {"messageId": shown_id}
            if thinking is not None:
                metadata["thinking"] = native.plain(thinking)
            try:
                begun = await self.ledger.aio.begin_run(
                    thread_id, self.id, fork_from=fork_from, metadata=metadata or UNSET, prompt=said, alone=True
                )
            except Busy:  # another one began in the meantime
                continue
            break
        place = await self._place(thread_id, UNSET if said else fork_from)
        stream = StreamHub(begun.id)
        recorder = RunCapability(
            self.ledger,
            thread_id=thread_id,
            agent_id=self.id,
            place=place,
            listener=stream,
            waits=False,
            begun=begun,
            preface=handoff(place.before, self.id),
            save=self._save,
            prune={"prune": True, "prune_after": point} if prune else None,
        )
        task = asyncio.create_task(self._run(begun, place, recorder, results, deps, stream, thinking))
        loop = asyncio.get_running_loop()

        def cancel() -> None:  # the run was stopped elsewhere
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(task.cancel)

        begun.when_lost(cancel)
        self._tasks[task] = thread_id, stream
        task.add_done_callback(self._ended)
        task.add_done_callback(lambda _: placed.end())
        return stream, task

    def _busy_rule(self, on_busy: str | None, queue_timeout: float | None) -> BusyRule:
        wait = self.queue_timeout if queue_timeout is None else queue_timeout
        return BusyRule(check_rule(on_busy or self.on_busy), time.monotonic() + wait, wait)

    async def _make_way(self, thread_id: str, busy: BusyRule) -> None:
        """Wait for the active run of a thread, stop it, or raise `Busy`."""
        pause = _SHORTEST
        while await self.active_run(thread_id) is not None:
            if busy.rule == "stop":
                await self.stop(thread_id)
            elif busy.rule == "refuse":
                raise Busy(f"a run is active in thread {thread_id!r}; wait until it has ended, or stop it")
            elif time.monotonic() >= busy.deadline:
                raise Busy(f"a run is still active in thread {thread_id!r} after {busy.timeout:g} seconds; stop it")
            else:
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, _LONGEST)

    # -- a store of others -----------------------------------------------------------------------------------------

    async def _thread_of_store(self, thread_id: str) -> StoreThread:
        assert self.store is not None
        for task, (thread, stream) in list(self._tasks.items()):
            if thread == thread_id and not stream.ended:
                raise Conflict(f"a run is active in thread {thread_id!r}; wait for it: stopping it needs a ledger")
            if thread == thread_id:
                await asyncio.gather(task, return_exceptions=True)
        return await StoreThread.load(self.store, thread_id)

    async def _start_in(
        self, thread: StoreThread, prompt: Prompt, deps: Any
    ) -> tuple[StreamHub, asyncio.Task[RunResult]]:
        inner = Agent(
            agent=self.agent,
            ledger=thread.ledger,
            name=self.name,
            id=self.id,
            target=self.target,
            thinking=self.thinking,
        )
        inner._save = thread.save
        try:
            said = None
            if prompt is not None:
                said = with_ids(_messages_of(prompt))
                await thread.save(said)
            stream, running = await inner.start(thread.thread_id, said, deps=deps)
        except BaseException:
            await thread.close()
            raise

        async def finish() -> RunResult:
            try:
                return await running
            finally:
                await thread.close()

        task = asyncio.create_task(finish())
        self._tasks[task] = thread.thread_id, stream
        task.add_done_callback(self._ended)
        return stream, task

    async def _place(self, thread_id: str, fork_from: Any) -> Place:
        path = plain_messages(await self.ledger.aio.transcript(thread_id))
        if fork_from is not UNSET:
            ids = [message.id for message in path]
            if fork_from is not None and fork_from not in ids:
                path = plain_messages(await self.ledger.aio.transcript(thread_id, fork_from))
            else:
                path = path[: ids.index(fork_from) + 1] if fork_from is not None else []
        return Place(path, fork_from)

    async def _run(
        self,
        begun: RunHandle,
        place: Place,
        recorder: RunCapability,
        results: DeferredToolResults | None,
        deps: Any,
        stream: StreamHub,
        thinking: Thinking | None,
    ) -> RunResult:
        thread_id = begun.thread_id
        try:
            thread = await stored_thread(self.ledger, thread_id)
            seen = Conversation(messages=place.before, id=thread_id, agents=thread.agents)
            view = agent_view(seen, self.id)
            history = model_messages(view if results is not None else last_as_input(view, self.id))
            if self.system_prompt is not None:
                config_ref = self.config_ref
                if self.id in thread.agents:
                    config_ref = thread.agents[self.id].config_ref
                given = self.system_prompt(config_ref or self.id)
                history = with_system_prompt(history, await given if isawaitable(given) else given)
            result = await self.agent.run(
                message_history=history,
                conversation_id=thread_id,
                run_id=begun.id,
                deferred_tool_results=results,
                deps=deps,
                capabilities=[recorder],
                model_settings=model_settings(thinking),
            )
            run = recorder.run
            if run is None:
                raise HansardError(f"the run in thread {thread_id!r} was not recorded")
            ended: Run = await self.ledger.aio.get_run(thread_id, run.id)
            pending = ended.pending if isinstance(ended.pending, list) else []
            return RunResult(thread_id=thread_id, run=ended, messages=run.staged, output=result.output, pending=pending)
        except BaseException as error:
            if recorder.run is None:  # it failed before the recorder took it over
                with suppress(HansardError):
                    await asyncio.shield(AsyncRun(self.ledger, begun, self.id).fail(error))
            raise
        finally:
            stream.end()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled():
            task.exception()  # recorded in the ledger; listeners get it from the stream

    async def wait(self) -> None:
        """Wait until all runs of this agent have ended."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- the AI SDK ------------------------------------------------------------------------------------------------

    def sse(
        self,
        body: dict[str, Any],
        *,
        target: str | None = None,
        deps: Any = None,
        prune: bool = False,
        allow_prune: bool = False,
        resource_id: str | None = None,
        title: str | None = None,
        on_busy: str | None = None,
        queue_timeout: float | None = None,
    ) -> Answer:
        """Answer a request of an AI SDK client with the bytes of its stream: `async for data in agent.sse(body)`.

        The call rejects an invalid body; `await agent.sse(body)` also rejects a request that contradicts the thread,
        and returns the started stream. So a route can still answer with `error.status`.

        `prune` deletes what an edited or regenerated answer replaces. With `allow_prune` the client decides, by `prune`
        in the body; without, a body that asks for it is `Forbidden` (403).
        `resource_id` is the user who asks: a new thread is theirs, the thread of another user is not found (404).
        `on_busy` and `queue_timeout` are those of `start`: a second request in a thread stops the first, is refused
        (409), or waits.
        """
        from hansard.agent.chat_request import Request

        request, version = Request(body), target or self.target
        if request.prune and not allow_prune:
            raise Forbidden("$.prune: this server does not delete what an answer replaces; leave prune out")
        emitter("ai-sdk-ui", target=version)
        prune = prune or request.prune
        busy = self._busy_rule(on_busy, queue_timeout)
        return Answer(lambda: self._answer(request, version, deps, prune, resource_id, title, busy))

    async def _answer(
        self,
        request: Request,
        target: str,
        deps: Any,
        prune: bool,
        resource_id: str | None,
        title: str | None,
        busy: BusyRule,
    ) -> tuple[AsyncGenerator[bytes, None], dict[str, str]]:
        from hansard.agent.chat_request import ask

        if self.store is not None:
            thread = await self._thread_of_store(request.thread_id)
            try:
                asked = await ask(thread.ledger, request)
                if prune or asked.fork_from is not UNSET or not asked.prompts:
                    raise needs_ledger("prune" if prune else "a branch")
            except BaseException:
                await thread.close()
                raise
            stream, _ = await self._start_in(thread, asked.prompts, deps)
        else:
            await check_owner(self.ledger, request.thread_id, resource_id)
            if busy.rule != "stop" or request.trigger == "regenerate-message":  # it may replace an active answer
                await self._make_way(request.thread_id, busy)
            else:
                await self.active_run(request.thread_id)
            asked = await ask(self.ledger, request)
            stream, _ = await self.start(
                asked.thread_id,
                asked.prompts or None,
                fork_from=asked.fork_from,
                shown_id=asked.shown_id,
                results=asked.results,
                deps=deps,
                prune=prune,
                resource_id=resource_id,
                title=title,
                on_busy=busy.rule,
                queue_timeout=max(0.0, busy.deadline - time.monotonic()),
            )
        shown: Any = emitter("ai-sdk-ui", target=target, message_id=asked.shown_id)
        shown.about = {"agent": {"id": self.id, "name": self.name}}
        if asked.results is not None:
            shown.go_on([*asked.results.calls, *asked.results.approvals])
        data = self._emitted(shown, asked.thread_id, stream)
        await anext(data)
        return data, headers_of(stream.run_id if self.store is None else None)

    async def ui_messages(
        self, thread_id: str, *, target: str | None = None, resource_id: str | None = None
    ) -> list[dict[str, Any]]:
        """The initial UIMessages for a client of a thread; empty for a new thread."""
        if self._ledger is not None:
            await check_owner(self.ledger, thread_id, resource_id)
        try:
            if self.store is not None:
                said = await stored_conversation(self.store, thread_id)
            else:
                await self.active_run(thread_id)
                said = await asyncio.to_thread(stored_path, self.ledger, thread_id)
        except NotFound:
            return []
        return await asyncio.to_thread(ui_messages, said, target or self.target)

    async def resume(
        self,
        thread_id: str,
        *,
        start: int | None = None,
        target: str | None = None,
        resource_id: str | None = None,
    ) -> Answer | None:
        """The stream of the active run of a thread, from any process; None without one.

        `start` is the number of the first chunk wanted, negative from the end (`resume_point` reads it from a request):
        a client that has chunks also gets the rest of the last run after it has ended, and None if there is none.
        Clients may name the run, as `headers` do, in place of the thread: then its chunks are those of `sse`. For a
        thread, those of an answer that continues an earlier one begin with the chunks of that one.
        """
        self._require_ledger("resume")
        version = target or self.target
        if await check_owner(self.ledger, thread_id, resource_id) is not None:
            run = await self.active_run(thread_id)
            if run is None and start is not None:
                run = await self.ledger.aio.newest_run(thread_id)
            return None if run is None else await resumed(self.ledger, run, version, start=start, rebuild=True)
        try:
            run = await self.ledger.aio.find_run(thread_id)
            await check_owner(self.ledger, run.thread_id or "", resource_id)
        except NotFound:  # or another user's
            return None
        return await resumed(self.ledger, run, version, start=start or 0, rebuild=False)

    async def _said(self, thread_id: str, stream: StreamHub) -> AsyncIterator[Delta]:
        """The deltas of a stream; of a run that was stopped, here or elsewhere, also its end."""
        over = False
        async for delta in stream.deltas():
            over = isinstance(delta, End)
            yield delta
        if not over and self._ledger is not None:
            if (await self.ledger.aio.get_run(thread_id, stream.run_id)).status == "aborted":
                for delta in STOPPED:
                    yield delta

    async def _emitted(self, shown: EventEmitter, thread_id: str, stream: StreamHub) -> AsyncGenerator[bytes, None]:
        numbers = ChunkNumbers()
        try:
            yield b""  # started, so that a disconnect before the first byte is noticed too
            async for data in with_keep_alives(shown_or_failed(shown, self._said(thread_id, stream)), numbers):
                yield data
        finally:
            stream.leave()

    async def active_run(self, thread_id: str) -> Run | None:
        """The active run of a thread. A run whose process died is ended first."""
        self._require_ledger("active_run")
        try:
            runs = await self.ledger.aio.active_runs(thread_id)
            if runs and await self.ledger.aio.recover(thread_id):
                runs = await self.ledger.aio.active_runs(thread_id)
        except NotFound:
            return None
        return runs[-1] if runs else None

    async def stop(self, thread_id: str, *, resource_id: str | None = None) -> bool:
        """Stop the active run of a thread; its partial answer stays, marked as interrupted."""
        self._require_ledger("stop")
        await check_owner(self.ledger, thread_id, resource_id)
        run = await self.active_run(thread_id)
        if run is None:
            return False
        await self._stop_below(thread_id)
        await self.ledger.aio.stop(thread_id, run.id)
        for task, (thread, _) in list(self._tasks.items()):
            if thread == thread_id:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        return True

    async def _stop_below(self, thread_id: str) -> None:
        """Stop the runs that runs of this thread began."""
        for sub in await self.ledger.aio.sub_threads(thread_id):
            for run in await self.ledger.aio.active_runs(sub.id):
                await self._stop_below(sub.id)
                await self.ledger.aio.stop(sub.id, run.id)

    async def close(self) -> None:
        """Abort all runs of this agent; what clients saw of their answers stays."""
        for task in list(self._tasks):
            task.cancel()
        await self.wait()


def _messages_of(prompt: Prompt) -> list[Message]:
    """The messages that a prompt adds to the thread."""
    if prompt is None:
        return []
    if isinstance(prompt, list) and prompt and all(isinstance(one, Message) for one in prompt):
        return [*prompt]
    return [user_message(prompt)]


def handoff(path: Sequence[Message], agent_id: str) -> list[Message]:
    """A hand-off event if the last message is from another agent."""
    for message in reversed(path):
        if message.role == "assistant" and type(message.agent_id) is str:
            if message.agent_id == agent_id:
                return []
            told = DataPart(name="agent.handoff", data={"from": message.agent_id, "to": agent_id})
            sides = {"source_agent": message.agent_id, "target_agents": [agent_id]}
            return [Message(role="event", parts=[told], agent_id=agent_id, metadata=sides)]
    return []


def check_answerable(path: Sequence[Message], agent_id: str) -> None:
    """Raise if the last message is an answer of this agent: its model would not be asked again."""
    last = next((message for message in reversed(path) if message.role != "event"), None)
    if last is not None and last.role == "assistant" and not last.calls and last.agent_id in (agent_id, UNSET):
        raise HansardError(
            f"nothing to answer: the last message is an answer of {agent_id!r}; "
            "give a prompt, or fork_from=<id of a user message>"
        )


def user_message(prompt: Any) -> Message:
    """A text, parts or a message."""
    if isinstance(prompt, Message):
        return prompt
    if isinstance(prompt, str):
        return Message(role="user", parts=[TextPart(text=prompt)])
    if isinstance(prompt, (list, tuple)):
        return Message(role="user", parts=[TextPart(text=part) if isinstance(part, str) else part for part in prompt])
    raise HansardError(f"a prompt is a text, a list of parts or a Message, not {type(prompt).__name__}")
