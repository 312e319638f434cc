"""Files of many conversations: one object per line, or one array of objects.

The document of one conversation is its line with the blank lines around it, or an array of one. `split` and `join` keep
every line as it is, and an array equal as JSON. Text around an object (blank lines, a byte order mark, CRLF, no newline
at the end) is kept in spelling hints unless it is a single newline.
"""

from __future__ import annotations

from typing import Any

from hansard.errors import Unreadable
from hansard.model import exact_json

_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_AROUND = frozenset("\ufeff \t\r\n")


def split(raw: bytes) -> list[bytes]:
    """The documents of one conversation each.

    >>> split(b'{"a":1}\\n\\n{"a":2}'), split(b'[{"a":1},{"a":2}]')
    ([b'{"a":1}\\n', b'\\n{"a":2}'], [b'[{"a":1}]', b'[{"a":2}]'])
    """
    if is_array(raw):
        value = exact_json.decode(raw)
        return [exact_json.encode([item]) for item in value] if type(value) is list else [raw]
    found: list[bytes] = []
    waiting = b""
    for line in raw.split(b"\n"):
        waiting += line + b"\n"
        if line.strip(_BLANK + _BOM):
            found.append(waiting)
            waiting = b""
    if not found:
        return [raw]
    found[-1] = (found[-1] + waiting)[:-1]  # the last line has no newline
    return found if len(found) == 1 or exact_json.is_json(found[0]) else [raw]


def join(documents: list[bytes]) -> bytes:
    """Join documents into one file of the shape of the first one."""
    if not documents or is_array(documents[0]):
        items = (item.strip(_BLANK) for item in map(_item, documents))
        return b"[" + b",".join(items) + b"]"
    lines = [_item(document) if is_array(document) else document for document in documents]
    return b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines[:-1]) + lines[-1]


def is_array(raw: bytes) -> bool:
    """Whether it is an array, not lines."""
    return raw[:64].lstrip(_BLANK + _BOM).startswith(b"[")


def _item(document: bytes) -> bytes:
    if not is_array(document):
        return document
    return document.strip(_BLANK + _BOM)[1:-1]


def read_one(raw: bytes, default: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The object of a document, and hints for its place in the file; the default shape is `list` or `lines`."""
    core = raw.strip(_BLANK + _BOM)
    start = raw.index(core)
    before, after = (edge.decode("utf-8", "replace") for edge in (raw[:start], raw[start + len(core) :]))
    if not _AROUND.issuperset(before + after):  # a part of a byte order mark
        raise Unreadable("invalid UTF-8 around the object", way_out="save it as UTF-8")
    value: Any = _value(core)
    hints: dict[str, Any] = {}
    if type(value) is list and len(value) == 1:
        if default != "list":
            hints["shape"] = "list"
        value = value[0]
    else:
        if default != "lines":
            hints["shape"] = "lines"
        hints |= {"before": before} if before else {}
        hints |= {"after": after} if after != "\n" else {}
    if type(value) is not dict:
        raise Unreadable("expected an object")
    return value, hints


def _value(core: bytes) -> Any:
    """Decode the value; errors name no line, because the caller knows the line of the file."""
    try:
        return exact_json.decode(core)
    except Unreadable as error:
        problem = error.problem if b"\n" in core else error.problem.replace("at line 1, column", "at column")
        raise Unreadable(problem, error.path, error.way_out) from None


def write_one(value: Any, hints: dict[str, Any], default: str) -> bytes:
    """Write the document of one conversation."""
    shape = hints.get("shape")
    text = exact_json.encode(value)
    if (shape if shape in ("list", "lines") else default) == "list":
        return b"[" + text + b"]"
    return _around(hints, "before", "").encode() + text + _around(hints, "after", "\n").encode()


def _around(hints: dict[str, Any], key: str, default: str) -> str:
    text = hints.get(key)
    return text if type(text) is str and _AROUND.issuperset(text) else default


def first_objects(document: Any, count: int = 3) -> list[Any]:
    """The first objects of parsed data or of the bytes of a file of lines, for detection."""
    if type(document) is list:
        return document[:count]
    if type(document) is not bytes:
        return [document]
    try:
        lines = [line for line in document[:1_000_000].split(b"\n") if line.strip(_BLANK + _BOM)]
        whole = lines[:-1] if len(document) > 1_000_000 and len(lines) > 1 else lines
        return [exact_json.decode(line) for line in whole[:count]]
    except Unreadable:
        return []
