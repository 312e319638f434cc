"""What stands at a path: a file, a link, a folder, something else, or nothing; and a change from one to another.

Paths are bytes below the root, as the file system has them. What a file or a link holds is a blob under its sha256.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

import msgspec
from msgspec import Struct

from hansard.errors import HansardError
from hansard.ledger import bodies

FILE, LINK, FOLDER, OTHER, LARGE, UNTOLD = "file", "link", "dir", "other", "large", "untold"
HELD = (FILE, LINK)  # the ledger has their content


class Refused(HansardError):
    """A path or folder that hansard does not touch."""


class Entry(Struct, frozen=True, array_like=True):
    """`mode` is None where nobody knows it (a transcript tells only words) or there is none (a link)."""

    kind: str
    mode: int | None = None
    hash: bytes = b""
    size: int = 0

    @property
    def held(self) -> bool:
        return self.kind in HELD


class Change(Struct, frozen=True, array_like=True):
    """One path: what was there and what is there now; None is nothing."""

    path: bytes
    before: Entry | None
    after: Entry | None


def content_hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def file_entry(data: bytes, mode: int | None) -> Entry:
    return Entry(FILE, mode, content_hash(data), len(data))


def same(one: Entry | None, two: Entry | None) -> bool:
    """Whether two entries are the same thing: a mode nobody knows is like every other, what nobody told like nothing.

    >>> same(Entry(FILE, 0o644, b"x"), Entry(FILE, None, b"x")), same(None, Entry(FILE))
    (True, False)
    """
    if one is None or two is None:
        return one is two
    if UNTOLD in (one.kind, two.kind):
        return False
    if (one.kind, one.hash) != (two.kind, two.hash):
        return False
    return one.mode is None or two.mode is None or one.mode == two.mode


def checked(path: bytes) -> bytes:
    """A path that stays below the root and out of repositories' own folders.

    >>> checked(b"src/main.py")
    b'src/main.py'
    """
    parts = path.split(b"/")
    if not path or b"\0" in path or any(part in (b"", b".", b"..") for part in parts):
        raise Refused(f"the path {os.fsdecode(path)!r} is not below the root; name one as src/main.py")
    if any(part.lower() == b".git" for part in parts):
        raise Refused(f"{os.fsdecode(path)!r} belongs to a git repository's own files; hansard does not touch them")
    return path


def parents(path: bytes) -> list[bytes]:
    """The folders above a path, the outermost first.

    >>> parents(b"a/b/c")
    [b'a', b'a/b']
    """
    parts = path.split(b"/")[:-1]
    return [b"/".join(parts[: i + 1]) for i in range(len(parts))]


_changes = msgspec.msgpack.Decoder(list[Change])


def packed(value: Any) -> bytes:
    """A value of ours as it is stored, with a checksum."""
    return bodies.seal(msgspec.msgpack.encode(value))


def changes_of(body: bytes) -> list[Change]:
    return _changes.decode(bodies.unseal(body))
