"""What the commands of a workspace share: which folder, which thread, a plan on the terminal, and asking first."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hansard.cli.options import resolve
from hansard.cli.terminal import counted, display, echo, echo_json
from hansard.errors import HansardError

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.workspace import Workspace
    from hansard.workspace.undo import Course, Outcome

F = TypeVar("F", bound=Callable[..., Any])
MANY = 20


def root_option(command: F) -> F:
    """The option `--root`: the folder of the workspace."""
    return click.option(
        "--root", metavar="FOLDER", help="The workspace; else the tracked folder this one is in, else this one."
    )(command)


def thread_option(command: F) -> F:
    """The option `--thread`: whose changes it is about."""
    return click.option("--thread", metavar="THREAD", help="Whose changes; else the thread that changed files last.")(
        command
    )


def open_workspace(ledger: Ledger, root: str | None, *, create: bool = False) -> Workspace:
    """The workspace of a command; what was cut off before is put right and said."""
    from hansard.workspace import Workspace

    files = Workspace(ledger, root or _tracked(ledger), create=create)
    for line in files.told:
        click.echo(f"hansard: {display(line)}", err=True)
    return files


def _tracked(ledger: Ledger) -> str:
    """The nearest folder above this one that is tracked."""
    from hansard.ledger.backends.driver import unsafe

    known = {unsafe(row[1]) for row in ledger._read(lambda tx: tx.all("workspaces"))}
    here = os.path.realpath(os.getcwd())
    folder = here
    while folder not in known:
        above = os.path.dirname(folder)
        if above == folder:
            return here
        folder = above
    return folder


def whose(files: Workspace, thread: str | None) -> str:
    """The thread a command is about; one that was imported is read for what it says of files."""
    if thread is not None:
        key = resolve(files.ledger, thread).id
        bring_in(files, key)
        return key
    found = files.last_thread()
    if found is None:
        raise HansardError(f"no thread has changed files in {files.root.path}; --thread names one")
    return found


def bring_in(files: Workspace, thread_id: str) -> None:
    """What an imported session tells of files: its transcript, Claude Code's backups, Sage's snapshots."""
    from hansard.ledger import sources
    from hansard.workspace import imported_edits as importing
    from hansard.workspace import sage_folder

    importing.bring_in(files, thread_id, backups=_file_history(thread_id))
    for source in files.ledger._read(lambda tx: sources.of_thread(tx, thread_id)):
        if source.format == "sage":
            sage_folder.read_folder(files, thread_id, os.path.dirname(source.uri))


def _file_history(thread_id: str) -> str | None:
    """Where Claude Code keeps its backups of a session, if it does here."""
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    folder = os.path.join(home, "file-history", thread_id)
    return folder if "/" not in thread_id and os.path.isdir(folder) else None


def carry_out(course: Course, *, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Show a plan or do it; many files are asked about first."""
    touched = course.plan.touched
    if dry_run:
        _tell(course.outcome(), as_json, planned=True)
        return 0
    if len(touched) > MANY and not yes:
        try:
            sure = click.confirm(f"{course.kind.capitalize()} would change {len(touched)} files. Go on?", err=True)
        except click.Abort:
            click.echo(err=True)
            raise HansardError(
                f"{len(touched)} files would change and nobody is there to ask; --yes goes on, --dry-run lists them"
            ) from None
        if not sure:
            return 1
    done = course.run()
    _tell(done, as_json, planned=False)
    return 1 if done.conflicts else 0


def _tell(done: Outcome, as_json: bool, *, planned: bool) -> None:
    items = [
        {"path": os.fsdecode(item.path), "action": item.action, "why": item.why}
        for item in done.plan.items
        if item.action != "none"
    ]
    if as_json:
        echo_json(
            {
                "kind": done.kind,
                "threadId": done.thread_id,
                "from": done.from_head,
                "to": done.to_head,
                "planned": planned,
                "files": [{**item, "path": display(item["path"])} for item in items if item["action"] != "keep"],
                "conflicts": [{"path": display(path), "why": why} for path, why in done.conflicts],
                "todos": done.todos,
            }
        )
        return
    for item in items:
        if item["action"] != "keep":
            echo(f"{item['action']:<6}  {display(item['path'])}")
    for path, why in done.conflicts:
        echo(f"keep    {display(path)}: {display(why)}")
    changed = counted(sum(item["action"] != "keep" for item in items), "file")
    verb = "would change" if planned else "changed"
    head = display(done.to_head) if done.to_head is not None else "before the first message"
    moved = f", the head {'would be' if planned else 'is'} {head}" if done.from_head != done.to_head else ""
    echo(f"{done.kind}: {changed} {verb}{moved}")
    for todo in done.todos:
        echo(f"todo    {display(todo.status)}: {display(todo.content)}")
