"""Three-way merge of text, line by line: the changes of both sides applied to their common base, or a conflict.

Only text is merged (UTF-8 without NUL). Changes that touch or overlap are a conflict, unless they are equal.
"""

from __future__ import annotations

from difflib import SequenceMatcher

_LIMIT = 4 << 20  # bytes


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The text with both changes; None for a conflict.

    >>> merge(b"a\\nb\\nc\\n", b"A\\nb\\nc\\n", b"a\\nb\\nC\\n")
    b'A\\nb\\nC\\n'
    >>> merge(b"a\\n", b"b\\n", b"c\\n") is None
    True
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    if not (_text(base) and _text(ours) and _text(theirs)):
        return None
    lines = base.splitlines(keepends=True)
    edits = sorted({*_edits(lines, ours), *_edits(lines, theirs)})
    out: list[bytes] = []
    at, before = 0, None
    for start, end, new in edits:
        if before is not None and (start < before[1] or start <= before[0] or (start == before[1])):
            return None
        out += lines[at:start]
        out += new
        at, before = end, (start, end)
    out += lines[at:]
    return b"".join(out)


def _edits(lines: list[bytes], other: bytes) -> list[tuple[int, int, tuple[bytes, ...]]]:
    """The edits from the base: start line, end line, replacement."""
    new = other.splitlines(keepends=True)
    found = SequenceMatcher(None, lines, new, autojunk=False).get_opcodes()
    return [(a, b, tuple(new[c:d])) for kind, a, b, c, d in found if kind != "equal"]


def _text(data: bytes) -> bool:
    if len(data) > _LIMIT or b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
