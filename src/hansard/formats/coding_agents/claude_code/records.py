"""Records of a Claude Code session, each kind read and written side by side; the map is in the package docstring.

Canonical fields are taken out of a record, the rest is residue. An answer is assembled from the records that share its
message id: `Answer` holds it until it is complete. What the user says while an answer is being written comes as an
attachment and is read as a user message.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from hansard.formats.coding_agents.claude_code.content import (
    NAME,
    PROVIDER,
    placeholder_time,
    read_context,
    read_part,
    read_thinking,
    read_todos,
    read_usage,
    write_parts,
    write_thinking,
    write_todo,
    write_usage,
)
from hansard.formats.coding_agents.identity import derived_uuid, is_derived, valid_uuid
from hansard.formats.coding_agents.records import only_part, raw_record
from hansard.formats.residue import pack, set_present, take_maybe_str, unpack
from hansard.model.conversation import Context, Message, ModelRef
from hansard.model.machinery import REMINDER, SUMMARY, as_events
from hansard.model.parts import DataPart, RawPart, TextPart, ToolResultPart

_STOP = {"stop": "end_turn", "length": "max_tokens", "tool_call": "tool_use"}
_FINISH = {stop: finish for finish, stop in _STOP.items()}
_PLACEHOLDER_VERSIONS = {f"0.0.{n}": n for n in range(64)}
_GIVEN_CONTEXT, _GIVEN_SIDECHAIN, _GIVEN_PARENT, _NO_USER, _NO_CWD, _NO_USAGE_GIVEN = 1, 2, 4, 8, 16, 32


class Place(NamedTuple):
    """The position of a record: its number, and what the records before it establish."""

    at: int
    time: str | None
    session: str | UnsetType
    context: Context | UnsetType


# -- the envelope ----------------------------------------------------------------------------------------------------


def read_envelope(rest: dict[str, Any], place: Place) -> tuple[dict[str, Any], bool]:
    """The fields of every record in the tree, without placeholders; and whether its parent was given."""
    uuid, time = rest.pop("uuid"), take_maybe_str(rest, "timestamp")
    rest.pop("parentUuid", None)
    if rest.get("sessionId") == place.session:
        rest.pop("sessionId", None)
    if type(time) is str and time.endswith("+00:00") and time == placeholder_time(place.time):
        time = UNSET
    sidechain: Any = rest.pop("isSidechain") if type(rest.get("isSidechain")) is bool else UNSET
    agent = take_maybe_str(rest, "agentId") if sidechain is True else UNSET
    context = read_context(rest)
    version, given = rest.get("version"), None
    if type(version) is str and (given := _PLACEHOLDER_VERSIONS.get(version)) is not None:
        del rest["version"]
        context = _given_context(context, given)
        sidechain = sidechain if given & _GIVEN_SIDECHAIN else UNSET
    fields = {"id": uuid, "created_at": time, "agent_id": agent, "sidechain": sidechain, "context": context}
    return fields, given is None or bool(given & _GIVEN_PARENT)


def is_placeholder_usage(version: Any) -> bool:
    """Whether the usage of an answer is a placeholder."""
    return type(version) is str and bool(_PLACEHOLDER_VERSIONS.get(version, 0) & _NO_USAGE_GIVEN)


def _given_context(context: Context | UnsetType, given: int) -> Context | UnsetType:
    if not given & _GIVEN_CONTEXT:
        return UNSET
    given_context = context if context is not UNSET else Context()
    return Context(
        cwd=UNSET if given & _NO_CWD else given_context.cwd,
        git_branch=given_context.git_branch,
        user_type=UNSET if given & _NO_USER else given_context.user_type,
    )


def write_envelope(message: Message, rest: dict[str, Any], place: Place, parent: str | None) -> dict[str, Any]:
    context, sidechain = message.context, message.sidechain
    given = _GIVEN_SIDECHAIN * (sidechain is not UNSET) + _GIVEN_PARENT * (message.parent_message_id is not UNSET)
    out: dict[str, Any] = {"parentUuid": parent, "isSidechain": sidechain is True}
    if context is not UNSET:
        given += _GIVEN_CONTEXT + _NO_USER * (context.user_type is UNSET) + _NO_CWD * (context.cwd is UNSET)
    if message.role == "assistant" and message.usage is UNSET:
        given += _NO_USAGE_GIVEN
    default = context if context is not UNSET else place.context if place.context is not UNSET else Context()
    out["userType"] = "external" if default.user_type is UNSET else default.user_type
    out["cwd"] = "/" if default.cwd is UNSET else default.cwd
    set_present(out, gitBranch=default.git_branch)
    out["sessionId"] = rest.pop("sessionId", place.session)
    out["version"] = rest.pop("version", f"0.0.{given}")
    if sidechain is True:
        set_present(out, agentId=message.agent_id)
    out["uuid"] = derived_uuid(place.at) if message.id is UNSET else valid_uuid(message.id)
    out["timestamp"] = placeholder_time(place.time) if message.created_at is UNSET else message.created_at
    return out


# -- answers ---------------------------------------------------------------------------------------------------------


class Answer:
    """An answer being assembled: blocks in order, the usage of the last record that has one."""

    def __init__(self, uuid: str, fields: dict[str, Any], rest: dict[str, Any], turn: int, start: int) -> None:
        self.uuid, self.fields, self.rest, self.turn, self.start = uuid, fields, rest, turn, start
        self.no_usage = self.plain = False
        self.body: dict[str, Any] = {}
        self.blocks: list[Any] = []
        self.lines: list[list[Any]] = []
        self.end = start

    def add(self, body: dict[str, Any], uuid: str, time: Any, end: int) -> None:
        """Add a record of the same answer."""
        content = body.pop("content")
        if type(content) is str:
            content, self.plain = [{"type": "text", "text": content}], True
        before = len(self.blocks)
        self.blocks = _joined(self.blocks, content)
        self.lines.append([uuid, time, len(self.blocks) - before])
        for key, value in body.items():
            if value is not None or key not in self.body:
                self.body[key] = value
        self.end = end

    def message(self, names: dict[str, str]) -> Message:
        """The complete message."""
        body = self.body
        name, response = take_maybe_str(body, "model"), take_maybe_str(body, "id")
        response = UNSET if response == _placeholder_id(self.uuid) else response
        name = UNSET if name == _NO_MODEL else name
        stop, usage = take_maybe_str(body, "stop_reason"), read_usage(body.get("usage"))
        if usage is not UNSET:
            del body["usage"]
            usage = UNSET if self.no_usage else usage
        for key, default in _DEFAULT_BODY:
            if key in body and body[key] == default:
                del body[key]
        marks: dict[str, Any] = {}
        if (cuts := self._cuts()) is not None:
            marks["lines"] = cuts
        if stop in _STOP:
            marks["stop"] = True  # a canonical name in a native field
        if self.plain and len(self.blocks) == 1:
            marks["content"] = "string"
        if body:
            self.rest["message"] = body
        model = ModelRef(provider=PROVIDER, name=name, response_id=response)
        return Message(
            role="assistant",
            parts=[read_part(block, names, name) for block in self.blocks],
            **self.fields,
            model=UNSET if name is UNSET and response is UNSET else model,
            usage=usage,
            finish_reason=stop if type(stop) is not str or "stop" in marks else _FINISH.get(stop, stop),
            extra=pack(NAME, self.rest, marks),
        )

    def _cuts(self) -> list[list[Any]] | None:
        """How the answer was split into lines, unless that is the default split."""
        time, lines = self.fields["created_at"], self.lines
        if [line[2] for line in lines] == _default_cuts(self.blocks) and all(
            is_derived(line[0], self.uuid, i) and (line[1] == time or time is UNSET)
            for i, line in enumerate(lines)
            if i
        ):
            return None
        others = [
            [uuid, None if _is_placeholder_time(at, time) else at, count] for uuid, at, count in lines[1:] if count
        ]
        return [[lines[0][2]], *others]


def _is_placeholder_time(at: Any, first: Any) -> bool:
    """Whether the time of a line is a placeholder, like that of the first line."""
    return type(at) is not str or (first is UNSET and at.endswith("+00:00"))


def _placeholder_id(uuid: str) -> str:
    """The message id written for an answer that has none: its lines share it."""
    return f"msg_{uuid}"


_NO_MODEL = "<unknown>"
_NO_USAGE = {"input_tokens": 0, "output_tokens": 0}
_DEFAULT_BODY = (("type", "message"), ("role", "assistant"), ("stop_reason", None), ("stop_sequence", None))


def _joined(blocks: list[Any], content: list[Any]) -> list[Any]:
    """The blocks so far and those of another line; a line that repeats them and adds to them replaces them."""
    if not blocks or not content:
        return [*blocks, *content]
    if len(content) >= len(blocks) and all(map(_grew, blocks, content)):
        return content
    if _grew(blocks[-1], content[0]):
        return [*blocks[:-1], *content]
    return [*blocks, *content]


def _default_cuts(blocks: list[Any]) -> list[int]:
    """One block a line, as Claude Code writes; all on one line where a block could look like a grown one."""
    if any(map(_grew, blocks, blocks[1:])):
        return [len(blocks)]
    return [1] * len(blocks) or [0]


def _grew(earlier: Any, later: Any) -> bool:
    if type(earlier) is not dict or type(later) is not dict or earlier.get("type") != later.get("type"):
        return False
    key = _TEXT_KEYS.get(str(later.get("type")))
    if key is None:
        return "id" in later and earlier.get("id") == later["id"]
    one, other = earlier.get(key), later.get(key)
    return type(one) is str and type(other) is str and one != "" and other.startswith(one)


_TEXT_KEYS = {"text": "text", "thinking": "thinking"}


def write_answer(message: Message, place: Place, parent: str | None) -> list[dict[str, Any]]:
    """A line for every block, as Claude Code writes them; results inside the answer come last."""
    rest, marks = unpack(NAME, message.extra)
    inner = rest.pop("message", {})
    blocks, results = write_parts(message)
    first = write_envelope(message, rest, place, parent)
    first |= {"type": "assistant", **rest, **_details(message)}
    model = message.model if message.model is not UNSET else ModelRef()
    body: dict[str, Any] = {"model": _NO_MODEL, "id": _placeholder_id(first["uuid"])}
    set_present(body, model=model.name, id=model.response_id)
    body |= {"type": "message", "role": "assistant", "content": [], "stop_reason": None, "stop_sequence": None}
    if type(inner) is dict:
        body |= inner
    if "version" not in unpack(NAME, message.extra)[0]:
        body["usage"] = _NO_USAGE
    body |= set_present({}, usage=write_usage(message.usage))
    cuts = _known_cuts(marks.get("lines"), blocks)
    plain = marks.get("content") == "string" and len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    records: list[dict[str, Any]] = []
    at = 0
    for i, (uuid, time, count) in enumerate(cuts):
        record = {**first, "message": {**body, "content": blocks[0]["text"] if plain else blocks[at : at + count]}}
        at += count
        if i:
            record["parentUuid"] = records[-1]["uuid"]
            record["uuid"] = uuid if uuid is not None else derived_uuid(first["uuid"], i)
            record["timestamp"] = time if time is not None else first["timestamp"]
        records.append(record)
    if type(message.finish_reason) is str:
        stop = message.finish_reason if marks.get("stop") is True else _STOP.get(message.finish_reason)
        records[-1]["message"]["stop_reason"] = stop or message.finish_reason
    if results:
        follows = records[-1]["uuid"]
        record = {**first, "parentUuid": follows, "uuid": derived_uuid(follows, "results"), "type": "user"}
        records.append({**record, "message": {"role": "user", "content": results}})
    return records


def _known_cuts(cuts: Any, blocks: list[Any]) -> list[tuple[Any, Any, int]]:
    """How the answer was split into lines, if that still fits the blocks; else the default split."""
    if type(cuts) is list and all(type(cut) is list for cut in cuts):
        match cuts:
            case [[int(first)], *others] if all(_is_cut(cut) for cut in others):
                known = [(None, None, first), *((cut[0], cut[1], cut[2]) for cut in others)]
                if sum(cut[2] for cut in known) == len(blocks) and all(cut[2] >= 0 for cut in known):
                    return known
    return [(None, None, count) for count in _default_cuts(blocks)]


def _is_cut(cut: list[Any]) -> bool:
    return len(cut) == 3 and type(cut[0]) is str and type(cut[2]) is int and (cut[1] is None or type(cut[1]) is str)


# -- prompts and results ---------------------------------------------------------------------------------------------


def read_user(fields: dict[str, Any], rest: dict[str, Any], names: dict[str, str]) -> list[Message]:
    """A prompt, or tool results; a record with both gives a message for each run of blocks."""
    body = dict(rest.pop("message"))
    content = body.pop("content")
    marks: dict[str, Any] = {}
    if body.get("role") == "user":
        del body["role"]
    if body:
        rest["message"] = body
    for key, (name, reader) in _DETAILS.items():
        if (detail := reader(rest.get(key))) is not UNSET:
            fields[name] = detail
            del rest[key]
    is_summary, is_meta = rest.get("isCompactSummary") is True, rest.get("isMeta") is True

    def named(message: Message) -> Message:
        """The message, as an event if Claude Code itself wrote it: the summary of a compaction, a meta prompt."""
        found = as_events(message, SUMMARY if is_summary else None)
        return as_events(found, REMINDER) if is_meta else found

    if type(content) is str:
        text: list[Any] = [TextPart(text=content)]
        return [named(Message(role="user", parts=text, **fields, extra=pack(NAME, rest, marks)))]
    parts = [read_part(block, names) for block in content]
    runs: list[tuple[str, list[Any]]] = []
    for part in parts:
        role = "tool" if type(part) is ToolResultPart else "user"
        if not runs or runs[-1][0] != role:
            runs.append((role, []))
        runs[-1][1].append(part)
    if len(parts) == 1 and type(parts[0]) is TextPart and parts[0].extra is UNSET:
        marks["content"] = "list"
    role, first = runs[0] if runs else ("user", [])
    messages = [named(Message(role=role, parts=first, **fields, extra=pack(NAME, rest, marks)))]
    shared = {key: value for key, value in fields.items() if key not in ("thinking", "todos", "parent_message_id")}
    for i, (role, run) in enumerate(runs[1:], 1):
        shared |= {"id": f"{fields['id']}/{i}", "parent_message_id": messages[-1].id}
        messages.append(Message(role=role, parts=run, **shared, extra={NAME: {"$": {"joined": True}}}))
    return messages


_DETAILS: dict[str, Any] = {"thinkingMetadata": ("thinking", read_thinking), "todos": ("todos", read_todos)}


def _details(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if message.thinking is not UNSET:
        out["thinkingMetadata"] = write_thinking(message.thinking)
    if message.todos is not UNSET:
        out["todos"] = [write_todo(todo) for todo in message.todos]
    return out


def write_user(message: Message, place: Place, parent: str | None) -> dict[str, Any]:
    """A prompt or results; a system prompt, which has no record of its own, is written as a meta prompt."""
    rest, marks = unpack(NAME, message.extra)
    inner = rest.pop("message", {})
    out = write_envelope(message, rest, place, parent)
    out["type"] = "user"
    blocks = write_parts(message)[0]
    content: Any = blocks
    if len(blocks) == 1 and marks.get("content") != "list" and type(message.parts[0]) is TextPart:
        if blocks[0].keys() == {"type", "text"} and len(message.parts) == 1:
            content = blocks[0]["text"]
    out["message"] = {"role": "user", **(inner if type(inner) is dict else {}), "content": content}
    if message.role in ("system", "developer"):
        out["isMeta"] = True
    return {**out, **rest, **_details(message)}


# -- events ----------------------------------------------------------------------------------------------------------

_SUBTYPES = frozenset({"stop_hook_summary", "turn_duration", "compact_boundary", "microcompact_boundary", "api_error"})
_SUBTYPES |= {"local_command", "away_summary", "bridge_status", "scheduled_task_fire", "informational"}


def read_event(fields: dict[str, Any], rest: dict[str, Any]) -> Message:
    """A record of any other kind: a system note, an attachment, or an unknown record."""
    kind = rest.get("type")
    if kind == "system" and "subtype" not in rest:  # an older release
        del rest["type"]
        return Message(
            role="event", parts=[DataPart(name=kind, data=rest)], **fields, extra=pack(NAME, {}, {"type": _BARE})
        )
    if kind == "system" and type(rest.get("subtype")) is str:
        event = rest.get("event")
        if rest["subtype"] == "informational" and type(event) is dict and event.get("name") == rest.get("content"):
            data = event.get("data", UNSET)  # of another format, written by `write_event`
            return Message(role="event", parts=[DataPart(name=event["name"], data=data)], **fields)
        del rest["type"]
        name = rest.pop("subtype")
        marks: Any = UNSET if name in _SUBTYPES else {NAME: {"$": {"type": "system"}}}
        return Message(role="event", parts=[DataPart(name=name, data=rest)], **fields, extra=marks)
    if kind == "attachment" and type(rest.get("attachment")) is dict:
        del rest["type"]
        data = rest.pop("attachment")
        if data.get("type") == _QUEUED and type(data.get("prompt")) in (str, list):
            return _read_queued(fields, rest, dict(data))
        return Message(
            role="event",
            parts=[DataPart(name="attachment", data=data)],
            **fields,
            extra=pack(NAME, rest, {"type": "attachment"}),
        )
    return Message(role="event", parts=[RawPart(format=NAME, value=rest)], **fields)


def _read_queued(fields: dict[str, Any], rest: dict[str, Any], data: dict[str, Any]) -> Message:
    """A prompt that was queued while an answer was being written."""
    prompt = data.pop("prompt")
    del data["type"]
    marks: dict[str, Any] = {"type": _QUEUED}
    if type(prompt) is list:
        marks["content"] = "list"
    parts = [TextPart(text=prompt)] if type(prompt) is str else [read_part(block, {}) for block in prompt]
    if data:
        rest["attachment"] = data
    return Message(role="user", parts=parts, **fields, extra=pack(NAME, rest, marks))


def write_queued(message: Message, place: Place, parent: str | None) -> dict[str, Any] | None:
    """The attachment of a queued prompt; None for other messages."""
    rest, marks = unpack(NAME, message.extra)
    if marks.get("type") != _QUEUED or message.role != "user":
        return None
    held = rest.pop("attachment", {})
    blocks = write_parts(message)[0]
    plain = marks.get("content") != "list" and len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    data = {"type": _QUEUED, "prompt": blocks[0]["text"] if plain else blocks, **(held if type(held) is dict else {})}
    return {**write_envelope(message, rest, place, parent), "type": "attachment", "attachment": data, **rest}


_QUEUED = "queued_command"
_BARE = "bare system"


def write_event(message: Message, place: Place, parent: str | None) -> list[dict[str, Any]]:
    """The record of an event; none if Claude Code cannot express it."""
    rest, marks = unpack(NAME, message.extra)
    part = only_part(message)
    record: dict[str, Any]
    if (raw := raw_record(message, NAME)) is not None:
        record = raw
    elif type(part) is DataPart and type(part.data) is dict and marks.get("type") == _BARE:
        record = {"type": "system", **part.data}
    elif type(part) is DataPart and marks.get("type") == "attachment":
        record = {"type": "attachment", "attachment": part.data, **rest}
    elif (
        type(part) is DataPart and type(part.data) is dict and (part.name in _SUBTYPES or marks.get("type") == "system")
    ):
        record = {"type": "system", "subtype": part.name, **part.data}
    elif type(part) is DataPart:
        event = set_present({"name": part.name}, data=part.data)
        record = {
            "type": "system",
            "subtype": "informational",
            "content": part.name,
            "level": "info",
            "event": event,
        }
    else:
        text = "\n".join(one.text for one in message.parts if type(one) is TextPart)
        if not text:
            return []
        record = {"type": "system", "subtype": "informational", "content": text, "level": "info"}
    record = dict(record)
    out = write_envelope(message, record, place, parent)
    if record.get("subtype") == "compact_boundary" and record.get("type") == "system":
        out["parentUuid"], out["logicalParentUuid"] = None, parent
    return [{**out, **{key: value for key, value in record.items() if key not in out}}]
