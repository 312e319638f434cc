"""Formats: documents of other programs read, written, converted and detected.

Read in this order:

    contract       what a format is, and the guide to add one
    registry       the list of modules whose `FORMAT` rows are the formats
    detection      which format a document has: hints of all rows, then `sniff`
    documents      `read`, `write`, `convert`: what callers use
    losses         what a written document lacks, found by reading it back
    residue        data without a canonical field, and how a writer finds it again
    field_table    readers and writers generated from tables of fields
    rules/         what providers accept, and messages adapted to it

Every other folder is a format, or a group of formats of one kind (`ai_sdk`, `coding_agents`, `exchange`, `pages`), with
the same file names in each. May import: `model`, `errors`, `gc_pause`; `stream` and `emit` also `streams`. A format
imports another only where its dialect builds on that wire format (`tests/test_imports.py` lists those).
Free to change: how a format reads and writes, as long as the laws and golden files pass. Stored in ledgers, so ask
first: names of formats, and residue keys and spelling hints under `extra`.
"""

from __future__ import annotations

from hansard.formats.conformance import check
from hansard.formats.contract import Format, Loss, Losses, Target, Written, WrittenAll
from hansard.formats.detection import detect
from hansard.formats.documents import convert, migrated, read, read_all, write, write_all
from hansard.formats.registry import get, names

__all__ = [
    "Format",
    "Loss",
    "Losses",
    "Target",
    "Written",
    "WrittenAll",
    "check",
    "convert",
    "detect",
    "get",
    "migrated",
    "names",
    "read",
    "read_all",
    "write",
    "write_all",
]
