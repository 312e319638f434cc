"""Somebody swaps a folder for a link, over and over, while undo and redo write below it: nothing is written outside."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import hansard
from hansard.errors import HansardError
from hansard.workspace import By, Workspace, beneath
from tests.workspace.trees import tree, turn

SECONDS = 10.0 if os.environ.get("HANSARD_HYPOTHESIS") == "long" else 3.0


def swap(root: str, stop) -> None:
    fd = os.open(root, os.O_RDONLY)
    while not stop.is_set():
        beneath.exchange(fd, b"sub", fd, b"link")
    os.close(fd)


def test_a_race_of_links_writes_nothing_outside_the_root(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (root / "sub", outside):
        folder.mkdir(parents=True)
        (folder / "a").write_text("untouched")
    os.symlink(outside, root / "link")
    before = tree(outside)
    context = multiprocessing.get_context("fork")
    stop = context.Event()
    with hansard.open(str(tmp_path / "ledger.db")) as ledger, Workspace(ledger, root) as files:
        thread = ledger.create_thread().id
        turn(ledger, thread)
        with files.tool(By(thread_id=thread), "sub/a", "sub/new/b"):
            (root / "sub/a").write_text("changed")
            (root / "sub/new").mkdir()
            (root / "sub/new/b").write_text("new")
    racer = context.Process(target=swap, args=(str(root), stop))
    racer.start()
    until, tries = time.monotonic() + SECONDS, 0
    try:
        with hansard.open(str(tmp_path / "ledger.db")) as ledger:
            while time.monotonic() < until:
                tries += 1
                with Workspace(ledger, root) as files:
                    for action in (files.undo, files.redo):
                        try:
                            action(thread)
                        except (HansardError, OSError):
                            pass
                assert tree(outside) == before
    finally:
        stop.set()
        racer.join()
    print(f"{tries} tries")
    assert tries > 3
