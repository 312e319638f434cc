"""Qwen Code sessions as a whole: reader and writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.coding_agents.documents import fields_of
from hansard.formats.coding_agents.identity import derived_uuid, read_time, session_uuid, valid_uuid, write_time
from hansard.formats.coding_agents.qwen_code import is_record
from hansard.formats.coding_agents.qwen_code.records import (
    NAME,
    agent_of,
    edits_of,
    read_record,
    read_telemetry,
    write_records,
)
from hansard.formats.coding_agents.records import Chain, RecordReader
from hansard.formats.coding_agents.scanner import Record
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.model.conversation import Context, Conversation, Message
from hansard.model.parts import TextPart, ToolCallPart

_SKIPPED = ("ui_telemetry", "attribution_snapshot", "custom_title")


class Reader(RecordReader):
    """A message for every record, at once; records that are none are followed to the message before them."""

    def __init__(self) -> None:
        super().__init__()
        self._session: str | UnsetType = UNSET
        self._title: str | UnsetType = UNSET
        self._ends: dict[str, str | None] = {}  # the message that the children of a record follow
        self._sides: dict[str, str] = {}  # the last message of each sub-agent
        self._callers: dict[str, ToolCallPart] = {}  # messages that started a sub-agent, and the call
        self._end: str | None = None  # of the main chain
        self._last: str | None = None

    def feed(self, records: Iterable[Record]) -> list[Message]:
        return [message for record in records for message in self._read(record)]

    def finish(self) -> list[Message]:
        return []

    def conversation(self, messages: list[Message]) -> Conversation:
        head = self._end if self._end is not None and self._end != self._last else UNSET
        return Conversation(messages=messages, id=self._session, title=self._title, head=head)

    def _read(self, record: Record) -> list[Message]:
        value = record.value
        if type(value) is not dict or type(value.get("type")) is not str:
            self.report(record, "not a record: expected an object with a type", "bad")
            return []
        given = value.get("uuid")
        uuid = given if type(given) is str else derived_uuid(value["type"], record.byte)
        if uuid in self._ends:
            self.report(record, f"duplicate record {uuid!r}; the first one is used")
            return []
        if self._session is UNSET and type(value.get("sessionId")) is str:
            self._session = value["sessionId"]
        above = self._above(value, record)
        payload = value.get("systemPayload")
        kind, payload = value.get("subtype"), payload if type(payload) is dict else {}
        if value["type"] == "system" and kind in _SKIPPED:
            self._ends[uuid] = above
            if type(payload.get("customTitle")) is str:
                self._title = payload["customTitle"]
            agent = agent_of(payload.get("uiEvent"))
            return self._beside(agent, payload["uiEvent"], self._at(value, uuid, above)) if agent else []
        message = read_record(value, self._at(value, uuid, None if above is None else above))
        self._ends[uuid] = self._end = self._last = uuid
        for part in message.parts:
            if type(part) is ToolCallPart and part.tool_name == "agent" and type(part.tool_call_id) is str:
                self._callers[uuid] = part
        return [message]

    def _above(self, value: dict[str, Any], record: Record) -> str | None:
        parent = value.get("parentUuid")
        if parent is None and "parentUuid" in value:
            return None
        if type(parent) is str and parent in self._ends:
            return self._ends[parent]
        self.report(record, f"parent {parent!r} not found before it; the record follows the previous one")
        return self._end

    def _at(self, value: dict[str, Any], uuid: str, above: str | None) -> dict[str, Any]:
        at: dict[str, Any] = {"id": uuid, "created_at": read_time(value.get("timestamp"))}
        at["parent_message_id"] = UNSET if above == self._last else above
        cwd, branch = value.get("cwd"), value.get("gitBranch")
        if type(cwd) is str and cwd:
            at["context"] = Context(cwd=cwd, git_branch=branch if type(branch) is str else UNSET)
        return at

    def _beside(self, agent: str, event: dict[str, Any], at: dict[str, Any]) -> list[Message]:
        at |= {"sidechain": True, "agent_id": agent}
        messages: list[Message] = []
        above = self._sides.get(agent)
        if above is None and (call := self._callers.get(str(self._end))) is not None:
            prompt = fields_of(call.input).get("prompt")
            asked = {**at, "id": f"{at['id']}:prompt", "parent_message_id": self._end}
            asked["metadata"] = {"toolCallId": call.tool_call_id}
            messages = [Message(role="user", parts=[TextPart(text=str(prompt))], **asked)]
            above = asked["id"]
        at["parent_message_id"] = self._end if above is None else above
        messages += read_telemetry(event, at)
        self._last = self._sides[agent] = str(messages[-1].id)
        return messages


def records(conversation: Conversation, already: Conversation | None) -> Iterator[dict[str, Any]]:
    """The records for what a conversation has and `already` has not."""
    start = 0 if already is None else len(already.messages)
    chain = Chain(derived_uuid, "record")
    session = session_uuid(conversation)
    for i, message in enumerate(conversation.messages):
        bodies = write_records(message)
        for body, (own, parent) in zip(bodies, chain.links(message, len(bodies)), strict=True):
            if i >= start:
                links = {"uuid": valid_uuid(own), "parentUuid": None if parent is None else valid_uuid(parent)}
                out = {**links, "sessionId": session, "timestamp": write_time(message.created_at)}
                context = message.context
                if context is not UNSET:
                    found = {"cwd": context.cwd, "gitBranch": context.git_branch}
                    out |= {key: value for key, value in found.items() if value is not UNSET}
                yield {**out, **body}
    if conversation.title is not UNSET and (already is None or already.title != conversation.title):
        own, parent = derived_uuid("title", len(conversation.messages), conversation.title), chain.last
        links = {"uuid": own, "parentUuid": None if parent is None else valid_uuid(parent), "sessionId": session}
        payload = {"customTitle": conversation.title, "titleSource": "manual"}
        yield {**links, "type": "system", "subtype": "custom_title", "systemPayload": payload}


SESSION = SessionFile(name=NAME, reader=Reader, records=records, whole=is_record, edits=edits_of)
read, write = SESSION.read, SESSION.write
