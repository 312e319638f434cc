"""`hansard show`: a thread as people read it."""

from __future__ import annotations

import click

from hansard.cli.files import on_terminal
from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message, say, say_json, shown


@click.command("show")
@click.argument("thread", metavar="THREAD")
@click.option("--branch", metavar="MESSAGE", help="The branch that ends with this message, not the active one.")
@click.option("--full", is_flag=True, help="Long parts too, to their end.")
@db_option
@json_option
def command(thread: str, branch: str | None, full: bool, db: str | None, as_json: bool) -> int:
    """Print what was said in THREAD (an id, the beginning of one, or a title), from the first message to the head."""
    from hansard.cli.transcript import page
    from hansard.model.conversation import Conversation

    with open_ledger(db) as ledger:
        found = resolve(ledger, thread)
        branch = branch and resolve_message(ledger, found.id, branch)
        if as_json:
            said = ledger.transcript(found.id, branch)
            say_json(Conversation(id=found.id, title=found.title or "", messages=said))
            return 0
        colour = on_terminal()
        if found.title:
            say(click.style(shown(found.title), bold=True) if colour else shown(found.title))
        for number, message in enumerate(ledger.iter_transcript(found.id, branch)):
            if number or found.title:
                say("")
            for line in page(message, full=full, colour=colour):
                say(line)
    return 0
