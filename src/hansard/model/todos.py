"""The todo list that a message carries: its own, else that of a todo tool which it calls."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.model.conversation import Message, Todo
from hansard.model.parts import ToolCallPart

_TOOLS = ("TodoWrite", "write_todos", "update_plan")


def todos_of(message: Message) -> list[Todo] | None:
    """The todo list of a message; None if it has none."""
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
