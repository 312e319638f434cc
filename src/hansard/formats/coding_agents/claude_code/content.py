"""Content of Claude Code's messages: blocks, usage, context, todos, snapshots, and placeholder values.

Content blocks are Anthropic's, read and written by `anthropic/content.py`; fields that are not canonical are residue of
`anthropic`.

Claude Code requires fields that other conversations lack. They are derived from the content, never random, and
recognized when read: UUIDs of version 8 (its own are of version 4), times that end in `+00:00` (its own end in `Z`),
and versions `0.0.N`, where the bits of N say which of the fields of every record were given.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr

from hansard.errors import Unreadable
from hansard.formats.anthropic.content import read_block, write_block
from hansard.formats.residue import pack, set_present, take_maybe_int, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.conversation import Context, Message, Snapshot, Thinking, Todo, Usage

NAME = "claude-code"
PROVIDER = "anthropic"
SNAPSHOT = "file-history-snapshot"
BLOCKS = "anthropic"
EPOCH = "1970-01-01T00:00:00.000+00:00"


# -- placeholder values ----------------------------------------------------------------------------------------------


def placeholder_time(before: str | None) -> str:
    """The placeholder time of a record without one: that of the record before it."""
    if before is None:
        return EPOCH
    return before[:-1] + "+00:00" if before.endswith("Z") else before if before.endswith("+00:00") else EPOCH


# -- context, thinking, todos ----------------------------------------------------------------------------------------


def read_context(record: dict[str, Any]) -> Context | UnsetType:
    cwd, branch = take_maybe_str(record, "cwd"), take_maybe_str(record, "gitBranch")
    user = take_maybe_str(record, "userType")
    if cwd is UNSET and branch is UNSET and user is UNSET:
        return UNSET
    return Context(cwd=cwd, git_branch=branch, user_type=user)


def read_thinking(value: Any) -> Thinking | UnsetType:
    """`{level, disabled, triggers}`, in newer releases `{maxThinkingTokens}`; triggers that are objects are residue."""
    if type(value) is not dict:
        return UNSET
    rest = dict(value)
    fields: dict[str, Any] = {"level": take_maybe_str(rest, "level")}
    if type(rest.get("disabled")) is bool:
        fields["disabled"] = rest.pop("disabled")
    triggers = rest.get("triggers")
    if type(triggers) is list and all(type(trigger) is str for trigger in triggers):
        fields["triggers"] = rest.pop("triggers")
    return Thinking(**fields, extra=pack(NAME, rest))


def write_thinking(thinking: Thinking) -> dict[str, Any]:
    out = set_present({}, level=thinking.level, disabled=thinking.disabled, triggers=thinking.triggers)
    return {**out, **unpack(NAME, thinking.extra)[0]}


def read_todos(value: Any) -> list[Todo] | UnsetType:
    if type(value) is not list or not all(type(item) is dict for item in value):
        return UNSET
    return [_read_todo(dict(item)) for item in value]


def _read_todo(rest: dict[str, Any]) -> Todo:
    content, status = take_maybe_str(rest, "content"), take_maybe_str(rest, "status")
    return Todo(content=content, status=status, active_form=take_maybe_str(rest, "activeForm"), extra=pack(NAME, rest))


def write_todo(todo: Todo) -> dict[str, Any]:
    out = set_present({}, content=todo.content, status=todo.status, activeForm=todo.active_form)
    return {**out, **unpack(NAME, todo.extra)[0]}


# -- snapshots -------------------------------------------------------------------------------------------------------


def read_snapshot(record: dict[str, Any]) -> Snapshot:
    rest = dict(record)
    del rest["type"]
    message_id = take_maybe_str(rest, "messageId")
    fields: dict[str, Any] = {}
    if type(rest.get("snapshot")) is dict:
        held = dict(rest.pop("snapshot"))
        if held.get("messageId") == message_id:
            held.pop("messageId", None)
        fields["created_at"] = take_maybe_str(held, "timestamp")
        if type(held.get("trackedFileBackups")) is dict:
            fields["backups"] = held.pop("trackedFileBackups")
        if held:
            rest["snapshot"] = held
    if type(rest.get("isSnapshotUpdate")) is bool:
        fields["update"] = rest.pop("isSnapshotUpdate")
    return Snapshot(message_id=message_id, **fields, extra=pack(NAME, rest))


def write_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    rest, _ = unpack(NAME, snapshot.extra)
    held = rest.pop("snapshot", {})
    inner = set_present(
        {}, messageId=snapshot.message_id, trackedFileBackups=snapshot.backups, timestamp=snapshot.created_at
    )
    out = set_present({"type": SNAPSHOT}, messageId=snapshot.message_id)
    out["snapshot"] = {**inner, **held} if type(held) is dict else held
    return {**set_present(out, isSnapshotUpdate=snapshot.update), **rest}


# -- usage -----------------------------------------------------------------------------------------------------------


def read_usage(value: Any) -> Usage | UnsetType:
    """Canonical input tokens include cached ones; tiers and other counts are residue."""
    if type(value) is not dict or type(value.get("input_tokens")) is not int:
        return UNSET
    rest = dict(value)
    read, wrote = take_maybe_int(rest, "cache_read_input_tokens"), take_maybe_int(rest, "cache_creation_input_tokens")
    return Usage(
        input_tokens=rest.pop("input_tokens") + (read or 0) + (wrote or 0),
        output_tokens=take_maybe_int(rest, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=wrote,
        extra={NAME: rest} if rest else UNSET,
    )


def write_usage(usage: Usage | UnsetType) -> dict[str, Any] | UnsetType:
    if usage is UNSET:
        return UNSET
    read, wrote = usage.cache_read_tokens, usage.cache_write_tokens
    out: dict[str, Any] = {"input_tokens": max(0, (usage.input_tokens or 0) - (read or 0) - (wrote or 0))}
    set_present(out, cache_creation_input_tokens=wrote, cache_read_input_tokens=read, output_tokens=usage.output_tokens)
    return {**out, **unpack(NAME, usage.extra)[0]}


# -- content ---------------------------------------------------------------------------------------------------------


def read_part(block: Any, names: dict[str, str], model: str | UnsetType = UNSET) -> Any:
    """A content block as a part; reasoning is bound to Anthropic and the model."""
    part = read_block(block, names)
    if type(part) is p.ReasoningPart:
        force_setattr(part, "binding", p.Binding(provider=PROVIDER, model=model))
    return part


def write_parts(message: Message) -> tuple[list[Any], list[Any]]:
    """The blocks of a message, and results inside an answer, which follow it in a record of their own."""
    blocks: list[Any] = []
    results: list[Any] = []
    for i, part in enumerate(message.parts):
        if (block := _write_part(part, message.role, i)) is None:
            continue
        apart = message.role == "assistant" and block.get("type") == "tool_result" if type(block) is dict else False
        (results if apart else blocks).append(block)
    return blocks, results


def _write_part(part: Any, role: str, at: int) -> Any:
    """A block that Claude Code can send to its provider, or None."""
    kind = type(part)
    if kind is p.TextPart:
        return write_block(part)
    if kind is p.ReasoningPart:
        return _write_reasoning(part) if role == "assistant" else None
    if kind is p.ToolCallPart:
        return _write_call(part, at) if role == "assistant" else None
    if kind is p.ToolResultPart:
        return _write_result(part)
    if kind is p.FilePart:
        return write_block(part) if _is_whole(part) else None
    if kind is p.RawPart:
        return part.value if part.format == BLOCKS and type(part.value) is dict else None
    if kind is p.RefusalPart or (kind is p.CompactionPart and type(part.text) is str):
        return {"type": "text", "text": part.text}
    return None


def _write_reasoning(part: p.ReasoningPart) -> Any:
    """Anthropic rejects reasoning of other providers: it is carried as text."""
    if part.binding is not UNSET and part.binding.provider == PROVIDER:
        return write_block(part)
    return {"type": "text", "text": f"<thinking>\n{part.text}\n</thinking>"} if part.text else None


def _write_call(part: p.ToolCallPart, at: int) -> Any:
    given = part.input
    if given is UNSET and type(part.input_text) is str:
        given = _parsed(part.input_text)
    out = {
        "type": "tool_use",
        "id": f"toolu_{at}" if part.tool_call_id is UNSET else part.tool_call_id,
        "name": "tool" if part.tool_name is UNSET else part.tool_name,
        "input": given if type(given) is dict else {} if given is UNSET else {"input": given},
    }
    rest, marks = unpack(BLOCKS, part.extra)
    return {**out, **({"type": marks["type"]} if "type" in marks else {}), **rest}


def _parsed(text: str) -> Any:
    try:
        return exact_json.decode(text)
    except Unreadable:
        return text


def _write_result(part: p.ToolResultPart) -> Any:
    marks = unpack(BLOCKS, part.extra)[1]
    if "type" in marks:
        return write_block(part)
    content = part.content
    if content is not UNSET:
        content = [
            inner for inner in content if type(inner) in (p.TextPart, p.RawPart, p.FilePart) and _is_whole(inner)
        ]
    call_id = "toolu_unknown" if part.tool_call_id is UNSET else part.tool_call_id
    fields = {"tool_call_id": call_id, "content": content, "output": part.output, "is_error": part.is_error}
    return write_block(p.ToolResultPart(**fields, extra=part.extra))


def _is_whole(part: Any) -> bool:
    if type(part) is p.RawPart:
        return part.format == BLOCKS
    if type(part) is not p.FilePart:
        return True
    by_value = part.data is not UNSET and part.media_type is not UNSET
    return by_value or part.file_id is not UNSET or (part.url is not UNSET and part.data is UNSET)
