"""`hansard doctor`: the installation, the ledger and where it lies; what is wrong, and the way out.

It only looks: a ledger is opened for reading, no migration is applied, nothing is made.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from importlib import import_module, metadata

import click
from msgspec import UNSET, Struct, UnsetType

from hansard._version import __version__
from hansard.cli.options import counted, db_option, default_path, file_of, json_option, say, say_json, shown
from hansard.errors import HansardError
from hansard.ledger import on_server

_EXTRAS = {
    "agent": (("pydantic_ai", "pydantic-ai-slim"),),
    "postgres": (("psycopg", "psycopg"), ("psycopg_pool", "psycopg-pool")),
    "server": (("litestar", "litestar"), ("uvicorn", "uvicorn"), ("httptools", "httptools")),
}
_LITTLE = 256 << 20  # bytes that should be left on the disk


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was looked at, how it is, and, where it is wrong, the way out. `state`: ok, note or wrong."""

    about: str
    found: str
    state: str = "ok"
    way_out: str | UnsetType = UNSET


@click.command("doctor")
@db_option
@json_option
def command(db: str | None, as_json: bool) -> int:
    """Look at versions, extras, the ledger, its disk and the agents' folders; exit 1 if something is wrong."""
    findings = list(examine(db))
    wrong = sum(1 for finding in findings if finding.state == "wrong")
    if as_json:
        say_json(findings)
        return 1 if wrong else 0
    width = max(len(finding.about) for finding in findings)
    for finding in findings:
        sign = {"ok": " ", "note": "-"}.get(finding.state, "!")
        say(f"{sign} {finding.about:<{width}}  {shown(finding.found)}")
        if isinstance(finding.way_out, str):
            say(f"  {'':<{width}}  way out: {shown(finding.way_out)}")
    say(f"{counted(wrong, 'thing')} wrong" if wrong else "nothing is wrong")
    return 1 if wrong else 0


def examine(db: str | None) -> Iterator[Finding]:
    """Everything that is looked at, in order."""
    yield Finding(about="hansard", found=f"{__version__}, Python {platform.python_version()}, {platform.platform()}")
    yield from _sqlite()
    for name, modules in _EXTRAS.items():
        yield _extra(name, modules)
    url = db or default_path()
    told = "" if db else ", the usual place"
    if on_server(url):
        from hansard.cli.ledger.doctor_ledgers import examine_postgres

        yield from examine_postgres(url)
    else:
        yield from _file(url, told)
    yield from _sessions()


def _sqlite() -> Iterator[Finding]:
    import apsw

    from hansard.ledger.backends.sqlite import OLDEST

    version = f"{apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})"
    if apsw.SQLITE_VERSION_NUMBER < OLDEST:
        yield Finding(
            about="SQLite",
            found=f"{version} can corrupt a write-ahead log",
            state="wrong",
            way_out="pip install 'apsw>=3.51.3'",
        )
        return
    missing = [name for name in ("ENABLE_FTS5", "THREADSAFE=1") if name not in apsw.compile_options]
    if missing:
        yield Finding(
            about="SQLite",
            found=f"{version}, built without {', '.join(missing)}",
            state="wrong",
            way_out="pip install --force-reinstall --only-binary :all: apsw",
        )
        return
    yield Finding(about="SQLite", found=f"{version}, ENABLE_FTS5, THREADSAFE=1")


def _extra(name: str, modules: tuple[tuple[str, str], ...]) -> Finding:
    about = f"extra {name}"
    install = f"pip install 'hansard[{name}]'"
    versions: list[str] = []
    for module, package in modules:
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            return Finding(about=about, found="not installed", state="note", way_out=install)
        try:
            import_module(module)
        except Exception as error:  # whatever a broken package throws
            text = " ".join(str(error).split())[:200]
            return Finding(
                about=about,
                found=f"{package} is there, but cannot be imported: {text}",
                state="wrong",
                way_out=f"{install} --force-reinstall",
            )
    return Finding(about=about, found=", ".join(versions))


def _file(url: str, told: str) -> Iterator[Finding]:
    try:
        path = file_of(url)
    except HansardError as error:
        yield Finding(about="ledger", found=str(error), state="wrong", way_out="name a path, or postgresql://...")
        return
    if path is None:
        yield Finding(about="ledger", found="in memory: gone when the program ends", state="note")
        return
    path = os.path.abspath(path)
    yield from _folder(path)
    if not os.path.exists(path):
        yield Finding(about="ledger", found=f"{path}{told}: not there yet; `hansard import` makes it", state="note")
        return
    from hansard.cli.ledger.doctor_ledgers import examine_sqlite

    yield from examine_sqlite(path)


def _folder(path: str) -> Iterator[Finding]:
    """The nearest folder that is there: may the ledger be written, and is there room?"""
    folder = os.path.dirname(path)
    while not os.path.exists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        yield Finding(
            about="folder", found=f"{folder} is a file", state="wrong", way_out="name another place with --db"
        )
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Finding(
            about="folder",
            found=f"{folder} cannot be written by this user",
            state="wrong",
            way_out=f"chown {_user()} {folder}, or name another place with --db",
        )
    free = shutil.disk_usage(folder).free
    if free < _LITTLE:
        yield Finding(
            about="disk",
            found=f"{free >> 20:,} MB are left at {folder}",
            state="wrong",
            way_out="make room; `hansard prune` deletes what stands on no branch in force",
        )
    else:
        yield Finding(about="disk", found=f"{free >> 20:,} MB are left at {folder}")


def _sessions() -> Iterator[Finding]:
    from hansard.sessions.discovery import found

    some = False
    for agent, sessions in found():
        some = True
        yield Finding(about=agent.name, found=f"{counted(len(sessions), 'session')} in {agent.folder()}")
    if not some:
        yield Finding(about="coding agents", found="no sessions of any agent on this machine", state="note")


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "")


__all__ = ["Finding", "command", "examine"]
