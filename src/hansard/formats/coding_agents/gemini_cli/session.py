"""Gemini CLI sessions as a whole: reader and writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET

from hansard.formats.coding_agents.gemini_cli import is_message, is_record
from hansard.formats.coding_agents.gemini_cli.edits import edits_of
from hansard.formats.coding_agents.gemini_cli.records import (
    NAME,
    RESULTS,
    answered,
    is_context,
    read_message,
    responses,
    retells,
    write_message,
)
from hansard.formats.coding_agents.gemini_cli.versions import DocumentScanner, append_records
from hansard.formats.coding_agents.identity import first_time, read_time, session_uuid
from hansard.formats.coding_agents.records import RecordReader
from hansard.formats.coding_agents.scanner import Record
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.formats.residue import pack, set_present, unpack
from hansard.model import exact_json
from hansard.model.calls import Links
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import ToolResultPart
from hansard.model.tree import active_path, parents

_HELD = 32 * 1024 * 1024
_META = ("sessionId", "startTime", "lastUpdated", "summary", "messages")


class _Node:
    """A message's record, its parent node, and the id that its children follow."""

    __slots__ = ("given", "id", "parent", "record", "size", "tip")

    def __init__(self, record: dict[str, Any], id: str, parent: _Node | None, size: int) -> None:
        self.record, self.id, self.parent, self.size = record, id, parent, size
        self.given = False
        self.tip = id


class Reader(RecordReader):
    """Messages out of records; holds those that more records may add to."""

    def __init__(self) -> None:
        super().__init__()
        self._meta: dict[str, Any] = {}
        self._held: list[_Node] = []
        self._size = 0
        self._path: list[_Node] = []
        self._places: dict[str, int] = {}  # in the path, by id
        self._turn = 0  # where in the path the last turn begins
        self._context: tuple[list[Any], Record] | None = (
            None  # that the CLI writes when it starts, until it is known what it resumes
        )
        self._late: dict[str, tuple[dict[str, Any], Record, int]] = {}  # replaced after their turn, not yet repeated
        self._nodes: dict[str, _Node] = {}  # the last message of each id so far
        self._answered: set[str] = set()  # calls whose results are in the records of the model
        self._versions: dict[str, int] = {}
        self._last: str | None = None  # the id of the message given last

    def feed(self, records: Iterable[Record]) -> list[Message]:
        out: list[Message] = []
        for record in records:
            value = record.value
            if self._context is not None and (is_message(value) or "$rewindTo" in value):
                self._begin_anew()
            if type(value) is not dict:
                self.report(record, "a record is a JSON object", "bad")
            elif "$rewindTo" in value:
                self._rewind(value["$rewindTo"])
            elif type(value.get("$set")) is dict:
                self._set(value["$set"], record)
            elif is_message(value):
                self._message(value, record, len(record.raw))
            elif "sessionId" in value:
                self._set(value, record)
            if self._size > _HELD:
                out += self._give(len(self._held) // 2)
        return out

    def finish(self) -> list[Message]:  # a context waits until something is said
        before = len(self._held)
        self._repeat_late()
        turn = next((i for i in range(before - 1, -1, -1) if self._held[i].record["type"] == "user"), 0)
        latest = {node.id for node in self._held[turn:]}
        out = self._give(len(self._held))
        self.unsettled = {id for one in out if (id := str(one.id)) in latest or id.removesuffix(RESULTS) in latest}
        return out

    def conversation(self, messages: list[Message]) -> Conversation:
        meta = self._meta
        tip = self._path[-1].tip if self._path else None
        summary, id = meta.get("summary"), meta.get("sessionId")
        rest = {key: value for key, value in meta.items() if key not in _META}
        return Conversation(
            messages=messages,
            id=id if type(id) is str else UNSET,
            title=summary if type(summary) is str else UNSET,
            head=tip if tip != self._last else UNSET,
            created_at=read_time(meta.get("startTime")),
            updated_at=read_time(meta.get("lastUpdated")),
            extra=pack(NAME, rest),
        )

    # -- records ---------------------------------------------------------------------------------------------------

    def _message(self, value: dict[str, Any], record: Record, size: int) -> None:
        place = self._places.get(value["id"])
        if place is None:
            self._repeat_late()
            if (calls := responses(value)) is not None and calls <= self._answered:
                return  # the results again, for the model
            self._append(value, size)
        elif place < self._turn or self._path[place].given:
            self._late[value["id"]] = (value, record, size)
        else:
            self._replace(self._path[place], value, size)

    def _append(self, value: dict[str, Any], size: int) -> None:
        id = value["id"]
        node = _Node(
            value, self._version(id) if id in self._nodes else id, self._path[-1] if self._path else None, size
        )
        self._nodes[id] = node
        self._answered |= answered(value)
        self._hold(node, len(self._held))
        if value["type"] == "user":
            self._turn = len(self._path)
        self._places[id] = len(self._path)
        self._path.append(node)

    def _replace(self, node: _Node, value: dict[str, Any], size: int) -> None:
        if not _covers(value, node.record):
            old = _Node(node.record, self._version(value["id"]), node.parent, node.size)
            self._hold(old, self._held.index(node))
        self._size += size - node.size
        node.record, node.size = value, size
        self._answered |= answered(value)

    def _repeat_late(self) -> None:
        """Start a new branch with the messages that were replaced after their turn, and repeat those after them."""
        late, self._late = self._late, {}
        changed: dict[str, dict[str, Any]] = {}
        for id, (value, record, size) in late.items():
            node = self._path[self._places[id]]
            if node.given:  # and no longer held: it cannot be repeated
                self._hold(_Node(value, self._version(id), node.parent, size), len(self._held))
                what = f"message {id!r} was replaced long after it was written; both are kept"
                self.report(record, what)
            elif not exact_json.same(node.record, value):
                changed[id] = value
        if changed:
            first = min(self._places[id] for id in changed)
            repeated = [(changed.get(node.record["id"], node.record), node.size) for node in self._path[first:]]
            self._cut(first)
            for value, size in repeated:
                self._append(value, size)

    def _version(self, id: str) -> str:
        """A new id for another message with this id."""
        while True:
            number = self._versions[id] = self._versions.get(id, 0) + 1
            if (new := f"{id}~{number}") not in self._nodes:
                self._nodes[new] = self._nodes[id]
                return new

    def _hold(self, node: _Node, at: int) -> None:
        self._held.insert(at, node)
        self._size += node.size

    def _rewind(self, id: Any) -> None:
        """Delete a message and all after it; an unknown id deletes everything, as in Gemini CLI."""
        self._repeat_late()
        self._cut(self._places.get(id, 0) if type(id) is str else 0)

    def _cut(self, length: int) -> None:
        for node in self._path[length:]:
            del self._places[node.record["id"]]
        del self._path[length:]
        while self._turn > 0 and (self._turn >= length or self._path[self._turn].record["type"] != "user"):
            self._turn -= 1

    def _set(self, fields: dict[str, Any], record: Record) -> None:
        for key, value in fields.items():
            if key != "messages":
                self._meta[key] = value
        messages = fields.get("messages")
        if type(messages) is not list:
            return
        listed = [one for one in messages if is_message(one) and responses(one) is None]
        if len(messages) == 1 and len(listed) == 1 and is_context(listed[0]):
            self._context = messages, record
            return
        self._context = None
        self._repeat_late()
        if self._retold(listed) or (listed and is_context(listed[0]) and self._retold(listed[1:])):
            return
        known = self._known(listed)
        if all(node.given or exact_json.same(node.record, value) for node, value in zip(known, listed, strict=False)):
            self._replace_path(messages, record)
            return
        self._follow(known)
        for value in listed[len(known) :]:
            self._message(value, record, len(record.raw) // len(listed))

    def _begin_anew(self) -> None:
        """The context of a session that resumes nothing."""
        context, self._context = self._context, None
        if context is not None:
            self._repeat_late()
            if not self._retold(context[0]):
                self._replace_path(*context)

    def _replace_path(self, messages: list[Any], record: Record) -> None:
        """Make these messages the path: those that differ, and what came after them, are a branch."""
        listed = [one for one in messages if is_message(one)]
        size = len(record.raw) // max(1, len(listed))
        same = 0
        for place, (node, value) in enumerate(zip(self._path, listed, strict=False)):
            if node.record["id"] != value["id"]:
                break
            if not node.given and not exact_json.same(node.record, value):
                if place < self._turn:
                    break
                self._replace(node, value, size)
            same += 1
        self._cut(same)
        for value in listed[same:]:
            self._message(value, record, size)

    def _retold(self, listed: list[dict[str, Any]]) -> bool:
        """Whether a list repeats messages that are known, as after a resume: then they are the path again."""
        path = self._known(listed)
        if not path or len(path) < len(listed):
            return False
        if self._path and all(node.id != one.id for node, one in zip(path, self._path, strict=False)):
            return False
        self._follow(path)
        return True

    def _known(self, listed: list[dict[str, Any]]) -> list[_Node]:
        """The known messages that a list begins with, told again or equal."""
        path: list[_Node] = []
        for value in listed:
            node = self._nodes.get(value["id"])
            if node is None or node.parent is not (path[-1] if path else None):
                break
            if not node.given and not exact_json.same(node.record, value) and not retells(value, node.record):
                break
            path.append(node)
        return path

    def _follow(self, path: list[_Node]) -> None:
        """Make known messages the path."""
        self._path = path
        self._places = {node.record["id"]: place for place, node in enumerate(path)}
        self._turn = max((i for i, node in enumerate(path) if node.record["type"] == "user"), default=0)

    # -- messages --------------------------------------------------------------------------------------------------

    def _give(self, count: int) -> list[Message]:
        out: list[Message] = []
        for node in self._held[:count]:
            before = node.parent.tip if node.parent is not None else None
            found = read_message(node.record, node.id, UNSET if before == self._last else before)
            node.given, node.tip = True, str(found[-1].id)
            node.record = {"id": node.record["id"], "type": node.record["type"]}
            self._last = node.tip
            self._size -= node.size
            out += found
        del self._held[:count]
        return out


def _covers(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether a record has everything of an earlier one: its text, reasoning and calls."""
    if new.get("type") != old.get("type"):
        return False
    before, after = old.get("content"), new.get("content")
    if before not in ("", [], None) and not exact_json.same(before, after):
        if not (type(before) is str and type(after) is str and after.startswith(before)):
            return False
    if not _includes(_results_by(new.get("thoughts"), "description"), _results_by(old.get("thoughts"), "description")):
        return False
    return _includes(_results_by(new.get("toolCalls"), "id"), _results_by(old.get("toolCalls"), "id"))


def _results_by(entries: Any, key: str) -> dict[str, Any]:
    """The results of a list's entries by their key field; None for those without."""
    listed = entries if type(entries) is list else []
    return {repr(one.get(key)): one.get("result") for one in listed if type(one) is dict}


def _includes(new: dict[str, Any], old: dict[str, Any]) -> bool:
    return all(key in new and result in (None, new[key]) for key, result in old.items())


def records(conversation: Conversation, already: Conversation | None) -> Iterator[dict[str, Any]]:
    """The records for what a conversation has and `already` has not."""
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
    start = first_time(conversation)
    last = conversation.updated_at if conversation.updated_at is not UNSET else next(reversed(times), start)
    id = conversation.id if own and type(conversation.id) is str else session_uuid(conversation)
    out: dict[str, Any] = {"sessionId": id, "projectHash": _project(conversation)}
    out |= {"startTime": start, "lastUpdated": last}
    if not own:
        out["kind"] = "main"
    return {**set_present(out, summary=conversation.title), **own}


def _project(conversation: Conversation) -> str:
    """The hash of the folder, by which Gemini CLI identifies a project."""
    from hashlib import sha256

    contexts = [one.context for one in conversation.messages if one.context is not UNSET]
    cwd = next((context.cwd for context in contexts if type(context.cwd) is str), "")
    return sha256(cwd.encode("utf-8", "replace")).hexdigest() if cwd else ""


def _changes(conversation: Conversation, already: Conversation) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if conversation.title != already.title:
        set_present(out, summary=conversation.title)
    if conversation.updated_at != already.updated_at:
        set_present(out, lastUpdated=conversation.updated_at)
    return out


class _Writing:
    """State of writing: which record a message belongs to, and which records are on the path."""

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
        """`(message to rewind to, message to write)` for every branch; empty if rewinds cannot express them."""
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
        """The length of the path that ends with `parent`; None if no record begins after it."""
        if path and path[-1] == parent:
            return len(path)
        cut = 0 if parent is None else path.index(parent) + 1 if parent in path else None
        if cut is None or cut == len(path):
            return cut
        return None if path[cut] in self.home or not self._is_record(self.messages[path[cut]]) else cut

    def _is_record(self, message: Message) -> bool:
        return write_message(message, "", {}) is not None


SESSION = SessionFile(
    name=NAME,
    reader=Reader,
    records=records,
    whole=is_record,
    scanner=DocumentScanner,
    join=append_records,
    edits=edits_of,
)
read, write = SESSION.read, SESSION.write
