"""Requests and responses of Pydantic AI: `read` and `write`, one pass over a document each.

Messages nearly always have all their fields and no others, and most of these are null: that is looked at first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, cached_property
from operator import attrgetter, itemgetter
from typing import Any

from msgspec import UNSET, Raw, UnsetType, defstruct
from msgspec.structs import astuple, replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.field_table.records import NeedsPlainDecode, Record, Written, check, decode, plain, written_with
from hansard.formats.pydantic_ai.content import read_response, read_response_records, write_response
from hansard.formats.pydantic_ai.fields import (
    DIALECTS,
    NAME,
    NEWEST,
    Around,
    BlockRecord,
    Dialect,
    is_absent,
    kept,
    lacks,
    settle,
    takes_time,
)
from hansard.formats.pydantic_ai.messages.requests import RoleRun, read_alone, read_request, write_request
from hansard.formats.pydantic_ai.reasoning import provider_of, take_provider
from hansard.formats.pydantic_ai.usage import NO_COUNTS, NO_USAGE, NOTHING, read_usage, write_usage
from hansard.formats.residue import pack, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message, ModelRef
from hansard.model.parts import RawPart

_NO_MODEL = ModelRef()
_BEFORE = ("system", "developer")
_FINISH = ("stop", "length", "content_filter", "tool_call", "error")
STATES = {"incomplete": "partial", "interrupted": "interrupted", "suspended": "suspended"}
NATIVE_STATES = {state: native for native, state in STATES.items()}


# -- reading -------------------------------------------------------------------------------------------------------


_ASKED = ("parts", "timestamp", "run_id", "instructions")
_REQUEST = itemgetter(*_ASKED, "state", "conversation_id", "metadata")
_SAID = ("run_id", "metadata", "finish_reason", "model_name", "provider_name", "provider_response_id")
_WHOLE = ("usage", "state", "conversation_id")


def _record(profile: str) -> Any:
    """A request or response as a typed document has it: both name their kind last, so one record is both."""
    defaults = DIALECTS[profile].defaults
    keys = [key for key in {**defaults["request"], **defaults["response"]} if key not in _ASKED]
    rows = [("timestamp", Any), ("run_id", Any), ("instructions", Any), *((key, Any) for key in keys)]
    first: list[Any] = [("parts", list[BlockRecord]), ("kind", str), ("usage", Raw | UnsetType, UNSET)]  # type: ignore[valid-type]
    return defstruct("Whole", [*first, *((*row, UNSET) for row in rows)], bases=(Record,), kw_only=True, gc=False)


Whole = _record(NEWEST)
_HEAD = 6  # parts, kind, usage, timestamp, run_id, instructions


def _as_plain(record: Any) -> dict[str, Any]:
    """The record as a dict that a reader may take apart."""
    if type(record) is dict:
        return dict(record)
    if record.usage is not UNSET:
        record.usage = exact_json.decode(bytes(record.usage))
    return plain(record)


class Reading:
    """One pass over a document, of plain values or typed records."""

    def __init__(self, dialect: Dialect, conversation_id: str | UnsetType) -> None:
        self.dialect, self.conversation_id = dialect, conversation_id
        self.given_id = None if conversation_id is UNSET else conversation_id
        self.around = Around(dialect)
        self.out: list[Message] = []
        self.others = [key for key in dialect.defaults["response"] if key not in _WHOLE and key not in _SAID]
        self.nothing = (None,) * (len(_SAID) + len(self.others))
        self.count = 1 + len(_WHOLE) + len(self.nothing) + 1
        self.response = itemgetter("parts", *_WHOLE, *_SAID, *self.others)

    @cached_property
    def record_rest(self) -> tuple[Any, ...]:
        """What the rest of a typed request is when it has all its fields and says nothing of the whole."""
        said = {"conversation_id": self.given_id, "metadata": None, "state": "complete"}
        return tuple(said.get(name, UNSET) for name in Whole.__struct_fields__[_HEAD:])

    @cached_property
    def record_response(self) -> tuple[Any, Any, tuple[Any, ...]]:
        """Of a typed response: what it says of itself, and the fields it must not have."""
        known = {"parts", "kind", "timestamp", *_WHOLE, *_SAID, *self.others}
        foreign = [name for name in Whole.__struct_fields__ if name not in known]
        return attrgetter(*_SAID, *self.others), attrgetter("kind", *foreign), ("response", *(UNSET for _ in foreign))

    def read_request(self, record: Any) -> None:
        """One request becomes a message for each role in it, in order."""
        around = self.around
        around.provider, around.model = UNSET, UNSET
        fields = self.request_fields(record)
        if fields is None:
            return self.read_other_request(_as_plain(record))
        blocks, sent, run_id, instructions = fields
        around.sent = sent if sent is not None and takes_time(sent) else UNSET
        rest = {} if instructions is None else {"instructions": instructions}
        alone = read_alone(blocks[0], around) if len(blocks) == 1 else None
        if alone is None or (self.out and self.out[-1].role in _BEFORE):
            if type(record) is not dict:
                blocks = list(map(plain, blocks))
            runs = read_request(blocks, around)
            settle_sent(sent, runs[0].at, rest)
            return self.add_runs(runs, rest, {}, run_id, UNSET, UNSET)
        role, part = alone
        settle_sent(sent, around.at, rest)
        extra: Any = {NAME: rest} if rest else UNSET
        self.out.append(Message(role=role, parts=[part], created_at=around.at, run_id=run_id, extra=extra))

    def request_fields(self, record: Any) -> tuple[list[Any], Any, str | UnsetType, Any] | None:
        """Parts, time, run and instructions; None when a field is missing, unknown, or says more than usual."""
        if type(record) is dict:
            try:
                blocks, sent, run_id, instructions, state, whole, metadata = _REQUEST(record)
            except KeyError:
                return None
            if len(record) != 8 or state != "complete" or whole != self.given_id or metadata is not None:
                return None
        else:
            blocks, sent, run_id, instructions = record.parts, record.timestamp, record.run_id, record.instructions
            if sent is UNSET or run_id is UNSET or instructions is UNSET or record.usage is not UNSET:
                return None
            if astuple(record)[_HEAD:] != self.record_rest:
                return None
        if run_id is not None and type(run_id) is not str:
            return None
        return blocks, sent, _or_unset(run_id), instructions

    def read_other_request(self, record: dict[str, Any]) -> None:
        """A request that lacks a field, has an unknown one, or says more of the whole than usual."""
        around = self.around
        blocks = record.pop("parts")
        marks: dict[str, Any] = {}
        del record["kind"]
        settle(self.dialect.defaults["request"], record, marks)
        sent = record.pop("timestamp", UNSET)
        around.sent = sent if takes_time(sent) else UNSET
        runs = read_request(blocks, around)
        if sent is UNSET:
            lacks(marks, "timestamp")
        else:
            settle_sent(sent, runs[0].at, record)
        run_id = take_maybe_str(record, "run_id")
        state, metadata = _take_state(record), _take_metadata(record)
        self.take_conversation(record, marks)
        self.add_runs(runs, record, marks, run_id, state, metadata)

    def add_runs(
        self, runs: list[RoleRun], rest: dict[str, Any], marks: dict[str, Any], run_id: Any, state: Any, metadata: Any
    ) -> None:
        for k, run in enumerate(runs):
            if k:
                rest, marks, state, metadata = {}, {}, UNSET, UNSET
            if run.prompts:
                marks.update(run.marks())
            message = Message(
                role=run.role,
                parts=run.parts,
                created_at=run.at,
                run_id=run_id,
                state=state,
                metadata=metadata,
                extra=pack(NAME, dict(rest), marks) if rest or marks else UNSET,
            )
            if bool(k) != shares_request(self.out[-1] if self.out else None, message):
                message = replace(message, extra=pack(NAME, rest, {**marks, "joined": bool(k)}))
            self.out.append(message)

    def read_response(self, record: Any) -> None:
        """Nearly always an answer has all its fields and no others, each of the kind it should be."""
        fields = self.response_fields(record)
        found: dict[str, Any] | None = None
        if fields is not None:
            blocks, usage, at, said = fields
            around = self.around
            around.at, around.provider, around.model = at, UNSET, UNSET
            found = {} if said == self.nothing else self.read_said(said)
        if fields is None or found is None:
            return self.read_other_response(_as_plain(record))
        parts = read_response(blocks, around) if type(record) is dict else read_response_records(blocks, around)
        self.out.append(Message(role="assistant", parts=parts, created_at=at, usage=usage, **found))

    def response_fields(self, record: Any) -> tuple[list[Any], Any, Any, tuple[Any, ...]] | None:
        """Parts, usage, time and the rest; None when a field is missing, unknown, or says more than usual."""
        said: tuple[Any, ...]
        if type(record) is dict:
            at = record.get("timestamp", UNSET)
            if len(record) != self.count + (at is not UNSET):
                return None
            try:
                fields = self.response(record)
            except KeyError:
                return None
            blocks, usage, state, whole = fields[:4]
            said = fields[4:]
        else:
            get_said, get_foreign, no_foreign = self.record_response
            at, usage, state, whole, said = (
                record.timestamp,
                record.usage,
                record.state,
                record.conversation_id,
                get_said(record),
            )
            if usage is UNSET or UNSET in said or get_foreign(record) != no_foreign:
                return None
            blocks, usage = record.parts, NO_COUNTS if usage == NOTHING else exact_json.decode(bytes(usage))
        if type(usage) is not dict or state != "complete" or whole != self.given_id:
            return None
        if at is not UNSET and not takes_time(at):
            return None
        return blocks, UNSET if usage is NO_COUNTS else read_usage(usage), at, said

    def read_said(self, said: tuple[Any, ...]) -> dict[str, Any] | None:
        """What an answer says of itself as fields of a message; None when one of them is of another kind."""
        run_id, metadata, reason, name, native, answer = said[:6]
        if metadata is not None or (reason is not None and reason not in _FINISH):
            return None
        for value in (run_id, name, native, answer):
            if value is not None and type(value) is not str:
                return None
        rest = {key: value for key, value in zip(self.others, said[6:], strict=True) if value is not None}
        provider = native if native is None else provider_of(native)
        if provider != native:
            rest["provider_name"] = native
        model = ModelRef(provider=_or_unset(provider), name=_or_unset(name), response_id=_or_unset(answer))
        self.around.provider, self.around.model = _or_unset(native), model.name
        return {
            "model": model if model != _NO_MODEL else UNSET,
            "finish_reason": _or_unset(reason),
            "run_id": _or_unset(run_id),
            "extra": {NAME: rest} if rest else UNSET,
        }

    def read_other_response(self, record: dict[str, Any]) -> None:
        blocks = record.pop("parts")
        marks: dict[str, Any] = {}
        del record["kind"]
        settle(self.dialect.defaults["response"], record, marks)
        provider, named = take_provider(record)
        model = ModelRef(
            provider=provider,
            name=take_maybe_str(record, "model_name"),
            response_id=take_maybe_str(record, "provider_response_id"),
        )
        around = self.around
        around.at, around.provider, around.model = _take_time(record), named.get("provider_name", provider), model.name
        usage: Any = record.get("usage", UNSET)
        if usage is UNSET:
            lacks(marks, "usage")
        elif type(usage) is dict:
            usage = read_usage(record.pop("usage"))
        else:
            usage = UNSET
        reason = record.get("finish_reason")
        if type(reason) is str and reason in _FINISH:
            del record["finish_reason"]
        else:
            reason = UNSET
        run_id, state, metadata = take_maybe_str(record, "run_id"), _take_state(record), _take_metadata(record)
        self.take_conversation(record, marks)
        record.update(named)
        message = Message(
            role="assistant",
            parts=read_response(blocks, around),
            created_at=around.at,
            model=model if model != _NO_MODEL else UNSET,
            usage=usage,
            finish_reason=reason,
            run_id=run_id,
            state=state,
            metadata=metadata,
            extra=pack(NAME, record, marks),
        )
        self.out.append(message)

    def read_other(self, record: Any) -> None:
        """A message of a kind that is not known yet."""
        if type(record) is not dict:
            raise NeedsPlainDecode
        raw = RawPart(format=NAME, value=record)
        self.out.append(Message(role="event", parts=[raw], extra={NAME: {"$": {"record": True}}}))

    def take_conversation(self, record: dict[str, Any], marks: dict[str, Any]) -> None:
        """The id of the conversation is stored once; a message with another or none keeps that."""
        given = record.get("conversation_id", UNSET)
        if given is not UNSET and given == self.conversation_id:
            del record["conversation_id"]
        elif given is UNSET and self.conversation_id is not UNSET and not is_absent(marks, "conversation_id"):
            record["conversation_id"] = None


def _or_unset(value: Any) -> Any:
    return UNSET if value is None else value


def settle_sent(sent: Any, at: str | UnsetType, rest: dict[str, Any]) -> None:
    """The time of a request is residue when it is not that of its first part."""
    if sent != (None if at is UNSET else at):
        rest["timestamp"] = sent


def _take_time(record: dict[str, Any]) -> str | UnsetType:
    return record.pop("timestamp") if takes_time(record.get("timestamp")) else UNSET


def _take_state(record: dict[str, Any]) -> str | UnsetType:
    state = record.get("state")
    if type(state) is str and state in STATES:
        del record["state"]
        return STATES[state]
    return UNSET


def _take_metadata(record: dict[str, Any]) -> dict[str, Any] | UnsetType:
    return record.pop("metadata") if type(record.get("metadata")) is dict else UNSET


def shares_request(before: Message | None, message: Message) -> bool:
    """Is the message, when nothing says otherwise, part of the same request as the one before it?"""
    return (
        before is not None
        and before.role in _BEFORE
        and message.role == "user"
        and before.run_id == message.run_id
        and message.metadata is UNSET
        and message.state is UNSET
        and not unpack(NAME, message.extra)[0]
    )


# -- writing -------------------------------------------------------------------------------------------------------


def _leave_out(keys: Iterable[str], out: dict[str, Any], marks: dict[str, Any], usual: dict[str, Any]) -> None:
    """Take out what the document did not have, unless there is something to say now."""
    for key in keys:
        if is_absent(marks, key) and out[key] is usual.get(key, out[key]):
            del out[key]


@cache
def _blanks(dialect: Dialect) -> tuple[Callable[..., Written], Callable[..., Written]]:
    """Records for a request and a response without residue."""
    request, response = dialect.defaults["request"], dialect.defaults["response"]
    return (
        written_with({"parts": None, **request, "kind": "request", "timestamp": None}),
        written_with({"parts": None, "usage": None, **response, "kind": "response", "timestamp": UNSET}),
    )


class Writing:
    """One pass over a conversation."""

    def __init__(self, conversation: Conversation, dialect: Dialect) -> None:
        self.dialect, self.around = dialect, Around(dialect, conversation.messages)
        self.conversation_id = None if conversation.id is UNSET else conversation.id
        whole = {"conversation_id": self.conversation_id}
        request, response = dialect.defaults["request"], dialect.defaults["response"]
        self.request = {"parts": None, **request, **whole, "kind": "request", "timestamp": None}
        self.response = {"parts": None, "usage": None, **response, **whole, "kind": "response"}
        self.blank_request, self.blank_response = _blanks(dialect)
        self.out: list[Any] = []
        self.asked: list[Any] = []  # the parts of the last request

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
        at: Any = message.created_at
        if at is not UNSET and not takes_time(at):
            at = UNSET
        self.around.at = at
        parts = write_request(i, message, self.around)
        rest, marks = unpack(NAME, message.extra) if message.extra is not UNSET else ({}, {})
        joined = marks.get("joined")
        if before is not None and (joined if type(joined) is bool else shares_request(before, message)):
            self.asked += parts
            return
        self.asked = parts
        said: dict[str, Any] = {"parts": parts}
        if at is not UNSET:
            said["timestamp"] = at
        if message.state == "interrupted":
            said["state"] = "interrupted"
        self.put_common(said, message)
        if message.extra is UNSET:
            self.out.append(self.blank_request(conversation_id=self.conversation_id, **said))
            return
        out = {**self.request, **said}
        if marks:
            _leave_out(("timestamp",), out, marks, {})
            _leave_out(self.dialect.defaults["request"], out, marks, self.request)
        out.update(rest)
        self.out.append(out)

    def write_response(self, i: int, message: Message) -> None:
        at: Any = message.created_at
        if at is not UNSET and not takes_time(at):
            at = UNSET
        self.around.at = at
        usage = NO_USAGE if message.usage is UNSET and message.extra is UNSET else write_usage(message.usage)
        out: dict[str, Any] = {"parts": write_response(i, message, self.around), "usage": usage}
        if at is not UNSET:
            out["timestamp"] = at
        if (model := message.model) is not UNSET:
            for key, value in (
                ("model_name", model.name),
                ("provider_name", model.provider),
                ("provider_response_id", model.response_id),
            ):
                if value is not UNSET:
                    out[key] = value
        if message.finish_reason is not UNSET and message.finish_reason in _FINISH:
            out["finish_reason"] = message.finish_reason
        if message.state is not UNSET and message.state in NATIVE_STATES:
            out["state"] = NATIVE_STATES[message.state]
        self.put_common(out, message)
        if message.extra is UNSET:
            self.out.append(self.blank_response(conversation_id=self.conversation_id, **out))
            return
        out = {**self.response, **out}
        self.out.append(out)
        rest, marks = unpack(NAME, message.extra)
        if marks:
            if message.usage is UNSET:
                _leave_out(("usage",), out, marks, {})
            _leave_out(self.dialect.defaults["response"], out, marks, self.response)
        out.update(kept(rest, self.dialect))

    def put_common(self, out: dict[str, Any], message: Message) -> None:
        if message.run_id is not UNSET:
            out["run_id"] = message.run_id
        if message.metadata is not UNSET:
            out["metadata"] = message.metadata

    def write_other(self, message: Message) -> bool:
        if unpack(NAME, message.extra)[1].get("record") is not True or len(message.parts) != 1:
            return False
        part = message.parts[0]
        if type(part) is not RawPart or part.format != NAME or type(part.value) is not dict:
            return False
        self.out.append(part.value)
        return True


# -- documents -----------------------------------------------------------------------------------------------------


def _profile_of(records: list[Any]) -> str:
    """The release that wrote a document: 2.62 when a field of 2.66 is missing wherever it could be."""
    tells = False
    for record in records:
        if type(record) is not dict and type(record) is not Whole:
            continue
        if _get(record, "kind") == "response":
            if _get(record, "model_id") is not UNSET or _get(record, "canonical_system") is not UNSET:
                return NEWEST
            tells = True
        blocks = _get(record, "parts")
        for block in blocks if type(blocks) is list else ():
            if type(block) is not dict and type(block) is not BlockRecord:
                continue
            kind = _get(block, "part_kind")
            if kind == "system-prompt":
                if _get(block, "context_id") is not UNSET:
                    return NEWEST
                tells = True
            elif kind == "tool-return" and type(_get(block, "content")) in (list, dict):
                if _get(block, "content_file_digests") is not UNSET:
                    return NEWEST
                tells = True
    return "2.62" if tells else NEWEST


def _get(record: Any, name: str) -> Any:
    """A field of a plain or typed record."""
    return record.get(name, UNSET) if type(record) is dict else getattr(record, name)


def _conversation_of(records: list[Any]) -> str | UnsetType:
    """The id of the conversation, from the first message that has it."""
    for record in records:
        if type(record) is dict:
            given, kind = record.get("conversation_id"), record.get("kind")
        elif type(record) is Whole:
            given, kind = record.conversation_id, record.kind
        else:
            continue
        if type(given) is str and kind in ("request", "response"):
            return given
    return UNSET


def read(document: Any) -> Conversation:
    """A list of requests and responses."""
    if type(document) is not list:
        raise Unreadable("a list of messages expected")
    profile, conversation_id = _profile_of(document), _conversation_of(document)
    reading = Reading(DIALECTS[profile], conversation_id)
    if document and type(document[0]) is Whole:
        for record in document:
            _KINDS.get(record.kind, Reading.read_other)(reading, record)
        check(reading.out)
        document = []
    for i, record in enumerate(document):
        kind = record.get("kind") if type(record) is dict else None
        if type(kind) is str:
            if kind in _KINDS and type(record.get("parts")) is not list:
                raise Unreadable("no list of parts", f"$[{i}].parts")
            _KINDS.get(kind, Reading.read_other)(reading, record)
        elif type(record) is dict:
            raise Unreadable("no kind; it is request or response", f"$[{i}].kind")
        else:
            raise Unreadable("a message expected", f"$[{i}]")
    marks = {} if profile == NEWEST else {"profile": profile}
    return Conversation(messages=reading.out, id=reading.conversation_id, extra=pack(NAME, {}, marks))


_KINDS = {"request": Reading.read_request, "response": Reading.read_response}


def decode_typed(raw: bytes) -> Any:
    """The list as typed records."""
    return decode(raw, Whole, Record)


def write(conversation: Conversation, target: Target) -> list[Any]:
    """A list of requests and responses as the wanted release writes it, else the one it was read from."""
    profile = target.profile or unpack(NAME, conversation.extra)[1].get("profile")
    dialect = DIALECTS.get(profile) if type(profile) is str else None
    return Writing(conversation, dialect or DIALECTS[NEWEST]).write(conversation.messages)
