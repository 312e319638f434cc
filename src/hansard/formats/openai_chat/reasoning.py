"""Reasoning in the dialects of Chat Completions: keys of an assistant message that the official types do not have.

    reasoning_content     DeepSeek, vLLM, litellm: a string
    reasoning             OpenRouter, Groq: a string; beside `reasoning_details` the same words once more
    reasoning_details     OpenRouter, MiniMax: reasoning.text, reasoning.summary, reasoning.encrypted
    thinking_blocks       litellm: the blocks of Anthropic

The mark `key` of a part names the key it stood under, so that it is written there again. Reasoning without that
mark comes from elsewhere and is not written. Words that are said twice are kept once: the mark `reasoning` of
the message says how the second spelling is made of the parts.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.openai_chat.content import NAME
from hansard.formats.residue import HINTS, SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model.parts import Binding, RawPart, ReasoningPart

_TEXTS = ("reasoning_content", "reasoning")
_WORDS = {"reasoning.text": "text", "reasoning.summary": "summary", "reasoning.encrypted": "data"}
_GLUES = ("", "\n", "\n\n")
_ANTHROPIC = Binding(provider="anthropic")


def _read_detail(item: dict[str, Any]) -> ReasoningPart:
    kind = take_str(item, "type")
    if kind not in _WORDS:
        raise SchemaMismatch("type")
    marks: dict[str, Any] = {"key": "reasoning_details"}
    if kind != "reasoning.text":
        marks["kind"] = kind
    words = take_maybe_str(item, _WORDS[kind])
    encrypted: str | UnsetType = UNSET
    if kind == "reasoning.encrypted":
        if words is UNSET:
            raise SchemaMismatch("data")
        words, encrypted = "", words
    elif words is UNSET:
        marks["wordless"] = True
    signature = take_maybe_str(item, "signature")
    opaque = signature is not UNSET or encrypted is not UNSET
    return ReasoningPart(
        text=words or "",
        signature=signature,
        encrypted=encrypted,
        binding=_made_by(item.get("format")) if opaque else UNSET,
        id=take_maybe_str(item, "id"),
        extra=pack(NAME, item, marks),
    )


def _made_by(format: Any) -> Binding:
    """Whose signature it is, by the `format` of the detail: `anthropic-claude-v1`, `google-gemini-v1` ..."""
    maker = format.partition("-")[0] if type(format) is str else ""
    return Binding(provider=maker if maker and format != "unknown" else UNSET, transport="openrouter")


def _write_detail(part: ReasoningPart, rest: dict[str, Any], marks: dict[str, Any]) -> dict[str, Any]:
    kind = "reasoning.summary" if "kind" in marks else "reasoning.text"
    if part.encrypted is not UNSET:
        out = {"type": "reasoning.encrypted", "data": part.encrypted}
    else:
        out = {"type": kind}
        if "wordless" not in marks:
            out[_WORDS[kind]] = part.text
    return {**set_present(out, signature=part.signature, id=part.id), **rest}


def _read_thinking(item: dict[str, Any]) -> ReasoningPart:
    kind, marks = take_str(item, "type"), {"key": "thinking_blocks"}
    if kind == "redacted_thinking":
        data = take_str(item, "data")
        return ReasoningPart(text="", encrypted=data, binding=_ANTHROPIC, extra=pack(NAME, item, marks))
    if kind != "thinking":
        raise SchemaMismatch("type")
    text, signature = take_str(item, "thinking"), take_maybe_str(item, "signature")
    binding = _ANTHROPIC if signature is not UNSET else UNSET
    return ReasoningPart(text=text, signature=signature, binding=binding, extra=pack(NAME, item, marks))


def _write_thinking(part: ReasoningPart, rest: dict[str, Any], marks: dict[str, Any]) -> dict[str, Any]:
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


def read_reasoning(record: dict[str, Any], marks: dict[str, Any]) -> list[Any]:
    """Take the reasoning out of a message; `marks` are the message's."""
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
        glue = next((glue for glue in _GLUES if glue.join(_texts(parts)) == text), None)
        if glue is not None:
            del record[key]
            marks.setdefault("reasoning", {})[key] = glue
    return parts


def _texts(parts: list[Any]) -> list[str]:
    return [part.text for part in parts if type(part) is ReasoningPart and part.text]


def write_reasoning(parts: list[Any], marks: dict[str, Any], out: dict[str, Any]) -> None:
    """Put reasoning under the keys it was read from."""
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
    again = marks.get("reasoning")
    if known and type(again) is dict:
        for key, glue in again.items():
            out[key] = str(glue).join(_texts(known))
