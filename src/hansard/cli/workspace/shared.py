"""What the commands on workspaces share: folder, thread, printing a plan, asking before it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hansard.cli.options import resolve
from hansard.cli.terminal import counted, display, echo, echo_json
from hansard.errors import HansardError

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.workspace import UndoPlan, UndoResult, Workspace
    from hansard.workspace.left_behind import Left

F = TypeVar("F", bound=Callable[..., Any])
MANY = 20  # files that change without a question


def root_option(command: F) -> F:
    """The option `--root`: the folder of the workspace."""
    return click.option(
        "--root",
        metavar="FOLDER",
        help="The workspace (default: the nearest tracked folder above this one, else this folder).",
    )(command)


def thread_option(command: F) -> F:
    """The option `--thread`: the thread that a command is about."""
    return click.option("--thread", metavar="THREAD", help="The thread (default: the thread that changed files last).")(
        command
    )


def run_options(command: F) -> F:
    """The options `--dry-run` and `--yes` of commands that change files."""
    command = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")(command)
    return click.option("--dry-run", is_flag=True, help="Print what would change; change nothing.")(command)


def open_workspace(ledger: Ledger, root: str | None, *, create: bool = False) -> Workspace:
    """The workspace of a command; prints what was recovered from interrupted operations."""
    from hansard.workspace import Workspace

    files = Workspace(ledger, root or _tracked(ledger), create=create)
    for line in files.recovered:
        click.echo(f"hansard: {display(line)}", err=True)
    return files


def _tracked(ledger: Ledger) -> str:
    """The nearest tracked folder at or above the current one, else the current one."""
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


def find_thread(files: Workspace, thread: str | None) -> str:
    """The thread a command is about; the edits of an imported session are read first."""
    if thread is not None:
        key = resolve(files.ledger, thread).id
        import_edits(files, key)
        return key
    found = files.last_thread()
    if found is None:
        raise HansardError(f"no thread has changed files in {files.root.path}; --thread names one")
    return found


def import_edits(files: Workspace, thread_id: str) -> None:
    """Record the edits of an imported session: its transcript, Claude Code's backups, Sage's snapshots."""
    from hansard.workspace import imported_edits
    from hansard.workspace.sage.snapshots import read_snapshots

    imported_edits.import_edits(files, thread_id, backups=_file_history(thread_id))
    found = read_snapshots(files, thread_id)
    for name in found.elsewhere:
        click.echo(f"hansard: {display(name)} is not below {display(files.root.path)}; it is left as it is", err=True)
    for message in found.unknown:
        click.echo(f"hansard: snapshots of message {display(message)!r} are left out: no such message", err=True)


def _file_history(thread_id: str) -> str | None:
    """Claude Code's folder with backups of a session, if it exists here."""
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    folder = os.path.join(home, "file-history", thread_id)
    return folder if "/" not in thread_id and os.path.isdir(folder) else None


def run_plan(plan: UndoPlan, *, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Print a plan, or run it and print the result; more than `MANY` files need a confirmation."""
    touched = plan.files.touched
    if dry_run:
        _print(plan, plan.workspace.ledger, as_json, planned=True)
        if plan.files.refused and not plan.unverified and not as_json:
            echo("refused as it is: nothing would change without --yes, which may be given with --dry-run")
        return 0
    if plan.unproven and not yes and not _agreed(plan, as_json):
        return 1
    if len(touched) > MANY and not yes:
        try:
            sure = click.confirm(f"{plan.kind.capitalize()} would change {len(touched)} files. Continue?", err=True)
        except click.Abort:
            click.echo(err=True)
            raise HansardError(
                f"cannot ask whether to change {len(touched)} files: standard input is closed; "
                "give --yes, or --dry-run to list them"
            ) from None
        if not sure:
            return 1
    result = plan.run()
    _print(result, plan.workspace.ledger, as_json, planned=False)
    return 1 if result.conflicts or any(not one.reads for one in result.left) else 0


def _agreed(plan: UndoPlan, as_json: bool) -> bool:
    """Show what only a transcript says as a diff, and ask; without a terminal nothing is changed."""
    from hansard.workspace.entries import Change
    from hansard.workspace.history import unified_diff

    for item in plan.files.touched:
        if item.path in plan.unproven:
            change = Change(item.path, item.found, item.wanted)
            text = unified_diff(change, lambda entry: plan.files.contents.get(entry.hash))
            click.echo(display(text, lines=True), nl=False, err=as_json)
    what = f"{counted(len(plan.unproven), 'change')} known from the transcript only"
    if not sys.stdin.isatty():
        click.echo(f"hansard: {what}; nothing was changed. --yes applies them", err=True)
        return False
    try:
        return click.confirm(f"{what}. Apply?", err=True)
    except click.Abort:
        click.echo(err=True)
        return False


def _left(one: Left) -> str:
    """One line for what an undo leaves."""
    names = ", ".join(display(path) for path in one.paths)
    if one.kind == "file":
        return f"unsure  {names}: {one.text}"
    if one.reads:
        return f"ran     {display(one.text)}"
    return f"left    changes of the command: {display(one.text)}" + (f" (it names {names})" if names else "")


def _print(done: UndoPlan | UndoResult, ledger: Ledger, as_json: bool, *, planned: bool) -> None:
    from hansard.workspace.todos import todos_at

    todos = todos_at(ledger, done.thread_id, done.to_head)
    changed = done.files.touched
    if as_json:
        echo_json(
            {
                "kind": done.kind,
                "threadId": done.thread_id,
                "from": done.from_head,
                "to": done.to_head,
                "planned": planned,
                "files": [{"path": display(item.name), "action": item.action, "why": item.why} for item in changed],
                "conflicts": [{"path": display(path), "why": why} for path, why in done.conflicts],
                "left": [
                    {
                        "kind": one.kind,
                        "text": display(one.text),
                        "paths": [display(path) for path in one.paths],
                        "reads": one.reads,
                    }
                    for one in done.left
                ],
                "todos": todos,
            }
        )
        return
    for item in changed:
        echo(f"{item.action:<6}  {display(item.name)}")
    for path, why in done.conflicts:
        echo(f"keep    {display(path)}: {display(why)}")
    for one in done.left:
        echo(_left(one))
    verb = "would change" if planned else "changed"
    head = display(done.to_head) if done.to_head is not None else "before the first message"
    moved = f", the head {'would be' if planned else 'is'} {head}" if done.from_head != done.to_head else ""
    echo(f"{done.kind}: {counted(len(changed), 'file')} {verb}{moved}")
    for todo in todos:
        echo(f"todo    {display(todo.status)}: {display(todo.content)}")
