"""Edits of the user's files in Codex rollouts: updates are unified diffs.

The changes are in `patch_apply_end`, in newer releases in the item `FileChange` of `item_completed`.
"""

from __future__ import annotations

from collections.abc import Iterator

from hansard.formats.coding_agents.codex.records import NAME
from hansard.formats.coding_agents.edits import UNKNOWN, Calls, Edit, content_of
from hansard.formats.coding_agents.unified_diff import apply_diff, reverse_diff
from hansard.formats.residue import unpack
from hansard.model.conversation import Message
from hansard.model.parts import ToolResultPart


def edits_of(message: Message, key: str, calls: Calls) -> Iterator[Edit]:
    """The edits that the results of a message record."""
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            yield from _edits_of_result(part, key)


def _edits_of_result(part: ToolResultPart, key: str) -> Iterator[Edit]:
    rest = unpack(NAME, part.extra)[0]
    changes = rest.get("changes")
    if type(changes) is not dict or rest.get("status") in ("failed", "declined"):
        return
    for path, change in changes.items():
        kind = change.get("type") if type(change) is dict else None
        content = content_of(change.get("content")) if type(change) is dict else UNKNOWN
        if kind == "add":
            yield Edit(
                message_id=key,
                path=path,
                otherwise=None,
                change=lambda _, content=content: content,  # type: ignore[misc]
            )
        elif kind == "delete":
            yield Edit(message_id=key, path=path, before=content, change=lambda _: None)
        elif kind == "update" and isinstance(change.get("unified_diff"), str):
            diff, target = change["unified_diff"], change.get("move_path")
            moves = isinstance(target, str) and target != path
            yield Edit(
                message_id=key,
                path=target if moves else path,
                moved_from=path if moves else None,
                change=lambda text, diff=diff: apply_diff(text, diff),  # type: ignore[misc]
                reverse=lambda text, diff=diff: apply_diff(text, reverse_diff(diff)),  # type: ignore[misc]
            )
