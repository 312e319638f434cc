"""`hansard completion`: what makes bash, zsh or fish complete commands, options, formats and threads.

What a value may be is told by the name its place has in the help: FORMAT, STREAM, THREAD. So a command needs nothing
of its own, and completing imports only the command that is being typed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

VARIABLE = "_HANSARD_COMPLETE"
_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/hansard.fish"}
_MOST = 50


@click.command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(list(_FILES)), required=False)
def command(shell: str | None) -> int:
    """Print what makes SHELL (bash, zsh or fish; else the one in use) complete; `eval "$(hansard completion)"`."""
    from hansard.cli import group

    shell = shell or os.path.basename(os.environ.get("SHELL", ""))
    made = get_completion_class(shell) if shell in _FILES else None
    if made is None:
        raise click.UsageError(f"no completion for {shell or 'this shell'}; name bash, zsh or fish.")
    click.echo(made(group, {}, "hansard", VARIABLE).source())
    return 0


def complete_values(command: click.Command) -> click.Command:
    """Let the values of a command be completed; called only while a shell asks."""
    for param in command.params:
        values = _VALUES.get(str(getattr(param, "metavar", "")).strip("[].").upper())
        if values is not None:
            vars(param)["shell_complete"] = values  # the method, of this one alone
    return command


def _formats(context: click.Context, incomplete: str) -> list[CompletionItem]:
    from hansard import formats

    return [CompletionItem(name) for name in formats.names() if name.startswith(incomplete)]


def _streams(context: click.Context, incomplete: str) -> list[CompletionItem]:
    from hansard import streams

    names = {*streams.decoders(), *streams.emitters(), "message"}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def _threads(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """The newest threads whose id begins so; a shell that asks gets no error."""
    from hansard.cli.options import open_ledger, shown

    try:
        with open_ledger(context.params.get("db") or os.environ.get("HANSARD_DB")) as ledger:
            found = ledger.find_threads(incomplete, limit=_MOST)
    except Exception:
        return []
    return [
        CompletionItem(thread.id, help=shown(thread.title) if isinstance(thread.title, str) else "")
        for thread in found
        if thread.id.startswith(incomplete) and shown(thread.id) == thread.id
    ]


_VALUES: dict[str, Callable[[click.Context, str], Any]] = {
    "FORMAT": _formats,
    "STREAM": _streams,
    "THREAD": _threads,
}
