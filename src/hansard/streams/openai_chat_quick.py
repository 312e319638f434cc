"""The chunks of a chat stream that come by the thousand: words, thoughts and arguments, and nothing else.

`Chunk` refuses (by its types) what it does not know to be common; what is refused takes the slow way.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType


class Function(Struct, forbid_unknown_fields=True, gc=False):
    arguments: str
    name: str | None = None


class CallPiece(Struct, forbid_unknown_fields=True, gc=False):
    index: int
    function: Function
    id: str | None = None
    type: str | None = None


class Delta(Struct, forbid_unknown_fields=True, gc=False):
    content: str | UnsetType | None = UNSET
    reasoning_content: str | UnsetType | None = UNSET
    reasoning: str | UnsetType | None = UNSET
    role: str | None = None
    refusal: UnsetType | None = UNSET
    tool_calls: tuple[CallPiece] | UnsetType = UNSET


class Choice(Struct, forbid_unknown_fields=True, gc=False):
    delta: Delta
    index: int = 0
    finish_reason: None = None
    logprobs: UnsetType | None = UNSET


class Chunk(Struct, forbid_unknown_fields=True, gc=False):
    choices: tuple[Choice]
    id: str | UnsetType = UNSET
    object: str | UnsetType = UNSET
    created: int | UnsetType = UNSET
    model: str | UnsetType = UNSET
    system_fingerprint: str | UnsetType | None = UNSET
    service_tier: str | UnsetType | None = UNSET
    provider: str | UnsetType = UNSET
    usage: UnsetType | None = UNSET
    obfuscation: msgspec.Raw = msgspec.Raw()


_DECODER = msgspec.json.Decoder(Chunk)


def read_chunk(data: bytes) -> Chunk | None:
    """The chunk, if it is a common one."""
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def is_known(chunk: Chunk, body: dict[str, Any]) -> bool:
    """Does the chunk say nothing new about the answer? The time of a chunk is taken over at once."""
    if chunk.created is not UNSET:
        body["created"] = chunk.created
    get = body.get
    return (
        (chunk.id is UNSET or chunk.id == get("id"))
        and (chunk.model is UNSET or chunk.model == get("model"))
        and (chunk.object is UNSET or chunk.object == get("object"))
        and (chunk.system_fingerprint is UNSET or chunk.system_fingerprint == get("system_fingerprint", UNSET))
        and (chunk.service_tier is UNSET or chunk.service_tier == get("service_tier", UNSET))
        and (chunk.provider is UNSET or chunk.provider == get("provider"))
        and (chunk.usage is UNSET or "usage" in body)
    )
