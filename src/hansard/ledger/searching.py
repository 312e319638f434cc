"""The methods of the ledger that find messages, and threads by what was said in them."""

from __future__ import annotations

from hansard.errors import HansardError
from hansard.ledger.backends.driver import Driver
from hansard.ledger.hash_chain import clock
from hansard.ledger.results import Fact, Hit, Page, Thread
from hansard.ledger.search import facets as facts
from hansard.ledger.search.query import Progress, catch_up, rebuild, search

_MOST = 1000


class Searching:
    """The part of `Ledger` that searches."""

    _driver: Driver

    def search(self, query: str, *, limit: int = 20, after: str | None = None, **only: str | None) -> Page[Hit]:
        """Messages with these words: all of them, "phrases", beginnings*, -without, role: tool: agent: thread:
        since: until:. It finds everything acknowledged; runs that were aborted or failed are left out.

        `after` is the `next` of the page before, and stays good while messages arrive. `format`, `agent`, `model`,
        `project`, `resource_id`, `since` and `until` leave only the threads that `threads_where` gives for them.
        """
        if not 1 <= limit <= _MOST:
            raise HansardError(f"a limit of {limit} is not between 1 and {_MOST}")
        return search(self._driver, query, limit, after, clock(), facts.Only(**only))

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
    ) -> Page[Thread]:
        """A page of the threads of which all this is so, by their last change; `facts` lists what there is.

        `project` is the folder somebody worked in; `since` and `until` are times as `search` takes them.
        """
        if not 1 <= limit <= _MOST:
            raise HansardError(f"a limit of {limit} is not between 1 and {_MOST}")
        only = facts.Only(
            format=format,
            agent=agent,
            model=model,
            project=project,
            resource_id=resource_id,
            since=since,
            until=until,
        ).values(clock())
        catch_up(self._driver)
        return self._driver.read(lambda tx: facts.page(tx, limit, after, newest, only))

    def facts(self) -> list[Fact]:
        """The formats, agents, models and projects there are, each with the number of its threads."""
        catch_up(self._driver)
        return self._driver.read(facts.told)

    def rebuild_search(self, progress: Progress | None = None) -> int:
        """Throw the search index away and make it again; how many messages it has. `progress` is told the count.

        Searches that others make meanwhile find only what is in it again.
        """
        return rebuild(self._driver, progress)
