"""A conversation as a value: messages in a tree, the runs and agents that made them.

Native JSON is these structs in camelCase; `native` reads and writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr, replace

from hansard.model.parts import AnyPart, Node, TextPart, ToolCallPart, ToolResultPart, Unknown
from hansard.model.request import ModelRef as ModelRef
from hansard.model.request import Settings, Tool

ROLES = ("system", "developer", "user", "assistant", "tool", "event")


class Usage(Node, frozen=True, kw_only=True):
    """Tokens. `input_tokens` counts all input, tokens read from or written to a cache included.

    >>> Usage(input_tokens=120, cache_read_tokens=100, output_tokens=7).total
    127
    """

    input_tokens: int | UnsetType = UNSET
    output_tokens: int | UnsetType = UNSET
    total_tokens: int | UnsetType = UNSET
    reasoning_tokens: int | UnsetType = UNSET
    cache_read_tokens: int | UnsetType = UNSET
    cache_write_tokens: int | UnsetType = UNSET

    @property
    def total(self) -> int:
        """`total_tokens` if the source said it, else input and output together; what is absent counts as 0.

        >>> Usage(input_tokens=3, output_tokens=4).total
        7
        """
        if isinstance(self.total_tokens, int):
            return self.total_tokens
        return (self.input_tokens or 0) + (self.output_tokens or 0)


class Context(Node, frozen=True, kw_only=True):
    """Environment of a coding agent when the message was made."""

    cwd: str | UnsetType = UNSET
    git_branch: str | UnsetType = UNSET
    platform: str | UnsetType = UNSET
    user_type: str | UnsetType = UNSET


class Thinking(Node, frozen=True, kw_only=True):
    """Requested thinking level."""

    level: str | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET
    triggers: list[str] | UnsetType = UNSET


class Todo(Node, frozen=True, kw_only=True):
    """One entry of the todo list at the time of a message."""

    content: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    active_form: str | UnsetType = UNSET


class Message(Node, frozen=True, kw_only=True):
    """One message: who said it (`role`) and what (`parts`).

    `parent_message_id`: absent means the previous message in the list, None means a root. `name` is the sender's, where
    a role has several.

    >>> asked = Message.user("Which tea?")
    >>> asked
    Message(role='user', parts=[TextPart(text='Which tea?')])
    >>> asked.text
    'Which tea?'
    """

    role: str
    parts: list[AnyPart]
    id: str | UnsetType = UNSET
    parent_message_id: str | UnsetType | None = UNSET
    created_at: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    run_id: str | UnsetType = UNSET
    model: ModelRef | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    finish_reason: str | UnsetType = UNSET
    context: Context | UnsetType = UNSET
    thinking: Thinking | UnsetType = UNSET
    todos: list[Todo] | UnsetType = UNSET
    sidechain: bool | UnsetType = UNSET
    state: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET

    @property
    def text(self) -> str:
        """The text of the message, without reasoning, calls and files."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def calls(self) -> list[ToolCallPart]:
        """The tool calls of the message."""
        return [part for part in self.parts if isinstance(part, ToolCallPart)]

    @property
    def results(self) -> list[ToolResultPart]:
        """The tool results of the message."""
        return [part for part in self.parts if isinstance(part, ToolResultPart)]

    @classmethod
    def user(cls, *content: str | AnyPart, id: str | None = None, created_at: str | None = None) -> Message:
        """A user message of texts and parts.

        >>> from hansard.model import FilePart
        >>> Message.user("What is this?", FilePart(url="https://example.com/cat.png")).parts[1].url
        'https://example.com/cat.png'
        """
        return _message("user", content, id, created_at)

    @classmethod
    def assistant(
        cls,
        *content: str | AnyPart,
        id: str | None = None,
        created_at: str | None = None,
        agent_id: str | None = None,
        model: ModelRef | str | None = None,
        usage: Usage | None = None,
    ) -> Message:
        """An assistant message of texts and parts.

        >>> Message.assistant("Assam.", model="claude-opus-4-6").model.name
        'claude-opus-4-6'
        """
        return replace(
            _message("assistant", content, id, created_at),
            agent_id=UNSET if agent_id is None else agent_id,
            model=ModelRef(name=model) if isinstance(model, str) else UNSET if model is None else model,
            usage=UNSET if usage is None else usage,
        )

    @classmethod
    def system(cls, *content: str | AnyPart, id: str | None = None, created_at: str | None = None) -> Message:
        """A system message."""
        return _message("system", content, id, created_at)

    @classmethod
    def tool(cls, *results: ToolResultPart, id: str | None = None, created_at: str | None = None) -> Message:
        """A message of tool results.

        >>> Message.tool(ToolResultPart(tool_call_id="c1", output={"celsius": 21})).results[0].call_id
        'c1'
        """
        return _message("tool", results, id, created_at)


def _message(role: str, content: Sequence[str | AnyPart], id: str | None, created_at: str | None) -> Message:
    return Message(
        role=role,
        parts=[TextPart(text=part) if isinstance(part, str) else part for part in content],
        id=UNSET if id is None else id,
        created_at=UNSET if created_at is None else created_at,
    )


class Agent(Node, frozen=True, kw_only=True):
    """An entry of the thread's agent registry."""

    id: str
    name: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    provider: str | UnsetType = UNSET
    config_ref: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET


class PendingCall(Node, frozen=True, kw_only=True):
    """A tool call waiting for approval or for an external result (`kind`: approval, external)."""

    tool_call_id: str
    kind: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Run(Node, frozen=True, kw_only=True):
    """A single agent run; its messages carry its `run_id`. `tools` and `settings` are those of its requests.

    >>> Run(id="r1", agent_id="waiter", status="committed").status
    'committed'
    """

    id: str
    thread_id: str | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    fork_from_message_id: str | UnsetType | None = UNSET
    status: str | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    completed_at: str | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    error: Any = UNSET
    pending: list[PendingCall] | UnsetType = UNSET
    tools: list[Tool] | UnsetType = UNSET
    settings: Settings | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Snapshot(Node, frozen=True, kw_only=True):
    """State of the user's files at a message."""

    message_id: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET
    update: bool | UnsetType = UNSET
    files: dict[str, Any] | UnsetType = UNSET
    backups: dict[str, Any] | UnsetType = UNSET


class Conversation(Node, frozen=True, kw_only=True):
    """A whole thread: its messages, and the agents and runs that made them.

    `tools` and `settings` are those of the request that asks for the next answer.

    >>> Conversation(messages=[Message.user("Which tea?"), Message.assistant("Assam.")]).messages[-1].text
    'Assam.'
    """

    messages: list[Message]
    tools: list[Tool] | UnsetType = UNSET
    settings: Settings | UnsetType = UNSET
    id: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    resource_id: str | UnsetType = UNSET
    agents: dict[str, Agent] | UnsetType = UNSET
    runs: list[Run] | UnsetType = UNSET
    snapshots: list[Snapshot] | UnsetType = UNSET
    head: str | UnsetType | None = UNSET
    parent_thread_id: str | UnsetType = UNSET
    forked_from_message_id: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET

    if TYPE_CHECKING:  # the messages of a ledger are accepted too

        def __init__(
            self,
            *,
            messages: Sequence[Message],
            tools: list[Tool] | UnsetType = UNSET,
            settings: Settings | UnsetType = UNSET,
            id: str | UnsetType = UNSET,
            title: str | UnsetType = UNSET,
            resource_id: str | UnsetType = UNSET,
            agents: Mapping[str, Agent] | UnsetType = UNSET,
            runs: Sequence[Run] | UnsetType = UNSET,
            snapshots: list[Snapshot] | UnsetType = UNSET,
            head: str | UnsetType | None = UNSET,
            parent_thread_id: str | UnsetType = UNSET,
            forked_from_message_id: str | UnsetType = UNSET,
            created_at: str | UnsetType = UNSET,
            updated_at: str | UnsetType = UNSET,
            metadata: dict[str, Any] | UnsetType = UNSET,
            extra: dict[str, Any] | UnsetType = UNSET,
            unknown: Unknown | UnsetType = UNSET,
        ) -> None: ...

    def __post_init__(self) -> None:
        for message in self.messages:
            if type(message) is not Message:
                from hansard.model.stored import plain

                force_setattr(self, "messages", [plain(one) for one in self.messages])
                break
        if self.agents is not UNSET and any(type(agent) is not Agent for agent in self.agents.values()):
            from hansard.model.stored import plain

            force_setattr(self, "agents", {key: plain(agent) for key, agent in self.agents.items()})
        if self.runs is not UNSET and any(type(run) is not Run for run in self.runs):
            from hansard.model.stored import plain

            force_setattr(self, "runs", [plain(run) for run in self.runs])
