"""Calls and results as words, for an agent that has no such tool; and back, for one that has.

    <tool_call agent="claude-code" name="Read" id="toolu_1">
    {"file_path":"/a.txt"}
    </tool_call>

The words say everything, so that a session handed from agent to agent and back has its calls again. Attributes are
JSON strings. `as` says what the inside is when that is not the plain thing: `json` for a result that is no string,
`parts` for one of several, in which a number is a file that stands behind the words.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from msgspec import UNSET

from hansard.errors import Unreadable
from hansard.model import exact_json
from hansard.model.parts import FilePart, Part, TextPart, ToolCallPart, ToolResultPart

_TAG = re.compile(r'<(tool_call|tool_result)((?: [a-z]+="(?:[^"\\]|\\.)*")*)>\n(.*)\n</\1>\Z', re.DOTALL)
_ATTRIBUTE = re.compile(r' ([a-z]+)=("(?:[^"\\]|\\.)*")')
_STATUSES = ("denied", "interrupted", "retried")


class Carried(NamedTuple):
    """A call or result that was carried as words, and whose tool it was; `files` of those behind it belong to it."""

    part: ToolCallPart | ToolResultPart
    agent: str
    files: int


def _tag(kind: str, attributes: dict[str, Any], inside: str) -> str:
    said = "".join(f" {key}={_json(value)}" for key, value in attributes.items() if type(value) is str)
    return f"<{kind}{said}>\n{inside}\n</{kind}>"


def _json(value: Any) -> str:
    return exact_json.encode(value).decode("utf-8", "surrogatepass")


def call_in_words(call: ToolCallPart, agent: str) -> list[Part]:
    """The words of a call."""
    attributes: dict[str, Any] = {"agent": agent, "name": call.tool_name, "id": call.tool_call_id}
    if call.provider_executed is True:
        attributes["by"] = "provider"
    if type(call.input_text) is str and call.input is UNSET:
        attributes["as"], inside = "text", call.input_text
    else:
        inside = "" if call.input is UNSET else _json(call.input)
    return [TextPart(text=_tag("tool_call", attributes, inside))]


def result_in_words(result: ToolResultPart, agent: str) -> list[Part]:
    """The words of a result, and its files behind them."""
    attributes: dict[str, Any] = {"agent": agent, "name": result.tool_name, "id": result.tool_call_id}
    if result.is_error is True:
        attributes["error"] = "true"
    if result.status in _STATUSES:
        attributes["status"] = result.status
    if result.provider_executed is True:
        attributes["by"] = "provider"
    files: list[Part] = []
    if result.content is not UNSET:
        listed: list[Any] = []
        for part in result.content:
            if type(part) is TextPart:
                listed.append(part.text)
            elif type(part) is FilePart:
                listed.append(len(files))
                files.append(part)
        attributes["as"], inside = "parts", _json(listed)
    elif type(result.output) is str:
        inside = result.output
    else:
        attributes["as"], inside = "json", "" if result.output is UNSET else _json(result.output)
    return [TextPart(text=_tag("tool_result", attributes, inside)), *files]


def from_words(parts: list[Any], j: int) -> Carried | None:
    """The call or result that a part's words carry."""
    part = parts[j]
    if type(part) is not TextPart or not part.text.startswith("<tool_"):
        return None
    found = _TAG.match(part.text)
    if found is None:
        return None
    try:
        given = {key: exact_json.decode(value) for key, value in _ATTRIBUTE.findall(found[2])}
        read = _read_call if found[1] == "tool_call" else _read_result
        carried = read(given, found[3], parts, j)
    except (Unreadable, ValueError):
        return None
    words = call_in_words if type(carried.part) is ToolCallPart else result_in_words
    return carried if words(carried.part, carried.agent)[0] == part else None  # type: ignore[arg-type]


def _named(given: dict[str, Any]) -> dict[str, Any]:
    fields = {"tool_name": given.get("name", UNSET), "tool_call_id": given.get("id", UNSET)}
    return {**fields, "provider_executed": True if given.get("by") == "provider" else UNSET}


def _read_call(given: dict[str, Any], inside: str, parts: list[Any], j: int) -> Carried:
    if given.get("as") == "text":
        return Carried(ToolCallPart(**_named(given), input_text=inside), given.get("agent", ""), 0)
    value = exact_json.decode(inside) if inside else UNSET
    return Carried(ToolCallPart(**_named(given), input=value), given.get("agent", ""), 0)


def _read_result(given: dict[str, Any], inside: str, parts: list[Any], j: int) -> Carried:
    fields: dict[str, Any] = {**_named(given), "is_error": "error" in given, "status": given.get("status", UNSET)}
    files = 0
    if given.get("as") == "parts":
        content: list[Any] = []
        listed = exact_json.decode(inside)
        for entry in listed if type(listed) is list else [None]:
            if type(entry) is str:
                content.append(TextPart(text=entry))
                continue
            if type(entry) is not int or not 0 <= entry < len(parts) - j - 1:
                raise ValueError("neither words nor the number of a file")
            if type(parts[j + 1 + entry]) is not FilePart:
                raise ValueError("no such file")
            files = max(files, entry + 1)
            content.append(parts[j + 1 + entry])
        fields["content"] = content
    elif given.get("as") == "json":
        fields["output"] = exact_json.decode(inside) if inside else UNSET
    else:
        fields["output"] = inside
    return Carried(ToolResultPart(**fields), given.get("agent", ""), files)
