"""Calls and results of tools in LangChain's messages.

A call is an entry of `tool_calls`, or of `invalid_tool_calls` if its arguments are not an object. Where content is a
list, a block with the same id may repeat the call; its position in the list is then the position of the call.
In the standard spelling (`v1`) each call has such a block with the fields of the entry; spelling hints describe others.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.langchain.content import read_block, read_input_block, with_hints, write_block
from hansard.formats.langchain.files import NAME
from hansard.formats.residue import HINTS, pack, set_present, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model.arguments import read_arguments, write_arguments
from hansard.model.parts import RawPart, ToolCallPart, ToolResultPart

# Blocks that repeat a call: their keys for the id and the arguments; the tool is always `name`.
_BLOCKS = {
    "tool_call": ("id", "args"),
    "invalid_tool_call": ("id", "args"),
    "tool_use": ("id", "input"),
    "function_call": ("call_id", "arguments"),
}
_LISTS = ("tool_calls", "invalid_tool_calls")


# -- entries -------------------------------------------------------------------------------------------------------


def read_entries(fields: dict[str, Any], names: dict[str, str]) -> list[Any]:
    """Read the calls of a message: the valid ones, then the invalid ones."""
    found: list[Any] = []
    for key in _LISTS:
        if type(fields.get(key)) is list and fields[key]:
            found += [_read_entry(item, key, names) for item in fields.pop(key)]
    return found


def _read_entry(item: Any, key: str, names: dict[str, str]) -> ToolCallPart | RawPart:
    fit = type(item) is dict and type(item.get("args")) is (dict if key == "tool_calls" else str)
    if not fit or (key == "tool_calls" and type(item.get("name")) is not str):
        return RawPart(format=NAME, value=item, extra={NAME: {HINTS: {"at": key}}})
    rest, hints = dict(item), {}
    fields: dict[str, Any] = {"tool_name": take_maybe_str(rest, "name"), "tool_call_id": take_maybe_str(rest, "id")}
    arguments = rest.pop("args")
    if key == "tool_calls":
        fields["input"] = arguments
    else:
        fields["input"], fields["input_text"] = read_arguments(arguments)
        if type(fields["input"]) is dict and type(fields["tool_name"]) is str:
            hints["invalid"] = True
    drop_defaults(rest, hints, _entry_defaults(key), item)
    if type(fields["tool_call_id"]) is type(fields["tool_name"]) is str:
        names[fields["tool_call_id"]] = fields["tool_name"]
    return ToolCallPart(**fields, extra=pack(NAME, rest, hints))


def write_entry(part: Any, names: dict[str, str]) -> tuple[str, Any]:
    """The list that a call belongs to, and its entry there."""
    rest, hints = unpack(NAME, part.extra)
    if type(part) is RawPart:
        return hints["at"], part.value
    runs = type(part.input) is dict and type(part.tool_name) is str and hints.get("invalid") is not True
    key = "tool_calls" if runs else "invalid_tool_calls"
    if type(part.tool_call_id) is type(part.tool_name) is str:
        names[part.tool_call_id] = part.tool_name
    out = set_present({}, name=part.tool_name, id=part.tool_call_id)
    out["args"] = part.input if runs else write_arguments(part)
    return key, {**with_defaults(out, hints, _entry_defaults(key)), **rest}


def is_entry(part: Any) -> bool:
    """Whether this is a call of a client tool, or a raw entry of the same lists."""
    if type(part) is RawPart and part.format == NAME:
        return unpack(NAME, part.extra)[1].get("at") in _LISTS
    return type(part) is ToolCallPart and part.provider_executed is not True


def _entry_defaults(key: str) -> dict[str, Any]:
    if key == "tool_calls":
        return {"id": None, "type": "tool_call"}
    return {"id": None, "name": None, "error": None, "type": "invalid_tool_call"}


def drop_defaults(rest: dict[str, Any], hints: dict[str, Any], defaults: dict[str, Any], taken: Any = ()) -> None:
    """Remove fields with their default value; the spelling hint `absent` names defaults that are missing."""
    absent = [key for key in defaults if key not in rest and key not in taken]
    for key, value in defaults.items():
        if key in rest and exact_json.same(rest[key], value):
            del rest[key]
    if absent:
        hints["absent"] = absent


def with_defaults(out: dict[str, Any], hints: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Add the default fields, except those that the spelling hint `absent` names."""
    absent = hints.get("absent")
    for key, value in defaults.items():
        if key not in out and not (type(absent) is list and key in absent):
            out[key] = value
    return out


# -- blocks that repeat an entry -----------------------------------------------------------------------------------


def place_calls(content: list[Any], entries: list[Any], given: list[list[Any]], standard: bool) -> list[Any]:
    """The parts of content, each call at the position of its block, if that keeps the order of `given`."""
    by_id: dict[str, Any] = {}
    for entry in entries:
        if type(entry) is ToolCallPart and type(entry.tool_call_id) is str:
            by_id[entry.tool_call_id] = None if entry.tool_call_id in by_id else entry
    parts: list[Any] = []
    found: set[int] = set()
    for block in content:
        call = by_id.get(_id_of(block)) if type(block) is dict else None
        if call is None or id(call) in found:
            parts.append(read_block(block))
        else:
            found.add(id(call))
            parts.append(_with_block(call, block, standard))
    parts += [_without_block(entry, standard) for entry in entries if id(entry) not in found]
    lists: dict[str, list[Any]] = {key: [] for key in _LISTS}
    for part in parts:
        if is_entry(part):
            key, item = write_entry(part, {})
            lists[key].append(item)
    if exact_json.same(list(lists.values()), given):
        return parts
    return [*map(read_block, content), *(_without_block(entry, standard) for entry in entries)]


def _without_block(entry: Any, standard: bool) -> Any:
    return with_hints(entry, block=False) if standard and type(entry) is ToolCallPart else entry


def _id_of(block: dict[str, Any]) -> Any:
    kind = block.get("type")
    names = _BLOCKS.get(kind) if type(kind) is str else None
    given = block.get(names[0]) if names is not None and "name" in block and names[1] in block else None
    return given if type(given) is str else None


def _with_block(call: ToolCallPart, block: dict[str, Any], standard: bool) -> Any:
    """The call with a spelling hint for what its block says beyond it."""
    kind = block["type"]
    defaults = _block(call, kind)
    more = {
        key: value for key, value in block.items() if key not in defaults or not exact_json.same(value, defaults[key])
    }
    if standard and not more and kind == _default_block(call):
        return call
    return with_hints(call, block={**more, "type": kind})


def write_call_block(part: Any, standard: bool) -> Any:
    """Write the block that repeats a call in content; UNSET if there is none."""
    how = unpack(NAME, part.extra)[1].get("block", standard)
    if type(how) is dict and type(how.get("type")) is str and how["type"] in _BLOCKS:
        return {**_block(part, how["type"]), **how}
    return _block(part, _default_block(part)) if how is True and type(part) is ToolCallPart else UNSET


def _default_block(part: ToolCallPart) -> str:
    return "tool_call" if write_entry(part, {})[0] == "tool_calls" else "invalid_tool_call"


def _block(part: ToolCallPart, kind: str) -> dict[str, Any]:
    id_key, key = _BLOCKS[kind]
    as_text = kind == "invalid_tool_call" or kind == "function_call"
    out = {"type": kind, id_key: None if part.tool_call_id is UNSET else part.tool_call_id}
    out["name"] = None if part.tool_name is UNSET else part.tool_name
    out[key] = write_arguments(part) if as_text else part.input
    return out


# -- results -------------------------------------------------------------------------------------------------------


def read_result(fields: dict[str, Any], hints: dict[str, Any], names: dict[str, str]) -> ToolResultPart:
    """Read the fields of a tool message (or a legacy function message)."""
    call_id, name = take_maybe_str(fields, "tool_call_id"), take_maybe_str(fields, "name")
    if name is UNSET and call_id in names:
        name, hints["unnamed"] = names[str(call_id)], True
    output, parts = fields.pop("content", UNSET), UNSET  # type: Any, Any
    if type(output) is list:
        parts, output = [read_input_block(block) for block in output], UNSET
    elif type(output) is not str:
        hints["content"] = "data"
    failed = fields.get("status") == "error"
    if failed:
        del fields["status"]
    return ToolResultPart(
        tool_call_id=call_id,
        tool_name=name,
        output=output,
        content=parts,
        is_error=failed,
        id=take_maybe_str(fields, "id"),
    )


def write_result(part: ToolResultPart, hints: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if type(part.content) is list:
        out["content"] = [made for made in map(write_block, part.content) if made is not UNSET]
    elif type(part.output) is str or hints.get("content") == "data":
        set_present(out, content=part.output)
    else:
        out["content"] = "" if part.output is UNSET else exact_json.encode(part.output).decode()
    unnamed = hints.get("unnamed") is True and names.get(str(part.tool_call_id)) == part.tool_name
    set_present(out, name=UNSET if unnamed else part.tool_name, id=part.id, tool_call_id=part.tool_call_id)
    if part.is_error is True:
        out["status"] = "error"
    return out
