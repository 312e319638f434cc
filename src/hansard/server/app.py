"""The ASGI application: routes, OpenAPI, access control, and recovery of runs whose process died."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from litestar import Litestar
from litestar.config.cors import CORSConfig
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.types import Send

from hansard._version import __version__
from hansard.errors import HansardError
from hansard.ledger.ledger import Ledger
from hansard.server import chat, documents, login, streams, threads
from hansard.server import downloads as files
from hansard.server import static_files as pages
from hansard.server import workspaces as workspaces_
from hansard.server.access_control import HEADERS, AccessControl, Refusal
from hansard.server.app_state import WHOSE, Served, check_resource, kept_slashes
from hansard.server.openapi import components
from hansard.server.responses import HANDLERS, JSON, AnyRequest, asked_once, encoded
from hansard.server.slow_clients import in_time
from hansard.server.tokens import OPEN, Grant, Tokens

if TYPE_CHECKING:
    from hansard.agent import Agent

_LARGEST = 64 * 1024 * 1024
_HEADERS = [
    "authorization",
    "content-type",
    "if-none-match",
    "last-event-id",
    *streams.TAKEN,
]  # of pages of other sites
_WATCH = 5.0  # seconds between two searches for runs whose process died
_log = logging.getLogger("hansard.server")


class App(Litestar):
    """A Litestar application with access control before routing."""

    access_control: AccessControl
    tenants: dict[str, Served]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Reject unauthorised requests; add the security headers to each response."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        entered = self.access_control.check(scope, needs_token=not pages.is_page(scope["path"]))
        if isinstance(entered, Refusal):
            await _reject(send, entered)
            return
        scope = {**scope, WHOSE: self.tenants[entered.tenant]}
        if raw := scope.get("raw_path"):
            scope["path"] = kept_slashes(raw.partition(b"?")[0])
        await super().__call__(scope, in_time(receive), _guarded(send))

    def hang_up(self) -> None:
        """End all streams soon, so that the server can end; a signal handler may call it."""
        for tenant in self.tenants.values():
            tenant.hang_up()


def _guarded(send: Send) -> Send:
    async def guarded(message: Any) -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in HEADERS if pair[0] not in there)]
        await send(message)

    return guarded


async def _reject(send: Send, refusal: Refusal) -> None:
    body = encoded(refusal.fault)
    headers = [*HEADERS, (b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if refusal.wait:
        headers.append((b"retry-after", str(refusal.wait).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def create_app(
    ledger: Ledger,
    agents: Iterable[Agent] = (),
    *,
    token: str | None = None,
    tokens: Mapping[str, Grant] | None = None,
    tenants: Mapping[str, Served] | None = None,
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
    workspaces: Iterable[str | os.PathLike[str]] | None = (),
    max_body: int = _LARGEST,
    allow_prune: bool = False,
) -> App:
    """The server as an ASGI application; the ledgers stay the caller's to close.

    With a `token` each request must carry it. `tokens` map tokens to what they grant: a tenant of `tenants` by name, or
    this ledger without a name. `hosts` are names of the server besides localhost and IP addresses; `origins` other
    sites whose pages may use it; `workspaces` the folders where undo and redo may change files (None: all that the
    ledger tracks). With `allow_prune`, a chat request with `"prune": true` deletes what its answer replaces; otherwise
    it is rejected (403). Without any token, the caller is responsible for authentication.
    """
    others, whose = list(origins), {**(tenants or {}), "": Served(ledger, agents, workspaces=workspaces)}
    for here in whose.values():
        here.allow_prune = here.allow_prune or allow_prune
    app = App(
        route_handlers=[
            *login.ROUTES,
            *chat.ROUTES,
            *threads.ROUTES,
            *streams.ROUTES,
            *files.ROUTES,
            *documents.ROUTES,
            *workspaces_.ROUTES,
            *pages.ROUTES,
        ],
        before_request=_checked,
        exception_handlers=HANDLERS,
        lifespan=[_living(here) for here in whose.values()],
        openapi_config=OpenAPIConfig(
            title="Hansard",
            version=__version__,
            description="One lossless ledger for agent conversations.",
            components=components(),
            security=None if token is None and tokens is None else [{"token": []}, {"cookie": []}],
            path="/schema",
            render_plugins=[JsonRenderPlugin(path=["/", "/openapi.json"], media_type="application/json")],  # type: ignore[arg-type]
            use_handler_docstrings=True,
        ),
        cors_config=CORSConfig(allow_origins=others, allow_headers=_HEADERS, expose_headers=streams.EXPOSED)
        if others
        else None,
        request_max_body_size=max_body,
        logging_config=None,
        debug=False,
    )
    app.access_control, app.tenants = AccessControl(_tokens(token, tokens, whose), hosts, others), whose
    return app


async def _checked(request: AnyRequest) -> None:
    await asked_once(request)
    await check_resource(request)


def _tokens(token: str | None, tokens: Mapping[str, Grant] | None, tenants: Mapping[str, Served]) -> Tokens | None:
    if token is None and tokens is None:
        return None
    grants = {**({} if token is None else {token: OPEN}), **(tokens or {})}
    if not grants:
        raise HansardError("empty list of tokens: no request would be accepted; leave it out, or give a token")
    for grant in grants.values():
        if grant.tenant not in tenants:
            raise HansardError(f"a token names the unknown tenant {grant.tenant!r}; add it to `tenants`")
    return Tokens(grants)


def _living(here: Served) -> Callable[[Litestar], Any]:
    """While the application runs, mark runs of dead processes as interrupted; at its end, close its own runs."""

    async def watch() -> None:
        while True:
            try:
                for thread_id, run_id in await here.aio.recover():
                    _log.info("the run %s of thread %s was interrupted", run_id, thread_id)
            except HansardError as error:  # disk or database server: retried after the pause
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
