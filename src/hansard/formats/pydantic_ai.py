"""Pydantic AI: the list of messages that `ModelMessagesTypeAdapter` writes.  As of pydantic-ai-slim 2.62 and 2.66.

    canonical                         native
    system, user, tool                parts of a request; a user message behind a system message shares its request
    assistant                         a response: model, usage, finish_reason, time, state
    parts                             see `pydantic_parts`
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

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.errors import Unreadable
from hansard.formats.contract import Format, Target
from hansard.formats.pydantic_content import Dialect, filled, is_absent, lacks, settle
from hansard.formats.pydantic_parts import (
    FEEDBACK,
    Around,
    ids_for,
    read_response,
    take_provider,
    write_response,
)
from hansard.formats.pydantic_requests import read_request, write_request
from hansard.formats.residue import pack, take_maybe_str, unpack
from hansard.model.calls import call_names
from hansard.model.conversation import Conversation, Message, ModelRef, Usage
from hansard.model.parts import RawPart
from hansard.model.times import is_time

NAME = "pydantic-ai"
NEWEST = "2.66"
_MADE = {"id": None, "provider_name": None, "provider_details": None}
_CALL = {"tool_kind": None, **_MADE}
_RETURN = {"tool_kind": None, "metadata": None, "outcome": "success"}
_DEFAULTS_262: dict[str, dict[str, Any]] = {
    "request": {
        "instructions": None,
        "run_id": None,
        "conversation_id": None,
        "metadata": None,
        "state": "complete",
    },
    "response": {
        "model_name": None,
        "provider_name": None,
        "provider_url": None,
        "provider_details": None,
        "provider_response_id": None,
        "finish_reason": None,
        "run_id": None,
        "conversation_id": None,
        "metadata": None,
        "workspace_ref": None,
        "history_digest": None,
        "failed_attempts": None,
        "state": "complete",
    },
    "system-prompt": {"dynamic_ref": None, "scope": "conversation", "metadata": None},
    "user-prompt": {},
    "tool-return": {**_RETURN, "retry": None},
    "retry-feedback": {"retry": FEEDBACK},
    "retry-prompt": {"tool_name": None},
    "text": {**_MADE, "citations": None},
    "thinking": {**_MADE, "signature": None},
    "tool-call": _CALL,
    "builtin-tool-call": _CALL,
    "builtin-tool-return": {**_RETURN, "provider_name": None, "provider_details": None},
    "file": _MADE,
    "compaction": {"content": None, **_MADE, "metadata": None},
    "url": {"force_download": False, "vendor_metadata": None, "media_type": None},
    "binary": {"vendor_metadata": None},
    "uploaded-file": {"vendor_metadata": None, "media_type": "application/octet-stream"},
    "text-content": {"metadata": None},
    "structured-content": {"metadata": None, "tag": None, "description": None},
}
_NEW_266 = {
    "response": {"model_id": None, "canonical_system": None},
    "system-prompt": {"context_id": None},
}
_NEW_KEYS = frozenset({"model_id", "canonical_system", "context_id", "content_file_digests"})
_OUTCOMES: dict[str, tuple[bool, str | UnsetType]] = {
    "success": (False, UNSET),
    "failed": (True, UNSET),
    "denied": (True, "denied"),
    "interrupted": (True, "interrupted"),
    "retried": (True, "retried"),
}
_DIALECTS = {
    "2.62": Dialect(name=NAME, defaults=_DEFAULTS_262, outcomes=_OUTCOMES, without=_NEW_KEYS),
    "2.66": Dialect(
        name=NAME,
        defaults={kind: {**fields, **_NEW_266.get(kind, {})} for kind, fields in _DEFAULTS_262.items()},
        outcomes=_OUTCOMES,
        digests=True,
    ),
}
_NO_MODEL = ModelRef()
_FINISH = ("stop", "length", "content_filter", "tool_call", "error")
_STATES = {"incomplete": "partial", "interrupted": "interrupted", "suspended": "suspended"}
_NATIVE_STATES = {state: native for native, state in _STATES.items()}


# -- usage ---------------------------------------------------------------------------------------------------------

_COUNTS = {
    "cache_write_tokens": "cache_write_tokens",
    "cache_read_tokens": "cache_read_tokens",
    "output_reasoning_tokens": "reasoning_tokens",
}
_USAGE = {
    "input_tokens": 0,
    "cache_write_tokens": 0,
    "cache_write_1h_tokens": 0,
    "cache_read_tokens": 0,
    "output_tokens": 0,
    "output_reasoning_tokens": 0,
    "input_audio_tokens": 0,
    "cache_audio_read_tokens": 0,
    "output_audio_tokens": 0,
    "audio_seconds": 0.0,
    "details": {},
    "cost": None,
}
_OLD_COUNTS = {"input_tokens": "request_tokens", "output_tokens": "response_tokens"}


def _read_usage(value: dict[str, Any]) -> Usage | UnsetType:
    """Usage with nothing but zeros says nothing. Input counts what was cached, as ours does."""
    rest = dict(value)
    marks: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for name, old in _OLD_COUNTS.items():
        if name not in rest and type(rest.get(old)) is int:
            rest[name] = rest.pop(old)
            marks["names"] = "old"
    settle(_USAGE, rest, marks)
    if not rest and not marks:
        return UNSET
    for key in ("input_tokens", "output_tokens"):
        given = rest.pop(key) if type(rest.get(key)) is int else UNSET
        fields[key] = 0 if given is UNSET and key not in rest and not is_absent(marks, key) else given
    for key, name in _COUNTS.items():
        if type(rest.get(key)) is int:
            fields[name] = rest.pop(key)
    return Usage(**fields, extra=pack(NAME, rest, marks))


def _write_usage(usage: Usage | UnsetType) -> dict[str, Any]:
    if usage is UNSET:
        return {**_USAGE, "details": {}}
    rest, marks = unpack(NAME, usage.extra)
    out = filled({**_USAGE, "details": {}}, marks)
    for key in ("input_tokens", "output_tokens"):
        if (count := getattr(usage, key)) is not UNSET:
            out[key] = count
    for key, name in _COUNTS.items():
        if (count := getattr(usage, name)) is not UNSET:
            out[key] = count
    if marks.get("names") == "old":
        out = {_OLD_COUNTS.get(key, key): count for key, count in out.items()}
    out.update(rest)
    return out


# -- messages ------------------------------------------------------------------------------------------------------


class _Reading:
    """One pass over a document."""

    def __init__(self, dialect: Dialect, conversation_id: str | UnsetType) -> None:
        self.dialect, self.conversation_id = dialect, conversation_id
        self.around = Around(dialect)
        self.out: list[Message] = []

    def read_request(self, record: dict[str, Any]) -> None:
        """One request becomes a message for each role in it, in order."""
        blocks = record.pop("parts")
        marks: dict[str, Any] = {}
        del record["kind"]
        settle(self.dialect.defaults["request"], record, marks)
        around = self.around
        around.sent = record["timestamp"] if is_time(record.get("timestamp")) else UNSET
        around.provider, around.model = UNSET, UNSET
        runs = read_request(blocks, around)
        _settle_time(record, marks, runs[0].at)
        run_id = take_maybe_str(record, "run_id")
        whole: dict[str, Any] = {"state": _take_state(record), "metadata": _take_metadata(record)}
        self.take_conversation(record, marks)
        for k, run in enumerate(runs):
            if k:
                record, marks, whole = {}, {}, {}
            marks.update(run.marks())
            fields: dict[str, Any] = {
                "role": run.role,
                "parts": run.parts,
                "created_at": run.at,
                "run_id": run_id,
                **whole,
            }
            message = Message(**fields, extra=pack(NAME, dict(record), marks))
            if bool(k) != _shares_request(self.out[-1] if self.out else None, message):
                message = Message(**fields, extra=pack(NAME, record, {**marks, "joined": bool(k)}))
            self.out.append(message)

    def read_response(self, record: dict[str, Any]) -> None:
        blocks = record.pop("parts")
        marks: dict[str, Any] = {}
        del record["kind"]
        settle(self.dialect.defaults["response"], record, marks)
        provider, kept = take_provider(record)
        model = ModelRef(
            provider=provider,
            name=take_maybe_str(record, "model_name"),
            response_id=take_maybe_str(record, "provider_response_id"),
        )
        around = self.around
        around.at, around.provider, around.model = _take_time(record), kept.get("provider_name", provider), model.name
        usage: Any = record.get("usage", UNSET)
        if usage is UNSET:
            lacks(marks, "usage")
        elif type(usage) is dict:
            usage = _read_usage(record.pop("usage"))
        else:
            usage = UNSET
        reason = record.get("finish_reason")
        if type(reason) is str and reason in _FINISH:
            del record["finish_reason"]
        else:
            reason = UNSET
        fields: dict[str, Any] = {
            "run_id": take_maybe_str(record, "run_id"),
            "state": _take_state(record),
            "metadata": _take_metadata(record),
        }
        self.take_conversation(record, marks)
        record.update(kept)
        self.out.append(
            Message(
                role="assistant",
                parts=read_response(blocks, around),
                created_at=around.at,
                model=model if model != _NO_MODEL else UNSET,
                usage=usage,
                finish_reason=reason,
                **fields,
                extra=pack(NAME, record, marks),
            )
        )

    def read_other(self, record: dict[str, Any]) -> None:
        """A message of a kind that is not known yet."""
        raw = RawPart(format=NAME, value=record)
        self.out.append(Message(role="event", parts=[raw], extra={NAME: {"$": {"record": True}}}))

    def take_conversation(self, record: dict[str, Any], marks: dict[str, Any]) -> None:
        """The id of the conversation is said once; a message that has another, or none, keeps that."""
        given = record.get("conversation_id", UNSET)
        if given is not UNSET and given == self.conversation_id:
            del record["conversation_id"]
        elif given is UNSET and self.conversation_id is not UNSET and not is_absent(marks, "conversation_id"):
            record["conversation_id"] = None


def _is_str(record: dict[str, Any], key: str) -> bool:
    return type(record.get(key)) is str


def _settle_time(record: dict[str, Any], marks: dict[str, Any], at: str | UnsetType) -> None:
    """The time of a request is residue when it is not that of its first part."""
    if "timestamp" not in record:
        lacks(marks, "timestamp")
    elif record["timestamp"] == (None if at is UNSET else at):
        del record["timestamp"]


def _take_time(record: dict[str, Any]) -> str | UnsetType:
    return record.pop("timestamp") if is_time(record.get("timestamp")) else UNSET


def _take_state(record: dict[str, Any]) -> str | UnsetType:
    state = record.get("state")
    if type(state) is str and state in _STATES:
        del record["state"]
        return _STATES[state]
    return UNSET


def _take_metadata(record: dict[str, Any]) -> dict[str, Any] | UnsetType:
    return record.pop("metadata") if type(record.get("metadata")) is dict else UNSET


def _shares_request(before: Message | None, message: Message) -> bool:
    """Is the message, when nothing says otherwise, part of the same request as the one before it?"""
    return (
        before is not None
        and before.role in ("system", "developer")
        and message.role == "user"
        and before.run_id == message.run_id
        and message.metadata is UNSET
        and message.state is UNSET
        and not unpack(NAME, message.extra)[0]
    )


class _Writing:
    """One pass over a conversation."""

    def __init__(self, conversation: Conversation, dialect: Dialect) -> None:
        self.dialect = dialect
        self.conversation_id = conversation.id
        self.around = Around(dialect, call_names(conversation.messages))
        self.around.ids = ids_for(conversation.messages)
        self.out: list[Any] = []

    def write(self, messages: list[Message]) -> list[Any]:
        before: Message | None = None
        for i, message in enumerate(messages):
            if message.role == "assistant":
                self.write_response(i, message)
                before = None
            elif message.role == "event":
                if self.write_other(message):
                    before = None
            else:
                self.write_request(i, message, before)
                before = message
        return self.out

    def write_request(self, i: int, message: Message, before: Message | None) -> None:
        rest, marks = unpack(NAME, message.extra)
        at: Any = message.created_at if is_time(message.created_at) else UNSET
        self.around.at = at
        parts = write_request(i, message, self.around)
        joined = marks.get("joined")
        if before is not None and (joined if type(joined) is bool else _shares_request(before, message)):
            self.out[-1]["parts"] += parts
            return
        out = {"parts": parts, **filled(self.dialect.defaults["request"], marks), "kind": "request"}
        if not is_absent(marks, "timestamp"):
            out["timestamp"] = None if at is UNSET else at
        self.put_common(out, message, marks)
        if message.state == "interrupted":
            out["state"] = "interrupted"
        out.update(rest)
        self.out.append(out)

    def write_response(self, i: int, message: Message) -> None:
        rest, marks = unpack(NAME, message.extra)
        model = message.model if message.model is not UNSET else ModelRef()
        around = self.around
        around.at = message.created_at if is_time(message.created_at) else UNSET
        out: dict[str, Any] = {"parts": write_response(i, message, around)}
        if not is_absent(marks, "usage") or message.usage is not UNSET:
            out["usage"] = _write_usage(message.usage)
        out.update(filled(self.dialect.defaults["response"], marks))
        out["kind"] = "response"
        if around.at is not UNSET:
            out["timestamp"] = around.at
        for key, value in (
            ("model_name", model.name),
            ("provider_name", model.provider),
            ("provider_response_id", model.response_id),
        ):
            if value is not UNSET:
                out[key] = value
        if message.finish_reason is not UNSET and message.finish_reason in _FINISH:
            out["finish_reason"] = message.finish_reason
        self.put_common(out, message, marks)
        if message.state is not UNSET and message.state in _NATIVE_STATES:
            out["state"] = _NATIVE_STATES[message.state]
        without = self.dialect.without
        out.update({key: value for key, value in rest.items() if key not in without} if without else rest)
        self.out.append(out)

    def put_common(self, out: dict[str, Any], message: Message, marks: dict[str, Any]) -> None:
        for key, value in (("run_id", message.run_id), ("metadata", message.metadata)):
            if value is not UNSET:
                out[key] = value
        if self.conversation_id is not UNSET and not is_absent(marks, "conversation_id"):
            out["conversation_id"] = self.conversation_id

    def write_other(self, message: Message) -> bool:
        if unpack(NAME, message.extra)[1].get("record") is not True or len(message.parts) != 1:
            return False
        part = message.parts[0]
        if type(part) is not RawPart or part.format != NAME or type(part.value) is not dict:
            return False
        self.out.append(part.value)
        return True


# -- documents -----------------------------------------------------------------------------------------------------


def _profile_of(records: list[dict[str, Any]]) -> str:
    """The release that wrote a document: 2.62 when a field of 2.66 is missing wherever it could be."""
    tells = False
    for record in records:
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


def read(document: Any) -> Conversation:
    """A list of requests and responses."""
    if type(document) is not list:
        raise Unreadable("a list of messages expected")
    for i, record in enumerate(document):
        if type(record) is not dict:
            raise Unreadable("a message expected", f"$[{i}]")
        if type(record.get("kind")) is not str:
            raise Unreadable("no kind; it is request or response", f"$[{i}].kind")
        if record["kind"] in ("request", "response") and type(record.get("parts")) is not list:
            raise Unreadable("no list of parts", f"$[{i}].parts")
    profile = _profile_of(document)
    known = (record for record in document if record["kind"] in ("request", "response"))
    ids = (record["conversation_id"] for record in known if _is_str(record, "conversation_id"))
    conversation_id = next(ids, UNSET)
    reading = _Reading(_DIALECTS[profile], conversation_id)
    for record in document:
        if record["kind"] == "request":
            reading.read_request(dict(record))
        elif record["kind"] == "response":
            reading.read_response(dict(record))
        else:
            reading.read_other(record)
    marks = {} if profile == NEWEST else {"profile": profile}
    return Conversation(messages=reading.out, id=conversation_id, extra=pack(NAME, {}, marks))


def write(conversation: Conversation, target: Target) -> list[Any]:
    """A list of requests and responses as the wanted release writes it, else the one it was read from."""
    profile = target.profile or unpack(NAME, conversation.extra)[1].get("profile")
    dialect = _DIALECTS.get(profile) if type(profile) is str else None
    return _Writing(conversation, dialect or _DIALECTS[NEWEST]).write(conversation.messages)


def fits(document: Any) -> int:
    """Nobody else has requests and responses with parts in one list."""
    if type(document) is not list or not document or not all(type(record) is dict for record in document):
        return 0
    known = sum(
        record.get("kind") in ("request", "response") and type(record.get("parts")) is list for record in document
    )
    if not known or any(type(record.get("kind")) is not str for record in document):
        return 0
    return 3 if known == len(document) else 2


FORMAT = Format(
    name=NAME,
    title="Pydantic AI message history",
    read=read,
    write=write,
    fits=fits,
    profiles=("2.62", "2.66"),
    binds=True,
    why={
        "finishReason": "Pydantic AI refuses a history with a finish reason it does not know",
        "agentId": "Pydantic AI messages do not say which agent they are of",
        "createdAt": "Pydantic AI takes only dates and times of ISO 8601",
    },
)
