"""The records of Pydantic AI with all their fields, requests and responses as one; `usual` says what they are for.

Both name their kind last, so a union would be read twice to find it. The fields that differ from message to message
stand first; all others are compared with what is usual at once.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import astuple

from hansard.formats import field_table as usual
from hansard.formats.field_table import Record, plain
from hansard.formats.pydantic_ai.content import read_response
from hansard.formats.pydantic_ai.fields import takes_time
from hansard.formats.pydantic_ai.messages.messages import BEFORE, SAID, Reading, settle_sent
from hansard.formats.pydantic_ai.releases import NAME
from hansard.formats.pydantic_ai.usage import NOTHING, read_usage
from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.model.parts import TextPart, ToolCallPart, ToolResultPart


class Block(Record, kw_only=True):
    """A part of any kind."""

    content: Any = UNSET
    tool_name: Any = UNSET
    args: Any = UNSET
    tool_call_id: Any = UNSET
    timestamp: Any = UNSET
    part_kind: str
    tool_kind: Any = UNSET
    id: Any = UNSET
    provider_name: Any = UNSET
    provider_details: Any = UNSET
    citations: Any = UNSET
    signature: Any = UNSET
    metadata: Any = UNSET
    outcome: Any = UNSET
    retry: Any = UNSET
    content_file_digests: Any = UNSET
    dynamic_ref: Any = UNSET
    scope: Any = UNSET
    context_id: Any = UNSET


_OWN = 5  # the fields of a block that say something of their own


class Whole(Record, kw_only=True):
    """A request or a response."""

    parts: list[Block]
    timestamp: Any = UNSET
    run_id: Any = UNSET
    instructions: Any = UNSET
    usage: msgspec.Raw | msgspec.UnsetType = UNSET
    kind: str
    conversation_id: Any = UNSET
    metadata: Any = UNSET
    state: Any = UNSET
    model_name: Any = UNSET
    model_id: Any = UNSET
    provider_name: Any = UNSET
    provider_url: Any = UNSET
    canonical_system: Any = UNSET
    provider_details: Any = UNSET
    provider_response_id: Any = UNSET
    finish_reason: Any = UNSET
    workspace_ref: Any = UNSET
    history_digest: Any = UNSET
    failed_attempts: Any = UNSET


_ABOUT = 5


def decode(raw: bytes) -> Any:
    """The document with typed records, None when it holds anything else."""
    return usual.decode(raw, Whole, Record)


def plain_of(record: Whole) -> dict[str, Any]:
    """The record as the dict it would have been."""
    if record.usage is not UNSET:
        record.usage = exact_json.decode(bytes(record.usage))
    return plain(record)


def glimpse(record: Whole) -> dict[str, Any]:
    """What tells the release a record is of."""
    parts = [
        {name: getattr(block, name) for name in _TELLING if getattr(block, name) is not UNSET} for block in record.parts
    ]
    told = {name: None for name in ("model_id", "canonical_system") if getattr(record, name) is not UNSET}
    return {"kind": record.kind, "parts": parts, **told}


_TELLING = ("part_kind", "content", "context_id", "content_file_digests")


def conversation_of(records: list[Whole]) -> Any:
    """The id of the conversation, from the first message that has it."""
    for record in records:
        if type(record.conversation_id) is str and record.kind in ("request", "response"):
            return record.conversation_id
    return UNSET


class Usual:
    """Reads the usual records of one document into a `Reading`."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.around = reading, reading.around
        defaults = reading.dialect.defaults
        fields = Block.__struct_fields__[_OWN:]
        self.blocks = {
            kind: tuple({**defaults[kind], "part_kind": kind}.get(name, UNSET) for name in fields)
            for kind in ("text", "tool-call", "user-prompt", "tool-return")
        }
        about = {"kind": "request", "conversation_id": reading.given_id, "metadata": None, "state": "complete"}
        self.request = tuple(about.get(name, UNSET) for name in Whole.__struct_fields__[_ABOUT:])
        self.said = attrgetter(*SAID, *reading.others)
        known = {*SAID, *reading.others, "parts", "timestamp", "usage", "kind", "conversation_id", "state"}
        others = [name for name in Whole.__struct_fields__ if name not in known]
        self.foreign = attrgetter("kind", *others)
        self.no_others = ("response", *(UNSET for _ in others))

    def read(self, record: Whole) -> bool:
        """Append the message of a usual record; False for any other, which nothing was done with."""
        self.around.provider, self.around.model = UNSET, UNSET
        if record.kind == "request":
            return self.read_request(record)
        return record.kind == "response" and self.read_response(record)

    def read_request(self, record: Whole) -> bool:
        """One prompt of the user's, or one result, and nothing unusual about them."""
        reading, sent, run_id, instructions = self.reading, record.timestamp, record.run_id, record.instructions
        if len(record.parts) != 1 or record.usage is not UNSET or astuple(record)[_ABOUT:] != self.request:
            return False
        if sent is UNSET or instructions is UNSET or (run_id is not None and type(run_id) is not str):
            return False
        if reading.out and reading.out[-1].role in BEFORE:
            return False
        block = record.parts[0]
        at = block.timestamp
        if at is UNSET:
            if sent is not None and takes_time(sent):
                return False
        elif not takes_time(at):
            return False
        role, part = self.read_asked(block)
        if part is None:
            return False
        rest: dict[str, Any] = {} if instructions is None else {"instructions": instructions}
        settle_sent(sent, at, rest)
        extra: Any = {NAME: rest} if rest else UNSET
        run_id = UNSET if run_id is None else run_id
        reading.out.append(Message(role=role, parts=[part], created_at=at, run_id=run_id, extra=extra))
        return True

    def read_asked(self, block: Block) -> tuple[str, Any]:
        content, rest = block.content, astuple(block)[_OWN:]
        if type(content) is not str or block.args is not UNSET:
            return "", None
        if rest == self.blocks["user-prompt"]:
            if block.tool_name is UNSET and block.tool_call_id is UNSET:
                return "user", TextPart(text=content)
        elif rest == self.blocks["tool-return"]:
            name, call_id = block.tool_name, block.tool_call_id
            if type(name) is str and type(call_id) is str:
                return "tool", ToolResultPart(tool_call_id=call_id, tool_name=name, output=content, is_error=False)
        return "", None

    def read_response(self, record: Whole) -> bool:
        """An answer that has all its fields and no others, each of the kind it should be."""
        reading, at, said = self.reading, record.timestamp, self.said(record)
        if record.state != "complete" or record.conversation_id != reading.given_id or UNSET in said:
            return False
        if self.foreign(record) != self.no_others or record.usage is UNSET or (at is not UNSET and not takes_time(at)):
            return False
        usage: Any = UNSET
        if record.usage != NOTHING:
            usage = exact_json.decode(bytes(record.usage))
            if type(usage) is not dict:
                return False
            usage = read_usage(usage)
        found: dict[str, Any] | None = {} if said == reading.nothing else reading.read_said(said)
        if found is None:
            return False
        self.around.at = at
        parts = [self.read_said(block) for block in record.parts]
        reading.out.append(Message(role="assistant", parts=parts, created_at=at, usage=usage, **found))
        return True

    def read_said(self, block: Block) -> Any:
        if block.timestamp is UNSET:
            rest = astuple(block)[_OWN:]
            if rest == self.blocks["text"]:
                if type(block.content) is str and block.tool_name is block.args is block.tool_call_id is UNSET:
                    return TextPart(text=block.content)
            elif rest == self.blocks["tool-call"] and type(block.args) is dict and block.content is UNSET:
                if type(block.tool_name) is str and type(block.tool_call_id) is str:
                    return ToolCallPart(tool_call_id=block.tool_call_id, tool_name=block.tool_name, input=block.args)
        return read_response([plain(block)], self.around)[0]
