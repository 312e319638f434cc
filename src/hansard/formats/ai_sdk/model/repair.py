"""Messages as `streamText` takes them: whole calls with their results (`pairing`), files with readable content.

A message that was read from ModelMessages and would be repaired carries the mark `asIs`: without a profile it is
written back as it was.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.ai_sdk.model.files import NAME
from hansard.formats.ai_sdk.model.pairing import UNSEEN, Note, paired
from hansard.formats.contract import Loss, Target
from hansard.formats.data_url import base64_of, by_value, mended_base64
from hansard.formats.rules.tool_pairing import as_is
from hansard.model.conversation import Message
from hansard.model.parts import FilePart, RetryPart, ToolCallPart, ToolResultPart

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>.*)", re.DOTALL)
_WITH_HOST = ("http", "https", "ws", "wss", "ftp")
_HOST = re.compile(
    r"[/\\]*(?:[^/\\?#@]*@)?(?:\[[0-9A-Fa-f:.]+\]|[^\s\x00-\x1f#%/:<>?@\[\\\]^|]+)(?::\d{0,5})?(?=[/\\?#]|$)"
)


def repair(messages: list[Message], target: Target, notes: list[Loss], path: list[int]) -> list[Message]:
    """The messages as every version accepts them, and a note for each change, by the index in the source."""
    if _conforms(messages, target.profile is None):
        return messages
    found: list[Note] = []
    given = [_with_files(i, message, target, found) for i, message in enumerate(messages)]
    fixed = paired(given, target, found)
    for i, where, what, why in found:
        notes.append(Loss(path=f"$.messages[{path[i]}]{where}", what=what, why=why, kind="repair"))
    return fixed


def _conforms(messages: list[Message], open_end: bool) -> bool:
    """Fast path: whether nothing is to be repaired, as in almost every conversation."""
    waiting: set[Any] = set()
    part: Any
    for message in messages:
        role = message.role
        if role in UNSEEN:
            continue
        if waiting and role != "tool":
            return False
        for part in message.parts:
            kind = type(part)
            if kind is ToolCallPart:
                if role != "assistant" or part.state is not UNSET:
                    return False
                if part.provider_executed is not True:
                    if type(part.tool_call_id) is not str or part.tool_call_id in waiting:
                        return False
                    waiting.add(part.tool_call_id)
            elif kind is ToolResultPart:
                if part.content is not UNSET and not all(map(_is_sound, part.content)):
                    return False
                if part.provider_executed is not True:
                    if part.tool_call_id not in waiting or role != "tool" or part.preliminary is True:
                        return False
                    waiting.discard(part.tool_call_id)
            elif kind is FilePart:
                if not _is_sound(part):
                    return False
            elif kind is RetryPart and role == "tool":
                return False
    return open_end or not waiting


def _with_files(i: int, message: Message, target: Target, notes: list[Note]) -> Message:
    """The message with files that can be read."""
    if target.profile is None and as_is(message, NAME):
        return message
    parts: list[Any] = []
    for j, part in enumerate(message.parts):
        where = f".parts[{j}]"
        if type(part) is ToolResultPart and part.content is not UNSET:
            inner = [_mended(i, f"{where}.content[{k}]", one, notes) for k, one in enumerate(part.content)]
            kept = [one for one in inner if one is not None]
            same = len(kept) == len(part.content) and all(map(_is, kept, part.content))
            parts.append(part if same else replace(part, content=kept))
        elif (made := _mended(i, where, part, notes)) is not None:
            parts.append(made)
    return (
        message
        if len(parts) == len(message.parts) and all(map(_is, parts, message.parts))
        else replace(message, parts=parts)
    )


def _is(one: Any, other: Any) -> bool:
    return one is other


def _mended(i: int, where: str, part: Any, notes: list[Note]) -> Any:
    """A file whose content every version reads; None if there is no such."""
    if _is_sound(part):
        return part
    if (decoded := base64_of(part)) is not None:
        notes.append((i, f"{where}.url", "the data is written as base64", f"{NAME} takes data only as base64"))
        return decoded
    data = by_value(part).data
    if type(data) is not str:
        notes.append((i, where, f"a file at {part.url!r}", f"{NAME} takes only absolute addresses"))
        return None
    mended = mended_base64(data)
    if mended is None:
        notes.append((i, where, "a file whose data is not valid base64", f"{NAME} takes data only as base64"))
        return None
    notes.append((i, f"{where}.data", "base64 is written in whole groups", f"{NAME} takes no other"))
    return replace(by_value(part), data=mended)


def _is_sound(part: Any) -> bool:
    if type(part) is not FilePart:
        return True
    valued = by_value(part)
    if type(valued.data) is str:
        return mended_base64(valued.data) == valued.data
    return type(part.url) is not str or (base64_of(part) is None and is_absolute(part.url))


def is_absolute(url: str) -> bool:
    """Whether the address is one that `new URL` of JavaScript accepts.

    >>> is_absolute("https://example.org/a.png"), is_absolute("a.png"), is_absolute("http://")
    (True, False, False)
    """
    found = _URL.fullmatch(url.strip())
    if found is None:
        return False
    return found["scheme"].lower() not in _WITH_HOST or _HOST.match(found["rest"]) is not None
