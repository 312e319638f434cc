"""Trees of files for tests: what is in them, random edits, and a conversation that makes them."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

from hansard import Ledger
from hansard.model import Message, TextPart

NAMES = [b"a.txt", b"b", b"two words", b"new\nline", b"\xff\xfe", b"d", b"e", b"-rf", b"caf\xc3\xa9", b"CAF\xc3\x89"]
TEXTS = [b"", b"one\n", b"one\ntwo\nthree\n", b"\0\1\2", b"x" * 5000, b"\xff\xfe\n", b"one\r\ntwo"]
MODES = [0o644, 0o755, 0o600, 0o444, 0o711]


def say(role: str, text: str = "x") -> Message:
    return Message(role=role, parts=[TextPart(text=text)])


def turn(ledger: Ledger, thread_id: str) -> str:
    """Somebody asks and is answered; the id of the answer."""
    ledger.append(thread_id, say("user"))
    answer = ledger.append(thread_id, say("assistant")).id
    assert isinstance(answer, str)
    return answer


def tree(root: Path | str) -> dict[bytes, tuple[str, int, bytes]]:
    """All that is below a folder: kind, mode, content."""
    found: dict[bytes, tuple[str, int, bytes]] = {}
    top = os.fsencode(root)
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            mode = stat.S_IMODE(info.st_mode)
            if stat.S_ISLNK(info.st_mode):
                one = ("link", 0, os.readlink(path))
            elif stat.S_ISDIR(info.st_mode):
                one = ("dir", mode, b"")
            elif stat.S_ISREG(info.st_mode):
                one = ("file", mode, Path(os.fsdecode(path)).read_bytes())
            else:
                one = ("other", mode, b"")
            found[os.path.relpath(path, top)] = one
    return found


Edit = Callable[[bytes], None]
_paths = st.builds(b"/".join, st.lists(st.sampled_from(NAMES), min_size=1, max_size=3))


def _clear(path: bytes) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _room(root: bytes, path: bytes) -> bytes:
    """The path with folders above it; what is in the way goes."""
    whole = root
    for part in path.split(b"/")[:-1]:
        whole = os.path.join(whole, part)
        if os.path.islink(whole) or not os.path.isdir(whole):
            _clear(whole)
            os.mkdir(whole)
    return os.path.join(root, path)


def _write(path: bytes, data: bytes, mode: int) -> Edit:
    def edit(root: bytes) -> None:
        whole = _room(root, path)
        if os.path.islink(whole) or os.path.isdir(whole):
            _clear(whole)
        if os.path.exists(whole):
            os.chmod(whole, 0o600)
        with open(whole, "wb") as file:
            file.write(data)
        os.chmod(whole, mode)

    return edit


def _link(path: bytes, target: bytes) -> Edit:
    def edit(root: bytes) -> None:
        whole = _room(root, path)
        _clear(whole)
        os.symlink(target, whole)

    return edit


def _folder(path: bytes, mode: int) -> Edit:
    def edit(root: bytes) -> None:
        whole = _room(root, path)
        if os.path.islink(whole) or not os.path.isdir(whole):
            _clear(whole)
            os.mkdir(whole)
        os.chmod(whole, mode)

    return edit


def _delete(path: bytes) -> Edit:
    return lambda root: _clear(os.path.join(root, path)) if _plain(root, path) else None


def _plain(root: bytes, path: bytes) -> bool:
    """Whether no folder on the way is a link."""
    parts = path.split(b"/")
    return not any(os.path.islink(os.path.join(root, *parts[:i])) for i in range(1, len(parts)))


def _rename(old: bytes, new: bytes) -> Edit:
    def edit(root: bytes) -> None:
        source = os.path.join(root, old)
        if not _plain(root, old) or not os.path.lexists(source) or new.startswith(old) or old.startswith(new):
            return
        target = _room(root, new)
        if os.path.lexists(source):
            _clear(target)
            os.rename(source, target)

    return edit


def _chmod(path: bytes, mode: int) -> Edit:
    def edit(root: bytes) -> None:
        whole = os.path.join(root, path)
        if _plain(root, path) and os.path.isfile(whole) and not os.path.islink(whole):
            os.chmod(whole, mode)

    return edit


edits = st.one_of(
    st.builds(_write, _paths, st.sampled_from(TEXTS), st.sampled_from(MODES)),
    st.builds(_link, _paths, st.sampled_from([b"a.txt", b"/etc/passwd", b"nowhere\xff", b"d"])),
    st.builds(_folder, _paths, st.sampled_from([0o755, 0o700])),
    st.builds(_delete, _paths),
    st.builds(_rename, _paths, _paths),
    st.builds(_chmod, _paths, st.sampled_from(MODES)),
)
