"""Text that no person typed: what a coding agent itself puts into the user's turns.

A message of nothing else has the role `event`, and each text is a data part named for what it is. The model saw it as
text of the user: `as_seen` gives that back, for providers, other agents, and the digests that signatures are bound to.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.model.conversation import Message
from hansard.model.parts import DataPart, TextPart

COMMAND, OUTPUT, HOOK, REMINDER = "command", "command-output", "hook", "reminder"
ENVIRONMENT, INTERRUPT, NOTIFICATION, SUMMARY = "environment", "interrupt", "notification", "summary"
MACHINERY = frozenset({COMMAND, OUTPUT, HOOK, REMINDER, ENVIRONMENT, INTERRUPT, NOTIFICATION, SUMMARY})

_TAGS = {
    "command-name": COMMAND,
    "command-message": COMMAND,
    "command-args": COMMAND,
    "bash-input": COMMAND,
    "user_shell_command": COMMAND,
    "local-command-stdout": OUTPUT,
    "local-command-stderr": OUTPUT,
    "bash-stdout": OUTPUT,
    "bash-stderr": OUTPUT,
    "user-prompt-submit-hook": HOOK,
    "session-start-hook": HOOK,
    "hook_prompt": HOOK,
    "hook_context": HOOK,
    "system-reminder": REMINDER,
    "system_reminder": REMINDER,
    "local-command-caveat": REMINDER,
    "user_instructions": REMINDER,
    "skill": REMINDER,
    "recommended_plugins": REMINDER,
    "goal_context": REMINDER,
    "codex_internal_context": REMINDER,
    "environment_context": ENVIRONMENT,
    "session_context": ENVIRONMENT,
    "ide_opened_file": ENVIRONMENT,
    "ide_selection": ENVIRONMENT,
    "turn_aborted": INTERRUPT,
    "task-notification": NOTIFICATION,
    "subagent_notification": NOTIFICATION,
    "teammate-message": NOTIFICATION,
}
_TAG = re.compile(r"<([a-z][a-z_-]*)(?:\s[^<>]*)?>")
_OPENINGS = (
    ("Caveat: The messages below were generated ", REMINDER),
    ("# AGENTS.md instructions", REMINDER),
    ("Base directory for this skill: ", REMINDER),
    ("This is the Gemini CLI. We are setting up the context", ENVIRONMENT),
    ("[Request interrupted by user", INTERRUPT),
)


def kind_of(text: str) -> str | None:
    """What a text that an agent put into the user's turn is; None for anything a person may have typed.

    >>> kind_of("<system-reminder>Be brief.</system-reminder>"), kind_of("a < b")
    ('reminder', None)
    >>> kind_of("[Request interrupted by user]")
    'interrupt'
    """
    text = text.lstrip()
    if text[:1] == "<":
        found = _TAG.match(text)
        kind = _TAGS.get(found[1]) if found is not None else None
        mixed = kind in (REMINDER, ENVIRONMENT) and not text.rstrip().endswith(">")  # typed after it
        return None if mixed else kind
    if text[:1] in ("C", "#", "T", "[", "B"):
        for opening, kind in _OPENINGS:
            if text.startswith(opening):
                return kind
    return None


def as_events(message: Message, kind: str | None = None) -> Message:
    """A message of the user with its machinery as data parts, and as an event if it has nothing else.

    `kind` is what the agent's own records say of the whole message; "" says that a person typed it.
    """
    if message.role != "user" or kind == "":
        return message
    parts: list[Any] = []
    others = changed = False
    part: Any
    for part in message.parts:
        name = (kind or kind_of(part.text)) if type(part) is TextPart else None
        if name is None or part.signature is not UNSET:
            others = others or not (type(part) is TextPart and not part.text.strip())
            parts.append(part)
        else:
            changed = True
            parts.append(DataPart(name=name, data={"text": part.text}, id=part.id, extra=part.extra))
    if not changed:
        return message
    return replace(message, role="user" if others else "event", parts=parts)


def typed_text(message: Message) -> str | None:
    """What a person typed in a message; None if it is nothing that a person typed.

    >>> from hansard.model.parts import TextPart
    >>> texts = ["<system-reminder>Be brief.</system-reminder>", "Which tea?"]
    >>> typed_text(Message(role="user", parts=[TextPart(text=text) for text in texts]))
    'Which tea?'
    """
    if message.role != "user" or message.sidechain is True:
        return None
    parts: list[Any] = list(as_events(message).parts)
    text = "\n".join(part.text for part in parts if type(part) is TextPart)
    return text if text.strip() else None


def is_machinery(part: Any) -> bool:
    """Whether a part is machinery that the model saw as text."""
    if type(part) is not DataPart or part.name not in MACHINERY or type(part.data) is not dict:
        return False
    return part.data.keys() == {"text"} and type(part.data["text"]) is str


def seen_role(message: Message) -> str:
    """The role of a message as the model saw it."""
    machinery = message.role == "event" and message.parts and is_machinery(message.parts[0])
    return "user" if machinery else message.role


def as_seen(message: Message) -> Message:
    """The message as the model saw it: machinery as text of the user."""
    if not any(map(is_machinery, message.parts)):
        return message
    given: list[Any] = list(message.parts)
    parts = [
        TextPart(text=part.data["text"], id=part.id, extra=part.extra) if is_machinery(part) else part for part in given
    ]
    return replace(message, role="user" if message.role == "event" else message.role, parts=parts)


def all_as_seen(messages: list[Message]) -> list[Message]:
    """Messages as the model saw them; the same list if none has machinery."""
    for message in messages:
        for part in message.parts:
            if type(part) is DataPart and is_machinery(part):
                return [as_seen(message) for message in messages]
    return messages
