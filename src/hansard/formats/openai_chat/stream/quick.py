"""The chunks of a chat stream that come by the thousand: words, thoughts and arguments, and nothing else.

`Chunk` refuses (by its types) what it does not know to be common; what is refused takes the slow way. There `grows_by`
sees whether such a chunk, said again with another piece, would change nothing but that piece: what stands around it is
replaced by the same.
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


_WORDS = ("content", "reasoning_content", "reasoning")


def grows_by(choices: Any, text: str) -> str | None:
    """The field of the chunk that the text is from, if the chunk says nothing else that could add up."""
    if type(choices) is not list or len(choices) != 1:
        return None
    delta, logprobs = choices[0].get("delta"), choices[0].get("logprobs")
    if type(delta) is not dict or logprobs is not None or "error" in choices[0]:
        return None
    said = {key: value for key, value in delta.items() if value and key != "role"}
    if len(said) != 1:
        return None
    ((field, value),) = said.items()
    if field in _WORDS:
        return field if value == text else None
    return "arguments" if field == "tool_calls" and _is_piece(value, text) else None


def _is_piece(calls: Any, text: str) -> bool:
    if type(calls) is not list or len(calls) != 1 or type(calls[0]) is not dict:
        return False
    call, function = calls[0], calls[0].get("function")
    if call.keys() - {"index", "id", "type", "function"} or type(call.get("index")) is not int:
        return False
    if type(function) is not dict or function.keys() - {"name", "arguments"} or function.get("arguments") != text:
        return False
    return not function.get("name") or bool(call.get("id"))
