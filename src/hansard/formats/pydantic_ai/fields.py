"""The spellings of Pydantic AI's parts: which fields are always written, and what a part is read or written in.

Pydantic AI writes every field of a part, nulls and defaults included. A `Dialect` lists them: on reading a field
with its default value is dropped, on writing it is put back, and only a field that was not there is remembered
(mark `absent`). A part that says nothing unusual is known by one comparison (`usual`) and written by filling in a
record of its kind (`blank`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from operator import itemgetter
from typing import Any, cast

from msgspec import UNSET, UnsetType, defstruct

from hansard.formats.field_table import Written
from hansard.model.calls import Links, Place, call_names
from hansard.model.conversation import Message
from hansard.model.times import is_time

_OWN = {
    "text": ("content",),
    "thinking": ("content",),
    "tool-call": ("tool_name", "args", "tool_call_id"),
    "tool-return": ("tool_name", "content", "tool_call_id"),
    "user-prompt": ("content",),
    "system-prompt": ("content",),
}


class Dialect:
    """How one format spells the parts: its name, the fields it always writes, and the names that differ.

    `usual[kind](block, more)`: has it its own fields, `more` besides, and all others at their defaults?
    """

    def __init__(
        self,
        name: str,
        defaults: dict[str, dict[str, Any]],
        outcomes: dict[str, tuple[bool, str | UnsetType]],
        *,
        thinking_id: str = "id",
        outcome: str = "outcome",
        times: bool = True,
        digests: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self.name, self.defaults, self.outcomes = name, defaults, outcomes
        self.thinking_id, self.outcome = thinking_id, outcome
        self.times, self.digests, self.without = times, digests, without
        own = {kind: fields for kind, fields in _OWN.items() if kind in defaults}
        self.usual = {kind: _usual(len(fields) + 1, defaults[kind]) for kind, fields in own.items()}

    @cached_property
    def blank(self) -> dict[str, Callable[..., Written]]:
        """A record for each kind of part, in which only the fields of its own are to be filled in."""
        own = {kind: fields for kind, fields in _OWN.items() if kind in self.defaults}
        return {
            kind: blank({**dict.fromkeys(fields), **self.defaults[kind], "part_kind": kind, **_NOT_ALWAYS})
            for kind, fields in own.items()
        }


_NOT_ALWAYS = {"timestamp": UNSET, "content_file_digests": UNSET}


def blank(fields: dict[str, Any]) -> Callable[..., Written]:
    """A record that has these values where nothing else is said."""
    named = [(name, Any, value) for name, value in fields.items()]
    return cast(Callable[..., Written], defstruct("Blank", named, bases=(Written,), gc=False))


def _usual(own: int, defaults: dict[str, Any]) -> Callable[[dict[str, Any], int], bool]:
    """The defaults are strings and nulls, which nothing else is equal to."""
    count, wanted = own + len(defaults), tuple(defaults.values())
    if not defaults:
        return lambda block, more: len(block) == count + more
    found: Callable[[dict[str, Any]], Any] = itemgetter(*defaults)
    expected: Any = wanted if len(wanted) > 1 else wanted[0]  # as itemgetter gives them

    def usual(block: dict[str, Any], more: int) -> bool:
        try:
            return len(block) == count + more and found(block) == expected
        except KeyError:
            return False

    return usual


class Around:
    """What a part is read or written in: the dialect, the times of message and request, who answered, made ids."""

    __slots__ = ("_ids", "_names", "at", "dialect", "messages", "model", "provider", "sent")

    def __init__(self, dialect: Dialect, messages: list[Message] | None = None) -> None:
        self.dialect = dialect
        self.messages = messages or []
        self.at: Any = UNSET
        self.sent: Any = UNSET
        self.provider: Any = UNSET
        self.model: Any = UNSET
        self._names: dict[str, str] | None = None
        self._ids: dict[Place, str] | None = None

    def knows(self, kind: str) -> bool:
        """Has the dialect parts of this kind?"""
        return kind in self.dialect.defaults

    def name_of(self, call_id: str) -> str | None:
        """The name of the tool that was called with this id."""
        if self._names is None:
            self._names = call_names(self.messages)
        return self._names.get(call_id)

    def made_id(self, place: Place) -> str | None:
        """The id made for a call that has none, and for the result that answers it: the same every time."""
        if self._ids is None:
            self._ids = _made_ids(self.messages)
        return self._ids.get(place)


def _made_ids(messages: list[Message]) -> dict[Place, str]:
    links = Links(messages)
    made = {(i, j): f"call_{i}_{j}" for (i, j), call in links.calls.items() if type(call.tool_call_id) is not str}
    made.update({result: made[call] for result, call in links.answers.items() if call in made})
    for (i, j), answer in links.results.items():
        if type(answer.tool_call_id) is not str:
            made.setdefault((i, j), f"call_{i}_{j}")
    return made


# -- fields that are always written --------------------------------------------------------------------------------


def taken(block: dict[str, Any]) -> dict[str, Any]:
    """A copy of a part to take its fields from."""
    block = dict(block)
    del block["part_kind"]
    return block


def settle(defaults: dict[str, Any], block: dict[str, Any], marks: dict[str, Any]) -> None:
    """Drop the fields that have their default value (-0.0 is not 0.0); remember those that are not there."""
    for key, default in defaults.items():
        value = block.get(key, UNSET)
        if value is default or (type(value) is type(default) and value == default and str(value) == str(default)):
            del block[key]
        elif value is UNSET:
            lacks(marks, key)


def lacks(marks: dict[str, Any], key: str) -> None:
    """Remember that the document leaves out what is usually said."""
    marks.setdefault("absent", []).append(key)


def is_absent(marks: dict[str, Any], key: str) -> bool:
    absent = marks.get("absent")
    return type(absent) is list and key in absent


def filled(defaults: dict[str, Any], marks: dict[str, Any]) -> dict[str, Any]:
    """The fields that are always written, but for those the document did not have."""
    if "absent" not in marks:
        return dict(defaults)
    return {key: value for key, value in defaults.items() if not is_absent(marks, key)}


def kept(rest: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    """What is left over, less what the dialect is too old for."""
    return {key: value for key, value in rest.items() if key not in dialect.without} if dialect.without else rest


# -- times ---------------------------------------------------------------------------------------------------------


def time_fields(block: dict[str, Any], around: Around) -> int:
    """How many fields a part has for a time that is its message's; -1, which fits no part, when it has another."""
    if around.at is UNSET or not around.dialect.times:
        return 0
    return 1 if block.get("timestamp") == around.at else -1


def read_time(block: dict[str, Any], marks: dict[str, Any], around: Around) -> None:
    """A part's time is residue only when it is not its message's."""
    if not around.dialect.times:
        return
    time = block.get("timestamp", UNSET)
    if time is UNSET:
        if around.at is not UNSET:
            lacks(marks, "timestamp")
    elif time == around.at and type(time) is str:
        del block["timestamp"]


def put_time(out: dict[str, Any], rest: dict[str, Any], marks: dict[str, Any], around: Around) -> None:
    if around.dialect.times and around.at is not UNSET and "timestamp" not in rest:
        if not is_absent(marks, "timestamp"):
            out["timestamp"] = around.at


_CLOCK = re.compile(r"(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")  # what may follow hours and minutes


def takes_time(text: Any) -> bool:
    """Is it a time that Pydantic takes? An offset has minutes, and no seconds.

    >>> takes_time("2026-01-02T03:04:05Z"), takes_time("2026-01-02 03:04:05+00")
    (True, False)
    """
    return is_time(text) and _CLOCK.fullmatch(text, 16) is not None
