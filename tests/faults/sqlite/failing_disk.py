"""A disk that fails when told to: the n-th call on it, once or from then on, with EIO or ENOSPC."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

from tests.faults.disk_layer import Call

ROOM = ("create", "write", "mkdir", "symlink", "rename", "sync")  # what a full disk may refuse


class Fault(NamedTuple):
    """`at` counts from 0."""

    at: int
    number: int
    lasting: bool

    def __str__(self) -> str:
        return f"{errno.errorcode[self.number]} at call {self.at}{' and after' if self.lasting else ''}"


class FailingDisk:
    """Give it to a `Layer` as `before`. Only while it is armed it counts and fails."""

    def __init__(self) -> None:
        self._fault: Fault | None = None
        self.calls = self.failed = 0

    def arm(self, fault: Fault) -> None:
        self._fault, self.calls, self.failed = fault, 0, 0

    def disarm(self) -> None:
        self._fault = None

    def __call__(self, call: Call) -> None:
        fault = self._fault
        if fault is None or (fault.number == errno.ENOSPC and call.kind not in ROOM):
            return
        at, self.calls = self.calls, self.calls + 1
        if at == fault.at or (fault.lasting and at > fault.at):
            self.failed += 1
            raise OSError(fault.number, os.strerror(fault.number), call.path)
