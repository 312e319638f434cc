"""Opaque reasoning in the AI SDK's `providerMetadata` and `providerOptions`: `{provider: {key: value}}`.

    metadata                                                canonical
    anthropic, bedrock   .signature, .redactedData          signature, encrypted
    google, vertex       .thoughtSignature                  signature
    openai, azure        .reasoningEncryptedContent         encrypted; of reasoning and calls also .itemId: the id

`take_opaque` leaves an empty object (`{"anthropic": {}}`) where it took a value. `put_opaque` writes the value only
into such an object, so a client never receives a signature that it did not send; with `make`, for server formats, it
creates the object.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from hansard.model.hashing import opaque
from hansard.model.parts import Binding


class _Provider(Struct, frozen=True):
    name: str
    transport: str | UnsetType
    keys: dict[str, str]


_ANTHROPIC_KEYS = {"signature": "signature", "encrypted": "redactedData"}
_GOOGLE_KEYS = {"signature": "thoughtSignature"}
_OPENAI_KEYS = {"encrypted": "reasoningEncryptedContent"}
_PROVIDERS = {
    "anthropic": _Provider("anthropic", UNSET, _ANTHROPIC_KEYS),
    "bedrock": _Provider("anthropic", "bedrock", _ANTHROPIC_KEYS),
    "google": _Provider("google", UNSET, _GOOGLE_KEYS),
    "vertex": _Provider("google", "vertex", _GOOGLE_KEYS),
    "googleVertex": _Provider("google", "vertex", _GOOGLE_KEYS),
    "openai": _Provider("openai", UNSET, _OPENAI_KEYS),
    "azure": _Provider("openai", "azure", _OPENAI_KEYS),
}
_ALIASES = ("googleVertex",)  # another key for the same provider
_WITH_ITEM_ID = ("openai", "azure")
_CONFLICTS: dict[str, set[Any]] = {"openai": {("openai", "azure")}, "azure": {("openai", UNSET)}}


def take_opaque(
    block: dict[str, Any], key: str, *, encrypted: bool = False, item: bool = False, make: bool = False
) -> dict[str, Any]:
    """Take signature and binding (with `encrypted` also the encrypted form, with `item` also the id) from `block[key]`.

    With `make`, remove the empty object too: the writer creates it again.

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
        provider = _PROVIDERS.get(name)
        if provider is None or type(held) is not dict or (provider.name, provider.transport) in seen:
            continue
        seen.add((provider.name, provider.transport))
        left = dict(held)
        for field, native in provider.keys.items():
            if type(held.get(native)) is str and (encrypted or field == "signature"):
                fields[field] = left.pop(native)
        if fields:
            fields["binding"] = Binding(provider=provider.name, transport=provider.transport)
        if item and name in _WITH_ITEM_ID and type(held.get("itemId")) is str and seen.isdisjoint(_CONFLICTS[name]):
            fields["id"] = left.pop("itemId")
        if fields:
            block[key] = {**metadata, name: left}
            if make and block[key] == {name: {}} and "binding" in fields and name not in _ALIASES:
                del block[key]
            break
    return fields


def put_opaque(rest: dict[str, Any], key: str, part: Any, *, item: bool = False, make: bool = False) -> bool:
    """Write into `rest[key]` what `take_opaque` took; return whether anything was written."""
    if key not in rest and not (make and opaque(part)):
        return False
    metadata = rest.get(key)
    held = {
        field: getattr(part, field) for field in ("signature", "encrypted") if getattr(part, field, UNSET) is not UNSET
    }
    name = _provider_key(metadata if type(metadata) is dict else {}, part, held, item, make)
    if name is None:
        return False
    base = metadata if type(metadata) is dict else {}
    inner = dict(base[name]) if type(base.get(name)) is dict else {}
    for field, value in held.items():
        native = _PROVIDERS[name].keys.get(field)
        if native is not None and _bound(part, name):
            inner[native] = value
    if item and name in _WITH_ITEM_ID and type(part.id) is str and "itemId" not in inner:
        inner["itemId"] = part.id
    if not inner:
        return False
    rest[key] = {**base, name: inner}
    return True


def _provider_key(metadata: dict[str, Any], part: Any, held: dict[str, Any], item: bool, make: bool) -> str | None:
    for name, skeleton in metadata.items():
        if name not in _PROVIDERS or type(skeleton) is not dict:
            continue
        if (held and _bound(part, name)) or (not held and item and name in _WITH_ITEM_ID and type(part.id) is str):
            return name
    if make and held:
        return next((name for name in _PROVIDERS if _bound(part, name)), None)
    return None


def _bound(part: Any, name: str) -> bool:
    bound, provider = part.binding, _PROVIDERS[name]
    return bool(bound is not UNSET and bound.provider == provider.name and bound.transport == provider.transport)
