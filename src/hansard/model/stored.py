"""What a ledger returns: the canonical values, with plain types for those who read them.

The ledger gives every message an id and a time, so these are `str`. In the other fields None stands for absent. `plain`
gives the canonical value back, in which null and absent differ; a `Conversation` does so for its messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from hansard.model.conversation import (
    Agent,
    Context,
    Message,
    ModelRef,
    PendingCall,
    Run,
    Thinking,
    Todo,
    Usage,
)
from hansard.model.parts import Node
from hansard.model.request import Settings, Tool

S = TypeVar("S", bound=type[Node])
_STORED: dict[type[Node], type[Node]] = {}  # the type here of each canonical one
_CANONICAL: dict[type[Node], type[Node]] = {}


def _stored(kind: S) -> S:
    """Read fields with None in place of UNSET; encoding, comparing and `replace` see what is stored."""
    canonical = kind.__mro__[1]
    _CANONICAL[kind], _STORED[canonical] = canonical, kind
    for name, default in zip(reversed(kind.__struct_fields__), reversed(kind.__struct_defaults__), strict=False):
        if default is UNSET and name != "error":  # an error is any value: null is one too
            slot = next(base.__dict__[name] for base in kind.__mro__ if name in base.__dict__)
            setattr(kind, name, property(_none_for_unset(slot.__get__), doc=f"`{name}`; None if absent."))
    kind.__eq__ = _equals  # type: ignore[method-assign]
    kind.__hash__ = None  # type: ignore[assignment]
    return kind


def _none_for_unset(get: Any) -> Any:
    def read(value: Any) -> Any:
        found = get(value)
        return None if found is UNSET else found

    return read


def _equals(self: Any, other: object) -> bool:
    """Compare as canonical values: a stored message equals the message that was given, if id and time are the same."""
    if not isinstance(other, _CANONICAL[type(self)]):
        return False
    return bool(plain(self) == plain(other))


def plain(value: Any) -> Any:
    """The canonical form of a value of this module; of any other the value itself."""
    kind = _CANONICAL.get(type(value))
    return value if kind is None else kind(**{name: plain(item) for name, item in asdict(value).items()})


@_stored
class StoredUsage(Usage, frozen=True, kw_only=True):
    """Token counts; None where the source gave none. `total` is always a number."""

    if TYPE_CHECKING:
        input_tokens: int | None = None  # type: ignore[assignment]
        output_tokens: int | None = None  # type: ignore[assignment]
        total_tokens: int | None = None  # type: ignore[assignment]
        reasoning_tokens: int | None = None  # type: ignore[assignment]
        cache_read_tokens: int | None = None  # type: ignore[assignment]
        cache_write_tokens: int | None = None  # type: ignore[assignment]


@_stored
class StoredModel(ModelRef, frozen=True, kw_only=True):
    """The model that answered: provider, model name, and the provider's id of the response."""

    if TYPE_CHECKING:
        provider: str | None = None  # type: ignore[assignment]
        name: str | None = None  # type: ignore[assignment]
        response_id: str | None = None  # type: ignore[assignment]


@_stored
class StoredContext(Context, frozen=True, kw_only=True):
    """Environment of a coding agent when the message was made."""

    if TYPE_CHECKING:
        cwd: str | None = None  # type: ignore[assignment]
        git_branch: str | None = None  # type: ignore[assignment]
        platform: str | None = None  # type: ignore[assignment]
        user_type: str | None = None  # type: ignore[assignment]


@_stored
class StoredAgent(Agent, frozen=True, kw_only=True):
    """An entry of the thread's agent registry."""

    if TYPE_CHECKING:
        name: str | None = None  # type: ignore[assignment]
        model: str | None = None  # type: ignore[assignment]
        provider: str | None = None  # type: ignore[assignment]
        config_ref: str | None = None  # type: ignore[assignment]
        created_at: str | None = None  # type: ignore[assignment]


@_stored
class StoredMessage(Message, frozen=True, kw_only=True):
    """A message of a ledger: `id` and `created_at` are always there, the other fields are None where absent.

    `created_at` of a message that was imported without a time is the time of the import.

    >>> import hansard
    >>> with hansard.open(":memory:") as ledger:
    ...     thread = ledger.create_thread()
    ...     said = ledger.append(thread.id, Message.user("hi"))
    ...     (said.text, said.model, said.created_at[:2], said.plain() == said)
    ('hi', None, '20', True)
    """

    id: str = ""
    created_at: str = ""
    if TYPE_CHECKING:
        parent_message_id: str | None = None
        name: str | None = None  # type: ignore[assignment]
        agent_id: str | None = None  # type: ignore[assignment]
        run_id: str | None = None  # type: ignore[assignment]
        model: StoredModel | None = None  # type: ignore[assignment]
        usage: StoredUsage | None = None  # type: ignore[assignment]
        finish_reason: str | None = None  # type: ignore[assignment]
        context: StoredContext | None = None  # type: ignore[assignment]
        thinking: Thinking | None = None  # type: ignore[assignment]
        todos: list[Todo] | None = None  # type: ignore[assignment]
        sidechain: bool | None = None  # type: ignore[assignment]
        state: str | None = None  # type: ignore[assignment]
        metadata: dict[str, Any] | None = None  # type: ignore[assignment]
    else:
        model: StoredModel | UnsetType = UNSET
        usage: StoredUsage | UnsetType = UNSET
        context: StoredContext | UnsetType = UNSET

    def plain(self) -> Message:
        """The canonical message."""
        message: Message = plain(self)
        return message


@_stored
class StoredRun(Run, frozen=True, kw_only=True):
    """A run of a ledger: `thread_id`, `status` and `started_at` are always there.

    >>> import hansard
    >>> with hansard.open(":memory:") as ledger:
    ...     thread = ledger.create_thread()
    ...     with ledger.begin_run(thread.id) as run:
    ...         staged = run.stage(Message.assistant("Assam."))
    ...     [run.status for run in ledger.runs(thread.id)]
    ['committed']
    """

    thread_id: str = ""
    status: str = ""
    started_at: str = ""
    if TYPE_CHECKING:
        agent_id: str | None = None  # type: ignore[assignment]
        fork_from_message_id: str | None = None
        completed_at: str | None = None  # type: ignore[assignment]
        usage: StoredUsage | None = None  # type: ignore[assignment]
        pending: list[PendingCall] | None = None  # type: ignore[assignment]
        tools: list[Tool] | None = None  # type: ignore[assignment]
        settings: Settings | None = None  # type: ignore[assignment]
        metadata: dict[str, Any] | None = None  # type: ignore[assignment]
    else:
        usage: StoredUsage | UnsetType = UNSET

    def plain(self) -> Run:
        """The canonical run."""
        run: Run = plain(self)
        return run


def plain_messages(messages: Iterable[Message]) -> list[Message]:
    """Messages of a ledger as canonical ones."""
    return [plain(message) for message in messages]


set_parent = Message.__dict__["parent_message_id"].__set__  # of a stored message that was just made, past its property


def stored_message(message: Message) -> StoredMessage:
    """A message that has an id and a time, as the ledger returns it."""
    values = asdict(message)
    for name in ("model", "usage", "context"):
        if values[name] is not UNSET:
            values[name] = _STORED[type(values[name])](**asdict(values[name]))
    return StoredMessage(**values)


def stored_run(run: Run) -> StoredRun:
    """A run of a ledger, as the ledger returns it."""
    values = asdict(run)
    if values["usage"] is not UNSET:
        values["usage"] = stored_usage(values["usage"])
    return StoredRun(**values)


def stored_usage(usage: Usage) -> StoredUsage:
    """Token counts, as the ledger returns them."""
    return StoredUsage(**asdict(usage))


def stored_agents(agents: Mapping[str, Agent]) -> dict[str, StoredAgent]:
    """A registry of agents, as the ledger returns it."""
    return {key: StoredAgent(**asdict(agent)) for key, agent in agents.items()}
