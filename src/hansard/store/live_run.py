"""A run in the hands of the one who does it: what it stages, how it ends."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType

from hansard.model.conversation import Message, PendingCall, Run, Usage

if TYPE_CHECKING:
    from hansard.store.ledger import Ledger

LEASE = 15_000  # milliseconds without a sign of life after which a run counts as dead


class LiveRun:
    """As a context manager it commits at the end, or fails with what was raised."""

    def __init__(self, ledger: Ledger, thread_id: str, run: Run, fence: int) -> None:
        self._ledger, self.thread_id, self.value, self._fence = ledger, thread_id, run, fence

    @property
    def id(self) -> str:
        return self.value.id

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

    def stage(self, messages: Message | list[Message]) -> list[Message]:
        """Say something in this run; see `Ledger.stage`."""
        return self._ledger.stage(self.thread_id, self.id, messages, fence=self._fence)

    def commit(
        self,
        *,
        pending: list[PendingCall] | UnsetType = UNSET,
        usage: Usage | UnsetType = UNSET,
        force: bool = False,
        prune: bool = False,
    ) -> Run:
        """Put it into the transcript; see `Ledger.commit`."""
        self.value = self._ledger.commit(
            self.thread_id, self.id, pending=pending, usage=usage, force=force, prune=prune, fence=self._fence
        )
        return self.value

    def abort(self) -> Run:
        """Give it up."""
        self.value = self._ledger.abort(self.thread_id, self.id, fence=self._fence)
        return self.value

    def fail(self, error: Any) -> Run:
        """Mark it as failed."""
        self.value = self._ledger.fail(self.thread_id, self.id, error, fence=self._fence)
        return self.value

    def messages(self) -> list[Message]:
        """What it has said so far."""
        return self._ledger.run_messages(self.thread_id, self.id)
