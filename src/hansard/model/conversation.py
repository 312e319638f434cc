"""A conversation as a value: messages in a tree, the runs and agents that made them.

Native JSON is these structs in camelCase; `native` reads and writes it.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.model.parts import AnyPart, Node

ROLES = ("system", "developer", "user", "assistant", "tool", "event")


class ModelRef(Node, frozen=True, kw_only=True):
    """The model that answered: provider, model name, and the provider's id of the response."""

    provider: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    response_id: str | UnsetType = UNSET


class Usage(Node, frozen=True, kw_only=True):
    """Tokens. `input_tokens` counts all input, tokens read from or written to a cache included."""

    input_tokens: int | UnsetType = UNSET
    output_tokens: int | UnsetType = UNSET
    total_tokens: int | UnsetType = UNSET
    reasoning_tokens: int | UnsetType = UNSET
    cache_read_tokens: int | UnsetType = UNSET
    cache_write_tokens: int | UnsetType = UNSET


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
    """One message. `parent_message_id`: absent means the previous message in the list, None means a root.

    `name` is the sender's, where a role has several.
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
    """A single agent run; its messages carry its `run_id`."""

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
    metadata: dict[str, Any] | UnsetType = UNSET


class Snapshot(Node, frozen=True, kw_only=True):
    """State of the user's files at a message."""

    message_id: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET
    update: bool | UnsetType = UNSET
    files: dict[str, Any] | UnsetType = UNSET
    backups: dict[str, Any] | UnsetType = UNSET


class Conversation(Node, frozen=True, kw_only=True):
    """A whole thread."""

    messages: list[Message]
    id: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    resource_id: str | UnsetType = UNSET
    agents: dict[str, Agent] | UnsetType = UNSET
    runs: list[Run] | UnsetType = UNSET
    snapshots: list[Snapshot] | UnsetType = UNSET
    head: str | UnsetType | None = UNSET
    parent_thread_id: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
