"""Workspaces: the user's files beside the conversation that changes them; undo and redo that lose no edit.

Order of reading:
    workspace       Workspace, the facade: snapshots, tools, windows, plan/undo/redo/restore
    entries         Entry (file, link, folder) and Change; `snapshots` are their rows in the ledger
    scan, ignore    which files changed since the last scan; which are ignored
    active_writers  whose changes a scan finds: windows of shells, running tools
    undo            requests (Undo, Redo, Restore), one plan (UndoPlan), one run; `todos`: the todo list at a message
    plan, merge     what happens to each path; three-way merge of text
    apply           runs a plan atomically and recovers an interrupted one
    rooted_fs       file access confined to the root; `atomic_write`: a file written by a tool
    history         files at a message, changes of a message, diffs
    imported_edits  edits of imported sessions as snapshots; `sage/` does so for Sage, with its backups and folders
    copilot_folder  images of files that Copilot CLI keeps; opencode_folder: OpenCode's, in a git repository
    left_behind     what an undo of an imported session cannot take back; `git_objects`: contents that git has seen

May import `formats`, `ledger`, `model`, `errors`, `atomic_file`, `gc_pause`. Agents, server and CLI call this package.
Free to change: error texts, limits, default ignore rules, how plans are merged (with a test of the case). Not without
asking: what is stored (field names of Operation, kinds and sources, states, the index, the name of the slots' folder)
and the order of steps in `apply`, on which crash safety rests (`make prove`).
"""

from __future__ import annotations

from hansard.workspace.entries import Change, Entry, Refused
from hansard.workspace.scan import Limits
from hansard.workspace.snapshots import Author, Snapshot
from hansard.workspace.undo import Redo, Restore, Undo, UndoPlan, UndoResult
from hansard.workspace.workspace import SnapshotResult, Workspace

__all__ = [
    "Author",
    "Change",
    "Entry",
    "Limits",
    "Redo",
    "Refused",
    "Restore",
    "Snapshot",
    "SnapshotResult",
    "Undo",
    "UndoPlan",
    "UndoResult",
    "Workspace",
]
