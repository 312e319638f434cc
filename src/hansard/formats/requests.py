"""Tools and settings of a request: what every dialect of them shares.

A `Dialect` reads the keys of a request body that have a canonical field, and writes them. `take` and `put` are what the
formats call: what a dialect leaves stays residue, and a value whose default spelling is another is kept as it came in
the hint `request`, which holds as long as it still reads as the conversation's tools and settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from hansard.formats.residue import unpack
from hansard.model import exact_json, native
from hansard.model.conversation import Conversation, Message
from hansard.model.request import ModelRef, Settings, Tool

HINT = "request"
Tools: TypeAlias = list[Tool] | UnsetType
Chosen: TypeAlias = Settings | UnsetType
Fields: TypeAlias = dict[str, Any]


def is_str(value: Any) -> bool:
    return type(value) is str


def is_int(value: Any) -> bool:
    return type(value) is int


def is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def is_bool(value: Any) -> bool:
    return type(value) is bool


def is_object(value: Any) -> bool:
    return type(value) is dict


def is_strings(value: Any) -> bool:
    return type(value) is list and bool(value) and all(type(item) is str for item in value)


class Row(Struct, frozen=True):
    """A native key that is a canonical field, for values of this kind."""

    key: str
    field: str
    fits: Callable[[Any], bool]


class Dialect(Struct, frozen=True, kw_only=True):
    """How a format says tools and settings.

    `said` are the keys of what is said: one of them tells a request from other documents of the format.
    `read(body)` takes what it understands out of the body, which is a copy; what is inside it is not to be changed.
    `write` gives the keys of a request. `required` are those that the provider does not go without, each with its
    canonical field.
    """

    name: str
    provider: str
    said: tuple[str, ...]
    keys: frozenset[str]
    read: Callable[[Fields], tuple[Tools, Fields]]
    write: Callable[[Tools, Settings], Fields]
    name_pattern: str
    required: tuple[tuple[str, str], ...]


def take_rows(body: Fields, rows: tuple[Row, ...], fields: Fields) -> None:
    """Take the values that fit their row out of an object."""
    for row in rows:
        if row.key in body and row.fits(body[row.key]):
            fields[row.field] = body.pop(row.key)


def put_rows(settings: Settings, rows: tuple[Row, ...], out: Fields) -> Fields:
    """Set the values that are there."""
    for row in rows:
        value = getattr(settings, row.field)
        if value is not UNSET:
            out[row.key] = value
    return out


def take_inner(body: Fields, key: str) -> Fields:
    """A copy of the object under a key, to take values out of; `put_inner` puts the rest back."""
    value = body.get(key)
    return dict(value) if type(value) is dict else {}


def put_inner(body: Fields, key: str, rest: Fields) -> None:
    """Put back what is left of an object that values were taken from."""
    if type(body.get(key)) is dict and len(rest) != len(body[key]):
        if rest:
            body[key] = rest
        else:
            del body[key]


def own_model(settings: Settings, provider: str) -> str | UnsetType:
    """The name of the model, unless it is another provider's."""
    model = settings.model
    return UNSET if model is UNSET or model.provider not in (UNSET, provider) else model.name


def take_model(body: Fields, provider: str, fields: Fields) -> None:
    if type(body.get("model")) is str:
        fields["model"] = ModelRef(provider=provider, name=body.pop("model"))


# -- reading and writing -------------------------------------------------------------------------------------------


def take(dialect: Dialect, body: Fields, hints: Fields) -> tuple[Tools, Chosen]:
    """Take tools and settings out of a request body; what is left of them stays in it, or goes to the hint."""
    if dialect.keys.isdisjoint(body):
        return UNSET, UNSET
    given = {key: body[key] for key in dialect.keys if key in body}
    rest = dict(given)
    tools, fields = dialect.read(rest)
    if tools is UNSET and not fields:
        return UNSET, UNSET
    settings = Settings(**fields)
    again = _merged(dialect.write(tools, settings), rest)
    kept = {key: value for key, value in given.items() if not exact_json.same(again.get(key, UNSET), value)}
    added = [key for key in again if key not in given]
    if "tools" in given and not all(map(_is_name(dialect), names_of(tools))):
        kept["tools"] = given["tools"]
    for key in given:
        if key in kept or key not in rest:
            del body[key]
        else:
            body[key] = rest[key]
    if kept or added:
        hints[HINT] = {**({"as": kept} if kept else {}), **({"not": added} if added else {})}
    return tools, settings if fields else UNSET


def put(dialect: Dialect, conversation: Conversation, rest: Fields, hints: Fields) -> Fields:
    """The keys of a request around its messages: tools, settings and residue."""
    tools, settings = conversation.tools, conversation.settings
    if tools is UNSET and settings is UNSET:
        return rest
    chosen = settings if settings is not UNSET else Settings()
    if type(hints.get(HINT)) is dict:
        found = _as_it_came(dialect, tools, chosen, rest, hints[HINT])
        if found is not None:
            return found
    return _merged(dialect.write(tools, chosen), rest)


def _as_it_came(dialect: Dialect, tools: Tools, settings: Settings, rest: Fields, hint: Fields) -> Fields | None:
    """The keys as the request had them, if they still say the same."""
    kept, added = hint.get("as", {}), hint.get("not", [])
    if type(kept) is not dict or type(added) is not list or not kept.keys() <= dialect.keys:
        return None
    written = _merged(dialect.write(tools, settings), rest)
    out = {**{key: value for key, value in written.items() if key not in added}, **kept}
    again, fields = dialect.read({key: out[key] for key in dialect.keys if key in out})
    same = native.same([*(again or ())], [*(tools or ())]) and (again is UNSET) == (tools is UNSET)
    return out if same and native.same(Settings(**fields), settings) else None


def _merged(out: Fields, rest: Fields) -> Fields:
    """The residue between what was written; inside an object that both have, too."""
    if not rest:
        return out
    made = {**rest, **out}
    for key in out.keys() & rest.keys():
        if type(out[key]) is dict and type(rest[key]) is dict:
            made[key] = _merged(out[key], rest[key])
    return made


# -- names of tools ------------------------------------------------------------------------------------------------


def names_of(tools: Tools) -> list[str]:
    """The names of the tools that the client runs."""
    return [tool.name for tool in tools or () if type(tool.name) is str and tool.format is UNSET]


def _is_name(dialect: Dialect) -> Callable[[str], object]:
    return re.compile(dialect.name_pattern, re.DOTALL).fullmatch


def renamed(conversation: Conversation, dialect: Dialect, messages: list[Message]) -> Conversation:
    """The conversation with names of tools that the provider allows, the same as the calls in its messages get."""
    tools, settings = conversation.tools, conversation.settings
    is_name, named = _is_name(dialect), names_of(tools)
    if all(map(is_name, named)) or "tools" in _kept(conversation, dialect):
        return conversation
    from hansard.formats.rules.names import called, legal_names

    made = legal_names([*called(messages), *named], is_name)
    if settings is not UNSET and settings.tool_choice is not UNSET and settings.tool_choice.tools is not UNSET:
        allowed = [made.get(name, name) for name in settings.tool_choice.tools]
        settings = replace(settings, tool_choice=replace(settings.tool_choice, tools=allowed))
    tools = [replace(tool, name=made[tool.name]) if tool.name in made else tool for tool in tools or ()]
    return replace(conversation, tools=tools, settings=settings)


def _kept(conversation: Conversation, dialect: Dialect) -> Fields:
    hint = unpack(dialect.name, conversation.extra)[1].get(HINT)
    kept = hint.get("as") if type(hint) is dict else None
    return kept if type(kept) is dict else {}


# -- requests -------------------------------------------------------------------------------------------------------


def completed(conversation: Conversation, provider: str, model: str | None, max_tokens: int | None) -> Conversation:
    """The conversation with these settings of its next request."""
    given: Fields = {}
    if model is not None:
        given["model"] = ModelRef(provider=provider, name=model)
    if max_tokens is not None:
        given["max_tokens"] = max_tokens
    if not given:
        return conversation
    before = conversation.settings if conversation.settings is not UNSET else Settings()
    return replace(conversation, settings=replace(before, **given))


def missing(dialect: Dialect, document: Any) -> list[str]:
    """What the provider requires and a request does not say, by the name of the canonical field."""
    if type(document) is not dict or not any(key in document for key in dialect.said):
        return []
    return [field for key, field in dialect.required if key not in document]
