"""What opaque reasoning is bound to, and the digest of the words before it.

A signature or an encrypted thought is worth something only to the provider (and transport, and model) that
made it, and only behind the same words. The digest chains over what was said: roles and parts, without ids,
times and residue.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from msgspec import UNSET
from msgspec.structs import force_setattr, replace

from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.model.parts import (
    Binding,
    CompactionPart,
    DataPart,
    FilePart,
    RawPart,
    ReasoningPart,
    RetryPart,
    SourcePart,
    ToolCallPart,
    ToolResultPart,
)


def opaque(part: Any) -> bool:
    """Does the part carry a proof or a cipher that only its maker understands?"""
    kind = type(part)
    if kind is ReasoningPart or kind is CompactionPart:
        return part.signature is not UNSET or part.encrypted is not UNSET
    return getattr(part, "signature", UNSET) is not UNSET


def said(part: Any) -> bytes:
    """The words of a part, as the digest sees them."""
    kind = type(part)
    if kind is ToolCallPart:
        words = part.input_text if part.input_text is not UNSET else _json(part.input)
        return b"C%s\0%s" % (
            _text(part.tool_name),
            words.encode("utf-8", "surrogatepass") if type(words) is str else words,
        )
    if kind is ToolResultPart:
        inner = _json(part.output) if part.content is UNSET else b"".join(map(said, part.content))
        return b"R%s" % inner
    if kind is FilePart:
        return b"F%s\0%s\0%s" % (_text(part.url), _text(part.data), _text(part.file_id))
    if kind is DataPart:
        return b"D%s\0%s" % (_text(part.name), _json(part.data))
    if kind is RawPart:
        return b"W%s" % _json(part.value)
    if kind is SourcePart:
        return b"S%s" % _text(part.url)
    if kind is RetryPart:
        return b"Y%s" % _json(part.content)
    return b"T%s" % _text(part.text)  # text, reasoning, refusal, compaction


def _text(text: Any) -> bytes:
    return text.encode("utf-8", "surrogatepass") if type(text) is str else b""


def _json(value: Any) -> bytes:
    return b"" if value is UNSET else exact_json.encode(value)


def prefixes(messages: Iterable[Message]) -> Iterable[str]:
    """For each message the digest of everything said before it."""
    chain = hashlib.sha256()
    for message in messages:
        yield chain.hexdigest()[:32]
        chain.update(b"\x01%s" % message.role.encode())
        for part in message.parts:
            words = said(part)
            chain.update(b"\x02%d\0" % len(words))
            chain.update(words)


def bind(messages: list[Message], provider: str | None, model: str | None = None) -> None:
    """Give every opaque part that has no binding the one it was read with. For messages just read only."""
    last = max((i for i, message in enumerate(messages) if any(map(opaque, message.parts))), default=-1)
    if last < 0:
        return
    for message, prefix in zip(messages[: last + 1], prefixes(messages[: last + 1]), strict=True):
        for part in message.parts:
            if opaque(part):
                given: Any = part.binding  # type: ignore[union-attr]
                owner = (
                    message.model.name
                    if message.model is not UNSET and type(message.model.name) is str
                    else model
                )
                if given is UNSET:
                    given = Binding(provider=provider or UNSET, model=owner or UNSET)
                force_setattr(part, "binding", replace(given, prefix=prefix))
