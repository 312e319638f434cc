"""Ignore rules: `.gitignore` and `.hansardignore` of every folder, and names of caches and dependencies.

Rules of a deeper folder win over those above it, later lines over earlier ones, as git reads them.
"""

from __future__ import annotations

import hashlib
import os

from pathspec import GitIgnoreSpec

FILES = (".gitignore", ".hansardignore")
SLOTS = ".hansard-"  # prefix of the folders and files that hansard stages in the root
ALWAYS_IGNORED = frozenset({".git", ".hg", ".svn", ".jj"})
DEFAULT_RULES = b"""node_modules
__pycache__
.venv
.mypy_cache
.pytest_cache
.ruff_cache
.tox
.gradle
.terraform
.DS_Store
"""


class Rules:
    """The rules of a folder: its own, then those of the folders above."""

    def __init__(self, above: Rules | None, folder: str, texts: list[bytes]) -> None:
        self._above, self._folder = above, folder
        lines = [line for text in texts for line in text.decode("utf-8", "surrogateescape").splitlines()]
        self._spec = GitIgnoreSpec.from_lines(lines)
        start: bytes = above.key if above is not None else b""
        self.key: bytes = hashlib.sha256(start + b"".join(len(text).to_bytes(8) + text for text in texts)).digest()[:8]

    def ignores(self, path: str, folder: bool) -> bool:
        """Whether a path (relative to the root) in this folder is ignored."""
        name = path[len(self._folder) :] + ("/" if folder else "")
        decision = self._spec.check_file(name).include
        if decision is not None:
            return decision
        return self._above.ignores(path, folder) if self._above is not None else False


def start() -> Rules:
    """The default rules, in force above the root."""
    return Rules(None, "", [DEFAULT_RULES])


def below(above: Rules, folder: str, fd: int, names: set[str]) -> Rules:
    """The rules of a folder that contains these names."""
    texts: list[bytes] = []
    for name in FILES:
        if name in names:
            try:
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
            except OSError:
                continue
            try:
                texts.append(os.read(file, 1 << 20))
            except OSError:
                pass
            finally:
                os.close(file)
    return Rules(above, folder, texts) if texts else above


def always(name: str) -> bool:
    """Whether a name is ignored regardless of the rules."""
    return name in ALWAYS_IGNORED or name.startswith(SLOTS)
