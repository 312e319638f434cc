"""The ledger: threads, messages, branches and runs, durable when a call returns.

Every method is one job in one transaction; `ledger.aio` has the same methods, awaited.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import HansardError
from hansard.ledger import appending, branches, exporting, runs, threads, tree
from hansard.ledger import conversations as merging
from hansard.ledger.backends.driver import Driver, Job, Tx
from hansard.ledger.hash_chain import Prepared, authored, clock
from hansard.ledger.ids import new_id
from hansard.ledger.live.journal import LEASE
from hansard.ledger.live.run_handle import LiveRun
from hansard.ledger.live_calls import Live
from hansard.ledger.results import Branch, Page, Pending, Synced, Thread, TreeNode
from hansard.ledger.rows import find_place, find_run, find_thread
from hansard.ledger.searching import Searching
from hansard.ledger.upkeep import Upkeep
from hansard.model.conversation import Agent, Conversation, Message, PendingCall, Run, Usage
from hansard.model.parts import ToolResultPart

if TYPE_CHECKING:
    from hansard.ledger.aio import AsyncLedger

T = TypeVar("T")
MOST = 10_000


class Ledger(Live, Searching, Upkeep):
    """Open one with `hansard.open`; it may be used by many threads at once, and as a context manager."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._heads = appending.Heads()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def aio(self) -> AsyncLedger:
        """The same methods to be awaited; concurrent appends share commits."""
        from hansard.ledger.aio import AsyncLedger

        return AsyncLedger(self)

    def close(self) -> None:
        """Let go of files and connections. What was acknowledged is durable without it."""
        self._stop_journal()
        self._driver.close()

    def _read(self, job: Job[T]) -> T:
        return self._driver.read(job)

    def _write(self, job: Job[T]) -> T:
        return self._driver.write(job)

    # -- threads ---------------------------------------------------------------------------------------------------

    def create_thread(
        self,
        id: str | None = None,
        *,
        title: str | UnsetType = UNSET,
        resource_id: str | UnsetType = UNSET,
        metadata: dict[str, Any] | UnsetType = UNSET,
        agents: list[Agent] | UnsetType = UNSET,
        parent_thread_id: str | UnsetType = UNSET,
    ) -> Thread:
        """A new thread. Creating one again that says the same gives it back."""
        value = Conversation(
            messages=[],
            id=new_id() if id is None else id,
            title=title,
            resource_id=resource_id,
            metadata=metadata,
            agents=UNSET if agents is UNSET else {agent.id: agent for agent in agents},
            parent_thread_id=parent_thread_id,
        )
        return self._write(partial(threads.create, value=value, now=clock()))

    def thread(self, thread_id: str) -> Thread:
        """One thread as it stands."""
        return self._read(lambda tx: threads.shown(tx, find_thread(tx, thread_id)))

    def threads(
        self, *, limit: int = 50, after: str | None = None, newest: bool = True, resource_id: str | None = None
    ) -> Page[Thread]:
        """A page of threads by their last change; `after` is the `next` of the page before."""
        limit = _limit(limit)
        return self._read(lambda tx: threads.page(tx, limit, after, newest, resource_id))

    def update_thread(
        self,
        thread_id: str,
        *,
        title: str | UnsetType | None = UNSET,
        resource_id: str | UnsetType | None = UNSET,
        metadata: dict[str, Any] | UnsetType = UNSET,
        agents: list[Agent] | UnsetType = UNSET,
    ) -> Thread:
        """Change what a thread says of itself. Agents are added to its registry; metadata is replaced."""
        now = clock()
        return self._write(lambda tx: threads.change(tx, thread_id, now, title, resource_id, metadata, agents))

    # -- messages --------------------------------------------------------------------------------------------------

    @overload
    def append(
        self,
        thread_id: str,
        messages: Message,
        *,
        parent: str | UnsetType | None = UNSET,
        expected_head: str | UnsetType | None = UNSET,
    ) -> Message: ...

    @overload
    def append(
        self,
        thread_id: str,
        messages: list[Message],
        *,
        parent: str | UnsetType | None = UNSET,
        expected_head: str | UnsetType | None = UNSET,
    ) -> list[Message]: ...

    def append(
        self,
        thread_id: str,
        messages: Message | list[Message],
        *,
        parent: str | UnsetType | None = UNSET,
        expected_head: str | UnsetType | None = UNSET,
    ) -> Message | list[Message]:
        """Say something at the head of a thread. Returns it as stored, with an id and a time.

        Appending the same id with the same words again is nothing; with other words it is a `Conflict`. `parent`
        (or the message's own) puts it behind another message, and the path goes there; None is before everything.
        """
        now = clock()
        given = [messages] if isinstance(messages, Message) else list(messages)
        items = [_prepared(message, now) for message in given]
        said: Any = items[0].message if isinstance(messages, Message) else [item.message for item in items]
        if parent is UNSET and items and items[0].message.parent_message_id is not UNSET:
            parent = items[0].message.parent_message_id
        plain = parent is UNSET and expected_head is UNSET and len(items) == 1 and not items[0].blobs
        server = self._driver.single
        if server and plain and self._heads.append_to_server(self._driver, thread_id, items[0], now):
            return said  # type: ignore[no-any-return]

        def job(tx: Tx) -> Any:
            if server or not plain or not self._heads.append_to_file(tx, thread_id, items[0], now):
                self._heads.keep(thread_id, appending.append(tx, thread_id, items, now, parent, expected_head))
            return said

        return self._write(job)  # type: ignore[no-any-return]

    def get(self, thread_id: str, message_id: str) -> Message:
        """One message of a thread, on whatever branch it is."""

        def job(tx: Tx) -> Message:
            thread = find_thread(tx, thread_id)
            place = find_place(tx, thread, message_id)
            rows = tx.all(
                "range_up", thread=thread.thread, seg=place.seg, low=place.depth - 1, high=place.depth, limit=1
            )
            return tree.messages_of(tx, rows)[0]

        return self._read(job)

    def messages(
        self,
        thread_id: str,
        *,
        limit: int = 50,
        newest: bool = True,
        before: str | None = None,
        after: str | None = None,
        head: str | None = None,
    ) -> Page[Message]:
        """A page of the transcript: its newest messages first, or its oldest.

        `before` and `after` are ids of messages on the path; `next` of a page is what to give as `before` (newest
        first) or `after` (oldest first) for the page behind it. `head` names another branch by its last message.
        """
        limit = _limit(limit)

        def job(tx: Tx) -> Page[Message]:
            thread = find_thread(tx, thread_id)
            place = thread.head if head is None else find_place(tx, thread, head)
            low = 0 if after is None else tree.depth_on_path(tx, thread, place, after)
            high = tree.ALL if before is None else tree.depth_on_path(tx, thread, place, before)
            rows = tree.page_rows(tx, thread, place, limit + 1, newest=newest, low=low, high=high)
            found = tree.messages_of(tx, rows[:limit])
            last = found[-1].id if len(rows) > limit else None
            return Page(items=found, next=last if isinstance(last, str) else None)

        return self._read(job)

    def transcript(self, thread_id: str, head: str | None = None) -> list[Message]:
        """All messages on the path, or on the branch that ends with `head`."""

        def job(tx: Tx) -> list[Message]:
            thread = find_thread(tx, thread_id)
            place = thread.head if head is None else find_place(tx, thread, head)
            return tree.messages_of(tx, tree.path_rows(tx, thread, place))

        return self._read(job)

    def iter_transcript(self, thread_id: str, head: str | None = None, *, batch: int = 500) -> Iterator[Message]:
        """The messages on the path, oldest first, without holding them all; a page at a time."""
        after: str | None = None
        tip = head or self.thread(thread_id).head
        while tip is not None:
            page = self.messages(thread_id, limit=batch, newest=False, after=after, head=tip)
            yield from page.items
            if (after := page.next) is None:
                return

    # -- branches --------------------------------------------------------------------------------------------------

    def branches(self, thread_id: str) -> list[Branch]:
        """Every end of the tree, the active one first."""
        return self._read(lambda tx: branches.branches(tx, find_thread(tx, thread_id)))

    def tree(self, thread_id: str) -> list[TreeNode]:
        """Every message with its parent, in the order they were written."""
        return self._read(lambda tx: branches.nodes(tx, find_thread(tx, thread_id)))

    def checkout(self, thread_id: str, message_id: str | None, *, tip: bool = False) -> Thread:
        """Put the head at a message (with `tip`: at the end of its branch). Nothing is lost: all branches stay."""
        now = clock()
        return self._write(lambda tx: threads.checkout(tx, thread_id, message_id, now, tip=tip))

    def fork(self, thread_id: str, message_id: str | None) -> Thread:
        """Go on from an earlier message (None: from before all): what is said next is a branch beside the rest."""
        return self.checkout(thread_id, message_id)

    # -- whole conversations ---------------------------------------------------------------------------------------

    def sync(self, thread_id: str, conversation: Conversation) -> Synced:
        """Add what is new of a conversation; what is known is recognised by what was said, what differs is a branch.

        The thread is made if it is not there. Messages are kept as they came.
        """
        incoming = merging.Incoming(conversation, thread_id)
        now = clock()
        return self._write(lambda tx: merging.merge(tx, incoming, now))

    def import_conversation(self, conversation: Conversation, thread_id: str | None = None) -> Thread:
        """A conversation as a thread of its own, under its id or a new one; again and grown, only what is new."""
        key = thread_id or (conversation.id if isinstance(conversation.id, str) and conversation.id else new_id())
        incoming = merging.Incoming(conversation, key)
        now = clock()

        def job(tx: Tx) -> Thread:
            merging.merge(tx, incoming, now)
            return threads.shown(tx, find_thread(tx, key))

        return self._write(job)

    def export_conversation(self, thread_id: str) -> Conversation:
        """A thread with all its branches, runs and snapshots as one value, its bodies as they came."""
        return self._read(lambda tx: exporting.conversation(tx, find_thread(tx, thread_id)))

    # -- runs ------------------------------------------------------------------------------------------------------

    def begin_run(
        self,
        thread_id: str,
        agent_id: str | UnsetType = UNSET,
        *,
        fork_from: str | UnsetType | None = UNSET,
        id: str | None = None,
        metadata: dict[str, Any] | UnsetType = UNSET,
    ) -> LiveRun:
        """Begin an agent's go behind the head, or behind the message it forks from (None: before everything)."""
        value = Run(id=id or new_id(), agent_id=agent_id, metadata=metadata)
        now = clock()
        run, entry = self._write(lambda tx: runs.begin(tx, thread_id, value, fork_from, now + LEASE, now))
        return LiveRun(self, run, entry)

    def run(self, thread_id: str, run_id: str) -> Run:
        """One run as it stands."""
        return self._read(lambda tx: find_run(tx, find_thread(tx, thread_id), run_id).value)

    def runs(self, thread_id: str) -> list[Run]:
        """All runs of a thread, in the order they began."""
        return self._read(lambda tx: [row.value for row in branches.runs_of(tx, find_thread(tx, thread_id)).values()])

    def run_messages(self, thread_id: str, run_id: str) -> list[Message]:
        """What a run has said, staged or committed."""
        return self._read(lambda tx: runs.messages(tx, thread_id, run_id))

    def stage(
        self,
        thread_id: str,
        run_id: str,
        messages: Message | list[Message],
        *,
        fence: int | None = None,
        through: int | None = None,
    ) -> list[Message]:
        """Messages of a run that goes on: durable, but not in the transcript until it commits.

        `through`: so many of its deltas are said by what has been staged.
        """
        now = clock()
        given = [messages] if isinstance(messages, Message) else list(messages)
        items = [_prepared(_of_run(message, run_id), now) for message in given]

        def job(tx: Tx) -> list[Message]:
            runs.stage(tx, thread_id, run_id, fence, items, now, through)
            return [item.message for item in items]

        return self._write(job)

    def commit(
        self,
        thread_id: str,
        run_id: str,
        *,
        pending: list[PendingCall] | UnsetType = UNSET,
        usage: Usage | UnsetType = UNSET,
        force: bool = False,
        prune: bool = False,
        fence: int | None = None,
    ) -> Run:
        """Put a run into the transcript, whole. `prune` deletes what it replaces, which is otherwise kept."""
        now = clock()

        def job(tx: Tx) -> Run:
            done = runs.commit(tx, thread_id, run_id, fence, now, pending=pending, usage=usage, force=force)
            if prune:
                from hansard.ledger.maintenance import prune as pruning

                pruning.prune_behind(tx, find_thread(tx, thread_id, lock=True), run_id)
            return done

        return self._write(job)

    def abort(self, thread_id: str, run_id: str, *, fence: int | None = None) -> Run:
        """Give a run up; what it said stays on the record, off the transcript."""
        now = clock()
        return self._write(lambda tx: runs.end(tx, thread_id, run_id, fence, "aborted", UNSET, now))

    def fail(self, thread_id: str, run_id: str, error: Any, *, fence: int | None = None) -> Run:
        """Mark a run as failed, with what went wrong."""
        now = clock()
        return self._write(lambda tx: runs.end(tx, thread_id, run_id, fence, "failed", error, now))

    def pending(self, thread_id: str) -> list[Pending]:
        """The tool calls that wait for an approval or an answer from outside."""
        return self._read(lambda tx: runs.pending(tx, thread_id))

    def resolve(self, thread_id: str, results: ToolResultPart | list[ToolResultPart]) -> Message:
        """Answer pending calls: one tool message at the head, and they wait no longer."""
        now = clock()
        given = [results] if isinstance(results, ToolResultPart) else list(results)
        calls = [part.tool_call_id for part in given if isinstance(part.tool_call_id, str)]
        item = _prepared(Message(role="tool", parts=list(given)), now)

        def job(tx: Tx) -> Message:
            runs.resolve(tx, thread_id, calls, [item], now)
            return item.message

        return self._write(job)


def _prepared(message: Message, now: int) -> Prepared:
    if not isinstance(message, Message):
        raise HansardError(f"a Message belongs here, not {type(message).__name__}; hansard.read makes them")
    key = message.id if isinstance(message.id, str) and message.id else new_id()
    return authored(message, key, now)


def _of_run(message: Message, run_id: str) -> Message:
    return replace(message, run_id=run_id) if message.run_id is UNSET else message


def _limit(limit: int) -> int:
    if not 1 <= limit <= MOST:
        raise HansardError(f"a limit of {limit} is not between 1 and {MOST}")
    return limit
