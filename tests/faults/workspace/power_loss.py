"""Power loss while files outside the ledger are written: each is as it was or as it should be, never a part of it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import hansard
from hansard import formats
from hansard.cli import files as documents
from hansard.errors import HansardError
from hansard.sessions.handover import handover
from hansard.workspace import Workspace
from tests.faults.disk_layer import Call, Layer
from tests.faults.harness import Outcome, Place, proof
from tests.faults.power import Happened, Line, State, held, losses, missed, put
from tests.ledger.said import said
from tests.workspace.test_faults import prepared
from tests.workspace.trees import tree

EACH = 100
Judge = Callable[[list[Line]], list[str]]


def go(tries: int, scenario: Callable[[Path, list[Happened], bool], tuple[State, Judge]], synced: bool) -> Outcome:
    """Record what a scenario does to a folder, then put every loss of power into that very folder and judge."""
    failures: list[str] = []
    seen: Counter[str] = Counter()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = Path(name) / "disk"
        for seed in range(-(-tries // EACH)):
            _clear(folder)
            happened: list[Happened] = []
            start, judge = scenario(folder, happened, synced)
            seen["disk calls"] += sum(isinstance(one, Call) for one in happened)
            if synced and (paths := missed(happened, start, folder)):
                return Outcome(tries=0, failures=[f"the recorder missed a call on {paths}"])
            for number, (state, told) in enumerate(losses(happened, start, EACH, seed)):
                seen["losses"] += 1
                _clear(folder)
                put(state, str(folder), str(folder))
                try:
                    found = judge(told)
                except HansardError as error:
                    found = [f"no longer opens: {error}"]
                failures += [f"loss {seed}.{number}: {one}" for one in found]
    return Outcome(tries=seen.pop("losses"), failures=failures[:50], seen={**seen, "failures": len(failures)})


def _clear(folder: Path) -> None:
    for above, folders, _ in os.walk(folder):
        for one in folders:
            os.chmod(os.path.join(above, one), 0o700)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def _recording(folder: Path, happened: list[Happened], synced: bool) -> Layer:
    """Without `synced` it is as if nobody had synced but SQLite."""

    def after(call: Call) -> None:
        if synced or call.kind != "sync" or "ledger.db" in call.path or call.path == str(folder):
            happened.append(call)

    return Layer(folder, after=after)


def undoing(folder: Path, happened: list[Happened], synced: bool) -> tuple[State, Judge]:
    """Undo and redo of a turn that did a bit of everything."""
    thread, before, after = prepared(folder)
    start = held(folder)
    root = folder / "project"
    path = str(folder / "ledger.db")
    with _recording(folder, happened, synced), hansard.open(path) as ledger, Workspace(ledger, root) as files:
        for action, result in ((files.undo, "before"), (files.redo, "after")):
            happened.append({"try": result})
            action(thread)
            happened.append({"ack": result})

    def judge(told: list[Line]) -> list[str]:
        may = {str(told[-1].get("ack") or told[-1].get("try"))} if told else {"after"}
        if told and "try" in told[-1]:
            may.add("after" if len(told) == 1 else "before")
        with hansard.open(path) as ledger, Workspace(ledger, root):
            now, depth = tree(root), len(ledger.transcript(thread))
            word = {1: "before", 3: "after"}.get(depth, f"{depth} messages")
            problems = [str(problem) for problem in ledger.verify()]
        wanted = {"before": before, "after": after}.get(word)
        if word not in may:
            problems.append(f"the head is {word} the turn, and should be {' or '.join(may)}")
        if now != wanted and wanted is not None:
            paths = [path for path in {*now, *wanted} if now.get(path) != wanted.get(path)]
            problems.append(f"the head is {word} the turn, {paths} are not: {[now.get(path) for path in paths]}")
        return problems

    return start, judge


def writing_out(folder: Path, happened: list[Happened], synced: bool) -> tuple[State, Judge]:
    """An export over an older one, a new one, a backup over an older one, a session for another agent."""
    for name in ("out.json", "new.json", "backup.db"):
        (folder / name).unlink(missing_ok=True)
    old, new = b"old " * 700, b"new " * 900
    with hansard.open(":memory:") as ledger, patch.dict(os.environ, {"CLAUDE_CONFIG_DIR": str(folder / "claude")}):
        ledger.create_thread("t")
        ledger.append("t", said("one"))
        ledger.backup(str(folder / "backup.db"))
        documents.save(old, str(folder / "out.json"))
        ledger.append("t", said("two " * 2000))
        start = held(folder)
        conversation = ledger.export_conversation("t")
        with _recording(folder, happened, synced):
            deeds: list[tuple[str, Callable[[], object]]] = [
                ("out.json", lambda: documents.save(new, str(folder / "out.json"))),
                ("new.json", lambda: documents.save(new, str(folder / "new.json"))),
                ("backup.db", lambda: ledger.backup(str(folder / "backup.db"))),
                ("claude", lambda: handover(conversation, "claude-code", cwd="/", now=0)),
            ]
            for name, deed in deeds:
                happened.append({"try": name})
                deed()
                happened.append({"ack": name})

    def judge(told: list[Line]) -> list[str]:
        done = {line["ack"] for line in told if "ack" in line}
        problems = []
        for name, may in (("out.json", {old, new}), ("new.json", {None, new})):
            path = folder / name
            now = path.read_bytes() if path.exists() else None
            if now not in ({new} if name in done else may):
                problems.append(f"{name} is torn or lost: {len(now or b'')} bytes")
        with hansard.open(str(folder / "backup.db")) as ledger:
            count = len(ledger.transcript("t"))
            problems += [f"backup: {problem}" for problem in ledger.verify()]
            if count != 2 and (count != 1 or "backup.db" in done):
                problems.append(f"the backup has {count} messages")
        sessions = list((folder / "claude").rglob("*.jsonl"))
        if "claude" in done and not sessions:
            problems.append("the session that was handed over is lost")
        for path in sessions:
            if len(formats.read(path.read_bytes(), "claude-code").messages) != 2:
                problems.append("the session that was handed over is torn")
        return problems

    return start, judge


@proof(
    "power loss during undo",
    holds="files and head are entirely before or entirely after, and after when that was acknowledged",
    tries=4000,
    sample=100,
    defects=("not synced",),
)
def power_loss_during_undo(tries: int, place: Place, defect: str | None) -> Outcome:
    return go(tries, undoing, synced=defect is None)


@proof(
    "power loss while files are written",
    holds="exports, backups and handed-over sessions are the old or the new version, the new one once acknowledged",
    tries=4000,
    sample=200,
    defects=("not synced",),
)
def power_loss_while_files_are_written(tries: int, place: Place, defect: str | None) -> Outcome:
    return go(tries, writing_out, synced=defect is None)
