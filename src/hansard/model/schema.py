"""The native schema as JSON Schema, made from the structs."""

from __future__ import annotations

from typing import Any

import msgspec

from hansard.model.conversation import Conversation
from hansard.model.parts import PART_TYPES, Unknown


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a native conversation; fields it does not list are allowed and kept.

    A document may leave out what its source did not say. `CanonicalMessage` lists the fields that every message has
    once the ledger holds it.

    >>> sorted(json_schema()["$defs"]["CanonicalMessage"]["required"])
    ['createdAt', 'id', 'metadata', 'parentMessageId', 'parts', 'role']
    """
    (root,), definitions = definitions_of([Conversation], "#/$defs/{name}")
    definitions["Message"]["properties"]["metadata"] = _METADATA
    definitions["CanonicalMessage"] = {
        "title": "CanonicalMessage",
        "description": "A message as the ledger returns it and as the specification of the canonical message has it.",
        "allOf": [
            {"$ref": "#/$defs/Message"},
            {
                "properties": {
                    "role": {"enum": ["user", "assistant", "system", "tool"]},
                    "metadata": {"required": ["schemaVersion"]},
                    "parts": {"items": {"allOf": [*map(_required, _REQUIRED)]}},
                }
            },
        ],
        "required": ["id", "parentMessageId", "role", "parts", "createdAt", "metadata"],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Hansard conversation",
        **root,
        "$defs": definitions,
    }


_METADATA = {"type": "object", "properties": {"schemaVersion": {"type": "number"}}}
_REQUIRED = {
    "text": ["text"],
    "reasoning": ["text"],
    "tool-call": ["toolCallId", "toolName", "input"],
    "tool-result": ["toolCallId", "toolName", "output", "isError"],
    "file": ["mimeType", "url"],
}


def _required(kind: str) -> dict[str, Any]:
    """What a part of this type has."""
    return {"if": {"properties": {"type": {"const": kind}}}, "then": {"required": _REQUIRED[kind]}}


def definitions_of(kinds: list[Any], ref_template: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The schemas of these kinds, and all that they refer to by name."""
    roots, definitions = msgspec.json.schema_components(kinds, schema_hook=_hook, ref_template=ref_template)
    tags = {kind.__struct_config__.tag for kind in PART_TYPES}
    for definition in definitions.values():
        definition.get("properties", {}).pop("unknown", None)
        definition.pop("additionalProperties", None)
        for shape in _shapes(definition):
            _open(shape, tags, ref_template.format(name="UnknownPart"))
    definitions["UnknownPart"] = {
        "title": "UnknownPart",
        "description": "A part of a type this schema does not list; it is kept unchanged.",
        "type": "object",
        "properties": {"type": {"type": "string", "not": {"enum": sorted(map(str, tags))}}},
        "required": ["type"],
    }
    return list(roots), definitions


def _shapes(value: Any) -> list[dict[str, Any]]:
    found = [value] if type(value) is dict else []
    children = value.values() if type(value) is dict else value if type(value) is list else ()
    for child in children:
        found += _shapes(child)
    return found


def _open(shape: dict[str, Any], tags: set[Any], other: str) -> None:
    """Let a choice of parts take parts of other types too."""
    mapping = shape.get("discriminator", {}).get("mapping", {})
    if mapping and set(mapping) <= tags:
        del shape["discriminator"]
        shape["anyOf"] = [*shape["anyOf"], {"$ref": other}]


def _hook(kind: type) -> dict[str, Any]:
    if kind is Unknown:
        return {"description": "never in a document"}
    raise TypeError(f"no schema for {kind!r}")
