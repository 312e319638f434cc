"""The user's files beside the conversation that changes them: history, undo and redo that never destroy an edit."""

from __future__ import annotations

from hansard.workspace.entries import Change, Entry, Refused
from hansard.workspace.scan import Limits
from hansard.workspace.snapshots import By, Snapshot
from hansard.workspace.workspace import Taken, Workspace

__all__ = ["By", "Change", "Entry", "Limits", "Refused", "Snapshot", "Taken", "Workspace"]
