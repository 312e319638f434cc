"""Undo, redo and restore: one way to plan (`make_plan`) and one way to run a plan (`UndoPlan.run`).

Undo reverts the changes that the thread made after the new head, and no changes of others. Redo restores exactly what
undo found, until a message is added. Restore puts a single path back. The head of the thread moves in the transaction
that completes the files; the todo list is read at the head (`todos.todos_at`), so no plan carries it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from hansard.errors import Conflict, HansardError, NotFound
from hansard.ledger import sources, threads
from hansard.ledger.backends.driver import Tx
from hansard.ledger.ids import clock
from hansard.ledger.ledger import Ledger
from hansard.ledger.results import TreeNode
from hansard.ledger.rows import find_thread
from hansard.model.conversation import Conversation
from hansard.workspace import opencode_folder, scan, snapshots
from hansard.workspace.entries import Entry
from hansard.workspace.git_objects import known_to_git
from hansard.workspace.left_behind import Left, commands, unsure
from hansard.workspace.plan import FilePlan, PlannedPath, Steps, plan_files
from hansard.workspace.rooted_fs import relative, translate_os_errors
from hansard.workspace.snapshots import OUTSIDE, SAGE, AppliedOperation, Author, Operation, Snapshot

if TYPE_CHECKING:
    from hansard.workspace.workspace import Workspace

SCOPES = ("both", "files", "conversation")
_USER = ("user",)
_LISTED = 5  # files that an error names
_REVERSALS = ("undo", "redo")  # snapshots of these are not the thread's own changes


class Undo(Struct, frozen=True):
    """Go back `turns` user messages, or to the message `to`, which may be on another branch.

    `unverified` proceeds although recorded files cannot be verified: those without a usable hash are reverted, those
    that differ or have no backup are kept.
    """

    kind: ClassVar[str] = "undo"
    thread_id: str
    turns: int = 1
    to: str | None = None
    scope: str = "both"
    unverified: bool = False


class Redo(Struct, frozen=True):
    """Reverse the last undo of a thread."""

    kind: ClassVar[str] = "redo"
    thread_id: str


class Restore(Struct, frozen=True):
    """Put one path back to an entry (None: no file), regardless of who changed it since."""

    kind: ClassVar[str] = "restore"
    path: str | bytes
    entry: Entry | None
    author: Author = OUTSIDE


Request = Undo | Redo | Restore


class UndoPlan(Struct, frozen=True, kw_only=True):
    """What a request would do, worked out before anything is changed; `run` carries it out.

    `left` is what no record takes back. `unproven` are the paths whose change is known from a transcript only: neither
    a snapshot of this workspace nor git has seen the content to restore.
    """

    workspace: Any  # a Workspace
    kind: str
    author: Author
    operation: Operation
    files: FilePlan
    unverified: bool = False
    left: list[Left] = []
    unproven: frozenset[bytes] = frozenset()

    @property
    def thread_id(self) -> str | None:
        return self.author.thread_id

    @property
    def from_head(self) -> str | None:
        return self.operation.from_head

    @property
    def to_head(self) -> str | None:
        return self.operation.to_head

    @property
    def conflicts(self) -> list[tuple[str, str]]:
        """The paths that would be kept, each with the reason."""
        return [(item.name, item.why) for item in self.files.conflicts]

    def run(self) -> UndoResult:
        """Carry out the plan under the root's lock; files are compared with the plan again."""
        if not self.unverified and (refused := self.files.refused):
            raise Conflict(_refusal(self.kind, refused))
        workspace: Workspace = self.workspace
        with translate_os_errors(), workspace.root.lock():
            applied = workspace.apply().run(self.kind, self.author, self.files, self.operation, self._complete)
        return UndoResult(
            kind=self.kind,
            thread_id=self.thread_id,
            from_head=applied.operation.from_head,
            to_head=applied.operation.to_head,
            files=self.files,
            conflicts=[(os.fsdecode(path), why) for path, why in applied.operation.conflicts],
            left=self.left,
        )

    def _complete(self, tx: Tx, operation: Operation) -> None:
        """The rows that change together with the operation: snapshots, the index of files, the head."""
        number = self.workspace.number
        for snap in operation.undoes:
            tx.run("mark_workspace_snapshot", snap=snap, state=snapshots.UNDONE)
        for snap in operation.redoes:
            tx.run("mark_workspace_snapshot", snap=snap, state=snapshots.IN_FILES)
        if operation.redo_of is not None:
            for one in snapshots.operations(tx, number):
                if one.number == operation.redo_of:
                    snapshots.set_operation(tx, one.number, "redone", one.operation)
        _update_index(tx, number, operation)
        if self.thread_id is not None and operation.moves:
            _move_head(tx, self.thread_id, operation)


class UndoResult(Struct, frozen=True, kw_only=True):
    """What an operation did; `conflicts` are the paths it kept, with reasons; `left` what nothing takes back."""

    kind: str
    thread_id: str | None
    from_head: str | None
    to_head: str | None
    files: FilePlan
    conflicts: list[tuple[str, str]]
    left: list[Left] = []


@translate_os_errors()
def make_plan(workspace: Workspace, request: Request) -> UndoPlan:
    """Plan a request; nothing is changed."""
    strict: set[bytes] = set()
    match request:
        case Undo():
            author, operation, steps = _undo(workspace, request, strict)
        case Redo():
            author, operation, steps = _redo(workspace, request)
        case Restore():
            author, operation, steps = _restore(workspace, request)

    def content(name: bytes) -> bytes | None:
        def job(tx: Tx) -> bytes | None:
            return snapshots.content(tx, name) if snapshots.has_content(tx, name) else None

        return workspace.driver.read(job)

    unverified = isinstance(request, Undo) and request.unverified
    limit = workspace.limits.file_size
    files = plan_files(workspace.root, steps, content, limit, strict=strict, unverified=unverified)
    return UndoPlan(
        workspace=workspace,
        kind=request.kind,
        author=author,
        operation=operation,
        files=files,
        unverified=unverified,
        left=_left(workspace, request, operation) if isinstance(request, Undo) else [],
        unproven=_unproven(workspace, request.thread_id, files) if isinstance(request, Undo) else frozenset(),
    )


def _refusal(kind: str, refused: list[PlannedPath]) -> str:
    """The error for files that could not be verified."""
    listed = "; ".join(f"{item.name}: {item.why}" for item in refused[:_LISTED])
    more = f"; and {len(refused) - _LISTED} more" if len(refused) > _LISTED else ""
    way_out = "reverts such files unverified"
    if not all(item.unverifiable for item in refused):
        way_out = "proceeds and keeps these files"
        if any(item.unverifiable for item in refused):
            way_out = "reverts files that cannot be verified and keeps those that differ or lack a backup"
    return f"cannot {kind}: {listed}{more}; nothing was changed; `--yes` (`unverified=True`) {way_out}"


_Planned = tuple[Author, Operation, Steps]

# -- undo ------------------------------------------------------------------------------------------------------------


def _undo(workspace: Workspace, request: Undo, strict: set[bytes]) -> _Planned:
    """Plan an undo; the paths of snapshots that have hashes are added to `strict`."""
    thread_id, scope = request.thread_id, request.scope
    if scope not in SCOPES:
        raise HansardError(f"unknown scope {scope!r} (choose from {', '.join(SCOPES)})")
    nodes = {node.id: node for node in workspace.ledger.tree(thread_id)}
    head = workspace.ledger.thread(thread_id).head
    target = _turns_back(nodes, head, request.turns) if request.to is None else request.to
    if target is not None and target not in nodes:
        raise NotFound(f"no message {target!r} in thread {thread_id!r}; `hansard tree` lists them")
    back, forward = _snapshots(workspace, thread_id, nodes, head, target) if scope != "conversation" else ([], [])
    operation = Operation(
        from_head=head,
        to_head=head if scope == "files" else target,
        moves=scope != "files",
        undoes=[one.number for one in back],
        redoes=[one.number for one in forward],
    )
    steps: Steps = {}
    for one in reversed(back):
        strict.update(change.path for change in one.changes if one.source == SAGE)
        for change in one.changes:
            steps.setdefault(change.path, []).append((change.after, change.before))
    for one in forward:
        for change in one.changes:
            steps.setdefault(change.path, []).append((change.before, change.after))
    return Author(thread_id=thread_id, message_id=target), operation, steps


def _turns_back(nodes: dict[str, TreeNode], head: str | None, turns: int) -> str | None:
    """The message before the last `turns` user messages."""
    if turns < 1:
        raise HansardError(f"cannot undo {turns} turns; give 1 or more")
    at, remaining = head, turns
    while at is not None:
        node = nodes[at]
        at = node.parent_id
        if node.role in _USER:
            remaining -= 1
            if remaining == 0:
                return at
    if remaining == turns:
        raise HansardError("nothing to undo: no user message on this branch")
    raise HansardError(f"cannot undo {turns} turns: this branch has {turns - remaining}; --to names a message")


def _ancestors(nodes: dict[str, TreeNode], at: str | None) -> list[str | None]:
    """A message and all before it, up to None, the start of the thread."""
    found: list[str | None] = []
    while at is not None:
        found.append(at)
        at = nodes[at].parent_id
    return [*found, None]


def _snapshots(
    workspace: Workspace, thread_id: str, nodes: dict[str, TreeNode], head: str | None, target: str | None
) -> tuple[list[Snapshot], list[Snapshot]]:
    """The thread's snapshots to revert and to apply again, to get from the head to the target."""
    wanted = set(_ancestors(nodes, target))
    fork = next(at for at in _ancestors(nodes, head) if at in wanted)
    owners = _Owners(workspace.ledger, thread_id, nodes)
    back, forward = [], []
    for one in workspace.snapshots(thread_id):
        try:
            at = owners.of(one.author)
        except NotFound:  # its message was pruned
            continue
        if at in wanted:
            if one.state == snapshots.UNDONE:
                forward.append(one)
        elif one.state == snapshots.IN_FILES and fork in _ancestors(nodes, at):
            back.append(one)
    return [one for one in back if one.source not in _REVERSALS], [
        one for one in forward if one.source not in _REVERSALS
    ]


# -- what is left, and what only a transcript says ---------------------------------------------------------------------


def _left(workspace: Workspace, request: Undo, operation: Operation) -> list[Left]:
    """What the undone turns of an imported session changed without a record."""
    thread_id, ledger = request.thread_id, workspace.ledger
    from hansard.workspace.imported_edits import (
        recorded_live,
        session_edits,
        snapshot_folder,
        sub_agents,
    )  # which import the facade

    if request.scope == "conversation" or recorded_live(workspace, thread_id):
        return []
    origins = ledger._read(lambda tx: sources.of_thread(tx, thread_id))
    if not origins or origins[0].format == "sage":  # whose own snapshots say what they cover
        return []
    conversation = ledger.export_conversation(thread_id)
    undone = _undone(workspace, request, operation, conversation)
    messages = [message for message in conversation.messages if message.id in undone]
    imaged = {one.author.message_id for one in workspace.snapshots(thread_id) if one.source == "transcript"}
    images = [os.path.dirname(one.uri) for one in origins if one.format == "copilot-cli" and one.main]
    if images and os.path.isdir(os.path.join(images[0], "rewind-file-snapshots")):
        prompts = [message.id for message in messages if message.role == "user" and message.sidechain is not True]
        if all(prompt in imaged for prompt in prompts):
            return []
    if (of := snapshot_folder(ledger, thread_id)) is not None:
        taken = opencode_folder.covered(conversation, of[0], imaged)
        messages = [message for message in messages if message.id not in taken]
        undone -= taken
    for key, names in sub_agents(ledger, thread_id, conversation).items():
        for name in names if key in undone else ():
            messages += ledger.export_conversation(name).messages
    edits = (edit for edit in session_edits(ledger, thread_id, conversation) if edit.message_id in undone)
    return [*commands(messages), *unsure(edits)]


def _undone(workspace: Workspace, request: Undo, operation: Operation, conversation: Conversation) -> set[str]:
    """The messages of the active branch that are undone, and those of sub-agents below them."""
    nodes = {node.id: node for node in workspace.ledger.tree(request.thread_id)}
    head, target = operation.from_head, operation.to_head
    if not operation.moves:
        target = _turns_back(nodes, head, request.turns) if request.to is None else request.to
    kept = set(_ancestors(nodes, target))
    undone = {key for key in _ancestors(nodes, head) if key not in kept and key is not None}
    for message in conversation.messages:
        if message.sidechain is True and isinstance(message.id, str) and message.id in nodes:
            if nodes[message.id].parent_id in undone:  # parents come before children
                undone.add(message.id)
    return undone


def _unproven(workspace: Workspace, thread_id: str, files: FilePlan) -> frozenset[bytes]:
    """The paths of a plan that only a transcript vouches for."""
    seen: dict[bytes, set[bytes]] = {}
    told: set[bytes] = set()
    for one in workspace.snapshots():
        for change in one.changes:
            if one.source == "transcript":
                told.add(change.path)
            else:
                seen.setdefault(change.path, set()).update(
                    e.hash for e in (change.before, change.after) if e is not None
                )
    asked = [item for item in files.touched if item.path in told]
    restored = {item.path: item.wanted.hash for item in asked if item.wanted is not None and item.wanted.held}
    contents = {name: files.contents[name] for name in restored.values() if name in files.contents}
    in_git = known_to_git(workspace.root.path, contents.values())
    proven = {
        path
        for path, name in restored.items()
        if name in seen.get(path, ()) or (name in contents and contents[name] in in_git)
    }
    return frozenset(item.path for item in asked if item.path not in proven)


class _Owners:
    """The message that a change belongs to; changes of a run without messages belong to the message it answered."""

    def __init__(self, ledger: Ledger, thread_id: str, nodes: dict[str, TreeNode]) -> None:
        self._ledger, self._thread_id, self._nodes = ledger, thread_id, nodes
        self._last: dict[str | None, TreeNode] = {node.run_id: node for node in nodes.values()}

    def of(self, author: Author) -> str | None:
        if author.message_id is None:
            return None
        node = self._nodes.get(author.message_id) or (
            self._last.get(author.run_id) if author.run_id is not None else None
        )
        if node is None:  # the run died before its first message
            run = self._ledger.get_run(self._thread_id, author.run_id) if author.run_id is not None else None
            answered = run.fork_from_message_id if run is not None else None
            if not isinstance(answered, str) or answered not in self._nodes:
                raise NotFound(f"no message {author.message_id!r}")
            node = self._nodes[answered]
        if node.active or node.status in (None, "committed", "superseded"):
            return node.id
        at: str | None = node.id
        while at is not None and self._nodes[at].role not in _USER:
            at = self._nodes[at].parent_id
        return node.id if at is None else at


# -- redo and restore ------------------------------------------------------------------------------------------------


def _redo(workspace: Workspace, request: Redo) -> _Planned:
    thread_id = request.thread_id
    head = workspace.ledger.thread(thread_id).head
    undone = [
        one
        for one in workspace.driver.read(lambda tx: snapshots.operations(tx, workspace.number))
        if one.kind == Undo.kind and one.thread_id == thread_id and one.state in ("done", "over")
    ]
    if not undone:
        raise HansardError(f"nothing to redo in thread {thread_id!r}: no undo to reverse")
    last: AppliedOperation = undone[-1]
    if last.operation.to_head != head:
        raise Conflict(
            f"cannot redo: messages were added after the undo; `hansard undo --to {last.operation.from_head}` "
            "switches to the undone branch with its files, `hansard checkout` without",
            expected=last.operation.to_head,
            found=head,
        )
    operation = Operation(
        from_head=head,
        to_head=last.operation.from_head,
        moves=last.operation.moves,
        undoes=last.operation.redoes,
        redoes=last.operation.undoes,
        redo_of=last.number,
    )
    steps: Steps = {item.path: [(item.wrote, item.found)] for item in last.operation.items}
    return Author(thread_id=thread_id, message_id=operation.to_head), operation, steps


def _restore(workspace: Workspace, request: Restore) -> _Planned:
    name = relative(workspace.root.path, request.path)
    found, _ = workspace.root.read_entry(name, workspace.limits.file_size)
    author = workspace.at_head(request.author)
    head = None if author.thread_id is None else workspace.ledger.thread(author.thread_id).head
    return author, Operation(from_head=head, to_head=head), {name: [(found, request.entry)]}


# -- rows that change with the files ---------------------------------------------------------------------------------


def _move_head(tx: Tx, thread_id: str, operation: Operation) -> None:
    """Move the head, if it is still where the plan saw it."""
    row = find_thread(tx, thread_id, lock=True)
    head = threads.as_thread(tx, row).head
    if head != operation.from_head:
        raise Conflict(
            f"thread {thread_id!r} changed during the operation; nothing was changed, try again",
            expected=operation.from_head,
            found=head,
        )
    threads.checkout(tx, thread_id, operation.to_head, clock(), tip=False)


def _update_index(tx: Tx, workspace: int, operation: Operation) -> None:
    row = tx.one("workspace_files", workspace=workspace)
    if row is None or row[0] is None or not operation.items:
        return
    index = scan.read_index(bytes(row[0]))
    for item in sorted(operation.items, key=lambda item: item.path):
        if item.wrote != item.found:
            scan.put(index, item.path, item.wrote)
    tx.run("set_workspace_files", workspace=workspace, files=scan.write_index(index))
