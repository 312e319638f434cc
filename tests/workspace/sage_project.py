"""A project whose files a Sage session changed, in the folder layout of the specification."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

SESSION = "session-123"
USER, ANSWER, RESULT = (f"550e8400-e29b-41d4-a716-44665544000{i}" for i in range(3))
TODOS = [
    {"content": "Create weather app directory", "status": "completed", "activeForm": "Creating weather app directory"},
    {"content": "Create HTML file", "status": "in_progress", "activeForm": "Creating HTML file"},
]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def line(record: Any) -> bytes:
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def record(kind: str, uuid: str, parent: str | None, cwd: Path, **more: Any) -> dict[str, Any]:
    about = {"type": kind, "uuid": uuid, "parentUuid": parent, "timestamp": "2025-12-21T01:30:00.000Z"}
    context = {"cwd": str(cwd), "gitBranch": "main", "platform": "linux"}
    return {**about, "sessionId": SESSION, "version": "0.1.0", "context": context, **more, "isSidechain": False}


def messages(cwd: Path) -> list[dict[str, Any]]:
    call = {"id": "call_001", "name": "bash", "arguments": {"command": "make"}}
    result = {"toolCallId": "call_001", "toolName": "bash", "content": "made", "success": True, "error": None}
    return [
        record("user", USER, None, cwd, message={"role": "user", "content": "Create a weather website"}, todos=[]),
        record(
            "assistant",
            ANSWER,
            USER,
            cwd,
            message={"role": "assistant", "content": "I'll create it.", "toolCalls": [call]},
            todos=TODOS,
        ),
        record("tool_result", RESULT, ANSWER, cwd, toolResults=[result]),
    ]


def snapshot(
    files: dict[str, Any], backups: dict[str, Any], *, message: str = ANSWER, update: bool = False
) -> dict[str, Any]:
    return {
        "type": "file_history_snapshot",
        "messageId": message,
        "timestamp": "2025-12-21T01:30:05.500Z",
        "isSnapshotUpdate": update,
        "snapshot": {"trackedFiles": files, "fileBackups": backups},
    }


def tracked(state: str, after: bytes | None, original: str | None = None, **more: Any) -> dict[str, Any]:
    digest = None if after is None else sha256(after)
    size = 0 if after is None else len(after)
    return {"originalContent": original, "contentHash": digest, "size": size, "state": state, **more}


class Project:
    """A project folder with one session; `files` as the session left them."""

    def __init__(self, root: Path, *, inline: bool = False, agent: str = ".sage") -> None:
        self.root, self.inline = root, inline
        self.session = root / agent / "sessions" / SESSION
        (self.session / "backups").mkdir(parents=True)
        self.before: dict[str, bytes] = {}
        self.files: dict[str, Any] = {}
        self.backups: dict[str, Any] = {}
        self.snapshots: list[dict[str, Any]] = []

    def created(self, name: str, content: bytes = b"<html>\n", **more: Any) -> Project:
        self.files[name] = {**tracked("created", content), **more}
        return self._put(name, content)

    def modified(self, name: str, before: bytes, after: bytes, *, inline: bool = True, **more: Any) -> Project:
        self.before[name] = before
        self.files[name] = {**tracked("modified", after, before.decode() if inline else None), **more}
        if not inline:
            self.backed_up(name, before)
        return self._put(name, after)

    def deleted(self, name: str, before: bytes) -> Project:
        self.before[name] = before
        self.files[name] = tracked("deleted", None, before.decode())
        return self

    def backed_up(self, name: str, before: bytes, now: bytes | None = None, **more: Any) -> Project:
        """A file that only fileBackups names, unless it is tracked too."""
        self.before[name] = before
        place = f".sage/sessions/{SESSION}/backups/{name.replace('/', '_')}.backup"
        self.backups[name] = {"backupPath": place, "originalHash": sha256(before), **more}
        (self.session / "backups" / f"{name.replace('/', '_')}.backup").write_bytes(before)
        return self if now is None else self._put(name, now)

    def _put(self, name: str, content: bytes) -> Project:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return self

    def write(self) -> Project:
        """The files of the session: snapshots in a file of their own, or `inline` in messages.jsonl."""
        found = [*self.snapshots, snapshot(self.files, self.backups)] if self.files or self.backups else self.snapshots
        lines = [line(one) for one in messages(self.root)]
        taken = [line(one) for one in found]
        (self.session / "messages.jsonl").write_bytes(b"".join(lines + (taken if self.inline else [])))
        if not self.inline:
            (self.session / "snapshots.jsonl").write_bytes(b"".join(taken))
        meta = {"id": SESSION, "title": "Weather", "createdAt": "2025-12-21T01:30:00Z"}
        (self.session / "metadata.json").write_text(json.dumps({**meta, "updatedAt": "2025-12-21T02:00:00Z"}))
        (self.session.parent.parent / "config.json").write_text('{"api_key": "secret", "title": "no"}')
        return self

    def content(self) -> dict[str, bytes]:
        """The user's files as they are."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".sage" not in path.parts and not path.name.startswith("ledger.db")
        }


def weather(root: Path, **shape: Any) -> Project:
    """A session that created, changed and deleted files, and backed one up."""
    project = Project(root, **shape)
    project.created("weather_app/index.html", b"<html>\n")
    project.modified("weather_app/app.js", b"old\n", b"new\n")
    project.modified("logo.png", b"\x89old", b"\x89new", inline=False)
    project.deleted("notes.txt", b"remember\n")
    return project.backed_up("weather_app/style.css", b"old css\n", b"new css\n").write()
