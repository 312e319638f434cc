"""Formats: read, write, convert and detect documents."""

from __future__ import annotations

from hansard.formats.contract import Format, Loss, Target, Written, WrittenAll
from hansard.formats.documents import convert, detect, get, names, parse, read, read_all, read_plain, write, write_all

__all__ = [
    "Format",
    "Loss",
    "Target",
    "Written",
    "WrittenAll",
    "convert",
    "detect",
    "get",
    "names",
    "parse",
    "read",
    "read_all",
    "read_plain",
    "write",
    "write_all",
]
