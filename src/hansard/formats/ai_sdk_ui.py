"""AI SDK UIMessages: a list, one message, or the body a `DefaultChatTransport` posts.  As of ai 5.0, 6.0 and 7.0.

    canonical                         native
    user                              a user message; inside an answer a `steering-message`
    assistant, tool, assistant ...    one assistant message, until the next user message; each assistant message
                                      begins with a `step-start`
    system                            only what came from a client; any other system prompt is the server's
    text, reasoning                   text, reasoning (`state: done`)
    tool-call with its tool-result    one `tool-<name>` or `dynamic-tool` part (see `ai_sdk_ui_tools`)
    file                              file: an address, or bytes as a data URL
    source                            source-url, source-document
    data                              data-<name>
    raw(ai-sdk-ui)                    any other part (`custom`, `reasoning-file`), word for word

The reader takes the messages of version 4 too (`ai_sdk_ui_v4`). Written without a profile a document comes out as it
came; with one (v5, v6, v7) it is what that version accepts (`ai_sdk_ui_profiles`).

A UIMessage must have an id: a message without one is written as `hansard-<place in the list>`, and that id at that
place reads as none. This is a client's format: ciphers, signatures, usage, models, runs, metadata and the residue of
other formats are written only if they came from such a document. Opaque reasoning is not bound to the words before
it, because the system prompt is not in the document. Lost, and reported: ids behind the first of an answer.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.errors import Unreadable
from hansard.formats import ai_sdk_ui_profiles, ai_sdk_ui_v4
from hansard.formats.ai_sdk_ui_parts import STEP, read_into, write_part, write_steering
from hansard.formats.ai_sdk_ui_tools import NAME, write_tool
from hansard.formats.ai_sdk_ui_turn import Turn
from hansard.formats.contract import Format, Target
from hansard.formats.residue import pack, put, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model.calls import Place
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import ToolCallPart
from hansard.model.shown import Answer, answers

_FORBIDDEN = b'"__proto__"'


# -- messages ------------------------------------------------------------------------------------------------------


def _made_id(place: int) -> str:
    return f"hansard-{place + 1}"


def _read_message(record: Any, path: str, place: int, before: str, out: list[Message]) -> str:
    """One UIMessage becomes one message, or as many as its steps and tools make. Gives back its role."""
    if type(record) is not dict:
        raise Unreadable("a message expected", path)
    record = dict(record)
    role = record.pop("role", None)
    if type(role) is not str:
        raise Unreadable("no role; it is system, user or assistant", f"{path}.role")
    marks: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    if type(record.get("id")) is str:
        given = record.pop("id")
        if given != _made_id(place):
            fields["id"] = given
    elif "id" not in record:
        marks["idless"] = True
    if type(record.get("metadata")) is dict:
        fields["metadata"] = record.pop("metadata")
        marks["metadata"] = True
    if type(record.get("createdAt")) is str:
        fields["created_at"] = record.pop("createdAt")
        marks["createdAt"] = True
    if role not in ("user", "assistant"):
        marks["shown"] = True
    elif role == "assistant" and before == "assistant":
        marks["starts"] = True
    turn = Turn(role)
    if type(record.get("content")) is str:
        marks["v4"] = ai_sdk_ui_v4.read_message(record, turn)
    elif type(record.get("parts")) is list:
        for block in record.pop("parts"):
            read_into(turn, block)
    else:
        raise Unreadable("no list of parts", f"{path}.parts")
    made = turn.messages()
    if role == "user" and not made[0][1]:
        marks["shown"] = True
    for k, (said_by, parts, step_marks) in enumerate(made):
        if type(parts) is Message:
            out.append(parts)
        elif k == 0:
            extra = pack(NAME, record, {**marks, **step_marks})
            out.append(Message(role=said_by, parts=parts, **fields, extra=extra))
        else:
            out.append(Message(role=said_by, parts=parts, extra=pack(NAME, {}, step_marks)))
    return role


class _Writing:
    """One conversation on its way to a client: its messages in groups that are one UIMessage each."""

    def __init__(self, messages: list[Message], profile: str | None) -> None:
        self.messages, self.profile = messages, profile
        self.answers: dict[Place, Answer] = answers(messages)
        self.calls = 0

    def records(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for group in self.groups():
            record = self.record(group, len(out))
            if record is not None:
                out.append(record)
        return out

    def groups(self) -> list[list[int]]:
        """An answer goes on until the next user message; what a client is not shown does not end it."""
        out: list[list[int]] = []
        open_answer = False
        for i, message in enumerate(self.messages):
            role, marks = message.role, self.marks(message)
            joins = role == "assistant" and not marks.get("starts")
            if role == "user" and marks.get("steering") and self.profile in (None, "v7"):
                joins = True
            if joins and open_answer:
                out[-1].append(i)
            elif role in ("user", "assistant") or marks.get("shown"):
                if role == "user" and not marks.get("shown") and not self.shows(message):
                    continue
                out.append([i])
                open_answer = role == "assistant"
        return out

    def shows(self, message: Message) -> bool:
        return any(type(part) is ToolCallPart or write_part(part, "user") is not UNSET for part in message.parts)

    def marks(self, message: Message) -> dict[str, Any]:
        return unpack(NAME, message.extra)[1] if message.extra is not UNSET else {}

    def record(self, group: list[int], place: int) -> dict[str, Any] | None:
        first = self.messages[group[0]]
        rest, marks = unpack(NAME, first.extra)
        out: dict[str, Any] = {}
        if first.id is not UNSET:
            out["id"] = first.id
        elif not marks.get("idless"):
            out["id"] = _made_id(place)
        out["role"] = first.role
        if marks.get("createdAt"):
            put(out, createdAt=first.created_at)
        if marks.get("metadata"):
            put(out, metadata=first.metadata)
        if "v4" in marks and self.profile is None:
            pairs = [(i, self.messages[i]) for i in group]
            out.update(ai_sdk_ui_v4.write_message(pairs, self.answers, marks["v4"], write_part))
        else:
            out["parts"] = self.parts(group, first.role)
        out.update(rest)
        return out

    def parts(self, group: list[int], role: str) -> list[Any]:
        out: list[Any] = []
        for i in group:
            message = self.messages[i]
            marks = self.marks(message)
            if marks.get("steering") and len(group) > 1:
                out.append(write_steering(message))
                continue
            step = marks.get("step", {})
            if role == "assistant" and step is not False:
                out.append({"type": STEP, **(step if type(step) is dict else {})})
            for j, part in enumerate(message.parts):
                if type(part) is ToolCallPart:
                    self.calls += 1
                    call_id = part.tool_call_id if part.tool_call_id is not UNSET else f"call-{self.calls}"
                    out.append(write_tool(part, self.answers.get((i, j)), call_id))
                elif (made := write_part(part, message.role)) is not UNSET:
                    out.append(made)
        return out


# -- documents -----------------------------------------------------------------------------------------------------


def _without_forbidden(value: Any) -> Any:
    """The data without keys that JavaScript's safe parsers refuse."""
    if type(value) is dict:
        return {key: _without_forbidden(item) for key, item in value.items() if key != "__proto__"}
    if type(value) is list:
        return [_without_forbidden(item) for item in value]
    return value


def read(document: Any) -> Conversation:
    """A list of UIMessages, one UIMessage, or a request body with `messages` or `message`."""
    marks: dict[str, Any] = {}
    body: dict[str, Any] = {}
    where = "$"
    if type(document) is list:
        records = document
    elif type(document) is not dict:
        raise Unreadable("an object or a list expected")
    elif type(document.get("messages")) is list:
        body, where = dict(document), "$.messages"
        records, marks["shape"] = body.pop("messages"), "request"
    elif type(document.get("message")) is dict:
        body = dict(document)
        records, marks["shape"] = [body.pop("message")], "last"
    elif "role" in document:
        records, marks["shape"] = [document], "message"
    else:
        raise Unreadable("no list of messages", "$.messages")
    if _FORBIDDEN in exact_json.encode(document):
        marks["proto"] = True
    messages: list[Message] = []
    before = ""
    for i, record in enumerate(records):
        path = {"message": "$", "last": "$.message"}.get(marks.get("shape", ""), f"{where}[{i}]")
        before = _read_message(record, path, i, before, messages)
    return Conversation(messages=messages, id=take_maybe_str(body, "id"), extra=pack(NAME, body, marks))


def write(conversation: Conversation, target: Target) -> Any:
    """The shape it was read from; for conversations of other formats a list of UIMessages."""
    rest, marks = unpack(NAME, conversation.extra)
    records: Any = _Writing(conversation.messages, target.profile).records()
    if target.profile is not None:
        records = ai_sdk_ui_profiles.fitted(records, target.profile, _made_id)
    if (target.profile is not None or not marks.get("proto")) and _FORBIDDEN in exact_json.encode(records):
        records = _without_forbidden(records)
    shape = marks.get("shape")
    if shape == "message" and len(records) == 1:
        return records[0]
    if shape == "last" and len(records) == 1:
        return {**put({}, id=conversation.id), "message": records[0], **rest}
    if shape in ("request", "last"):
        return {**put({}, id=conversation.id), "messages": records, **rest}
    return records


_TELLING = ("tool-", "data-", "dynamic-tool", "source-", STEP, "reasoning-file", "steering-message")


def fits(document: Any) -> int:
    """UIMessages have parts with the SDK's own types; plain text in parts could be others' too."""
    body = document if type(document) is dict else {}
    if type(document) is list:
        records = document
    elif type(body.get("messages")) is list:
        records = body["messages"]
    else:
        records = [body.get("message", body)]
    if not records:
        return 0
    sure = 3 if body.get("trigger") in ("submit-message", "regenerate-message") else 0
    for record in records:
        if type(record) is not dict or record.get("role") not in ("system", "user", "assistant", "data"):
            return 0
        found = _record_fits(record)
        if not found:
            return 0
        sure = max(sure, found)
    return sure


def _record_fits(record: dict[str, Any]) -> int:
    parts = record.get("parts")
    if type(parts) is not list:
        return ai_sdk_ui_v4.fits(record)
    if "parentMessageId" in record or not all(type(part) is dict and type(part.get("type")) is str for part in parts):
        return 0
    metadata = record.get("metadata")
    if type(metadata) is dict and "schemaVersion" in metadata:
        return 0
    kinds = {part["type"] for part in parts}
    if kinds & {"tool-call", "tool-result", "tool_call", "tool_call_response", "raw"}:
        return 0
    if any(kind.startswith(_TELLING) for kind in kinds) or ai_sdk_ui_v4.fits(record) == 3:
        return 3
    return 2 if type(record.get("id")) is str else 1


FORMAT = Format(
    name=NAME,
    title="AI SDK UIMessages",
    read=read,
    write=write,
    fits=fits,
    profiles=("v5", "v6", "v7"),
    why={
        "signature": "only its provider can read it; a client is not shown it",
        "encrypted": "only its provider can read it; a client is not shown it",
        "binding": "only its provider can read it; a client is not shown it",
        "usage": "a client is not shown what the server knows of the run",
        "model": "a client is not shown what the server knows of the run",
        "runId": "a client is not shown what the server knows of the run",
        "metadata": "only metadata that came from a client goes to one",
    },
)
