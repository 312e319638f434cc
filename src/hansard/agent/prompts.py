"""What a person says to an agent, as a message."""

from __future__ import annotations

from typing import Any

from hansard.errors import HansardError
from hansard.model.conversation import Message
from hansard.model.parts import TextPart


def user_message(prompt: Any) -> Message:
    """Words, parts or a whole message."""
    if isinstance(prompt, Message):
        return prompt
    if isinstance(prompt, str):
        return Message(role="user", parts=[TextPart(text=prompt)])
    if isinstance(prompt, (list, tuple)):
        return Message(role="user", parts=[TextPart(text=part) if isinstance(part, str) else part for part in prompt])
    raise HansardError(f"a prompt is words, a list of parts or a Message, not {type(prompt).__name__}")
