"""Edits of the user's files as session files record them, replayed to the content before and after each.

    claude-code   toolUseResult: originalFile, oldString / newString, edits, content; file-history backups
    codex         patch_apply_end: add and delete with their content, update as a unified diff
    gemini-cli    resultDisplay: originalContent and newContent

How an agent records edits is in its own `edits.py`, which its `SessionFile` names; here is what they share. Files are
rebuilt edit by edit. Where an edit found other content than the edits before it left, something outside the session
changed the file: the step is marked `outside`, and replay continues from what the edit found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hansard.model.conversation import Conversation
from hansard.model.parts import ToolCallPart


class Unknown:
    """Content that no record describes."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unknown()
_AGENTS = ("claude-code", "codex", "gemini-cli")  # those whose records hold the content of files
Content = bytes | None | Unknown  # None: the file does not exist
Calls = dict[str, ToolCallPart]  # by id


class Edit(Struct, frozen=True, kw_only=True):
    """One recorded edit of one path; `change` computes the content after it from the content before."""

    message_id: str
    path: str
    before: Content
    change: Callable[[Content], Content]
    is_backup: bool = False  # a copy of the file, not an edit
    otherwise: Content = UNKNOWN  # the content before, where no earlier edit determines it
    reverse: Callable[[Content], Content] | None = None  # computes the content before from the content after


class Step(Struct, frozen=True, kw_only=True):
    """A replayed edit: `expected` is what the edits before it left; `outside` if it found something else."""

    message_id: str
    path: str
    expected: Content
    before: Content
    after: Content
    outside: bool
    compared: bool
    edit: Edit

    @property
    def is_backup(self) -> bool:
        return self.edit.is_backup


def edits_of(conversation: Conversation, backups: Iterable[Edit] = ()) -> Iterator[Edit]:
    """All edits in message order; backups come before the edits of their message."""
    from hansard import formats  # the agents' modules import this one

    files = [formats.get(name).session for name in _AGENTS]
    readers = [file.edits for file in files if file is not None and file.edits is not None]
    waiting: dict[str, list[Edit]] = {}
    for one in backups:
        waiting.setdefault(one.message_id, []).append(one)
    calls: Calls = {}
    for message in conversation.messages:
        if isinstance(message.id, str):
            yield from waiting.pop(message.id, [])
        for part in message.parts:
            if isinstance(part, ToolCallPart) and isinstance(part.tool_call_id, str):
                calls[part.tool_call_id] = part
        if message.role == "tool" and isinstance(message.id, str):
            for read in readers:
                yield from read(message, message.id, calls)


def replayed(given: Iterable[Edit]) -> Iterator[Step]:
    """The edits with the content of their path before and after."""
    state: dict[str, Content] = {}
    for one in given:
        expected = state.get(one.path, UNKNOWN)
        before = expected if one.before is UNKNOWN else one.before
        before = one.otherwise if before is UNKNOWN else before
        compared = expected is not UNKNOWN and one.before is not UNKNOWN
        after = one.change(before)
        state[one.path] = after
        yield Step(
            message_id=one.message_id,
            path=one.path,
            expected=expected,
            before=before,
            after=after,
            outside=compared and expected != before,
            compared=compared,
            edit=one,
        )


def infer_unknown(given: Iterable[Step], now: Callable[[str], Content]) -> list[Step]:
    """The steps, unknown contents inferred backwards from the files as they are now.

    A patch records only what it changes. Where it can be reverted on the current file and applied again with the same
    result, the contents before and after are known.
    """
    out: list[Step] = []
    later: dict[str, Content] = {}
    for step in reversed(list(given)):
        if step.after is UNKNOWN and step.edit.reverse is not None:
            after = later[step.path] if step.path in later else now(step.path)
            before = UNKNOWN if after is UNKNOWN or after is None else step.edit.reverse(after)
            if before is not UNKNOWN and step.edit.change(before) == after:
                step = replace(step, before=before, after=after)
        later[step.path] = step.before
        out.append(step)
    return out[::-1]


def content_of(value: Any) -> Content:
    """A recorded text as the bytes of a file; unknown if it is not a string."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else UNKNOWN
