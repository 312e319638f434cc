"""`RunHandle`: the run that a process writes, from `Ledger.begin_run`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import UnsetType

from hansard.errors import HansardError
from hansard.model.conversation import Message, PendingCall, Run, Usage
from hansard.model.stored import StoredMessage

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.ledger.live.journal import DurableFuture, RunBuffer
    from hansard.streams.deltas import Delta


class RunHandle:
    """A run being written. As a context manager it commits at the end, or fails with the exception raised.

    Two ways to write: `stage` whole messages, or `write` deltas as they stream and `stage` the messages they make.
    """

    def __init__(self, ledger: Ledger, run: Run, buffer: RunBuffer) -> None:
        self._ledger, self._buffer, self.value = ledger, buffer, run
        self.thread_id, self._fence, self._given = buffer.thread_id, buffer.fence, buffer.given
        self._journal = ledger._journal
        self._journal.open(buffer)

    @property
    def id(self) -> str:
        return self.value.id

    @property
    def fence(self) -> int:
        """The number by which the ledger recognises this handle; a process that takes the run over raises it."""
        return self._fence

    @property
    def written(self) -> int:
        """The number of deltas given to `write`."""
        return self._given

    @property
    def lost(self) -> HansardError | None:
        """Why this handle cannot write any more: the run was stopped or taken over, or the disk failed."""
        return self._buffer.lost

    def when_lost(self, call: Callable[[], None]) -> None:
        """Call this once another process has ended or taken over the run; from a thread of the journal."""
        self._buffer.when_lost = call

    def release(self) -> None:
        """Stop renewing the lease: another process ended the run, or it is to be taken for dead."""
        self._journal.close(self._buffer)

    def __enter__(self) -> RunHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.commit()
        elif isinstance(error, Exception):
            self.fail({"type": type(error).__name__, "message": str(error)})
        else:
            self.abort()

    def write(self, deltas: Iterable[Delta]) -> DurableFuture:
        """Add deltas to the journal as they stream; they are durable when the future is done, within 250 ms."""
        given = list(deltas)
        self._given += len(given)
        return self._journal.add(self._buffer, given)

    def hurry(self) -> None:
        """Start to make the written deltas durable now."""
        self._journal.hurry()

    def flush(self) -> None:
        """Wait until all written deltas are durable."""
        self._journal.flush(self._buffer)

    def stage(self, messages: Message | Sequence[Message]) -> list[StoredMessage]:
        """Store messages of this run; see `Ledger.stage`. They cover the deltas written so far."""
        self.flush()
        return self._ledger.stage(self.thread_id, self.id, messages, fence=self._fence, through=self._given)

    def commit(
        self,
        *,
        pending: list[PendingCall] | UnsetType | None = None,
        usage: Usage | UnsetType | None = None,
        force: bool = False,
        prune: bool = False,
    ) -> Run:
        """Put the run into the transcript; see `Ledger.commit`."""
        self._end()
        self.value = self._ledger.commit(
            self.thread_id, self.id, pending=pending, usage=usage, force=force, prune=prune, fence=self._fence
        )
        return self.value

    def abort(self) -> Run:
        """Give the run up."""
        self._end()
        self.value = self._ledger.abort(self.thread_id, self.id, fence=self._fence)
        return self.value

    def fail(self, error: Any) -> Run:
        """Mark the run as failed."""
        self._end()
        self.value = self._ledger.fail(self.thread_id, self.id, error, fence=self._fence)
        return self.value

    def messages(self) -> list[StoredMessage]:
        """The messages of the run so far."""
        return self._ledger.run_messages(self.thread_id, self.id)

    def _end(self) -> None:
        self.flush()
        self._journal.close(self._buffer)
