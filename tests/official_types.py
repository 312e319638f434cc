"""Strict check of a request body against the types of the official SDKs.

    problems("anthropic", {"messages": [{"role": "user", "content": 3}]})
    # ['$.messages[0].content: 3 is not a string', ...]

Stricter than the SDKs themselves, which pass most things through: an unknown key, a literal that is not
listed, a missing required key and a number in place of a string are all problems. `problems` looks at the conversation
and the system prompt only, `request_problems` at the whole request. An empty list means that the SDK's types describe
this document; for Anthropic, that the stable or the beta types do.
"""

from __future__ import annotations

import base64
import binascii
import os
import types
import typing
from collections import abc
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Literal, get_args, get_origin

import typing_extensions
from pydantic import BaseModel

Json = Any
Kind = Any  # a type as `typing` spells it: a class, a union, a TypedDict, a Literal ...


def problems(format_name: str, document: Json) -> list[str]:
    """What in `document` (a request body, or only its list of messages) the official types do not allow."""
    if format_name not in _BODIES:
        raise ValueError(f"no official types for {format_name!r}; there are {', '.join(_BODIES)}")
    key, bodies = _BODIES[format_name]()
    if isinstance(document, list):
        document = {key: document}
    if not isinstance(document, dict) or key not in document:
        return [f"$: neither a list nor an object with {key!r}"]
    first = _body_problems(document, bodies[0])
    if first and any(not _body_problems(document, body) for body in bodies[1:]):
        return []
    return first


def _body_problems(document: dict[str, Json], body: dict[str, Kind]) -> list[str]:
    present = {key: kind for key, kind in body.items() if key in document}
    return [p for key, kind in present.items() for p in _check(document[key], kind, f"$.{key}")]


def request_problems(format_name: str, document: Json) -> list[str]:
    """What in a whole request the official types do not allow: keys, values, and what is required and missing."""
    if format_name == "anthropic":  # the API takes these; the SDK sends them from its `extra_body` only
        document = {key: value for key, value in document.items() if key not in ("temperature", "top_p", "top_k")}
    found = [_check(document, kind, "$") for kind in _REQUESTS[format_name]()]
    return [] if [] in found else min(found, key=len)


@cache
def _chat_request() -> list[Kind]:
    from openai.types.chat.completion_create_params import (
        CompletionCreateParamsNonStreaming,
        CompletionCreateParamsStreaming,
    )

    return [CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming]


@cache
def _responses_request() -> list[Kind]:
    from openai.types.responses.response_create_params import (
        ResponseCreateParamsNonStreaming,
        ResponseCreateParamsStreaming,
    )

    return [ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming]


@cache
def _anthropic_request() -> list[Kind]:
    from anthropic.types import message_create_params as stable
    from anthropic.types.beta import message_create_params as beta

    return [
        stable.MessageCreateParamsNonStreaming,
        stable.MessageCreateParamsStreaming,
        beta.MessageCreateParamsNonStreaming,
        beta.MessageCreateParamsStreaming,
    ]


@cache
def _gemini_request() -> list[Kind]:
    from google.genai import types as genai
    from pydantic import create_model
    from pydantic.alias_generators import to_camel

    fields: dict[str, Any] = {
        "model": (str, ...),
        "contents": (list[genai.Content], ...),
        "system_instruction": (genai.Content, None),
        "tools": (list[genai.Tool], None),
        "tool_config": (genai.ToolConfig, None),
        "generation_config": (genai.GenerationConfig, None),
    }
    return [create_model("GenerateContentRequest", __config__={"alias_generator": to_camel}, **fields)]


_REQUESTS: dict[str, Callable[[], list[Kind]]] = {
    "openai-chat": _chat_request,
    "openai-responses": _responses_request,
    "anthropic": _anthropic_request,
    "gemini": _gemini_request,
}


# ---- the bodies, imported when first asked for: the SDKs are slow to import


def _openai_chat() -> tuple[str, list[dict[str, Kind]]]:
    from openai.types.chat import ChatCompletionMessageParam

    return "messages", [{"messages": list[ChatCompletionMessageParam]}]


def _openai_responses() -> tuple[str, list[dict[str, Kind]]]:
    from openai.types.responses import ResponseInputItemParam

    return "input", [{"input": str | list[ResponseInputItemParam], "instructions": str | None}]


def _anthropic() -> tuple[str, list[dict[str, Kind]]]:
    from anthropic.types import MessageParam, TextBlockParam
    from anthropic.types.beta import BetaMessageParam, BetaTextBlockParam

    return "messages", [
        {"messages": list[MessageParam], "system": str | list[TextBlockParam]},
        {"messages": list[BetaMessageParam], "system": str | list[BetaTextBlockParam]},
    ]


def _gemini() -> tuple[str, list[dict[str, Kind]]]:
    from google.genai.types import Content

    return "contents", [{"contents": list[Content], "systemInstruction": Content, "system_instruction": Content}]


_BODIES: dict[str, Callable[[], tuple[str, list[dict[str, Kind]]]]] = {
    "openai-chat": cache(_openai_chat),
    "openai-responses": cache(_openai_responses),
    "anthropic": cache(_anthropic),
    "gemini": cache(_gemini),
}


# ---- checking a value


def _check(value: Json, kind: Kind, path: str) -> list[str]:
    kind = _bare(kind)
    origin = _origin(kind)
    if kind is Any or kind is object:
        return []
    if origin in _UNIONS:
        return _check_union(value, kind, path)
    if origin is Literal:
        fits = any(value == member and type(value) is type(member) for member in get_args(kind))
        return [] if fits else [f"{path}: {_shown(value)} is not {_listed(get_args(kind))}"]
    if _is_record(kind):
        return _check_record(value, kind, path)
    if _is_list(origin):
        if not isinstance(value, list):
            return [f"{path}: {_shown(value)} is not a list"]
        (item_kind,) = get_args(kind)
        return [p for index, item in enumerate(value) for p in _check(item, item_kind, f"{path}[{index}]")]
    if origin in (dict, abc.Mapping):
        if not isinstance(value, dict):
            return [f"{path}: {_shown(value)} is not an object"]
        value_kind = get_args(kind)[1]
        return [p for key, item in value.items() for p in _check(item, value_kind, f"{path}.{key}")]
    return _check_plain(value, kind, path)


def _check_union(value: Json, union: Kind, path: str) -> list[str]:
    """No problems if one member fits; otherwise those of the member that was most likely meant."""
    members, records = _members(union), _records(union)
    if isinstance(value, dict) and records:
        anything = [member for member in members if _origin(member) is dict] if len(records) == 1 else []
        members = (*(record for record in records if _tags_fit(value, record)), *anything)
        if not members:
            tags = " and ".join(f"{tag} {_shown(value[tag])}" for tag in _TAGS if tag in value)
            return [f"{path}: {tags} is not of {_listed([record.__name__ for record in records])}"]
    elif isinstance(value, list):
        members = tuple(member for member in members if _is_list(_origin(member))) or members
    fewest: list[str] = []
    for member in members:
        found = _check(value, member, path)
        if not found:
            return []
        if not fewest or len(found) < len(fewest):
            fewest = found
    return fewest


def _check_record(value: Json, kind: Kind, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {_shown(value)} is not an object ({kind.__name__})"]
    fields = _fields(kind)
    known = {name for field in fields for name in field.names}
    found = [f"{path}: unknown key {key!r} in {kind.__name__}" for key in value if key not in known]
    for field in fields:
        present = [name for name in field.names if name in value]
        if len(present) > 1:
            found.append(f"{path}: both {present[0]!r} and {present[1]!r}")
        if not present and field.required:
            found.append(f"{path}: {field.names[0]!r} is missing in {kind.__name__}")
        for name in present:
            found += _check(value[name], field.kind, f"{path}.{name}")
    return found


def _check_plain(value: Json, kind: Kind, path: str) -> list[str]:
    if kind in _PLAIN:
        what, fits = _PLAIN[kind]
        return [] if fits(value) else [f"{path}: {_shown(value)} is not {what}"]
    if isinstance(kind, type) and issubclass(kind, Enum):
        values = [member.value for member in kind]
        return [] if value in values else [f"{path}: {_shown(value)} is not {_listed(values)}"]
    if (_origin(kind) or kind) in (typing.IO, os.PathLike):
        return [f"{path}: {_shown(value)} is not an open file"]  # allowed by the SDK, never found in JSON
    raise TypeError(f"{path}: do not know how to check for {kind!r}")


def _is_base64(value: Json) -> bool:
    """Either alphabet, padded."""
    if not isinstance(value, str) or not value.isascii():
        return False
    try:
        base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error:
        return False
    return True


def _is_time(value: Json) -> bool:
    if not isinstance(value, str):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


_PLAIN: dict[Kind, tuple[str, Callable[[Json], bool]]] = {
    type(None): ("null", lambda value: value is None),
    bool: ("a boolean", lambda value: isinstance(value, bool)),
    str: ("a string", lambda value: isinstance(value, str)),
    int: ("an integer", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    float: ("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),
    bytes: ("base64", _is_base64),
    datetime: ("a time", _is_time),
}


# ---- reading the types


@dataclass(frozen=True, slots=True)
class _Field:
    names: tuple[str, ...]  # as they may be written: Gemini takes camelCase and snake_case
    kind: Kind
    required: bool


@cache
def _fields(record: Kind) -> tuple[_Field, ...]:
    if issubclass(record, BaseModel):
        return tuple(
            _Field(tuple(dict.fromkeys((info.alias or name, name))), info.annotation, info.is_required())
            for name, info in record.model_fields.items()
        )
    # `__required_keys__` misses Required[...] in a module with postponed annotations; the hints have it.
    hints = typing_extensions.get_type_hints(record, include_extras=True)
    return tuple(_Field((name,), hint, _is_required(record, name, hint)) for name, hint in hints.items())


def _is_required(record: Kind, name: str, hint: Kind) -> bool:
    origin = _origin(hint)
    if origin in (typing.Required, typing.NotRequired):
        return origin is typing.Required
    return name in record.__required_keys__


def _is_record(kind: Kind) -> bool:
    return typing_extensions.is_typeddict(kind) or (isinstance(kind, type) and issubclass(kind, BaseModel))


def _is_list(origin: Kind) -> bool:
    """Also for the protocol `SequenceNotStr`, by which the SDKs mean a list."""
    return origin in (list, abc.Iterable, abc.Sequence) or getattr(origin, "__name__", "") == "SequenceNotStr"


def _bare(kind: Kind) -> Kind:
    """The type without aliases, annotations and marks of being required."""
    while True:
        if isinstance(kind, typing_extensions.TypeAliasType):
            kind = kind.__value__
        elif _origin(kind) in (typing.Annotated, typing.Required, typing.NotRequired):
            kind = get_args(kind)[0]
        else:
            return type(None) if kind is None else kind


def _origin(kind: Kind) -> Any:
    return get_origin(kind)


_UNIONS = (typing.Union, types.UnionType)


@cache
def _members(union: Kind) -> tuple[Kind, ...]:
    """The members of a union, those of unions inside it included."""
    members: list[Kind] = []
    for member in map(_bare, get_args(union)):
        members += _members(member) if _origin(member) in _UNIONS else (member,)
    return tuple(members)


@cache
def _records(union: Kind) -> tuple[Kind, ...]:
    """The records in a union, as far as they describe JSON."""
    # Models beside TypedDicts are the SDK's own answers, which Python code may pass back as objects.
    records = tuple(member for member in _members(union) if _is_record(member))
    return tuple(record for record in records if typing_extensions.is_typeddict(record)) or records


_TAGS = ("type", "role")


@cache
def _tag_kinds(record: Kind) -> dict[str, Kind]:
    return {name: field.kind for field in _fields(record) for name in field.names if name in _TAGS}


def _tags_fit(value: dict[str, Json], record: Kind) -> bool:
    """Whether the keys that tell records apart say that `value` was meant to be this record."""
    return not any(_check(value[tag], kind, "") for tag, kind in _tag_kinds(record).items() if tag in value)


def _shown(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _listed(values: abc.Sequence[Json]) -> str:
    shown = " or ".join(repr(value) for value in values[:8])
    return shown if len(values) <= 8 else f"{shown} or {len(values) - 8} others"
