"""What an undo would do, path by path, before anything is touched.

For every path there are steps back (or forward again): what the ledger saw after a change, and what was there before
it. The file as it is now goes through them: where it is what the ledger saw, it becomes what was before; where it has
changed since, text is merged if that can be done cleanly, and everything else is left alone and named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from msgspec import Struct

from hansard.workspace.entries import FILE, FOLDER, OTHER, UNTOLD, Entry, Refused, checked, file_entry, parents, same
from hansard.workspace.merge import merge
from hansard.workspace.rooted_fs import OPEN_FOLDER, Root

Content = Callable[[bytes], bytes | None]  # what is held under a hash
Steps = dict[bytes, list[tuple[Entry | None, Entry | None]]]


class Planned(Struct, frozen=True, kw_only=True):
    """One path: as it is now and as it would be. `action` is write, delete, merge, keep (a conflict) or none."""

    path: bytes
    found: Entry | None
    wanted: Entry | None
    action: str
    why: str = ""

    @property
    def name(self) -> str:
        return os.fsdecode(self.path)


class Plan(Struct, frozen=True, kw_only=True):
    """All paths of an undo; `contents` is what would be written and what was found, by its hash."""

    items: list[Planned]
    contents: dict[bytes, bytes]

    @property
    def touched(self) -> list[Planned]:
        return [item for item in self.items if item.action in ("write", "delete", "merge")]

    @property
    def conflicts(self) -> list[Planned]:
        return [item for item in self.items if item.action == "keep"]


def chained(steps: Iterable[tuple[Entry | None, Entry | None]]) -> list[tuple[Entry | None, Entry | None]]:
    """Steps of one path with those joined that follow one another without anybody in between."""
    found: list[tuple[Entry | None, Entry | None]] = []
    for seen, wanted in steps:
        if found and same(found[-1][1], seen):
            found[-1] = (found[-1][0], wanted)
        else:
            found.append((seen, wanted))
    return [(seen, wanted) for seen, wanted in found if not same(seen, wanted)]


def plan(root: Root, steps: Steps, content: Content, most: int) -> Plan:
    """Look at every path and say what would become of it."""
    contents: dict[bytes, bytes] = {}
    items: dict[bytes, Planned] = {}
    for path in sorted(steps):
        try:
            checked(path)
            items[path] = _one(root, path, chained(steps[path]), content, contents, most)
        except Refused as error:
            items[path] = Planned(path=path, found=None, wanted=None, action="keep", why=str(error))
    _folders_needed(root, items)
    _folders_kept(root, items)
    return Plan(items=[items[path] for path in sorted(items)], contents=contents)


def _one(
    root: Root,
    path: bytes,
    steps: list[tuple[Entry | None, Entry | None]],
    content: Content,
    contents: dict[bytes, bytes],
    most: int,
) -> Planned:
    found, data = root.look(path, most)
    if found is not None and found.held:
        contents[found.hash] = data
    now, merged = found, False

    def keep(why: str) -> Planned:
        return Planned(path=path, found=found, wanted=found, action="keep", why=why)

    for seen, wanted in steps:
        if same(now, wanted):
            if now is not None and wanted is not None and wanted.mode is not None:
                now = wanted
            continue
        if not same(now, seen):
            together = _merged(now, seen, wanted, content, contents)
            if together is None:
                return keep(_why(now, seen, wanted))
            merged, now = True, together
            continue
        if wanted is not None and wanted.kind not in (FILE, "link", FOLDER):
            return keep("what was there before is not held")
        if wanted is not None and wanted.held and wanted.hash not in contents:
            held = content(wanted.hash)
            if held is None:
                return keep("what was there before is not held")
            contents[wanted.hash] = held
        if wanted is not None and wanted.mode is None and wanted.kind == FILE:
            mode = now.mode if now is not None and now.kind == FILE else None
            wanted = Entry(FILE, mode if mode is not None else 0o644, wanted.hash, wanted.size)
        if wanted is not None and wanted.mode is None and wanted.kind == FOLDER:
            wanted = Entry(FOLDER, 0o755)
        now = wanted
    if found == now:
        return Planned(path=path, found=found, wanted=now, action="none")
    if found is not None and found.kind not in (FILE, "link", FOLDER):
        return keep("is not held, so it is not replaced")
    action = "delete" if now is None else "merge" if merged else "write"
    return Planned(path=path, found=found, wanted=now, action=action)


def _merged(
    now: Entry | None, seen: Entry | None, wanted: Entry | None, content: Content, contents: dict[bytes, bytes]
) -> Entry | None:
    """Both the change since and the step back, for files of text; or only the mode, where only that is to change."""
    if now is None or seen is None or wanted is None or not now.kind == seen.kind == wanted.kind == FILE:
        return None
    mode = wanted.mode if wanted.mode is not None and same(Entry(FILE, now.mode), Entry(FILE, seen.mode)) else now.mode
    if now.mode is not None and seen.mode is not None and wanted.mode is not None:
        if now.mode != seen.mode and wanted.mode not in (seen.mode, now.mode):
            return None
    texts = [contents.get(one.hash, content(one.hash)) for one in (seen, now, wanted)]
    if texts[0] is None or texts[1] is None or texts[2] is None:
        return None
    together = merge(texts[0], texts[1], texts[2])
    if together is None:
        return None
    entry = file_entry(together, mode)
    contents[entry.hash] = together
    return entry


def _why(now: Entry | None, seen: Entry | None, wanted: Entry | None) -> str:
    if now is None:
        return "was deleted since"
    if now.kind == OTHER:
        return "is a device, FIFO or socket now"
    if seen is None:
        return "was made anew since"
    if UNTOLD in (seen.kind, wanted.kind if wanted is not None else ""):
        return "nobody told what was there"
    if wanted is None:
        return "was changed since, so it is not deleted"
    return "was changed since, and the changes do not merge" if now.kind == FILE else f"became a {now.kind} since"


def _folders_needed(root: Root, items: dict[bytes, Planned]) -> None:
    """Folders that have to be there for what is put back, where nobody told of them."""
    for path in sorted(items):
        item = items[path]
        if item.action not in ("write", "merge") or item.wanted is None:
            continue
        for above in parents(path):
            known = items.get(above)
            if known is not None and known.action != "none":
                if known.wanted is None or known.wanted.kind != FOLDER:
                    why = f"{os.fsdecode(above)!r} is no folder"
                    items[path] = Planned(path=path, found=item.found, wanted=item.found, action="keep", why=why)
                    break
                continue
            found, _ = root.look(above, 0)
            if found is None:
                items[above] = Planned(path=above, found=None, wanted=Entry(FOLDER, 0o755), action="write")
            elif found.kind != FOLDER:
                why = f"{os.fsdecode(above)!r} is no folder now"
                items[path] = Planned(path=path, found=item.found, wanted=item.found, action="keep", why=why)
                break


def _folders_kept(root: Root, items: dict[bytes, Planned]) -> None:
    """Folders that are to go but hold something that is not ours stay, with a reason."""
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
                why = f"holds {os.fsdecode(name)!r}, which is not this thread's"
                items[path] = Planned(path=path, found=item.found, wanted=item.found, action="keep", why=why)
                break
