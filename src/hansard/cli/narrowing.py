"""The options that leave only some threads, of the list of them and of searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option("--resource", "resource_id", metavar="ID", help="Only threads of this resource."),
    click.option("--format", metavar="FORMAT", help="Only those that came in this format."),
    click.option("--agent", metavar="NAME", help="Only those in which this agent spoke."),
    click.option("--model", metavar="NAME", help="Only those in which this model answered."),
    click.option("--project", metavar="FOLDER", help="Only those of people who worked in this folder."),
    click.option("--since", metavar="TIME", help="Only those changed since then: 2026-11-18, 7d, yesterday."),
    click.option("--until", metavar="TIME", help="Only those changed until then."),
)


def narrowing(command: Callable[..., Any]) -> Callable[..., Any]:
    """All of them; the command is given `**only`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
