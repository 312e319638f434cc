"""Writing a conversation as the records of a Gemini CLI session.

A record is a message with the results of its calls; a fork is written as a rewind to where it begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from hansard.formats.coding_agents.gemini_cli.records import NAME, write_message
from hansard.formats.coding_agents.identity import NO_TIME, session_uuid
from hansard.formats.residue import put, unpack
from hansard.model.calls import Links
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import ToolResultPart
from hansard.model.tree import active_path, parents


def records(conversation: Conversation, already: Conversation | None) -> Iterator[dict[str, Any]]:
    """The records that say what the conversation says and `already` does not; of all of it without one."""
    messages = conversation.messages
    known = 0 if already is None else len(already.messages)
    if already is None or (messages and not known and already.id is UNSET):
        yield _header(conversation)
    elif change := _changes(conversation, already):
        yield {"$set": change}
    yield from _Writing(conversation, known).records(already)


def _header(conversation: Conversation) -> dict[str, Any]:
    own = unpack(NAME, conversation.extra)[0]
    times = [one.created_at for one in conversation.messages if one.created_at is not UNSET]
    start = conversation.created_at if conversation.created_at is not UNSET else next(iter(times), NO_TIME)
    last = conversation.updated_at if conversation.updated_at is not UNSET else next(reversed(times), start)
    id = conversation.id if own and type(conversation.id) is str else session_uuid(conversation)
    out: dict[str, Any] = {"sessionId": id, "projectHash": _project(conversation)}
    out |= {"startTime": start, "lastUpdated": last}
    if not own:
        out["kind"] = "main"
    return {**put(out, summary=conversation.title), **own}


def _project(conversation: Conversation) -> str:
    """Gemini CLI knows a project by the hash of its folder."""
    from hashlib import sha256

    contexts = [one.context for one in conversation.messages if one.context is not UNSET]
    cwd = next((context.cwd for context in contexts if type(context.cwd) is str), "")
    return sha256(cwd.encode("utf-8", "replace")).hexdigest() if cwd else ""


def _changes(conversation: Conversation, already: Conversation) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if conversation.title != already.title:
        put(out, summary=conversation.title)
    if conversation.updated_at != already.updated_at:
        put(out, lastUpdated=conversation.updated_at)
    return out


class _Writing:
    """Which message is of which record, and which records are on the path."""

    def __init__(self, conversation: Conversation, known: int) -> None:
        self.conversation, self.messages, self.known = conversation, conversation.messages, known
        self.active = active_path(conversation)
        self.links = parents(self.messages)
        self.results: dict[int, dict[int, ToolResultPart]] = {}
        self.home: dict[int, int] = {}  # tool messages, and the message whose calls they answer
        answers = Links(self.messages)
        for (i, j), (k, call) in answers.answers.items():
            part: Any = self.messages[i].parts[j]
            if self.messages[i].role == "tool" and self.messages[k].role == "assistant":
                self.results.setdefault(k, {})[call] = part
                self.home.setdefault(i, k)
        self.ids = self._ids()

    def _ids(self) -> list[str]:
        taken: set[str] = set()
        ids: list[str] = []
        for i, message in enumerate(self.messages):
            id = message.id if type(message.id) is str and message.id not in taken else f"message-{i}"
            while id in taken or not id:
                id += "+"
            taken.add(id)
            ids.append(id)
        return ids

    def records(self, already: Conversation | None) -> Iterator[dict[str, Any]]:
        late = {home for tool, home in self.home.items() if tool >= self.known}  # results of calls already written
        for rewind, i in self._every_branch() or [(None, i) for i in self.active]:
            if i is not None and i < self.known:
                if i in late:
                    yield from self._record(i)
                continue
            moved = already is None or i is not None or self.conversation.head != already.head
            if rewind is not None and moved:
                yield {"$rewindTo": rewind}
            if i is not None:
                yield from self._record(i)

    def _record(self, i: int) -> Iterator[dict[str, Any]]:
        if i not in self.home:
            record = write_message(self.messages[i], self.ids[i], self.results.get(i, {}))
            if record is not None:
                yield record

    def _every_branch(self) -> list[tuple[str | None, int | None]]:
        """`(message to rewind to, message to write)` for every branch; nothing when rewinds cannot say it."""
        if self.active == list(range(len(self.messages))):
            return []
        path: list[int] = []
        steps: list[tuple[str | None, int | None]] = []
        wanted = set(self.active)
        for i in range(len(self.messages)):
            cut = self._cut(path, self.links[i])
            if cut is None:
                if i in wanted:
                    return []
                continue
            steps.append((self.ids[path[cut]] if cut < len(path) else None, i))
            del path[cut:]
            path.append(i)
        cut = self._cut(path, self.active[-1] if self.active else None)
        if cut is None or path[:cut] != self.active:
            return []
        return [*steps, (self.ids[path[cut]], None)] if cut < len(path) else steps

    def _cut(self, path: list[int], parent: int | None) -> int | None:
        """The length of the path that ends with `parent`; None when no record begins behind it."""
        if path and path[-1] == parent:
            return len(path)
        cut = 0 if parent is None else path.index(parent) + 1 if parent in path else None
        if cut is None or cut == len(path):
            return cut
        return None if path[cut] in self.home or not self._is_record(self.messages[path[cut]]) else cut

    def _is_record(self, message: Message) -> bool:
        return write_message(message, "", {}) is not None
