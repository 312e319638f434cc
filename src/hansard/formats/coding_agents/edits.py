"""What session files say of the user's files: every edit with what stood there before and after, as far as it is told.

    claude-code   toolUseResult: originalFile, oldString / newString, edits, content; file-history backups
    codex         patch_apply_end: add and delete with their content, update as a unified diff
    gemini-cli    resultDisplay: originalContent and newContent
    sage          trackedFiles (created, modified, deleted) and fileBackups

The files are rebuilt edit by edit. Where an edit says that something else stood there than the edits before it left,
somebody outside changed it: that is named, and the edit goes on from what it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hansard.formats.residue import unpack
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import ToolCallPart, ToolResultPart


class Unknown:
    """What nobody told."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unknown()
Content = bytes | None | Unknown  # None is: there is no such file


class Edit(Struct, frozen=True, kw_only=True):
    """One edit of one path as a transcript tells it; `change` makes what comes after of what was before."""

    message_id: str
    path: str
    before: Content
    change: Callable[[Content], Content]
    only_seen: bool = False  # a backup: what stood there, no edit
    otherwise: Content = UNKNOWN  # what stood there if no edit before it tells
    reverse: Callable[[Content], Content] | None = None  # what was before, made of what came after


class Step(Struct, frozen=True, kw_only=True):
    """An edit put in order: `expected` is what the edits before it left; `outside` if that is not what it found."""

    message_id: str
    path: str
    expected: Content
    before: Content
    after: Content
    outside: bool
    compared: bool
    edit: Edit

    @property
    def only_seen(self) -> bool:
        return self.edit.only_seen


def edits(conversation: Conversation, backups: Iterable[Edit] = ()) -> Iterator[Edit]:
    """All edits in the order of the file; backups stand before the edits of their message."""
    waiting: dict[str, list[Edit]] = {}
    for one in backups:
        waiting.setdefault(one.message_id, []).append(one)
    calls: dict[str, ToolCallPart] = {}
    for message in conversation.messages:
        if isinstance(message.id, str):
            yield from waiting.pop(message.id, [])
        for part in message.parts:
            if isinstance(part, ToolCallPart) and isinstance(part.tool_call_id, str):
                calls[part.tool_call_id] = part
        if message.role == "tool" and isinstance(message.id, str):
            yield from _claude_edits(message, message.id)
            for part in message.parts:
                if isinstance(part, ToolResultPart):
                    yield from _codex_edits(message.id, part)
                    yield from _gemini_edits(message.id, part, calls)


def rebuilt(given: Iterable[Edit]) -> Iterator[Step]:
    """The edits with what every path held before and after."""
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


def completed(given: Iterable[Step], now: Callable[[str], Content]) -> list[Step]:
    """Steps whose contents nobody told, worked out backwards from the files as they are now.

    A patch says only what it changes. Where it can be taken out of the file there is, and put in again with the same
    outcome, that is what it did.
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


def _bytes(value: Any) -> Content:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else UNKNOWN


# -- claude code -----------------------------------------------------------------------------------------------------


def _claude_edits(message: Message, key: str) -> Iterator[Edit]:
    told = unpack("claude-code", message.extra)[0].get("toolUseResult")
    if type(told) is not dict or not isinstance(told.get("filePath"), str):
        return
    path, before = told["filePath"], _bytes(told.get("originalFile", told.get("originalFileContents")))
    if isinstance(told.get("content"), str) and told.get("type") in ("create", "update"):
        if told["type"] == "create" and before is UNKNOWN:
            before = None
        after = _bytes(told["content"])
        yield Edit(message_id=key, path=path, before=before, change=lambda _: after)
    elif isinstance(told.get("oldString"), str) and isinstance(told.get("newString"), str):
        pairs = [(told["oldString"], told["newString"], told.get("replaceAll") is True)]
        if before is UNKNOWN and told["oldString"] == "":
            before = None
        yield Edit(
            message_id=key,
            path=path,
            before=before,
            change=lambda text: _replaced(text, pairs),
            reverse=lambda text: _put_back(text, pairs[0]),
        )
    elif isinstance(told.get("edits"), list):
        many = [
            (one.get("old_string", ""), one.get("new_string", ""), one.get("replace_all") is True)
            for one in told["edits"]
            if type(one) is dict
        ]
        yield Edit(message_id=key, path=path, before=before, change=lambda text: _replaced(text, many))


def _replaced(text: Content, pairs: list[tuple[str, str, bool]]) -> Content:
    """Claude's replacements; a deletion takes the end of its line along."""
    if isinstance(text, Unknown):
        return UNKNOWN
    found = text or b""
    for old, new, everywhere in pairs:
        was, becomes = old.encode("utf-8", "surrogatepass"), new.encode("utf-8", "surrogatepass")
        if not was:
            found = becomes + found if not found else becomes
            continue
        if was not in found:
            return UNKNOWN
        if not becomes and not was.endswith(b"\n") and was + b"\n" in found:
            was += b"\n"
        found = found.replace(was, becomes) if everywhere else found.replace(was, becomes, 1)
    return found


def _put_back(text: Content, pair: tuple[str, str, bool]) -> Content:
    """What was before a replacement, where what it wrote stands there just once."""
    if text is None or isinstance(text, Unknown):
        return UNKNOWN
    new = pair[1].encode("utf-8", "surrogatepass")
    if not new or text.count(new) != 1:
        return UNKNOWN
    return text.replace(new, pair[0].encode("utf-8", "surrogatepass"))


# -- codex -----------------------------------------------------------------------------------------------------------


def _codex_edits(key: str, part: ToolResultPart) -> Iterator[Edit]:
    rest = unpack("codex", part.extra)[0]
    changes = rest.get("changes")
    if type(changes) is not dict or rest.get("status") in ("failed", "declined"):
        return
    for path, told in changes.items():
        kind = told.get("type") if type(told) is dict else None
        content = _bytes(told.get("content")) if type(told) is dict else UNKNOWN
        if kind == "add":
            yield Edit(
                message_id=key,
                path=path,
                before=UNKNOWN,
                otherwise=None,
                change=lambda _, content=content: content,  # type: ignore[misc]
            )
        elif kind == "delete":
            yield Edit(message_id=key, path=path, before=content, change=lambda _: None)
        elif kind == "update" and isinstance(told.get("unified_diff"), str):
            diff, target = told["unified_diff"], told.get("move_path")
            if isinstance(target, str) and target != path:
                moved: list[Content] = [UNKNOWN]

                def leave(text: Content, diff: str = diff, moved: list[Content] = moved) -> Content:
                    moved[0] = patched(text, diff)
                    return None

                yield Edit(message_id=key, path=path, before=UNKNOWN, change=leave)
                yield Edit(message_id=key, path=target, before=UNKNOWN, change=lambda _, moved=moved: moved[0])  # type: ignore[misc]
            else:
                yield Edit(
                    message_id=key,
                    path=path,
                    before=UNKNOWN,
                    change=lambda text, diff=diff: patched(text, diff),  # type: ignore[misc]
                    reverse=lambda text, diff=diff: patched(text, turned(diff)),  # type: ignore[misc]
                )


_LINE = re.compile(rb"[^\n]*\n|[^\n]+")  # as diffs know them: nothing else ends one, whatever stands in it
_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.ASCII)


def patched(text: Content, diff: str) -> Content:
    """A text with a unified diff put in; unknown where its lines are not there.

    >>> patched(b"a\\nb\\n", "@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n")
    b'a\\nc\\n'
    """
    if text is None or isinstance(text, Unknown):
        return UNKNOWN
    lines = _LINE.findall(text)
    out: list[bytes] = []
    at = 0
    hunks = _LINE.findall(diff.encode("utf-8", "surrogatepass"))
    number = 0
    while number < len(hunks):
        head = _HUNK.match(hunks[number].decode("utf-8", "replace"))
        number += 1
        if head is None:
            continue
        count = int(head[2]) if head[2] is not None else 1
        start = int(head[1]) - (1 if count else 0)
        if start < at:
            return UNKNOWN
        out += lines[at:start]
        at = start
        while number < len(hunks) and not hunks[number].startswith(b"@@"):
            line = hunks[number]
            number += 1
            sign, body = line[:1], line[1:]
            if number < len(hunks) and hunks[number].startswith(b"\\"):
                body = body.rstrip(b"\n")
                number += 1
            if sign == b"+":
                out.append(body)
            elif sign in (b" ", b"-", b"\n"):
                body = b"\n" if sign == b"\n" else body
                if at >= len(lines) or lines[at].rstrip(b"\n") != body.rstrip(b"\n"):
                    return UNKNOWN
                if sign != b"-":
                    out.append(lines[at])
                at += 1
    return b"".join(out + lines[at:])


def turned(diff: str) -> str:
    """The diff that takes a diff back.

    >>> turned("@@ -1,2 +1 @@\\n a\\n-b\\n")
    '@@ -1 +1,2 @@\\n a\\n+b\\n'
    """
    out: list[str] = []
    for line in diff.split("\n"):
        if line.startswith("@@"):
            line = re.sub(r"^@@ -(\S+) \+(\S+) @@", r"@@ -\2 +\1 @@", line)
        elif line[:1] in ("+", "-"):
            line = ("-" if line[0] == "+" else "+") + line[1:]
        out.append(line)
    return "\n".join(out)


# -- gemini cli ------------------------------------------------------------------------------------------------------


def _gemini_edits(key: str, part: ToolResultPart, calls: dict[str, ToolCallPart]) -> Iterator[Edit]:
    shown = unpack("gemini-cli", part.extra)[0].get("resultDisplay")
    if type(shown) is not dict or "newContent" not in shown:
        return
    call = calls.get(part.tool_call_id) if isinstance(part.tool_call_id, str) else None
    told = call.input if call is not None and isinstance(call.input, dict) else {}
    path = next(
        (
            value
            for value in (shown.get("filePath"), told.get("file_path"), told.get("absolute_path"))
            if isinstance(value, str)
        ),
        shown.get("fileName"),
    )
    if not isinstance(path, str):
        return
    before = None if shown.get("originalContent") is None else _bytes(shown["originalContent"])
    if before == b"" and shown.get("isNewFile") is True:
        before = None
    after = _bytes(shown["newContent"])
    yield Edit(message_id=key, path=path, before=before, change=lambda _: after)


# -- backups ---------------------------------------------------------------------------------------------------------


def claude_backups(conversation: Conversation, read: Callable[[str], bytes | None]) -> Iterator[Edit]:
    """What Claude Code's `file-history` folder holds: `read` gives a backup by its name, None if it is not there."""
    seen: set[tuple[str, str]] = set()
    for snapshot in [] if conversation.snapshots is UNSET else conversation.snapshots:
        tracked = snapshot.backups if isinstance(snapshot.backups, dict) else {}
        for path, told in tracked.items():
            if type(told) is not dict or not isinstance(snapshot.message_id, str):
                continue
            name = told.get("backupFileName")
            if (path, str(name)) in seen:
                continue
            seen.add((path, str(name)))
            data = read(name) if isinstance(name, str) else None
            if name is None or data is not None:
                yield Edit(
                    message_id=snapshot.message_id,
                    path=path,
                    before=data,
                    change=lambda text: text,
                    only_seen=True,
                )
