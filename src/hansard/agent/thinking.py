"""How much a run thinks: as the message it answers requests, else as the agent is set up.

    Agent(thinking="high")                                              every run
    Agent(thinking=Thinking(level="high", triggers=["think hard"]))     runs whose prompt contains one of these texts
    Message(..., thinking=Thinking(level="low"))                        the answer to this message
    Message(..., thinking=Thinking(disabled=True))                      no thinking for this message

A chat client requests it with `metadata: {"thinkingMetadata": {"level": "high"}}` on its message. What applies is set
as Pydantic AI's unified `thinking` setting, which each provider's model translates, and is recorded on the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from msgspec import UNSET
from msgspec.structs import replace
from pydantic_ai.settings import ModelSettings, ThinkingEffort

from hansard.errors import HansardError
from hansard.model.conversation import Message, Thinking
from hansard.model.parts import TextPart

LEVELS = ("none", *get_args(ThinkingEffort))
_CLIENT_KEY = "thinkingMetadata"


def default_thinking(given: str | Thinking | None) -> Thinking | None:
    """The `thinking` argument of an agent, checked."""
    if isinstance(given, str):
        given = Thinking(level=given)
    if given is None:
        return None
    _check(given, "thinking")
    return replace(
        given,
        disabled=False if given.disabled is UNSET else given.disabled,
        triggers=[] if given.triggers is UNSET else given.triggers,
    )


def resolve_thinking(default: Thinking | None, messages: Sequence[Message]) -> Thinking | None:
    """The thinking that applies to the answer: that of the last user message, else the agent's default."""
    prompt = next((message for message in reversed(messages) if message.role == "user"), None)
    requested = None if prompt is None else _requested(prompt)
    if requested is not None and (requested.disabled is True or requested.level is not UNSET):
        _check(requested, f"message {prompt.id!r}" if prompt and prompt.id is not UNSET else "the message")
        return requested
    if default is None or default.triggers is UNSET or not default.triggers:
        return default
    text = "" if prompt is None else "\n".join(p.text for p in prompt.parts if isinstance(p, TextPart)).casefold()
    found = [trigger for trigger in default.triggers if trigger.casefold() in text]
    return replace(default, triggers=found) if found else None


def with_thinking(messages: list[Message], applied: Thinking | None) -> list[Message]:
    """The prompts, the last of them with the thinking that applies to its answer."""
    if applied is None or not messages or messages[-1].thinking is not UNSET or messages[-1].role != "user":
        return messages
    return [*messages[:-1], replace(messages[-1], thinking=applied)]


def model_settings(applied: Thinking | None) -> ModelSettings | None:
    """Pydantic AI's settings for the thinking that applies; None leaves the model's own."""
    if applied is None:
        return None
    if applied.disabled is True or applied.level == "none":
        return ModelSettings(thinking=False)
    return None if applied.level is UNSET else ModelSettings(thinking=applied.level)  # type: ignore[typeddict-item]


def _requested(message: Message) -> Thinking | None:
    """The thinking that a message requests, in its own field or in a client's metadata."""
    if isinstance(message.thinking, Thinking):
        return message.thinking
    sent: Any = message.metadata.get(_CLIENT_KEY) if isinstance(message.metadata, dict) else None
    if not isinstance(sent, dict):
        return None
    found = {key: sent[key] for key in ("level", "disabled", "triggers") if key in sent}
    return Thinking(**found)


def _check(thinking: Thinking, where: str) -> None:
    if thinking.disabled is not UNSET and not isinstance(thinking.disabled, bool):
        raise HansardError(f"invalid thinking.disabled {thinking.disabled!r} in {where}; give true or false")
    triggers = [] if thinking.triggers is UNSET else thinking.triggers
    if not isinstance(triggers, list) or not all(isinstance(trigger, str) and trigger for trigger in triggers):
        raise HansardError(f"invalid thinking.triggers {triggers!r} in {where}; give a list of texts")
    if thinking.level is not UNSET and thinking.level not in LEVELS:
        raise HansardError(f"unknown thinking level {thinking.level!r} in {where} (choose from {', '.join(LEVELS)})")
    if thinking.level is UNSET and thinking.disabled is not True:
        raise HansardError(f"thinking in {where} has no level (choose from {', '.join(LEVELS)})")
