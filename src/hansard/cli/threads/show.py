"""`hansard show`: a thread as text for people."""

from __future__ import annotations

from itertools import groupby
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message
from hansard.cli.terminal import display, echo, on_terminal

if TYPE_CHECKING:
    from hansard.ledger.results import SubAgent


@click.command("show")
@click.argument("thread", metavar="THREAD")
@click.option("--branch", metavar="MESSAGE", help="Print the branch that ends with this message.")
@click.option("--full", is_flag=True, help="Do not shorten long parts, and print events whole.")
@db_option
@json_option
def command(thread: str, branch: str | None, full: bool, db: str | None, as_json: bool) -> int:
    """Print THREAD (an id, a prefix of one, or a title) from the first message to the head.

    Events and records of coding agents are one line each; a sub-agent is one line below the call that started it.
    """
    from msgspec import UNSET

    from hansard import formats
    from hansard.cli.files import save
    from hansard.cli.transcript import events, page
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
        agents: dict[str | None, list[SubAgent]] = {}
        for one in ledger.sub_agents(found.id):
            agents.setdefault(one.parent_id, []).append(one)
        width = get_terminal_size((100, 24)).columns
        first = not found.title
        for is_event, group in groupby(ledger.iter_transcript(found.id, branch), lambda one: one.role == "event"):
            messages = list(group)
            if is_event and not full:
                pages = [events(messages, colour=colour, width=width)]
            else:
                pages = [page(one, full=full, colour=colour, agents=agents.get(one.id, ())) for one in messages]
            for lines in pages:
                if not first:
                    echo("")
                first = False
                for line in lines:
                    echo(line)
    return 0
