"""Live answers: any provider's stream in, one message out, any client's stream out. The caller owns the socket."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hansard.errors import UnknownFormat

if TYPE_CHECKING:
    from hansard.streams.event_decoder import EventDecoder

_DECODERS = {
    "anthropic": ("anthropic", "AnthropicDecoder"),
}


def decoders() -> list[str]:
    """The streams that can be read."""
    return list(_DECODERS)


def decoder(name: str) -> EventDecoder:
    """A new decoder for one stream."""
    if name not in _DECODERS:
        raise UnknownFormat(f"no stream {name!r} can be read; there are {', '.join(_DECODERS)}")
    module, kind = _DECODERS[name]
    return getattr(import_module(f"hansard.streams.{module}"), kind)()  # type: ignore[no-any-return]
