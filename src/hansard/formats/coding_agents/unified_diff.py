"""Unified diffs applied to files, and reverted on them, by the file's own line ends."""

from __future__ import annotations

import difflib
import re

from hansard.formats.coding_agents.edits import UNKNOWN, Content, Unknown

LINE = re.compile(rb"[^\n]*\n|[^\n]+")  # lines as diffs know them: only a line feed ends one
_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.ASCII)
_NUMBERED = re.compile(r"([ +-]) *(\d{1,9}) ?(.*)$", re.DOTALL | re.ASCII)


def apply_diff(text: Content, diff: str) -> Content:
    """A text with a unified diff applied; unknown where the diff does not match.

    A diff with plain line feeds applies to a file with other line ends, whose lines then get those of the file.

    >>> apply_diff(b"a\\nb\\n", "@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n")
    b'a\\nc\\n'
    >>> apply_diff(b"a\\r\\nb\\r\\n", "@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n")
    b'a\\r\\nc\\r\\n'
    """
    if text is None or isinstance(text, Unknown):
        return UNKNOWN
    lines = LINE.findall(text)
    hunks = LINE.findall(diff.encode("utf-8", "surrogatepass"))
    end = b"\r\n" if b"\r\n" not in diff.encode("utf-8", "surrogatepass") and _ends(lines) else b""
    out: list[bytes] = []
    at = number = 0
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
                out.append(body[:-1] + end if end and body.endswith(b"\n") else body)
            elif sign in (b" ", b"-", b"\n"):
                body = b"\n" if sign == b"\n" else body
                if at >= len(lines) or _bare(lines[at], end) != _bare(body, end):
                    return UNKNOWN
                if sign != b"-":
                    out.append(lines[at])
                at += 1
    return b"".join(out + lines[at:])


def _ends(lines: list[bytes]) -> bool:
    """Whether most lines of a file end with CR LF."""
    return sum(line.endswith(b"\r\n") for line in lines) * 2 > len(lines)


def _bare(line: bytes, end: bytes) -> bytes:
    line = line.removesuffix(b"\n")
    return line.removesuffix(b"\r") if end else line


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


def diff_of(before: bytes, after: bytes) -> str:
    """The unified diff between two texts, without context."""
    old, new = ([line.decode("utf-8", "surrogateescape") for line in LINE.findall(text)] for text in (before, after))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, n=0)
        if not line.startswith(("---", "+++"))
    )


def from_numbered(diff: str) -> str:
    """A diff whose lines carry their numbers, as pi shows it, as a unified diff.

    >>> from_numbered(" 1 a\\n-2 b\\n+2 c")
    '@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n'
    """
    hunks: list[tuple[int, int, list[str]]] = []
    shift, fresh = 0, True
    for line in diff.split("\n"):
        found = _NUMBERED.fullmatch(line)
        if found is None:
            fresh = True
            continue
        sign, number, text = found[1], int(found[2]), found[3]
        if fresh:
            hunks.append((number - shift if sign == "+" else number, number if sign == "+" else number + shift, []))
            fresh = False
        shift += (sign == "+") - (sign == "-")
        hunks[-1][2].append(f"{sign}{text}\n")
    out = ""
    for old, new, lines in hunks:
        counts = [sum(not line.startswith(other) for line in lines) for other in ("+", "-")]
        starts = [start if count else start - 1 for start, count in zip((old, new), counts, strict=True)]
        out += f"@@ -{starts[0]},{counts[0]} +{starts[1]},{counts[1]} @@\n" + "".join(lines)
    return out
