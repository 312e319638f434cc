"""The todo list of a thread as it stood at a message: the last list on the path to it."""

from __future__ import annotations

from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Todo
from hansard.model.todos import todos_of


def todos_at(ledger: Ledger, thread_id: str | None, message_id: str | None) -> list[Todo]:
    """The todo list at a message; empty without a thread, or before its first message."""
    if thread_id is None or message_id is None:
        return []
    before: str | None = None
    while True:
        page = ledger.messages(thread_id, limit=100, newest=True, before=before, head=message_id)
        for message in page.items:
            found = todos_of(message)
            if found is not None:
                return found
        if (before := page.next) is None:
            return []
