"""Deleting on purpose: what no branch in force needs any more."""

from __future__ import annotations

from hansard.store.driver import Tx
from hansard.store.rows import ThreadRow


def prune_thread(tx: Tx, thread: ThreadRow, now: int) -> int:
    """Delete the messages that stand on no path in force; how many there were."""
    return 0
