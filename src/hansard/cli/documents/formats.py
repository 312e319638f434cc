"""`hansard formats`: the formats that can be read and written."""

from __future__ import annotations

import click

from hansard import formats
from hansard.cli.files import save
from hansard.cli.terminal import on_terminal
from hansard.model import exact_json


@click.command("formats")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def command(as_json: bool) -> int:
    """List the formats with their target profiles."""
    rows = [formats.get(name) for name in formats.names()]
    if as_json:
        listed = [{"name": row.name, "title": row.title, "profiles": row.profiles, "trees": row.trees} for row in rows]
        save(exact_json.encode(listed) + b"\n", None)
        return 0
    if on_terminal():
        from rich.console import Console
        from rich.table import Table

        table = Table("name", "what", "targets", "branches", box=None, pad_edge=False)
        for row in rows:
            table.add_row(f"[bold]{row.name}[/]", row.title, " ".join(row.profiles), "yes" if row.trees else "")
        Console().print(table)
        return 0
    width = max(len(row.name) for row in rows)
    for row in rows:
        profiles = f" (targets {', '.join(row.profiles)})" if row.profiles else ""
        click.echo(f"{row.name:<{width}}  {row.title}{profiles}")
    return 0
