"""`AsyncLedger`: the methods of `Ledger` for asyncio.

Written by scripts/async_ledger.py: change `ledger.py`, then run `make async`.

On SQLite no thread blocks on a write: jobs go into a queue, and those that arrive during a commit share the next one.
Cancelling an awaited call does not stop it: it is done or not done, and repeating it tells which.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, overload

from msgspec import UNSET, UnsetType

from hansard.ledger.analysis.row_types import CallsRow, FilesRow, MessagesRow, PromptsRow, Table, ThreadsRow, UsageRow
from hansard.ledger.ledger import Ledger, Progress
from hansard.ledger.live.run_handle import RunHandle
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
from hansard.model.conversation import Agent, Conversation, Message, PendingCall, Run, Usage
from hansard.model.parts import ToolResultPart
from hansard.model.request import Settings, Tool
from hansard.model.stored import StoredMessage, StoredRun

if TYPE_CHECKING:
    from hansard.ledger.live.stream_tee import StreamTee
else:
    StreamTee = Any


class AsyncLedger:
    """The methods of `Ledger`, awaited; from `ledger.aio`. Concurrent appends share commits.

    Use it from any number of tasks, and from the event loops of several threads. Cancelling an awaited call does not
    stop it: it is done or not done, and repeating it tells which. `async with` closes the ledger.

    >>> import asyncio, hansard
    >>> async def main() -> None:
    ...     async with hansard.open(":memory:").aio as ledger:
    ...         thread = await ledger.create_thread(title="Tea")
    ...         await ledger.append(thread.id, hansard.Message.user("Which tea?"))
    ...         print([message.text for message in await ledger.transcript(thread.id)])
    >>> asyncio.run(main())
    ['Which tea?']
    """

    def __init__(self, ledger: Ledger) -> None:
        from hansard.ledger.aio import AsyncJobs

        self._ledger = ledger
        self._jobs = AsyncJobs(ledger)

    async def __aenter__(self) -> AsyncLedger:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close files and connections. What was acknowledged is durable without it."""
        await self._jobs.close()

    @property
    def dialect(self) -> str:
        """The kind of database: `sqlite` or `postgres`."""
        return self._ledger.dialect

    @property
    def migrated(self) -> list[str]:
        """The migrations that were applied when this ledger was opened."""
        return self._ledger.migrated

    # -- threads ---------------------------------------------------------------------------------------------------

    async def create_thread(
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
        return await self._jobs.queued(
            lambda ledger: ledger.create_thread(
                id,
                title=title,
                resource_id=resource_id,
                metadata=metadata,
                agents=agents,
                parent_thread_id=parent_thread_id,
            )
        )

    async def thread(self, thread_id: str) -> StoredThread:
        """The current state of a thread."""
        return await self._jobs.queued(lambda ledger: ledger.thread(thread_id))

    async def sub_threads(self, thread_id: str, tool_call_id: str | None = None) -> list[StoredThread]:
        """The threads of the runs that were begun inside runs of this thread, of one call or of all.

        Their `metadata["call"]` names the run, message and call. Forks of the thread are not among them.
        """
        return await self._jobs.queued(lambda ledger: ledger.sub_threads(thread_id, tool_call_id))

    async def threads(
        self, *, limit: int = 50, after: str | None = None, newest: bool = True, resource_id: str | None = None
    ) -> Page[StoredThread]:
        """A page of threads, ordered by last change; `after` is the `next` of the previous page."""
        return await self._jobs.queued(
            lambda ledger: ledger.threads(limit=limit, after=after, newest=newest, resource_id=resource_id)
        )

    async def threads_where(
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
        return await self._jobs.in_thread(
            lambda ledger: ledger.threads_where(
                format=format,
                agent=agent,
                model=model,
                project=project,
                resource_id=resource_id,
                since=since,
                until=until,
                limit=limit,
                after=after,
                newest=newest,
            )
        )

    async def iter_threads(
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
    ) -> AsyncIterator[StoredThread]:
        """All threads that match the filters of `threads_where`, by last change, loaded a page at a time."""
        async for item in self._jobs.iterate(
            lambda ledger: ledger.iter_threads(
                format=format,
                agent=agent,
                model=model,
                project=project,
                resource_id=resource_id,
                since=since,
                until=until,
                newest=newest,
                batch=batch,
            )
        ):
            yield item

    async def find_threads(self, text: str, *, limit: int = 10) -> list[StoredThread]:
        """The threads whose id starts with this text or whose title equals it, newest first."""
        return await self._jobs.queued(lambda ledger: ledger.find_threads(text, limit=limit))

    async def update_thread(
        self,
        thread_id: str,
        *,
        title: str | UnsetType | None = UNSET,
        resource_id: str | UnsetType | None = UNSET,
        metadata: dict[str, Any] | UnsetType | None = None,
        agents: Sequence[Agent] | UnsetType | None = None,
    ) -> StoredThread:
        """Change the description of a thread. Agents are added to its registry; metadata is replaced."""
        return await self._jobs.queued(
            lambda ledger: ledger.update_thread(
                thread_id, title=title, resource_id=resource_id, metadata=metadata, agents=agents
            )
        )

    # -- messages --------------------------------------------------------------------------------------------------

    @overload
    async def append(
        self,
        thread_id: str,
        messages: Message,
        *,
        parent: str | UnsetType | None = UNSET,
        expected_head: str | UnsetType | None = UNSET,
    ) -> StoredMessage: ...

    @overload
    async def append(
        self,
        thread_id: str,
        messages: Sequence[Message],
        *,
        parent: str | UnsetType | None = UNSET,
        expected_head: str | UnsetType | None = UNSET,
    ) -> list[StoredMessage]: ...

    async def append(
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
        return await self._jobs.queued(
            lambda ledger: ledger.append(thread_id, messages, parent=parent, expected_head=expected_head)
        )

    async def get(self, thread_id: str, message_id: str) -> StoredMessage:
        """One message of a thread, on any branch."""
        return await self._jobs.queued(lambda ledger: ledger.get(thread_id, message_id))

    async def messages(
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
        return await self._jobs.queued(
            lambda ledger: ledger.messages(thread_id, limit=limit, newest=newest, before=before, after=after, head=head)
        )

    async def transcript(self, thread_id: str, head: str | None = None) -> list[StoredMessage]:
        """All messages of the active branch, or of the branch that ends with `head`."""
        return await self._jobs.queued(lambda ledger: ledger.transcript(thread_id, head))

    async def iter_messages(
        self, thread_id: str, head: str | None = None, *, batch: int = 500
    ) -> AsyncIterator[StoredMessage]:
        """The messages of a branch, oldest first, loaded a page at a time."""
        async for item in self._jobs.iterate(lambda ledger: ledger.iter_messages(thread_id, head, batch=batch)):
            yield item

    iter_transcript = iter_messages

    # -- branches --------------------------------------------------------------------------------------------------

    async def branches(self, thread_id: str) -> list[Branch]:
        """All branches of a thread, the active one first."""
        return await self._jobs.queued(lambda ledger: ledger.branches(thread_id))

    async def tree(self, thread_id: str) -> list[TreeNode]:
        """Every message with its parent, in the order they were written."""
        return await self._jobs.queued(lambda ledger: ledger.tree(thread_id))

    async def sub_agents(self, thread_id: str) -> list[SubAgent]:
        """The sub-agents whose messages are in a thread, as coding agents record them, with what each used."""
        return await self._jobs.queued(lambda ledger: ledger.sub_agents(thread_id))

    async def checkout(self, thread_id: str, message_id: str | None, *, tip: bool = False) -> StoredThread:
        """Move the head to a message (with `tip`: to the end of its branch). All branches are kept."""
        return await self._jobs.queued(lambda ledger: ledger.checkout(thread_id, message_id, tip=tip))

    async def fork(self, thread_id: str, message_id: str | None, *, prune: bool = False) -> StoredThread:
        """Continue from an earlier message (None: from the start): the next append creates a new branch.

        `prune` deletes everything after that message, which is otherwise kept; branches of active runs stay.
        """
        return await self._jobs.queued(lambda ledger: ledger.fork(thread_id, message_id, prune=prune))

    # -- whole conversations ---------------------------------------------------------------------------------------

    async def sync(self, thread_id: str, conversation: Conversation) -> Synced:
        """Add what is new of a conversation. Known messages are recognised by content; differing ones become a branch.

        The thread is created if it does not exist. Messages are stored as they are.
        """
        return await self._jobs.queued(lambda ledger: ledger.sync(thread_id, conversation))

    async def import_conversation(self, conversation: Conversation, thread_id: str | None = None) -> StoredThread:
        """Store a conversation as a thread, under its id or a new one. A second import adds only new messages."""
        return await self._jobs.queued(lambda ledger: ledger.import_conversation(conversation, thread_id))

    async def export_conversation(self, thread_id: str) -> Conversation:
        """A thread as one value, with all branches, runs and snapshots, and bodies as they came."""
        return await self._jobs.queued(lambda ledger: ledger.export_conversation(thread_id))

    # -- runs ------------------------------------------------------------------------------------------------------

    async def begin_run(
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
        return await self._jobs.in_thread(
            lambda ledger: ledger.begin_run(
                thread_id,
                agent_id,
                fork_from=fork_from,
                id=id,
                metadata=metadata,
                tools=tools,
                settings=settings,
                prompt=prompt,
                alone=alone,
            )
        )

    async def get_run(self, thread_id: str, run_id: str) -> StoredRun:
        """The current state of a run."""
        return await self._jobs.queued(lambda ledger: ledger.get_run(thread_id, run_id))

    run = get_run

    async def runs(self, thread_id: str) -> list[StoredRun]:
        """All runs of a thread, in the order they began."""
        return await self._jobs.queued(lambda ledger: ledger.runs(thread_id))

    async def active_runs(self, thread_id: str) -> list[StoredRun]:
        """The active runs of a thread, in the order they began."""
        return await self._jobs.queued(lambda ledger: ledger.active_runs(thread_id))

    async def newest_run(self, thread_id: str) -> StoredRun | None:
        """The run of a thread that began last; None if it has none."""
        return await self._jobs.queued(lambda ledger: ledger.newest_run(thread_id))

    async def find_run(self, run_id: str) -> StoredRun:
        """The run with this id, in whatever thread it is."""
        return await self._jobs.queued(lambda ledger: ledger.find_run(run_id))

    async def run_messages(self, thread_id: str, run_id: str) -> list[StoredMessage]:
        """The messages of a run, staged or committed."""
        return await self._jobs.queued(lambda ledger: ledger.run_messages(thread_id, run_id))

    async def stage(
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
        return await self._jobs.queued(
            lambda ledger: ledger.stage(
                thread_id, run_id, messages, fence=fence, through=through, tools=tools, settings=settings
            )
        )

    async def commit(
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
        return await self._jobs.queued(
            lambda ledger: ledger.commit(
                thread_id,
                run_id,
                pending=pending,
                usage=usage,
                force=force,
                prune=prune,
                prune_after=prune_after,
                fence=fence,
            )
        )

    async def abort(self, thread_id: str, run_id: str, *, fence: int | None = None) -> StoredRun:
        """Give a run up. If text or a call of it was streamed, its messages stay in the transcript as interrupted."""
        return await self._jobs.in_thread(lambda ledger: ledger.abort(thread_id, run_id, fence=fence))

    async def fail(self, thread_id: str, run_id: str, error: Any, *, fence: int | None = None) -> StoredRun:
        """Mark a run as failed, with its error. Its messages stay as those of an aborted run do."""
        return await self._jobs.in_thread(lambda ledger: ledger.fail(thread_id, run_id, error, fence=fence))

    async def stop(self, thread_id: str, run_id: str) -> StoredRun:
        """Abort a run from any process: what was streamed of it stays in the transcript as interrupted."""
        return await self._jobs.queued(lambda ledger: ledger.stop(thread_id, run_id))

    async def recover(self, thread_id: str | None = None) -> list[tuple[str, str]]:
        """End the runs whose process died as failed; (thread, run) of each.

        What was streamed of them stays in the transcript as interrupted. With `thread_id` only the runs of that thread.
        """
        return await self._jobs.in_thread(lambda ledger: ledger.recover(thread_id))

    async def pending(self, thread_id: str) -> list[Pending]:
        """The tool calls that wait for an approval or for an external result."""
        return await self._jobs.queued(lambda ledger: ledger.pending(thread_id))

    async def resolve(self, thread_id: str, results: ToolResultPart | Sequence[ToolResultPart]) -> StoredMessage:
        """Answer pending calls with one tool message after the head."""
        return await self._jobs.queued(lambda ledger: ledger.resolve(thread_id, results))

    async def settle(self, thread_id: str, tool_call_ids: list[str]) -> list[str]:
        """Remove calls from the pending ones without an answer: the caller answers them in a run."""
        return await self._jobs.queued(lambda ledger: ledger.settle(thread_id, tool_call_ids))

    # -- live runs -------------------------------------------------------------------------------------------------

    def follow(self, run: Run | RunHandle, *, after: int = 0) -> AsyncIterator[NumberedDelta]:
        """The deltas of a run from any process: those after the first `after`, then new ones until the run ends."""
        return self._ledger.follow_async(run, after=after)

    async def journaled(self, run: Run | RunHandle, *, after: int = 0) -> Journaled:
        """The deltas of a run so far, after the first `after`; they are kept until its thread's next run begins."""
        return await self._jobs.queued(lambda ledger: ledger.journaled(run, after=after))

    async def record(
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
        return await self._jobs.in_thread(
            lambda ledger: ledger.record(
                stream, format=format, thread=thread, agent_id=agent_id, fork_from=fork_from, durable=durable
            )
        )

    # -- search ----------------------------------------------------------------------------------------------------

    async def search(
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
        return await self._jobs.in_thread(
            lambda ledger: ledger.search(
                query,
                limit=limit,
                after=after,
                format=format,
                agent=agent,
                model=model,
                project=project,
                resource_id=resource_id,
                since=since,
                until=until,
            )
        )

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
    ) -> AsyncIterator[ThreadsRow]: ...

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
    ) -> AsyncIterator[MessagesRow]: ...

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
    ) -> AsyncIterator[PromptsRow]: ...

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
    ) -> AsyncIterator[CallsRow]: ...

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
    ) -> AsyncIterator[UsageRow]: ...

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
    ) -> AsyncIterator[FilesRow]: ...

    async def rows(
        self,
        table: Table,
        *,
        project: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        thread: str | None = None,
    ) -> AsyncIterator[Any]:
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
        async for item in self._jobs.iterate(
            lambda ledger: ledger.rows(
                table, project=project, agent=agent, model=model, since=since, until=until, thread=thread
            )
        ):
            yield item

    async def facts(self) -> list[Facet]:
        """The formats, agents, models and projects in the ledger, each with its number of threads."""
        return await self._jobs.in_thread(lambda ledger: ledger.facts())

    async def rebuild_search(self, progress: Callable[[int], None] | None = None) -> int:
        """Delete and rebuild the search index; the number of indexed messages. `progress` receives the count so far.

        Searches during the rebuild find only what is indexed again.
        """
        return await self._jobs.in_thread(lambda ledger: ledger.rebuild_search(progress))

    # -- maintenance: `progress` receives how much is done, and the total --------------------------------------------

    async def prune(self, thread_id: str | None = None, *, before: str | datetime | None = None) -> Pruned:
        """Delete messages that are on no branch in force, of one thread or of all, and blobs without uses.

        `before`: only runs that ended before that time. Each thread is pruned in one transaction.
        """
        return await self._jobs.in_thread(lambda ledger: ledger.prune(thread_id, before=before))

    async def project(self, thread_id: str | None = None) -> Projected:
        """Bring the table `conversation_message` (PostgreSQL) up to date with the transcripts of one thread or all.

        The table is for SQL over the content of messages, and empty until this is called. Calling it again adds only
        what is new.
        """
        return await self._jobs.in_thread(lambda ledger: ledger.project(thread_id))

    async def forget(self, thread_id: str) -> Tombstone:
        """Erase a thread from every table and from the file itself; a tombstone is left."""
        return await self._jobs.in_thread(lambda ledger: ledger.forget(thread_id))

    async def tombstone(self, thread_id: str) -> Tombstone:
        """What is left of an erased thread."""
        return await self._jobs.queued(lambda ledger: ledger.tombstone(thread_id))

    async def verify(self, progress: Progress | None = None) -> list[Problem]:
        """Everything in the ledger that differs from what was written; empty if the ledger is intact."""
        return await self._jobs.in_thread(lambda ledger: ledger.verify(progress))

    async def backup(self, path: str, progress: Progress | None = None) -> None:
        """Write a consistent copy of the ledger to a SQLite file, while others write."""
        return await self._jobs.in_thread(lambda ledger: ledger.backup(path, progress))

    async def stats(self) -> Stats:
        """Counts and sizes."""
        return await self._jobs.in_thread(lambda ledger: ledger.stats())
