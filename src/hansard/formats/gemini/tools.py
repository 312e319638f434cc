"""Calls and results in a Gemini part: functions of the client, and the tools that Google runs itself."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.errors import Unreadable
from hansard.formats.gemini.fields import NAME, around, lacks, packed, take_held, without
from hansard.formats.gemini.files import read_media, write_media
from hansard.formats.gemini.reasoning import DUMMY, is_signature, take_signature
from hansard.formats.residue import HINTS, SchemaMismatch, pack, set_present, take_maybe_str
from hansard.model import exact_json
from hansard.model.parts import Part, TextPart, ToolCallPart, ToolResultPart

NAME_PATTERN = r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"
CODE = "code_execution"
_is_name = re.compile(NAME_PATTERN).fullmatch


# -- functions -----------------------------------------------------------------------------------------------------


def read_plain(block: dict[str, Any], first: bool) -> Part | None:
    """A call or a result in camelCase that says what is usually said, quickly; None for all others.

    `first`: a call would be the first one of a model's turn (see `gemini_parts.read_parts`).
    """
    signature: Any = UNSET
    extra: Any = UNSET
    if len(block) == 1:
        held = block.get("functionResponse")
        if type(held) is dict:
            return _read_plain_result(held)
        if first:
            extra = {NAME: {HINTS: {"unsigned": True}}}
    elif len(block) == 2:
        signature = block.get("thoughtSignature")
        if first and signature == DUMMY:
            signature = UNSET
        elif not is_signature(signature):
            return None
    else:
        return None
    held = block.get("functionCall")
    if type(held) is not dict or type(held.get("args")) is not dict or not _is_plain(held):
        return None
    return ToolCallPart(
        tool_call_id=held.get("id", UNSET),
        tool_name=held["name"],
        input=held["args"],
        signature=signature,
        extra=extra,
    )


def _read_plain_result(held: dict[str, Any]) -> Part | None:
    response = held.get("response")
    if type(response) is not dict or not _is_plain(held) or not is_name(held["name"]):
        return None
    marks: dict[str, Any] = {}
    output, is_error = _read_response(response, marks)
    return ToolResultPart(
        tool_call_id=held.get("id", UNSET),
        tool_name=held["name"],
        output=output,
        is_error=is_error,
        extra={NAME: {HINTS: marks}} if marks else UNSET,
    )


def _is_plain(held: dict[str, Any]) -> bool:
    """Has it a name, perhaps an id, one more field, and no other?"""
    if type(held.get("name")) is not str:
        return False
    return type(held.get("id")) is str if len(held) == 3 else len(held) == 2 and "id" not in held


def read_call(taken: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Part:
    held = take_held(taken, "functionCall", snake, marks)
    return ToolCallPart(
        tool_call_id=take_maybe_str(held, "id"),
        tool_name=take_maybe_str(held, "name"),
        input=_take_args(held, marks),
        signature=take_signature(taken),
        extra=packed(taken, "functionCall", held, marks),
    )


def write_call(part: ToolCallPart, rest: dict[str, Any], marks: dict[str, Any], snake: bool) -> Any:
    if part.provider_executed is True:
        return _write_served(_SERVER_CALLS, part, rest, marks, snake)
    held = set_present({}, id=part.tool_call_id, name=part.tool_name)
    _put_args(held, part, marks)
    return around("functionCall", held, part, rest, marks, snake)


def _take_args(held: dict[str, Any], marks: dict[str, Any]) -> Any:
    """A call without arguments is a call with none, unless they are still to come."""
    args = held.pop("args", UNSET)
    if type(args) is dict:
        return args
    if args is not UNSET:
        raise SchemaMismatch("args")
    if "partialArgs" in held or "partial_args" in held:
        return UNSET
    without(marks, "args")
    return {}


def _put_args(held: dict[str, Any], part: ToolCallPart, marks: dict[str, Any]) -> None:
    if type(part.input) is dict and (part.input or not lacks(marks, "args")):
        held["args"] = part.input


def is_client_call(part: Any) -> bool:
    return type(part) is ToolCallPart and part.provider_executed is not True


def read_result(taken: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Part:
    held = take_held(taken, "functionResponse", snake, marks)
    name = take_maybe_str(held, "name")
    if not is_name(name):
        marks["name"] = "asIs"
    output, is_error = _read_response(held.pop("response", UNSET), marks)
    content: Any = UNSET
    parts = held.get("parts")
    if type(parts) is list and parts:
        content = [read_media(block, snake) for block in held.pop("parts")]
        if output is not UNSET and (output != {} or is_error or "response" in marks):
            if type(output) is not str:
                marks["json"] = True
                output = exact_json.encode(output).decode()
            content.insert(0, TextPart(text=output))
        output = UNSET
    return ToolResultPart(
        tool_call_id=take_maybe_str(held, "id"),
        tool_name=name,
        output=output,
        content=content,
        is_error=is_error,
        signature=take_signature(taken),
        extra=packed(taken, "functionResponse", held, marks),
    )


def write_result(part: ToolResultPart, rest: dict[str, Any], marks: dict[str, Any], snake: bool) -> Any:
    if part.provider_executed is True:
        return _write_served(_SERVER_RESULTS, part, rest, marks, snake)
    held = set_present({}, id=part.tool_call_id, name=part.tool_name)
    output: Any = part.output
    media: list[Any] = []
    if type(part.content) is list:
        output, media = _write_parts(part.content, marks, snake)
    if output is not UNSET or not lacks(marks, "response"):
        held["response"] = write_response(output, part.is_error is True, marks)
    if media:
        held["parts"] = media
    return around("functionResponse", held, part, rest, marks, snake)


@lru_cache(256)
def is_name(name: str | UnsetType) -> bool:
    return type(name) is str and _is_name(name) is not None


def _read_response(response: Any, marks: dict[str, Any]) -> tuple[Any, bool]:
    """`{"output": x}` and `{"error": x}` say x; any other object is the output itself."""
    if response is UNSET:
        without(marks, "response")
        return UNSET, False
    if type(response) is not dict:
        raise SchemaMismatch("response")
    if len(response) == 1:
        if "output" in response:
            output = response["output"]
            if type(output) is dict and not _wants_wrap(output):
                marks["response"] = "wrapped"
            return output, False
        if response.get("error") is not None:
            return response["error"], True
    if _wants_wrap(response):
        marks["response"] = "whole"
    return response, False


def write_response(output: Any, is_error: bool, marks: dict[str, Any]) -> dict[str, Any]:
    if is_error:
        return {"error": "error" if output is UNSET or output is None else output}
    if output is UNSET:
        return {}
    how = marks.get("response")
    if type(output) is dict and (how == "whole" or (how != "wrapped" and not _wants_wrap(output))):
        return output
    return {"output": output}


def _wants_wrap(output: Any) -> bool:
    """Would the bare output be no object, or be taken for something else?"""
    return type(output) is not dict or "output" in output or "error" in output


def _write_parts(content: list[Any], marks: dict[str, Any], snake: bool) -> tuple[Any, list[Any]]:
    """The words of a result for `response`, and its files for `parts`."""
    words = [part.text for part in content if type(part) is TextPart]
    files = (write_media(part, snake) for part in content)
    media = [block for block in files if block is not UNSET]
    if not words:
        return UNSET, media
    text = "\n".join(words)
    if "json" in marks:
        try:
            return exact_json.decode(text), media
        except Unreadable:
            pass
    return text, media


# -- tools that Google runs ------------------------------------------------------------------------------------------


def _write_served(writers: dict[str, Any], part: Any, rest: dict[str, Any], marks: dict[str, Any], snake: bool) -> Any:
    """By the kind that was read; what others' servers did has no place here."""
    kind = marks.get("type")
    writer = writers.get(kind) if type(kind) is str else None
    return UNSET if writer is None else writer(part, rest, marks, snake)


def _take_served(
    taken: dict[str, Any], kind: str, snake: bool, marks: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The object that such a part is about, and the fields that all of them have."""
    held = take_held(taken, kind, snake, marks)
    marks["type"] = kind
    call_id, signature = take_maybe_str(held, "id"), take_signature(taken)
    return held, {"tool_call_id": call_id, "signature": signature, "provider_executed": True}


def read_code(taken: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Part:
    held, fields = _take_served(taken, "executableCode", snake, marks)
    return ToolCallPart(tool_name=CODE, input=held, **fields, extra=pack(NAME, taken, marks))


def _write_code(part: ToolCallPart, rest: dict[str, Any], marks: dict[str, Any], snake: bool) -> Any:
    held = dict(part.input) if type(part.input) is dict else {}
    return around("executableCode", set_present(held, id=part.tool_call_id), part, rest, marks, snake)


def read_code_result(taken: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Part:
    held, fields = _take_served(taken, "codeExecutionResult", snake, marks)
    failed = held.get("outcome") in ("OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
    return ToolResultPart(tool_name=CODE, output=held, is_error=failed, **fields, extra=pack(NAME, taken, marks))


def _write_code_result(part: ToolResultPart, rest: dict[str, Any], marks: dict[str, Any], snake: bool) -> Any:
    held = dict(part.output) if type(part.output) is dict else {}
    return around("codeExecutionResult", set_present(held, id=part.tool_call_id), part, rest, marks, snake)


def read_tool_call(taken: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Part:
    held, fields = _take_served(taken, "toolCall", snake, marks)
    name, given = take_maybe_str(held, "toolType"), _take_args(held, marks)
    return ToolCallPart(tool_name=name, input=given, **fields, extra=packed(taken, "toolCall", held, marks))


def _write_tool_call(part: ToolCallPart, rest: dict[str, Any], marks: dict[str, Any], snake: bool) -> Any:
    held = set_present({}, id=part.tool_call_id, toolType=part.tool_name)
    _put_args(held, part, marks)
    return around("toolCall", held, part, rest, marks, snake)


def read_tool_response(taken: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Part:
    held, fields = _take_served(taken, "toolResponse", snake, marks)
    name, output = take_maybe_str(held, "toolType"), held.pop("response", UNSET)
    extra = packed(taken, "toolResponse", held, marks)
    return ToolResultPart(tool_name=name, output=output, is_error=False, **fields, extra=extra)


def _write_tool_response(part: ToolResultPart, rest: dict[str, Any], marks: dict[str, Any], snake: bool) -> Any:
    held = set_present({}, id=part.tool_call_id, toolType=part.tool_name, response=part.output)
    return around("toolResponse", held, part, rest, marks, snake)


READERS: dict[str, Any] = {
    "functionCall": read_call,
    "functionResponse": read_result,
    "executableCode": read_code,
    "codeExecutionResult": read_code_result,
    "toolCall": read_tool_call,
    "toolResponse": read_tool_response,
}
_SERVER_CALLS: dict[str, Any] = {"executableCode": _write_code, "toolCall": _write_tool_call}
_SERVER_RESULTS: dict[str, Any] = {"codeExecutionResult": _write_code_result, "toolResponse": _write_tool_response}
