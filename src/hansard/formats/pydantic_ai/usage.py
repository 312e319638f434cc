"""Tokens as Pydantic AI counts them: every count is written, those of zero too."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, UnsetType
from msgspec.json import encode

from hansard.formats.field_table.records import written_with
from hansard.formats.pydantic_ai.fields import NAME, filled, is_absent, settle
from hansard.formats.residue import pack, unpack
from hansard.model.conversation import Usage

_COUNTS = {
    "cache_write_tokens": "cache_write_tokens",
    "cache_read_tokens": "cache_read_tokens",
    "output_reasoning_tokens": "reasoning_tokens",
}
NO_COUNTS = {
    "input_tokens": 0,
    "cache_write_tokens": 0,
    "cache_write_1h_tokens": 0,
    "cache_read_tokens": 0,
    "output_tokens": 0,
    "output_reasoning_tokens": 0,
    "input_audio_tokens": 0,
    "cache_audio_read_tokens": 0,
    "output_audio_tokens": 0,
    "audio_seconds": 0.0,
    "details": {},
    "cost": None,
}
NOTHING = Raw(encode(NO_COUNTS))
NO_USAGE = written_with({**NO_COUNTS, "details": None})(details={})  # shared: records to write are never changed
_OLD_COUNTS = {"input_tokens": "request_tokens", "output_tokens": "response_tokens"}


def read_usage(value: dict[str, Any]) -> Usage | UnsetType:
    """Usage with nothing but zeros says nothing. Input counts what was cached, as ours does."""
    try:
        if Raw(encode(value)) == NOTHING:  # False and 0.0 equal 0 as values, but not as JSON text
            return UNSET
    except (OverflowError, ValueError, RecursionError):
        pass
    rest = dict(value)
    marks: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for name, old in () if rest.keys() & _OLD_COUNTS else _OLD_COUNTS.items():  # old names and new ones are not mixed
        if type(rest.get(old)) is int:
            rest[name] = rest.pop(old)
            marks["names"] = "old"
    settle(NO_COUNTS, rest, marks)
    if not rest and not marks:
        return UNSET
    for key in ("input_tokens", "output_tokens"):
        given = rest.pop(key) if type(rest.get(key)) is int else UNSET
        fields[key] = 0 if given is UNSET and key not in rest and not is_absent(marks, key) else given
    for key, name in _COUNTS.items():
        if type(rest.get(key)) is int:
            fields[name] = rest.pop(key)
    return Usage(**fields, extra=pack(NAME, rest, marks))


def write_usage(usage: Usage | UnsetType) -> dict[str, Any]:
    out = NO_COUNTS.copy()
    out["details"] = {}
    if usage is UNSET:
        return out
    rest, marks = unpack(NAME, usage.extra)
    out = filled(out, marks)
    for key in ("input_tokens", "output_tokens"):
        if (count := getattr(usage, key)) is not UNSET:
            out[key] = count
    for key, name in _COUNTS.items():
        if (count := getattr(usage, name)) is not UNSET:
            out[key] = count
    if marks.get("names") == "old":
        out = {_OLD_COUNTS.get(key, key): count for key, count in out.items()}
    out.update(rest)
    return out
