"""The usual parts of a Gemini content as they are written; `usual` says what they are for."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.field_table import Written
from hansard.formats.gemini.files import DUMMY
from hansard.formats.gemini.tools import write_response
from hansard.model.parts import TextPart, ToolCallPart, ToolResultPart


class _Text(Written):
    text: str


class _Call(Written):
    functionCall: Any
    thoughtSignature: Any


class _HeldCall(Written):
    id: Any
    name: Any
    args: dict[str, Any]


class _Result(Written):
    functionResponse: Any


class _HeldResult(Written):
    id: Any
    name: Any
    response: Any


def write_usual(parts: list[Any], model: bool) -> list[Any] | None:
    """Words, calls and results of a client's tools without residue and signatures; None when there is anything else.

    Where the model speaks, its first call must be signed: the dummy says that there is no signature.
    """
    out: list[Any] = []
    first = model
    for part in parts:
        if part.extra is not UNSET:
            return None
        kind = type(part)
        if kind is TextPart:
            if part.signature is not UNSET:
                return None
            out.append(_Text(part.text))
        elif kind is ToolCallPart:
            if part.signature is not UNSET or part.provider_executed is True or type(part.input) is not dict:
                return None
            held = _HeldCall(part.tool_call_id, part.tool_name, part.input)
            out.append(_Call(held, DUMMY if first else UNSET))
            first = False
        elif kind is ToolResultPart:
            if part.signature is not UNSET or part.provider_executed is True or part.content is not UNSET:
                return None
            response = write_response(part.output, part.is_error is True, {})
            out.append(_Result(_HeldResult(part.tool_call_id, part.tool_name, response)))
        else:
            return None
    return out
