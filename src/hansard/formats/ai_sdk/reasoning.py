"""Opaque reasoning in the AI SDK's `providerMetadata` and `providerOptions`: `{provider: {key: value}}`.

    metadata                                                canonical
    anthropic, bedrock   .signature, .redactedData          signature, encrypted
    google, vertex       .thoughtSignature                  signature
    openai, azure        .reasoningEncryptedContent         encrypted; of reasoning and calls also .itemId: the id

What is taken leaves its skeleton (`{"anthropic": {}}`): it is put back only where the skeleton stands, unless the
writer is a server's and makes one.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from hansard.model.hashing import opaque
from hansard.model.parts import Binding


class _Maker(Struct, frozen=True):
    provider: str
    transport: str | UnsetType
    keys: dict[str, str]


_CLAUDE = {"signature": "signature", "encrypted": "redactedData"}
_GEMINI = {"signature": "thoughtSignature"}
_GPT = {"encrypted": "reasoningEncryptedContent"}
_MAKERS = {
    "anthropic": _Maker("anthropic", UNSET, _CLAUDE),
    "bedrock": _Maker("anthropic", "bedrock", _CLAUDE),
    "google": _Maker("google", UNSET, _GEMINI),
    "vertex": _Maker("google", "vertex", _GEMINI),
    "googleVertex": _Maker("google", "vertex", _GEMINI),
    "openai": _Maker("openai", UNSET, _GPT),
    "azure": _Maker("openai", "azure", _GPT),
}
_SECOND = ("googleVertex",)  # another name for the same maker
_ITEMS = ("openai", "azure")
_OTHERS: dict[str, set[Any]] = {"openai": {("openai", "azure")}, "azure": {("openai", UNSET)}}


def take_opaque(
    block: dict[str, Any], key: str, *, cipher: bool = False, item: bool = False, make: bool = False
) -> dict[str, Any]:
    """Take signature, binding (with `cipher` also the encrypted form, with `item` also the id) out of `block[key]`.

    A skeleton that the writer makes by itself (`make`) is not left.

    >>> block = {"providerMetadata": {"anthropic": {"signature": "sig"}}}
    >>> take_opaque(block, "providerMetadata")["signature"], block
    ('sig', {'providerMetadata': {'anthropic': {}}})
    """
    metadata = block.get(key)
    if type(metadata) is not dict:
        return {}
    fields: dict[str, Any] = {}
    seen: set[Any] = set()
    for name, held in metadata.items():
        maker = _MAKERS.get(name)
        if maker is None or type(held) is not dict or (maker.provider, maker.transport) in seen:
            continue
        seen.add((maker.provider, maker.transport))
        left = dict(held)
        for field, native in maker.keys.items():
            if type(held.get(native)) is str and (cipher or field == "signature"):
                fields[field] = left.pop(native)
        if fields:
            fields["binding"] = Binding(provider=maker.provider, transport=maker.transport)
        if item and name in _ITEMS and type(held.get("itemId")) is str and seen.isdisjoint(_OTHERS[name]):
            fields["id"] = left.pop("itemId")
        if fields:
            block[key] = {**metadata, name: left}
            if make and block[key] == {name: {}} and "binding" in fields and name not in _SECOND:
                del block[key]
            break
    return fields


def put_opaque(rest: dict[str, Any], key: str, part: Any, *, item: bool = False, make: bool = False) -> bool:
    """Put back into `rest[key]` what was taken; with `make` also where no skeleton stands. Was anything put?"""
    if key not in rest and not (make and opaque(part)):
        return False
    metadata = rest.get(key)
    held = {
        field: getattr(part, field) for field in ("signature", "encrypted") if getattr(part, field, UNSET) is not UNSET
    }
    name = _home(metadata if type(metadata) is dict else {}, part, held, item, make)
    if name is None:
        return False
    base = metadata if type(metadata) is dict else {}
    inner = dict(base[name]) if type(base.get(name)) is dict else {}
    for field, value in held.items():
        native = _MAKERS[name].keys.get(field)
        if native is not None and _bound(part, name):
            inner[native] = value
    if item and name in _ITEMS and type(part.id) is str and "itemId" not in inner:
        inner["itemId"] = part.id
    if not inner:
        return False
    rest[key] = {**base, name: inner}
    return True


def _home(metadata: dict[str, Any], part: Any, held: dict[str, Any], item: bool, make: bool) -> str | None:
    for name, skeleton in metadata.items():
        if name not in _MAKERS or type(skeleton) is not dict:
            continue
        if (held and _bound(part, name)) or (not held and item and name in _ITEMS and type(part.id) is str):
            return name
    if make and held:
        return next((name for name in _MAKERS if _bound(part, name)), None)
    return None


def _bound(part: Any, name: str) -> bool:
    bound, maker = part.binding, _MAKERS[name]
    return bool(bound is not UNSET and bound.provider == maker.provider and bound.transport == maker.transport)
