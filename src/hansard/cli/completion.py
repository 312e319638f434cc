"""`hansard completion`: scripts that let bash, zsh and fish complete commands, options, formats and threads.

The metavar of an argument or option (FORMAT, STREAM, THREAD) selects what completes its value. So a command needs no
code for it, and a completion imports only the command being typed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

VARIABLE = "_HANSARD_COMPLETE"
_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/hansard.fish"}
_LIMIT = 50


@click.command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(list(_FILES)), required=False)
def command(shell: str | None) -> int:
    """Print the completion script for SHELL (default: $SHELL). Usage: `eval "$(hansard completion)"`."""
    from hansard.cli import group

    shell = shell or os.path.basename(os.environ.get("SHELL", ""))
    script = get_completion_class(shell) if shell in _FILES else None
    if script is None:
        raise click.UsageError(f"no completion for {shell or 'this shell'}; choose bash, zsh or fish.")
    click.echo(script(group, {}, "hansard", VARIABLE).source())
    return 0


def complete_values(command: click.Command) -> click.Command:
    """Attach completion to the arguments and options of a command; called only during completion."""
    for param in command.params:
        values = _VALUES.get(str(getattr(param, "metavar", "")).strip("[].").upper())
        if values is not None:
            vars(param)["shell_complete"] = values  # overrides the method on this instance
    return command


def _formats(context: click.Context, incomplete: str) -> list[CompletionItem]:
    from hansard import formats

    return [CompletionItem(name) for name in formats.names() if name.startswith(incomplete)]


def _streams(context: click.Context, incomplete: str) -> list[CompletionItem]:
    from hansard import streams

    names = {*streams.decoders(), *streams.emitters(), "message"}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def _threads(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """The newest threads whose id has this prefix; errors are swallowed, since a shell cannot show them."""
    from hansard.cli.options import open_ledger
    from hansard.cli.terminal import display

    try:
        with open_ledger(context.params.get("db") or os.environ.get("HANSARD_DB")) as ledger:
            found = ledger.find_threads(incomplete, limit=_LIMIT)
    except Exception:
        return []
    return [
        CompletionItem(thread.id, help=display(thread.title) if isinstance(thread.title, str) else "")
        for thread in found
        if thread.id.startswith(incomplete) and display(thread.id) == thread.id
    ]


_VALUES: dict[str, Callable[[click.Context, str], Any]] = {
    "FORMAT": _formats,
    "STREAM": _streams,
    "THREAD": _threads,
}
