"""Session files on their way into a ledger, and what they say of the user's files."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from functools import partial
from pathlib import Path

import zstandard

import hansard
from hansard import formats
from hansard.errors import HansardError
from hansard.formats.coding_agents.codex.edits import apply_diff, reverse_diff
from hansard.formats.coding_agents.edits import edits_of, infer_unknown, replayed
from hansard.sessions.discovery import Session
from hansard.sessions.importer import import_session
from hansard.workspace import imported_edits
from hansard.workspace.sage.snapshots import read_snapshots
from hansard.workspace.workspace import Workspace
from tests.faults.fuzz.engine import Surface, Target
from tests.faults.fuzz.formats import seeds
from tests.workspace.test_imported_edits import session as claude_session

AGENTS = [name for name in formats.names() if formats.get(name).session is not None] + ["sage"]
_RENEWED = 60  # imports into one ledger: the same file, changed behind our back
BOMBS = [
    zstandard.compress(bytes(200 << 20)),
    zstandard.compress(b'{"type":"' * (20 << 20)),
    zstandard.compress(b"[" * (50 << 20)),
    zstandard.compress(zstandard.compress(bytes(100 << 20))),
    b"\x1f\x8b\x08\x00" + bytes(100),
    b"PK\x03\x04" + bytes(100),
]
PATCH = b"""--- a/x
+++ b/x
@@ -1,3 +1,4 @@ def f
 one
-two
+2
+two and a half
 three
\\ No newline at end of file
@@ -9 +10,0 @@
-nine
"""
TEXT = b"one\ntwo\nthree\n4\n5\n6\n7\n8\nnine\n"


def importing_files(name: str) -> Target:
    """The file of a session, imported again and again as it changes; sage's snapshots and claude's sub-agents too."""
    folder = Path(tempfile.mkdtemp(prefix="hansard-import-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    state: dict[str, object] = {"uses": _RENEWED}

    def fresh() -> hansard.Ledger:
        old = state.get("ledger")
        if isinstance(old, hansard.Ledger):
            old.close()
        shutil.rmtree(folder)
        folder.mkdir()
        ledger = hansard.open(":memory:")
        state.update(ledger=ledger, uses=0)
        return ledger

    def target(data: bytes, rng: random.Random) -> bool:
        ledger = state["ledger"] if state["uses"] < _RENEWED else fresh()  # type: ignore[operator]
        assert isinstance(ledger, hansard.Ledger)
        state["uses"] += 1  # type: ignore[operator]
        path, part = folder / "messages.jsonl", folder / "agent-1.jsonl"
        parts: tuple[Path, ...] = ()
        if name in ("sage", "claude-code") and rng.random() < 0.3 and path.exists():
            part.write_bytes(data)
            parts = (part,)
        elif rng.random() < 0.2 and path.exists():
            with open(path, "ab") as file:
                file.write(data)
        else:
            path.write_bytes(data)
        try:
            done = import_session(ledger, Session(path, name if rng.random() < 0.8 else "", parts))
            if done.thread_id and rng.random() < 0.05:
                assert list(ledger.verify()) == []
        except HansardError:
            path.unlink()
            raise
        if rng.random() < 0.3:
            _bring_in(ledger, done.thread_id, folder, name)
        return bool(done.added)

    return target


def _bring_in(ledger: hansard.Ledger, thread_id: str, folder: Path, name: str) -> None:
    """Its edits into a workspace: nothing is written to a file."""
    root = folder / "project"
    root.mkdir(exist_ok=True)
    with Workspace(ledger, str(root)) as workspace:
        if name == "sage":
            read_snapshots(workspace, thread_id, str(folder))
        else:
            imported_edits.import_edits(workspace, thread_id, backups=str(folder))
    assert list(root.iterdir()) == [], "importing wrote into the project"


def edits(name: str) -> Target:
    """What a transcript says of files, rebuilt forwards and backwards."""

    def target(data: bytes, rng: random.Random) -> bool:
        conversation = formats.read(data, name)
        steps = list(replayed(edits_of(conversation)))
        infer_unknown(steps, lambda path: TEXT)
        return bool(steps)

    return target


def patches() -> Target:
    """Unified diffs: put in, turned round, taken out; what is used of them was tried both ways (`completed`)."""

    def target(data: bytes, rng: random.Random) -> bool:
        diff = data.decode("utf-8", "replace")
        after = apply_diff(TEXT, diff)
        apply_diff(after, reverse_diff(diff))
        return isinstance(after, bytes)

    return target


def _editing(name: str) -> list[bytes]:
    own = ["\n".join(claude_session(Path("/p"))[:end]).encode() + b"\n" for end in (3, 6, 8)]
    return (own if name == "claude-code" else []) + [
        raw
        for raw in seeds(name)
        if b"toolUseResult" in raw or b"patch_apply" in raw or b"newContent" in raw or b"resultDisplay" in raw
    ] or seeds(name)


SURFACES = [
    *(
        Surface(
            f"import of {name}",
            partial(lambda name: seeds(name) + (BOMBS if name == "codex" else []), name),
            partial(importing_files, name),
        )
        for name in AGENTS
    ),
    *(
        Surface(f"edits recorded by {name}", partial(_editing, name), partial(edits, name))
        for name in ("claude-code", "codex", "gemini-cli")
    ),
    Surface("patches", lambda: [PATCH, PATCH.replace(b"\n", b"\r\n"), b"@@ -1 +1 @@\n-one\n+1\n"], patches),
]
