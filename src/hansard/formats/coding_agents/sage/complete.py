"""Messages of other origin with every field of Sage's EnhancedMessage; messages of the older shape migrated to it.

version, context     VERSION; the folder and platform of the caller where the message has none
todos                the list as it stood at the message, carried along its branch
isSidechain          true off the active path
sessionId            the conversation's id, else one derived from its content
thinkingMetadata     only where the message has it, then with all of its fields: absent means not recorded
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.coding_agents.handover import handed_over
from hansard.formats.coding_agents.identity import session_uuid
from hansard.formats.coding_agents.sage.content import NAME
from hansard.formats.coding_agents.sage.folder import VERSION
from hansard.formats.contract import Loss
from hansard.formats.residue import pack, unpack
from hansard.model.conversation import Context, Conversation, Message, Thinking, Todo
from hansard.model.parts import RawPart
from hansard.model.todos import todos_of
from hansard.model.tree import active_path, parents


def is_older(message: Message) -> bool:
    """Whether a message was read from a `ConversationMessage`, and would be written as one."""
    return unpack(NAME, message.extra)[1].get("older") is True


def migrated(conversation: Conversation) -> Conversation:
    """The conversation with its messages of the older shape as EnhancedMessages; others are left as they are."""
    if not any(map(is_older, conversation.messages)):
        return conversation
    return completed(conversation, is_older)


def prepared(
    conversation: Conversation, chosen: Callable[[Message], bool], *, cwd: str, platform: str, at: str
) -> tuple[Conversation, list[Loss]]:
    """The conversation as Sage would have had it, the chosen messages complete; and what the hand-over lost."""
    notes: list[Loss] = []
    handed = handed_over(conversation, NAME, notes, list(range(len(conversation.messages))))
    return completed(handed, chosen, cwd=cwd, platform=platform, at=at), notes


def completed(
    conversation: Conversation,
    chosen: Callable[[Message], bool] = lambda message: True,
    *,
    cwd: str = "",
    platform: str = "",
    at: str | None = None,
) -> Conversation:
    """The conversation with the chosen messages complete; `at` is the time of those without one."""
    active = set(active_path(conversation))
    before = parents(conversation.messages)
    todos: list[list[Todo]] = []
    messages: list[Message] = []
    for i, message in enumerate(conversation.messages):
        parent = before[i]
        own = todos_of(message)
        todos.append(own if own is not None else [] if parent is None else todos[parent])
        if chosen(message) and not _is_raw(message):
            message = _completed(message, todos[i], i in active, cwd, platform, at)
        messages.append(message)
    session = conversation.id if isinstance(conversation.id, str) else session_uuid(conversation)
    return replace(conversation, messages=messages, id=session)


def _is_raw(message: Message) -> bool:
    part = message.parts[0] if message.role == "event" and len(message.parts) == 1 else None
    return type(part) is RawPart and part.format == NAME


def _completed(message: Message, todos: list[Todo], active: bool, cwd: str, platform: str, at: str | None) -> Message:
    rest, marks = unpack(NAME, message.extra)
    kept = {key: value for key, value in marks.items() if key not in ("older", "line")}
    context = message.context if isinstance(message.context, Context) else Context()
    others: dict[str, Any] = {} if message.extra is UNSET else {k: v for k, v in message.extra.items() if k != NAME}
    own = pack(NAME, {"version": VERSION, **rest}, kept)
    thinking = message.thinking
    if isinstance(thinking, Thinking):
        thinking = replace(
            thinking,
            level="none" if thinking.level is UNSET else thinking.level,
            disabled=False if thinking.disabled is UNSET else thinking.disabled,
            triggers=[] if thinking.triggers is UNSET else thinking.triggers,
        )
    return replace(
        message,
        thinking=thinking,
        created_at=at if message.created_at is UNSET and at is not None else message.created_at,
        context=replace(
            context,
            cwd=cwd if context.cwd is UNSET else context.cwd,
            platform=platform if context.platform is UNSET else context.platform,
        ),
        todos=todos if message.todos is UNSET else message.todos,
        sidechain=not active if message.sidechain is UNSET else message.sidechain,
        extra={**others, **({} if own is UNSET else own)},
    )
