"""The todo list of a thread as it stood at a message: the last list on the path to it."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Message, Todo
from hansard.model.parts import ToolCallPart

_TOOLS = ("TodoWrite", "write_todos", "update_plan")


def todos_at(ledger: Ledger, thread_id: str | None, message_id: str | None) -> list[Todo]:
    """The todo list at a message; empty without a thread, or before its first message."""
    if thread_id is None or message_id is None:
        return []
    before: str | None = None
    while True:
        page = ledger.messages(thread_id, limit=100, newest=True, before=before, head=message_id)
        for message in page.items:
            found = _todos(message)
            if found is not None:
                return found
        if (before := page.next) is None:
            return []


def _todos(message: Message) -> list[Todo] | None:
    if message.todos is not UNSET and isinstance(message.todos, list):
        return message.todos
    for part in reversed(message.parts):
        if isinstance(part, ToolCallPart) and part.tool_name in _TOOLS:
            given = part.input if isinstance(part.input, dict) else {}
            rows = given.get("todos", given.get("plan"))
            if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
                return [_todo(row) for row in rows]
    return None


def _todo(row: dict[str, Any]) -> Todo:
    def text(*names: str) -> Any:
        return next((row[name] for name in names if isinstance(row.get(name), str)), UNSET)

    return Todo(content=text("content", "description", "step"), status=text("status"), active_form=text("activeForm"))
