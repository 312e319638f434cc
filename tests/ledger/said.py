"""Short words for messages in tests."""

from __future__ import annotations

from hansard import Ledger, Message
from hansard.model import TextPart


def said(text: str, role: str = "user", **fields: object) -> Message:
    return Message(role=role, parts=[TextPart(text=text)], **fields)  # type: ignore[arg-type]


def words(messages: list[Message]) -> list[str]:
    return [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]


def transcript(ledger: Ledger, thread_id: str) -> list[str]:
    return words(ledger.transcript(thread_id))
