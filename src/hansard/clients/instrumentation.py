"""`hansard.instrument(client, ledger)`: every call of an OpenAI, Anthropic or Google client is recorded."""

from __future__ import annotations

import asyncio
import inspect
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from hansard.clients.exchange import Exchange, format_of
from hansard.errors import HansardError
from hansard.ledger.ids import new_id
from hansard.ledger.ledger import Ledger

ThreadChoice: TypeAlias = str | Callable[..., str | None] | None
_thread: ContextVar[str | None] = ContextVar("hansard_thread", default=None)


@contextmanager
def recording(*, thread: str) -> Iterator[None]:
    """Calls inside this block, in this task or thread of the program, belong to one thread of the ledger.

    >>> import hansard
    >>> with hansard.recording(thread="harbour"):
    ...     pass  # client.chat.completions.create(...)
    """
    token = _thread.set(thread)
    try:
        yield
    finally:
        _thread.reset(token)


def instrument(
    client: Any,
    ledger: Ledger,
    *,
    thread: ThreadChoice = None,
    agent_id: str | UnsetType = UNSET,
    on_error: Literal["raise", "warn"] = "raise",
) -> Instrumentation:
    """Record every call of a client: request and answer, streamed or not, sync or async, until `remove()`.

    `client` is a client of OpenAI, Anthropic or Google, or an HTTP client of httpx. `thread` is the id of the thread,
    or a callable that returns it (it may take the request's body); `with hansard.recording(thread=...)` overrides it.
    A call without one gets a thread of its own. The thread is created if it does not exist.

    A ledger that fails makes the call fail; with `on_error="warn"` the call continues with a warning.

    >>> import hansard, httpx
    >>> message = {"role": "assistant", "content": "At ten to four."}
    >>> answer = {"object": "chat.completion", "choices": [{"index": 0, "message": message}]}
    >>> server = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
    >>> question = {"model": "gpt-5", "messages": [{"role": "user", "content": "High tide?"}]}
    >>> with hansard.open(":memory:") as ledger, httpx.Client(transport=server) as client:
    ...     with hansard.instrument(client, ledger, thread="harbour"):
    ...         answered = client.post("http://localhost/v1/chat/completions", json=question)
    ...     [said.text for said in ledger.transcript("harbour")]
    ['High tide?', 'At ten to four.']
    """
    if on_error not in ("raise", "warn"):
        raise HansardError(f"unknown on_error {on_error!r}: choose raise or warn")
    return Instrumentation(_http_clients(client), ledger, thread, agent_id, on_error)


class Instrumentation:
    """What `instrument` returns: `remove()` takes it off again; as a context manager, at the end of the block."""

    def __init__(
        self,
        https: list[Any],
        ledger: Ledger,
        thread: ThreadChoice,
        agent_id: str | UnsetType,
        on_error: str,
    ) -> None:
        self._ledger, self._thread, self._agent_id, self._on_error = ledger, thread, agent_id, on_error
        self._https = https
        if any("send" in http.__dict__ for http in https):
            raise HansardError("this client is recorded already; call remove() of its instrumentation first")
        for http in https:
            http.send = self._sending(http.send)

    def remove(self) -> None:
        """Stop recording; answers that are being read are recorded to their end. May be called twice."""
        for http in self._https:
            http.__dict__.pop("send", None)

    def __enter__(self) -> Instrumentation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def _sending(self, send: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(send):

            async def send_async(request: Any, **options: Any) -> Any:
                exchange = self._exchange(request)
                if exchange is None:
                    return await send(request, **options)
                await asyncio.to_thread(exchange.begin)
                try:
                    response = await send(request, **options)
                except BaseException as error:
                    await asyncio.shield(asyncio.to_thread(exchange.broke, error))
                    raise
                await asyncio.to_thread(exchange.answered, response)
                return response

            return send_async

        def send_sync(request: Any, **options: Any) -> Any:
            exchange = self._exchange(request)
            if exchange is None:
                return send(request, **options)
            exchange.begin()
            try:
                response = send(request, **options)
            except BaseException as error:
                exchange.broke(error)
                raise
            exchange.answered(response)
            return response

        return send_sync

    def _exchange(self, request: Any) -> Exchange | None:
        format = format_of(request)
        if format is None:
            return None
        try:
            body = json.loads(request.read())
        except (ValueError, TypeError):
            return None  # a request that the provider will refuse
        return Exchange(self._ledger, format, body, self._thread_id(body), self._agent_id, self._guard)

    def _thread_id(self, body: Any) -> str:
        chosen: Any = _thread.get()
        if chosen is None:
            chosen = self._thread
            if callable(chosen):
                chosen = chosen(body) if inspect.signature(chosen).parameters else chosen()
        return new_id() if chosen is None else str(chosen)

    def _guard(self, action: Callable[[], object]) -> None:
        try:
            action()
        except HansardError as error:
            if self._on_error == "raise":
                raise
            warnings.warn(f"hansard could not record a call: {error}", RuntimeWarning, stacklevel=4)


def _http_clients(client: Any) -> list[Any]:
    """The HTTP clients below the client of an SDK."""
    google = getattr(client, "_api_client", None)
    if google is None and hasattr(client, "models"):
        google = getattr(client.models, "_api_client", None)  # `client.aio`
    if google is not None and hasattr(google, "_httpx_client"):
        if google._async_httpx_client is not None:
            google._http_options.httpx_async_client = google._async_httpx_client  # else it may take aiohttp instead
        return [http for http in (google._httpx_client, google._async_httpx_client) if http is not None]
    http = client if hasattr(client, "build_request") and hasattr(client, "send") else getattr(client, "_client", None)
    if http is None or not hasattr(http, "send"):
        raise HansardError(
            f"cannot record the calls of {type(client).__name__}: give a client of OpenAI, Anthropic or Google, "
            "or its http client (httpx)"
        )
    return [http]
