"""Calls and results in Gemini parts: client functions, and the tools that Google runs."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.errors import Unreadable
from hansard.formats.gemini.fields import NAME, is_omitted, mark_omitted, pack_part, take_inner, wrap_part
from hansard.formats.gemini.files import read_media, write_media
from hansard.formats.gemini.reasoning import DUMMY, is_signature, take_signature
from hansard.formats.residue import HINTS, SchemaMismatch, pack, set_present, take_maybe_str
from hansard.model import exact_json
from hansard.model.parts import Part, TextPart, ToolCallPart, ToolResultPart

NAME_PATTERN = r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"
CODE = "code_execution"
_is_name = re.compile(NAME_PATTERN).fullmatch


# -- functions -----------------------------------------------------------------------------------------------------


def read_common(block: dict[str, Any], first: bool) -> Part | None:
    """Fast path: read a camelCase call or result that has only the common keys; None for all others.

    `first`: a call would be the first of a model's turn (see `content.read_parts`).
    """
    signature: Any = UNSET
    extra: Any = UNSET
    if len(block) == 1:
        inner = block.get("functionResponse")
        if type(inner) is dict:
            return _read_common_result(inner)
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
    inner = block.get("functionCall")
    if type(inner) is not dict or type(inner.get("args")) is not dict or not _has_only_common_keys(inner):
        return None
    return ToolCallPart(
        tool_call_id=inner.get("id", UNSET),
        tool_name=inner["name"],
        input=inner["args"],
        signature=signature,
        extra=extra,
    )


def _read_common_result(inner: dict[str, Any]) -> Part | None:
    response = inner.get("response")
    if type(response) is not dict or not _has_only_common_keys(inner) or not is_name(inner["name"]):
        return None
    hints: dict[str, Any] = {}
    output, is_error = _read_response(response, hints)
    return ToolResultPart(
        tool_call_id=inner.get("id", UNSET),
        tool_name=inner["name"],
        output=output,
        is_error=is_error,
        extra={NAME: {HINTS: hints}} if hints else UNSET,
    )


def _has_only_common_keys(inner: dict[str, Any]) -> bool:
    """Whether it has a name, one other key, optionally an id, and nothing else."""
    if type(inner.get("name")) is not str:
        return False
    return type(inner.get("id")) is str if len(inner) == 3 else len(inner) == 2 and "id" not in inner


def read_call(taken: dict[str, Any], snake: bool, hints: dict[str, Any]) -> Part:
    inner = take_inner(taken, "functionCall", snake, hints)
    return ToolCallPart(
        tool_call_id=take_maybe_str(inner, "id"),
        tool_name=take_maybe_str(inner, "name"),
        input=_take_args(inner, hints),
        signature=take_signature(taken),
        extra=pack_part(taken, "functionCall", inner, hints),
    )


def write_call(part: ToolCallPart, rest: dict[str, Any], hints: dict[str, Any], snake: bool) -> Any:
    if part.provider_executed is True:
        return _write_provider_tool(_SERVER_CALLS, part, rest, hints, snake)
    inner = set_present({}, id=part.tool_call_id, name=part.tool_name)
    _put_args(inner, part, hints)
    return wrap_part("functionCall", inner, part, rest, hints, snake)


def _take_args(inner: dict[str, Any], hints: dict[str, Any]) -> Any:
    """Take the arguments; absent ones are an empty object, unless the call is still being streamed."""
    args = inner.pop("args", UNSET)
    if type(args) is dict:
        return args
    if args is not UNSET:
        raise SchemaMismatch("args")
    if "partialArgs" in inner or "partial_args" in inner:
        return UNSET
    mark_omitted(hints, "args")
    return {}


def _put_args(inner: dict[str, Any], part: ToolCallPart, hints: dict[str, Any]) -> None:
    if type(part.input) is dict and (part.input or not is_omitted(hints, "args")):
        inner["args"] = part.input


def is_client_call(part: Any) -> bool:
    return type(part) is ToolCallPart and part.provider_executed is not True


def read_result(taken: dict[str, Any], snake: bool, hints: dict[str, Any]) -> Part:
    inner = take_inner(taken, "functionResponse", snake, hints)
    name = take_maybe_str(inner, "name")
    if not is_name(name):
        hints["name"] = "asIs"
    output, is_error = _read_response(inner.pop("response", UNSET), hints)
    content: Any = UNSET
    parts = inner.get("parts")
    if type(parts) is list and parts:
        content = [read_media(block, snake) for block in inner.pop("parts")]
        if output is not UNSET and (output != {} or is_error or "response" in hints):
            if type(output) is not str:
                hints["json"] = True
                output = exact_json.encode(output).decode()
            content.insert(0, TextPart(text=output))
        output = UNSET
    return ToolResultPart(
        tool_call_id=take_maybe_str(inner, "id"),
        tool_name=name,
        output=output,
        content=content,
        is_error=is_error,
        signature=take_signature(taken),
        extra=pack_part(taken, "functionResponse", inner, hints),
    )


def write_result(part: ToolResultPart, rest: dict[str, Any], hints: dict[str, Any], snake: bool) -> Any:
    if part.provider_executed is True:
        return _write_provider_tool(_SERVER_RESULTS, part, rest, hints, snake)
    inner = set_present({}, id=part.tool_call_id, name=part.tool_name)
    output: Any = part.output
    media: list[Any] = []
    if type(part.content) is list:
        output, media = _write_parts(part.content, hints, snake)
    if output is not UNSET or not is_omitted(hints, "response"):
        inner["response"] = write_response(output, part.is_error is True, hints)
    if media:
        inner["parts"] = media
    return wrap_part("functionResponse", inner, part, rest, hints, snake)


@lru_cache(256)
def is_name(name: str | UnsetType) -> bool:
    return type(name) is str and _is_name(name) is not None


def _read_response(response: Any, hints: dict[str, Any]) -> tuple[Any, bool]:
    """Unwrap `{"output": x}` and `{"error": x}` to x; any other object is the output itself."""
    if response is UNSET:
        mark_omitted(hints, "response")
        return UNSET, False
    if type(response) is not dict:
        raise SchemaMismatch("response")
    if len(response) == 1:
        if "output" in response:
            output = response["output"]
            if type(output) is dict and not _needs_wrapper(output):
                hints["response"] = "wrapped"
            return output, False
        if response.get("error") is not None:
            return response["error"], True
    if _needs_wrapper(response):
        hints["response"] = "whole"
    return response, False


def write_response(output: Any, is_error: bool, hints: dict[str, Any]) -> dict[str, Any]:
    if is_error:
        return {"error": "error" if output is UNSET or output is None else output}
    if output is UNSET:
        return {}
    how = hints.get("response")
    if type(output) is dict and (how == "whole" or (how != "wrapped" and not _needs_wrapper(output))):
        return output
    return {"output": output}


def _needs_wrapper(output: Any) -> bool:
    """Whether the output must be wrapped: it is not an object, or would be read as a wrapper."""
    return type(output) is not dict or "output" in output or "error" in output


def _write_parts(content: list[Any], hints: dict[str, Any], snake: bool) -> tuple[Any, list[Any]]:
    """The text of a result for `response`, and its files for `parts`."""
    texts = [part.text for part in content if type(part) is TextPart]
    files = (write_media(part, snake) for part in content)
    media = [block for block in files if block is not UNSET]
    if not texts:
        return UNSET, media
    text = "\n".join(texts)
    if "json" in hints:
        try:
            return exact_json.decode(text), media
        except Unreadable:
            pass
    return text, media


# -- tools that Google runs ------------------------------------------------------------------------------------------


def _write_provider_tool(
    writers: dict[str, Any], part: Any, rest: dict[str, Any], hints: dict[str, Any], snake: bool
) -> Any:
    """Write by the kind that was read; UNSET for tools that another provider ran."""
    kind = hints.get("type")
    writer = writers.get(kind) if type(kind) is str else None
    return UNSET if writer is None else writer(part, rest, hints, snake)


def _take_provider_tool(
    taken: dict[str, Any], kind: str, snake: bool, hints: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take the inner object of a part of a provider-run tool, and the fields that all of them have."""
    inner = take_inner(taken, kind, snake, hints)
    hints["type"] = kind
    call_id, signature = take_maybe_str(inner, "id"), take_signature(taken)
    return inner, {"tool_call_id": call_id, "signature": signature, "provider_executed": True}


def read_code(taken: dict[str, Any], snake: bool, hints: dict[str, Any]) -> Part:
    inner, fields = _take_provider_tool(taken, "executableCode", snake, hints)
    return ToolCallPart(tool_name=CODE, input=inner, **fields, extra=pack(NAME, taken, hints))


def _write_code(part: ToolCallPart, rest: dict[str, Any], hints: dict[str, Any], snake: bool) -> Any:
    inner = dict(part.input) if type(part.input) is dict else {}
    return wrap_part("executableCode", set_present(inner, id=part.tool_call_id), part, rest, hints, snake)


def read_code_result(taken: dict[str, Any], snake: bool, hints: dict[str, Any]) -> Part:
    inner, fields = _take_provider_tool(taken, "codeExecutionResult", snake, hints)
    failed = inner.get("outcome") in ("OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
    return ToolResultPart(tool_name=CODE, output=inner, is_error=failed, **fields, extra=pack(NAME, taken, hints))


def _write_code_result(part: ToolResultPart, rest: dict[str, Any], hints: dict[str, Any], snake: bool) -> Any:
    inner = dict(part.output) if type(part.output) is dict else {}
    return wrap_part("codeExecutionResult", set_present(inner, id=part.tool_call_id), part, rest, hints, snake)


def read_tool_call(taken: dict[str, Any], snake: bool, hints: dict[str, Any]) -> Part:
    inner, fields = _take_provider_tool(taken, "toolCall", snake, hints)
    name, given = take_maybe_str(inner, "toolType"), _take_args(inner, hints)
    return ToolCallPart(tool_name=name, input=given, **fields, extra=pack_part(taken, "toolCall", inner, hints))


def _write_tool_call(part: ToolCallPart, rest: dict[str, Any], hints: dict[str, Any], snake: bool) -> Any:
    inner = set_present({}, id=part.tool_call_id, toolType=part.tool_name)
    _put_args(inner, part, hints)
    return wrap_part("toolCall", inner, part, rest, hints, snake)


def read_tool_response(taken: dict[str, Any], snake: bool, hints: dict[str, Any]) -> Part:
    inner, fields = _take_provider_tool(taken, "toolResponse", snake, hints)
    name, output = take_maybe_str(inner, "toolType"), inner.pop("response", UNSET)
    extra = pack_part(taken, "toolResponse", inner, hints)
    return ToolResultPart(tool_name=name, output=output, is_error=False, **fields, extra=extra)


def _write_tool_response(part: ToolResultPart, rest: dict[str, Any], hints: dict[str, Any], snake: bool) -> Any:
    inner = set_present({}, id=part.tool_call_id, toolType=part.tool_name, response=part.output)
    return wrap_part("toolResponse", inner, part, rest, hints, snake)


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
