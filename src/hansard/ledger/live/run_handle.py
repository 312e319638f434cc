"""A run in the hands of the one who does it: what it stages, how it ends."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType

from hansard.errors import HansardError
from hansard.model.conversation import Message, PendingCall, Run, Usage

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.ledger.live.journal import Entry, Written
    from hansard.streams.deltas import Delta


class LiveRun:
    """As a context manager it commits at the end, or fails with what was raised."""

    def __init__(self, ledger: Ledger, run: Run, entry: Entry) -> None:
        self._ledger, self._entry, self.value = ledger, entry, run
        self.thread_id, self._fence, self._given = entry.thread_id, entry.fence, entry.said
        self._journal = ledger._journal
        self._journal.open(entry)

    @property
    def id(self) -> str:
        return self.value.id

    @property
    def fence(self) -> int:
        """What shows the ledger that it is this holder who writes."""
        return self._fence

    @property
    def said(self) -> int:
        """So many deltas were given to `write`."""
        return self._given

    @property
    def lost(self) -> HansardError | None:
        """Why nothing can be written any more: somebody stopped the run or took it over, or the disk failed."""
        return self._entry.lost

    def let_go(self) -> None:
        """Somebody else ended it: no more signs of life."""
        self._journal.close(self._entry)

    def __enter__(self) -> LiveRun:
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

    def write(self, deltas: Iterable[Delta]) -> Written:
        """Put deltas into the journal as they stream: durable when the future is done, 250 ms at the latest."""
        given = list(deltas)
        self._given += len(given)
        return self._journal.add(self._entry, given)

    def hurry(self) -> None:
        """Make what was written durable now, and not a moment later."""
        self._journal.hurry()

    def flush(self) -> None:
        """Wait until all that was written is durable."""
        self._journal.flush(self._entry)

    def stage(self, messages: Message | list[Message]) -> list[Message]:
        """Say something in this run; see `Ledger.stage`. It stands for the deltas that were written so far."""
        self.flush()
        return self._ledger.stage(self.thread_id, self.id, messages, fence=self._fence, through=self._given)

    def commit(
        self,
        *,
        pending: list[PendingCall] | UnsetType = UNSET,
        usage: Usage | UnsetType = UNSET,
        force: bool = False,
        prune: bool = False,
    ) -> Run:
        """Put it into the transcript; see `Ledger.commit`."""
        self._end()
        self.value = self._ledger.commit(
            self.thread_id, self.id, pending=pending, usage=usage, force=force, prune=prune, fence=self._fence
        )
        return self.value

    def abort(self) -> Run:
        """Give it up."""
        self._end()
        self.value = self._ledger.abort(self.thread_id, self.id, fence=self._fence)
        return self.value

    def fail(self, error: Any) -> Run:
        """Mark it as failed."""
        self._end()
        self.value = self._ledger.fail(self.thread_id, self.id, error, fence=self._fence)
        return self.value

    def messages(self) -> list[Message]:
        """What it has said so far."""
        return self._ledger.run_messages(self.thread_id, self.id)

    def _end(self) -> None:
        self.flush()
        self._journal.close(self._entry)
