"""The ledger a command works on, and words from it on a terminal.

`--db` names it, else `HANSARD_DB`, else it is the file in the user's data folder. What was said by models, tools and
strangers is shown so that it cannot steer a terminal or look like something else: see `shown`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hansard.errors import HansardError, NotFound, StorageError

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.ledger.results import Thread

F = TypeVar("F", bound=Callable[..., Any])

# Controls, half surrogates, line separators, and all that a terminal draws as nothing or that turns the order of
# letters (Unicode's Default_Ignorable_Code_Point). One U+FE0F alone makes a sign an emoji and may stay.
TRICKS = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]|(?<=[\ufe00-\ufe0f])\ufe0f"
)


def db_option(command: F) -> F:
    """The option `--db`, given to the command as `db`."""
    return click.option(
        "--db",
        envvar="HANSARD_DB",
        metavar="URL",
        help="The ledger: a path, sqlite:///path or postgresql://...; else HANSARD_DB, else the user's data folder.",
    )(command)


def json_option(command: F) -> F:
    """The option `--json`, given to the command as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def default_path() -> str:
    """Where the ledger of this user is when nobody says otherwise."""
    home = os.path.expanduser("~")
    if os.name == "nt":
        folder = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    else:
        folder = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(folder, "hansard", "ledger.db")


def open_ledger(db: str | None, *, create: bool = False, tenant: str = "") -> Ledger:
    """Open the ledger; one that is not there is made only for commands that put something in."""
    from hansard.ledger import open

    url = db or default_path()
    if not create and (path := file_of(url)) is not None and not os.path.exists(path):
        raise StorageError(f"no ledger at {path}; `hansard import` makes one, --db names another")
    return open(url, tenant=tenant)


def file_of(url: str) -> str | None:
    """The file a ledger is in, None for one in memory or on a server."""
    from hansard.ledger import on_server, path_of

    if on_server(url):
        return None
    path = path_of(url)
    return None if path == ":memory:" else path


def resolve(ledger: Ledger, text: str) -> Thread:
    """The thread somebody means: by its id, a beginning of it that only one has, or its title."""
    try:
        return ledger.thread(text)
    except NotFound as error:
        found = ledger.find_threads(text)
        if not found:
            raise HansardError(str(error)) from None
    if len(found) == 1:
        return found[0]
    ids = ", ".join(shown(thread.id) for thread in found[:4])
    raise HansardError(f"{text!r} may be {len(found)} or more threads: {ids}; give more of the id")


def resolve_message(ledger: Ledger, thread_id: str, text: str) -> str:
    """The id of the message somebody means: itself, or a beginning that only one has."""
    found = [node.id for node in ledger.tree(thread_id) if node.id.startswith(text)]
    if text in found or len(found) == 1:
        return text if text in found else found[0]
    if not found:
        raise HansardError(f"no message {text!r} in thread {thread_id!r}; `hansard tree` shows them")
    ids = ", ".join(shown(key) for key in found[:4])
    raise HansardError(f"{text!r} may be {len(found)} messages: {ids}; give more of the id")


def shown(text: object, *, lines: bool = False) -> str:
    """Words as a terminal may have them: what steers it, hides or turns the order of letters is spelled out.

    >>> shown("a\\x1b[31mb"), shown("safe\\u202etxt.exe"), shown("two\\nlines"), shown("two\\nlines", lines=True)
    ('a\\\\x1b[31mb', 'safe\\\\u202etxt.exe', 'two\\\\nlines', 'two\\nlines')
    """

    def spelled(found: re.Match[str]) -> str:
        sign = found[0]
        return sign if lines and sign in "\n\t" else sign.encode("unicode_escape", "surrogatepass").decode()

    return TRICKS.sub(spelled, str(text))


@contextmanager
def watched(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on a terminal, for work that tells how far it is; nothing else."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(what)
        yield lambda done, total: bars.update(bar, completed=done, total=total)


def say(text: str) -> None:
    """Print a line whose data went through `shown`; a terminal that lacks a letter gets its number."""
    code = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(code, "backslashreplace").decode(code))


def counted(number: int, noun: str) -> str:
    """A number of things in words.

    >>> counted(1, "message"), counted(2, "journal entry")
    ('1 message', '2 journal entries')
    """
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


def say_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    from hansard.cli.files import save
    from hansard.model import exact_json

    sys.stdout.flush()
    save(exact_json.encode(value) + b"\n", None)
