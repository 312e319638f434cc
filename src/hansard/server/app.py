"""The application: routes, their documentation, who may come in, and the watch over runs that died."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from litestar import Litestar
from litestar.config.cors import CORSConfig
from litestar.datastructures import State
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.types import Send

from hansard._version import __version__
from hansard.errors import HansardError
from hansard.server import chat, documents, pages, threads
from hansard.server.answers import HANDLERS, JSON, encoded
from hansard.server.documented import components
from hansard.server.door import HEADERS, Door
from hansard.server.served import Served, kept_slashes
from hansard.store.ledger import Ledger

if TYPE_CHECKING:
    from hansard.agent import Agent

_LARGEST = 64 * 1024 * 1024
_WATCH = 5.0  # seconds between two looks for runs whose process died
_log = logging.getLogger("hansard.server")


class App(Litestar):
    """Litestar behind a door: see `door`."""

    door: Door

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Turn away who may not come in; give every answer the headers that keep a browser from mischief."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if (
            refusal := self.door.refusal(scope["method"], headers, open_to_all=pages.is_page(scope["path"]))
        ) is not None:
            status, fault = refusal
            await _turn_away(send, status, encoded(fault))
            return
        if raw := scope.get("raw_path"):
            scope = {**scope, "path": kept_slashes(raw.partition(b"?")[0])}
        await super().__call__(scope, receive, _guarded(send))


def _guarded(send: Send) -> Send:
    async def guarded(message: Any) -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in HEADERS if pair[0] not in there)]
        await send(message)

    return guarded


async def _turn_away(send: Send, status: int, body: bytes) -> None:
    headers = [*HEADERS, (b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def create_app(
    ledger: Ledger,
    agents: Iterable[Agent] = (),
    *,
    token: str | None = None,
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
    max_body: int = _LARGEST,
) -> App:
    """The server as an ASGI application; the ledger stays the caller's to close.

    `token` must then come with every request. `hosts` are names the server is known by besides localhost and
    addresses; `origins` other sites whose pages may use it.
    """
    others, here = list(origins), Served(ledger, list(agents))
    app = App(
        route_handlers=[*chat.ROUTES, *threads.ROUTES, *documents.ROUTES, *pages.ROUTES],
        state=State({"served": here}),
        exception_handlers=HANDLERS,
        lifespan=[_living(here)],
        openapi_config=OpenAPIConfig(
            title="Hansard",
            version=__version__,
            description="One lossless ledger for agent conversations.",
            components=components(),
            security=[{"token": []}] if token is not None else None,
            path="/schema",
            render_plugins=[JsonRenderPlugin(path=["/", "/openapi.json"], media_type="application/json")],  # type: ignore[arg-type]
            use_handler_docstrings=True,
        ),
        cors_config=CORSConfig(allow_origins=others, allow_headers=["authorization", "content-type"])
        if others
        else None,
        request_max_body_size=max_body,
        logging_config=None,
        debug=False,
    )
    app.door = Door(token, hosts, others)
    return app


def _living(here: Served) -> Callable[[Litestar], Any]:
    """While the application lives, runs whose process died are found and marked as interrupted; its own end with it."""

    async def watch() -> None:
        while True:
            try:
                for thread_id, run_id in await here.aio.recover():
                    _log.info("the run %s of thread %s was interrupted", run_id, thread_id)
            except HansardError as error:  # the disk or the database server: the next look may find it well again
                _log.warning("could not look for interrupted runs: %s", error)
            await asyncio.sleep(_WATCH)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        here.loop = asyncio.get_running_loop()
        task = asyncio.create_task(watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, *(agent.close() for agent in here.agents.values()), return_exceptions=True)

    return lifespan
