"""`hansard verify`: check that the ledger is intact."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger
from hansard.cli.terminal import counted, display, echo, echo_json, progress_bar


@click.command("verify")
@db_option
@json_option
def command(db: str | None, as_json: bool) -> int:
    """Check both hash chains, positions, counts, blobs and the file; list every bad row and exit 1 if there are any."""
    with open_ledger(db) as ledger:
        with progress_bar("verifying") as progress:
            problems = ledger.verify(progress)
        if as_json:
            echo_json(problems)
            return 1 if problems else 0
        for problem in problems:
            place = [f"thread {display(problem.thread_id)}"] if problem.thread_id is not None else []
            if problem.where != "thread":
                place.append(display(problem.where))
            place[-1] += f" {display(problem.message_id)} (n {problem.n})" if problem.message_id is not None else ""
            echo(f"{', '.join(place)}: {display(problem.what)}")
        if problems:
            echo(f"{counted(len(problems), 'problem')}; restore a backup, or export the intact threads")
            return 1
        echo("the ledger is intact")
    return 0
