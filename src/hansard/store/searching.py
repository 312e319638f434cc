"""The methods of the ledger that find messages."""

from __future__ import annotations

from hansard.errors import HansardError
from hansard.store.chain import clock
from hansard.store.driver import Driver
from hansard.store.search import Progress, rebuild, search
from hansard.store.values import Hit, Page

_MOST = 1000


class Searching:
    """The part of `Ledger` that searches."""

    _driver: Driver

    def search(self, query: str, *, limit: int = 20, after: str | None = None) -> Page[Hit]:
        """Messages with these words: all of them, "phrases", beginnings*, -without, role: tool: agent: thread:
        since: until:. It finds everything acknowledged; runs that were aborted or failed are left out.

        `after` is the `next` of the page before, and stays good while messages arrive.
        """
        if not 1 <= limit <= _MOST:
            raise HansardError(f"a limit of {limit} is not between 1 and {_MOST}")
        return search(self._driver, query, limit, after, clock())

    def rebuild_search(self, progress: Progress | None = None) -> int:
        """Throw the search index away and make it again; how many messages it has. `progress` is told the count."""
        return rebuild(self._driver, progress)
