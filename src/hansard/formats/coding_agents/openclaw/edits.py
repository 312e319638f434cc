"""Edits of the user's files in OpenClaw sessions: the unified diff in the results of `write` and `edit`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hansard.formats.coding_agents.edits import UNKNOWN, Calls, Edit, content_of
from hansard.formats.coding_agents.unified_diff import apply_diff, reverse_diff
from hansard.formats.residue import unpack
from hansard.model.conversation import Message
from hansard.model.parts import ToolResultPart


def edits_of(message: Message, key: str, calls: Calls) -> Iterator[Edit]:
    """The edit that the result of a call records."""
    for part in message.parts:
        call = calls.get(str(part.tool_call_id)) if isinstance(part, ToolResultPart) else None
        if call is None or not isinstance(part, ToolResultPart) or part.is_error is True:
            continue
        given: Any = call.input if isinstance(call.input, dict) else {}
        body = unpack("pi", message.extra)[0].get("message")
        told: Any = body.get("details") if isinstance(body, dict) else None
        told = told if isinstance(told, dict) else {}
        path, patch = given.get("path"), told.get("patch")
        if call.tool_name not in ("write", "edit") or not isinstance(path, str):
            continue
        if call.tool_name == "write" and isinstance(given.get("content"), str):
            content, created = content_of(given["content"]), told.get("created") is True
            yield Edit(
                message_id=key,
                path=path,
                change=lambda _, content=content: content,  # type: ignore[misc]
                before=None if created else UNKNOWN,
                whole=not created and not isinstance(patch, str),
                reverse=(lambda text, patch=patch: apply_diff(text, reverse_diff(patch)))  # type: ignore[misc]
                if isinstance(patch, str) and not created
                else None,
            )
        elif isinstance(patch, str):
            yield Edit(
                message_id=key,
                path=path,
                change=lambda text, patch=patch: apply_diff(text, patch),  # type: ignore[misc]
                reverse=lambda text, patch=patch: apply_diff(text, reverse_diff(patch)),  # type: ignore[misc]
            )
