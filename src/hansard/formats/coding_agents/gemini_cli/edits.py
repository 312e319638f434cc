"""Edits of the user's files in Gemini CLI sessions: `resultDisplay` has the content before and after."""

from __future__ import annotations

from collections.abc import Iterator

from hansard.formats.coding_agents.edits import Calls, Edit, content_of
from hansard.formats.coding_agents.gemini_cli.records import NAME
from hansard.formats.residue import unpack
from hansard.model.conversation import Message
from hansard.model.parts import ToolResultPart


def edits_of(message: Message, key: str, calls: Calls) -> Iterator[Edit]:
    """The edits that the results of a message record."""
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            yield from _edits_of_result(part, key, calls)


def _edits_of_result(part: ToolResultPart, key: str, calls: Calls) -> Iterator[Edit]:
    shown = unpack(NAME, part.extra)[0].get("resultDisplay")
    if type(shown) is not dict or "newContent" not in shown:
        return
    call = calls.get(part.tool_call_id) if isinstance(part.tool_call_id, str) else None
    given = call.input if call is not None and isinstance(call.input, dict) else {}
    path = next(
        (
            value
            for value in (shown.get("filePath"), given.get("file_path"), given.get("absolute_path"))
            if isinstance(value, str)
        ),
        shown.get("fileName"),
    )
    if not isinstance(path, str):
        return
    before = None if shown.get("originalContent") is None else content_of(shown["originalContent"])
    if before == b"" and shown.get("isNewFile") is True:
        before = None
    after = content_of(shown["newContent"])
    yield Edit(message_id=key, path=path, before=before, change=lambda _: after)
