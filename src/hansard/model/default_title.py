"""What a conversation without a title goes by: the first words that a person typed.

Coding agents put words of their own into the user's mouth before that: instructions of the folder, what the machine
is like, caveats, what a command printed. The viewer knows the same marks (`server/viewer/opening.js`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hansard.model.conversation import Message
from hansard.model.parts import TextPart

LOOKED_AT = 20  # messages from the first: as far as anybody looks for those words
_NOT_TYPED = re.compile(
    r"<[a-z_][^<>]*>.*>$|Caveat: The messages below were generated |# AGENTS\.md instructions", re.DOTALL
)
_COMMAND = re.compile(r"<command-name>([^<]+)</command-name>")


def opening_words(messages: Iterable[Message]) -> str:
    """The first words that were typed, else the first command, else the first words; empty where there are none."""
    texts = [
        part.text.strip()
        for message in messages
        if message.role == "user"
        for part in message.parts
        if type(part) is TextPart and part.text.strip()
    ]
    typed = (text for text in texts if _NOT_TYPED.match(text) is None)
    commands = (found[1].strip() for text in texts if (found := _COMMAND.search(text)) is not None)
    return next(typed, None) or next(commands, None) or next(iter(texts), "")
