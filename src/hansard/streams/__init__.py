"""Streams: bytes of a provider to deltas, deltas to a message, deltas to bytes for a client.

Read `deltas` (the events), `decoder_base` and `emitter_base` (what each decoder and emitter builds on), `accumulator`
(deltas to messages), then `registry`. Framing: `sse`, `jsonl`, `json_array`. Fast path: `learned_pattern`. Helpers:
`answers` (several answers in one stream), `partial_json`, `text_buffer`. A provider's decoder and
emitter are in its folder of `formats/` (`stream`, `emit`). No module opens a socket.
May import: `model`, `errors`. Free to change: framing and helpers, as long as `tests/laws/test_streams.py` passes. The
deltas are journaled in ledgers: their fields and tags must stay readable.
"""

from __future__ import annotations

from hansard.streams.registry import decoder, decoders, emitter, emitters, read_answer

__all__ = ["decoder", "decoders", "emitter", "emitters", "read_answer"]
