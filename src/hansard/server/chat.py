"""Chat endpoints for `useChat` and `DefaultChatTransport`.

A client that disconnects does not stop an answer: it continues and is recorded, and `GET .../stream` replays it, from
its start or after the chunks that the client has, on any process. Stopping is a separate request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from litestar import Response, get, post
from litestar.params import FromPath, QueryParameter
from litestar.response import Stream

from hansard.errors import HansardError, NotFound, Unreadable
from hansard.formats.ai_sdk.ui.emit import AiSdkUiEmitter
from hansard.ledger.ledger import Ledger
from hansard.model import exact_json
from hansard.server import schemas as bodies
from hansard.server.app_state import Served, named, served
from hansard.server.openapi import says, streams
from hansard.server.responses import AnyRequest, answer, read_body

if TYPE_CHECKING:
    from hansard.agent.sse_response import Answer

RUN_HEADER = "x-workflow-run-id"
_MOST = 1 << 20  # bytes queued for a slow client before its answer pauses
_log = logging.getLogger("hansard.server")
Resource = Annotated[
    str | None,
    QueryParameter(name="resourceId", description="Whose thread it is; that of another resource is not found."),
]
Version = Annotated[
    str | None, QueryParameter(description="The version of the client: v5, v6 or v7; put it into the `api` address.")
]


@get("/api/agents", operation_class=says(list[bodies.AgentShown]), tags=["chat"])
async def list_agents(request: AnyRequest) -> Response[bytes]:
    """Agents of this server; the first one is the default."""
    return answer([bodies.AgentShown(name=name) for name in served(request).agents])


@post("/api/chat", operation_class=streams(404, 409, takes=bodies.ChatRequest), status_code=200, tags=["chat"])
async def ask(request: AnyRequest, target: Version = None, resource: Resource = None) -> Stream:
    """Send a message, regenerate, edit, answer a tool call or an approval; the answer streams.

    `agent` in the body names the agent. Earlier messages are looked up by their ids; their content in the request is
    ignored. `prune` deletes what an edited or regenerated answer replaces, where the server allows it.
    """
    body = await request.body()
    asked = read_body(bodies.ChatRequest, body)
    here = served(request)
    agent, version = here.agent(asked.agent), known_target(target)
    stream = await agent.sse(
        exact_json.decode(body), target=version, allow_prune=here.allow_prune, resource_id=resource
    )
    return _streamed(here, await anext(stream, b""), stream, version)


Point = Annotated[
    str | None, QueryParameter(name="startIndex", description="First chunk wanted; negative: counted from the end.")
]
After = Annotated[
    str | None, QueryParameter(description="The last chunk received; so is the header Last-Event-ID, which goes first.")
]


@get("/api/chat/{thread_id:str}/stream", operation_class=streams(or_nothing=True), tags=["chat"])
async def resume(
    request: AnyRequest,
    thread_id: FromPath[str],
    target: Version = None,
    start_index: Point = None,
    starting_after: After = None,
    resource: Resource = None,
) -> Stream | Response[None]:
    """The running answer, from its start or from the chunk with a number, which is the `id` of its event; 204 if there
    is none. With a number also the rest of the last answer; the path may name its run (`x-workflow-run-id`) instead."""
    from hansard.agent import resume_point

    here, version = served(request), known_target(target)
    start = resume_point(request.query_params, request.headers)
    try:
        name = named(thread_id)
        stream = None
        if here.agents:
            stream = await here.agent(None).resume(name, start=start, target=version, resource_id=resource)
    except NotFound:
        stream = None
    if stream is None:
        return Response(None, status_code=204)
    return _streamed(here, await anext(stream, b""), stream, version)


@post("/api/chat/{thread_id:str}/stop", operation_class=says(bodies.Stopped, 404), status_code=200, tags=["chat"])
async def stop(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """Stop the running answer; its content so far is kept."""
    return answer(bodies.Stopped(stopped=await served(request).agent(None).stop(named(thread_id))))


@get("/api/chat/{thread_id:str}", operation_class=says(list[bodies.UIMessage]), tags=["chat"])
async def get_chat(request: AnyRequest, thread_id: FromPath[str], target: Version = None) -> Response[bytes]:
    """The UIMessages of a thread, with which a page begins; none for a new chat."""
    return answer(await asyncio.to_thread(_shown, served(request).ledger, named(thread_id), known_target(target)))


def _shown(ledger: Ledger, thread_id: str, target: str | None) -> list[dict[str, Any]]:
    from hansard.agent.ui_turns import stored_path, ui_messages

    try:
        ledger.recover(thread_id)
        return ui_messages(stored_path(ledger, thread_id), target)
    except NotFound:
        return []


def known_target(version: str | None) -> str | None:
    """The version of a client, checked."""
    if version is not None and version not in AiSdkUiEmitter.targets:
        raise Unreadable(f"unknown version {version!r}", "?target", f"choose from {', '.join(AiSdkUiEmitter.targets)}")
    return version


def _streamed(here: Served, first: bytes, rest: Answer, target: str | None) -> Stream:
    headers = rest.headers
    if run := headers.get(RUN_HEADER):  # the same chunks as a durable stream
        headers = {**headers, "location": f"/streams/{quote(run, safe='')}" + (f"?target={target}" if target else "")}
    return Stream(coalesced(first, rest, here.streams), headers=headers, media_type="text/event-stream")


async def coalesced(
    first: bytes, rest: AsyncIterator[bytes], streams: set[asyncio.Task[None]]
) -> AsyncGenerator[bytes, None]:
    """Join the chunks that arrive while the previous one is being sent.

    The task is in `streams` while it runs; cancelling it ends the stream.
    """
    waiting = [first] if first else []
    some, room = asyncio.Event(), asyncio.Event()

    async def gather() -> None:
        try:
            async for data in rest:
                waiting.append(data)
                some.set()
                if sum(map(len, waiting)) > _MOST:
                    room.clear()
                    await room.wait()
        except HansardError as error:  # the status 200 is already sent: report in the stream
            _log.warning("a stream broke: %s", error)
            waiting.append(b"data: " + exact_json.encode({"type": "error", "errorText": str(error)}) + b"\n\n")
        finally:
            if (close := getattr(rest, "aclose", None)) is not None:
                await close()

    task = asyncio.create_task(gather())
    streams.add(task)
    task.add_done_callback(lambda _: some.set())
    try:
        while True:
            ended = task.done()
            if waiting:
                data = b"".join(waiting)
                waiting.clear()
                room.set()
                yield data
            elif ended:
                return
            else:
                await some.wait()
                some.clear()
    finally:
        streams.discard(task)
        task.cancel()  # not awaited: a cancelled caller would cancel the wait too


ROUTES = [list_agents, ask, resume, stop, get_chat]
