"""The running summary of a thread: its token counts, and the project, agent and models of its messages.

It is kept in the column `usage` and brought up to date by every write of messages, so that reading a thread needs none
of its messages. Threads written before 0.2 have only token counts there; `models` is then absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.ledger import bodies
from hansard.ledger.results import TokenSum
from hansard.model import native
from hansard.model.conversation import Message, Usage

_TOKENS = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "reasoning_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
)
MOST_MODELS = 50  # of a thread are listed


class Summary(Usage, frozen=True, kw_only=True):
    """Sums of token counts; the first working directory, the first agent, and the models in the order they came."""

    project: str | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    models: list[str] | UnsetType = UNSET


def decode(data: bytes | None) -> Summary:
    """The stored summary of a thread."""
    return Summary() if data is None else native.decode_own(Summary, bodies.unseal(data))


def add(before: bytes | None, messages: Iterable[Message], *, first: bool) -> bytes | None:
    """The summary with more messages added; `first`: the thread had none before."""
    known = decode(before)
    if first and known.models is UNSET:
        known = replace(known, models=[])
    counted: list[Usage] = []
    changes: dict[str, Any] = {}
    for message in messages:
        if message.usage is not UNSET and message.role == "assistant":
            counted.append(_whole(message.usage))
        if known.models is UNSET:
            continue
        if message.context is not UNSET and known.project is UNSET and "project" not in changes:
            if isinstance(message.context.cwd, str) and message.context.cwd:
                changes["project"] = message.context.cwd
        if known.agent is UNSET and "agent" not in changes and isinstance(message.agent_id, str) and message.agent_id:
            changes["agent"] = message.agent_id
        if message.model is not UNSET and isinstance(message.model.name, str) and message.model.name:
            models = changes.get("models", known.models)
            if message.model.name not in models and len(models) < MOST_MODELS:
                changes["models"] = [*models, message.model.name]
    sums = _counts(total([known, *counted])) if counted else {}
    if not sums and not changes and not (first and before is None):
        return before
    return bodies.seal(native.encode(replace(known, **sums, **changes)))


def changes_nothing(message: Message) -> bool:
    """Whether a message that is not the first of its thread leaves the summary as it is."""
    return message.usage is message.model is message.context is message.agent_id is UNSET


def subtract(before: bytes | None, messages: list[Message]) -> bytes | None:
    """The summary without the token counts of some of the messages."""
    counted = total(
        [_whole(message.usage) for message in messages if message.usage is not UNSET and message.role == "assistant"]
    )
    left = decode(before)
    counts = {
        name: max(0, getattr(left, name) - count)
        for name in _TOKENS
        if type(count := getattr(counted, name)) is int and type(getattr(left, name)) is int
    }
    return bodies.seal(native.encode(replace(left, **counts))) if counts else before


def total(usages: Iterable[Usage]) -> Usage:
    """The sum of token counts; a count that no message reports stays unset."""
    sums: dict[str, Any] = {}
    for usage in usages:
        for name, count in _counts(usage).items():
            sums[name] = sums.get(name, 0) + count
    return Usage(**sums)


def _whole(usage: Usage) -> Usage:
    """The counts with an input that includes what it read from and wrote to a cache, as it should."""
    found = _counts(usage)
    cached = found.get("cache_read_tokens", 0) + found.get("cache_write_tokens", 0)
    return replace(usage, input_tokens=cached) if found.get("input_tokens", 0) < cached else usage


def _counts(usage: Usage) -> dict[str, int]:
    return {name: count for name in _TOKENS if type(count := getattr(usage, name)) is int}


def token_sum(usage: Usage) -> TokenSum:
    """Token counts as all views show them: the input without what was read from or written to a cache."""
    found = _counts(usage)
    read, write = found.get("cache_read_tokens", 0), found.get("cache_write_tokens", 0)
    return TokenSum(
        input_tokens=max(0, found.get("input_tokens", 0) - read - write),
        cache_read_tokens=read,
        cache_write_tokens=write,
        output_tokens=found.get("output_tokens", 0),
        reasoning_tokens=found.get("reasoning_tokens", 0),
    )
