"""Token counts of a Codex rollout, read as usage of messages and written as running totals."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.model.conversation import Usage

_COUNTS = {
    "input_tokens": "input_tokens",
    "cached_input_tokens": "cache_read_tokens",
    "output_tokens": "output_tokens",
    "reasoning_output_tokens": "reasoning_tokens",
    "total_tokens": "total_tokens",
}
_CACHE_WRITE = "cache_write_input_tokens"


class Totals:
    """The running total of a session, repeated in many records: each change is one response."""

    def __init__(self) -> None:
        self._total: Any = None
        self._waiting: dict[str, Any] = {}
        self._records = False

    def record(self, record: dict[str, Any]) -> bool:
        """Add a record of one response's tokens; from the first one on, token counts only repeat them."""
        self._records = True
        return self._add(record.get("usage"))

    def count(self, info: Any) -> bool:
        """Add a token count; returns whether it was new."""
        if type(info) is not dict or self._records:
            return False
        total, last = info.get("total_token_usage"), info.get("last_token_usage")
        seen = total if type(total) is dict else last
        if seen == self._total or not self._add(last if last is not None else _more(total, self._total)):
            return False
        self._total = seen
        return True

    def _add(self, last: Any) -> bool:
        if type(last) is not dict:
            return False
        for key, name in (*_COUNTS.items(), (_CACHE_WRITE, "cache_write_tokens")):
            if type(last.get(key)) is int:
                self._waiting[name] = self._waiting.get(name, 0) + last[key]
        return True

    def waiting(self, before: Usage | UnsetType = UNSET) -> Usage | UnsetType:
        """The counts that belong to no message yet, plus those its message has already."""
        counts, self._waiting = self._waiting, {}
        if before is not UNSET:
            for name in (*_COUNTS.values(), "cache_write_tokens"):
                if type(had := getattr(before, name)) is int:
                    counts[name] = counts.get(name, 0) + had
        return Usage(**counts) if counts else UNSET


def _more(total: Any, before: Any) -> Any:
    """How much a running total grew, if only the total is recorded; a smaller one is a new total."""
    had = before if type(before) is dict else {}
    if type(total) is not dict or not all(type(count) is int for count in total.values()):
        return None
    more = {key: count - _int(had.get(key)) for key, count in total.items()}
    return total if any(count < 0 for count in more.values()) else more


def write_usage(usage: Usage, total: dict[str, int]) -> dict[str, Any]:
    """The token count of one response, which is added to `total`, that of the session."""
    last = {key: _int(getattr(usage, name)) for key, name in _COUNTS.items()}
    if usage.total_tokens is UNSET:
        last["total_tokens"] = last["input_tokens"] + last["output_tokens"]
    if type(usage.cache_write_tokens) is int:
        last[_CACHE_WRITE] = usage.cache_write_tokens
    for key, count in last.items():
        total[key] = total.get(key, 0) + count
    info = {"total_token_usage": dict(total), "last_token_usage": last, "model_context_window": None}
    return {"type": "token_count", "info": info, "rate_limits": None}


def _int(value: Any) -> int:
    return value if type(value) is int else 0
