"""Canonical events of a streaming answer.

    message-start   start of the answer: id and model, if known
    step-start      another request to the model inside the same answer (the AI SDK's steps)
    step-reset      the content of the current step is void: it will be repeated
    part-start      a part opens; `part` is what is known of it, without its text
    part-delta      text appended to an open part: of a text, reasoning or refusal, or the input of a tool call
    part-end        a part is complete; `part` is set where the pieces alone are not enough; repeated when a complete
                    part changes (a call is approved, a preliminary result is replaced)
    message-delta   usage, finish reason or metadata, as they become known
    failure         an error; what was received stays
    other           an event without canonical meaning, unchanged (a ping, an unknown event)
    message-end     the answer as its format reads it, one message or several; overrides the deltas before it
    end             done, or cut: the stream stopped before its end

`key` names an open part; it is unique in a stream. Deltas are plain values: they can be stored and folded later.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from hansard.model.conversation import Message, ModelRef, Usage
from hansard.model.parts import AnyPart


class Event(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, rename="camel", tag_field="type"):
    """Base class of all deltas."""


class MessageStart(Event, frozen=True, kw_only=True, tag="message-start"):
    id: str | UnsetType = UNSET
    model: ModelRef | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class StepStart(Event, frozen=True, kw_only=True, tag="step-start"):
    pass


class StepReset(Event, frozen=True, kw_only=True, tag="step-reset"):
    pass


class PartStart(Event, frozen=True, kw_only=True, tag="part-start"):
    key: str
    part: AnyPart


class PartDelta(Event, frozen=True, kw_only=True, tag="part-delta"):
    key: str
    text: str


class PartEnd(Event, frozen=True, kw_only=True, tag="part-end"):
    key: str
    part: AnyPart | UnsetType = UNSET


class MessageDelta(Event, frozen=True, kw_only=True, tag="message-delta"):
    usage: Usage | UnsetType = UNSET
    finish_reason: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Failure(Event, frozen=True, kw_only=True, tag="failure"):
    text: str
    error: Any = UNSET


class Other(Event, frozen=True, kw_only=True, tag="other"):
    format: str
    value: Any


class MessageEnd(Event, frozen=True, kw_only=True, tag="message-end"):
    messages: list[Message]


class End(Event, frozen=True, kw_only=True, tag="end"):
    how: str


Delta: TypeAlias = (
    MessageStart
    | StepStart
    | StepReset
    | PartStart
    | PartDelta
    | PartEnd
    | MessageDelta
    | Failure
    | Other
    | MessageEnd
    | End
)
