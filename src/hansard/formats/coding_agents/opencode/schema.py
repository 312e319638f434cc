"""The tables of OpenCode 1.18, and the migrations that such a database has gone through.

A database that was read keeps its own. A later OpenCode brings such a database up to date when it starts.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

VERSION = "1.18.33"
_KEY = re.compile(r"(\w+) text primary key|primary key ?\((.*?)\)", re.IGNORECASE)


def _text() -> str:
    return files(__package__).joinpath("schema.sql").read_text("utf-8")


@cache
def migrations() -> list[str]:
    """The names of the migrations that such a database has gone through."""
    return re.findall(r"(?m)^-- migration (\S+)$", _text())


@cache
def tables() -> list[list[str]]:
    """The statements that make the tables and indexes, each with its kind."""
    statements = [one.strip() for one in re.sub(r"(?m)^--.*$", "", _text()).split(";") if one.strip()]
    return [["table" if one.startswith("create table") else "index", one] for one in statements]


@cache
def keys() -> dict[str, list[str]]:
    """The primary key of each table that holds sessions."""
    found: dict[str, list[str]] = {}
    for kind, statement in tables():
        key = _KEY.search(statement) if kind == "table" else None
        if key is not None:
            found[statement.split("`")[1]] = [key[1]] if key[1] else [one.strip() for one in key[2].split(",")]
    return found
