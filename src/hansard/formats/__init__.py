"""Formats: documents of other programs read, written, converted and detected."""

from __future__ import annotations

from hansard.formats.contract import Format, Loss, Target, Written, WrittenAll
from hansard.formats.detection import detect
from hansard.formats.documents import convert, read, read_all, write, write_all
from hansard.formats.registry import get, names

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
    "read",
    "read_all",
    "write",
    "write_all",
]
