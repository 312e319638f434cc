"""Tool calls and results in provider messages: flat calls with a string of arguments, one record per result."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msgspec import UNSET

from hansard.formats.provider_message.content import NAME, read_file_ids, read_part, write_file_ids, write_part
from hansard.formats.residue import HINTS, hinted, pack, set_present, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model.arguments import read_arguments, write_arguments
from hansard.model.parts import RawPart, ToolCallPart, ToolResultPart


class Calls:
    """Tool names by call id, and the call ids that results answer."""

    def __init__(self, records: list[Any]) -> None:
        self.names: dict[Any, str] = {}
        self.records = records

    @cached_property
    def answered(self) -> frozenset[str]:
        tools = [record for record in self.records if type(record) is dict and record.get("role") == "tool"]
        ids = [record.get("call_id", record.get("id")) for record in tools]
        return frozenset(given for given in ids if type(given) is str)

    def learn(self, call_id: Any, name: Any) -> None:
        if type(call_id) is str and type(name) is str:
            self.names[call_id] = name


def read_call(item: Any, calls: Calls) -> ToolCallPart | RawPart:
    if type(item) is not dict or not ("name" in item or "arguments" in item):
        return RawPart(format=NAME, value=item, extra={NAME: {HINTS: {"at": "tool_calls"}}})
    if len(item) == 3 and type(call_id := item.get("id")) is type(name := item.get("name")) is str:
        if type(given := item.get("arguments")) is str:  # fast path
            calls.names[call_id] = name
            data, text = read_arguments(given)
            return ToolCallPart(tool_call_id=call_id, tool_name=name, input=data, input_text=text)
    rest = dict(item)
    hints: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    given, name = rest.pop("arguments", UNSET), take_maybe_str(rest, "name")
    call_id, link = take_maybe_str(rest, "id"), rest.get("call_id")
    if type(link) is str:
        if call_id is UNSET:
            call_id, hints["id"] = rest.pop("call_id"), "call_id"
        elif link in calls.answered and call_id not in calls.answered:
            fields["id"], hints["id"] = call_id, "both"
            call_id = rest.pop("call_id")
    if type(given) is str:
        fields["input"], fields["input_text"] = read_arguments(given)
    else:
        fields["input"] = given
        hints["arguments"] = "missing" if given is UNSET else "data"
    calls.learn(call_id, name)
    return ToolCallPart(tool_call_id=call_id, tool_name=name, **fields, extra=pack(NAME, rest, hints))


def write_call(part: Any, calls: Calls) -> Any:
    if type(part) is RawPart:
        return part.value
    calls.learn(part.tool_call_id, part.tool_name)
    if part.extra is UNSET and type(part.tool_name) is type(part.tool_call_id) is str:  # fast path
        return {"name": part.tool_name, "arguments": write_arguments(part), "id": part.tool_call_id}
    rest, hints = unpack(NAME, part.extra)
    how, key = hints.get("arguments"), hints.get("id")
    out = set_present({}, name=part.tool_name)
    if how == "data":
        set_present(out, arguments=part.input)
    elif how != "missing":
        out["arguments"] = write_arguments(part)
    if key == "both":
        set_present(out, id=part.id, call_id=part.tool_call_id)
    else:
        set_present(out, **{"call_id" if key == "call_id" else "id": part.tool_call_id})
    return {**out, **rest}


def read_result(record: dict[str, Any], calls: Calls) -> ToolResultPart:
    call_id, own_id = take_maybe_str(record, "call_id"), take_maybe_str(record, "id")
    output, name = record.pop("content", UNSET), take_maybe_str(record, "name")
    parts: Any = UNSET
    hints: dict[str, Any] = {}
    if call_id is UNSET and own_id is not UNSET:
        call_id, own_id, hints["id"] = own_id, UNSET, True
    known = calls.names.get(call_id, UNSET)
    if name is UNSET:
        name = known
    elif name == known:
        hints["name"] = True
    if type(output) is list:
        parts, output = [read_part(block) for block in output], UNSET
        read_file_ids(record, parts)
    elif type(output) is not str:
        hints["content"] = "data"
    return ToolResultPart(
        tool_call_id=call_id,
        tool_name=name,
        output=output,
        content=parts,
        is_error=False,
        id=own_id,
        extra=pack(NAME, record, hints),
    )


def write_result(part: ToolResultPart, calls: Calls) -> dict[str, Any]:
    if part.extra is part.content is part.id is UNSET and type(part.output) is type(part.tool_call_id) is str:
        if calls.names.get(part.tool_call_id, UNSET) == part.tool_name:  # fast path
            return {"role": "tool", "content": part.output, "call_id": part.tool_call_id}
    rest, hints = unpack(NAME, part.extra)
    out: dict[str, Any] = {"role": "tool"}
    if type(part.content) is list:
        out["content"] = [made for made in map(write_part, part.content) if made is not UNSET]
    elif type(part.output) is str or hints.get("content") == "data":
        set_present(out, content=part.output)
    else:
        out["content"] = "" if part.output is UNSET else exact_json.encode(part.output).decode()
    if part.tool_call_id is not UNSET:
        set_present(out, **{"id" if "id" in hints else "call_id": part.tool_call_id})
        if "call_id" in out:
            set_present(out, id=part.id)
    if hinted(part.extra, "name", NAME, "openai-chat") or calls.names.get(part.tool_call_id, UNSET) != part.tool_name:
        set_present(out, name=part.tool_name)
    out.update(rest)
    write_file_ids(part.content if type(part.content) is list else [], out)
    return out
