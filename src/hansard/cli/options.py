"""Options that many commands share, and what they stand for: the ledger, a thread, a message, filters.

The ledger is `--db`, else `HANSARD_DB`, else the file in the user's data folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hansard.cli.terminal import display
from hansard.errors import HansardError, NotFound, StorageError

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.ledger.results import Thread

F = TypeVar("F", bound=Callable[..., Any])

_FILTERS = (
    click.option("--resource", "resource_id", metavar="ID", help="Only threads of this resource."),
    click.option("--format", metavar="FORMAT", help="Only threads imported from this format."),
    click.option("--agent", metavar="NAME", help="Only threads with messages of this agent."),
    click.option("--model", metavar="NAME", help="Only threads with answers of this model."),
    click.option("--project", metavar="FOLDER", help="Only threads whose session ran in this folder."),
    click.option("--since", metavar="TIME", help="Only threads changed since then: 2026-11-18, 7d, yesterday."),
    click.option("--until", metavar="TIME", help="Only threads changed until then."),
)


def db_option(command: F) -> F:
    """The option `--db`, passed to the command as `db`."""
    return click.option(
        "--db",
        envvar="HANSARD_DB",
        metavar="URL",
        help="The ledger: a path, sqlite:///path or postgresql://... "
        "(default: HANSARD_DB, else a file in the user's data folder).",
    )(command)


def json_option(command: F) -> F:
    """The option `--json`, passed to the command as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that select threads, passed to the command as `**only`."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


def default_path() -> str:
    """The ledger of this user where neither `--db` nor `HANSARD_DB` names another."""
    home = os.path.expanduser("~")
    if os.name == "nt":
        folder = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    else:
        folder = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(folder, "hansard", "ledger.db")


def open_ledger(db: str | None, *, create: bool = False, tenant: str = "") -> Ledger:
    """Open the ledger; only commands that add data create a missing one (`create`)."""
    from hansard.ledger import open

    url = db or default_path()
    if not create and (path := file_of(url)) is not None and not os.path.exists(path):
        raise StorageError(f"no ledger at {path}; `hansard import` creates one, --db names another")
    return open(url, tenant=tenant)


def file_of(url: str) -> str | None:
    """The file of a ledger, None for one in memory or on a server."""
    from hansard.ledger import on_server, path_of

    if on_server(url):
        return None
    path = path_of(url)
    return None if path == ":memory:" else path


def resolve(ledger: Ledger, text: str) -> Thread:
    """The thread that a text names: its id, a unique prefix of it, or its title."""
    try:
        return ledger.thread(text)
    except NotFound as error:
        found = ledger.find_threads(text)
        if not found:
            raise HansardError(str(error)) from None
    if len(found) == 1:
        return found[0]
    ids = ", ".join(display(thread.id) for thread in found[:4])
    raise HansardError(f"{text!r} matches {len(found)} or more threads: {ids}; give more of the id")


def resolve_message(ledger: Ledger, thread_id: str, text: str) -> str:
    """The message id that a text names: the id itself or a unique prefix of it."""
    found = [node.id for node in ledger.tree(thread_id) if node.id.startswith(text)]
    if text in found or len(found) == 1:
        return text if text in found else found[0]
    if not found:
        raise HansardError(f"no message {text!r} in thread {thread_id!r}; `hansard tree` lists them")
    ids = ", ".join(display(key) for key in found[:4])
    raise HansardError(f"{text!r} matches {len(found)} messages: {ids}; give more of the id")
