"""`hansard threads`: what is in the ledger, the newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hansard.cli.documents import on_terminal
from hansard.cli.ledgers import db_option, json_option, open_ledger, say, say_json, shown

if TYPE_CHECKING:
    from hansard.store.ledger import Ledger
    from hansard.store.values import Thread


@click.command("threads")
@click.option("--limit", default=50, show_default=True, help="How many.")
@click.option("--after", metavar="CURSOR", help="Go on where an earlier list ended.")
@click.option("--oldest", is_flag=True, help="The oldest first.")
@click.option("--resource", metavar="ID", help="Only those of this resource.")
@db_option
@json_option
def command(limit: int, after: str | None, oldest: bool, resource: str | None, db: str | None, as_json: bool) -> int:
    """List the threads: id, last change, messages, and title or first words."""
    with open_ledger(db) as ledger:
        page = ledger.threads(limit=limit, after=after, newest=not oldest, resource_id=resource)
        if as_json:
            say_json(page)
            return 0
        rows = [
            (shown(thread.id), thread.updated_at[:16].replace("T", " "), str(thread.messages), _title(ledger, thread))
            for thread in page.items
        ]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    colour = on_terminal()
    for key, when, count, title in rows:
        key = f"{key:<{widths[0]}}"
        say(f"{click.style(key, fg='cyan') if colour else key}  {when}  {count:>{widths[2]}}  {title}".rstrip())
    if page.next is not None:
        click.echo(f"there are more: --after {page.next}", err=True)
    if not rows:
        click.echo("no threads; `hansard import` puts some in", err=True)
    return 0


def _title(ledger: Ledger, thread: Thread) -> str:
    """The title, or the first words of a person."""
    if thread.title:
        return shown(thread.title)
    from hansard.cli.transcript import gist

    first = ledger.messages(thread.id, limit=4, newest=False).items if thread.head is not None else []
    spoken = [message for message in first if message.role == "user"] or first
    return gist(spoken[0]) if spoken else ""
