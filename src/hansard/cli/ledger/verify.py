"""`hansard verify`: is everything as it was written?"""

from __future__ import annotations

import click

from hansard.cli.options import counted, db_option, json_option, open_ledger, say, say_json, shown, watched


@click.command("verify")
@db_option
@json_option
def command(db: str | None, as_json: bool) -> int:
    """Check both chains of hashes, all places, counts, blobs and the file; exit 1 and name every bad row if any."""
    with open_ledger(db) as ledger:
        with watched("verifying") as progress:
            problems = ledger.verify(progress)
        if as_json:
            say_json(problems)
            return 1 if problems else 0
        for problem in problems:
            place = [f"thread {shown(problem.thread_id)}"] if problem.thread_id is not None else []
            if problem.where != "thread":
                place.append(shown(problem.where))
            place[-1] += f" {shown(problem.message_id)} (n {problem.n})" if problem.message_id is not None else ""
            say(f"{', '.join(place)}: {shown(problem.what)}")
        if problems:
            say(f"{counted(len(problems), 'problem')}; restore a backup, or export what is well")
            return 1
        say("all is as it was written")
    return 0
