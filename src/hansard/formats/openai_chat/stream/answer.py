"""The answer of a chat stream as received so far: its choices, their tool calls, the keys of their parts.

A fragment identifies its call by index, by id, by both, or not at all:

    index                  the call at that index; a new one if the id differs, or `{` follows complete arguments
    id without index       the call with that id, or a new one
    a name only            a new call, unless it repeats the name of a call whose arguments are incomplete
    nothing                the last call
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.errors import HansardError
from hansard.formats.openai_chat.content import NAME
from hansard.formats.openai_chat.stream.growth import Pieces, finalize, grow
from hansard.formats.residue import unpack
from hansard.model import exact_json
from hansard.model.parts import FilePart, RawPart, ReasoningPart, RefusalPart, ToolCallPart
from hansard.streams.text_buffer import joined

REASONING = ("reasoning_details", "thinking_blocks", "reasoning_content", "reasoning")  # the first non-empty one
RANKS = {key: rank for rank, key in enumerate(REASONING)}


# -- calls ------------------------------------------------------------------------------------------------------------


class Call:
    """A call that is being streamed; `pieces` are its arguments (or the input of a custom tool)."""

    __slots__ = ("fields", "key", "pieces", "started", "unsent")

    def __init__(self, key: str) -> None:
        self.key = key
        self.fields: dict[str, Any] = {}
        self.pieces = Pieces()
        self.started = False
        self.unsent: list[str] = []

    @property
    def id(self) -> Any:
        return self.fields.get("id")

    @property
    def name(self) -> Any:
        for kind in ("function", "custom"):
            if type(self.fields.get(kind)) is dict:
                return self.fields[kind].get("name")
        return None

    def take(self, item: dict[str, Any]) -> str:
        """Take in one fragment of the call; returns the arguments that it adds."""
        arguments = ""
        grow(self.fields, {key: value for key, value in item.items() if key not in ("index", "function", "custom")})
        for kind, growing in (("function", "arguments"), ("custom", "input")):
            if kind not in item:
                continue
            if type(item[kind]) is not dict:
                self.fields.setdefault(kind, item[kind])
                continue
            if type(self.fields.get(kind)) is not dict:
                self.fields[kind] = {}
            inner = self.fields[kind]
            given = item[kind].get(growing)
            grow(inner, {key: value for key, value in item[kind].items() if key != growing})
            if type(given) is str:
                self.pieces.append(given)
                inner[growing] = self.pieces
                arguments = given
            elif given is not None or growing not in inner:
                if growing in item[kind]:
                    inner[growing] = given
        return arguments

    def native(self) -> dict[str, Any]:
        return finalize(self.fields)  # type: ignore[no-any-return]

    def part(self) -> ToolCallPart:
        """The call part as known when the call starts."""
        call_id, name = self.id, self.name
        return ToolCallPart(
            tool_call_id=call_id if type(call_id) is str else UNSET, tool_name=name if type(name) is str else UNSET
        )

    def is_complete(self) -> bool:
        """Whether the arguments are complete JSON."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            exact_json.decode(joined(self.pieces))
        except HansardError:
            return False
        return True


class Calls:
    """The calls of one choice, in the order they started."""

    def __init__(self) -> None:
        self.all: list[Call] = []
        self.by_index: dict[int, Call] = {}

    def find(self, item: dict[str, Any], alone: bool) -> Call:
        """The call that a fragment belongs to; `alone`: it is the first fragment of its delta."""
        index = item.get("index")
        if type(index) is int:
            call = self.by_index.get(index)
            if call is None or self._is_other(call, item):
                call = self.by_index[index] = self._new()
            return call
        call_id, name = item.get("id"), _name(item)
        if call_id:
            found = [call for call in self.all if call.id == call_id]
            if found:
                return found[-1]
            if self.all and not self.all[-1].id and not self.all[-1].pieces and alone and not name:
                return self.all[-1]
            return self._new()
        if not self.all:
            return self._new()
        last = self.all[-1]
        if name and (not alone or (last.name and (last.name != name or last.id or last.is_complete()))):
            return self._new()
        return last

    def _is_other(self, call: Call, item: dict[str, Any]) -> bool:
        call_id = item.get("id")
        if call_id and call.id:
            return bool(call_id != call.id)
        name = _name(item)
        return bool(name) and _arguments_of(item).lstrip().startswith("{") and call.is_complete()

    def _new(self) -> Call:
        call = Call(f"call.{len(self.all)}")
        self.all.append(call)
        return call


def _name(item: dict[str, Any]) -> Any:
    inner = item.get("function") or item.get("custom")
    return inner.get("name") if type(inner) is dict else None


def _arguments_of(item: dict[str, Any]) -> str:
    inner = item.get("function")
    arguments = inner.get("arguments") if type(inner) is dict else None
    return arguments if type(arguments) is str else ""


# -- choices and the answer -------------------------------------------------------------------------------------------


class Choice:
    """One choice: its `message` and `calls`, and its other `fields`."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.fields: dict[str, Any] = {}
        self.message: dict[str, Any] = {}
        self.calls = Calls()
        self.reasoning_count = 0  # reasoning items in its content
        self.reasoning_rank = len(REASONING)  # the rank of the key whose reasoning is emitted

    def append_logprobs(self, given: dict[str, Any]) -> None:
        """Append the log probabilities of one chunk."""
        kept = self.fields.get("logprobs")
        if type(kept) is not dict:
            kept = self.fields["logprobs"] = {}
        for name, value in given.items():
            if type(value) is list and type(kept.get(name)) is list:
                kept[name] += value
            elif value is not None or name not in kept:
                kept[name] = list(value) if type(value) is list else value

    def native(self) -> dict[str, Any]:
        """The choice as in a whole answer."""
        message = {"role": "assistant", **finalize(self.message)}
        if self.calls.all:
            message["tool_calls"] = [call.native() for call in self.calls.all]
        fields = {key: value for key, value in self.fields.items() if key != "finish_reason" or value is not None}
        return {"index": self.index, **fields, "message": message}


class Completion:
    """One answer: its body, its choices, and the parts that were started."""

    def __init__(self, number: int) -> None:
        self.prefix = f"{number + 1}." if number else ""  # of the keys of its parts
        self.body: dict[str, Any] = {}
        self.choices: dict[int, Choice] = {}
        self.first: Choice | None = None
        self.started: dict[str, None] = {}
        self.told: Any = None
        self.done = False

    @property
    def ended(self) -> bool:
        return self.done or (self.first is not None and bool(self.first.fields.get("finish_reason")))

    def native(self) -> dict[str, Any]:
        """The provider's answer as a whole (not streamed) response."""
        body = finalize(self.body)
        if body.get("object") == "chat.completion.chunk":
            body["object"] = "chat.completion"
        body["choices"] = [self.choices[index].native() for index in sorted(self.choices)]
        return body  # type: ignore[no-any-return]


def group_of(part: Any) -> str:
    """The group of a part's key; a key is the group and the number of the part in it."""
    hints = unpack(NAME, part.extra)[1]
    kind = type(part)
    if kind is ReasoningPart or (kind is RawPart and "key" in hints):
        return "reasoning"
    if kind is ToolCallPart:
        return "function" if hints.get("kind") == "function_call" else "call"
    if hints.get("at") == "audio":
        return "audio" if kind is FilePart else "transcript"
    if hints.get("at") == "tool_calls":
        return "call"
    return "refusal" if kind is RefusalPart and "at" not in hints else "text"
