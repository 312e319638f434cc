"""Entries and changes: what is at a path (file, link, folder, other, nothing), and how it changed.

Paths are bytes relative to the root, as in the file system. The content of a file or link is a blob under its SHA-256.
The kinds and the order of fields are stored: they stay.

`doubt` says why an entry of an imported snapshot cannot be verified; `ANY` is whatever the file holds, where a record
has only the content before.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any

import msgspec
from msgspec import Struct

from hansard.errors import HansardError
from hansard.ledger import bodies

FILE, LINK, FOLDER, OTHER, LARGE, UNRECORDED, ANY = "file", "link", "dir", "other", "large", "untold", "any"
HELD = (FILE, LINK)  # kinds whose content is in the ledger


class Refused(HansardError):
    """A path or folder that hansard refuses to touch."""


class Entry(Struct, frozen=True, array_like=True):
    """What is at a path; `mode` is None if unknown (from a transcript) or absent (a link)."""

    kind: str
    mode: int | None = None
    hash: bytes = b""
    size: int = 0
    doubt: str = ""

    @property
    def held(self) -> bool:
        return self.kind in HELD and bool(self.hash)


class Change(Struct, frozen=True, array_like=True):
    """A path with its entries before and after; None: nothing there."""

    path: bytes
    before: Entry | None
    after: Entry | None


def content_hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def file_entry(data: bytes, mode: int | None) -> Entry:
    return Entry(FILE, mode, content_hash(data), len(data))


def same(one: Entry | None, two: Entry | None) -> bool:
    """Whether two entries are equal; an unknown mode equals every mode, an unrecorded entry equals none.

    >>> same(Entry(FILE, 0o644, b"x"), Entry(FILE, None, b"x")), same(None, Entry(FILE))
    (True, False)
    """
    if one is None or two is None:
        return one is two
    if UNRECORDED in (one.kind, two.kind):
        return False
    if (one.kind, one.hash) != (two.kind, two.hash):
        return False
    return one.mode is None or two.mode is None or one.mode == two.mode


def check_path(path: bytes) -> bytes:
    """The path, if it is below the root and outside `.git`; else raises Refused.

    >>> check_path(b"src/main.py")
    b'src/main.py'
    """
    parts = path.split(b"/")
    if not path or b"\0" in path or any(part in (b"", b".", b"..") for part in parts):
        raise Refused(f"the path {os.fsdecode(path)!r} is not below the root; name one as src/main.py")
    if any(map(_is_git, parts)):
        raise Refused(f"{os.fsdecode(path)!r} is inside a .git folder, which hansard does not touch")
    return path


_UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff\u00ad]")
_SHORT_NAME = re.compile(r"\.?git~\d+", re.ASCII)


def _is_git(part: bytes) -> bool:
    """Whether a file system may take a name for `.git`: other case, a short name, ends or letters that it ignores.

    >>> [_is_git(name) for name in (b".GIT", b".git. ", b"GIT~1", ".g\u200bit".encode(), b".git::$INDEX_ALLOCATION")]
    [True, True, True, True, True]
    >>> _is_git(b".gitignore")
    False
    """
    name = _UNSEEN.sub("", part.decode("utf-8", "surrogateescape")).split(":")[0].rstrip(" .").lower()
    return name == ".git" or _SHORT_NAME.fullmatch(name) is not None


def parents(path: bytes) -> list[bytes]:
    """The folders above a path, the outermost first.

    >>> parents(b"a/b/c")
    [b'a', b'a/b']
    """
    parts = path.split(b"/")[:-1]
    return [b"/".join(parts[: i + 1]) for i in range(len(parts))]


_changes = msgspec.msgpack.Decoder(list[Change])


def packed(value: Any) -> bytes:
    """A value in its stored form, with a checksum."""
    return bodies.seal(msgspec.msgpack.encode(value))


def changes_of(body: bytes) -> list[Change]:
    return _changes.decode(bodies.unseal(body))
