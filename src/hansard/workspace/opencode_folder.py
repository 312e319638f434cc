"""OpenCode's snapshots of the workspace: git trees before and after each step, in a repository in its own folder.

    snapshot/PROJECT/HASH    a bare repository; objects are pruned after some days
    step-start, step-finish  the tree before and after

They include what shell commands and sub-agents changed. Where a tree is gone, what the calls record is used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator

from hansard.formats.coding_agents.edits import UNKNOWN, Content, Edit
from hansard.formats.residue import unpack
from hansard.model.conversation import Conversation

FORMATS = ("opencode", "kilo")
_TREE = re.compile("[0-9a-f]{40,64}")
_LARGEST = 64 << 20
_Side = tuple[int | None, str]  # mode where it is executable, and the name of the blob; empty where there is no file
_Changes = dict[str, tuple[_Side, _Side]]  # by path


def with_snapshots(conversation: Conversation, name: str, folder: str, given: Iterable[Edit]) -> Iterator[Edit]:
    """The edits of a session, those of steps with snapshots replaced by what the snapshots say."""
    project = unpack(name, conversation.extra)[0]
    root, git, steps = project.get("worktree"), shutil.which("git"), _steps(conversation, name)
    if git is None or not steps or not isinstance(root, str):
        yield from given
        return
    last = next(reversed(steps.values()))[1]
    place = _repository(git, os.path.join(folder, "snapshot", str(project.get("project"))), last)
    if place is None:
        yield from given
        return
    changes: dict[str, _Changes] = {}
    for key, (before, after) in steps.items():
        if before == after:
            changes[key] = {}
        elif (found := _changes(git, place, before, after)) is not None:
            changes[key] = found
    blobs = {blob for found in changes.values() for sides in found.values() for _, blob in sides if blob}
    contents = _contents(git, place, sorted(blobs))
    own = _own(conversation, set(changes))
    order = {str(one.id): i for i, one in enumerate(conversation.messages)}
    edits = [(order.get(one.message_id, 0), one) for one in given if one.message_id not in own]
    for key, found in changes.items():
        if own[key] == key:
            edits += [(order[key], one) for one in _edits(key, found, root, contents)]
    yield from (one for _, one in sorted(edits, key=lambda pair: pair[0]))


def covered(conversation: Conversation, name: str, imaged: set[str | None]) -> set[str]:
    """The messages whose changes snapshots describe: those of steps that changed nothing, or were recorded by them."""
    steps = _steps(conversation, name)
    return set(_own(conversation, {key for key, (before, after) in steps.items() if before == after or key in imaged}))


def _steps(conversation: Conversation, name: str) -> dict[str, tuple[str, str]]:
    """The trees before and after, by message."""
    found: dict[str, tuple[str, str]] = {}
    for message in conversation.messages:
        step = unpack(name, message.extra)[0].get("snapshot")
        trees = (step.get("before"), step.get("after")) if isinstance(step, dict) else ()
        if all(isinstance(one, str) and _TREE.fullmatch(one) for one in trees) and trees:
            found[str(message.id)] = (str(trees[0]), str(trees[1]))
    return found


def _own(conversation: Conversation, steps: set[str]) -> dict[str, str]:
    """The messages that steps answer for: their own results, and sub-agents that they started; with the first step."""
    own: dict[str, str] = {}
    for message in conversation.messages:
        key, above = str(message.id), message.parent_message_id
        inside = message.sidechain is True or message.role == "tool"
        if inside and isinstance(above, str) and above in own:
            own[key] = own[above]
        elif key in steps:
            own[key] = key
    return own


def _edits(key: str, changes: _Changes, root: str, contents: dict[str, bytes]) -> Iterator[Edit]:
    for name, ((old_mode, old), (new_mode, new)) in changes.items():
        before: Content = contents.get(old, UNKNOWN) if old else None
        after: Content = contents.get(new, UNKNOWN) if new else None
        if old and new:  # only a change of the mode is one
            same = old_mode == new_mode
            old_mode, new_mode = (None, None) if same else (old_mode or 0o644, new_mode or 0o644)
        yield Edit(
            message_id=key,
            path=os.path.join(root, name),
            before=before,
            change=lambda _, after=after: after,  # type: ignore[misc]
            modes=(old_mode, new_mode),
        )


# -- git -------------------------------------------------------------------------------------------------------------


def _repository(git: str, folder: str, tree: str) -> str | None:
    """The repository of a project that has a tree; there is one for each folder, in older releases one for all."""
    try:
        inside = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return None
    found = (one for one in [folder, *inside] if os.path.isfile(os.path.join(one, "HEAD")))
    return next((one for one in found if _git(git, one, "cat-file", "-e", tree) is not None), None)


def _changes(git: str, place: str, before: str, after: str) -> _Changes | None:
    """The files that differ between two trees; None if one of them is gone."""
    given = _git(git, place, "diff-tree", "-r", "-z", "--no-renames", "--full-index", before, after)
    if given is None:
        return None
    fields = given.decode("utf-8", "surrogateescape").split("\0")
    found: _Changes = {}
    for head, name in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = head.removeprefix(":").split(" ")
        if {old_mode, new_mode} <= {"000000", "100644", "100755"}:
            found[name] = (_side(old_mode, old), _side(new_mode, new))
    return found


def _side(mode: str, blob: str) -> _Side:
    return (0o755 if mode == "100755" else None, blob if mode != "000000" else "")


def _contents(git: str, place: str, blobs: list[str]) -> dict[str, bytes]:
    given = _git(git, place, "cat-file", "--batch", text="".join(f"{one}\n" for one in blobs).encode()) or b""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(given):
        line, _, _ = given[at:].partition(b"\n")
        name, kind, *size = line.decode("ascii", "replace").split(" ")
        at += len(line) + 1
        if kind == "blob" and size:
            found[name] = given[at : at + int(size[0])]
            at += int(size[0]) + 1
    return found


def _git(git: str, place: str, *command: str, text: bytes = b"") -> bytes | None:
    """What git prints; None if it failed. It reads the repository only."""
    settings = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_CONFIG_NOSYSTEM": "1"}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(
            [git, f"--git-dir={place}", *command],
            input=text,
            cwd="/",
            capture_output=True,
            timeout=60,
            check=False,
            env={**environment, **settings},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 and len(done.stdout) <= _LARGEST * 16 else None
