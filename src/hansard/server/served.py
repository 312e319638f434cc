"""What the handlers of one application share: its ledger and its agents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from hansard.errors import HansardError
from hansard.server.answers import AnyRequest
from hansard.store.aio import AsyncLedger
from hansard.store.ledger import Ledger

if TYPE_CHECKING:
    from hansard.agent import Agent

_SLASH = "\udc2f"  # no text that came as UTF-8 holds half a surrogate pair


class Served:
    """The first agent answers when a request names none."""

    def __init__(self, ledger: Ledger, agents: list[Agent]) -> None:
        self.ledger, self.agents = ledger, {agent.name: agent for agent in agents}
        self.streams: set[asyncio.Task[None]] = set()
        self.loop: asyncio.AbstractEventLoop | None = None
        if len(self.agents) != len(agents):
            names = [agent.name for agent in agents]
            twice = next(name for name in names if names.count(name) > 1)
            raise HansardError(f"two agents are called {twice!r}; give each a name of its own")

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
        """The agent somebody asked for."""
        if not self.agents:
            raise HansardError("this server has no agent; start it with --agent module:agent")
        if not isinstance(name, str):
            return next(iter(self.agents.values()))
        if name not in self.agents:
            raise HansardError(f"no agent {name!r}; there are {', '.join(self.agents)}")
        return self.agents[name]


def served(request: AnyRequest) -> Served:
    """What this request's application serves."""
    return cast(Served, request.app.state.served)


def kept_slashes(raw_path: bytes) -> str:
    """A path to be routed: a slash inside a name (`%2F`) is not one between names."""
    from urllib.parse import unquote

    return "/".join(unquote(name).replace("/", _SLASH) for name in raw_path.decode("latin-1").split("/"))


def named(text: str) -> str:
    """A name out of such a path."""
    return text.replace(_SLASH, "/")
