"""A disk that fails when told to: the n-th write, sync or truncate of a SQLite file, once or from then on."""

from __future__ import annotations

from typing import Any

import apsw


class Fault:
    """Counts down with every change to a file; below zero it fails."""

    def __init__(self) -> None:
        self.left = -1
        self.sticky = False
        self.error: type[apsw.Error] = apsw.IOError
        self.count = 0

    def arm(self, left: int, error: type[apsw.Error], *, sticky: bool) -> None:
        self.left, self.error, self.sticky, self.count = left, error, sticky, 0

    def disarm(self) -> None:
        self.left = -1

    def step(self) -> None:
        self.count += 1
        if self.left < 0:
            return
        if self.left == 0:
            if not self.sticky:
                self.left = -1
            raise self.error("told to fail")
        self.left -= 1


class FaultyDisk(apsw.VFS):
    """Register it once; `fault` says what happens."""

    def __init__(self, name: str, fault: Fault) -> None:
        self.fault = fault
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: Any) -> Any:
        return _File(name, flags, self.fault)


class _File(apsw.VFSFile):
    def __init__(self, name: Any, flags: Any, fault: Fault) -> None:
        self.fault = fault
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self.fault.step()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self.fault.step()
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:
        self.fault.step()
        super().xTruncate(size)
