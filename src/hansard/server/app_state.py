"""State shared by the handlers of an application: the ledger and agents of the request's tenant."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from hansard.agent.async_run import check_owner
from hansard.errors import HansardError, NotFound
from hansard.ledger.async_ledger import AsyncLedger
from hansard.ledger.ledger import Ledger
from hansard.server.responses import AnyRequest

if TYPE_CHECKING:
    from hansard.agent import Agent

WHOSE = "hansard.served"
_MARK = "\udc2f"  # a lone surrogate: rarely part of a name, and then doubled


class Served:
    """A tenant: a ledger and its agents. The first agent answers requests that name none.

    `workspaces` are the folders whose files undo and redo may change over HTTP; None allows each folder that the ledger
    tracks. `allow_prune`: a chat request may ask to delete what its answer replaces.
    """

    def __init__(
        self,
        ledger: Ledger,
        agents: Iterable[Agent] = (),
        *,
        workspaces: Iterable[str | os.PathLike[str]] | None = (),
        allow_prune: bool = False,
    ) -> None:
        agents = list(agents)
        self.workspaces = None if workspaces is None else {os.path.realpath(folder) for folder in workspaces}
        self.ledger, self.agents = ledger, {agent.name: agent for agent in agents}
        self.allow_prune = allow_prune
        self.streams: set[asyncio.Task[None]] = set()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.raw_streams: Any = None  # made by `streams` at the first request
        if len(self.agents) != len(agents):
            names = [agent.name for agent in agents]
            twice = next(name for name in names if names.count(name) > 1)
            raise HansardError(f"duplicate agent name {twice!r}; give each agent its own name")

    @property
    def aio(self) -> AsyncLedger:
        """The ledger's methods, awaited: no handler may wait for the disk on the event loop."""
        return self.ledger.aio

    def hang_up(self) -> None:
        """End all streams soon, so that the server can end; a signal handler may call it."""

        def end() -> None:
            for task in list(self.streams):
                task.cancel()

        if self.loop is not None:
            self.loop.call_soon_threadsafe(end)

    def agent(self, name: object) -> Agent:
        """The agent that a request names."""
        if not self.agents:
            raise HansardError("this server has no agent; start it with --agent module:agent")
        if not isinstance(name, str):
            return next(iter(self.agents.values()))
        if name not in self.agents:
            raise HansardError(f"no agent {name!r}; choose from {', '.join(self.agents)}")
        return self.agents[name]


def served(request: AnyRequest) -> Served:
    """State of the request's tenant, as access control determined it."""
    return cast(Served, cast(Any, request.scope)[WHOSE])


async def check_resource(request: AnyRequest) -> None:
    """Before a request with `resourceId`: the thread, message or run of another resource does not exist (404)."""
    resource = request.query_params.get("resourceId")
    name = request.path_params.get("thread_id") or request.path_params.get("name")
    if resource is None or not isinstance(name, str):
        return
    here, thread_id = served(request), named(name.removeprefix("/"))
    if "name" in request.path_params:  # a run, as a stream
        with suppress(NotFound):
            run = await here.aio.find_run(thread_id)
            if await check_owner(here.ledger, str(run.thread_id), resource) is not None:
                return
        if request.method in ("GET", "HEAD"):
            raise NotFound(f"no stream {thread_id!r}")
    elif await check_owner(here.ledger, thread_id, resource) is None and request.url.path.startswith("/api/threads/"):
        raise NotFound(f"no thread {thread_id!r}")


def kept_slashes(raw_path: bytes) -> str:
    """Path for routing: a slash inside a name (`%2F`) does not separate names."""
    return "/".join(
        _unquoted(name).replace(_MARK, _MARK * 2).replace("/", _MARK + "-")
        for name in raw_path.decode("latin-1").split("/")
    )


def _unquoted(name: str) -> str:
    """Percent-decoded UTF-8; lone surrogates, which ids may contain, pass."""
    from urllib.parse import unquote_to_bytes

    data = unquote_to_bytes(name)
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def named(text: str) -> str:
    """A name from such a path."""
    return _MARK.join(piece.replace(_MARK + "-", "/") for piece in text.split(_MARK * 2)) if _MARK in text else text
