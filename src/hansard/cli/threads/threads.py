"""`hansard threads`: what is in the ledger, the newest first."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from hansard.cli.files import on_terminal
from hansard.cli.narrowing import narrowing
from hansard.cli.options import db_option, json_option, open_ledger, say, say_json, shown

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.ledger.results import Page, Thread


@click.command("threads")
@click.option("--limit", default=50, show_default=True, help="How many.")
@click.option("--after", metavar="CURSOR", help="Go on where an earlier list ended.")
@click.option("--oldest", is_flag=True, help="The oldest first.")
@narrowing
@click.option("--ids", is_flag=True, help="Print only ids, of all of them; `hansard export -` reads them.")
@db_option
@json_option
def command(limit: int, after: str | None, oldest: bool, ids: bool, db: str | None, as_json: bool, **only: Any) -> int:
    """List the threads: id, last change, messages, and title or first words."""
    with open_ledger(db) as ledger:
        if ids:
            for key in every(ledger, newest=not oldest, **only):
                click.echo(shown(key) if sys.stdout.isatty() else key.encode("utf-8", "surrogatepass"))
            return 0
        page = _page(ledger, limit=limit, after=after, newest=not oldest, **only)
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
        told = "no such threads" if any(only.values()) else "no threads; `hansard import` puts some in"
        click.echo(told, err=True)
    return 0


def every(ledger: Ledger, **only: Any) -> Iterator[str]:
    """The ids of all threads of which this is so."""
    after = None
    while True:
        page = _page(ledger, limit=200, after=after, **only)
        yield from (thread.id for thread in page.items)
        if (after := page.next) is None:
            return


def _page(ledger: Ledger, *, limit: int, after: str | None, newest: bool, **only: Any) -> Page[Thread]:
    """Without anything to narrow it by, the list needs no facts gathered."""
    if any(value is not None for value in only.values()):
        return ledger.threads_where(limit=limit, after=after, newest=newest, **only)
    return ledger.threads(limit=limit, after=after, newest=newest)


def _title(ledger: Ledger, thread: Thread) -> str:
    """The title, or the first words of a person."""
    if thread.title:
        return shown(thread.title)
    from hansard.cli.transcript import gist, shortened
    from hansard.model.default_title import LOOKED_AT, default_title

    first = ledger.messages(thread.id, limit=LOOKED_AT, newest=False).items if thread.head is not None else []
    if words := default_title(first):
        return shortened(shown(words, lines=True))
    return gist(first[0]) if first else ""
