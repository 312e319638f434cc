"""What a disk may hold after the power went: what was synced, and of the rest anything, nothing, or torn pieces.

    disk = Disk({...}); for call in calls: disk.step(call); disk.after_power_loss(rng, "mix")

A file's writes, truncations and modes are safe when the file was synced; until then each may be lost, kept, or torn at
512 bytes, whatever became of the others. Names are safe when their folder was synced; until then they are kept up to
some moment and lost after it, in the order they were given (a file system's own log keeps that order). A name is never
made safe by syncing the file it stands for. Disks that lie about a sync are not modelled.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults.disk_layer import Call

SECTOR = 512
WAYS = ("lose", "keep", "mix", "mix")


class _Node:
    """A file, link or folder: what is safe of it, and what happened to it since."""

    def __init__(self, kind: str, data: bytes = b"", mode: int = 0o644) -> None:
        self.kind, self.data, self.mode = kind, bytearray(data), mode
        self.pending: list[Call] = []

    def settle(self) -> None:
        for call in self.pending:
            self.mode = _changed(self.data, self.mode, call)
        self.pending = []


class _Naming(NamedTuple):
    kind: str
    path: str
    to: str
    node: _Node | None


class Left(NamedTuple):
    """What is found at a path after the power went."""

    kind: str
    mode: int
    data: bytes


State = dict[str, Left]


class Disk:
    def __init__(self, start: dict[str, Left]) -> None:
        """All that is there at the start is safe."""
        self._safe = {path: _Node(left.kind, left.data, left.mode) for path, left in start.items()}
        self._now = dict(self._safe)
        self._pending: list[_Naming] = []

    def step(self, call: Call) -> None:
        """A call was made and came back."""
        if call.kind in ("write", "truncate", "mode"):
            self._now[call.path].pending.append(call)
        elif call.kind == "sync":
            node = self._now.get(call.path)
            if node is not None:
                node.settle()
            self._sync_names(call.path)
        elif call.kind in _MADE:
            if call.path not in self._now:
                node = _Node(_MADE[call.kind], call.data, call.offset)
                self._name(_Naming("add", call.path, "", node))
        elif call.kind in ("unlink", "rmdir"):
            self._name(_Naming("remove", call.path, "", None))
        elif call.kind in ("rename", "exchange", "link"):
            self._name(_Naming(call.kind, call.path, call.to, None))

    def _name(self, naming: _Naming) -> None:
        _named(self._now, naming)
        self._pending.append(naming)

    def _sync_names(self, folder: str) -> None:
        last = -1
        for i, naming in enumerate(self._pending):
            if folder in (os.path.dirname(naming.path), naming.to and os.path.dirname(naming.to)):
                last = i
        for naming in self._pending[: last + 1]:
            _named(self._safe, naming)
        self._pending = self._pending[last + 1 :]

    def after_power_loss(self, rng: random.Random, way: str) -> dict[str, Left]:
        """One of the states the disk may be in if the power goes now."""
        names = dict(self._safe)
        count = {"lose": 0, "keep": len(self._pending)}.get(way, rng.randint(0, len(self._pending)))
        for naming in self._pending[:count]:
            _named(names, naming)
        return {path: _left(node, rng, way) for path, node in names.items()}


_MADE = {"create": "file", "mkdir": "folder", "symlink": "link"}


def _named(names: dict[str, _Node], naming: _Naming) -> None:
    if naming.kind == "add" and naming.node is not None:
        names[naming.path] = naming.node
    elif naming.kind == "remove":
        names.pop(naming.path, None)
    elif naming.kind == "rename":
        names[naming.to] = names.pop(naming.path)
    elif naming.kind == "link":
        names[naming.to] = names[naming.path]
    else:
        names[naming.path], names[naming.to] = names[naming.to], names[naming.path]


def _changed(data: bytearray, mode: int, call: Call) -> int:
    if call.kind == "mode":
        return call.offset
    if len(data) < call.offset:
        data.extend(bytes(call.offset - len(data)))
    if call.kind == "write":
        data[call.offset : call.offset + len(call.data)] = call.data
    else:
        del data[call.offset :]
    return mode


def _left(node: _Node, rng: random.Random, way: str) -> Left:
    if way == "lose" or not node.pending:
        return Left(node.kind, node.mode, bytes(node.data))
    data, mode = bytearray(node.data), node.mode
    for call in node.pending:
        chance = rng.random()
        if way == "mix" and chance < 0.4:
            continue
        if way == "mix" and chance > 0.8 and call.kind == "write":
            for piece in _torn(call, rng):
                _changed(data, mode, piece)
        else:
            mode = _changed(data, mode, call)
    return Left(node.kind, mode, bytes(data))


def _torn(call: Call, rng: random.Random) -> list[Call]:
    """Some sectors of a write."""
    pieces, at, end = [], call.offset, call.offset + len(call.data)
    while at < end:
        stop = min(end, (at // SECTOR + 1) * SECTOR)
        if rng.random() < 0.5:
            pieces.append(call._replace(offset=at, data=call.data[at - call.offset : stop - call.offset]))
        at = stop
    return pieces


Line = dict[str, Any]
Happened = Call | Line


def losses(
    happened: list[Happened], start: dict[str, Left], count: int, seed: int
) -> Iterator[tuple[State, list[Line]]]:
    """States after a loss of power at so many moments, each with the lines that had been told until then."""
    rng = random.Random(seed)
    moments = sorted(rng.randrange(len(happened) + 1) for _ in range(count))
    disk, told, done = Disk(start), list[Line](), 0
    for moment in moments:
        for one in happened[done:moment]:
            disk.step(one) if isinstance(one, Call) else told.append(one)
        done = moment
        yield disk.after_power_loss(rng, rng.choice(WAYS)), told


def missed(happened: list[Happened], start: dict[str, Left], folder: str | Path) -> list[str]:
    """Paths that are not what the calls made of them: the layer did not see everything."""
    disk = Disk(start)
    for one in happened:
        if isinstance(one, Call):
            disk.step(one)
    now, seen = held(folder), disk.after_power_loss(random.Random(0), "keep")
    return [path for path in {*now, *seen} if path not in now or path not in seen or now[path].data != seen[path].data]


def held(folder: str | Path) -> dict[str, Left]:
    """All that is below a folder now."""
    found: dict[str, Left] = {}
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(above, name)
            mode = os.lstat(path).st_mode & 0o7777
            if os.path.islink(path):
                found[path] = Left("link", 0, os.fsencode(os.readlink(path)))
            elif os.path.isdir(path):
                found[path] = Left("folder", mode, b"")
            else:
                found[path] = Left("file", mode, Path(path).read_bytes())
    return found


def put(state: dict[str, Left], old: str, new: str) -> None:
    """A state as real files: what lay below the folder `old` lies below `new`, which is empty."""
    modes = []
    for path in sorted(state):
        left, place = state[path], new + path.removeprefix(old)
        if left.kind == "folder":
            os.mkdir(place)
            modes.append((place, left.mode))
        elif left.kind == "link":
            os.symlink(left.data, place)
        else:
            with open(place, "wb") as file:
                file.write(left.data)
            modes.append((place, left.mode))
    for place, mode in reversed(modes):
        os.chmod(place, mode)
