"""Edits of the user's files in Copilot CLI sessions: arguments of `create` and `edit`.

They are used where the session has no images of the files (`rewind-file-snapshots`), which say more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hansard.formats.coding_agents.edits import Calls, Edit, content_of, replaced
from hansard.model.conversation import Message
from hansard.model.parts import ToolResultPart


def edits_of(message: Message, key: str, calls: Calls) -> Iterator[Edit]:
    """The edit that the result of a call records."""
    for part in message.parts:
        call = calls.get(str(part.tool_call_id)) if isinstance(part, ToolResultPart) else None
        if call is None or not isinstance(part, ToolResultPart) or part.is_error is True:
            continue
        given: Any = call.input if isinstance(call.input, dict) else {}
        path = given.get("path")
        if not isinstance(path, str):
            continue
        old, new = given.get("old_str"), given.get("new_str")
        if call.tool_name == "create" and isinstance(given.get("file_text"), str):  # it refuses a path that exists
            content = content_of(given["file_text"])
            yield Edit(message_id=key, path=path, otherwise=None, change=lambda _, content=content: content)  # type: ignore[misc]
        elif call.tool_name == "edit" and isinstance(old, str) and isinstance(new, str):
            yield Edit(
                message_id=key,
                path=path,
                change=lambda text, old=old, new=new: replaced(text, old, new),  # type: ignore[misc]
                reverse=lambda text, old=old, new=new: replaced(text, new, old),  # type: ignore[misc]
            )
