"""`hansard threads`: the threads of the ledger, newest first."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from hansard.cli.options import db_option, filter_options, json_option, open_ledger
from hansard.cli.terminal import display, echo, echo_json, on_terminal

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.ledger.results import Page, Thread


@click.command("threads")
@click.option("--limit", default=50, show_default=True, help="Maximum number of threads.")
@click.option("--after", metavar="CURSOR", help="Continue after an earlier page.")
@click.option("--oldest", is_flag=True, help="List the oldest first.")
@filter_options
@click.option("--ids", is_flag=True, help="Print the ids of all of them; `hansard export -` reads them.")
@db_option
@json_option
def command(limit: int, after: str | None, oldest: bool, ids: bool, db: str | None, as_json: bool, **only: Any) -> int:
    """List the threads: id, time of the last change, number of messages, title or first message."""
    with open_ledger(db) as ledger:
        if ids:
            for key in thread_ids(ledger, newest=not oldest, **only):
                click.echo(display(key) if sys.stdout.isatty() else key.encode("utf-8", "surrogatepass"))
            return 0
        page = _page(ledger, limit=limit, after=after, newest=not oldest, **only)
        if as_json:
            echo_json(page)
            return 0
        rows = [
            (display(thread.id), thread.updated_at[:16].replace("T", " "), str(thread.messages), _title(ledger, thread))
            for thread in page.items
        ]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    colour = on_terminal()
    for key, when, count, title in rows:
        key = f"{key:<{widths[0]}}"
        echo(f"{click.style(key, fg='cyan') if colour else key}  {when}  {count:>{widths[2]}}  {title}".rstrip())
    if page.next is not None:
        click.echo(f"more threads: --after {page.next}", err=True)
    if not rows:
        why = "no threads match these options" if any(only.values()) else "no threads; `hansard import` adds some"
        click.echo(why, err=True)
    return 0


def thread_ids(ledger: Ledger, **only: Any) -> Iterator[str]:
    """The ids of all threads that the filters select."""
    after = None
    while True:
        page = _page(ledger, limit=200, after=after, **only)
        yield from (thread.id for thread in page.items)
        if (after := page.next) is None:
            return


def _page(ledger: Ledger, *, limit: int, after: str | None, newest: bool, **only: Any) -> Page[Thread]:
    """A page of threads; without filters no facets are gathered."""
    if any(value is not None for value in only.values()):
        return ledger.threads_where(limit=limit, after=after, newest=newest, **only)
    return ledger.threads(limit=limit, after=after, newest=newest)


def _title(ledger: Ledger, thread: Thread) -> str:
    """The title of a thread, or what its first message says."""
    from hansard.cli.transcript import gist, shortened

    if thread.title:
        return shortened(display(thread.title, lines=True))
    first = ledger.messages(thread.id, limit=1, newest=False).items if thread.head is not None else []
    return gist(first[0]) if first else ""
