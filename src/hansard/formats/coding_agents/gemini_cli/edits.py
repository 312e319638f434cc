"""Edits of the user's files in Gemini CLI sessions: `resultDisplay` has the content before and after."""

from __future__ import annotations

from collections.abc import Iterator

from hansard.formats.coding_agents.edits import Calls, Edit, content_of
from hansard.formats.coding_agents.gemini_cli.records import NAME
from hansard.formats.residue import unpack
from hansard.model.conversation import Message
from hansard.model.parts import ToolResultPart

_CREATED = ("Created new file", "Successfully created")  # what the tools of Qwen Code tell the model


def edits_of(message: Message, key: str, calls: Calls) -> Iterator[Edit]:
    """The edits that the results of a message record."""
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            yield from edits_of_result(part, key, calls)


def edits_of_result(part: ToolResultPart, key: str, calls: Calls, name: str = NAME) -> Iterator[Edit]:
    """The edit that the result of a call records, in a session of the format `name`."""
    shown = unpack(name, part.extra)[0].get("resultDisplay")
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
    if before == b"" and (shown.get("isNewFile") is True or str(part.output).startswith(_CREATED)):
        before = None
    after = content_of(shown["newContent"])
    yield Edit(message_id=key, path=path, before=before, change=lambda _: after)
