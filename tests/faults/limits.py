"""The limits there are, each with a way to reach it: `takes(n)` says whether something of size n is taken.

`markdown()` is the table of `docs/guarantees.md`; `test_limits.py` tries n - 1, n and n + 1 of every row.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import hansard
from hansard import formats
from hansard.errors import HansardError, TooLarge
from hansard.formats.coding_agents.scanner import LONGEST_LINE
from hansard.ledger import limits
from hansard.model import DataPart, Message, TextPart, native
from hansard.server import app
from hansard.workspace import Workspace
from hansard.workspace.scan import Limits
from tests.ledger.said import said


class Limit(NamedTuple):
    what: str
    most: int
    unit: str
    beyond: str
    takes: Callable[[int], bool]


def _bytes(size: int) -> bool:
    """A message that is exactly so long as JSON."""
    empty = said("", id="x", created_at="2026-01-01T00:00:00Z")
    message = said("x" * (size - len(native.encode(empty))), id="x", created_at="2026-01-01T00:00:00Z")
    try:
        return len(limits.encode(message, "a message")) == size
    except TooLarge:
        with hansard.open(":memory:") as ledger:
            return _taken(lambda: ledger.append(ledger.create_thread("t").id, message))


def _taken(action: Callable[[], object]) -> bool:
    try:
        action()
    except HansardError:
        return False
    return True


def _levels(count: int) -> bool:
    """A message that nests so deeply, written and read again."""
    data: Any = 1
    for _ in range(count - 3):  # the message, its list of parts, the part
        data = [data]
    with hansard.open(":memory:") as ledger:
        ledger.create_thread("t")
        message = Message(role="user", parts=[DataPart(name="x", data=data), TextPart(text="[{" * 600)])
        taken = _taken(lambda: ledger.append("t", message))
        return taken and ledger.transcript("t")[0].parts[0].data == data  # type: ignore[union-attr]


def _ids(size: int) -> bool:
    """Ids of everything that has one; letters of two bytes."""
    text = "ä" * (size // 2) + "a" * (size % 2)
    with hansard.open(":memory:") as ledger:
        ledger.create_thread("t")
        calls: list[Callable[[], object]] = [
            lambda: ledger.append("t", said("x", id=text)),
            lambda: ledger.create_thread(text),
            lambda: ledger.create_thread(resource_id=text),
            lambda: ledger.update_thread("t", resource_id=text),
            lambda: ledger.begin_run("t", id=text),
        ]
        taken = {_taken(call) for call in calls}
    assert len(taken) == 1, "not all ids have the same limit"
    return taken.pop()


def _page(size: int) -> bool:
    with hansard.open(":memory:") as ledger:
        ledger.create_thread("t")
        taken = {_taken(lambda: ledger.messages("t", limit=size)), _taken(lambda: ledger.threads(limit=size))}
    assert len(taken) == 1
    return taken.pop()


def _hits(size: int) -> bool:
    with hansard.open(":memory:") as ledger:
        return _taken(lambda: ledger.search("x", limit=size))


def _body(size: int) -> bool:
    from litestar.testing import TestClient

    with hansard.open(":memory:") as ledger, TestClient(app.create_app(ledger), base_url="http://127.0.0.1") as client:
        sent = client.post("/api/threads", content=b"{}".ljust(size), headers={"content-type": "application/json"})
    assert sent.status_code in (200, 201, 413), sent.text
    return sent.status_code != 413


def _line(size: int) -> bool:
    record = b'{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"%s"}}'
    session = formats.get("claude-code").session
    assert session is not None
    reading = session.open()
    reading.feed(record % (b"x" * (size - len(record) + 2)) + b"\n")
    reading.finish()
    return not reading.reports


def _file_size(size: int) -> bool:
    with tempfile.TemporaryDirectory() as folder, hansard.open(":memory:") as ledger:
        (Path(folder) / "file").write_bytes(bytes(size))
        with Workspace(ledger, folder, limits=Limits(file_size=5000)) as files:
            return not files.snapshot().partial


LIMITS = [
    Limit("a message, as JSON", limits.MESSAGE, "bytes", "`TooLarge`, nothing is written", _bytes),
    Limit("lists and objects inside one another", limits.DEPTH, "levels", "`TooLarge`, nothing is written", _levels),
    Limit("an id of a message, thread, run or resource", limits.ID, "bytes", "`TooLarge`, nothing is written", _ids),
    Limit("a page of messages or threads", limits.PAGE, "items", "refused; ask for the next page", _page),
    Limit("a page of hits", limits.HITS, "items", "refused; ask for the next page", _hits),
    Limit("the body of a request (`max_body`)", app._LARGEST, "bytes", "413", _body),
    Limit("a line of a session file", LONGEST_LINE, "bytes", "reported with its place; the rest is read", _line),
]
SETTABLE = [
    Limit("a file of a workspace (`Limits.file_size`)", 5000, "bytes", "the snapshot says `partial`", _file_size),
]
"""Limits whose owner sets them; they are tried with small numbers."""


def markdown() -> list[str]:
    """The table, a line each."""
    usual = {SETTABLE[0].what: Limits().file_size}
    lines = ["| what | limit | beyond it |", "|---|--:|---|"]
    for one in (*LIMITS, *SETTABLE):
        lines.append(f"| {one.what} | {usual.get(one.what, one.most):,} {one.unit} | {one.beyond} |")
    return lines
