"""Undo, redo and restore: the head of a thread and the files it changed go back, and forward, together.

Undo takes back what the thread's turns behind the new head did to files, and nothing that anybody else did. Redo puts
back exactly what undo found, until something new is said. The todo list is what stands at the head, so it goes along.
"""

from __future__ import annotations

import os
from typing import Any

from msgspec import UNSET, Struct

from hansard.errors import Conflict, HansardError, NotFound
from hansard.ledger import threads
from hansard.ledger.backends.driver import Tx
from hansard.ledger.ids import clock
from hansard.ledger.ledger import Ledger
from hansard.ledger.results import TreeNode
from hansard.ledger.rows import find_thread
from hansard.model.conversation import Message, Todo
from hansard.model.parts import ToolCallPart
from hansard.workspace import scan
from hansard.workspace import snapshots as records
from hansard.workspace.entries import Entry
from hansard.workspace.plan import Plan, Steps, plan
from hansard.workspace.rooted_fs import relative, told
from hansard.workspace.snapshots import OUTSIDE, By, Deed, Done, Snapshot
from hansard.workspace.workspace import Workspace

SCOPES = ("both", "files", "conversation")
ASKS = ("user",)


class Outcome(Struct, frozen=True, kw_only=True):
    """What an undo or redo did, or with a dry run would do."""

    kind: str
    thread_id: str | None
    from_head: str | None
    to_head: str | None
    plan: Plan
    conflicts: list[tuple[str, str]]
    todos: list[Todo]
    number: int | None = None


class Course(Struct, frozen=True, kw_only=True):
    """Where an undo or redo leads, worked out before anything is done: `run` does it."""

    workspace: Any
    kind: str
    by: By
    deed: Deed
    plan: Plan

    def run(self) -> Outcome:
        """Do it; with the lock held, on files that are looked at again."""
        with told():
            return _run(self)

    def outcome(self, done: Done | None = None) -> Outcome:
        deed = self.deed if done is None else done.deed
        kept = [(item.path, item.why) for item in self.plan.conflicts] if done is None else deed.conflicts
        thread_id = self.by.thread_id
        todos = todos_at(self.workspace.ledger, thread_id, deed.to_head) if thread_id is not None else []
        return Outcome(
            kind=self.kind,
            thread_id=thread_id,
            from_head=deed.from_head,
            to_head=deed.to_head,
            plan=self.plan,
            conflicts=[(os.fsdecode(path), why) for path, why in kept],
            todos=todos,
            number=None if done is None else done.number,
        )


# -- undo ------------------------------------------------------------------------------------------------------------


def undo(
    workspace: Workspace, thread_id: str, turns: int = 1, *, to: str | None = None, scope: str = "both"
) -> Outcome:
    """Go back so many turns, or to a message."""
    return course(workspace, thread_id, turns, to=to, scope=scope).run()


@told()
def course(
    workspace: Workspace, thread_id: str, turns: int = 1, *, to: str | None = None, scope: str = "both"
) -> Course:
    """What `undo` would do."""
    _check_scope(scope)
    nodes = {node.id: node for node in workspace.ledger.tree(thread_id)}
    head = workspace.ledger.thread(thread_id).head
    target = _turns_back(nodes, head, turns) if to is None else to
    if target is not None and target not in nodes:
        raise NotFound(f"no message {target!r} in thread {thread_id!r}; `hansard tree` shows them")
    back, forward = _snapshots(workspace, thread_id, nodes, head, target) if scope != "conversation" else ([], [])
    deed = Deed(
        from_head=head,
        to_head=head if scope == "files" else target,
        moves=scope != "files",
        undoes=[one.number for one in back],
        redoes=[one.number for one in forward],
    )
    steps: Steps = {}
    for one in reversed(back):
        for change in one.changes:
            steps.setdefault(change.path, []).append((change.after, change.before))
    for one in forward:
        for change in one.changes:
            steps.setdefault(change.path, []).append((change.before, change.after))
    return Course(
        workspace=workspace,
        kind="undo",
        by=By(thread_id=thread_id, message_id=target),
        deed=deed,
        plan=_planned(workspace, steps),
    )


def _turns_back(nodes: dict[str, TreeNode], head: str | None, turns: int) -> str | None:
    """The message before the last so many things the user said."""
    if turns < 1:
        raise HansardError(f"{turns} turns cannot be undone; give 1 or more")
    at, left = head, turns
    while at is not None:
        node = nodes[at]
        at = node.parent_id
        if node.role in ASKS:
            left -= 1
            if left == 0:
                return at
    if left == turns:
        raise HansardError("there is nothing to undo: nobody asked for anything yet on this path")
    raise HansardError(f"this path has fewer than {turns} turns: {turns - left}; --to names a message")


def _up(nodes: dict[str, TreeNode], at: str | None) -> list[str | None]:
    found: list[str | None] = []
    while at is not None:
        found.append(at)
        at = nodes[at].parent_id
    return [*found, None]


def _snapshots(
    workspace: Workspace, thread_id: str, nodes: dict[str, TreeNode], head: str | None, target: str | None
) -> tuple[list[Snapshot], list[Snapshot]]:
    """What has to be taken back and what is put in again, to be at a message: whatever else was done stays."""
    wanted = set(_up(nodes, target))
    fork = next(at for at in _up(nodes, head) if at in wanted)
    places = _Places(workspace.ledger, thread_id, nodes)
    back, forward = [], []
    for one in workspace.snapshots(thread_id):
        try:
            at = places.of(one.by)
        except NotFound:  # pruned: nobody knows where it belongs
            continue
        if at in wanted:
            if one.state == records.UNDONE:
                forward.append(one)
        elif one.state == records.IN_FILES and fork in _up(nodes, at):
            back.append(one)
    return [one for one in back if one.source not in _DEEDS], [one for one in forward if one.source not in _DEEDS]


class _Places:
    """The message that a change belongs to. What a run did that never came into the transcript was asked for there."""

    def __init__(self, ledger: Ledger, thread_id: str, nodes: dict[str, TreeNode]) -> None:
        self._ledger, self._thread_id, self._nodes = ledger, thread_id, nodes
        self._last: dict[str | None, TreeNode] = {node.run_id: node for node in nodes.values()}

    def of(self, by: By) -> str | None:
        if by.message_id is None:
            return None
        node = self._nodes.get(by.message_id) or (self._last.get(by.run_id) if by.run_id is not None else None)
        if node is None:  # the run died before it said anything
            run = self._ledger.run(self._thread_id, by.run_id) if by.run_id is not None else None
            asked = run.fork_from_message_id if run is not None else None
            if not isinstance(asked, str) or asked not in self._nodes:
                raise NotFound(f"no message {by.message_id!r}")
            node = self._nodes[asked]
        if node.status in (None, "committed", "superseded"):
            return node.id
        at: str | None = node.id
        while at is not None and self._nodes[at].role not in ASKS:
            at = self._nodes[at].parent_id
        return node.id if at is None else at


_DEEDS = ("undo", "redo")


# -- redo ------------------------------------------------------------------------------------------------------------


def redo(workspace: Workspace, thread_id: str) -> Outcome:
    """Take the last undo of a thread back."""
    return redo_course(workspace, thread_id).run()


@told()
def redo_course(workspace: Workspace, thread_id: str) -> Course:
    """What `redo` would do."""
    head = workspace.ledger.thread(thread_id).head
    done = workspace.driver.read(lambda tx: records.deeds(tx, workspace.number))
    undone = [
        one for one in done if one.kind == "undo" and one.thread_id == thread_id and one.state in ("done", "over")
    ]
    if not undone:
        raise HansardError(f"there is nothing to redo in thread {thread_id!r}")
    last = undone[-1]
    if last.deed.to_head != head:
        raise Conflict(
            f"something was said since the undo, so it cannot be redone; `hansard undo --to {last.deed.from_head}` "
            "goes to that branch with its files, `hansard checkout` without",
            expected=last.deed.to_head,
            found=head,
        )
    deed = Deed(
        from_head=head,
        to_head=last.deed.from_head,
        moves=last.deed.moves,
        undoes=last.deed.redoes,
        redoes=last.deed.undoes,
        redo_of=last.number,
    )
    steps: Steps = {item.path: [(item.wrote, item.found)] for item in last.deed.items}
    by = By(thread_id=thread_id, message_id=deed.to_head)
    return Course(workspace=workspace, kind="redo", by=by, deed=deed, plan=_planned(workspace, steps))


# -- restore ---------------------------------------------------------------------------------------------------------


def restore(workspace: Workspace, path: str | bytes, entry: Entry | None, by: By = OUTSIDE) -> Outcome:
    """Put one path back as it was, whoever changed it since."""
    return restore_course(workspace, path, entry, by).run()


@told()
def restore_course(workspace: Workspace, path: str | bytes, entry: Entry | None, by: By = OUTSIDE) -> Course:
    name = relative(workspace.root.path, path)
    found, _ = workspace.root.look(name, workspace.limits.file_size)
    head = None if by.thread_id is None else workspace.ledger.thread(by.thread_id).head
    planned = _planned(workspace, {name: [(found, entry)]})
    deed = Deed(from_head=head, to_head=head)
    return Course(workspace=workspace, kind="restore", by=workspace.at_head(by), deed=deed, plan=planned)


# -- doing it --------------------------------------------------------------------------------------------------------


def _planned(workspace: Workspace, steps: Steps) -> Plan:
    def content(name: bytes) -> bytes | None:
        def job(tx: Tx) -> bytes | None:
            return records.content(tx, name) if records.has_content(tx, name) else None

        return workspace.driver.read(job)

    return plan(workspace.root, steps, content, workspace.limits.file_size)


def _run(given: Course) -> Outcome:
    workspace: Workspace = given.workspace
    deed, by = given.deed, given.by
    with workspace.root.lock():
        now = clock()

        def settle(tx: Tx, snap: int, done: Deed) -> None:
            for number in done.undoes:
                tx.run("mark_workspace_snapshot", snap=number, state=records.UNDONE)
            for number in done.redoes:
                tx.run("mark_workspace_snapshot", snap=number, state=records.IN_FILES)
            if done.redo_of is not None:
                for one in records.deeds(tx, workspace.number):
                    if one.number == done.redo_of:
                        records.set_deed(tx, one.number, "redone", one.deed)
            _update_index(tx, workspace.number, done)
            if by.thread_id is not None and done.moves:
                _move(tx, by.thread_id, done, now)

        finished = workspace.apply().run(given.kind, by, given.plan, deed, settle)
    return given.outcome(finished)


def _move(tx: Tx, thread_id: str, deed: Deed, now: int) -> None:
    """The head, if it is still where it was when this was worked out."""
    row = find_thread(tx, thread_id, lock=True)
    head = threads.as_thread(tx, row).head
    if head != deed.from_head:
        raise Conflict(
            f"something was said in thread {thread_id!r} meanwhile; nothing was changed, try again",
            expected=deed.from_head,
            found=head,
        )
    threads.checkout(tx, thread_id, deed.to_head, now, tip=False)


def _update_index(tx: Tx, workspace: int, deed: Deed) -> None:
    row = tx.one("workspace_files", workspace=workspace)
    if row is None or row[0] is None or not deed.items:
        return
    index = scan.read_index(bytes(row[0]))
    for item in sorted(deed.items, key=lambda item: item.path):
        if item.wrote != item.found:
            scan.put(index, item.path, item.wrote)
    tx.run("set_workspace_files", workspace=workspace, files=scan.write_index(index))


def _check_scope(scope: str) -> None:
    if scope not in SCOPES:
        raise HansardError(f"no scope {scope!r}; there are {', '.join(SCOPES)}")


# -- the todo list ---------------------------------------------------------------------------------------------------


def todos_at(ledger: Ledger, thread_id: str, head: str | None) -> list[Todo]:
    """The todo list as it stood at a message: what was last said of it on the path."""
    if head is None:
        return []
    before: str | None = None
    while True:
        page = ledger.messages(thread_id, limit=100, newest=True, before=before, head=head)
        for message in page.items:
            found = _todos(message)
            if found is not None:
                return found
        if (before := page.next) is None:
            return []


def _todos(message: Message) -> list[Todo] | None:
    if message.todos is not UNSET and isinstance(message.todos, list):
        return message.todos
    for part in reversed(message.parts):
        if isinstance(part, ToolCallPart) and part.tool_name in ("TodoWrite", "write_todos", "update_plan"):
            told = part.input if isinstance(part.input, dict) else {}
            listed = told.get("todos", told.get("plan"))
            if isinstance(listed, list) and all(isinstance(one, dict) for one in listed):
                return [_todo(one) for one in listed]
    return None


def _todo(one: dict[str, Any]) -> Todo:
    def text(*names: str) -> Any:
        return next((one[name] for name in names if isinstance(one.get(name), str)), UNSET)

    return Todo(content=text("content", "description", "step"), status=text("status"), active_form=text("activeForm"))
