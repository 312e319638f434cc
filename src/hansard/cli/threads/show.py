"""`hansard show`: a thread as text for people."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message
from hansard.cli.terminal import display, echo, on_terminal


@click.command("show")
@click.argument("thread", metavar="THREAD")
@click.option("--branch", metavar="MESSAGE", help="Print the branch that ends with this message.")
@click.option("--full", is_flag=True, help="Do not shorten long parts.")
@db_option
@json_option
def command(thread: str, branch: str | None, full: bool, db: str | None, as_json: bool) -> int:
    """Print THREAD (an id, a prefix of one, or a title) from the first message to the head."""
    from msgspec import UNSET

    from hansard import formats
    from hansard.cli.files import save
    from hansard.cli.transcript import page
    from hansard.model.conversation import Conversation
    from hansard.model.stored import plain_messages

    with open_ledger(db) as ledger:
        found = resolve(ledger, thread)
        branch = branch and resolve_message(ledger, found.id, branch)
        if as_json:
            said = plain_messages(ledger.transcript(found.id, branch))
            conversation = Conversation(id=found.id, title=found.title or UNSET, messages=said)
            save(formats.write(conversation, "hansard").json + b"\n", None)
            return 0
        colour = on_terminal()
        if found.title:
            echo(click.style(display(found.title), bold=True) if colour else display(found.title))
        for number, message in enumerate(ledger.iter_transcript(found.id, branch)):
            if number or found.title:
                echo("")
            for line in page(message, full=full, colour=colour):
                echo(line)
    return 0
