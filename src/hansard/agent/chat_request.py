"""What an AI SDK client posts, as something to be asked in a thread."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import UNSET
from pydantic_ai.tools import DeferredToolResults

from hansard import formats
from hansard.errors import Unreadable
from hansard.model.conversation import Message
from hansard.store.ledger import Ledger


class Asked(NamedTuple):
    """`shown_id` is the id of the answer on the wire, `message_id` of the first message of the run in the ledger."""

    thread_id: str
    prompt: Message | None = None
    fork_from: Any = UNSET
    message_id: str | None = None
    shown_id: str | None = None
    results: DeferredToolResults | None = None


async def ask(ledger: Ledger, body: dict[str, Any]) -> Asked:
    """Tell what a body asks for; only new words, tool outputs and approvals are taken from it."""
    thread_id = body.get("id")
    if type(thread_id) is not str or not thread_id:
        raise Unreadable("the id of the chat is missing", "$.id")
    sent = body["messages"] if "messages" in body else [body["message"]] if "message" in body else None
    if type(sent) is not list:
        raise Unreadable("no messages", "$.messages")
    came = formats.read(sent, "ai-sdk-ui").messages
    return Asked(thread_id, prompt=came[-1])
