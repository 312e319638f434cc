"""`Ledger`: threads, messages, branches, runs and search, durable when a call returns.

The facade of this package: each method is one job in one transaction and calls a rules module (`threads`, `messages`,
`tree`, `conversations`, `runs`, `live`, `search`, `maintenance`). `ledger.aio` has the same methods, awaited.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from msgspec import UNSET, UnsetType

from hansard.errors import HansardError
from hansard.ledger import conversations, limits, runs, sub_agents, threads, tree
from hansard.ledger.analysis.row_types import (
    CallsRow,
    FilesRow,
    MessagesRow,
    PromptsRow,
    Table,
    ThreadsRow,
    UsageRow,
)
from hansard.ledger.backends.driver import Driver, Job, Tx
from hansard.ledger.ids import NewIds, clock, new_id
from hansard.ledger.live.journal import LEASE, Journal
from hansard.ledger.live.run_handle import RunHandle
from hansard.ledger.messages import HeadCache, prepare
from hansard.ledger.results import (
    Branch,
    Facet,
    Hit,
    Journaled,
    NumberedDelta,
    Page,
    Pending,
    Problem,
    Projected,
    Pruned,
    Stats,
    StoredThread,
    SubAgent,
    Synced,
    Tombstone,
    TreeNode,
)
from hansard.ledger.rows import find_place, find_run, find_thread
from hansard.ledger.search import facets, index
from hansard.ledger.search.query import search
from hansard.model.conversation import Agent, Conversation, Message, PendingCall, Run, Usage
from hansard.model.parts import ToolResultPart
from hansard.model.request import Settings, Tool
from hansard.model.stored import StoredMessage, StoredRun, stored_message, stored_run

if TYPE_CHECKING:
    from hansard.ledger.live.stream_tee import StreamTee
else:
    StreamTee = Any  # slow to import; so hints resolve without it

T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int], None]


class Ledger:
    """Threads of messages in a database. Open one with `hansard.open`; use it as a context manager, from many threads.

    >>> import hansard
    >>> from hansard.model import Message, TextPart
    >>> with hansard.open(":memory:") as ledger:
    ...     thread = ledger.create_thread(title="Tea")
    ...     asked = ledger.append(thread.id, Message(role="user", parts=[TextPart(text="Which tea?")]))
    ...     [message.role for message in ledger.transcript(thread.id)]
    ['user']
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._heads = HeadCache()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close files and connections. What was acknowledged is durable without it."""
        if "_journal" in self.__dict__:
            self._journal.stop()
        self._driver.close()

    @cached_property
    def aio(self) -> AsyncLedger:
        """The same methods, awaited; concurrent appends share commits."""
        return AsyncLedger(self)

    @property
    def dialect(self) -> str:
        """The kind of database: `sqlite` or `postgres`."""
        return self._driver.dialect

    @property
    def migrated(self) -> list[str]:
        """The migrations that were applied when this ledger was opened."""
        return list(self._driver.migrated)

    @cached_property
    def _journal(self) -> Journal:
        return Journal(self._driver)

    def _read(self, job: Job[T]) -> T:
        return self._driver.read(job)

    def _read_replica(self, job: Job[T]) -> T:
        return self._driver.read_replica(job)

    def _write(self, job: Job[T]) -> T:
        return self._driver.write(job)

    # -- threads ---------------------------------------------------------------------------------------------------

    def create_thread(
        self,
        id: str | None = None,
        *,
        title: str | UnsetType | None = None,
        resource_id: str | UnsetType | None = None,
        metadata: dict[str, Any] | UnsetType | None = None,
        agents: Sequence[Agent] | UnsetType | None = None,
        parent_thread_id: str | UnsetType | None = None,
    ) -> StoredThread:
        """Create a thread. Creating it again with the same description returns the existing one."""
        value = Conversation(
            messages=[],
            id=new_id() if id is None else id,
            title=_given(title),
            resource_id=_given(resource_id),
            metadata=_given(metadata),
            agents={agent.id: agent for agent in agents} if agents is not None and agents is not UNSET else UNSET,
            parent_thread_id=_given(parent_thread_id),
        )
        return self._write(partial(threads.create, value=value, now=clock()))

    def thread(self, thread_id: str) -> StoredThread:
        """The current state of a thread."""
        return self._read(lambda tx: threads.described(tx, find_thread(tx, thread_id)))

    def sub_threads(self, thread_id: str, tool_call_id: str | None = None) -> list[StoredThread]:
        """The threads of the runs that were begun inside runs of this thread, of one call or of all.

        Their `metadata["call"]` names the run, message and call. Forks of the thread are not among them.
        """

        def job(tx: Tx) -> list[StoredThread]:
            return threads.below(tx, find_thread(tx, thread_id), tool_call_id)

        return self._read(job)

    def threads(
        self, *, limit: int = 50, after: str | None = None, newest: bool = True, resource_id: str | None = None
    ) -> Page[StoredThread]:
        """A page of threads, ordered by last change; `after` is the `next` of the previous page."""
        limit = limits.check_page(limit)
        return self._read_replica(lambda tx: threads.page(tx, limit, after, newest, resource_id))

    def threads_where(
        self,
        *,
        format: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        project: str | None = None,
        resource_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 50,
        after: str | None = None,
        newest: bool = True,
    ) -> Page[StoredThread]:
        """A page of the threads that match all filters, ordered by last change; `facts` lists the possible values.

        `project` is a working directory; `since` and `until` are times as in a `search` query.
        """
        limit = limits.check_page(limit, limits.HITS)
        filters = facets.ThreadFilter(
            format=format,
            agent=agent,
            model=model,
            project=project,
            resource_id=resource_id,
            since=since,
            until=until,
        ).values(clock())
        index.catch_up(self._driver)
        return self._driver.read_replica(lambda tx: facets.page(tx, limit, after, newest, filters))

    def iter_threads(
        self,
        *,
        format: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        project: str | None = None,
        resource_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        newest: bool = True,
        batch: int = 200,
    ) -> Iterator[StoredThread]:
        """All threads that match the filters of `threads_where`, by last change, loaded a page at a time."""
        filters = {"format": format, "agent": agent, "model": model, "project": project, "since": since, "until": until}
        plain = all(value is None for value in filters.values())
        after: str | None = None
        while True:
            if plain:  # no facets are collected
                page = self.threads(limit=batch, after=after, newest=newest, resource_id=resource_id)
            else:
                page = self.threads_where(
                    format=format,
                    agent=agent,
                    model=model,
                    project=project,
                    resource_id=resource_id,
                    since=since,
                    until=until,
                    limit=batch,
                    after=after,
                    newest=newest,
                )
            yield from page.items
            if (after := page.next) is None:
                return

    def find_threads(self, text: str, *, limit: int = 10) -> list[StoredThread]:
        """The threads whose id starts with this text or whose title equals it, newest first."""
        return self._read(lambda tx: threads.named(tx, text, limit))

    def update_thread(
        self,
        thread_id: str,
        *,
        title: str | UnsetType | None = UNSET,
        resource_id: str | UnsetType | None = UNSET,
        metadata: dict[str, Any] | UnsetType | None = None,
        agents: Sequence[Agent] | UnsetType | None = None,
    ) -> StoredThread:
        """Change the description of a thread. Agents are added to its registry; metadata is replaced."""
        now = clock()
        return self._write(
            lambda tx: threads.update(tx, thread_id, now, title, resource_id, _given(metadata), _given(agents))
        )

    # -- messages --------------------------------------------------------------------------------------------------

    @overload
    def append(
        self,
        thread_id: str,
        messages: Message,
        *,
        parent: str | UnsetType | None = UNSET,
        expected_head: str | UnsetType | None = UNSET,
    ) -> StoredMessage: ...

    @overload
    def append(
        self,
        thread_id: str,
        messages: Sequence[Message],
        *,
        parent: str | UnsetType | None = UNSET,
        expected_head: str | UnsetType | None = UNSET,
    ) -> list[StoredMessage]: ...

    def append(
        self,
        thread_id: str,
        messages: Message | Sequence[Message],
        *,
        parent: str | UnsetType | None = UNSET,
        expected_head: str | UnsetType | None = UNSET,
    ) -> StoredMessage | list[StoredMessage]:
        """Append messages after the head of a thread. Returns them as stored, with ids and times.

        Appending a message again under the same id changes nothing; a different message under that id is a `Conflict`.
        `parent` (or the first message's own) appends after another message (None: before all), which switches the
        active branch. `expected_head` makes a moved head a `Conflict`.
        """
        now = clock()
        items = [prepare(message, now) for message in ([messages] if isinstance(messages, Message) else messages)]
        if parent is UNSET and items:
            parent = items[0].message.parent_message_id
        one = isinstance(messages, Message)
        done = self._heads.append_on_server(self._driver, thread_id, items, now, parent, expected_head)
        if done is not None:
            return done[0] if one else done

        def job(tx: Tx) -> Any:
            stored = self._heads.append(self._driver, tx, thread_id, items, now, parent, expected_head)
            return stored[0] if one else stored

        return self._write(job)  # type: ignore[no-any-return]

    def get(self, thread_id: str, message_id: str) -> StoredMessage:
        """One message of a thread, on any branch."""
        return self._read(lambda tx: tree.message(tx, thread_id, message_id))

    def messages(
        self,
        thread_id: str,
        *,
        limit: int = 50,
        newest: bool = True,
        before: str | None = None,
        after: str | None = None,
        head: str | None = None,
    ) -> Page[StoredMessage]:
        """A page of the transcript, newest or oldest messages first.

        `before` and `after` are ids of messages on the branch. Pass `next` of a page as `before` (newest first) or as
        `after` (oldest first) to get the following page. `head` selects another branch by its last message.
        """
        limit = limits.check_page(limit)
        return self._read(
            lambda tx: tree.page(tx, thread_id, limit, newest=newest, before=before, after=after, head=head)
        )

    def transcript(self, thread_id: str, head: str | None = None) -> list[StoredMessage]:
        """All messages of the active branch, or of the branch that ends with `head`."""
        return self._read_replica(lambda tx: tree.transcript(tx, thread_id, head))

    def iter_messages(self, thread_id: str, head: str | None = None, *, batch: int = 500) -> Iterator[StoredMessage]:
        """The messages of a branch, oldest first, loaded a page at a time."""
        after: str | None = None
        tip = head or self.thread(thread_id).head
        while tip is not None:
            page = self.messages(thread_id, limit=batch, newest=False, after=after, head=tip)
            yield from page.items
            if (after := page.next) is None:
                return

    iter_transcript = iter_messages

    # -- branches --------------------------------------------------------------------------------------------------

    def branches(self, thread_id: str) -> list[Branch]:
        """All branches of a thread, the active one first."""
        return self._read(lambda tx: tree.branches(tx, find_thread(tx, thread_id)))

    def tree(self, thread_id: str) -> list[TreeNode]:
        """Every message with its parent, in the order they were written."""
        return self._read(lambda tx: tree.nodes(tx, find_thread(tx, thread_id)))

    def sub_agents(self, thread_id: str) -> list[SubAgent]:
        """The sub-agents whose messages are in a thread, as coding agents record them, with what each used."""
        return self._read(lambda tx: sub_agents.of_thread(tx, find_thread(tx, thread_id)))

    def checkout(self, thread_id: str, message_id: str | None, *, tip: bool = False) -> StoredThread:
        """Move the head to a message (with `tip`: to the end of its branch). All branches are kept."""
        now = clock()
        return self._write(lambda tx: threads.checkout(tx, thread_id, message_id, now, tip=tip))

    def fork(self, thread_id: str, message_id: str | None, *, prune: bool = False) -> StoredThread:
        """Continue from an earlier message (None: from the start): the next append creates a new branch.

        `prune` deletes everything after that message, which is otherwise kept; branches of active runs stay.
        """
        now = clock()

        def job(tx: Tx) -> StoredThread:
            found = threads.checkout(tx, thread_id, message_id, now, tip=False)
            if not prune:
                return found
            from hansard.ledger.maintenance import prune as pruning

            thread = find_thread(tx, thread_id, lock=True)
            pruning.prune_after(tx, thread, thread.head[:2])
            return threads.described(tx, find_thread(tx, thread_id))

        return self._write(job)

    # -- whole conversations ---------------------------------------------------------------------------------------

    def sync(self, thread_id: str, conversation: Conversation) -> Synced:
        """Add what is new of a conversation. Known messages are recognised by content; differing ones become a branch.

        The thread is created if it does not exist. Messages are stored as they are.
        """
        incoming = conversations.Incoming(conversation, thread_id)
        now = clock()
        return self._write(lambda tx: conversations.merge(tx, incoming, now))

    def import_conversation(self, conversation: Conversation, thread_id: str | None = None) -> StoredThread:
        """Store a conversation as a thread, under its id or a new one. A second import adds only new messages."""
        key = thread_id or (conversation.id if isinstance(conversation.id, str) and conversation.id else new_id())
        incoming = conversations.Incoming(conversation, key)
        now = clock()
        return self._write(lambda tx: conversations.import_as_thread(tx, incoming, now))

    def export_conversation(self, thread_id: str) -> Conversation:
        """A thread as one value, with all branches, runs and snapshots, and bodies as they came."""
        return self._read_replica(lambda tx: conversations.export(tx, find_thread(tx, thread_id)))

    # -- runs ------------------------------------------------------------------------------------------------------

    def begin_run(
        self,
        thread_id: str,
        agent_id: str | UnsetType | None = None,
        *,
        fork_from: str | UnsetType | None = UNSET,
        id: str | None = None,
        metadata: dict[str, Any] | UnsetType | None = None,
        tools: list[Tool] | UnsetType | None = None,
        settings: Settings | UnsetType | None = None,
        prompt: Sequence[Message] = (),
        alone: bool = False,
    ) -> RunHandle:
        """Begin an agent run after the head, or after the message it forks from (None: before all messages).

        `tools` and `settings` are those of its request: an export of the thread has those of the run at its head.
        `prompt` is appended there first, in the same transaction. With `alone` another active run of the thread is
        `Busy`, and nothing is written.
        """
        value = Run(
            id=id or new_id(),
            agent_id=_given(agent_id),
            tools=_given(tools),
            settings=_given(settings),
            metadata=_given(metadata),
        )
        now = clock()
        items = [prepare(message, now) for message in prompt]

        def job(tx: Tx) -> Any:
            if alone:
                runs.check_idle(tx, thread_id, value.id, now)
            if items:
                self._heads.append(self._driver, tx, thread_id, items, now, fork_from, UNSET)
            return runs.begin(tx, thread_id, value, UNSET if items else fork_from, now + LEASE, now)

        run, buffer = self._write(job)
        return RunHandle(self, run, buffer)

    def get_run(self, thread_id: str, run_id: str) -> StoredRun:
        """The current state of a run."""
        return self._read(lambda tx: stored_run(find_run(tx, find_thread(tx, thread_id), run_id).value))

    run = get_run

    def runs(self, thread_id: str) -> list[StoredRun]:
        """All runs of a thread, in the order they began."""
        return self._read(lambda tx: [stored_run(run) for run in runs.all_runs(tx, thread_id)])

    def active_runs(self, thread_id: str) -> list[StoredRun]:
        """The active runs of a thread, in the order they began."""
        return self._read(lambda tx: [stored_run(run) for run in runs.active_runs(tx, thread_id)])

    def newest_run(self, thread_id: str) -> StoredRun | None:
        """The run of a thread that began last; None if it has none."""
        return self._read(lambda tx: None if (run := runs.newest_run(tx, thread_id)) is None else stored_run(run))

    def find_run(self, run_id: str) -> StoredRun:
        """The run with this id, in whatever thread it is."""
        return self._read(lambda tx: stored_run(runs.run_by_id(tx, run_id)))

    def run_messages(self, thread_id: str, run_id: str) -> list[StoredMessage]:
        """The messages of a run, staged or committed."""
        return self._read(lambda tx: runs.messages(tx, thread_id, run_id))

    def stage(
        self,
        thread_id: str,
        run_id: str,
        messages: Message | Sequence[Message],
        *,
        fence: int | None = None,
        through: int | None = None,
        tools: list[Tool] | UnsetType | None = None,
        settings: Settings | UnsetType | None = None,
    ) -> list[StoredMessage]:
        """Store messages of an active run: durable, but not in the transcript until the run commits.

        `through`: the number of the run's deltas that the staged messages cover. `tools` and `settings`: those of its
        last request, if they changed.
        """
        now = clock()
        given = [messages] if isinstance(messages, Message) else list(messages)
        items = [prepare(runs.with_run_id(message, run_id), now) for message in given]

        asked = _given(tools), _given(settings)

        return self._write(lambda tx: runs.stage(tx, thread_id, run_id, fence, items, now, through, asked))

    def commit(
        self,
        thread_id: str,
        run_id: str,
        *,
        pending: list[PendingCall] | UnsetType | None = None,
        usage: Usage | UnsetType | None = None,
        force: bool = False,
        prune: bool = False,
        prune_after: str | UnsetType | None = UNSET,
        fence: int | None = None,
    ) -> StoredRun:
        """Put a run into the transcript, atomically. `prune` deletes what it replaces, which is otherwise kept.

        What it replaces is everything after the message that it forks from (or after `prune_after`, an earlier message
        of its branch) but not on its branch. Rows of runs stay, without messages; so do branches of active runs.
        """
        now = clock()

        def job(tx: Tx) -> StoredRun:
            done = runs.commit(
                tx, thread_id, run_id, fence, now, pending=_given(pending), usage=_given(usage), force=force
            )
            if prune:
                from hansard.ledger.maintenance import prune as pruning

                thread = find_thread(tx, thread_id, lock=True)
                run = find_run(tx, thread, run_id)
                place = (run.fork_seg, run.fork_depth)
                if prune_after is not UNSET:
                    place = (0, 0) if prune_after is None else find_place(tx, thread, prune_after)[:2]
                pruning.prune_after(tx, thread, place)
            return stored_run(done)

        return self._write(job)

    def abort(self, thread_id: str, run_id: str, *, fence: int | None = None) -> StoredRun:
        """Give a run up. If text or a call of it was streamed, its messages stay in the transcript as interrupted."""
        return self._end_run(thread_id, run_id, fence, "aborted", UNSET)

    def fail(self, thread_id: str, run_id: str, error: Any, *, fence: int | None = None) -> StoredRun:
        """Mark a run as failed, with its error. Its messages stay as those of an aborted run do."""
        return self._end_run(thread_id, run_id, fence, "failed", error)

    def _end_run(self, thread_id: str, run_id: str, fence: int | None, status: str, error: Any) -> StoredRun:
        from hansard.ledger.live.interrupt import end

        now, ids = clock(), NewIds()
        return self._write(lambda tx: stored_run(end(tx, thread_id, run_id, fence, status, error, now, ids)))

    def stop(self, thread_id: str, run_id: str) -> StoredRun:
        """Abort a run from any process: what was streamed of it stays in the transcript as interrupted."""
        from hansard.ledger.live.interrupt import stop

        now, ids = clock(), NewIds()
        return self._write(lambda tx: stored_run(stop(tx, thread_id, run_id, now, ids)))

    def recover(self, thread_id: str | None = None) -> list[tuple[str, str]]:
        """End the runs whose process died as failed; (thread, run) of each.

        What was streamed of them stays in the transcript as interrupted. With `thread_id` only the runs of that thread.
        """
        from hansard.ledger.live.interrupt import recover, recover_thread

        if thread_id is not None:
            return recover_thread(self._driver, thread_id, clock())
        return recover(self._driver, clock())

    def pending(self, thread_id: str) -> list[Pending]:
        """The tool calls that wait for an approval or for an external result."""
        return self._read(lambda tx: runs.pending(tx, thread_id))

    def resolve(self, thread_id: str, results: ToolResultPart | Sequence[ToolResultPart]) -> StoredMessage:
        """Answer pending calls with one tool message after the head."""
        now = clock()
        given = [results] if isinstance(results, ToolResultPart) else list(results)
        calls = [part.tool_call_id for part in given if isinstance(part.tool_call_id, str)]
        item = prepare(Message(role="tool", parts=list(given)), now)

        def job(tx: Tx) -> StoredMessage:
            runs.resolve(tx, thread_id, calls, [item], now)
            return stored_message(item.message)

        return self._write(job)

    def settle(self, thread_id: str, tool_call_ids: list[str]) -> list[str]:
        """Remove calls from the pending ones without an answer: the caller answers them in a run."""
        now = clock()
        return self._write(lambda tx: runs.resolve(tx, thread_id, tool_call_ids, [], now))

    # -- live runs -------------------------------------------------------------------------------------------------

    def follow(self, run: Run | RunHandle, *, after: int = 0) -> Iterator[NumberedDelta]:
        """The deltas of a run from any process: those after the first `after`, then new ones until the run ends."""
        from hansard.ledger.live.tail import follow

        return follow(self._driver, _thread_of(run), run.id, after)

    def follow_async(self, run: Run | RunHandle, *, after: int = 0) -> AsyncIterator[NumberedDelta]:
        """The same for `async for`."""
        from hansard.ledger.live.tail import follow_async

        return follow_async(self._driver, _thread_of(run), run.id, after)

    def journaled(self, run: Run | RunHandle, *, after: int = 0) -> Journaled:
        """The deltas of a run so far, after the first `after`; they are kept until its thread's next run begins."""
        from hansard.ledger.live.tail import journal_so_far

        return self._read(lambda tx: journal_so_far(tx, _thread_of(run), run.id, after))

    def record(
        self,
        stream: Any,
        *,
        format: str,
        thread: str,
        agent_id: str | UnsetType | None = None,
        fork_from: str | UnsetType | None = UNSET,
        durable: bool = False,
    ) -> StreamTee:
        """Wrap a provider's stream (bytes, lines, SDK objects or a stream helper, sync or async) so that reading it
        records it. A response that came whole is recorded at once.

        The response is committed to the thread when the stream has ended. Pieces are durable within 250 ms of being
        read; with `durable` before they are handed on, which costs one disk write each. The first piece that is not
        of this format raises.
        """
        from hansard.ledger.live.answer_recorder import AnswerRecorder
        from hansard.ledger.live.stream_tee import StreamTee

        recorder = AnswerRecorder(self, format, thread, agent_id=_given(agent_id), fork_from=fork_from, durable=durable)
        return StreamTee(recorder, stream)

    # -- search ----------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        limit: int = 20,
        after: str | None = None,
        format: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        project: str | None = None,
        resource_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> Page[Hit]:
        """Messages that match a query: words (all of them), "phrases", prefixes*, -exclusions and the filters role:
        tool: agent: thread: since: until:. Finds everything acknowledged, except aborted and failed runs.

        `after` is the `next` of the previous page and stays valid while messages arrive. The other arguments search
        only the threads that `threads_where` returns for them.
        """
        limit = limits.check_page(limit, limits.HITS)
        filters = facets.ThreadFilter(
            format=format,
            agent=agent,
            model=model,
            project=project,
            resource_id=resource_id,
            since=since,
            until=until,
        )
        return search(self._driver, query, limit, after, clock(), filters)

    @overload
    def rows(
        self,
        table: Literal["threads"],
        *,
        project: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        thread: str | None = None,
    ) -> Iterator[ThreadsRow]: ...

    @overload
    def rows(
        self,
        table: Literal["messages"],
        *,
        project: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        thread: str | None = None,
    ) -> Iterator[MessagesRow]: ...

    @overload
    def rows(
        self,
        table: Literal["prompts"],
        *,
        project: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        thread: str | None = None,
    ) -> Iterator[PromptsRow]: ...

    @overload
    def rows(
        self,
        table: Literal["calls"],
        *,
        project: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        thread: str | None = None,
    ) -> Iterator[CallsRow]: ...

    @overload
    def rows(
        self,
        table: Literal["usage"],
        *,
        project: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        thread: str | None = None,
    ) -> Iterator[UsageRow]: ...

    @overload
    def rows(
        self,
        table: Literal["files"],
        *,
        project: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        thread: str | None = None,
    ) -> Iterator[FilesRow]: ...

    def rows(
        self,
        table: Table,
        *,
        project: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        thread: str | None = None,
    ) -> Iterator[Any]:
        """Flat rows for pandas, DuckDB, csv or a loop: one dict of plain values for each thread, message, prompt, call,
        answer (`usage`) or changed file (`files`).

        `project`, `agent` and `model` select rows by these columns, `since` and `until` by `at`: a time as in a
        `search` query (`7d`, `2026-11-18`) or a datetime. `thread` is an id. All branches are read, but no aborted or
        failed runs; only `usage` counts these too.

        >>> import hansard
        >>> with hansard.open(":memory:") as ledger:
        ...     thread = ledger.create_thread()
        ...     asked = ledger.append(thread.id, hansard.Message.user("Which tea?"))
        ...     [row["text"] for row in ledger.rows("prompts")]
        ['Which tea?']
        """
        from hansard.ledger.analysis import flat_rows

        return flat_rows.rows(
            self._driver,
            table,
            project=project,
            agent=agent,
            model=model,
            since=since,
            until=until,
            thread=thread,
        )

    def facts(self) -> list[Facet]:
        """The formats, agents, models and projects in the ledger, each with its number of threads."""
        index.catch_up(self._driver)
        return self._driver.read(facets.counts)

    def rebuild_search(self, progress: Callable[[int], None] | None = None) -> int:
        """Delete and rebuild the search index; the number of indexed messages. `progress` receives the count so far.

        Searches during the rebuild find only what is indexed again.
        """
        return index.rebuild(self._driver, progress)

    # -- maintenance: `progress` receives how much is done, and the total --------------------------------------------

    def prune(self, thread_id: str | None = None, *, before: str | datetime | None = None) -> Pruned:
        """Delete messages that are on no branch in force, of one thread or of all, and blobs without uses.

        `before`: only runs that ended before that time. Each thread is pruned in one transaction.
        """
        from hansard.ledger.maintenance import prune

        return prune.prune(self._driver, thread_id, prune.moment_of(before))

    def project(self, thread_id: str | None = None) -> Projected:
        """Bring the table `conversation_message` (PostgreSQL) up to date with the transcripts of one thread or all.

        The table is for SQL over the content of messages, and empty until this is called. Calling it again adds only
        what is new.
        """
        from hansard.ledger.maintenance import projection

        return projection.project(self._driver, thread_id)

    def forget(self, thread_id: str) -> Tombstone:
        """Erase a thread from every table and from the file itself; a tombstone is left."""
        from hansard.ledger.maintenance import erasure

        return erasure.forget(self._driver, thread_id, clock())

    def tombstone(self, thread_id: str) -> Tombstone:
        """What is left of an erased thread."""
        from hansard.ledger.maintenance import erasure

        return self._read(lambda tx: erasure.find(tx, thread_id))

    def verify(self, progress: Progress | None = None) -> list[Problem]:
        """Everything in the ledger that differs from what was written; empty if the ledger is intact."""
        from hansard.ledger.maintenance import verify

        return verify.verify(self._driver, progress)

    def backup(self, path: str, progress: Progress | None = None) -> None:
        """Write a consistent copy of the ledger to a SQLite file, while others write."""
        from hansard.ledger.maintenance import backup

        backup.backup(self._driver, str(path), progress)

    def stats(self) -> Stats:
        """Counts and sizes."""
        from hansard.ledger.maintenance import stats

        return stats.stats(self._driver)


def _given(value: T | UnsetType | None) -> T | UnsetType:
    """An argument in the terms of the model: None and UNSET both mean that it was not given."""
    return UNSET if value is None else value


def _thread_of(run: Run | RunHandle) -> str:
    if isinstance(run.thread_id, str):
        return run.thread_id
    raise HansardError(f"the run {run.id!r} does not name its thread; get it with `ledger.get_run(thread, run)`")


from hansard.ledger.async_ledger import AsyncLedger  # noqa: E402  (its methods are made from those of `Ledger`)
