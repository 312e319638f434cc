"""`hansard search`: messages that match a query, each with a snippet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hansard.cli.options import db_option, filter_options, json_option, open_ledger
from hansard.cli.terminal import display, echo, echo_json, on_terminal

if TYPE_CHECKING:
    from hansard.ledger.results import Hit


@click.command("search", context_settings={"ignore_unknown_options": True})
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", default=20, show_default=True, help="Maximum number of hits.")
@click.option("--after", metavar="CURSOR", help="Continue after an earlier page.")
@filter_options
@db_option
@json_option
def command(query: tuple[str, ...], limit: int, after: str | None, db: str | None, as_json: bool, **only: Any) -> int:
    """Find the messages that contain all words of QUERY; exit 1 if none is found.

    QUERY may contain a "quoted phrase", a prefix*, an excluded -word, and filters on messages: role: tool: agent:
    thread: since: until: (2026-11-18, 7d, today). The options select threads, as in `hansard threads`.
    """
    from hansard.ledger.results import Page

    typed = " ".join(query)
    hits: list[Hit] = []
    with open_ledger(db) as ledger:
        while True:
            page = ledger.search(typed, limit=limit - len(hits), after=after, **only)
            hits += page.items
            after = page.next
            if after is None or len(hits) >= limit:
                break
    if as_json:
        echo_json(Page(items=hits, next=after))
        return 0 if hits else 1
    colour = on_terminal()
    for hit in hits:
        _print_hit(hit, colour)
    if after is not None:
        click.echo(f"more results: --after {after}", err=True)
    if not hits:
        click.echo("no matches", err=True)
    return 0 if hits else 1


def _print_hit(hit: Hit, colour: bool) -> None:
    """Print ids and notes on one line, the snippet on the next."""
    where = f"{display(hit.thread_id)} {display(hit.message_id)}"
    notes = [display(hit.role)]
    if hit.agent_id is not None:
        notes.append(display(hit.agent_id))
    if hit.created_at is not None:
        notes.append(display(hit.created_at[:16].replace("T", " ")))
    if not hit.active:
        notes.append(f"not on the active branch ({display(hit.status)})" if hit.status else "not on the active branch")
    if hit.title:
        notes.append(display(hit.title))
    echo(f"{click.style(where, fg='cyan') if colour else where}  {'  '.join(notes)}")
    echo("    " + _highlighted(hit.snippet, colour))


def _highlighted(snippet: str, colour: bool) -> str:
    """The snippet with its matches in bold; the marks around matches are removed before anything is printed."""
    first, *others = snippet.split("\x02")
    out = [display(first)]
    for piece in others:
        find, _, rest = piece.partition("\x03")
        out.append(click.style(display(find), bold=True) if colour else display(find))
        out.append(display(rest))
    return "".join(out)
