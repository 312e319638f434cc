"""The spellings of Pydantic AI's parts: which fields are always written, and what a part is read or written in.

Pydantic AI writes every field of a part, nulls and defaults included. A `Dialect` lists them: on reading a field
with its default value is dropped, on writing it is put back, and only a field that was not there is remembered
(mark `absent`). What a part says beyond that is a field table; one that says more is read and written by `content`,
`tools` and `requests`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.field_table.complete import CompleteBlock, complete_record
from hansard.formats.field_table.rows import Row
from hansard.model.calls import Links, Place, call_names
from hansard.model.conversation import Message
from hansard.model.parts import Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from hansard.model.times import is_time


class Dialect:
    """How one format spells the parts: its name, the fields it always writes, and the names that differ.

    Blocks that say nothing beyond their rows are read and written by field tables: `readers`, `writers`.
    Without `times` a part names its time only if it is not that of its record; with `documented` other formats' names
    come first, and what those lack is written beside them under Pydantic AI's own.
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
        documented: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self.name, self.defaults, self.outcomes = name, defaults, outcomes
        self.thinking_id, self.outcome = thinking_id, outcome
        self.times, self.digests, self.documented, self.without = times, digests, documented, without

    @cached_property
    def complete(self) -> dict[str, CompleteBlock]:
        """The field tables of the kinds that this dialect has."""
        tables = {kind: table for kind, table in _TABLES.items() if kind in self.defaults}
        found = {}
        for kind, (part, rows, more) in tables.items():
            varying: dict[str, Any] = {}
            if kind in _TIMED and self.times:
                varying["timestamp"] = "at"
            if kind == "tool-return" and self.digests:
                varying["content_file_digests"] = ("output", _digests)
            found[kind] = CompleteBlock(
                self.name, kind, part, rows, self.defaults[kind], tag="part_kind", varying=varying, **more
            )
        return found

    @cached_property
    def readers(self) -> dict[str, Callable[[Any, Around], Any]]:
        """By kind: `read(block, around)`, which gives None when the block says more than its rows."""
        return {kind: block.read for kind, block in self.complete.items()}

    @cached_property
    def record_readers(self) -> dict[str, Callable[[Any, Around], Any]]:
        """The same for typed records."""
        return {kind: block.read_record(BlockRecord) for kind, block in self.complete.items()}

    @cached_property
    def writers(self) -> dict[type[Part], Callable[[Any, Around], Any]]:
        """By class of part: `write(part, around)`, which gives None when there is more to say than the rows can."""
        kinds = ("text", "tool-call", "tool-return")
        return {block.part: block.write for kind, block in self.complete.items() if kind in kinds}


# -- the field tables ----------------------------------------------------------------------------------------------


def _is_data(value: Any) -> bool:
    """Text or an object of data; whether a list holds files is for `files` to say."""
    return type(value) is str or (type(value) is dict and "kind" not in value)


def _digests(output: Any) -> Any:
    """What is recorded of the files in an object or a list that holds none."""
    return [] if type(output) in (dict, list) else UNSET


_TIMED = ("tool-return", "user-prompt", "system-prompt")
_TABLES: dict[str, tuple[type[Part], list[Row], dict[str, Any]]] = {
    "text": (TextPart, [Row("content", "text", str)], {"unset": ("signature", "id")}),
    "thinking": (ReasoningPart, [Row("content", "text", str)], {}),
    "tool-call": (
        ToolCallPart,
        [Row("tool_name", "tool_name", str), Row("args", "input", dict), Row("tool_call_id", "tool_call_id", str)],
        {"unset": ("input_text", "signature", "id"), "not_true": ("provider_executed",)},
    ),
    "tool-return": (
        ToolResultPart,
        [
            Row("tool_name", "tool_name", str),
            Row("content", "output", test=_is_data),
            Row("tool_call_id", "tool_call_id", str),
        ],
        {
            "fixed": {"is_error": False},
            "unset": ("content", "status"),
            "not_true": ("is_error", "preliminary", "provider_executed"),
        },
    ),
    "user-prompt": (TextPart, [Row("content", "text", str)], {}),
    "system-prompt": (TextPart, [Row("content", "text", str)], {}),
}


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

    def fits_table(self, kind: str) -> bool:
        """Whether the field table of this kind says the time of a part, where it has one."""
        return self.dialect.times or kind not in _TIMED or self.at == self.sent

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
    """Note that the document omits a field that is usually present."""
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


def read_time(block: dict[str, Any], marks: dict[str, Any], around: Around) -> None:
    """A part's time is residue only when it is not its message's."""
    time = block.get("timestamp", UNSET)
    if time is UNSET and not around.dialect.times and around.sent is not UNSET:
        if around.sent != around.at:
            block["timestamp"] = around.sent
    elif time is UNSET:
        if around.at is not UNSET:
            lacks(marks, "timestamp")
    elif time == around.at and type(time) is str:
        del block["timestamp"]


def put_time(out: dict[str, Any], rest: dict[str, Any], marks: dict[str, Any], around: Around) -> None:
    if not around.dialect.times and rest.get("timestamp", around.at) == around.sent:
        rest.pop("timestamp", None)
    elif around.at is not UNSET and "timestamp" not in rest:
        if not is_absent(marks, "timestamp"):
            out["timestamp"] = around.at


_CLOCK = re.compile(r"(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")  # what may follow hours and minutes


def takes_time(text: Any) -> bool:
    """Is it a time that Pydantic takes? An offset has minutes, and no seconds.

    >>> takes_time("2026-01-02T03:04:05Z"), takes_time("2026-01-02 03:04:05+00")
    (True, False)
    """
    return is_time(text) and _CLOCK.fullmatch(text, 16) is not None


# -- releases: the fields that each writes, with their defaults ------------------------------------------------------

NAME = "pydantic-ai"
NEWEST = "2.66"
FEEDBACK = {"retry": {"cause": "model_retry", "attempt": None, "max_retries": None}}
_MADE = {"id": None, "provider_name": None, "provider_details": None}
_CALL = {"tool_kind": None, **_MADE}
_RETURN = {"tool_kind": None, "metadata": None, "outcome": "success"}
_DEFAULTS_262: dict[str, dict[str, Any]] = {
    "request": {
        "instructions": None,
        "run_id": None,
        "conversation_id": None,
        "metadata": None,
        "state": "complete",
    },
    "response": {
        "model_name": None,
        "provider_name": None,
        "provider_url": None,
        "provider_details": None,
        "provider_response_id": None,
        "finish_reason": None,
        "run_id": None,
        "conversation_id": None,
        "metadata": None,
        "workspace_ref": None,
        "history_digest": None,
        "failed_attempts": None,
        "state": "complete",
    },
    "system-prompt": {"dynamic_ref": None, "scope": "conversation", "metadata": None},
    "user-prompt": {},
    "tool-return": {**_RETURN, "retry": None},
    "retry-feedback": FEEDBACK,
    "retry-prompt": {"tool_name": None},
    "text": {**_MADE, "citations": None},
    "thinking": {**_MADE, "signature": None},
    "tool-call": _CALL,
    "builtin-tool-call": _CALL,
    "builtin-tool-return": {**_RETURN, "provider_name": None, "provider_details": None},
    "file": _MADE,
    "compaction": {"content": None, **_MADE, "metadata": None},
    "url": {"force_download": False, "vendor_metadata": None, "media_type": None},
    "binary": {"vendor_metadata": None},
    "uploaded-file": {"vendor_metadata": None, "media_type": "application/octet-stream"},
    "text-content": {"metadata": None},
    "structured-content": {"metadata": None, "tag": None, "description": None},
}
_NEW_266 = {
    "response": {"model_id": None, "canonical_system": None},
    "system-prompt": {"context_id": None},
}
_NEW_KEYS = frozenset({"model_id", "canonical_system", "context_id", "content_file_digests"})
_OUTCOMES: dict[str, tuple[bool, str | UnsetType]] = {
    "success": (False, UNSET),
    "failed": (True, UNSET),
    "denied": (True, "denied"),
    "interrupted": (True, "interrupted"),
    "retried": (True, "retried"),
}
DIALECTS = {
    "2.62": Dialect(NAME, _DEFAULTS_262, _OUTCOMES, without=_NEW_KEYS),
    "2.66": Dialect(
        NAME,
        {kind: {**fields, **_NEW_266.get(kind, {})} for kind, fields in _DEFAULTS_262.items()},
        _OUTCOMES,
        digests=True,
    ),
}
_NO_PARTS = ("request", "response", "url", "binary", "uploaded-file", "text-content", "structured-content")
BlockRecord = complete_record(
    list(DIALECTS[NEWEST].complete.values()),
    [key for kind, fields in DIALECTS[NEWEST].defaults.items() if kind not in _NO_PARTS for key in fields],
)
