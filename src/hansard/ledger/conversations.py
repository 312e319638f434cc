"""A whole conversation into a thread: what is known is recognised, what is new is added, what differs is a branch.

A message is known if the thread has, behind the same words, a message that says the same; ids and times may differ.
So a history that is sent again, or a file that grew, adds only what is new, and a first import adds everything.
Bodies are kept as they came.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.ledger import bodies, threads, tree
from hansard.ledger.backends.driver import Tx, safe, unsafe
from hansard.ledger.hash_chain import Prepared, last_said, link, other_keys
from hansard.ledger.hash_chain import proof as own_proof
from hansard.ledger.ids import new_id
from hansard.ledger.messages import add_blobs, add_usage, message_row
from hansard.ledger.results import Synced
from hansard.ledger.rows import ROOT, Place, RunRow, ThreadRow, find_thread, id_at
from hansard.model import native
from hansard.model.conversation import Conversation, Message, Run
from hansard.model.tree import active_path, parents

_BATCH = 500


class Incoming:
    """A conversation made ready outside the transaction."""

    def __init__(self, conversation: Conversation, thread_id: str) -> None:
        self.id = thread_id
        self.conversation = conversation
        self.parents = parents(conversation.messages)
        self.path = active_path(conversation)
        self.items: list[Prepared] = []
        taken: set[str] = set()
        for message in conversation.messages:
            key = message.id if isinstance(message.id, str) and message.id not in taken else new_id()
            taken.add(key)
            self.items.append(Prepared(message, key))

    @property
    def described(self) -> Conversation:
        """What the thread is to say of itself, as it came: one without an id stays without. Whether it had runs and
        snapshots stays visible as an empty list."""
        value = self.conversation
        return replace(
            value,
            messages=[],
            runs=UNSET if value.runs is UNSET else [],
            snapshots=UNSET if value.snapshots is UNSET else [],
        )


class _Known:
    """What the thread says already, by what was said and by id."""

    def __init__(self, tx: Tx, thread: ThreadRow) -> None:
        self.by_said: dict[bytes, list[Place]] = {}
        self.by_id: dict[str, Place] = {}
        self.tips: dict[int, int] = {}
        for key, seg, depth, proof, said in tx.all("places", thread=thread.thread):
            place = Place(seg, depth, proof, said)
            self.by_said.setdefault(said, []).append(place)
            self.by_id[key] = place
            self.tips[seg] = max(self.tips.get(seg, 0), depth)

    def find(self, item: Prepared, said: bytes) -> Place | None:
        """The message that says this here, the one of the same id first; each is found once."""
        places = self.by_said.get(said)
        if not places:
            return None
        own = self.by_id.get(item.id)
        if own in places:
            places.remove(own)
            return own
        return places.pop(0)


class _Merging:
    def __init__(self, tx: Tx, thread: ThreadRow) -> None:
        self.tx, self.thread = tx, thread
        self.known = _Known(tx, thread)
        self.rows: list[dict[str, Any]] = []
        self.fed: dict[int, list[int]] = {}
        self.new: list[Message] = []

    def add(self, item: Prepared, parent: Place, run: int | None) -> Place:
        """A new message behind a place."""
        seg, depth = self._segment(parent), parent.depth + 1
        proof, said = item.behind(parent)
        key = item.id
        if key in self.known.by_id:  # the same id says something else here: both are kept
            key = next(other for other in other_keys(key, item.proof, said) if other not in self.known.by_id)
            proof = link(parent.hash, own_proof(key, item.body))
        place = Place(seg, depth, proof, said)
        self.known.by_id[key] = place
        self.known.tips[seg] = depth
        self.fed.setdefault(seg, [parent.depth, depth])[1] = depth
        self.new.append(item.message)
        self.rows.append(message_row(self.thread, key, item, place, run))
        add_blobs(self.tx, self.thread, item)
        if len(self.rows) >= _BATCH:
            self.flush()
        return place

    def _segment(self, parent: Place) -> int:
        tip = self.known.tips.get(parent.seg)
        if tip is None or tip == parent.depth:
            return parent.seg
        self.thread = tree.open_segment(self.tx, self.thread, parent)
        return self.thread.next_seg - 1

    def flush(self) -> None:
        if self.rows:
            self.tx.many("add_message", self.rows)
            self.rows = []

    def done(self) -> ThreadRow:
        self.flush()
        for seg, (low, high) in self.fed.items():
            self.tx.run("add_feed", thread=self.thread.thread, seg=seg, low=low, high=high)
        usage = add_usage(self.thread.usage, self.new)
        return self.thread._replace(messages=self.thread.messages + len(self.new), usage=usage)


def merge(tx: Tx, incoming: Incoming, now: int) -> Synced:
    """Add what is new of a conversation; the head follows it if anything was new."""
    if not threads.exists(tx, incoming.id):
        threads.start(tx, incoming.described, last_said((item.created_at for item in incoming.items), now), incoming.id)
    thread = find_thread(tx, incoming.id, lock=True)
    threads.retell(tx, thread, incoming.described)
    merging = _Merging(tx, thread)
    runs = _Runs(tx, thread, incoming.conversation)
    places: list[Place] = []
    fresh: set[int] = set()
    for i, item in enumerate(incoming.items):
        parent = incoming.parents[i]
        before = ROOT if parent is None else places[parent]
        said = link(before.said, item.said)[:16]
        found = merging.known.find(item, said)
        if found is None:
            fresh.add(i)
            found = merging.add(item, before, runs.number(item.message))
        places.append(found)
    thread = merging.done()._replace(next_run=runs.next)
    runs.save(tx, thread, places, incoming)
    if isinstance(incoming.conversation.snapshots, list):
        threads.add_snapshots(tx, thread, incoming.conversation.snapshots)
    path = incoming.path
    known = next((k for k, i in enumerate(path) if i in fresh), len(path))
    head = thread.head
    forked = False
    if known < len(path):
        fork = places[path[known - 1]] if known else ROOT
        forked = (fork.seg, fork.depth) != (head.seg, head.depth) and thread.messages > len(fresh)
        thread = thread.at(places[path[-1]])
    if fresh or runs.added:
        thread.save(tx, last_said((incoming.items[i].created_at for i in fresh), now))
    return Synced(
        known=len(incoming.items) - len(fresh),
        added=len(fresh),
        head=unsafe(id_at(tx, thread, thread.head)),
        forked=forked,
        forked_from=unsafe(id_at(tx, thread, fork)) if forked else None,
    )


class _Runs:
    """The runs of a conversation: their numbers before the messages are written, their rows after."""

    def __init__(self, tx: Tx, thread: ThreadRow, conversation: Conversation) -> None:
        rows = [RunRow(*row) for row in tx.all("runs", thread=thread.thread)]
        self._numbers: dict[str, int] = {row.id: row.run for row in rows}
        self._committed = {(row.fork_seg, row.fork_depth) for row in rows if row.status == "committed"}
        self._given: list[tuple[int, str, Run]] = []
        met: dict[str, int] = {}
        self.next = thread.next_run
        for run in conversation.runs if isinstance(conversation.runs, list) else []:
            key = safe(run.id) or ""
            met[key] = met.get(key, 0) + 1
            if met[key] > 1:  # two runs of one id: both are kept
                key = f"{key}~{met[key]}"
            if key not in self._numbers:
                self._numbers[key] = self.next
                self._given.append((self.next, key, run))
                self.next += 1
        self.added = bool(self._given)

    def number(self, message: Message) -> int | None:
        return self._numbers.get(safe(message.run_id) or "") if isinstance(message.run_id, str) else None

    def save(self, tx: Tx, thread: ThreadRow, places: list[Place], incoming: Incoming) -> None:
        if not self._given:
            return
        index = {message.id: i for i, message in enumerate(incoming.conversation.messages) if message.id is not UNSET}
        of: dict[str, list[int]] = {}
        for i, message in enumerate(incoming.conversation.messages):
            if isinstance(message.run_id, str):
                of.setdefault(message.run_id, []).append(i)
        for number, key, run in self._given:
            own = of.get(run.id, [])
            fork = ROOT
            if isinstance(run.fork_from_message_id, str) and run.fork_from_message_id in index:
                fork = places[index[run.fork_from_message_id]]
            elif own and (parent := incoming.parents[own[0]]) is not None:
                fork = places[parent]
            tip = places[own[-1]] if own else fork
            status = run.status if isinstance(run.status, str) else "committed"
            where = (fork.seg, fork.depth)
            if status == "committed":  # of two at one point the first counts; the body keeps what was said
                status = "superseded" if where in self._committed else status
                self._committed.add(where)
            tx.run(
                "add_run",
                thread=thread.thread,
                run=number,
                id=key,
                status=status,
                agent=safe(run.agent_id) if isinstance(run.agent_id, str) else None,
                fork_seg=fork.seg,
                fork_depth=fork.depth,
                base_seg=thread.head_seg,
                base_depth=thread.head_depth,
                seg=tip.seg,
                depth=tip.depth,
                tip_hash=tip.hash,
                tip_said=tip.said,
                lease_until=None,
                body=bodies.sealed(native.encode(run)),
            )
