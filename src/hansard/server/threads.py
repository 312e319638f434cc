"""Threads over HTTP: list, create, change, erase; messages, branches, runs and pending calls."""

from __future__ import annotations

from typing import Annotated

from litestar import Response, delete, get, patch, post
from litestar.params import FromPath, FromQuery, QueryParameter
from msgspec.structs import replace

from hansard.formats.native.messages import with_version
from hansard.ledger.results import Branch, Facet, Hit, Page, Pending, SubAgent, Thread, Tombstone, TreeNode
from hansard.model.conversation import Message, Run
from hansard.server import schemas as bodies
from hansard.server.app_state import named, served
from hansard.server.openapi import says
from hansard.server.responses import AnyRequest, answer, read_body
from hansard.server.schemas import agents_of, messages_of, results_of

Limit = Annotated[int, QueryParameter(ge=1, le=1000, description="Maximum number of items.")]
After = Annotated[str | None, QueryParameter(description="`next` of the previous page.")]
Resource = Annotated[str | None, QueryParameter(name="resourceId", description="Only threads of this resource.")]
FormatOf = Annotated[str | None, QueryParameter(description="Only threads imported from this format.")]
AgentOf = Annotated[str | None, QueryParameter(description="Only threads with messages of this agent.")]
ModelOf = Annotated[str | None, QueryParameter(description="Only threads with answers of this model.")]
Project = Annotated[str | None, QueryParameter(description="Only threads of this project folder.")]
Since = Annotated[str | None, QueryParameter(description="Threads changed since: 2026-11-18, ISO 8601, 7d, today.")]
Until = Annotated[str | None, QueryParameter(description="Threads last changed until; same formats.")]
_ONE = "/api/threads/{thread_id:str}"


@get("/api/threads", operation_class=says(Page[Thread]), tags=["threads"])
async def list_threads(
    request: AnyRequest,
    limit: Limit = 50,
    after: After = None,
    newest: FromQuery[bool] = True,
    resource: Resource = None,
    format: FormatOf = None,
    agent: AgentOf = None,
    model: ModelOf = None,
    project: Project = None,
    since: Since = None,
    until: Until = None,
) -> Response[bytes]:
    """A page of threads by last change; `/api/facts` lists values for the filters."""
    aio = served(request).aio
    if any(one is not None for one in (format, agent, model, project, since, until)):
        page = await aio.threads_where(
            format=format,
            agent=agent,
            model=model,
            project=project,
            since=since,
            until=until,
            resource_id=resource,
            limit=limit,
            after=after,
            newest=newest,
        )
    else:
        page = await aio.threads(limit=limit, after=after, newest=newest, resource_id=resource)
    return answer(page)


@get("/api/facts", operation_class=says(list[Facet]), tags=["threads"])
async def list_facts(request: AnyRequest) -> Response[bytes]:
    """Formats, agents, models and projects, each with its number of threads."""
    return answer(await served(request).aio.facts())


@post(
    "/api/threads",
    operation_class=says(Thread, 404, 409, takes=bodies.NewThread, status=201, why="The thread."),
    tags=["threads"],
)
async def create_thread(request: AnyRequest) -> Response[bytes]:
    """Create a thread. Repeating the request returns the same thread."""
    body = read_body(bodies.NewThread, await request.body())
    made = await served(request).aio.create_thread(
        body.id if isinstance(body.id, str) and body.id else None,
        title=body.title,
        resource_id=body.resource_id,
        metadata=body.metadata,
        agents=agents_of(body.agents),
        parent_thread_id=body.parent_thread_id,
    )
    return answer(made, 201)


@get(_ONE, operation_class=says(Thread, 404), tags=["threads"])
async def get_thread(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """One thread."""
    return answer(await served(request).aio.thread(named(thread_id)))


@patch(_ONE, operation_class=says(Thread, 404, takes=bodies.ThreadChange), tags=["threads"])
async def change_thread(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """Change properties of a thread."""
    body = read_body(bodies.ThreadChange, await request.body())
    changed = await served(request).aio.update_thread(
        named(thread_id),
        title=body.title,
        resource_id=body.resource_id,
        metadata=body.metadata,
        agents=agents_of(body.agents),
    )
    return answer(changed)


@delete(_ONE, operation_class=says(Tombstone, 404), status_code=200, tags=["threads"])
async def forget_thread(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """Erase a thread permanently; a tombstone remains."""
    return answer(await served(request).aio.forget(named(thread_id)))


@get(f"{_ONE}/messages", operation_class=says(Page[Message], 404), tags=["messages"])
async def list_messages(
    request: AnyRequest,
    thread_id: FromPath[str],
    limit: Limit = 50,
    newest: FromQuery[bool] = True,
    before: Annotated[str | None, QueryParameter(description="Id of a message on the path.")] = None,
    after: Annotated[str | None, QueryParameter(description="Id of a message on the path.")] = None,
    head: Annotated[str | None, QueryParameter(description="Another branch, given by its last message.")] = None,
) -> Response[bytes]:
    """A page of the transcript, in native JSON: the newest first, or the oldest.

    Pass `next` as `before` (newest first) or `after` (oldest first) to get the following page.
    """
    page = await served(request).aio.messages(
        named(thread_id), limit=limit, newest=newest, before=before, after=after, head=head
    )
    return answer(replace(page, items=list(map(with_version, page.items))))


@post(
    f"{_ONE}/messages",
    operation_class=says(bodies.Messages, 404, 409, takes=bodies.NewMessages, status=201, why="As they are stored."),
    tags=["messages"],
)
async def append_messages(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """Append messages. Repeating an id with the same content is a no-op; other content is a conflict."""
    body = read_body(bodies.NewMessages, await request.body())
    said = await served(request).aio.append(
        named(thread_id), messages_of(body.messages), parent=body.parent, expected_head=body.expected_head
    )
    return answer(bodies.Messages(messages=list(map(with_version, said))), 201)


@get(f"{_ONE}/messages/{{message_id:str}}", operation_class=says(Message, 404), tags=["messages"])
async def get_message(request: AnyRequest, thread_id: FromPath[str], message_id: FromPath[str]) -> Response[bytes]:
    """One message, on any branch."""
    return answer(with_version(await served(request).aio.get(named(thread_id), named(message_id))))


@get(f"{_ONE}/branches", operation_class=says(list[Branch], 404), tags=["branches"])
async def list_branches(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """All branches, the active one first."""
    return answer(await served(request).aio.branches(named(thread_id)))


@get(f"{_ONE}/tree", operation_class=says(list[TreeNode], 404), tags=["branches"])
async def get_tree(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """All messages with their parents, in the order of writing."""
    return answer(await served(request).aio.tree(named(thread_id)))


@get(f"{_ONE}/sub-agents", operation_class=says(list[SubAgent], 404), tags=["branches"])
async def list_sub_agents(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """The sub-agents whose messages are in the thread: the call of each, and what it used."""
    return answer(await served(request).aio.sub_agents(named(thread_id)))


@post(f"{_ONE}/checkout", operation_class=says(Thread, 404, takes=bodies.Checkout), status_code=200, tags=["branches"])
async def checkout(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """Move the head to a message. All branches stay."""
    body = read_body(bodies.Checkout, await request.body())
    return answer(await served(request).aio.checkout(named(thread_id), body.message_id, tip=body.tip))


@post(f"{_ONE}/fork", operation_class=says(Thread, 404, takes=bodies.Fork), status_code=200, tags=["branches"])
async def fork(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """Continue from an earlier message: the next message starts a branch."""
    body = read_body(bodies.Fork, await request.body())
    return answer(await served(request).aio.checkout(named(thread_id), body.message_id))


@get(f"{_ONE}/runs", operation_class=says(list[Run], 404), tags=["runs"])
async def list_runs(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """All runs of a thread, by start."""
    return answer(await served(request).aio.runs(named(thread_id)))


@get(f"{_ONE}/runs/{{run_id:str}}", operation_class=says(bodies.RunShown, 404), tags=["runs"])
async def get_run(request: AnyRequest, thread_id: FromPath[str], run_id: FromPath[str]) -> Response[bytes]:
    """One run with its messages."""
    aio, thread, run = served(request).aio, named(thread_id), named(run_id)
    value = await aio.get_run(thread, run)
    messages = list(map(with_version, await aio.run_messages(thread, run)))
    return answer(bodies.RunShown(run=value, messages=messages))


@get(f"{_ONE}/pending", operation_class=says(list[Pending], 404), tags=["runs"])
async def list_pending(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """Tool calls waiting for an approval or an external result."""
    return answer(await served(request).aio.pending(named(thread_id)))


@post(f"{_ONE}/pending", operation_class=says(Message, 404, takes=bodies.Results), status_code=200, tags=["runs"])
async def resolve(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """Answer pending calls with one tool message at the head."""
    body = read_body(bodies.Results, await request.body())
    return answer(with_version(await served(request).aio.resolve(named(thread_id), results_of(body.results))))


@get("/api/search", operation_class=says(Page[Hit]), tags=["search"])
async def search(
    request: AnyRequest,
    words: Annotated[
        str, QueryParameter(name="q", description='Terms, "phrases", role: tool: agent: thread: since: until:')
    ],
    limit: Limit = 20,
    after: After = None,
    resource: Resource = None,
    format: FormatOf = None,
    agent: AgentOf = None,
    model: ModelOf = None,
    project: Project = None,
    since: Since = None,
    until: Until = None,
) -> Response[bytes]:
    """Search messages, in all threads or those that `/api/threads` lists with the same parameters.

    `snippet` marks matches with \\x02 and \\x03.
    """
    page = await served(request).aio.search(
        words,
        limit=limit,
        after=after,
        format=format,
        agent=agent,
        model=model,
        project=project,
        since=since,
        until=until,
        resource_id=resource,
    )
    return answer(page)


ROUTES = [
    list_threads,
    list_facts,
    create_thread,
    get_thread,
    change_thread,
    forget_thread,
    list_messages,
    append_messages,
    get_message,
    list_branches,
    get_tree,
    list_sub_agents,
    checkout,
    fork,
    list_runs,
    get_run,
    list_pending,
    resolve,
    search,
]
