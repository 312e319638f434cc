"""The parts of Pydantic AI, read and written in the spelling of a `Dialect`.

    canonical                  part_kind
    text                       text; inside a user's or system message the prompts
    reasoning                  thinking; `encrypted` for OpenAI, and for Anthropic when its id is redacted_thinking
    tool-call                  tool-call; provider-executed: builtin-tool-call
    tool-result                tool-return, retry-prompt that answers a call; provider-executed: builtin-tool-return
    retry                      retry-feedback, retry-prompt that answers no call
    file, compaction           file, compaction
    signature of any part      provider_details.thought_signature (Google), signature of thinking (the others)

Requests, which hold parts of several roles, are in `messages/requests`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.field_table.records import plain
from hansard.formats.pydantic_ai.fields import Around, Dialect, filled, is_absent, lacks, settle, taken
from hansard.formats.pydantic_ai.files import read_file, write_file
from hansard.formats.pydantic_ai.reasoning import put_owner, put_signature, signed, take_owner, take_signature
from hansard.formats.pydantic_ai.tools import (
    BUILTIN_CALL,
    BUILTIN_RETURN,
    read_call,
    read_return,
    write_call,
    write_server_return,
)
from hansard.formats.residue import SchemaMismatch, pack, take_maybe_str, take_str, unpack
from hansard.model import parts as p
from hansard.model.calls import Place
from hansard.model.conversation import Message

_REDACTED = "redacted_thinking"


# -- parts of answers ----------------------------------------------------------------------------------------------


def _read_text(block: dict[str, Any], around: Around) -> p.Part:
    block, dialect = taken(block), around.dialect
    marks: dict[str, Any] = {}
    text = take_str(block, "content")
    settle(dialect.defaults["text"], block, marks)
    part_id, fields = take_maybe_str(block, "id"), signed(block, marks, around)
    return p.TextPart(text=text, id=part_id, **fields, extra=pack(dialect.name, block, marks))


def _write_text(part: p.TextPart, around: Around, place: Place) -> dict[str, Any]:
    dialect = around.dialect
    rest, marks = unpack(dialect.name, part.extra)
    out = {"content": part.text, **filled(dialect.defaults["text"], marks)}
    if part.id is not UNSET:
        out["id"] = part.id
    put_signature(out, part, rest, marks)
    return {**out, **rest, "part_kind": "text"}


def _read_thinking(block: dict[str, Any], around: Around) -> p.Part:
    block, dialect = taken(block), around.dialect
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
        held, signature = "details", take_signature(block)
    if signature is UNSET:
        return p.ReasoningPart(text=text, id=part_id, extra=pack(dialect.name, block, marks))
    binding = take_owner(block, marks, around)
    provider = binding.provider if binding is not UNSET else UNSET
    if held != _holds_signature(provider):
        marks["signature"] = held
    fields: dict[str, Any] = {"signature": signature}
    if provider == "openai" or (provider == "anthropic" and part_id == _REDACTED):
        fields = {"encrypted": signature}
        if provider == "anthropic":
            part_id = UNSET
    return p.ReasoningPart(text=text, id=part_id, **fields, binding=binding, extra=pack(dialect.name, block, marks))


def _holds_signature(provider: Any) -> str:
    return "details" if provider == "google" else "field"


def _write_thinking(part: p.ReasoningPart, around: Around, place: Place) -> dict[str, Any]:
    dialect = around.dialect
    rest, marks = unpack(dialect.name, part.extra)
    out = {"content": part.text, **filled(dialect.defaults["thinking"], marks)}
    if is_absent(marks, "content") and not part.text and dialect.documented:
        del out["content"]
    provider = part.binding.provider if part.binding is not UNSET else UNSET
    part_id = part.id
    if part.encrypted is not UNSET and provider == "anthropic":
        part_id = _REDACTED
    if part_id is not UNSET:
        out[dialect.thinking_id] = part_id
    held = marks.get("signature", _holds_signature(provider))
    said = part.signature if part.encrypted is UNSET else part.encrypted
    if said is not UNSET and held != "details":
        out["signature"] = said
        put_owner(out, part, marks)
    else:
        put_signature(out, part, rest, marks, said)
    return {**out, **rest, "part_kind": "thinking"}


def _read_file_part(block: dict[str, Any], around: Around) -> p.Part:
    block, dialect = taken(block), around.dialect
    content = block.pop("content", None)
    marks: dict[str, Any] = {}
    if type(content) is not dict or content.get("kind") != "binary":
        raise SchemaMismatch("content")
    file = read_file(content, dialect)
    settle(dialect.defaults["file"], block, marks)
    if file.extra is not UNSET:
        marks["content"] = file.extra[dialect.name]
    part_id, fields = take_maybe_str(block, "id"), signed(block, marks, around)
    return replace(file, id=part_id, **fields, extra=pack(dialect.name, block, marks))


def _write_file_part(part: p.FilePart, around: Around, place: Place) -> Any:
    rest, marks = unpack(around.dialect.name, part.extra)
    inner: Any = {around.dialect.name: marks["content"]} if "content" in marks else UNSET
    content = write_file(replace(part, file_id=UNSET, url=UNSET, extra=inner), around.dialect)
    if content is None:
        return UNSET
    out = {"content": content, **filled(around.dialect.defaults["file"], marks)}
    if part.id is not UNSET:
        out["id"] = part.id
    put_signature(out, part, rest, marks)
    return {**out, **rest, "part_kind": "file"}


def read_compaction(block: dict[str, Any], around: Around) -> p.Part:
    block, dialect = taken(block), around.dialect
    marks: dict[str, Any] = {}
    settle(dialect.defaults["compaction"], block, marks)
    text, part_id = take_maybe_str(block, "content"), take_maybe_str(block, "id")
    details = block.get("provider_details")
    fields: dict[str, Any] = {}
    if type(details) is dict and type(details.get("encrypted_content")) is str:
        fields = {"encrypted": details["encrypted_content"], "binding": take_owner(block, marks, around)}
        block["provider_details"] = {key: value for key, value in details.items() if key != "encrypted_content"}
        if not block["provider_details"]:
            del block["provider_details"]
    return p.CompactionPart(text=text, id=part_id, **fields, extra=pack(dialect.name, block, marks))


def write_compaction(part: p.CompactionPart, around: Around, place: Place) -> dict[str, Any]:
    rest, marks = unpack(around.dialect.name, part.extra)
    out = filled(around.dialect.defaults["compaction"], marks)
    for key, value in (("content", part.text), ("id", part.id)):
        if value is not UNSET:
            out[key] = value
    if part.encrypted is not UNSET:
        details = rest.pop("provider_details", None)
        out["provider_details"] = {**(details if type(details) is dict else {}), "encrypted_content": part.encrypted}
        put_owner(out, part, marks)
    return {**out, **rest, "part_kind": "compaction"}


# -- parts in general ----------------------------------------------------------------------------------------------

_READERS: dict[str, Any] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "tool-call": read_call,
    BUILTIN_CALL: partial(read_call, kind=BUILTIN_CALL),
    BUILTIN_RETURN: partial(read_return, kind=BUILTIN_RETURN),
    "file": _read_file_part,
    "compaction": read_compaction,
}
_ALL_READERS = {**_READERS, "tool-return": read_return}
_WRITERS: dict[type, Any] = {
    p.TextPart: _write_text,
    p.ReasoningPart: _write_thinking,
    p.ToolCallPart: write_call,
    p.ToolResultPart: write_server_return,
    p.FilePart: _write_file_part,
    p.CompactionPart: lambda part, around, place: (
        write_compaction(part, around, place)
        if around.knows("compaction")
        else _write_text(p.TextPart(text=part.text if type(part.text) is str else ""), around, place)
    ),
    p.RefusalPart: lambda part, around, place: _write_text(p.TextPart(text=part.text), around, place),
    p.RawPart: lambda part, around, place: raw_value(part, around.dialect),
}


def read_part(block: Any, readers: dict[str, Any], around: Around) -> Any:
    """A part; one that is unknown or not as its kind promises is kept raw."""
    if type(block) is dict:
        kind = block.get("part_kind")
        if type(kind) is str and kind in readers:
            dialect = around.dialect
            table = dialect.readers.get(kind)
            if table is not None and around.fits_table(kind) and (part := table(block, around)) is not None:
                return part  # nearly all are so
            if kind in dialect.defaults:
                try:
                    return readers[kind](block, around)
                except SchemaMismatch:
                    pass
    return p.RawPart(format=around.dialect.name, value=block)


def read_response(blocks: list[Any], around: Around) -> list[Any]:
    """The parts of an answer."""
    readers = _READERS if BUILTIN_RETURN in around.dialect.defaults else _ALL_READERS
    return [read_part(block, readers, around) for block in blocks]


def read_response_records(records: list[Any], around: Around) -> list[Any]:
    """The parts of an answer in a typed document."""
    tables, out = around.dialect.record_readers, []
    for record in records:
        kind = record.part_kind
        part = tables[kind](record, around) if kind in _TYPED else None
        out.append(read_part(plain(record), _READERS, around) if part is None else part)
    return out


_TYPED = ("text", "tool-call", "thinking")


def write_response(i: int, message: Message, around: Around) -> list[Any]:
    """The parts of an answer, less those an answer cannot hold."""
    tables = around.dialect.writers
    out: list[Any] = []
    for j, part in enumerate(message.parts):
        kind = type(part)
        if kind is p.TextPart or kind is p.ToolCallPart:
            if (written := tables[kind](part, around)) is not None:  # nearly all are so
                out.append(written)
                continue
        writer = _WRITERS.get(kind)
        if writer is not None and (written := writer(part, around, (i, j))) is not UNSET:
            out.append(written)
    return out


def raw_value(part: p.RawPart, dialect: Dialect) -> Any:
    """A raw part of this format, unchanged; UNSET for any other, or one that the dialect is too old for."""
    if part.format != dialect.name:
        return UNSET
    value = part.value
    if dialect.without and type(value) is dict and value.get("part_kind") == "capability-load-delta":
        return UNSET
    return value
