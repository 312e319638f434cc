"""Edits of the user's files in Codex rollouts: the changes that `patch_apply_end` lists, updates as unified diffs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hansard.formats.coding_agents.codex.records import NAME
from hansard.formats.coding_agents.edits import UNKNOWN, Calls, Content, Edit, Unknown, content_of
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
                before=UNKNOWN,
                otherwise=None,
                change=lambda _, content=content: content,  # type: ignore[misc]
            )
        elif kind == "delete":
            yield Edit(message_id=key, path=path, before=content, change=lambda _: None)
        elif kind == "update" and isinstance(change.get("unified_diff"), str):
            diff, target = change["unified_diff"], change.get("move_path")
            if isinstance(target, str) and target != path:
                moved: list[Content] = [UNKNOWN]

                def leave(text: Content, diff: str = diff, moved: list[Content] = moved) -> Content:
                    moved[0] = apply_diff(text, diff)
                    return None

                yield Edit(message_id=key, path=path, before=UNKNOWN, change=leave)
                yield Edit(message_id=key, path=target, before=UNKNOWN, change=lambda _, moved=moved: moved[0])  # type: ignore[misc]
            else:
                yield Edit(
                    message_id=key,
                    path=path,
                    before=UNKNOWN,
                    change=lambda text, diff=diff: apply_diff(text, diff),  # type: ignore[misc]
                    reverse=lambda text, diff=diff: apply_diff(text, reverse_diff(diff)),  # type: ignore[misc]
                )


_LINE = re.compile(rb"[^\n]*\n|[^\n]+")  # lines as diffs know them: only a line feed ends one
_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.ASCII)


def apply_diff(text: Content, diff: str) -> Content:
    """A text with a unified diff applied; unknown where the diff does not match.

    >>> apply_diff(b"a\\nb\\n", "@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n")
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


def reverse_diff(diff: str) -> str:
    """The diff that reverts a diff.

    >>> reverse_diff("@@ -1,2 +1 @@\\n a\\n-b\\n")
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
