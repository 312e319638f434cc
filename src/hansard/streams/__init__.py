"""Live answers: any provider's stream in, one message out, any client's stream out. The caller owns the socket."""

from __future__ import annotations

from hansard.streams.registry import decoder, decoders, emitter, emitters

__all__ = ["decoder", "decoders", "emitter", "emitters"]
