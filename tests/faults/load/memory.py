"""How much memory this process has held at most; not `ru_maxrss`, which a child begins with what its parent had."""

from __future__ import annotations

from pathlib import Path


def peak() -> int:
    """In kilobytes."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
