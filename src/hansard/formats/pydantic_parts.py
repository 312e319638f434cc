"""The parts of Pydantic AI, read and written in the spelling of a `Dialect`.

    canonical                  part_kind
    text                       text; inside a user's or system message the prompts
    reasoning                  thinking; `encrypted` for OpenAI, and for Anthropic when its id is redacted_thinking
    tool-call                  tool-call; provider-executed: builtin-tool-call
    tool-result                tool-return, retry-prompt that answers a call; provider-executed: builtin-tool-return
    retry                      retry-feedback, retry-prompt that answers no call
    file, compaction           file, compaction
    signature of any part      provider_details.thought_signature (Google), signature of thinking (the others)

Requests, which hold parts of several roles, are in `pydantic_requests`.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.formats.arguments import read_arguments, write_arguments
from hansard.formats.pydantic_content import (
    Dialect,
    bound_to,
    digests,
    filled,
    is_absent,
    lacks,
    owner_name,
    provider_of,
    read_file,
    read_returned,
    settle,
    write_file,
    write_returned,
)
from hansard.formats.residue import Unfit, pack, take_maybe_str, take_str, unpack
from hansard.model.calls import Links, Place
from hansard.model.conversation import Message
from hansard.model.parts import (
    Binding,
    CompactionPart,
    FilePart,
    Part,
    RawPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_SIGNATURE = "thought_signature"
_REDACTED = "redacted_thinking"
_NO_NAME = "unknown"
_BUILTIN = "builtin-tool-return"
FEEDBACK = {"cause": "model_retry", "attempt": None, "max_retries": None}


class Around:
    """What a part is read or written in: the dialect, the times of message and request, who answered, made ids."""

    __slots__ = ("at", "dialect", "ids", "model", "names", "provider", "sent")

    def __init__(self, dialect: Dialect, names: dict[str, str] | None = None) -> None:
        self.dialect = dialect
        self.at: Any = UNSET
        self.sent: Any = UNSET
        self.provider: Any = UNSET
        self.model: Any = UNSET
        self.names = names if names is not None else {}
        self.ids: dict[Place, str] = {}

    def knows(self, kind: str) -> bool:
        """Has the dialect parts of this kind?"""
        return kind in self.dialect.defaults


def ids_for(messages: list[Message]) -> dict[Place, str]:
    """Ids for calls that have none, and for the results that answer them: the same every time."""
    if all(
        type(part.tool_call_id) is str
        for message in messages
        for part in message.parts
        if type(part) is ToolCallPart or type(part) is ToolResultPart
    ):
        return {}
    links = Links(messages)
    made = {(i, j): f"call_{i}_{j}" for (i, j), call in links.calls.items() if type(call.tool_call_id) is not str}
    made.update({result: made[call] for result, call in links.answers.items() if call in made})
    for (i, j), answer in links.results.items():
        if type(answer.tool_call_id) is not str:
            made.setdefault((i, j), f"call_{i}_{j}")
    return made


# -- signatures ----------------------------------------------------------------------------------------------------


def _take_signature(block: dict[str, Any]) -> str | UnsetType:
    """The signature among the provider's details; the other details stay."""
    details = block.get("provider_details")
    if type(details) is not dict or type(details.get(_SIGNATURE)) is not str:
        return UNSET
    block["provider_details"] = {key: value for key, value in details.items() if key != _SIGNATURE}
    if not block["provider_details"]:
        del block["provider_details"]
    return details[_SIGNATURE]  # type: ignore[no-any-return]


def _take_owner(block: dict[str, Any], marks: dict[str, Any], around: Around) -> Binding | UnsetType:
    """Who made an opaque part: the provider it names, else the one that gave the answer it stands in."""
    name = take_maybe_str(block, "provider_name")
    if type(name) is str:
        return bound_to(name, around.model)
    if type(around.provider) is not str:
        return UNSET
    marks["provider"] = "response"
    return bound_to(around.provider, around.model)


def _put_owner(out: dict[str, Any], part: Any, marks: dict[str, Any]) -> None:
    name = owner_name(part.binding)
    if name is not UNSET and marks.get("provider") != "response":
        out["provider_name"] = name


def _put_signature(out: dict[str, Any], part: Any, rest: dict[str, Any], marks: dict[str, Any]) -> None:
    if part.signature is not UNSET:
        details = rest.get("provider_details")
        out["provider_details"] = {**(details if type(details) is dict else {}), _SIGNATURE: part.signature}
        rest.pop("provider_details", None)
        _put_owner(out, part, marks)


def _signed(block: dict[str, Any], marks: dict[str, Any], around: Around) -> dict[str, Any]:
    """The signature and binding of a part that is no thinking."""
    signature = _take_signature(block)
    if signature is UNSET:
        return {}
    return {"signature": signature, "binding": _take_owner(block, marks, around)}


# -- parts of answers ----------------------------------------------------------------------------------------------


def _read_text(block: dict[str, Any], around: Around) -> Part:
    text = take_str(block, "content")
    marks: dict[str, Any] = {}
    settle(around.dialect.defaults["text"], block, marks)
    part_id, signed = take_maybe_str(block, "id"), _signed(block, marks, around)
    return TextPart(text=text, id=part_id, **signed, extra=pack(around.dialect.name, block, marks))


def _write_text(part: TextPart, around: Around, place: Place) -> dict[str, Any]:
    rest, marks = unpack(around.dialect.name, part.extra)
    out = {"content": part.text, **filled(around.dialect.defaults["text"], marks)}
    if part.id is not UNSET:
        out["id"] = part.id
    _put_signature(out, part, rest, marks)
    return {**out, **rest, "part_kind": "text"}


def _read_thinking(block: dict[str, Any], around: Around) -> Part:
    dialect = around.dialect
    marks: dict[str, Any] = {}
    if "content" in block or dialect.times:
        text = take_str(block, "content")
    else:
        text = ""
        lacks(marks, "content")
    settle(dialect.defaults["thinking"], block, marks)
    part_id = take_maybe_str(block, dialect.thinking_id)
    held, signature = "field", take_maybe_str(block, "signature")
    if signature is UNSET:
        held, signature = "details", _take_signature(block)
    if signature is UNSET:
        return ReasoningPart(text=text, id=part_id, extra=pack(dialect.name, block, marks))
    binding = _take_owner(block, marks, around)
    provider = binding.provider if binding is not UNSET else UNSET
    if held != _holds_signature(provider):
        marks["signature"] = held
    fields: dict[str, Any] = {"signature": signature}
    if provider == "openai" or (provider == "anthropic" and part_id == _REDACTED):
        fields = {"encrypted": signature}
        if provider == "anthropic":
            part_id = UNSET
    return ReasoningPart(text=text, id=part_id, **fields, binding=binding, extra=pack(dialect.name, block, marks))


def _holds_signature(provider: Any) -> str:
    return "details" if provider == "google" else "field"


def _write_thinking(part: ReasoningPart, around: Around, place: Place) -> dict[str, Any]:
    dialect = around.dialect
    rest, marks = unpack(dialect.name, part.extra)
    out = {"content": part.text, **filled(dialect.defaults["thinking"], marks)}
    if is_absent(marks, "content") and not part.text:
        del out["content"]
    provider = part.binding.provider if part.binding is not UNSET else UNSET
    part_id = part.id
    if part.encrypted is not UNSET and provider == "anthropic":
        part_id = _REDACTED
    if part_id is not UNSET:
        out[dialect.thinking_id] = part_id
    held = marks.get("signature", _holds_signature(provider))
    if part.encrypted is not UNSET or (part.signature is not UNSET and held != "details"):
        out["signature"] = part.signature if part.encrypted is UNSET else part.encrypted
        _put_owner(out, part, marks)
    else:
        _put_signature(out, part, rest, marks)
    return {**out, **rest, "part_kind": "thinking"}


def _read_call(kind: str) -> Any:
    def read(block: dict[str, Any], around: Around) -> Part:
        dialect = around.dialect
        marks: dict[str, Any] = {}
        name, args = take_str(block, "tool_name"), block.pop("args", UNSET)
        settle(dialect.defaults[kind], block, marks)
        call_id, part_id = take_call_id(block, marks), take_maybe_str(block, "id")
        signed = _signed(block, marks, around)
        if call_id is not UNSET:
            around.names[call_id] = name
        given, text = _read_args(args, marks)
        if kind == "builtin-tool-call":
            signed["provider_executed"] = True
        extra = pack(dialect.name, block, marks)
        return ToolCallPart(
            tool_call_id=call_id, tool_name=name, id=part_id, input=given, input_text=text, **signed, extra=extra
        )

    return read


def _read_args(args: Any, marks: dict[str, Any]) -> tuple[Any, str | UnsetType]:
    """An object as it is; a string of JSON is marked only where it could have been an object."""
    if args is None:
        return UNSET, UNSET
    if args is UNSET:
        lacks(marks, "args")
        return UNSET, UNSET
    if type(args) is not str:
        if type(args) is not dict:
            marks["args"] = "data"
        return args, UNSET
    given, text = read_arguments(args)
    if not args:
        marks["args"] = "empty"
    elif text is UNSET and type(given) is dict:
        marks["args"] = "text"
    return given, text


def _write_call(part: ToolCallPart, around: Around, place: Place) -> dict[str, Any]:
    rest, marks = unpack(around.dialect.name, part.extra)
    kind = "builtin-tool-call" if part.provider_executed is True and around.knows("builtin-tool-call") else "tool-call"
    how = marks.get("args")
    args: Any = part.input
    data = args is UNSET or type(args) is dict or how == "data"
    if type(part.input_text) is str or not data or (how == "text" and args is not UNSET):
        args = write_arguments(part)
    elif args is UNSET and how == "empty":
        args = ""
    out: dict[str, Any] = {"tool_name": _name(part, around)}
    if args is not UNSET or not is_absent(marks, "args"):
        out["args"] = None if args is UNSET else args
    put_call_id(out, part, marks, around, place)
    out.update(filled(around.dialect.defaults[kind], marks))
    if part.id is not UNSET:
        out["id"] = part.id
    _put_signature(out, part, rest, marks)
    return {**out, **rest, "part_kind": kind}


def _name(part: Any, around: Around) -> str:
    if type(part.tool_name) is str:
        return part.tool_name
    return around.names.get(part.tool_call_id, _NO_NAME) if type(part.tool_call_id) is str else _NO_NAME


def take_call_id(block: dict[str, Any], marks: dict[str, Any]) -> str | UnsetType:
    """The id of the call a part is, or is about."""
    if "tool_call_id" not in block:
        lacks(marks, "tool_call_id")
    return take_maybe_str(block, "tool_call_id")


def put_call_id(out: dict[str, Any], part: Any, marks: dict[str, Any], around: Around, place: Place) -> None:
    """The id; a call that has none is given one, so that its result finds it."""
    if type(part.tool_call_id) is str:
        out["tool_call_id"] = part.tool_call_id
    elif place in around.ids and not is_absent(marks, "tool_call_id"):
        out["tool_call_id"] = around.ids[place]


def _read_file_part(block: dict[str, Any], around: Around) -> Part:
    content, dialect = block.pop("content", None), around.dialect
    marks: dict[str, Any] = {}
    if type(content) is not dict or content.get("kind") != "binary":
        raise Unfit("content")
    file = read_file(content, dialect)
    settle(dialect.defaults["file"], block, marks)
    if file.extra is not UNSET:
        marks["content"] = file.extra[dialect.name]
    part_id, signed = take_maybe_str(block, "id"), _signed(block, marks, around)
    return replace(file, id=part_id, **signed, extra=pack(dialect.name, block, marks))


def _write_file_part(part: FilePart, around: Around, place: Place) -> Any:
    rest, marks = unpack(around.dialect.name, part.extra)
    inner: Any = {around.dialect.name: marks["content"]} if "content" in marks else UNSET
    content = write_file(replace(part, file_id=UNSET, url=UNSET, extra=inner), around.dialect)
    if content is None:
        return UNSET
    out = {"content": content, **filled(around.dialect.defaults["file"], marks)}
    if part.id is not UNSET:
        out["id"] = part.id
    _put_signature(out, part, rest, marks)
    return {**out, **rest, "part_kind": "file"}


def read_compaction(block: dict[str, Any], around: Around) -> Part:
    dialect = around.dialect
    marks: dict[str, Any] = {}
    settle(dialect.defaults["compaction"], block, marks)
    text, part_id = take_maybe_str(block, "content"), take_maybe_str(block, "id")
    details = block.get("provider_details")
    fields: dict[str, Any] = {}
    if type(details) is dict and type(details.get("encrypted_content")) is str:
        fields = {"encrypted": details["encrypted_content"], "binding": _take_owner(block, marks, around)}
        block["provider_details"] = {key: value for key, value in details.items() if key != "encrypted_content"}
        if not block["provider_details"]:
            del block["provider_details"]
    return CompactionPart(text=text, id=part_id, **fields, extra=pack(dialect.name, block, marks))


def write_compaction(part: CompactionPart, around: Around, place: Place) -> dict[str, Any]:
    rest, marks = unpack(around.dialect.name, part.extra)
    out = filled(around.dialect.defaults["compaction"], marks)
    for key, value in (("content", part.text), ("id", part.id)):
        if value is not UNSET:
            out[key] = value
    if part.encrypted is not UNSET:
        details = rest.pop("provider_details", None)
        out["provider_details"] = {**(details if type(details) is dict else {}), "encrypted_content": part.encrypted}
        _put_owner(out, part, marks)
    return {**out, **rest, "part_kind": "compaction"}


# -- results and retries -------------------------------------------------------------------------------------------


def read_return(kind: str) -> Any:
    def read(block: dict[str, Any], around: Around) -> Part:
        dialect = around.dialect
        marks: dict[str, Any] = {}
        name, call_id = take_str(block, "tool_name"), take_call_id(block, marks)
        settle(dialect.defaults[kind], block, marks)
        outcome = block.get(dialect.outcome)
        is_error = outcome is not None
        status: str | UnsetType = UNSET
        if type(outcome) is str and outcome in dialect.outcomes:
            is_error, status = dialect.outcomes[outcome]
            del block[dialect.outcome]
        read_time(block, marks, around)
        output, content = read_returned(block, marks, dialect)
        return ToolResultPart(
            tool_call_id=call_id,
            tool_name=name,
            output=output,
            content=content,
            is_error=is_error,
            status=status,
            provider_executed=True if kind == "builtin-tool-return" else UNSET,
            extra=pack(dialect.name, block, marks),
        )

    return read


def write_return(part: ToolResultPart, around: Around, place: Place, kind: str = "tool-return") -> dict[str, Any]:
    dialect = around.dialect
    rest, marks = unpack(dialect.name, part.extra)
    content, files = write_returned(part, marks, dialect)
    out: dict[str, Any] = {"tool_name": _name(part, around)}
    if content is not UNSET or (dialect.times and not is_absent(marks, "content")):
        out["content"] = None if content is UNSET else content
    put_call_id(out, part, marks, around, place)
    out.update(filled(dialect.defaults[kind], marks))
    outcome = _outcome(part, dialect)
    if outcome != "success" or dialect.outcome not in dialect.defaults[kind]:
        out[dialect.outcome] = outcome
    put_time(out, rest, marks, around)
    if dialect.digests and type(content) in (list, dict) and not is_absent(marks, "content_file_digests"):
        out["content_file_digests"] = digests(files)
    return {**out, **kept(rest, dialect), "part_kind": kind}


def _write_server_return(part: ToolResultPart, around: Around, place: Place) -> Any:
    """An answer holds results of tools that the provider ran; where these are no kind of their own, any result."""
    if not around.knows(_BUILTIN):
        return write_return(part, around, place)
    return write_return(part, around, place, _BUILTIN) if part.provider_executed is True else UNSET


def _outcome(part: ToolResultPart, dialect: Dialect) -> str:
    """The word for how a call went: the one that says both, else the plain one for an error."""
    for outcome, (_, status) in dialect.outcomes.items():
        if status is not UNSET and status == part.status:
            return outcome
    failed = part.is_error is True or part.status in ("error", "denied", "interrupted", "retried")
    return next(outcome for outcome, (is_error, _) in dialect.outcomes.items() if is_error is failed)


def kept(rest: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    return {key: value for key, value in rest.items() if key not in dialect.without} if dialect.without else rest


def read_time(block: dict[str, Any], marks: dict[str, Any], around: Around) -> None:
    """A part's time is residue only when it is not its message's."""
    if not around.dialect.times:
        return
    time = block.get("timestamp", UNSET)
    if time is UNSET:
        if around.at is not UNSET:
            lacks(marks, "timestamp")
    elif time == around.at and type(time) is str:
        del block["timestamp"]


def put_time(out: dict[str, Any], rest: dict[str, Any], marks: dict[str, Any], around: Around) -> None:
    if around.dialect.times and around.at is not UNSET and "timestamp" not in rest:
        if not is_absent(marks, "timestamp"):
            out["timestamp"] = around.at


# -- parts in general ----------------------------------------------------------------------------------------------

_READERS: dict[str, Any] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "tool-call": _read_call("tool-call"),
    "builtin-tool-call": _read_call("builtin-tool-call"),
    "builtin-tool-return": read_return("builtin-tool-return"),
    "file": _read_file_part,
    "compaction": read_compaction,
}
_ALL_READERS = {**_READERS, "tool-return": read_return("tool-return")}
_WRITERS: dict[type, Any] = {
    TextPart: _write_text,
    ReasoningPart: _write_thinking,
    ToolCallPart: _write_call,
    ToolResultPart: _write_server_return,
    FilePart: _write_file_part,
    CompactionPart: lambda part, around, place: (
        write_compaction(part, around, place)
        if around.knows("compaction")
        else _write_text(TextPart(text=part.text if type(part.text) is str else ""), around, place)
    ),
    RefusalPart: lambda part, around, place: _write_text(TextPart(text=part.text), around, place),
    RawPart: lambda part, around, place: raw_value(part, around.dialect),
}


def read_part(block: Any, readers: dict[str, Any], around: Around) -> Part:
    """A part; one that is unknown or not as its kind promises is kept raw."""
    if type(block) is dict:
        kind = block.get("part_kind")
        reader = readers.get(kind) if type(kind) is str and around.knows(kind) else None
        if reader is not None:
            taken = dict(block)
            del taken["part_kind"]
            try:
                return reader(taken, around)  # type: ignore[no-any-return]
            except Unfit:
                pass
    return RawPart(format=around.dialect.name, value=block)


def read_response(blocks: list[Any], around: Around) -> list[Any]:
    """The parts of an answer."""
    readers = _READERS if around.knows(_BUILTIN) else _ALL_READERS
    return [read_part(block, readers, around) for block in blocks]


def write_response(i: int, message: Message, around: Around) -> list[Any]:
    """The parts of an answer, less those an answer cannot hold."""
    out: list[Any] = []
    for j, part in enumerate(message.parts):
        writer = _WRITERS.get(type(part))
        if writer is not None and (written := writer(part, around, (i, j))) is not UNSET:
            out.append(written)
    return out


def raw_value(part: RawPart, dialect: Dialect) -> Any:
    """A raw part of this very format, word for word; UNSET for any other, or one the dialect is too old for."""
    if part.format != dialect.name:
        return UNSET
    value = part.value
    if dialect.without and type(value) is dict and value.get("part_kind") == "capability-load-delta":
        return UNSET
    return value


def take_provider(record: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The provider that an answer names, and the name itself where that says more."""
    name = take_maybe_str(record, "provider_name")
    if name is UNSET:
        return UNSET, {}
    provider = provider_of(str(name))
    return provider, {} if provider == name else {"provider_name": name}
