"""Workspaces over HTTP: file changes of each message, undo and redo.

A client requests a plan and then applies it by id; if the plan has become outdated, nothing is done (409). This API
tracks no new folders and changes only those that the server was started for (403); the recorded changes of others can
be read. The work waits for disks, so it runs in threads.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from litestar import Response, get, post
from litestar.exceptions import PermissionDeniedException
from litestar.params import FromPath, FromQuery, QueryParameter
from msgspec import UNSET

from hansard.errors import Conflict, NotFound, Unreadable
from hansard.ledger.backends.driver import Tx, unsafe
from hansard.ledger.results import Page
from hansard.ledger.rows import find_thread
from hansard.model.conversation import Todo
from hansard.model.digits import whole_number
from hansard.model.times import iso_time
from hansard.server.app_state import Served, named, served
from hansard.server.openapi import says
from hansard.server.responses import AnyRequest, answer, read_body
from hansard.server.schemas import (
    Applied,
    Apply,
    ChangeShown,
    FileChange,
    FileDiff,
    PlannedFile,
    PlanShown,
    WorkspaceShown,
)
from hansard.workspace import Change, Entry, Redo, Snapshot, Undo, UndoPlan, Workspace, snapshots
from hansard.workspace.history import describe, unified_diff
from hansard.workspace.plan import PlannedPath
from hansard.workspace.todos import todos_at

T = TypeVar("T")
Limit = Annotated[int, QueryParameter(ge=1, le=1000, description="Maximum number of items.")]
After = Annotated[str | None, QueryParameter(description="`next` of the previous page.")]
_ALL = "/api/threads/{thread_id:str}/workspaces"
_ONE = _ALL + "/{workspace:int}"
_PATHS = 500  # of one snapshot that are listed
_TEXT = 300_000  # bytes of a file that is compared line by line
_SHOWN = 60_000  # letters of one diff
_TOTAL = 1_000_000  # letters of all diffs of an answer


@get(_ALL, operation_class=says(list[WorkspaceShown], 404), tags=["workspaces"])
async def list_workspaces(request: AnyRequest, thread_id: FromPath[str]) -> Response[bytes]:
    """Folders whose files a thread changed, the last one first."""
    here = served(request)
    return answer([_shown(here, row) for row in await asyncio.to_thread(_rows, here, named(thread_id))])


@get(f"{_ONE}/changes", operation_class=says(Page[ChangeShown], 404), tags=["workspaces"])
async def list_changes(
    request: AnyRequest, thread_id: FromPath[str], workspace: FromPath[int], limit: Limit = 200, after: After = None
) -> Response[bytes]:
    """File changes of each message, the last first."""
    return await asyncio.to_thread(_changes, served(request), named(thread_id), workspace, limit, after)


@get(f"{_ONE}/changes/{{snapshot:int}}", operation_class=says(list[FileDiff], 404), tags=["workspaces"])
async def get_change(
    request: AnyRequest, thread_id: FromPath[str], workspace: FromPath[int], snapshot: FromPath[int]
) -> Response[bytes]:
    """One of these changes, as diffs."""
    return await asyncio.to_thread(_diffs, served(request), named(thread_id), workspace, snapshot)


@get(f"{_ONE}/plan", operation_class=says(PlanShown, 404, 409), tags=["workspaces"])
async def get_plan(
    request: AnyRequest,
    thread_id: FromPath[str],
    workspace: FromPath[int],
    kind: FromQuery[Literal["undo", "redo"]] = "undo",
    turns: Annotated[int | None, QueryParameter(ge=1, le=100_000, description="Number of turns; 1 by default.")] = None,
    to: Annotated[str | None, QueryParameter(description="Target message instead of a number of turns.")] = None,
    reach: Annotated[
        Literal["both", "files", "conversation"], QueryParameter(name="scope", description="What to undo.")
    ] = "both",
    unverified: Annotated[bool, QueryParameter(description="Revert files whose hash cannot be verified.")] = False,
) -> Response[bytes]:
    """Plan of an undo or redo; nothing is changed. Redo reverts the last undo, with its scope."""
    goal = UNSET if to is None else to
    asked = Apply(plan="", kind=kind, turns=turns or UNSET, to=goal, scope=reach, unverified=unverified)
    return await asyncio.to_thread(
        _with_plan, served(request), named(thread_id), workspace, asked, lambda found: answer(_plan(found))
    )


@post(
    f"{_ONE}/apply",
    operation_class=says(Applied, 404, 409, takes=Apply),
    status_code=200,
    tags=["workspaces"],
)
async def apply(request: AnyRequest, thread_id: FromPath[str], workspace: FromPath[int]) -> Response[bytes]:
    """Apply a plan: exactly the one that was shown, or nothing."""
    order = read_body(Apply, await request.body())
    return await asyncio.to_thread(
        _with_plan, served(request), named(thread_id), workspace, order, lambda found: _run(found, order.plan)
    )


# -- what is recorded ------------------------------------------------------------------------------------------------

_Row = tuple[int, str, int, int]


def _rows(here: Served, thread_id: str) -> list[_Row]:
    def job(tx: Tx) -> list[_Row]:
        thread = find_thread(tx, thread_id).thread
        return [(row[0], unsafe(row[1]) or "", row[2], row[3]) for row in tx.all("workspaces_of", thread=thread)]

    return here.ledger._read(job)


def _shown(here: Served, row: _Row) -> WorkspaceShown:
    number, root, count, at = row
    why = _refusal(here, root)
    return WorkspaceShown(
        id=number,
        root=root,
        changes=count,
        changed_at=iso_time(at),
        touchable=why is None,
        why=UNSET if why is None else why,
    )


def _refusal(here: Served, root: str) -> str | None:
    """Why the server may not change a folder; None if it may."""
    if here.workspaces is not None and root not in here.workspaces:
        return f"this server may not change {root}; start it with --workspace {root}"
    return None if os.path.isdir(root) else f"{root} is not on this machine"


def _find(here: Served, thread_id: str, workspace: int) -> str:
    for number, root, _, _ in _rows(here, thread_id):
        if number == workspace:
            return root
    raise NotFound(f"thread {thread_id!r} changed no files in a workspace {workspace}; see GET workspaces")


def _snapshots(here: Served, thread_id: str, workspace: int) -> list[Snapshot]:
    _find(here, thread_id, workspace)
    return here.ledger._read(lambda tx: snapshots.thread_snapshots(tx, workspace, thread_id))


def _changes(here: Served, thread_id: str, workspace: int, limit: int, after: str | None) -> Response[bytes]:
    found = _snapshots(here, thread_id, workspace)[::-1]
    if after is not None:
        if (last := whole_number(after)) is None:
            raise Unreadable(f"invalid cursor {after!r}", "?after", "give the `next` of the previous page")
        found = [one for one in found if one.number < last]
    more = len(found) > limit
    page = Page(items=[_change(one) for one in found[:limit]], next=str(found[limit - 1].number) if more else None)
    return answer(page)


def _change(one: Snapshot) -> ChangeShown:
    return ChangeShown(
        snapshot=one.number,
        at=iso_time(one.at),
        source=one.source,
        message_id=one.author.message_id,
        run_id=one.author.run_id,
        agent_id=one.author.agent_id,
        undone=one.state == snapshots.UNDONE,
        partial=one.partial,
        files=[FileChange(path=os.fsdecode(each.path), what=describe(each)) for each in one.changes[:_PATHS]],
        more=max(0, len(one.changes) - _PATHS),
    )


def _diffs(here: Served, thread_id: str, workspace: int, snapshot: int) -> Response[bytes]:
    for one in _snapshots(here, thread_id, workspace):
        if one.number == snapshot:
            break
    else:
        raise NotFound(f"no change {snapshot} of thread {thread_id!r} in workspace {workspace}; see GET changes")

    def held(entry: Entry) -> bytes | None:
        def job(tx: Tx) -> bytes | None:
            return snapshots.content(tx, entry.hash) if snapshots.has_content(tx, entry.hash) else None

        return here.ledger._read(job)

    diff = _differ(held)
    return answer(
        [FileDiff(path=os.fsdecode(each.path), what=describe(each), diff=diff(each)) for each in one.changes[:_PATHS]]
    )


def _differ(content: Callable[[Entry], bytes | None]) -> Callable[[Change], str]:
    """Diffs with a limit for each and for all."""
    left = _TOTAL

    def short(entry: Entry) -> bytes | None:
        return content(entry) if left > 0 and entry.size <= _TEXT else None

    def diff(change: Change) -> str:
        nonlocal left
        text = unified_diff(change, short)
        if len(text) > _SHOWN:
            text = text[:_SHOWN].rpartition("\n")[0] + "\n… and more\n"
        left -= len(text)
        return text

    return diff


# -- back and forward ------------------------------------------------------------------------------------------------


def _with_plan(here: Served, thread_id: str, workspace: int, asked: Apply, act: Callable[[UndoPlan], T]) -> T:
    root = _find(here, thread_id, workspace)
    if (why := _refusal(here, root)) is not None:
        raise PermissionDeniedException(why)
    with Workspace(here.ledger, root, create=False) as files:
        if asked.kind == "redo":
            return act(files.plan(Redo(thread_id)))
        turns = asked.turns if isinstance(asked.turns, int) else 1
        to = asked.to if isinstance(asked.to, str) else None
        return act(files.plan(Undo(thread_id, turns, to, asked.scope, asked.unverified)))


def _plan(found: UndoPlan) -> PlanShown:
    diff = _differ(lambda entry: found.files.contents.get(entry.hash))
    return PlanShown(
        id=_name(found),
        kind=found.kind,
        from_head=found.from_head,
        to_head=found.to_head,
        files=[_planned(item, diff) for item in found.files.touched],
        conflicts=[_planned(item) for item in found.files.conflicts],
        todos=_todos(found),
    )


def _todos(found: UndoPlan) -> list[Todo]:
    return todos_at(found.workspace.ledger, found.thread_id, found.to_head)


def _planned(item: PlannedPath, diff: Callable[[Change], str] | None = None) -> PlannedFile:
    shown = UNSET if diff is None else diff(Change(item.path, item.found, item.wanted))
    return PlannedFile(path=item.name, action=item.action, why=item.why or UNSET, diff=shown)


def _name(found: UndoPlan) -> str:
    """Digest of a plan, which changes with any part of it."""
    operation = found.operation
    said: list[Any] = [
        found.kind,
        found.author,
        operation.from_head,
        operation.to_head,
        operation.moves,
        operation.undoes,
        operation.redoes,
    ]
    said += [[item.path, item.found, item.wanted, item.action, item.why] for item in found.files.items]
    return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _run(found: UndoPlan, wanted: str) -> Response[bytes]:
    if (now := _name(found)) != wanted:
        raise Conflict(
            "the plan is outdated: files or the conversation have changed; nothing was done, request a new plan",
            expected=wanted,
            found=now,
        )
    done = found.run()
    kept = [PlannedFile(path=path, action="keep", why=why) for path, why in done.conflicts]
    skipped = {path for path, _ in done.conflicts}
    return answer(
        Applied(
            kind=done.kind,
            from_head=done.from_head,
            to_head=done.to_head,
            files=[_planned(item) for item in found.files.touched if item.name not in skipped],
            conflicts=kept,
            todos=_todos(found),
        )
    )


ROUTES = [list_workspaces, list_changes, get_change, get_plan, apply]
