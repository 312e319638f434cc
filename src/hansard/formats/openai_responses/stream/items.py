"""Items of a Responses stream while they grow: their state, and the parts that are emitted for them.

    message                  content[i].text, content[i].refusal; annotations, log probabilities
    reasoning                summary[i].text, content[i].text
    function_call, mcp_call  arguments
    custom_tool_call         input                  These four are text inside the input of a call. What is emitted
    code_interpreter_call    code                   is the JSON of that input as received so far, so that a truncated
    apply_patch_call         operation.diff         call is never taken for a complete one.
    shell_call               action.commands[i]
    shell_call_output        output[i].stdout, output[i].stderr
    audio                    audio and transcript: events without an item, kept as a block `output_audio` at the end

The final form of an item wins over its deltas, but an empty field never erases text that was received. A message has a
part for each block; every other item has one part, and one more for a result inside it. Parts end when their item is
done; an emitted part that turns out wrong is corrected by its `part-end`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.documents import read
from hansard.formats.openai_responses.content import NAME, read_block
from hansard.formats.openai_responses.messages import read_item, read_message
from hansard.formats.openai_responses.tools import Calls, read_function, read_plain_output
from hansard.model import exact_json
from hansard.model.arguments import read_arguments
from hansard.model.conversation import Message
from hansard.model.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart
from hansard.streams.decoder_base import EventDecoder
from hansard.streams.deltas import PartDelta, PartEnd, PartStart
from hansard.streams.text_buffer import escaped, joined, joined_base64

Path: TypeAlias = tuple[str | float, ...]
INDEX = -1  # placeholder in a path for the index that the event has


class Growth(NamedTuple):
    """A text that events grow: event name, item type, path in the item; the keys of the index and of the whole text."""

    event: str
    item: str
    path: Path
    place: str = ""
    whole: str = ""
    row: dict[str, Any] = {}  # the row to create if no event opened it
    wrapped: bool = False  # text inside the JSON of a call's input


_GROWTHS = (
    Growth(
        "response.output_text",
        "message",
        ("content", INDEX, "text"),
        "content_index",
        "text",
        {"type": "output_text", "annotations": [], "text": ""},
    ),
    Growth(
        "response.refusal",
        "message",
        ("content", INDEX, "refusal"),
        "content_index",
        "refusal",
        {"type": "refusal", "refusal": ""},
    ),
    Growth(
        "response.reasoning_summary_text",
        "reasoning",
        ("summary", INDEX, "text"),
        "summary_index",
        "text",
        {"type": "summary_text", "text": ""},
    ),
    Growth(
        "response.reasoning_text",
        "reasoning",
        ("content", INDEX, "text"),
        "content_index",
        "text",
        {"type": "reasoning_text", "text": ""},
    ),
    Growth("response.function_call_arguments", "function_call", ("arguments",), whole="arguments"),
    Growth("response.mcp_call_arguments", "mcp_call", ("arguments",), whole="arguments"),
    Growth("response.custom_tool_call_input", "custom_tool_call", ("input",), whole="input", wrapped=True),
    Growth("response.code_interpreter_call_code", "code_interpreter_call", ("code",), whole="code", wrapped=True),
    Growth(
        "response.apply_patch_call_operation_diff",
        "apply_patch_call",
        ("operation", "diff"),
        whole="diff",
        wrapped=True,
    ),
    Growth(
        "response.shell_call_command",
        "shell_call",
        ("action", "commands", INDEX),
        "command_index",
        "command",
        wrapped=True,
    ),
    Growth("response.audio", "audio", ("content", 0, "data")),
    Growth("response.audio.transcript", "audio", ("content", 0, "transcript")),
)
GROWTHS = {growth.event: growth for growth in _GROWTHS}
SHELL_OUTPUT = {
    name: Growth("", "shell_call_output", ("output", INDEX, name), "command_index", row={"stdout": "", "stderr": ""})
    for name in ("stdout", "stderr")
}
ROWS = {growth.row["type"]: growth for growth in _GROWTHS if growth.row}
CALLS = {growth.item: growth for growth in _GROWTHS if not growth.row and growth.item != "audio"}
CLOSING = {"custom_tool_call": '"', "code_interpreter_call": '"}', "apply_patch_call": '"}'}
NEW: dict[str, dict[str, Any]] = {  # the item to create if no event opened it
    "message": {"type": "message", "role": "assistant", "content": []},
    "reasoning": {"type": "reasoning", "summary": []},
    "shell_call_output": {"type": "shell_call_output", "output": []},
    "audio": {"type": "message", "role": "assistant", "content": [{"type": "output_audio"}]},
}


# -- values that grow ----------------------------------------------------------------------------------------------


class _Own(dict[Any, Any]):
    """A copied object that may be changed."""


class _Rows(dict[Any, Any]):
    """A copied list that may be changed; its rows arrive in any order, and some may be missing."""


def place(node: Any, path: Path, value: Any) -> Any:
    """The node with the value at the path; missing levels are created.

    >>> plain(place({"a": [{"b": 1}]}, ("a", 7, "c"), 2))
    {'a': [{'b': 1}, {'c': 2}]}
    """
    key, rest = path[0], path[1:]
    if type(key) is str:
        own: Any = node if type(node) is _Own else _Own(node if type(node) is dict else ())
    else:
        own = node if type(node) is _Rows else _Rows(enumerate(node) if type(node) is list else ())
    own[key] = place(own.get(key), rest, value) if rest else value
    return own


def at(node: Any, path: Path) -> Any:
    """The value at the path, or None."""
    for key in path:
        if isinstance(node, dict):
            node = node.get(key)
        elif type(node) is list and type(key) is int:
            node = node[key] if key < len(node) else None
        else:
            return None
    return node


def plain(node: Any) -> Any:
    """The value as plain dicts and lists; copies what may still change."""
    if type(node) is _Own:
        return {key: plain(value) for key, value in node.items()}
    if type(node) is _Rows:
        return [plain(node[i]) for i in sorted(node)]
    return node


# -- items ---------------------------------------------------------------------------------------------------------


class Slot:
    """A text that grows inside an item; `key` is that of the part which shows it, empty if none does."""

    __slots__ = ("closed", "item", "key", "path", "pieces", "wrapped")

    def __init__(self, item: Item, path: Path, key: str, wrapped: bool) -> None:
        self.item, self.path, self.key, self.wrapped = item, path, key, wrapped
        self.pieces: list[str] = []
        self.closed = False

    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = [joined_base64(self.pieces) if self.path[-1] == "data" else joined(self.pieces)]
        return self.pieces[0] if self.pieces else ""


class Item:
    """An item: its native form, its growing texts, and the keys of its parts."""

    def __init__(self, native: dict[str, Any], kind: str, index: float, key: str) -> None:
        self.native: Any = native
        self.kind, self.index, self.key = kind, index, key
        self.slots: dict[Path, Slot] = {}
        self.grown: set[Path] = set()  # lists that grew: annotations, log probabilities
        self.keys: dict[int, str] = {}
        self.shown: dict[str, Any] = {}  # parts that ended, without residue
        self.live: list[str] = []  # the JSON of a call's input, where the deltas are only text inside it
        self.shows = ""  # reasoning: the list that is emitted, summary or content
        self.grows = False  # its first part can grow
        self.done = False
        self.off = False  # what was emitted differs from the item

    def place(self, path: Path, value: Any) -> None:
        self.native = place(self.native, path, value)

    def current(self) -> dict[str, Any]:
        """The item as in a whole answer."""
        for path, slot in self.slots.items():
            if slot.pieces:
                self.place(path, slot.text())
        return plain(self.native)  # type: ignore[no-any-return]

    def finish(self, native: dict[str, Any]) -> None:
        """Set the final form of the item, from its own end or the end of the response."""
        before, after = self.current(), native
        if native.get("type", "message") == before.get("type", "message"):
            for path in (*self.slots, *self.grown):
                row = path[:-1]
                if at(native, path) or not at(self.native, path):
                    continue
                if not row or at(native, row) is not None:
                    after = place(after, path, plain(at(self.native, path)))
                elif not at(native, path[:1]):
                    after = place(after, row, plain(at(self.native, row)))
        for slot in self.slots.values():
            slot.pieces, slot.closed = [], True
        self.native, self.done = plain(after), True

    def parts(self, calls: Calls) -> list[Any]:
        """The parts of the item as received so far."""
        parts = read_parts(self.current(), calls)
        return parts if self.done else [self.unfinished(part) for part in parts]

    def unfinished(self, part: Any) -> Any:
        """Mark a part of an item that is not done, so that it does not look complete."""
        if type(part) is ToolCallPart and self.live:
            given, text = read_arguments("".join(self.live))
            return replace(part, input=given, input_text=text)
        if type(part) is ToolResultPart and self.kind == "image_generation_call":
            return replace(part, preliminary=True)
        return part

    def opening(self, growth: Growth) -> str:
        """The JSON of a call's input up to the text that grows."""
        if len(growth.path) == 1:
            return '"' if growth.item == "custom_tool_call" else '{"code":"'
        field, held = growth.path[1], plain(at(self.native, growth.path[:1]))
        rest = {key: value for key, value in held.items() if key != field} if type(held) is dict else {}
        head = exact_json.encode(rest).decode()[:-1] + ("," if rest else "")
        return f'{head}"{field}":' + ('["' if INDEX in growth.path else '"')


def read_parts(item: dict[str, Any], calls: Calls) -> list[Any]:
    """Read the parts of one item."""
    kind = item.get("type", "message")
    parts: Any = None
    if kind == "function_call":
        parts = read_function(item, calls)
    elif kind == "function_call_output":
        parts = read_plain_output(item, calls)
    elif kind == "message" and item.get("role") == "assistant":
        parts = read_message(item)
    return list(parts) if parts is not None else list(read_item(item, calls)[1])


class Answer:
    """One response."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.body: dict[str, Any] = {}
        self.items: list[Item] = []
        self.by_index: dict[float, Item] = {}
        self.calls = Calls()
        self.ended = False
        self.messages: list[Message] | None = None

    def ordered(self) -> list[Item]:
        return sorted(self.items, key=lambda item: item.index)

    def read(self) -> list[Message]:
        """Read the messages as received so far; parts of unfinished items are marked."""
        items = self.ordered()
        if not items and not self.body:
            return []
        messages = read({**self.body, "output": [item.current() for item in items]}, NAME).messages
        if all(item.done for item in items):
            return messages
        flat: list[Any] = [part for message in messages for part in message.parts]
        i = 0
        for item in items:
            for _ in item.parts(Calls()):
                flat[i] = flat[i] if item.done else item.unfinished(flat[i])
                i += 1
        parts = iter(flat)
        return [replace(message, parts=[next(parts) for _ in message.parts]) for message in messages]


# -- what is given out while items grow -------------------------------------------------------------------------------

_SEPARATOR = "\n\n"  # between the texts of one reasoning item, as in the format


class ItemEmitter(EventDecoder):
    """Base of the decoder: emits parts that start, grow and end with their items."""

    # -- parts -----------------------------------------------------------------------------------------------------

    def _open(self, item: Item, calls: Calls) -> None:
        """Start the parts of an item; what it already contains is the first delta."""
        native, growth = item.native, CALLS.get(item.kind)
        if item.kind == "message":
            for i, row in enumerate(_rows(native, "content")):
                self._open_row(item, "content", i, row)
            return
        part, *held = item.parts(calls)
        if type(part) is ReasoningPart:
            part, item.grows = replace(part, text=""), True
        elif type(part) is ToolCallPart and growth is not None and at(native, ("operation", "type")) != "delete_file":
            part, item.grows = replace(part, input=UNSET, input_text=UNSET), True
        self._start(item, 0, part)
        for i, result in enumerate(held):
            self._start(item, i + 1, result)
        if type(part) is ReasoningPart:
            for field in ("summary", "content"):
                for i, row in enumerate(_rows(native, field)):
                    self._open_row(item, field, i, row)
        elif item.grows and growth is not None:
            rows = at(native, growth.path[:-1]) if INDEX in growth.path else [""]
            for i in range(len(rows) if type(rows) is list else 0):
                self._slot(item, growth, i)
            if growth.wrapped and not item.live:
                self._show(item, item.opening(growth))

    def _open_row(self, item: Item, field: str, index: int, row: Any) -> None:
        """Start a block of a message or of reasoning."""
        kind = row.get("type") if type(row) is dict else None
        growth = ROWS.get(kind) if type(kind) is str else None
        if growth is not None and growth.item == item.kind and growth.path[0] == field:
            self._slot(item, growth, index)
        elif item.kind == "message" and index not in item.keys:
            self._start(item, index, read_block(row, "output_text", {}))

    def _start(self, item: Item, place: int, part: Any) -> None:
        key = item.keys[place] = f"{item.key}.{place}"
        self.emit(PartStart(key=key, part=part))

    def _end(self, item: Item, calls: Calls, first: int = 0) -> None:
        """End the parts of the item, unless they ended with the same value before."""
        places = sorted(item.keys)
        for i, part in enumerate(item.parts(calls)):
            if i < first:
                continue
            if i >= len(places):
                places.append(places[-1] + 1 if places else 0)
                self._start(item, places[i], part)
            key, bare = item.keys[places[i]], replace(part, extra=UNSET)
            if item.shown.get(key) != bare:
                item.shown[key] = bare
                self.emit(PartEnd(key=key, part=part))

    # -- texts -----------------------------------------------------------------------------------------------------

    def _slot(self, item: Item, growth: Growth, index: int) -> Slot:
        """The slot of a growing text, created at its first event."""
        path = tuple([index if key == INDEX else key for key in growth.path])
        slot = item.slots.get(path)
        if slot is not None:
            return slot
        if growth.row and at(item.native, path[:-1]) is None:
            item.place(path[:-1], dict(growth.row))
        slot = Slot(item, path, self._shown_by(item, growth, path, index), growth.wrapped)
        item.slots[path] = slot
        if not slot.key:
            item.off = item.off or item.shows != "summary"
        elif growth.wrapped:
            self._show(item, '","' if len(item.slots) > 1 else "" if item.live else item.opening(growth))
        base = at(item.native, path)
        if type(base) is str and base:
            self._grow(slot, base)
        return slot

    def _shown_by(self, item: Item, growth: Growth, path: Path, index: int) -> str:
        """The key of the part that shows a text; empty if no part can."""
        if growth.item == "message":
            if index not in item.keys:
                part = read_block(at(item.native, path[:-1]), "output_text", {})
                item.grows = type(part) in (TextPart, RefusalPart)
                self._start(item, index, replace(part, text="") if item.grows else part)
                return item.keys[index] if item.grows else ""
            return item.keys[index]
        if not item.grows:
            return ""
        if growth.item == "reasoning":
            field = item.shows = item.shows or str(path[0])
            if field != path[0]:
                item.off = item.off or field == "content"
                return ""
            others: list[Any] = [other[1] for other in item.slots if other[0] == field]
            if others:
                item.off = item.off or max(others) > index
                self.emit(PartDelta(key=item.keys[0], text=_SEPARATOR))
        return item.keys[0]

    def _grow(self, slot: Slot, text: str) -> None:
        slot.pieces.append(text)
        if slot.key:
            if slot.wrapped:
                self._show(slot.item, escaped(text))
            else:
                self.emit(PartDelta(key=slot.key, text=text))

    def _show(self, item: Item, text: str) -> None:
        """Emit a fragment of the JSON of a call's input."""
        if text:
            item.live.append(text)
            self.emit(PartDelta(key=item.keys[0], text=text))

    def _set_text(self, slot: Slot, growth: Growth, text: str) -> None:
        """Set the whole text: usually what was received; else emit the missing rest, or correct it later."""
        item, before = slot.item, slot.text()
        if text.startswith(before):
            if text != before:
                self._grow(slot, text[len(before) :])
        elif text:
            slot.pieces, item.off = [text], True
            if slot.wrapped and INDEX not in growth.path:
                item.live = [item.opening(growth), escaped(text)]
        if slot.key and growth.item in CLOSING and not slot.closed:
            slot.closed = True
            self._show(item, CLOSING[growth.item])


def _rows(native: Any, field: str) -> list[Any]:
    rows = native.get(field)
    return rows if type(rows) is list else []
