"""What a command prints: text made safe for a terminal, lines, JSON, a progress bar.

Text from models, tools and other people can contain control sequences and invisible characters. `display` escapes
them, so that stored text can neither control a terminal nor pass for different text.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

# Control characters, lone surrogates, line separators, and all that a terminal draws as nothing or that reorders
# text (Unicode's Default_Ignorable_Code_Point). A single U+FE0F selects the emoji form and stays.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]|(?<=[\ufe00-\ufe0f])\ufe0f"
)


def on_terminal() -> bool:
    """Whether standard output is a terminal that takes tables and colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def display(text: object, *, lines: bool = False) -> str:
    """Text with every unsafe character escaped; `lines` keeps line breaks and tabs.

    >>> display("a\\x1b[31mb"), display("safe\\u202etxt.exe")
    ('a\\\\x1b[31mb', 'safe\\\\u202etxt.exe')
    >>> display("two\\nlines"), display("two\\nlines", lines=True)
    ('two\\\\nlines', 'two\\nlines')
    """

    def escaped(found: re.Match[str]) -> str:
        character = found[0]
        if lines and character in "\n\t":
            return character
        return character.encode("unicode_escape", "surrogatepass").decode()

    return UNSAFE.sub(escaped, str(text))


def echo(text: str) -> None:
    """Print a line whose data went through `display`; characters that the encoding lacks are escaped."""
    code = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(code, "backslashreplace").decode(code))


def echo_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    from hansard.cli.files import save
    from hansard.model import exact_json

    sys.stdout.flush()
    save(exact_json.encode(value) + b"\n", None)


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the singular or the plural.

    >>> counted(1, "message"), counted(2, "journal entry")
    ('1 message', '2 journal entries')
    """
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function that takes (done, total) and draws a bar; None where standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(title)
        yield lambda done, total: bars.update(bar, completed=done, total=total)
