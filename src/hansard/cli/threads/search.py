"""`hansard search`: messages with these words, where they are, and a few words around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hansard.cli.files import on_terminal
from hansard.cli.narrowing import narrowing
from hansard.cli.options import db_option, json_option, open_ledger, say, say_json, shown

if TYPE_CHECKING:
    from hansard.ledger.results import Hit


@click.command("search", context_settings={"ignore_unknown_options": True})
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", default=20, show_default=True, help="How many hits.")
@click.option("--after", metavar="CURSOR", help="Go on where an earlier search ended.")
@narrowing
@db_option
@json_option
def command(query: tuple[str, ...], limit: int, after: str | None, db: str | None, as_json: bool, **only: Any) -> int:
    """Find messages that have all words of QUERY; exit 1 when there are none.

    "a phrase" and beginnings* may be among them, -word leaves out, and filters narrow: role: tool: agent: thread:
    since: until: (2026-11-18, 7d, today). Those are of messages; the options are of their threads, as `hansard threads`
    takes them.
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
        say_json(Page(items=hits, next=after))
        return 0 if hits else 1
    colour = on_terminal()
    for hit in hits:
        _say_hit(hit, colour)
    if after is not None:
        click.echo(f"there are more: --after {after}", err=True)
    if not hits:
        click.echo("nothing found", err=True)
    return 0 if hits else 1


def _say_hit(hit: Hit, colour: bool) -> None:
    """Where it is on one line, what it says on the next."""
    where = f"{shown(hit.thread_id)} {shown(hit.message_id)}"
    notes = [shown(hit.role)]
    if hit.agent_id is not None:
        notes.append(shown(hit.agent_id))
    if hit.created_at is not None:
        notes.append(shown(hit.created_at[:16].replace("T", " ")))
    if not hit.active:
        notes.append(f"not on the path ({shown(hit.status)})" if hit.status else "not on the path")
    if hit.title:
        notes.append(shown(hit.title))
    say(f"{click.style(where, fg='cyan') if colour else where}  {'  '.join(notes)}")
    say("    " + _marked(hit.snippet, colour))


def _marked(snippet: str, colour: bool) -> str:
    """The snippet with its finds in bold; the marks are taken out before anything else of it may reach a terminal."""
    first, *others = snippet.split("\x02")
    out = [shown(first)]
    for piece in others:
        find, _, rest = piece.partition("\x03")
        out.append(click.style(shown(find), bold=True) if colour else shown(find))
        out.append(shown(rest))
    return "".join(out)
