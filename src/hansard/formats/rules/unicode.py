"""Lone surrogates in strings: JSON can contain them, but the parsers of providers reject them."""

from __future__ import annotations

import re
from typing import Any

from hansard.formats.contract import Loss
from hansard.formats.rules.tool_pairing import as_is, mark_as_is
from hansard.model import native
from hansard.model.conversation import Message

_HALVES = re.compile("[\ud800-\udfff]")


def without_surrogates(messages: list[Message], name: str, notes: list[Loss], indices: list[int]) -> list[Message]:
    """The messages with every lone surrogate, which the parsers of providers reject, replaced by U+FFFD."""
    out = []
    why = f"{name} rejects JSON with a lone surrogate"
    for i, message in zip(indices, messages, strict=True):
        if not as_is(message, name) and native.holds_surrogates(message):
            for j, part in enumerate(message.parts):
                if native.holds_surrogates(part):
                    path = f"$.messages[{i}].parts[{j}]"
                    notes.append(Loss(path=path, what="half a character becomes U+FFFD", why=why, kind="repair"))
            message = native.build(Message, _clean(native.plain(message)), "$")
        out.append(message)
    return out if any(new is not old for new, old in zip(out, messages, strict=True)) else messages


def mark_surrogates(messages: list[Message], name: str) -> None:
    """Mark the messages, just read, that hold half a pair: their own format writes them back as they are."""
    for message in messages:
        if native.holds_surrogates(message):
            mark_as_is(message, name)


def _clean(value: Any) -> Any:
    if type(value) is str:
        return _HALVES.sub("\ufffd", value)
    if type(value) is list:
        return [_clean(item) for item in value]
    if type(value) is dict:
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value
