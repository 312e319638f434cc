"""Verifying finds every change that matters: a flipped bit is found, or changes nothing anybody can read."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import Conversation, Ledger
from hansard.errors import HansardError
from hansard.model import Snapshot, Usage, native
from tests.ledger.said import said

FLIPS = int(os.environ.get("HANSARD_FLIPS", "150"))


def fill(ledger: Ledger) -> None:
    """A little of everything."""
    files = [Snapshot(message_id="a", files={"file": "content"})]
    ledger.import_conversation(Conversation(id="t", title="Tea", messages=[said("milk?", id="a")], snapshots=files))
    ledger.update_thread("t", metadata={"mood": "fine"}, resource_id="kitchen")
    tokens = Usage(input_tokens=7)
    ledger.append("t", [said(f"word {i}", "assistant", id=f"m{i}", usage=tokens, agent_id="cook") for i in range(6)])
    ledger.append("t", said("long " * 2000, id="long"))
    run = ledger.begin_run("t", "cook", fork_from="m2")
    run.stage(said("sugar", "assistant", id="s"))
    run.commit()
    failed = ledger.begin_run("t", "cook")
    failed.stage(said("sal", "assistant", id="half"))
    failed.fail("burnt")
    ledger.create_thread("u", title="Gone")
    ledger.append("u", said("forget this"))
    ledger.forget("u")


def told(ledger: Ledger) -> list[Any]:
    """All that can be read: every conversation as bytes, every list."""
    keys = [thread.id for thread in ledger.threads(newest=False).items]
    return [
        sorted(keys),
        [native.encode(ledger.export_conversation(key)) for key in sorted(keys)],
        [(run.id, run.status) for key in sorted(keys) for run in ledger.runs(key)],
        [ledger.transcript(key) for key in sorted(keys)],
        [(ledger.thread(key).title, ledger.thread(key).usage, ledger.thread(key).head) for key in sorted(keys)],
        ledger.stats().messages,
    ]


def test_a_ledger_that_nobody_touched_has_no_problems(ledger: Ledger) -> None:
    fill(ledger)
    seen: list[tuple[int, int]] = []
    assert ledger.verify(lambda done, total: seen.append((done, total))) == []
    assert seen[-1] == (10, 10)


CHANGES = {
    "update message set body = (select body from message where id = 'm1') where id = 'm3'": ("m3", "hash"),
    "update message set id = 'x' where id = 'm3'": ("x", "hash"),
    "update message set role = 'system' where id = 'm3'": ("m3", "differ from its body"),
    "update message set run = 77 where id = 'm3'": ("m3", "run 77"),
    "update message set said = hash where id = 'm3'": ("m3", "content hash"),
    "update message set hash = said where id = 'm3'": ("m3", "hash"),
    "delete from message where id = 'm3'": ("m4", "before it is missing"),
    "delete from message where id = 'm1'": ("m2", "before it is missing"),
    "delete from segment where seg > 0": (None, "counts 10 messages, but 8 exist"),
    "update segment set fork_depth = 99": (None, "forks from a message"),
    "update thread set messages = 3 where id = 't'": (None, "counts 3 messages"),
    "update thread set head_depth = 2 where id = 't'": (None, "head"),
    "update thread set head_depth = 99 where id = 't'": (None, "head is missing"),
    "update thread set title = 'Coffee' where id = 't'": (None, "title"),
    "update thread set body = usage where id = 't'": (None, "cannot be read"),
    "update thread set usage = head_hash where id = 't'": (None, "checksum"),
    "update run set depth = 99": (None, "last message is missing"),
    "update run set depth = 1, seg = 0": (None, "a different hash"),
    "update run set fork_depth = 99 where status = 'failed'": (None, "forks from is missing"),
    "update run set status = 'aborted'": (None, "but its body says"),
    "delete from blob": ("long", "missing"),
    "update blob set size = 1": (None, "does not match its hash"),
    "delete from blob_use": ("long", "not marked as used"),
    "update snapshot set body = message": (None, "snapshot 0"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_behind_its_back_is_named(tmp_path: Path, change: str) -> None:
    with hansard.open(str(tmp_path / "ledger.db")) as ledger:
        fill(ledger)
        driver: Any = ledger._driver
        driver._writer.execute(change)
        first = ledger.verify()[0]
        message, words = CHANGES[change]
        assert first.message_id == message
        assert words in f"{first.where} {first.what}"
        assert message is None or first.n is not None


def test_the_first_bad_row_is_named_first_and_those_behind_it_are_not_blamed(tmp_path: Path) -> None:
    with hansard.open(str(tmp_path / "ledger.db")) as ledger:
        fill(ledger)
        driver: Any = ledger._driver
        driver._writer.execute("update message set body = (select body from message where id = 'm0') where depth = 4")
        assert [(problem.thread_id, problem.message_id) for problem in ledger.verify()] == [("t", "m2")]


def test_a_flipped_bit_is_found_or_changes_nothing(tmp_path: Path) -> None:
    path, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with hansard.open(str(path)) as ledger:
        fill(ledger)
        if hasattr(ledger, "search"):
            ledger.search("milk")
        before = told(ledger)
    data = path.read_bytes()
    chance = random.Random(7)
    spots = [at for at in range(len(data)) if data[at] or data[at - 1] or data[at + 1 : at + 2] > b"\0"]
    found = 0
    for at in chance.sample(spots, min(FLIPS, len(spots))):
        flipped = bytearray(data)
        flipped[at] ^= 1 << chance.randrange(8)
        for left in tmp_path.glob("copy.db*"):
            left.unlink()
        copy.write_bytes(flipped)
        if is_found(copy):
            found += 1
            continue
        with hansard.open(str(copy)) as ledger:
            assert told(ledger) == before, f"byte {at} of {len(data)}"
    assert found > FLIPS // 4


def is_found(path: Path) -> bool:
    try:
        with hansard.open(str(path)) as ledger:
            return ledger.verify() != []
    except HansardError:
        return True


def test_stats_count_what_there_is(ledger: Ledger) -> None:
    fill(ledger)
    found = ledger.stats()
    assert (found.threads, found.forgotten, found.messages, found.runs, found.blobs) == (1, 1, 10, 2, 1)
    assert found.usage == hansard.TokenSum(input_tokens=42)
    exact = sum(len(native.encode(message)) for message in ledger.export_conversation("t").messages)
    assert abs(found.payload_bytes - exact) < 500  # an export names parents that are otherwise left unsaid
    assert 0 < found.stored_bytes < found.bytes_on_disk
