"""A folder is swapped for a link while restore, undo and redo write below it: nothing is written outside.

In `make test` the swap happens at every step of a write in turn; in `make prove` another process swaps all the time.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

import hansard
from hansard.errors import HansardError
from hansard.workspace import Author, Workspace, rooted_fs
from hansard.workspace.entries import file_entry
from tests.workspace.trees import tree, turn

CHANGED, UNTOUCHED = file_entry(b"changed", 0o644), file_entry(b"untouched", 0o644)
WRITES, ROUNDS, LIMIT = 200, 200, 60.0


def swap(root: str, stop) -> None:
    fd = os.open(root, os.O_RDONLY)
    while not stop.is_set():
        rooted_fs.exchange(fd, b"sub", fd, b"link")
    os.close(fd)


def prepared(tmp_path: Path) -> tuple[Path, Path, str]:
    """A root with a folder and a link to another folder outside; a thread changed files in the first."""
    root, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (root / "sub", outside):
        folder.mkdir(parents=True)
        (folder / "a").write_text("untouched")
    os.symlink(outside, root / "link")
    with hansard.open(str(tmp_path / "ledger.db")) as ledger, Workspace(ledger, root) as files:
        thread = ledger.create_thread().id
        turn(ledger, thread)
        with files.tool(Author(thread_id=thread), "sub/a", "sub/new/b"):
            (root / "sub/a").write_text("changed")
            (root / "sub/new").mkdir()
            (root / "sub/new/b").write_text("new")
    return root, outside, thread


def test_a_swap_at_any_step_of_a_write_writes_nothing_outside_the_root(tmp_path: Path) -> None:
    root, outside, thread = prepared(tmp_path)
    before, number, wrote = tree(outside), 0, 0
    with hansard.open(str(tmp_path / "ledger.db")) as ledger:
        while True:
            left = number

            def step(name: str) -> None:
                nonlocal left
                left -= 1
                if left == -1:
                    swap_once(root)

            with Workspace(ledger, root, step=step) as files:
                wanted = UNTOUCHED if (root / "sub/a").read_bytes() == b"changed" else CHANGED
                try:
                    wrote += not files.restore("sub/a", entry=wanted).conflicts
                except (HansardError, OSError):
                    pass
                for action in (files.undo, files.redo):
                    try:
                        action(thread)
                    except (HansardError, OSError):
                        pass
            assert tree(outside) == before, f"step {number}"
            if (root / "sub").is_symlink():
                swap_once(root)
            if left >= 0:
                break
            number += 1
    assert number > 10
    assert wrote > 0


def swap_once(root: Path) -> None:
    fd = os.open(root, os.O_RDONLY)
    try:
        rooted_fs.exchange(fd, b"sub", fd, b"link")
    finally:
        os.close(fd)


@pytest.mark.prove
def test_a_race_of_links_writes_nothing_outside_the_root(tmp_path: Path) -> None:
    root, outside, _ = prepared(tmp_path)
    before = tree(outside)
    context = multiprocessing.get_context("fork")
    stop = context.Event()
    racer = context.Process(target=swap, args=(str(root), stop))
    racer.start()
    until, tries, wrote = time.monotonic() + LIMIT, 0, 0
    wanted, other = CHANGED, UNTOUCHED
    try:
        with hansard.open(str(tmp_path / "ledger.db")) as ledger, Workspace(ledger, root) as files:
            while wrote < WRITES and time.monotonic() < until:
                tries += 1
                try:
                    done = files.restore("sub/a", entry=wanted)
                    wrote += bool(done.files.touched) and not done.conflicts
                    wanted, other = other, wanted
                except (HansardError, OSError):
                    pass
                assert tree(outside) == before
    finally:
        stop.set()
        racer.join()
    print(f"{tries} tries, {wrote} written below the root, 0 outside")
    assert wrote > 3


@pytest.mark.prove
def test_undo_in_a_race_of_links_writes_nothing_outside_the_root(tmp_path: Path) -> None:
    root, outside, thread = prepared(tmp_path)
    before = tree(outside)
    context = multiprocessing.get_context("fork")
    stop = context.Event()
    racer = context.Process(target=swap, args=(str(root), stop))
    racer.start()
    until = time.monotonic() + LIMIT
    try:
        for _ in range(ROUNDS):
            if time.monotonic() > until:
                break
            with hansard.open(str(tmp_path / "ledger.db")) as ledger, Workspace(ledger, root) as files:
                for action in (files.undo, files.redo):
                    try:
                        action(thread)
                    except (HansardError, OSError):
                        pass
            assert tree(outside) == before
    finally:
        stop.set()
        racer.join()
