"""Deeds on a ledger that say what they are about to do and what was acknowledged, and a judge who holds it to that.

`Writer` does a random mixture of everything that writes and tells of each deed twice: before, with what it will bring
about, and after, when the ledger has acknowledged it. `broken` opens no eyes to how the ledger works: what was
acknowledged must be there word for word, and what was begun and not acknowledged as a whole or not at all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from hansard import Conversation, Ledger
from hansard.errors import NotFound
from hansard.ledger.ids import clock
from hansard.ledger.live import interrupt
from hansard.model import TextPart
from hansard.streams.deltas import PartDelta, PartStart
from tests.ledger.said import said, words

Line = dict[str, Any]
Tell = Callable[[Line], None]
SIZES = (5, 60, 700, 9_000)


class Writer:
    """Does one deed after the other on threads of its own; `name` keeps its ids apart from others'."""

    def __init__(self, ledger: Ledger, tell: Tell, name: str, seed: int = 0) -> None:
        self.ledger, self._tell, self.name = ledger, tell, name
        self._rng = random.Random(seed)
        self._number = 0
        self.threads: list[str] = []
        self._heads: dict[str, str | None] = {}

    def go(self, deeds: int) -> None:
        for _ in range(deeds):
            self.deed()

    def deed(self) -> None:
        """Any one of them."""
        if not self.threads:
            return self.create()
        chosen = self._rng.choices(
            (self.append, self.stream, self.fork, self.sync, self.take_in, self.create), _WEIGHTS
        )
        return chosen[0]()

    def _told(self, action: Callable[[], Any], **line: Any) -> Any:
        self._number += 1
        line["n"] = self._number
        self._tell({"try": line})
        found = action()
        if "head" in line:
            self._heads[line["thread"]] = line["head"]
        self._tell({"ack": line})
        return found

    def _new(self, count: int = 1) -> dict[str, str]:
        """Ids and what is said under them."""
        found = {}
        for _ in range(count):
            self._number += 1
            key = f"{self.name}-{self._number}"
            found[key] = f"{key} " + "x" * self._rng.choice(SIZES)
        return found

    def _thread(self) -> str:
        return self._rng.choice(self.threads)

    def create(self) -> None:
        self._number += 1
        thread = f"{self.name}-t{self._number}"
        self._told(lambda: self.ledger.create_thread(thread), deed="create", thread=thread, head=None)
        self.threads.append(thread)

    def append(self) -> None:
        thread, new = self._thread(), self._new(self._rng.choice((1, 1, 1, 4)))
        messages = [said(text, id=key) for key, text in new.items()]
        self._told(
            lambda: self.ledger.append(thread, messages), deed="append", thread=thread, said=new, head=list(new)[-1]
        )

    def fork(self) -> None:
        thread = self._thread()
        path = [message.id for message in self.ledger.transcript(thread)]
        head = self._rng.choice([None, *path[-6:]])
        self._told(lambda: self.ledger.fork(thread, head), deed="fork", thread=thread, head=head)
        self.append()

    def stream(self) -> None:
        """A run that streams, stages and commits, or is left to die."""
        thread, new = self._thread(), self._new(2)
        (self._number, run_id) = (self._number + 1, f"{self.name}-r{self._number}")
        begin = lambda: self.ledger.begin_run(thread, id=run_id)  # noqa: E731
        run = self._told(begin, deed="begin", thread=thread, run=run_id)
        run.write([PartStart(key="0", part=TextPart(text=""))])
        for word in range(1, self._rng.randint(2, 4)):

            def write(word: int = word) -> None:
                done = run.write([PartDelta(key="0", text=f"{word} ")])
                run.hurry()
                done.result()

            self._told(write, deed="words", thread=thread, run=run_id, words=word)
        if self._rng.random() < 0.15:
            run.release()
            return
        messages = [said(text, "assistant", id=key) for key, text in new.items()]
        self._told(lambda: run.stage(messages), deed="stage", thread=thread, run=run_id, staged=new)
        self._told(run.commit, deed="commit", thread=thread, run=run_id, said=new, head=list(new)[-1])

    def sync(self) -> None:
        thread, new = self._thread(), self._new(3)
        known = self.ledger.transcript(thread)
        whole = Conversation(messages=[*known, *(said(text, id=key) for key, text in new.items())])
        self._told(lambda: self.ledger.sync(thread, whole), deed="sync", thread=thread, said=new, head=list(new)[-1])

    def take_in(self) -> None:
        new = self._new(5)
        thread = f"{self.name}-i{self._number}"
        whole = Conversation(id=thread, messages=[said(text, id=key) for key, text in new.items()])
        take = lambda: self.ledger.import_conversation(whole)  # noqa: E731
        self._told(take, deed="import", thread=thread, said=new, head=list(new)[-1])
        self.threads.append(thread)


_WEIGHTS = (6, 3, 2, 2, 1, 1)


def broken(ledger: Ledger, lines: Iterable[Line], *, verify: bool = True) -> list[str]:
    """Every promise that a ledger does not keep to the one who was told these lines."""
    acked: list[Line] = []
    tried: dict[int, Line] = {}
    for line in lines:
        if "ack" in line:
            acked.append(line["ack"])
            tried.pop(line["ack"]["n"], None)
        else:
            tried[line["try"]["n"]] = line["try"]
    interrupt.recover(ledger._driver, clock() + 3_600_000)  # whoever was writing is dead
    found = _Judge(ledger, acked, list(tried.values())).judge()
    return found + ([f"verify: {problem}" for problem in ledger.verify()] if verify else [])


class _Judge:
    def __init__(self, ledger: Ledger, acked: list[Line], under_way: list[Line]) -> None:
        self.ledger, self.acked, self.under_way = ledger, acked, under_way
        self.found: list[str] = []
        self.there: dict[str, set[str] | None] = {}

    def judge(self) -> list[str]:
        heads: dict[str, Line] = {}
        ended: set[str] = set()
        for line in self.acked:
            self._line(line)
            if "head" in line:
                heads[line["thread"]] = line
            if line["deed"] == "commit":
                ended.add(line["run"])
        for line in self.acked:
            if line["deed"] == "words" and line["run"] not in ended:
                self._partial(line)
        for line in self.under_way:
            self._whole_or_absent(line)
        for thread, line in heads.items():
            self._head(thread, line)
        return self.found

    def _ids(self, thread: str) -> set[str] | None:
        if thread not in self.there:
            try:
                self.there[thread] = {node.id for node in self.ledger.tree(thread)}
            except NotFound:
                self.there[thread] = None
        return self.there[thread]

    def _line(self, line: Line) -> None:
        ids = self._ids(line["thread"])
        if ids is None:
            self.found.append(f"lost: thread {line['thread']} after {line['deed']}")
            return
        for key in line.get("said", {}):
            if key not in ids:
                self.found.append(f"lost: {key} after {line['deed']}")
        if line["deed"] == "commit":
            status = self._run(line)
            if status not in ("committed", "superseded"):
                self.found.append(f"lost: commit of {line['run']}, which is {status}")
        elif line["deed"] in ("begin", "stage") and self._run(line) is None:
            self.found.append(f"lost: run {line['run']} after {line['deed']}")
        if line["deed"] == "stage":
            staged = {message.id for message in self.ledger.run_messages(line["thread"], line["run"])}
            if missing := [key for key in line["staged"] if key not in staged]:
                self.found.append(f"lost: {missing} staged in {line['run']}")

    def _run(self, line: Line) -> str | None:
        try:
            return str(self.ledger.run(line["thread"], line["run"]).status)
        except NotFound:
            return None

    def _partial(self, line: Line) -> None:
        try:
            partial = " ".join(words(self.ledger.run_messages(line["thread"], line["run"])))
        except NotFound:
            return self.found.append(f"lost: run {line['run']} with {line['words']} words")
        if f"{line['words']} " not in partial and "x" not in partial:
            self.found.append(f"lost: word {line['words']} of {line['run']}, which has {partial!r}")

    def _whole_or_absent(self, line: Line) -> None:
        ids = self._ids(line["thread"]) or set()
        there = [key in ids for key in line.get("said", {})]
        if line["deed"] == "commit":
            path = {message.id for message in self.ledger.transcript(line["thread"])}
            there = [key in path for key in line["said"]] + [self._run(line) == "committed"]
        if len(set(there)) > 1:
            self.found.append(f"half: {line['deed']} of {line.get('run', line['thread'])}: {there}")

    def _head(self, thread: str, last: Line) -> None:
        try:
            now = self.ledger.thread(thread).head
            said_now = {str(message.id): words([message]) for message in self.ledger.transcript(thread)}
        except NotFound:
            return
        later = [line for line in self.under_way if line["thread"] == thread and line["n"] > last["n"]]
        may = {last["head"], *(line["head"] for line in later if "head" in line)}
        if now not in may:
            self.found.append(f"moved: the head of {thread} is {now}, not {' or '.join(map(str, may))}")
        for line in self.acked:
            for key, text in line.get("said", {}).items() if line["thread"] == thread else ():
                if key in said_now and said_now[key] != [text]:
                    self.found.append(f"changed: what {key} said")
