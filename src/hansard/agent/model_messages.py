"""Pydantic AI's messages into canonical ones and back, one at a time and whole.

What is read here piece by piece is what the format `pydantic-ai` reads of the whole list, so that a thread written in
that format is `all_messages_json()` again.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, SystemPromptPart

from hansard import formats
from hansard.formats.contract import Target
from hansard.formats.pydantic_ai.fields import DIALECTS, NAME, NEWEST
from hansard.formats.pydantic_ai.messages.documents import Reading
from hansard.formats.pydantic_ai.messages.documents import shares_request as follows_in_request
from hansard.formats.residue import unpack
from hansard.model import exact_json
from hansard.model.calls import without_partial_calls
from hansard.model.conversation import Conversation, Message
from hansard.model.hashing import hashed_content, opaque
from hansard.model.parts import Binding

_INSTALLED = tuple(int(number) for number in version("pydantic-ai-slim").split(".")[:2])
_PROFILE = NEWEST if _INSTALLED >= (2, 66) else "2.62"


class HistoryReader:
    """Reads messages that follow others in a thread; binds opaque reasoning to the messages before it."""

    def __init__(self, thread_id: str, before: Sequence[Message]) -> None:
        self._reading = Reading(DIALECTS[NEWEST], thread_id)
        self._reading.out = list(before[-1:])
        self._chain = hashlib.sha256()
        for message in before:
            self._follow(message)

    def read(
        self, given: Sequence[ModelMessage], change: Callable[[Message], Message] = lambda message: message
    ) -> list[Message]:
        """The canonical messages of further records, passed through `change`; one request may become several."""
        reading, found = self._reading, []
        for record in exact_json.decode(ModelMessagesTypeAdapter.dump_json(list(given))):
            start = len(reading.out)
            (reading.read_request if record["kind"] == "request" else reading.read_response)(record)
            for i in range(start, len(reading.out)):
                message = reading.out[i] = self._bound(change(reading.out[i]))
                self._follow(message)
                found.append(message)
            reading.out = reading.out[-1:]
        return found

    def follow(self, messages: Iterable[Message]) -> None:
        """Continue after other messages."""
        for message in messages:
            self._follow(message)
            self._reading.out = [message]

    def _follow(self, message: Message) -> None:
        words = f"\x1e{message.role}" + "".join(hashed_content(part) for part in message.parts)
        self._chain.update(words.encode("utf-8", "surrogatepass"))

    def _bound(self, message: Message) -> Message:
        if message.role != "assistant" or not any(map(opaque, message.parts)):
            return message
        prefix = self._chain.hexdigest()[:32]
        name = message.model.name if message.model is not UNSET else UNSET
        parts: list[Any] = []
        for part in message.parts:
            if opaque(part):
                known = part.binding if part.binding is not UNSET else Binding(model=name)  # type: ignore[union-attr]
                part = replace(part, binding=replace(known, prefix=prefix))
            parts.append(part)
        return replace(message, parts=parts)


def shares_request(before: Message, message: Message) -> bool:
    """Whether two adjacent messages belong to the same request of Pydantic AI."""
    if message.role == "assistant" or before.role == "assistant":
        return False
    joined = unpack(NAME, message.extra)[1].get("joined")
    return joined if type(joined) is bool else follows_in_request(before, message)


def model_messages(conversation: Conversation) -> list[ModelMessage]:
    """A conversation as the history of an agent, for the installed Pydantic AI; calls that were cut are left out."""
    whole = replace(conversation, messages=without_partial_calls(conversation.messages))
    written = formats.write(whole, NAME, target=Target(profile=_PROFILE))
    return ModelMessagesTypeAdapter.validate_json(exact_json.encode(written.data))


def with_system_prompt(history: list[ModelMessage], text: str | None) -> list[ModelMessage]:
    """The history with this system prompt in its first request, unless it has one or there is none to add."""
    if not text or any(isinstance(part, SystemPromptPart) for message in history for part in message.parts):
        return history
    first = history[0] if history else None
    if isinstance(first, ModelRequest):
        return [dataclasses.replace(first, parts=[SystemPromptPart(text), *first.parts]), *history[1:]]
    return [ModelRequest(parts=[SystemPromptPart(text)]), *history]
