"""What happens while an answer streams, in canonical words.

    message-start   the answer begins: its id and model, as far as they are known
    step-start      another request to the model inside the same answer (the AI SDK's steps)
    step-reset      what the present step said so far is void: it will be said again
    part-start      a part opens; `part` is what is known of it, its growing text still empty
    part-delta      the text of an open part grows: text, reasoning and refusal their text, a tool call its input
    part-end        a part is whole; `part` says it all where the pieces alone would not; it comes again when a whole
                    part changes (a call is approved, a preliminary result is followed by another)
    message-delta   usage, finish reason or metadata, as they become known
    failure         something went wrong; what was received stays
    other           an event that means nothing here, kept word for word (a ping, an unknown event)
    message-end     the answer as its format reads it: the last word on what was said, one message or several
    end             done, or cut: the stream stopped before its end

`key` names an open part; it is unique in a stream. Deltas are plain values: they can be stored and folded later.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from hansard.model.conversation import Message, ModelRef, Usage
from hansard.model.parts import AnyPart


class Event(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, rename="camel", tag_field="type"):
    """The base of all deltas."""


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
