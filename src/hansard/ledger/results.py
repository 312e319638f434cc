"""The values that `Ledger` returns. The server sends them as JSON under the same names, in camelCase."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from hansard.model.stored import StoredAgent
from hansard.streams.deltas import Delta

T = TypeVar("T")


class Value(Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of all results."""


class TokenSum(Value, frozen=True, kw_only=True):
    """Sums of tokens. `input_tokens` are those outside the cache; `output_tokens` include reasoning.

    >>> TokenSum(input_tokens=3, cache_read_tokens=90, output_tokens=7).total
    100
    """

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total(self) -> int:
        """All input, cached or not, and all output.

        >>> TokenSum(input_tokens=3, cache_read_tokens=90, output_tokens=7).total
        100
        """
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens


class StoredThread(Value, frozen=True, kw_only=True):
    """The current state of a thread: `head` is the id of the active branch's last message, `version` counts changes.

    `title` is the one that was given, or the first thing a person asked. `project` is the working directory of its
    first message that has one, `agent` the first agent, `models` are those that answered, in the order they came.

    >>> import hansard
    >>> with hansard.open(":memory:") as ledger:
    ...     thread = ledger.create_thread()
    ...     asked = ledger.append(thread.id, hansard.Message.user("Which tea?"))
    ...     answer = ledger.append(thread.id, hansard.Message.assistant("Assam.", model="claude-opus-4-6"))
    ...     found = ledger.thread(thread.id)
    >>> (found.title, found.models, found.messages, found.usage.total)
    ('Which tea?', ['claude-opus-4-6'], 2, 0)
    """

    id: str
    version: int
    messages: int
    created_at: str
    updated_at: str
    head: str | None = None
    title: str | None = None
    resource_id: str | None = None
    parent_thread_id: str | None = None
    forked_from_message_id: str | None = None
    agents: dict[str, StoredAgent] = {}
    metadata: dict[str, Any] = {}
    project: str | None = None
    agent: str | None = None
    models: list[str] = []
    usage: TokenSum = TokenSum()


Thread = StoredThread


class Page(Value, Generic[T], frozen=True, kw_only=True):
    """A page of a list; `next` is the cursor of the following page, None at the end.

    >>> import hansard
    >>> with hansard.open(":memory:") as ledger:
    ...     threads = [ledger.create_thread(f"t{i}") for i in range(3)]
    ...     page = ledger.threads(limit=2)
    ...     rest = ledger.threads(limit=2, after=page.next)
    >>> len(page.items), len(rest.items), rest.next
    (2, 1, None)
    """

    items: list[T]
    next: str | None = None


class Facet(Value, frozen=True, kw_only=True):
    """A property of threads: a `kind` (format, agent, model or project), a value, and how many threads have it."""

    kind: str
    value: str
    threads: int


class Branch(Value, frozen=True, kw_only=True):
    """A branch of a thread: its last message, where it forked, and the status of its run."""

    head: str | None
    forked_from: str | None
    depth: int
    messages: int
    active: bool
    status: str
    run_id: str | None = None


class TreeNode(Value, frozen=True, kw_only=True):
    """A message in the tree of a thread."""

    id: str
    parent_id: str | None
    depth: int
    role: str
    active: bool
    run_id: str | None = None
    status: str | None = None
    agent_id: str | None = None


class SubAgent(Value, frozen=True, kw_only=True):
    """A sub-agent inside a thread: the call that started it, its first and last message, what it used and how long."""

    id: str
    parent_id: str | None
    tool_call_id: str | None
    agent_id: str | None
    last: str
    messages: int
    usage: TokenSum = TokenSum()
    seconds: float | None = None


class Pending(Value, frozen=True, kw_only=True):
    """A tool call that waits for an approval or an external result."""

    thread_id: str
    run_id: str
    tool_call_id: str
    kind: str
    metadata: dict[str, Any] = {}


class Synced(Value, frozen=True, kw_only=True):
    """The result of `sync`: the numbers of known and added messages, and where a new branch forked.

    `last` is the last message of the given conversation, which need not be the head.
    """

    known: int
    added: int
    head: str | None
    last: str | None = None
    forked_from: str | None = None
    forked: bool = False


class Hit(Value, frozen=True, kw_only=True):
    """A search hit; `snippet` has the matches between \\x02 and \\x03.

    `rank` is 0 to 1, the weight of the words in the message; `active`: on the active branch; `status`: of its run.

    >>> import hansard
    >>> with hansard.open(":memory:") as ledger:
    ...     thread = ledger.create_thread()
    ...     asked = ledger.append(thread.id, hansard.Message.user("Which tea?"))
    ...     [hit.message_id == asked.id for hit in ledger.search("tea").items]
    [True]
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


class Projected(Value, frozen=True, kw_only=True):
    """What `project` changed: threads, rows added and removed; `escaped` rows hold what jsonb cannot."""

    threads: int = 0
    messages: int = 0
    removed: int = 0
    escaped: int = 0


class Pruned(Value, frozen=True, kw_only=True):
    """What `prune` deleted: threads that lost messages, messages, runs (but their row), journal chunks, blobs."""

    threads: int = 0
    messages: int = 0
    runs: int = 0
    chunks: int = 0
    blobs: int = 0


class Tombstone(Value, frozen=True, kw_only=True):
    """What is left of an erased thread. `wiped` is false while another reader keeps old bytes in the WAL."""

    id: str
    created_at: str
    updated_at: str
    forgotten_at: str
    messages: int
    head_hash: str
    wiped: bool = True


class Problem(Value, frozen=True, kw_only=True):
    """A difference between the ledger and what was written: the row and what is wrong with it."""

    what: str
    where: str
    thread_id: str | None = None
    message_id: str | None = None
    n: int | None = None


class Stats(Value, frozen=True, kw_only=True):
    """Counts and sizes. `payload_bytes` is the size of message bodies as JSON, `bytes_on_disk` includes indexes.

    `usage` counts each answer once, whichever threads have it, as the rows of the table `usage` do.
    """

    threads: int
    forgotten: int
    messages: int
    runs: int
    blobs: int
    payload_bytes: int
    stored_bytes: int
    bytes_on_disk: int
    schema: int
    usage: TokenSum


class Source(Value, frozen=True, kw_only=True):
    """A file that a thread was imported from; `told` holds the importer's notes about it."""

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


class NumberedDelta(NamedTuple):
    """A delta and its number in the run; pass `seq` as `after` to continue from it."""

    seq: int
    delta: Delta


class Journaled(NamedTuple):
    """What the journal of a run has: its deltas so far, and whether the run has ended."""

    deltas: list[NumberedDelta]
    ended: bool
