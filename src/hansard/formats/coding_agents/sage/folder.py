"""The files of a Sage session, and its `metadata.json`.

    .sage/
      sessions/<id>/messages.jsonl     the messages
      sessions/<id>/snapshots.jsonl    file history snapshots, where they are not in messages.jsonl
      sessions/<id>/metadata.json      title, times, parent session
      sessions/<id>/backups/           backups that snapshots name
      config.json                      the user's settings

`config.json` may hold keys of providers: it is never stored.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct

from hansard.errors import Unreadable
from hansard.model import exact_json
from hansard.model.times import milliseconds

MESSAGES, SNAPSHOTS, METADATA, CONFIG = "messages.jsonl", "snapshots.jsonl", "metadata.json", "config.json"
BACKUPS = "backups"
VERSION = "0.1.0"  # of the specification
_TITLE = ("customTitle", "title", "name")
_CREATED, _UPDATED = ("createdAt", "created_at"), ("updatedAt", "updated_at")
_PARENT = ("parentSessionId", "parent_session_id")


def platform_name(system: str) -> str:
    """Sage's name of a platform, from Python's.

    >>> platform_name("darwin"), platform_name("linux")
    ('macos', 'linux')
    """
    return {"darwin": "macos", "win32": "windows"}.get(system, system)


class Metadata(Struct, frozen=True, kw_only=True):
    """What `metadata.json` or `config.json` says of a session."""

    id: str | None = None
    title: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    parent: str | None = None

    def otherwise(self, other: Metadata) -> Metadata:
        """These values, and the other's where one is absent; the id and the parent are those of `metadata.json`."""
        return Metadata(
            id=self.id,
            title=self.title or other.title,
            created_at=self.created_at or other.created_at,
            updated_at=self.updated_at or other.updated_at,
            parent=self.parent,
        )


def read_metadata(data: bytes) -> Metadata:
    """The values of a metadata file; those of another type are not taken."""
    value = exact_json.decode(data)
    if type(value) is not dict:
        raise Unreadable("an object expected")

    def text(*keys: str) -> str | None:
        return next((value[key] for key in keys if type(value.get(key)) is str and value[key]), None)

    def time(*keys: str) -> str | None:
        found = text(*keys)
        return found if found is not None and milliseconds(found) is not None else None

    return Metadata(
        id=text("id", "sessionId"),
        title=text(*_TITLE),
        created_at=time(*_CREATED),
        updated_at=time(*_UPDATED),
        parent=text(*_PARENT),
    )


def write_metadata(
    metadata: Metadata, *, cwd: str, branch: Any, messages: int, prompt: str | None, before: bytes | None = None
) -> bytes:
    """A metadata file; with the one before it, the same with its count and time of change brought up to date."""
    fresh: dict[str, Any] = {"id": metadata.id}
    if metadata.title is not None:
        fresh |= {"title": metadata.title, "customTitle": metadata.title}
    if prompt is not None:
        fresh["firstPrompt"] = prompt
    fresh |= {"createdAt": metadata.created_at, "updatedAt": metadata.updated_at, "workingDirectory": cwd}
    if branch is not UNSET:
        fresh["gitBranch"] = branch
    fresh |= {"version": VERSION, "messageCount": messages, "state": "active", "isSidechain": False}
    if metadata.parent is not None:
        fresh["parentSessionId"] = metadata.parent
    if before is not None:
        known = exact_json.decode(before)
        keep = {key: fresh[key] for key in ("updatedAt", "messageCount") if key in known}
        fresh = {**known, **keep}
    return exact_json.pretty(fresh) + b"\n"
