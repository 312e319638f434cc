"""What an undo would do to each path, planned before any file is changed.

Each path has steps: an entry the ledger recorded and the entry to replace it with. The current file passes through
them: if it equals the recorded entry, it becomes the wanted one; if it has changed since, text is merged where the
changes do not overlap, and everything else is kept and reported as a conflict.

A `strict` path is one whose record has hashes and no text: it is never merged, and a conflict there refuses the whole
operation unless it was asked for with `unverified`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hansard.workspace.entries import (
    ANY,
    FILE,
    FOLDER,
    OTHER,
    UNRECORDED,
    Entry,
    Refused,
    check_path,
    file_entry,
    parents,
    same,
)
from hansard.workspace.merge import merge
from hansard.workspace.rooted_fs import OPEN_FOLDER, Root

Content = Callable[[bytes], bytes | None]  # the stored content of a hash, None if there is none
Steps = dict[bytes, list[tuple[Entry | None, Entry | None]]]


class PlannedPath(Struct, frozen=True, kw_only=True):
    """A path with its current and its planned entry; `action`: write, delete, merge, keep (a conflict) or none.

    `refused`: a conflict that refuses the operation; `unverifiable`: it is one only because a hash cannot be checked.
    """

    path: bytes
    found: Entry | None
    wanted: Entry | None
    action: str
    why: str = ""
    refused: bool = False
    unverifiable: bool = False

    @property
    def name(self) -> str:
        return os.fsdecode(self.path)


class FilePlan(Struct, frozen=True, kw_only=True):
    """All paths of an operation; `contents` maps hashes to what would be written and what was found."""

    items: list[PlannedPath]
    contents: dict[bytes, bytes]

    @property
    def touched(self) -> list[PlannedPath]:
        return [item for item in self.items if item.action in ("write", "delete", "merge")]

    @property
    def conflicts(self) -> list[PlannedPath]:
        return [item for item in self.items if item.action == "keep"]

    @property
    def refused(self) -> list[PlannedPath]:
        return [item for item in self.items if item.refused]


def chained(steps: Iterable[tuple[Entry | None, Entry | None]]) -> list[tuple[Entry | None, Entry | None]]:
    """The steps of a path, with consecutive ones joined where nothing else changed the file between them."""
    found: list[tuple[Entry | None, Entry | None]] = []
    for seen, wanted in steps:
        if found and same(found[-1][1], seen):
            found[-1] = (found[-1][0], wanted)
        else:
            found.append((seen, wanted))
    return [(seen, wanted) for seen, wanted in found if not same(seen, wanted)]


def plan_files(
    root: Root,
    steps: Steps,
    content: Content,
    most: int,
    *,
    strict: Collection[bytes] = (),
    unverified: bool = False,
) -> FilePlan:
    """Compare every path with its steps and plan an action for it; `unverified` accepts what cannot be verified."""
    contents: dict[bytes, bytes] = {}
    items: dict[bytes, PlannedPath] = {}
    for path in sorted(steps):
        try:
            check_path(path)
            one = _PathPlan(root, path, content, contents, most, path in strict, unverified)
            items[path] = one.plan(chained(steps[path]))
        except Refused as error:
            items[path] = PlannedPath(path=path, found=None, wanted=None, action="keep", why=str(error))
    _add_parent_folders(root, items)
    _keep_used_folders(root, items)
    for path in strict:
        if (item := items.get(path)) is not None and item.action == "keep":
            items[path] = replace(item, refused=True)
    return FilePlan(items=[items[path] for path in sorted(items)], contents=contents)


class _PathPlan(NamedTuple):
    """The plan of one path."""

    root: Root
    path: bytes
    content: Content
    contents: dict[bytes, bytes]
    most: int
    strict: bool
    unverified: bool

    def plan(self, steps: list[tuple[Entry | None, Entry | None]]) -> PlannedPath:
        found, data = self.root.read_entry(self.path, self.most)
        if found is not None and found.held:
            self.contents[found.hash] = data
        now, merged = found, False

        def keep(why: str, *, unverifiable: bool = False) -> PlannedPath:
            return PlannedPath(
                path=self.path, found=found, wanted=found, action="keep", why=why, unverifiable=unverifiable
            )

        for seen, wanted in steps:
            if same(now, wanted):
                if now is not None and wanted is not None and wanted.mode is not None:
                    now = _plain(wanted)
                continue
            doubt = next((one.doubt for one in (wanted, seen) if one is not None and one.doubt), "")
            if doubt and (wanted is None or wanted.kind != UNRECORDED) and not self.unverified:
                return keep(doubt, unverifiable=True)
            if not _matches(now, seen):
                merged_text = None if self.strict else _merged(now, seen, wanted, self.content, self.contents)
                if merged_text is None:
                    return keep(_conflict(now, seen, wanted, strict=self.strict))
                merged, now = True, merged_text
                continue
            if wanted is not None and wanted.kind not in (FILE, "link", FOLDER):
                return keep(wanted.doubt or "the earlier content is not stored")
            if wanted is not None and wanted.held and wanted.hash not in self.contents:
                held = self.content(wanted.hash)
                if held is None:
                    return keep("the earlier content is not stored")
                self.contents[wanted.hash] = held
            now = _with_mode(wanted, now)
        now = _without_special_bits(found, now)
        if found == now:
            return PlannedPath(path=self.path, found=found, wanted=now, action="none")
        if found is not None and found.kind not in (FILE, "link", FOLDER):
            return keep("its content is not stored, so it is not replaced")
        action = "delete" if now is None else "merge" if merged else "write"
        return PlannedPath(path=self.path, found=found, wanted=now, action=action)


def _matches(now: Entry | None, seen: Entry | None) -> bool:
    """Whether the current entry is the recorded one; of a record without a usable hash, only its kind is compared."""
    if seen is not None and seen.kind == ANY:
        return now is None or now.kind in (FILE, "link")
    if seen is not None and seen.kind == FILE and not seen.hash:
        return now is not None and now.kind == FILE
    return same(now, seen)


def _plain(entry: Entry) -> Entry:
    return Entry(entry.kind, entry.mode, entry.hash, entry.size)


def _with_mode(wanted: Entry | None, now: Entry | None) -> Entry | None:
    """The wanted entry with a mode: the current file's or the default one, if the record has none."""
    if wanted is None:
        return None
    if wanted.mode is None and wanted.kind == FILE:
        mode = now.mode if now is not None and now.kind == FILE else None
        return Entry(FILE, mode if mode is not None else 0o644, wanted.hash, wanted.size)
    if wanted.mode is None and wanted.kind == FOLDER:
        return Entry(FOLDER, 0o755)
    return _plain(wanted)


def _without_special_bits(found: Entry | None, wanted: Entry | None) -> Entry | None:
    """The entry to write: setuid, setgid and sticky only on the very content that has them now."""
    if wanted is None or wanted.kind != FILE or wanted.mode is None or not wanted.mode & 0o7000:
        return wanted
    if found is not None and found.kind == FILE and found.hash == wanted.hash:
        return wanted
    return Entry(FILE, wanted.mode & 0o777, wanted.hash, wanted.size)


def _merged(
    now: Entry | None, seen: Entry | None, wanted: Entry | None, content: Content, contents: dict[bytes, bytes]
) -> Entry | None:
    """The current text with the step applied to it, or the current content with the wanted mode; None: conflict."""
    if now is None or seen is None or wanted is None or not now.kind == seen.kind == wanted.kind == FILE:
        return None
    mode = wanted.mode if wanted.mode is not None and same(Entry(FILE, now.mode), Entry(FILE, seen.mode)) else now.mode
    if now.mode is not None and seen.mode is not None and wanted.mode is not None:
        if now.mode != seen.mode and wanted.mode not in (seen.mode, now.mode):
            return None
    texts = [contents.get(one.hash, content(one.hash)) for one in (seen, now, wanted)]
    if texts[0] is None or texts[1] is None or texts[2] is None:
        return None
    merged_text = merge(texts[0], texts[1], texts[2])
    if merged_text is None:
        return None
    entry = file_entry(merged_text, mode)
    contents[entry.hash] = merged_text
    return entry


def _conflict(now: Entry | None, seen: Entry | None, wanted: Entry | None, *, strict: bool) -> str:
    """Why a path is kept."""
    if now is None:
        return "was deleted since"
    if now.kind == OTHER:
        return "is a device, FIFO or socket now"
    if seen is None:
        return "was created again since"
    if UNRECORDED in (seen.kind, wanted.kind if wanted is not None else ""):
        return "the earlier content is unknown"
    if strict and seen.held and now.held:
        return f"its content is not the recorded one (SHA-256 {_short(seen)} recorded, {_short(now)} found)"
    if wanted is None:
        return "was changed since, so it is not deleted"
    return "was changed since, and the changes do not merge" if now.kind == FILE else f"became a {now.kind} since"


def _short(entry: Entry) -> str:
    return f"{entry.hash.hex()[:12]}..."


def _add_parent_folders(root: Root, items: dict[bytes, PlannedPath]) -> None:
    """Plan missing parent folders; keep files whose parent cannot be a folder."""
    for path in sorted(items):
        item = items[path]
        if item.action not in ("write", "merge") or item.wanted is None:
            continue
        for above in parents(path):
            known = items.get(above)
            if known is not None and known.action != "none":
                if known.wanted is None or known.wanted.kind != FOLDER:
                    why = f"{os.fsdecode(above)!r} is not a folder"
                    items[path] = PlannedPath(path=path, found=item.found, wanted=item.found, action="keep", why=why)
                    break
                continue
            found, _ = root.read_entry(above, 0)
            if found is None:
                items[above] = PlannedPath(path=above, found=None, wanted=Entry(FOLDER, 0o755), action="write")
            elif found.kind != FOLDER:
                why = f"{os.fsdecode(above)!r} is not a folder now"
                items[path] = PlannedPath(path=path, found=item.found, wanted=item.found, action="keep", why=why)
                break


def _keep_used_folders(root: Root, items: dict[bytes, PlannedPath]) -> None:
    """Keep folders that contain anything the plan does not delete."""
    for path in sorted(items, reverse=True):
        item = items[path]
        going = item.found is not None and item.found.kind == FOLDER
        if not going or item.action not in ("write", "delete") or (item.wanted and item.wanted.kind == FOLDER):
            continue
        with root.folder(path) as (fd, name):
            below = os.open(name, OPEN_FOLDER, dir_fd=fd)
            try:
                names = [os.fsencode(one) for one in os.listdir(below)]
            finally:
                os.close(below)
        for name in names:
            inside = items.get(path + b"/" + name)
            if inside is None or not (inside.action == "delete" or (inside.wanted is None and inside.action != "keep")):
                why = f"holds {os.fsdecode(name)!r}, which is not part of this operation"
                items[path] = PlannedPath(path=path, found=item.found, wanted=item.found, action="keep", why=why)
                break
