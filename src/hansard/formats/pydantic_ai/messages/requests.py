"""Requests as Pydantic AI has them: parts of several roles in one record, prompts that are several of our parts.

`read_request` gives the runs of one role, in order, and `write_request` the parts of one such message. A user's prompt
may be several parts of ours; the mark `prompts` of the message says where one ends when two stand side by side,
and further fields of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.pydantic_ai.content import raw_value, read_compaction, read_part, write_compaction
from hansard.formats.pydantic_ai.fields import (
    FEEDBACK,
    Around,
    BlockRecord,
    filled,
    kept,
    put_time,
    read_time,
    settle,
    taken,
    takes_time,
)
from hansard.formats.pydantic_ai.files import is_item, is_plain, read_item, write_item
from hansard.formats.pydantic_ai.tools import (
    put_call_id,
    read_return,
    take_call_id,
    write_plain_return,
    write_return,
)
from hansard.formats.residue import SchemaMismatch, pack, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.calls import Place
from hansard.model.conversation import Message

# -- retries -------------------------------------------------------------------------------------------------------


def _read_retry_prompt(block: dict[str, Any], around: Around) -> p.Part:
    """A retry that answers a call is that call's result; any other is a message of the user."""
    block = taken(block)
    content = block.pop("content", UNSET)
    marks: dict[str, Any] = {}
    if "retry" in block and around.dialect.documented and _is_feedback(content):
        return _read_feedback_fields(block, content, around)
    name, call_id = take_maybe_str(block, "tool_name"), take_call_id(block, marks)
    if name is UNSET:
        settle(around.dialect.defaults["retry-prompt"], block, marks)
        marks["kind"] = "retry-prompt"
        read_time(block, marks, around)
        extra = pack(around.dialect.name, block, marks)
        return p.RetryPart(content=content, tool_call_id=call_id, extra=extra)
    marks["kind"] = "retry-prompt"
    read_time(block, marks, around)
    return p.ToolResultPart(
        tool_call_id=call_id,
        tool_name=name,
        output=content,
        is_error=True,
        status="retried",
        extra=pack(around.dialect.name, block, marks),
    )


def _write_retry_prompt(
    part: Any, content: Any, rest: dict[str, Any], marks: dict[str, Any], around: Around, place: Place
) -> dict[str, Any]:
    out: dict[str, Any] = {} if content is UNSET else {"content": content}
    if type(part.tool_name) is str:
        out["tool_name"] = part.tool_name
    else:
        out.update(filled(around.dialect.defaults["retry-prompt"], marks))
    put_call_id(out, part, marks, around, place)
    put_time(out, rest, marks, around)
    return {**out, **rest, "part_kind": "retry-prompt"}


def _write_result(part: p.ToolResultPart, around: Around, place: Place) -> Any:
    if part.extra is not UNSET:
        rest, marks = unpack(around.dialect.name, part.extra)
        if marks.get("kind") == "retry-prompt":
            return _write_retry_prompt(part, part.output, rest, marks, around, place)
    return write_return(part, around, place)


def _read_feedback(block: dict[str, Any], around: Around) -> p.Part:
    block = taken(block)
    content = block.pop("content", UNSET)
    if not _is_feedback(content):
        raise SchemaMismatch("content")
    return _read_feedback_fields(block, content, around)


def _read_feedback_fields(block: dict[str, Any], content: Any, around: Around) -> p.Part:
    marks: dict[str, Any] = {}
    settle(FEEDBACK, block, marks)
    read_time(block, marks, around)
    return p.RetryPart(content=content, extra=pack(around.dialect.name, block, marks))


def _write_retry(part: p.RetryPart, around: Around, place: Place) -> Any:
    dialect = around.dialect
    rest, marks = unpack(dialect.name, part.extra)
    if marks.get("kind") == "retry-prompt":
        return _write_retry_prompt(part, part.content, rest, marks, around, place)
    if type(part.tool_call_id) is str or type(part.tool_name) is str:
        if dialect.documented:
            return _write_retry_prompt(part, part.content, rest, marks, around, place)
        result = p.ToolResultPart(
            tool_call_id=part.tool_call_id,
            tool_name=part.tool_name,
            output=part.content,
            is_error=True,
            status="retried",
            extra=part.extra,
        )
        return write_return(result, around, place)
    content = part.content
    if not _is_feedback(content):
        content = "" if content is UNSET else exact_json.encode(content).decode()
    out = {"content": content, **filled(FEEDBACK, marks)}
    put_time(out, rest, marks, around)
    return {**out, **rest, "part_kind": "retry-prompt" if dialect.documented else "retry-feedback"}


def _is_feedback(content: Any) -> bool:
    """A text, or a list of errors in pydantic's form."""
    if type(content) is not list:
        return type(content) is str
    return all(type(item) is dict and {"type", "loc", "msg", "input"} <= item.keys() for item in content)


def _read_summary(block: dict[str, Any], around: Around) -> p.Part:
    """A compaction in a request was made by no provider; Pydantic AI refuses one that names its maker."""
    if any(block.get(key) is not None for key in ("id", "provider_name", "provider_details")):
        raise SchemaMismatch("provider_name")
    return read_compaction(block, around)


def _write_summary(part: p.CompactionPart, around: Around, place: Place) -> dict[str, Any]:
    return write_compaction(p.CompactionPart(text=part.text, extra=part.extra), around, place)


_READERS: dict[str, Any] = {
    "tool-return": read_return,
    "retry-prompt": _read_retry_prompt,
    "retry-feedback": _read_feedback,
    "compaction": _read_summary,
}


# -- parts of several roles ----------------------------------------------------------------------------------------


class RoleRun:
    """Adjacent parts of one role in a request, with further fields of their prompts."""

    __slots__ = ("at", "count", "end", "parts", "prompts", "role")

    def __init__(self, role: str, at: Any) -> None:
        self.role, self.at = role, at
        self.parts: list[Any] = []
        self.prompts: list[dict[str, Any]] = []
        self.count, self.end = 0, -1

    def add(self, parts: list[Any], marks: dict[str, Any]) -> None:
        """Add a prompt; if it directly follows another prompt of the user, that one records its length."""
        if self.end == len(self.parts) and self.role == "user":
            self.prompts[-1]["n"] = self.count
        self.prompts.append(marks)
        self.parts += parts
        self.count, self.end = len(parts), len(self.parts)

    def marks(self) -> dict[str, Any]:
        """The hint `prompts`, if a prompt has further fields."""
        return {"prompts": self.prompts} if any(self.prompts) else {}


_ROLES = {
    "user-prompt": "user",
    "system-prompt": "system",
    "tool-return": "tool",
    **dict.fromkeys(("tool-availability-delta", "capability-load-delta", "model-settings-delta"), "system"),
}


def _role_of(block: Any) -> str:
    kind = block.get("part_kind") if type(block) is dict else None
    if type(kind) is not str:
        return "user"
    if kind in _ROLES:
        return _ROLES[kind]
    if kind == "retry-prompt" and type(block.get("tool_name")) is str:
        return "tool"
    return "system" if kind.startswith("instruction-") else "user"


def read_request(blocks: list[Any], around: Around) -> list[RoleRun]:
    """The parts of a request in runs of one role; a request without parts is an empty user's."""
    runs: list[RoleRun] = []
    for block in blocks:
        role = _role_of(block)
        if not runs or runs[-1].role != role:
            around.at = _time_of(block.get("timestamp") if type(block) is dict else None, around)
            runs.append(RoleRun(role, around.at))
        run = runs[-1]
        if role != "tool" and (found := _read_prompt(block, around)) is not None:
            run.add(*found)
            continue
        part = read_part(block, _READERS, around)
        if type(part) is p.RawPart and not (type(block) is dict and "part_kind" in block):
            part = replace(part, extra={around.dialect.name: {"$": {"whole": True}}})
        run.parts.append(part)
    return runs or [RoleRun("user", around.sent)]


def read_alone(block: Any, around: Around) -> tuple[str, Any] | None:
    """`(role, part)` for the only part of a request; None when it is not a prompt or result that its table says."""
    if type(block) is dict:
        kind, tables, time = block.get("part_kind"), around.dialect.readers, block.get("timestamp")
    elif type(block) is BlockRecord:
        kind, tables, time = block.part_kind, around.dialect.record_readers, block.timestamp  # type: ignore[attr-defined]
    else:
        return None
    around.at = _time_of(time, around)
    if kind != "tool-return" and kind != "user-prompt":
        return None
    part = tables[kind](block, around)
    return None if part is None else (_ROLES[kind], part)


def _time_of(time: Any, around: Around) -> Any:
    """The time of a message is that of its first part, else that of its request."""
    return time if type(time) is str and takes_time(time) else around.sent


def _read_prompt(block: Any, around: Around) -> tuple[list[Any], dict[str, Any]] | None:
    """The parts of a prompt and its further fields; None if it cannot be split."""
    kind = block.get("part_kind") if type(block) is dict else None
    if (kind != "user-prompt" and kind != "system-prompt") or kind not in around.dialect.defaults:
        return None
    content = block.get("content")
    if around.fits_table(kind) and (part := around.dialect.readers[kind](block, around)) is not None:
        return [part], {}  # nearly all are so
    rest = taken(block)
    marks: dict[str, Any] = {}
    parts: list[Any]
    if type(content) is str:
        parts = [p.TextPart(text=content)]
    elif type(content) is list and content and kind == "user-prompt":
        parts = [read_item(item, around.dialect) for item in content]
        if len(parts) == 1 and is_plain(parts[0], around.dialect.name):
            marks["list"] = True
    else:
        return None
    del rest["content"]
    settle(around.dialect.defaults[kind], rest, marks)
    read_time(rest, marks, around)
    if rest:
        marks["rest"] = rest
    return parts, marks


def write_request(i: int, message: Message, around: Around) -> list[Any]:
    """The parts of a request that one message of ours makes."""
    dialect, system = around.dialect, message.role in ("system", "developer")
    if len(message.parts) == 1 and (message.extra is UNSET or dialect.name not in message.extra) and not system:
        only = message.parts[0]  # nearly all are so
        if type(only) is p.TextPart and (only.extra is UNSET or dialect.name not in only.extra):
            return [_prompt("user-prompt", only.text, {}, around)]
        if type(only) is p.ToolResultPart and (written := write_plain_return(only, around)) is not None:
            return [written]
    prompts = unpack(dialect.name, message.extra)[1].get("prompts")
    entries = iter(prompts if type(prompts) is list else ())
    out: list[Any] = []
    waiting: list[p.Part] = []
    for j, part in enumerate(message.parts):
        if is_item(part, dialect) and not (system and type(part) is not p.FilePart):
            waiting.append(part)
            continue
        if waiting:
            _flush(waiting, entries, out, around)
        written = _write_request_part(part, system, entries, around, (i, j))
        if written is not UNSET:
            out.append(written)
    if waiting:
        _flush(waiting, entries, out, around)
    return out


def _flush(waiting: list[p.Part], entries: Iterator[Any], out: list[Any], around: Around) -> None:
    """Write the parts that wait as prompts: one, unless it is known that they were several."""
    said = [(part, item) for part in waiting if (item := write_item(part, around.dialect)) is not UNSET]
    waiting.clear()
    while said:
        marks = next(entries, None)
        marks = marks if type(marks) is dict else {}
        count = marks.get("n")
        count = count if type(count) is int and count > 0 else len(said)
        taken, said = said[:count], said[count:]
        content: Any = [item for _, item in taken]
        if len(taken) == 1 and type(content[0]) is str and marks.get("list") is not True:
            content = content[0]
        out.append(_prompt("user-prompt", content, marks, around))


def _prompt(kind: str, content: Any, marks: dict[str, Any], around: Around) -> Any:
    if not marks and around.fits_table(kind):
        written = around.dialect.complete[kind].written
        return written(content=content, timestamp=around.at) if around.dialect.times else written(content=content)
    rest = marks.get("rest")
    rest = dict(rest) if type(rest) is dict else {}
    out = {"content": content, **filled(around.dialect.defaults[kind], marks)}
    put_time(out, rest, marks, around)
    return {**out, **kept(rest, around.dialect), "part_kind": kind}


def _write_request_part(part: p.Part, system: bool, entries: Iterator[Any], around: Around, place: Place) -> Any:
    if isinstance(part, p.TextPart | p.RefusalPart):
        marks = next(entries, None)
        marks = marks if type(marks) is dict else {}
        return _prompt("system-prompt", part.text, marks, around) if around.knows("system-prompt") else UNSET
    if isinstance(part, p.RawPart):
        return raw_value(part, around.dialect)
    if isinstance(part, p.ToolResultPart):
        return _write_result(part, around, place) if part.preliminary is not True else UNSET
    if isinstance(part, p.RetryPart):
        return _write_retry(part, around, place)
    if isinstance(part, p.CompactionPart):
        if around.knows("compaction"):
            return _write_summary(part, around, place)
        return _prompt("user-prompt", part.text, {}, around) if type(part.text) is str and not system else UNSET
    return UNSET
