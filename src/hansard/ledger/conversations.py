"""Whole conversations: merge one into a thread, export a thread as one.

Merging recognises a message by its content and its place: the thread has a message with the same content after the same
content; ids and times may differ. So a history that is sent again, or a file that grew, adds only what is new, content
that differs becomes a branch, and a first import adds everything. Bodies are stored and exported as they came.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.ledger import bodies, threads, tree
from hansard.ledger.backends.driver import Tx, safe, unsafe
from hansard.ledger.hash_chain import last_time, link, other_keys
from hansard.ledger.ids import new_id
from hansard.ledger.messages import Prepared, TreeWriter
from hansard.ledger.results import Synced, Thread, TreeNode
from hansard.ledger.rows import ROOT, Place, ThreadRow, description, find_runs, find_thread, id_at
from hansard.model import native
from hansard.model.conversation import Conversation, Message, Run, Snapshot
from hansard.model.times import iso_time, milliseconds
from hansard.model.tree import active_path, parents

_IMPORTED = "$imported"  # in `extra` of a description: how many messages the thread had after its last import


class Incoming:
    """A conversation prepared for merging, before the transaction."""

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
    def description(self) -> Conversation:
        """The conversation without its messages, as it came: without an id if it had none. Empty lists record that it
        had runs or snapshots."""
        value = self.conversation
        return replace(
            value,
            messages=[],
            runs=UNSET if value.runs is UNSET else [],
            snapshots=UNSET if value.snapshots is UNSET else [],
        )


class _Known:
    """The messages of a thread, by content chain and by id."""

    def __init__(self, tx: Tx, thread: ThreadRow) -> None:
        self.by_said: dict[bytes, list[Place]] = {}
        self.by_id: dict[str, Place] = {}
        self.tips: dict[int, int | None] = {0: None}
        for key, seg, depth, proof, said in tx.all("places", thread=thread.thread):
            place = Place(seg, depth, proof, said)
            self.by_said.setdefault(said, []).append(place)
            self.by_id[key] = place
            self.tips[seg] = max(self.tips.get(seg) or 0, depth)

    def find(self, item: Prepared, said: bytes) -> Place | None:
        """The place of a message with this content chain, the one of the same id first; each is found once."""
        places = self.by_said.get(said)
        if not places:
            return None
        own = self.by_id.get(item.id)
        if own in places:
            places.remove(own)
            return own
        return places.pop(0)

    def free_key(self, item: Prepared, said: bytes) -> str:
        """The id to store a new message under: its own, unless a different message has it; then both are kept."""
        if item.id not in self.by_id:
            return item.id
        return next(key for key in other_keys(item.id, item.proof, said) if key not in self.by_id)


def merge(tx: Tx, incoming: Incoming, now: int) -> Synced:
    """Add what is new of a conversation; the head moves to its end if anything was new."""
    if not threads.exists(tx, incoming.id):
        threads.start(
            tx,
            _counted(incoming.description, len(incoming.items)),
            last_time((item.created_at for item in incoming.items), now),
            incoming.id,
        )
    thread = find_thread(tx, incoming.id, lock=True)
    known = _Known(tx, thread)
    writer = TreeWriter(tx, thread, known.tips)
    runs = _Runs(tx, thread, incoming.conversation)
    places: list[Place] = []
    fresh: set[int] = set()
    for i, item in enumerate(incoming.items):
        parent = incoming.parents[i]
        before = ROOT if parent is None else places[parent]
        said = link(before.said, item.said)[:16]
        found = known.find(item, said)
        if found is None:
            fresh.add(i)
            key = known.free_key(item, said)
            found = known.by_id[key] = writer.add(item, before, key, runs.number(item.message))
        places.append(found)
    imported = thread.messages in (0, _count(description(thread).extra))
    thread = writer.finish()._replace(next_run=runs.next)
    threads.update_description(tx, thread, _counted(incoming.description, thread.messages if imported else None))
    runs.save(tx, thread, places, incoming)
    if isinstance(incoming.conversation.snapshots, list):
        threads.add_snapshots(tx, thread, incoming.conversation.snapshots)
    path = incoming.path
    old = next((k for k, i in enumerate(path) if i in fresh), len(path))
    head = thread.head
    forked = False
    if old < len(path):
        fork = places[path[old - 1]] if old else ROOT
        forked = (fork.seg, fork.depth) != (head.seg, head.depth) and thread.messages > len(fresh)
        thread = thread.at(places[path[-1]])
    if fresh or runs.added:
        thread.save(tx, last_time((incoming.items[i].created_at for i in fresh), now))
    return Synced(
        known=len(incoming.items) - len(fresh),
        added=len(fresh),
        head=unsafe(id_at(tx, thread, thread.head)),
        last=unsafe(id_at(tx, thread, places[path[-1]])) if path else None,
        forked=forked,
        forked_from=unsafe(id_at(tx, thread, fork)) if forked else None,
    )


def import_as_thread(tx: Tx, incoming: Incoming, now: int) -> Thread:
    """Merge a conversation; the thread afterwards."""
    merge(tx, incoming, now)
    return threads.described(tx, find_thread(tx, incoming.id))


class _Runs:
    """The runs of a conversation: their numbers before the messages are written, their rows after."""

    def __init__(self, tx: Tx, thread: ThreadRow, conversation: Conversation) -> None:
        rows = find_runs(tx, thread).values()
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
            if status == "committed":  # of two at one point the first counts; the body keeps its own status
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
                body=bodies.seal(native.encode(run)),
            )


def export(tx: Tx, thread: ThreadRow) -> Conversation:
    """A thread as one conversation: every branch, run and snapshot. An unchanged import comes out as it went in."""
    rows = tx.all("all_messages", thread=thread.thread)
    messages = tree.messages_of(tx, [(row[1], row[5]) for row in rows], verbatim=True)
    nodes = tree.nodes(tx, thread)
    value = description(thread)
    imported = _count(value.extra)
    if imported is not None and imported != thread.messages:
        messages = [
            replace(message, id=node.id) if message.id is UNSET else message
            for message, node in zip(messages, nodes, strict=True)
        ]
        told = milliseconds(value.updated_at)
        if told is not None and told < thread.updated_at:
            value = replace(value, updated_at=iso_time(thread.updated_at))
    messages = _placed(messages, nodes, verbatim=imported == thread.messages)
    value = _counted(value, None)
    runs = [run.value for run in find_runs(tx, thread).values()]
    snapshots = [
        native.decode_own(Snapshot, bodies.unseal(body)) for _, _, body in tx.all("snapshots", thread=thread.thread)
    ]
    value = replace(
        value,
        messages=messages,
        runs=runs or value.runs,
        snapshots=snapshots or value.snapshots,
    )
    head = unsafe(id_at(tx, thread, thread.head))
    path = active_path(value)
    moved = (nodes[path[-1]].id if path else None) != head
    if moved:
        value = _headed(value, head, [node.id for node in nodes])
    return _asked(value) if moved or imported != thread.messages else value


def _asked(value: Conversation) -> Conversation:
    """The conversation with the tools and settings of the run at its head, if that has some."""
    of = {run.id: run for run in value.runs or ()}
    for i in reversed(active_path(value)):
        run = of.get(key) if isinstance(key := value.messages[i].run_id, str) else None
        if run is not None and (run.tools is not UNSET or run.settings is not UNSET):
            return replace(value, tools=run.tools, settings=run.settings)
    return value


def _placed(messages: list[Message], nodes: list[TreeNode], *, verbatim: bool) -> list[Message]:
    """The messages with the ids of their parents; those of an import only where the parent is not the message before
    it in the list, and those that have no ids to be named by."""
    verbatim = verbatim or any(message.id != node.id for message, node in zip(messages, nodes, strict=True))
    before: str | None = None
    out: list[Message] = []
    for message, node in zip(messages, nodes, strict=True):
        if message.parent_message_id is UNSET and not (verbatim and node.parent_id == before):
            message = replace(message, parent_message_id=node.parent_id)
        out.append(message)
        before = node.id
    return out


def _counted(description: Conversation, count: int | None) -> Conversation:
    """The description with the number of messages that the thread has after an import, or without it."""
    given: dict[str, Any] = {} if description.extra is UNSET else description.extra
    rest = {key: value for key, value in given.items() if key != _IMPORTED}
    if count is not None:
        return replace(description, extra={**rest, _IMPORTED: count})
    return replace(description, extra=rest or UNSET) if _IMPORTED in given else description


def _count(extra: Any) -> Any:
    return None if extra is UNSET else extra.get(_IMPORTED)


def _headed(value: Conversation, head: str | None, keys: list[str]) -> Conversation:
    """The conversation with its head, and with ids for messages that had none, so that the head can be named."""
    messages = [
        message if message.id is not UNSET else replace(message, id=key)
        for message, key in zip(value.messages, keys, strict=True)
    ]
    return replace(value, messages=messages, head=head)
