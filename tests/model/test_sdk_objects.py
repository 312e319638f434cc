"""Objects of provider SDKs as JSON data, also of libraries without pydantic."""

from __future__ import annotations

import dataclasses
import enum
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel

from hansard.model import sdk_objects
from hansard.model.sdk_objects import plain


class Kind(enum.Enum):
    TEXT = "text"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Piece:
    kind: Kind
    data: bytes
    at: datetime
    _hidden: tuple[int, ...] = (1, 2)


class Model(BaseModel):
    at: date
    piece: Kind


PIECE = Piece(Kind.TEXT, b"\x00\xff", datetime(2026, 1, 2, tzinfo=UTC))
SEEN = {"kind": "text", "data": "AP8=", "at": "2026-01-02T00:00:00Z", "hidden": [1, 2]}


def test_models_of_pydantic_say_themselves_what_they_are() -> None:
    assert plain(Model(at=date(2026, 1, 2), piece=Kind.TEXT)) == {"at": "2026-01-02", "piece": "text"}


def test_without_pydantic_a_dataclass_is_read_field_by_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk_objects, "_adapter", lambda kind: None)
    assert plain(PIECE) == SEEN


@dataclasses.dataclass
class Event:
    at: datetime


def test_with_pydantic_a_dataclass_is_read_by_it() -> None:
    assert plain(Event(datetime(2026, 1, 2, tzinfo=UTC))) == {"at": "2026-01-02T00:00:00Z"}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, None),
        ("text", "text"),
        (1.5, 1.5),
        (True, True),
        (Level.HIGH, 3),
        (Kind.TEXT, "text"),
        (MappingProxyType({1: {Kind.TEXT}}), {"1": ["text"]}),
        ((1, [2], frozenset({3})), [1, [2], [3]]),
        (bytearray(b"\x00\xff"), "AP8="),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (Decimal("1.10"), "1.10"),
        (len, None),
        (1j, "1j"),
    ],
    ids=str,
)
def test_any_object_is_data_in_the_end(value: Any, wanted: Any) -> None:
    found = plain(value)
    assert (found, type(found)) == (wanted, type(wanted))
