"""What the ledger answers with."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec import Struct

from hansard.model.conversation import Agent, Usage

T = TypeVar("T")


class Value(Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of all of them."""


class Thread(Value, frozen=True, kw_only=True):
    """A thread as it stands: `head` is the id of the last message on its path, `version` grows with every change."""

    id: str
    version: int
    messages: int
    created_at: str
    updated_at: str
    head: str | None = None
    title: str | None = None
    resource_id: str | None = None
    parent_thread_id: str | None = None
    agents: dict[str, Agent] = {}
    metadata: dict[str, Any] = {}
    usage: Usage = Usage()


class Page(Value, Generic[T], frozen=True, kw_only=True):
    """A piece of a list; `next` goes on behind it and is None at the end."""

    items: list[T]
    next: str | None = None


class Fact(Value, frozen=True, kw_only=True):
    """Something that is so of some threads: a `kind` (format, agent, model or project), its value, how many threads."""

    kind: str
    value: str
    threads: int


class Branch(Value, frozen=True, kw_only=True):
    """A way through the tree: its last message, where it left the others, and what became of it."""

    head: str | None
    forked_from: str | None
    depth: int
    messages: int
    active: bool
    status: str
    run_id: str | None = None


class TreeNode(Value, frozen=True, kw_only=True):
    """A message's place in the tree."""

    id: str
    parent_id: str | None
    depth: int
    role: str
    active: bool
    run_id: str | None = None
    status: str | None = None
    agent_id: str | None = None


class Pending(Value, frozen=True, kw_only=True):
    """A tool call that waits for somebody."""

    thread_id: str
    run_id: str
    tool_call_id: str
    kind: str
    metadata: dict[str, Any] = {}


class Synced(Value, frozen=True, kw_only=True):
    """What `sync` found: so many messages were known, so many are new; where they left the path."""

    known: int
    added: int
    head: str | None
    forked_from: str | None = None
    forked: bool = False


class Hit(Value, frozen=True, kw_only=True):
    """A message that was found; `snippet` has the words between \\x02 and \\x03.

    `rank` is 0 to 1, how much the words weigh in it; `active` whether it is on the thread's path; `status` its run's.
    """

    thread_id: str
    message_id: str
    role: str
    snippet: str
    title: str | None = None
    agent_id: str | None = None
    created_at: str | None = None
    rank: float = 0.0
    active: bool = True
    run_id: str | None = None
    status: str | None = None


class Pruned(Value, frozen=True, kw_only=True):
    """What was deleted: messages of how many threads, runs that have only their row left, pieces of journals, blobs."""

    threads: int = 0
    messages: int = 0
    runs: int = 0
    chunks: int = 0
    blobs: int = 0


class Tombstone(Value, frozen=True, kw_only=True):
    """What is left of a forgotten thread. `wiped` is false while another reader keeps old bytes in the file's log."""

    id: str
    created_at: str
    updated_at: str
    forgotten_at: str
    messages: int
    head_hash: str
    wiped: bool = True


class Problem(Value, frozen=True, kw_only=True):
    """Something in the ledger that is not as it was written: which row, what is wrong."""

    what: str
    where: str
    thread_id: str | None = None
    message_id: str | None = None
    n: int | None = None


class Stats(Value, frozen=True, kw_only=True):
    """How much there is. `payload_bytes` is what messages say, `bytes_on_disk` what all takes, indexes included."""

    threads: int
    forgotten: int
    messages: int
    runs: int
    blobs: int
    payload_bytes: int
    stored_bytes: int
    bytes_on_disk: int
    schema: int
    usage: Usage


class Source(Value, frozen=True, kw_only=True):
    """A file that a thread was imported from; `told` is what was noticed in it."""

    number: int
    uri: str
    format: str
    thread_id: str
    main: bool
    size: int
    mtime: int
    hash: str
    version: int
    told: dict[str, Any] = {}
