"""Documents and messages of ModelMessages: `read`, `write`, and the place of approval responses."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msgspec import UNSET
from msgspec.structs import force_setattr

from hansard.errors import Unreadable
from hansard.formats.ai_sdk.model import ROLES
from hansard.formats.ai_sdk.model.content import WRITERS, read_part
from hansard.formats.ai_sdk.model.files import NAME
from hansard.formats.ai_sdk.model.repair import repair as repair
from hansard.formats.ai_sdk.model.rules import conform_to_version
from hansard.formats.ai_sdk.model.tools import (
    approval_order,
    has_approval_response,
    read_approval_request,
    read_approval_response,
    write_approval_request,
    write_approval_response,
)
from hansard.formats.contract import Target
from hansard.formats.residue import pack, residue_of, unpack
from hansard.model.conversation import Conversation, Message
from hansard.model.display import answers
from hansard.model.parts import RawPart, TextPart, ToolCallPart, ToolResultPart

_FIELDS = frozenset({"role", "content"})
_EMPTY: dict[str, Any] = {}


# -- messages ------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads one list of messages; merges approval responses into the calls they answer."""

    def __init__(self) -> None:
        self.out: list[Message] = []
        self.asked: dict[str, ToolCallPart] = {}
        self.calls: list[ToolCallPart] = []
        self.unplaced: list[Any] = []  # responses of a tool message that becomes no message of its own

    def message(self, record: Any, where: str, place: int) -> None:
        if type(record) is not dict:
            raise Unreadable("expected a message object", f"{where}[{place}]")
        role, content = record.get("role"), record.get("content")
        if type(role) is not str:
            raise Unreadable("missing role: expected system, user, assistant or tool", f"{where}[{place}].role")
        hints: dict[str, Any] = {} if role in ROLES else {"role": True}
        if type(content) is str:
            if role != "system":
                hints["content"] = "string"
            parts: list[Any] = [TextPart(text=content)]
        elif type(content) is not list:
            raise Unreadable("invalid content: expected a string or a list", f"{where}[{place}].content")
        elif role == "tool":
            self.tool(record, content, hints)
            return
        else:
            if role == "system":
                hints["content"] = "list"
            parts = self.parts(content, role)
        self.calls = [part for part in parts if type(part) is ToolCallPart] if role == "assistant" else []
        self.unplaced = []
        self.out.append(Message(role=role, parts=parts, extra=residue_of(NAME, record, _FIELDS, hints)))

    def parts(self, content: list[Any], role: str) -> list[Any]:
        parts: list[Any] = []
        for block in content:
            part = read_part(block, role)
            if type(part) is RawPart:
                approval = read_approval_request(block, parts[-1] if parts else None)
                if approval is not None and approval["id"] not in self.asked:
                    force_setattr(parts[-1], "approval", approval)
                    self.asked[approval["id"]] = parts[-1]
                    continue
            parts.append(part)
        return parts

    def tool(self, record: dict[str, Any], content: list[Any], hints: dict[str, Any]) -> None:
        parts: list[Any] = []
        responses: list[tuple[int, ToolCallPart]] = []
        for i, block in enumerate(content):
            part = read_part(block, "tool")
            call = read_approval_response(block, self.asked) if type(part) is RawPart else None
            if call is None:
                parts.append(part)
                continue
            approval = {**call.approval, "approved": block["approved"]}
            if "reason" in block:
                approval["reason"] = block["reason"]
            force_setattr(call, "approval", approval)
            responses.append((i, call))
        if self.unplaced:
            self.out.append(Message(role="tool", parts=[], extra=pack(NAME, {}, {"responses": self.unplaced})))
        places = [[i, call.approval["id"]] for i, call in responses]
        if responses and not self.is_default_order(parts, responses):
            hints["responses"] = places
        elif not responses and self.asked and any(has_approval_response(call) for call in self.calls):
            hints["responses"] = []
        self.unplaced, self.calls = [], []
        if parts or len(record) != 2 or hints or not content:
            self.out.append(Message(role="tool", parts=parts, extra=residue_of(NAME, record, _FIELDS, hints)))
        else:
            self.unplaced = places

    def is_default_order(self, parts: list[Any], responses: list[tuple[int, ToolCallPart]]) -> bool:
        """Whether the writer puts the responses into these places by default."""
        given = [call for call in self.calls if has_approval_response(call)]
        if len(given) != len(responses) or not all(type(part) is ToolResultPart for part in parts):
            return False
        calls = [(str(call.tool_call_id), has_approval_response(call)) for call in self.calls]
        results = [part.tool_call_id for part in parts]
        if len({call_id for call_id, _ in calls}) != len(calls) or len(set(results)) != len(results):
            return False
        order = approval_order(calls, results)
        return [str(call.tool_call_id) for _, call in responses] == [one for one, said in order if said] and [
            i for i, _ in responses
        ] == [i for i, (_, said) in enumerate(order) if said]


class _Writer:
    """Writes one conversation: knows ids and names of calls, and which approval responses are not yet written."""

    def __init__(self, messages: list[Message], profile: str | None) -> None:
        self.messages, self.profile = messages, profile
        self.said: set[int] = set()
        self.asked: dict[str, ToolCallPart] = {}
        for message in messages:
            for part in message.parts:
                if type(part) is ToolCallPart and part.approval is not UNSET and has_approval_response(part):
                    self.asked.setdefault(part.approval["id"], part)

    @cached_property
    def calls(self) -> dict[int, tuple[str, str]]:
        """Id and name of every call and its result, for parts that lack them."""
        found, out = answers(self.messages), {}
        number = 0
        for i, message in enumerate(self.messages):
            for j, part in enumerate(message.parts):
                if type(part) is ToolCallPart:
                    number += 1
                    call_id = part.tool_call_id if type(part.tool_call_id) is str else f"call-{number}"
                    name = part.tool_name if type(part.tool_name) is str else ""
                    out[id(part)] = out[id(found.get((i, j), part))] = (call_id, name)
        return out

    def id_of(self, part: Any) -> str:
        own = part.tool_call_id
        return own if type(own) is str else self.calls.get(id(part), ("", ""))[0]

    def name_of(self, part: Any) -> str:
        return part.tool_name if type(part.tool_name) is str else self.calls.get(id(part), ("", ""))[1]

    def records(self) -> list[dict[str, Any]]:
        for message in self.messages if self.asked else ():
            for place in _response_places(message):
                if place[1] in self.asked:
                    self.said.add(id(self.asked[place[1]]))
        out: list[dict[str, Any]] = []
        for i, message in enumerate(self.messages):
            record = self.record(message, i)
            if record is not None:
                out.append(record)
            if self.asked and message.role == "assistant" and not self.results_next(i):
                content = [self.respond(part) for part in message.parts if self.is_pending(part)]
                if content:
                    out.append({"role": "tool", "content": content})
        return out

    def results_next(self, i: int) -> bool:
        """Whether the next message is a tool message that can hold the responses too."""
        if i + 1 >= len(self.messages) or self.messages[i + 1].role != "tool":
            return False
        return not self.is_string(self.messages[i + 1], unpack(NAME, self.messages[i + 1].extra)[1])

    def is_pending(self, part: Any) -> bool:
        if type(part) is not ToolCallPart or self.profile == "v5" or id(part) in self.said:
            return False
        return has_approval_response(part)

    def respond(self, call: Any) -> dict[str, Any]:
        self.said.add(id(call))
        response = write_approval_response(call)
        assert response is not None
        return response

    def record(self, message: Message, i: int) -> dict[str, Any] | None:
        rest, hints = unpack(NAME, message.extra) if message.extra is not UNSET else (_EMPTY, _EMPTY)
        own = "role" in hints and self.profile is None
        role = "system" if message.role == "developer" and not own else message.role
        if role not in ROLES and not hints.get("role"):
            return None
        content: Any
        if role == "system":
            content = self.system(message, hints)
            if content is None:
                return None
        elif self.is_string(message, hints):
            content = message.parts[0].text  # type: ignore[union-attr]
        else:
            content = self.content(message, role, i)
            if message.parts and not content and "responses" not in hints:
                return None
        return {"role": role, "content": content, **rest}

    def system(self, message: Message, hints: dict[str, Any]) -> Any:
        if hints.get("content") == "list" and self.profile is None:
            return self.content(message, "user", -1)
        texts = [part.text for part in message.parts if type(part) is TextPart]
        return "\n\n".join(texts) if texts or not message.parts else None

    def is_string(self, message: Message, hints: dict[str, Any]) -> bool:
        if hints.get("content") != "string" or len(message.parts) != 1:
            return False
        part = message.parts[0]
        return type(part) is TextPart and part.extra is UNSET and (self.profile is None or message.role != "tool")

    def content(self, message: Message, role: str, i: int) -> list[Any]:
        writers = WRITERS.get(role, WRITERS["user"])
        out: list[Any] = []
        for part in message.parts:
            if type(part) is RawPart:
                out += [part.value] if part.format == NAME and not self.is_broken_tool(part.value) else []
                continue
            writer = writers.get(type(part))
            made = writer(part, self) if writer is not None else None
            if made is None:
                continue
            out.append(made)
            if type(part) is ToolCallPart and part.approval is not UNSET and self.profile != "v5":
                request = write_approval_request(part, self.id_of(part))
                if request is not None:
                    out.append(request)
        if role == "tool" and self.asked and self.profile != "v5":
            out = self.with_responses(message, out, i)
        return out

    def is_broken_tool(self, block: Any) -> bool:
        """Whether a version is asked for and the block is a call or result that could not be read: no pair has it."""
        return self.profile is not None and type(block) is dict and block.get("type") in ("tool-call", "tool-result")

    def with_responses(self, message: Message, results: list[Any], i: int) -> list[Any]:
        hints = unpack(NAME, message.extra)[1] if message.extra is not UNSET else {}
        if "responses" in hints:
            for at, approval_id in _response_places(message):
                if approval_id in self.asked:
                    results.insert(at, self.respond(self.asked[approval_id]))
            return results
        before = self.messages[i - 1] if i else message
        calls = [part for part in before.parts if type(part) is ToolCallPart] if before.role == "assistant" else []
        due = [call for call in calls if self.is_pending(call)]
        if not due:
            return results
        by_id = {self.id_of(call): call for call in calls}
        ids = [one["toolCallId"] for one in results if type(one) is dict and one.get("type") == "tool-result"]
        if len(by_id) != len(calls) or len(set(ids)) != len(results):
            return [*map(self.respond, due), *results]
        order = approval_order([(self.id_of(call), call in due) for call in calls], ids)
        by_result = dict(zip(ids, results, strict=True))
        return [self.respond(by_id[one]) if said else by_result[one] for one, said in order]


def _response_places(message: Message) -> list[tuple[int, str]]:
    given = unpack(NAME, message.extra)[1].get("responses") if message.extra is not UNSET else None
    if type(given) is not list:
        return []
    return [
        (one[0], one[1])
        for one in given
        if type(one) is list and len(one) == 2 and type(one[0]) is int and type(one[1]) is str
    ]


# -- documents -----------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """A list of ModelMessages, or an object with it as `messages`."""
    body: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    records, where = document, "$"
    if type(document) is dict:
        body, where = dict(document), "$.messages"
        records, hints = body.pop("messages", None), {"shape": "object"}
    if type(records) is not list:
        raise Unreadable("missing list of messages", where)
    reader = _Reader()
    for i, record in enumerate(records):
        reader.message(record, where, i)
    return Conversation(messages=reader.out, extra=pack(NAME, body, hints))


def write(conversation: Conversation, target: Target) -> Any:
    """The shape it was read from; for conversations of other formats a list."""
    rest, hints = unpack(NAME, conversation.extra)
    records = _Writer(conversation.messages, target.profile).records()
    if target.profile is not None:
        records = conform_to_version(records, target.profile)
    return {"messages": records, **rest} if hints.get("shape") == "object" else records
