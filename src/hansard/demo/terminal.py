"""What the demo says on the terminal."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hansard.demo.sample_threads import Shelved
from hansard.ledger.ledger import Ledger

_console = Console(highlight=False, soft_wrap=True)


def shelf(listed: Sequence[Shelved]) -> None:
    """The conversations, and that each was written back as it came."""
    kinds, same = len({one.format for one in listed}), sum(one.same for one in listed)
    table = Table("conversation", "came as", "said", "shows", box=None, pad_edge=False)
    for one in listed:
        title = one.title if one.same else f"{one.title} [red](written back differently)[/]"
        table.add_row(title, one.format, f"{one.messages:>4}", one.shows)
    _console.print(
        f"\n[bold]{len(listed)} conversations from {kinds} formats[/]; {same} of them written back identical:\n"
    )
    _console.print(table)


def work(worked: bool, project: Path) -> None:
    """What happened on real files, if it did."""
    if not worked:
        _console.print("\nnot shown: agents at work and the viewer; way out: pip install 'hansard[agent,server]'")
        return
    names = ", ".join(sorted(path.name for path in project.iterdir() if not path.name.startswith((".", "__"))))
    _console.print("\n[bold]And one that just happened[/]: two scripted agents worked on real files in")
    _console.print(f"{project} ({names}).")
    _console.print("A third waits for your yes, in [bold]The menu in the shop window[/].")


def count(ledger: Ledger) -> None:
    told = ledger.stats()
    _console.print(f"All in one ledger: {told.threads} threads, {told.messages} messages.")


def suggestions(url: str, project: Path) -> None:
    """Three things to try."""
    hansard = os.path.relpath(Path(sys.executable).parent / "hansard")
    command = hansard if not hansard.startswith("../..") else "hansard"
    where = f"--db {shlex.quote(url)}"
    _console.print("\n[bold]Three things to try[/]")
    _console.print(
        "  1  In the viewer, open [bold]A counter for the teahouse[/] and press Undo: files and conversation go"
    )
    _console.print("     back together. The same, and back again, in another terminal:")
    _console.print(f"       {command} undo {where} --root {shlex.quote(str(project))}", markup=False)
    _console.print(f"       {command} redo {where} --root {shlex.quote(str(project))}", markup=False)
    _console.print(
        "  2  Start a chat and say [bold]Add a matcha latte for 4.80[/]: it edits the menu and runs the tests."
    )
    _console.print(
        "  3  Open [bold]The bakery's lease[/] and export it for another provider: what cannot go along is named."
    )
    _console.print(f"       {command} search lease {where}\n", markup=False)
    sys.stdout.flush()
