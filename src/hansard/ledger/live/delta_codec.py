"""Encode deltas as lines of JSON for the journal, as lossless as native JSON is for messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from hansard.model import exact_json, native
from hansard.model.conversation import Message
from hansard.model.parts import Unknown
from hansard.streams.deltas import Delta, MessageEnd, PartEnd, PartStart

_DECODER: msgspec.json.Decoder[Delta] = msgspec.json.Decoder(Delta, float_hook=exact_json.exact_float)


def write_lines(deltas: Iterable[Delta]) -> bytes:
    """Deltas as JSON, one per line."""
    return b"\n".join(map(_write, deltas))


def _write(delta: Delta) -> bytes:
    try:
        return _ENCODER.encode(delta)
    except (_UnknownPart, UnicodeEncodeError):
        config = delta.__struct_config__
        plain: dict[str, Any] = {"type": config.tag}
        for field in msgspec.structs.fields(delta):
            value = getattr(delta, field.name)
            if value is not msgspec.UNSET:
                plain[field.encode_name] = native.plain(value)
        return exact_json.encode(plain)


class _UnknownPart(Exception):
    pass


def _reject_unknown(value: Any) -> Any:
    if isinstance(value, Unknown):
        raise _UnknownPart
    raise TypeError(f"{type(value).__name__} is not valid JSON: {value!r}")


_ENCODER = msgspec.json.Encoder(decimal_format="number", enc_hook=_reject_unknown)


def read_lines(data: bytes) -> list[Delta]:
    """The deltas that `write_lines` wrote."""
    return [_read(line) for line in data.split(b"\n")] if data else []


def _read(line: bytes) -> Delta:
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = exact_json.decode(line)
    match value.get("type"):
        case "message-end":
            return MessageEnd(messages=[native.build(Message, one, "$") for one in value["messages"]])
        case "part-start":
            return PartStart(key=value["key"], part=native.build_part(value["part"], "$"))  # type: ignore[arg-type]
        case "part-end":
            return PartEnd(key=value["key"], part=native.build_part(value["part"], "$"))  # type: ignore[arg-type]
    return msgspec.convert(value, Delta)  # type: ignore[no-any-return]
