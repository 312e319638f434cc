"""Edits of the user's files in OpenCode sessions: the content of `write`, the unified diff in the result of `edit`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hansard.formats.coding_agents.edits import UNKNOWN, Calls, Edit, content_of
from hansard.formats.coding_agents.unified_diff import apply_diff, reverse_diff
from hansard.formats.residue import unpack
from hansard.model.conversation import Message
from hansard.model.parts import ToolResultPart


def edits_of(message: Message, key: str, calls: Calls, name: str) -> Iterator[Edit]:
    """The edits that the results of a message record."""
    for part in message.parts:
        call = calls.get(str(part.tool_call_id)) if isinstance(part, ToolResultPart) else None
        if call is None or not isinstance(part, ToolResultPart) or part.is_error is True:
            continue
        given: Any = call.input if isinstance(call.input, dict) else {}
        told: Any = unpack(name, part.extra)[0].get("metadata")
        told = told if isinstance(told, dict) else {}
        path = given.get("filePath")
        if call.tool_name == "write" and isinstance(path, str) and isinstance(given.get("content"), str):
            content, there = content_of(given["content"]), told.get("exists")
            yield Edit(
                message_id=key,
                path=path,
                change=lambda _, content=content: content,  # type: ignore[misc]
                before=None if there is False else UNKNOWN,
                whole=there is not False,
            )
        elif call.tool_name == "edit" and isinstance(path, str) and isinstance(told.get("diff"), str):
            yield _patched(key, path, told["diff"], created=given.get("oldString") == "")
        elif call.tool_name in ("apply_patch", "patch", "multiedit"):
            yield from _files(key, told, path)


def _files(key: str, told: dict[str, Any], path: Any) -> Iterator[Edit]:
    """The edits of a patch of several files, or of several edits of one."""
    for one in told["files"] if isinstance(told.get("files"), list) else ():
        name, diff = (
            (one.get("filePath"), one.get("diff") or one.get("patch")) if isinstance(one, dict) else (None, None)
        )
        if isinstance(name, str) and isinstance(diff, str):
            kind = one.get("type")
            moved = one.get("movePath")
            if kind == "delete":
                yield Edit(
                    message_id=key,
                    path=name,
                    change=lambda text: None,
                    before=apply_diff(b"", reverse_diff(diff)),
                )
            elif isinstance(moved, str):
                edit = _patched(key, moved, diff, created=False)
                yield Edit(message_id=key, path=moved, moved_from=name, change=edit.change, reverse=edit.reverse)
            else:
                yield _patched(key, name, diff, created=kind == "add")
    for one in told["results"] if isinstance(told.get("results"), list) else ():
        if isinstance(one, dict) and isinstance(one.get("diff"), str) and isinstance(path, str):
            yield _patched(key, path, one["diff"], created=False)


def _patched(key: str, path: str, diff: str, *, created: bool) -> Edit:
    """An edit by a unified diff; one that creates the file has all of it."""
    if created:
        content = apply_diff(b"", diff)
        return Edit(message_id=key, path=path, change=lambda _: content, before=None)
    return Edit(
        message_id=key,
        path=path,
        change=lambda text: apply_diff(text, diff),
        reverse=lambda text: apply_diff(text, reverse_diff(diff)),
    )
