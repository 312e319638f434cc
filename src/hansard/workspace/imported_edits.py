"""Make imported sessions undoable: the edits in a transcript become snapshots of a workspace.

The edits of a message become one snapshot of its thread with the source `transcript`; changes made by others in between
become an outside snapshot before it. Messages that have a snapshot are skipped, so that a session that has grown adds
only new ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hansard.formats.coding_agents.claude_code.edits import backups_of
from hansard.formats.coding_agents.edits import UNKNOWN, Content, Edit, Step, Unknown, edits_of, infer_unknown, replayed
from hansard.ledger import sources
from hansard.ledger.backends.driver import Tx, safe, unsafe
from hansard.ledger.ids import clock
from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Conversation
from hansard.model.parts import ToolResultPart
from hansard.model.times import milliseconds
from hansard.workspace import opencode_folder
from hansard.workspace.entries import FILE, UNRECORDED, Change, Entry, Refused, content_hash, file_entry, same
from hansard.workspace.rooted_fs import relative
from hansard.workspace.snapshots import Author, SnapshotWriter
from hansard.workspace.workspace import Workspace

UNRECORDED_ENTRY = Entry(UNRECORDED)


class ImportedEdits(Struct, frozen=True, kw_only=True):
    """Counts of imported edits: below the root, elsewhere, compared with files; and the outside changes."""

    edits: int = 0
    elsewhere: int = 0
    outside: list[tuple[str, str]] = []
    compared: int = 0


def import_edits(workspace: Workspace, thread_id: str, *, backups: str | None = None) -> ImportedEdits:
    """Import the edits of a thread's transcript; `backups` is Claude Code's folder `file-history/SESSION`."""
    if recorded_live(workspace, thread_id):
        return ImportedEdits()  # the transcript adds nothing
    conversation = workspace.ledger.export_conversation(thread_id)
    for source in workspace.ledger._read(lambda tx: sources.of_thread(tx, thread_id)):
        if source.format == "copilot-cli" and source.main:
            from hansard.workspace import copilot_folder  # which uses this module

            if copilot_folder.read_folder(workspace, thread_id, conversation, os.path.dirname(source.uri)) is not None:
                return ImportedEdits()
    held = _backups(conversation, backups) if backups is not None else ()
    given = session_edits(workspace.ledger, thread_id, conversation, held)
    if (of := snapshot_folder(workspace.ledger, thread_id)) is not None:
        given = opencode_folder.with_snapshots(conversation, *of, given)
    return add_edits(workspace, thread_id, conversation, given)


def snapshot_folder(ledger: Ledger, thread_id: str) -> tuple[str, str] | None:
    """The format and the folder of an agent that keeps snapshots of the workspace in a repository of its own."""
    for source in ledger._read(lambda tx: sources.of_thread(tx, thread_id)):
        if source.format in opencode_folder.FORMATS and source.main:
            return source.format, os.path.dirname(source.uri.rpartition("#")[0])
    return None


def recorded_live(workspace: Workspace, thread_id: str) -> bool:
    """Whether the thread's changes were recorded while they were made."""
    return any(one.source in ("tool", "scan", "window", "shared") for one in workspace.snapshots(thread_id))


def session_edits(
    ledger: Ledger, thread_id: str, conversation: Conversation, backups: Iterable[Edit] = ()
) -> Iterator[Edit]:
    """The edits of a session; those of sub-agents with threads of their own belong to the message that started them."""
    below = sub_agents(ledger, thread_id, conversation)
    children = {key: [ledger.export_conversation(one) for one in names] for key, names in below.items()}
    last: str | None = None
    for edit in edits_of(conversation, backups, mark=bool(children)):
        if edit.message_id != last:
            for child in children.pop(last, ()) if last is not None else ():
                yield from (replace(one, message_id=last or "") for one in edits_of(child))
            last = edit.message_id
        if not edit.is_mark:
            yield edit
    for key, rest in children.items():
        for child in rest:
            yield from (replace(one, message_id=key) for one in edits_of(child))


def sub_agents(ledger: Ledger, thread_id: str, conversation: Conversation) -> dict[str, list[str]]:
    """The threads of sub-agents by the message whose result names them first."""
    waiting = {
        unsafe(row[0]) or "" for row in ledger._read(lambda tx: tx.all("threads_of_parent", parent=safe(thread_id)))
    }
    found: dict[str, list[str]] = {}
    for message in conversation.messages if waiting else ():
        for part in message.parts:
            if isinstance(part, ToolResultPart) and isinstance(message.id, str):
                text = str(part.output) if part.content is UNSET else str(part.content)
                named = [key for key in sorted(waiting) if key in text]
                if named:
                    found.setdefault(message.id, []).extend(named)
                    waiting -= set(named)
    return found


def session_folder(conversation: Conversation) -> str | None:
    """The folder that a session worked in."""
    for message in conversation.messages:
        if message.context is not UNSET and message.context is not None and isinstance(message.context.cwd, str):
            return message.context.cwd
    return None


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def path_in_root(root: str, base: str, told: str) -> bytes | None:
    """The path below the root of a file that a session in `base` names; None for a file elsewhere.

    Paths of a project that was moved, or comes from another machine, are taken relative to `base`.
    """
    whole = os.path.normpath(os.path.join(base, told))
    if not (_below(whole, root) or _below(base, root) or _below(root, base)):
        inside = os.path.relpath(whole, base)
        whole = os.path.join(root, inside) if whole.startswith("/") and not inside.startswith("..") else whole
    try:
        return relative(root, whole)
    except Refused:
        return None


def add_edits(workspace: Workspace, thread_id: str, conversation: Conversation, given: Iterable[Edit]) -> ImportedEdits:
    """Record edits in a workspace as changes of a thread."""
    told = {one.author.message_id for one in workspace.snapshots(thread_id)}
    agents = {message.id: message for message in conversation.messages if isinstance(message.id, str)}
    base = session_folder(conversation) or workspace.root.path
    by_message: dict[str, list[tuple[bytes, Step]]] = {}
    outside: list[tuple[str, str]] = []
    elsewhere = count = compared = 0

    def below(told: str) -> bytes | None:
        return path_in_root(workspace.root.path, base, told)

    def now(told: str) -> Content:
        path = below(told)
        try:
            found, data = (None, b"") if path is None else workspace.root.read_entry(path, workspace.limits.file_size)
        except (OSError, Refused):
            return UNKNOWN
        return UNKNOWN if found is None or found.kind != FILE else data

    for step in infer_unknown(replayed(given), now):
        path = below(step.path)
        if path is None:
            elsewhere += 1
            continue
        count += not step.is_backup
        compared += step.compared
        if step.outside:
            outside.append((step.path, step.message_id))
        by_message.setdefault(step.message_id, []).append((path, step))
        if step.edit.moved_from is not None and (source := below(step.edit.moved_from)) is not None:
            by_message[step.message_id].append((source, _leaving(step)))
    for message_id, steps in by_message.items():
        if message_id in told:
            continue
        message = agents.get(message_id)
        author = Author(
            thread_id=thread_id,
            message_id=message_id,
            run_id=message.run_id if message is not None and isinstance(message.run_id, str) else None,
            agent_id=message.agent_id if message is not None and isinstance(message.agent_id, str) else None,
        )
        told_at = milliseconds(message.created_at) if message and isinstance(message.created_at, str) else None
        _add(workspace, author, steps, clock() if told_at is None else told_at)
    return ImportedEdits(edits=count, elsewhere=elsewhere, outside=outside, compared=compared)


def _leaving(step: Step) -> Step:
    """The other half of a move: the old path, which is empty after it."""
    return replace(step, path=step.edit.moved_from or "", after=None, edit=replace(step.edit, moved_from=None))


def _add(workspace: Workspace, author: Author, steps: list[tuple[bytes, Step]], at: int) -> None:
    found: list[Change] = []
    between: list[Change] = []
    outsider = Author(message_id=author.message_id)  # found at this message, made by others
    theirs = SnapshotWriter(workspace.driver, workspace.number, outsider, "transcript", at)
    ours = SnapshotWriter(workspace.driver, workspace.number, author, "transcript", at)
    for path, step in steps:
        if step.outside:
            between.append(Change(path, _entry(step.expected, theirs), _entry(step.before, theirs)))
        if not step.is_backup:
            before = step.there if step.edit.moved_from is not None else step.before
            modes = step.edit.modes
            change = Change(path, _entry(before, ours, modes[0]), _entry(step.after, ours, modes[1]))
            if change.before is UNRECORDED_ENTRY or not same(change.before, change.after):
                found.append(change)

    def job(tx: Tx) -> None:
        if between:
            theirs.finish(tx, between)
        ours.finish(tx, _joined(found))

    if between or found:
        workspace.driver.write(job)


def _joined(changes: list[Change]) -> list[Change]:
    """The changes with consecutive edits of a path joined."""
    out: dict[bytes, Change] = {}
    more: list[Change] = []
    for one in changes:
        last = out.get(one.path)
        if last is None:
            out[one.path] = one
        elif same(last.after, one.before):
            out[one.path] = Change(one.path, last.before, one.after)
        else:
            more.append(one)
    return [*out.values(), *more]


def _entry(content: Content, writer: SnapshotWriter, mode: int | None = None) -> Entry | None:
    if isinstance(content, Unknown):
        return UNRECORDED_ENTRY
    if content is None:
        return None
    writer.keep(content_hash(content), content)
    return file_entry(content, mode)


def _backups(conversation: Conversation, folder: str) -> list[Edit]:
    def read(name: str) -> bytes | None:
        if "/" in name or name in ("", ".", ".."):
            return None
        try:
            with open(os.path.join(folder, name), "rb") as file:
                return file.read()
        except OSError:
            return None

    return list(backups_of(conversation, read))
