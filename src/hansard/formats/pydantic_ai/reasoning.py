"""Who made an answer, and the signatures that only their maker understands.

A signature is `provider_details.thought_signature` of any part (Google) or `signature` of thinking (the others); the
part names its provider, else it is that of the answer.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.pydantic_ai.fields import Around
from hansard.formats.residue import take_maybe_str
from hansard.model.parts import Binding

_SIGNATURE = "thought_signature"
_ALIASES = {"google-gla": "google", "google-vertex": "google", "google-cloud": "google", "azure": "openai"}


def provider_of(name: str) -> str:
    """The provider in a name that also contains the transport.

    >>> provider_of("google-gla"), provider_of("anthropic")
    ('google', 'anthropic')
    """
    return _ALIASES.get(name, name)


def bound_to(name: str, model: str | UnsetType = UNSET) -> Binding:
    """The binding of an opaque part made by the provider of that name."""
    provider = provider_of(name)
    return Binding(provider=provider, transport=name if name != provider else UNSET, model=model)


def owner_name(binding: Any) -> str | UnsetType:
    """The name of the provider a part is bound to, as `bound_to` was given it."""
    if binding is UNSET or type(binding.provider) is not str:
        return UNSET
    if type(binding.transport) is str and _ALIASES.get(binding.transport) == binding.provider:
        return binding.transport
    return binding.provider


def take_signature(block: dict[str, Any]) -> str | UnsetType:
    """The signature among the provider's details; the other details stay."""
    details = block.get("provider_details")
    if type(details) is not dict or type(details.get(_SIGNATURE)) is not str:
        return UNSET
    block["provider_details"] = {key: value for key, value in details.items() if key != _SIGNATURE}
    if not block["provider_details"]:
        del block["provider_details"]
    return details[_SIGNATURE]  # type: ignore[no-any-return]


def take_owner(block: dict[str, Any], marks: dict[str, Any], around: Around) -> Binding | UnsetType:
    """Who made an opaque part: the provider it names, else the one that gave the answer it stands in."""
    name = take_maybe_str(block, "provider_name")
    if type(name) is str:
        return bound_to(name, around.model)
    if type(around.provider) is not str:
        return UNSET
    marks["provider"] = "response"
    return bound_to(around.provider, around.model)


def put_owner(out: dict[str, Any], part: Any, marks: dict[str, Any]) -> None:
    name = owner_name(part.binding)
    if name is not UNSET and marks.get("provider") != "response":
        out["provider_name"] = name


def put_signature(
    out: dict[str, Any], part: Any, rest: dict[str, Any], marks: dict[str, Any], said: Any = None
) -> None:
    """Write a signature (that of the part, unless another is given) among the provider's details."""
    signature = part.signature if said is None else said
    if signature is not UNSET:
        details = rest.get("provider_details")
        out["provider_details"] = {**(details if type(details) is dict else {}), _SIGNATURE: signature}
        rest.pop("provider_details", None)
        put_owner(out, part, marks)


def signed(block: dict[str, Any], marks: dict[str, Any], around: Around) -> dict[str, Any]:
    """The signature and binding of a part other than thinking."""
    signature = take_signature(block)
    if signature is UNSET:
        return {}
    return {"signature": signature, "binding": take_owner(block, marks, around)}


def take_provider(record: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The provider that an answer names, and the name itself where that says more."""
    name = take_maybe_str(record, "provider_name")
    if name is UNSET:
        return UNSET, {}
    provider = provider_of(str(name))
    return provider, {} if provider == name else {"provider_name": name}
