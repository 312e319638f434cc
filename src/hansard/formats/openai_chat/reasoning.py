"""Reasoning in the dialects of Chat Completions: keys of an assistant message that OpenAI's own types do not have.

    reasoning_content     DeepSeek, vLLM, litellm: a string
    reasoning             OpenRouter, Groq: a string; beside `reasoning_details` the same text again
    reasoning_details     OpenRouter, MiniMax: reasoning.text, reasoning.summary, reasoning.encrypted
    thinking_blocks       litellm: Anthropic's blocks

The hint `key` of a part names the key it was read from, and it is written there again. Reasoning without that hint
comes from another format and is not written. Text that is repeated under a second key is kept once: the hint
`reasoning` of the message says how the second string is joined from the parts.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.openai_chat.content import NAME
from hansard.formats.residue import HINTS, SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model.parts import Binding, RawPart, ReasoningPart

_TEXTS = ("reasoning_content", "reasoning")
_TEXT_KEYS = {"reasoning.text": "text", "reasoning.summary": "summary", "reasoning.encrypted": "data"}
_SEPARATORS = ("", "\n", "\n\n")
_ANTHROPIC = Binding(provider="anthropic")


def _read_detail(item: dict[str, Any]) -> ReasoningPart:
    kind = take_str(item, "type")
    if kind not in _TEXT_KEYS:
        raise SchemaMismatch("type")
    hints: dict[str, Any] = {"key": "reasoning_details"}
    if kind != "reasoning.text":
        hints["kind"] = kind
    content = take_maybe_str(item, _TEXT_KEYS[kind])
    encrypted: str | UnsetType = UNSET
    if kind == "reasoning.encrypted":
        if content is UNSET:
            raise SchemaMismatch("data")
        content, encrypted = "", content
    elif content is UNSET:
        hints["wordless"] = True
    signature = take_maybe_str(item, "signature")
    opaque = signature is not UNSET or encrypted is not UNSET
    return ReasoningPart(
        text=content or "",
        signature=signature,
        encrypted=encrypted,
        binding=_binding_of(item.get("format")) if opaque else UNSET,
        id=take_maybe_str(item, "id"),
        extra=pack(NAME, item, hints),
    )


def _binding_of(format: Any) -> Binding:
    """The provider of a signature, by the `format` of the detail: `anthropic-claude-v1`, `google-gemini-v1` ..."""
    maker = format.partition("-")[0] if type(format) is str else ""
    return Binding(provider=maker if maker and format != "unknown" else UNSET, transport="openrouter")


def _write_detail(part: ReasoningPart, rest: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    kind = "reasoning.summary" if "kind" in hints else "reasoning.text"
    if part.encrypted is not UNSET:
        out = {"type": "reasoning.encrypted", "data": part.encrypted}
    else:
        out = {"type": kind}
        if "wordless" not in hints:
            out[_TEXT_KEYS[kind]] = part.text
    return {**set_present(out, signature=part.signature, id=part.id), **rest}


def _read_thinking(item: dict[str, Any]) -> ReasoningPart:
    kind, hints = take_str(item, "type"), {"key": "thinking_blocks"}
    if kind == "redacted_thinking":
        data = take_str(item, "data")
        return ReasoningPart(text="", encrypted=data, binding=_ANTHROPIC, extra=pack(NAME, item, hints))
    if kind != "thinking":
        raise SchemaMismatch("type")
    text, signature = take_str(item, "thinking"), take_maybe_str(item, "signature")
    binding = _ANTHROPIC if signature is not UNSET else UNSET
    return ReasoningPart(text=text, signature=signature, binding=binding, extra=pack(NAME, item, hints))


def _write_thinking(part: ReasoningPart, rest: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    if part.encrypted is not UNSET:
        return {"type": "redacted_thinking", "data": part.encrypted, **rest}
    return {**set_present({"type": "thinking", "thinking": part.text}, signature=part.signature), **rest}


_LISTS: dict[str, tuple[Any, Any]] = {
    "reasoning_details": (_read_detail, _write_detail),
    "thinking_blocks": (_read_thinking, _write_thinking),
}


def _read_item(item: Any, key: str) -> ReasoningPart | RawPart:
    if type(item) is dict:
        try:
            return _LISTS[key][0](dict(item))  # type: ignore[no-any-return]
        except SchemaMismatch:
            pass
    return RawPart(format=NAME, value=item, extra={NAME: {HINTS: {"key": key}}})


def read_reasoning(record: dict[str, Any], hints: dict[str, Any]) -> list[Any]:
    """Take the reasoning out of a message; `hints` are those of the message."""
    parts: list[Any] = []
    for key in _LISTS:
        if not parts and type(record.get(key)) is list:
            parts = [_read_item(item, key) for item in record[key]]
            if parts:
                del record[key]
    for key in _TEXTS:
        text = record.get(key)
        if type(text) is not str or not text:
            continue
        if not parts:
            parts = [ReasoningPart(text=record.pop(key), extra={NAME: {HINTS: {"key": key}}})]
            continue
        separator = next((separator for separator in _SEPARATORS if separator.join(_texts(parts)) == text), None)
        if separator is not None:
            del record[key]
            hints.setdefault("reasoning", {})[key] = separator
    return parts


def _texts(parts: list[Any]) -> list[str]:
    return [part.text for part in parts if type(part) is ReasoningPart and part.text]


def write_reasoning(parts: list[Any], hints: dict[str, Any], out: dict[str, Any]) -> None:
    """Write reasoning under the keys it was read from."""
    known: list[Any] = []
    for part in parts:
        rest, own = unpack(NAME, part.extra)
        key = own.get("key")
        if type(key) is not str or (key not in _LISTS and (key not in _TEXTS or type(part) is RawPart)):
            continue
        known.append(part)
        if key in _TEXTS:
            out[key] = out.get(key, "") + part.text
        else:
            item = part.value if type(part) is RawPart else _LISTS[key][1](part, rest, own)
            out.setdefault(key, []).append(item)
    again = hints.get("reasoning")
    if known and type(again) is dict:
        for key, separator in again.items():
            out[key] = str(separator).join(_texts(known))
