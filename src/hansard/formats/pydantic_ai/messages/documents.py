"""Pydantic AI: the list of messages that `ModelMessagesTypeAdapter` writes.  As of pydantic-ai-slim 2.62 and 2.66.

    canonical                         native
    system, user, tool                parts of a request; a user message behind a system message shares its request
    assistant                         a response: model, usage, finish_reason, time, state
    parts                             see `pydantic_parts` and `pydantic_tools`
    conversation id                   conversation_id of its messages
    run id, metadata                  run_id, metadata of the request or response
    raw(pydantic-ai)                  any other part or item of content, word for word
    event with one raw part           a message of an unknown kind

A request with parts of several roles is one message a role; the mark `joined` says where that is not as above. Every
field is written, as Pydantic AI does; the profile (2.62 or 2.66) says which there are and is a mark of the
conversation. Instructions, provider details and the like stay with their message. A part has a time of its own only
where it is not its message's; where no time is known none is written, and Pydantic AI takes the time of loading.
Lost, and reported: ids of messages, agents, events, data and sources, names of files, finish reasons that Pydantic AI
would refuse.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.field_table import Record, check
from hansard.formats.pydantic_ai.messages.messages import Reading, Writing
from hansard.formats.pydantic_ai.releases import DIALECTS, NAME, NEWEST
from hansard.formats.residue import pack, unpack
from hansard.model.conversation import Conversation


def _profile_of(records: Iterable[Any]) -> str:
    """The release that wrote a document: 2.62 when a field of 2.66 is missing wherever it could be."""
    tells = False
    for record in records:
        if type(record) is not dict:
            continue
        blocks = record["parts"] if type(record.get("parts")) is list else []
        if record.get("kind") == "response":
            if "model_id" in record or "canonical_system" in record:
                return NEWEST
            tells = True
        for block in blocks:
            kind = block.get("part_kind") if type(block) is dict else None
            if kind == "system-prompt":
                if "context_id" in block:
                    return NEWEST
                tells = True
            elif kind == "tool-return" and type(block.get("content")) in (list, dict):
                if "content_file_digests" in block:
                    return NEWEST
                tells = True
    return "2.62" if tells else NEWEST


def _conversation_of(records: list[Any]) -> str | UnsetType:
    """The id of the conversation, from the first message that has it."""
    for record in records:
        if type(record) is dict and type(record.get("conversation_id")) is str:
            if record.get("kind") in ("request", "response"):
                return record["conversation_id"]  # type: ignore[no-any-return]
    return UNSET


def read(document: Any) -> Conversation:
    """A list of requests and responses."""
    if type(document) is not list:
        raise Unreadable("a list of messages expected")
    if document and isinstance(document[0], Record):
        return _read_typed(document)
    profile, conversation_id = _profile_of(document), _conversation_of(document)
    reading = Reading(DIALECTS[profile], conversation_id)
    for i, record in enumerate(document):
        kind = record.get("kind") if type(record) is dict else None
        if kind == "request" or kind == "response":
            if type(record.get("parts")) is not list:
                raise Unreadable("no list of parts", f"$[{i}].parts")
            if kind == "request":
                reading.read_request(record)
            else:
                reading.read_response(record)
        elif type(kind) is str:
            reading.read_other(record)
        elif type(record) is dict:
            raise Unreadable("no kind; it is request or response", f"$[{i}].kind")
        else:
            raise Unreadable("a message expected", f"$[{i}]")
    return _read_whole(reading, profile)


def _read_whole(reading: Reading, profile: str) -> Conversation:
    marks = {} if profile == NEWEST else {"profile": profile}
    return Conversation(messages=reading.out, id=reading.conversation_id, extra=pack(NAME, {}, marks))


def _read_typed(records: list[Any]) -> Conversation:
    from hansard.formats.pydantic_ai.messages.typed import Usual, conversation_of, glimpse, plain_of

    profile = _profile_of(map(glimpse, records))
    reading = Reading(DIALECTS[profile], conversation_of(records))
    usual = Usual(reading)
    for record in records:
        if usual.read(record):
            continue
        if record.kind == "request":
            reading.read_request(plain_of(record))
        elif record.kind == "response":
            reading.read_response(plain_of(record))
        else:
            reading.read_other(plain_of(record))
    check(reading.out)
    return _read_whole(reading, profile)


def decode_typed(raw: bytes) -> Any:
    """The list as typed records."""
    from hansard.formats.pydantic_ai.messages.typed import decode

    return decode(raw)


def write(conversation: Conversation, target: Target) -> list[Any]:
    """A list of requests and responses as the wanted release writes it, else the one it was read from."""
    profile = target.profile or unpack(NAME, conversation.extra)[1].get("profile")
    dialect = DIALECTS.get(profile) if type(profile) is str else None
    return Writing(conversation, dialect or DIALECTS[NEWEST]).write(conversation.messages)
