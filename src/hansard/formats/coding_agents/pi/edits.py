"""Edits of the user's files in pi sessions: the content of `write`, and the diff that the result of `edit` shows.

In OpenClaw's entries the results of `write` show a diff too, and say whether the file was created.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from hansard.formats.coding_agents.edits import UNKNOWN, Calls, Edit, content_of
from hansard.formats.coding_agents.pi.records import NAME
from hansard.formats.coding_agents.unified_diff import apply_diff, from_numbered, reverse_diff
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
        path = given.get("path")
        if not isinstance(path, str):
            continue
        body = unpack(NAME, message.extra)[0].get("message")
        told: Any = body.get("details") if isinstance(body, dict) else None
        shown = told.get("diff") if isinstance(told, dict) else None
        if call.tool_name == "write" and isinstance(given.get("content"), str):
            content = content_of(given["content"])
            edit = Edit(message_id=key, path=path, change=lambda _, content=content: content, whole=True)  # type: ignore[misc]
            if isinstance(shown, str):  # OpenClaw
                created, diff = told.get("created") is True, from_numbered(shown)
                back = None if created else lambda text, diff=diff: apply_diff(text, reverse_diff(diff))
                edit = replace(edit, before=None if created else UNKNOWN, whole=False, reverse=back)
            yield edit
        elif call.tool_name == "edit" and isinstance(shown, str):
            diff = from_numbered(shown)
            yield Edit(
                message_id=key,
                path=path,
                change=lambda text, diff=diff: apply_diff(text, diff),  # type: ignore[misc]
                reverse=lambda text, diff=diff: apply_diff(text, reverse_diff(diff)),  # type: ignore[misc]
            )
