"""Which contents the git repository of a workspace holds, asked of git itself."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable


def known_to_git(root: str, contents: Iterable[bytes]) -> set[bytes]:
    """The contents that the repository around a folder has as blobs; none without git or a repository."""
    names = {
        hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest(): data for data in contents
    }
    git = shutil.which("git")
    if not names or git is None or not _in_repository(root):
        return set()
    command = [git, "-C", root, "-c", "core.fsmonitor=false", "cat-file", "--batch-check=%(objectname) %(objecttype)"]
    try:
        done = subprocess.run(
            command,
            input="\n".join(names).encode() + b"\n",
            capture_output=True,
            timeout=20,
            check=False,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return set()
    found = (line.split(" ") for line in done.stdout.decode("ascii", "replace").splitlines())
    return {names[line[0]] for line in found if len(line) == 2 and line[1] == "blob" and line[0] in names}


def _in_repository(root: str) -> bool:
    folder = root
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return True
