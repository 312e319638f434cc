"""Objects of other libraries as plain data, without importing those libraries.

Dataclasses are serialized by pydantic if it is already imported, else field by field: bytes in base64, times in ISO
"""

from __future__ import annotations

import base64
import dataclasses
import sys
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any

_DERIVED = frozenset({"text", "citation", "thinking", "signature", "input_json", "compaction"})
_DERIVED_GROUPS = ("content.", "refusal.", "tool_calls.", "logprobs.")


def unwrapped(event: Any) -> Any:
    """The chunk inside an event of a stream helper; any other event as it is."""
    if isinstance(event, dict) and event.get("type") == "chunk" and isinstance(event.get("chunk"), dict):
        return event["chunk"]
    return event


def is_derived(event: Any) -> bool:
    """Whether a stream helper made this event from others that it gives, too."""
    kind = event.get("type") if isinstance(event, dict) else None
    return isinstance(kind, str) and (kind in _DERIVED or kind.startswith(_DERIVED_GROUPS))


def plain(value: Any) -> Any:
    """The object as JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        adapter = _adapter(type(value))
        if adapter is not None:
            return adapter.dump_python(value, mode="json")
    elif hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return _by_field(value)


def as_sent(value: Any) -> Any:
    """An object of a provider's SDK as the JSON it stands for; a dict is returned unchanged."""
    if isinstance(value, dict):
        return value
    dump = getattr(value, "model_dump", None)
    if dump is None:
        return plain(value)
    library = type(value).__module__.partition(".")[0]
    if library == "google":
        return dump(mode="json", by_alias=True, exclude_none=True)
    return dump(mode="json", exclude_unset=library in ("anthropic", "openai"))


def is_sdk_object(value: Any) -> bool:
    """Whether a value is an object that `as_sent` knows: a pydantic model or a dataclass."""
    return not isinstance(value, type) and (hasattr(value, "model_dump") or dataclasses.is_dataclass(value))


@cache
def _adapter(kind: type) -> Any:
    pydantic = sys.modules.get("pydantic")
    return pydantic.TypeAdapter(kind) if pydantic is not None else None


def _by_field(value: Any) -> Any:
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {key.removeprefix("_"): _by_field(item) for key, item in fields.items()}
    if isinstance(value, Mapping):
        return {str(key): _by_field(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_by_field(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (datetime, date)):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Enum):
        return _by_field(value.value)
    return None if callable(value) else str(value) if isinstance(value, Decimal) else repr(value)
