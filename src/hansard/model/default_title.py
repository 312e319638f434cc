"""Default title of a conversation: the first text that a person typed.

Coding agents add user messages of their own before it: instructions of the folder, a description of the machine,
caveats, output of a command. The viewer recognises the same markers (`server/viewer/opening.js`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hansard.model.conversation import Message
from hansard.model.parts import TextPart

_TITLE = 60  # characters of the title of a chat
LOOKED_AT = 20  # only the first messages are searched
_NOT_TYPED = re.compile(
    r"<[a-z_][^<>]*>.*>$|Caveat: The messages below were generated |# AGENTS\.md instructions", re.DOTALL
)
_MARKS = re.compile(
    r"(?<!\w)\*\*([^*\n]+)\*\*(?!\w)|(?<!`)`([^`\n]+)`(?!`)|\[([^\]\n]+)\]\([^)\s]+\)|^#{1,6} ", re.MULTILINE
)
_COMMAND = re.compile(r"<command-name>([^<]+)</command-name>")


def default_title(messages: Iterable[Message]) -> str:
    """Return the first typed text, else the first command, else the first text, else an empty string."""
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


def chat_title(prompts: Iterable[Message], longest: int = _TITLE) -> str:
    """The beginning of the first prompt on one line, without Markdown's marks."""
    text = _MARKS.sub(lambda found: found[1] or found[2] or found[3] or "", default_title(prompts).strip())
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
