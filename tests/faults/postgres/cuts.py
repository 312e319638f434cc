"""The connection to PostgreSQL cut at every byte, on the way there and on the way back: each message is there once.

A cut of the request means the server saw part of it, or none; a cut of the reply means that it had done what it was
asked, and nobody heard. The caller cannot tell these apart, and need not: the call is simply made again. Each try has
a thread of its own, does one thing to it through the proxy, and compares the whole thread with what was asked for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import psycopg

import hansard
from hansard import Ledger, Message
from hansard.errors import HansardError, StorageError
from hansard.model.conversation import Conversation
from tests.faults.harness import Outcome, Place, proof
from tests.faults.postgres.tcp_proxy import Direction, Proxy
from tests.ledger.said import said, words

_LONG = "word " * 20_000
_LAST = 16
_REQUEST = 150  # as many places of a request: what is cut off there was never asked


class Act(NamedTuple):
    """Something that is done to a thread which says first and second: what it says afterwards, and its runs."""

    do: Callable[[Ledger, str], Any]
    says: list[str]
    runs: list[str] = []
    before: Callable[[Ledger, str], Any] = lambda ledger, thread: None


def _import(ledger: Ledger, thread: str) -> None:
    given = [said("first", id="first"), said("second", id="second"), said("third", id="third"), said("4th", id="4th")]
    ledger.sync(thread, Conversation(messages=given))


def _begin(ledger: Ledger, thread: str) -> None:
    ledger.begin_run(thread, id="run").release()


def _stage(ledger: Ledger, thread: str) -> None:
    ledger.stage(thread, "run", said("answer", "assistant", id="answer"))


def _begin_and_stage(ledger: Ledger, thread: str) -> None:
    _begin(ledger, thread)
    _stage(ledger, thread)


def _append(ledger: Ledger, thread: str) -> None:
    ledger.append(thread, said("third", id="third"))


_BOTH = ["first", "second"]
ACTS = {
    "append": Act(_append, [*_BOTH, "third"]),
    "append several": Act(lambda ledger, thread: ledger.append(thread, [said("3"), said("4")]), [*_BOTH, "3", "4"]),
    "append where the head is": Act(
        lambda ledger, thread: ledger.append(thread, said("third"), expected_head="second"), [*_BOTH, "third"]
    ),
    "append much": Act(lambda ledger, thread: ledger.append(thread, said(_LONG)), [*_BOTH, _LONG]),
    "append behind": Act(
        lambda ledger, thread: ledger.append(thread, said("other"), parent="first"), ["first", "other"]
    ),
    "begin a run": Act(_begin, _BOTH, ["active"]),
    "stage": Act(_stage, _BOTH, ["active"], _begin),
    "commit": Act(
        lambda ledger, thread: ledger.commit(thread, "run"), [*_BOTH, "answer"], ["committed"], _begin_and_stage
    ),
    "abort": Act(lambda ledger, thread: ledger.abort(thread, "run"), _BOTH, ["aborted"], _begin_and_stage),
    "checkout": Act(lambda ledger, thread: ledger.checkout(thread, "first"), ["first"]),
    "import": Act(_import, [*_BOTH, "third", "4th"]),
    "read": Act(lambda ledger, thread: ledger.transcript(thread), _BOTH),
}


@proof(
    "PostgreSQL: the connection is cut",
    holds="each message is there exactly once and each call succeeds, at every cut",
    tries=2000,
    sample=40,
    defects=("the caller tries again under a new id", "the store does not look for the id"),
    control_tries=6,
)
def cut_connections(tries: int, place: Place, defect: str | None) -> Outcome:
    database = place.database()
    failures: list[str] = []
    counted = {"request": 0, "reply": 0}
    rng = random.Random(11)
    retry_for = 0.0 if defect == "the caller tries again under a new id" else 30.0
    with Proxy(database) as proxy, hansard.open(proxy.address, connections=1, retry_for=retry_for) as ledger:
        if defect == "the store does not look for the id":
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute("drop index message_id")
        done = 0
        for number, (name, direction, byte) in enumerate(_places(ledger, proxy, tries, bool(defect))):
            if done == tries:
                break
            act, thread = _prepared(ledger, name, f"{name} {number}")
            proxy.arm(direction, byte, rng.choice(("cut", "reset")))
            try:
                act.do(ledger, thread)
            except HansardError as error:
                if retry_for:
                    failures.append(f"{name}, {direction} cut at byte {byte}: {error}")
                else:
                    _under_a_new_id(ledger, thread)
            if not proxy.disarm():
                continue  # it was shorter this time
            done += 1
            counted[direction] += 1
            failures += [f"{name}, {direction} cut at byte {byte}: {line}" for line in _wrong(ledger, thread, act)]
        failures += [str(problem) for problem in ledger.verify()]
    return Outcome(tries=done, failures=failures, seen={f"{way} cut": n for way, n in counted.items()})


def _prepared(ledger: Ledger, name: str, thread: str) -> tuple[Act, str]:
    act = ACTS[name]
    ledger.create_thread(thread)
    ledger.append(thread, said("first", id="first"))
    ledger.append(thread, said("second", id="second"))
    act.before(ledger, thread)
    return act, thread


def _places(ledger: Ledger, proxy: Proxy, tries: int, defect: bool) -> Iterator[tuple[str, Direction, int]]:
    """Every byte of every act, in both directions, without end; with few tries the same places more thinly.

    The last bytes of a reply come first: there the server has done what it was asked, and nobody knows.
    """
    last: list[tuple[str, Direction, int]] = []
    others: list[tuple[str, Direction, int]] = []
    for name in ["append"] if defect else ACTS:
        for number in range(3):  # some statements are prepared by the driver after a while, and shorter then
            act, thread = _prepared(ledger, name, f"measured {name} {number}")
            proxy.arm("reply", 1 << 60, "cut")
            act.do(ledger, thread)
            proxy.disarm()
        reply, request = proxy.carried["reply"], proxy.carried["request"]
        least = 0 if name == "append" else reply - _LAST  # an append is one statement: all of its reply is such bytes
        last += [(name, "reply", byte) for byte in range(least, reply)]
        others += [(name, "reply", byte) for byte in range(least)]
        others += [] if defect else [(name, "request", byte) for byte in range(0, request, 1 + request // _REQUEST)]
    rng = random.Random(13)
    rng.shuffle(last)
    rng.shuffle(others)
    while True:
        few = len(last) if tries >= len(last) + len(others) else tries // 2
        yield from last[:few]
        yield from others


def _under_a_new_id(ledger: Ledger, thread: str) -> None:
    for _ in range(100):
        try:
            ledger.append(thread, said("third"))
            return
        except StorageError:
            continue


def _wrong(ledger: Ledger, thread: str, act: Act) -> list[str]:
    """What is not as it was asked for: on the path, in the whole tree, and among the runs."""
    try:
        transcript: list[Message] = ledger.transcript(thread)
        ids = [node.id for node in ledger.tree(thread)]
        runs = [str(run.status) for run in ledger.runs(thread)]
    except HansardError as error:
        return [str(error)]
    found = []
    if words(transcript) != act.says:
        found.append(f"it says {[text[:20] for text in words(transcript)]}")
    expected = len(set(act.says) | {"first", "second"}) + (1 if act.runs and "answer" not in act.says else 0)
    if len(ids) != len(set(ids)) or len(ids) > expected:
        found.append(f"messages that nobody asked for: {ids}")
    if runs != act.runs:
        found.append(f"runs are {runs}, not {act.runs}")
    return found
