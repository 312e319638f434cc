"""A UIMessage while it is made: its parts in the AI SDK's own words, found again as its newest client (v7) finds them.

A tool part is known by its call id within the present step; a result or an approval looks there first, then backwards
through the whole message. A data part is known by type and id anywhere. Texts and inputs are lists of pieces, joined
when somebody looks.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.documents import read_plain
from hansard.streams.partial_json import partial
from hansard.streams.text_buffer import joined

NAME = "ai-sdk-ui"
STEP = "step-start"
STREAMING = "input-streaming"
_STEERING = "steering-message"
_CHANGING = ("input", "output", "errorText", "rawInput", "inputEncoding", "preliminary")
_KNOWN = frozenset(
    {"type", "toolCallId", "toolName", "dynamic", "providerMetadata", "inputTextDelta", "title", "toolMetadata"}
    | {"providerExecuted", *_CHANGING}
)
_UNMERGED = ("__proto__", "constructor", "prototype")


class Slot:
    """One part: its words as they came, and the pieces of a text or input that grows."""

    __slots__ = ("answered", "block", "key", "pieces", "said", "start")

    def __init__(self, block: dict[str, Any], key: str) -> None:
        self.block, self.key = block, key
        self.pieces: list[str] = []
        self.start: dict[str, Any] = {}  # the chunk that a tool's input began with
        self.said: Any = None  # the part as it was given out last
        self.answered = False

    @property
    def dynamic(self) -> bool:
        return bool(self.block["type"] == "dynamic-tool")

    @property
    def is_open(self) -> bool:
        return self.block.get("state") in ("streaming", STREAMING)

    def native(self) -> dict[str, Any]:
        """The part as a client has it."""
        block = self.block
        if not self.pieces or (self.start and block["state"] != STREAMING):
            return block
        text = joined(self.pieces)
        if not self.start:
            return {**block, "text": text}
        value = text if self.start.get("inputEncoding") == "text" else partial(text)
        return {**block, **({"input": value} if value is not UNSET else {}), "rawInput": text}

    def update(self, chunk: dict[str, Any], state: str, **fields: Any) -> None:
        """Bring a tool part into another state: what the state has not goes, what was said of the tool stays."""
        block = self.block = {key: value for key, value in self.block.items() if key not in _CHANGING}
        block["state"] = state
        block.update({key: value for key, value in fields.items() if value is not UNSET})
        for key in ("title", "toolMetadata", "providerExecuted"):
            if chunk.get(key) is not None:
                block[key] = chunk[key]
        if chunk.get("providerMetadata") is not None:
            ended = state in ("output-available", "output-error")
            block["resultProviderMetadata" if ended else "callProviderMetadata"] = chunk["providerMetadata"]
        for key in chunk.keys() - _KNOWN:
            block.setdefault(key, chunk[key])


class Answer:
    """One UIMessage: its id and metadata, its parts, and how it ended."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.metadata: Any = None
        self.slots: list[Slot] = []
        self.finish: Any = UNSET
        self.aborted = False
        self.turns = 0  # the messages of the model so far: steps, and what stands before the first or behind steering
        self._spoken = False
        self._step = 0  # where the present step begins
        self._here: dict[str, list[Slot]] = {}  # the tools of the present step
        self._tools: dict[str, Slot] = {}  # the last of each call id
        self._data: dict[tuple[str, str], Slot] = {}

    def add(self, slot: Slot) -> None:
        self.slots.append(slot)
        block = slot.block
        kind = block["type"]
        if kind == _STEERING:
            self._spoken = False
        elif kind == STEP or not self._spoken:
            self._spoken = True
            self.turns += 1
        if kind == STEP:
            self._step, self._here = len(self.slots), {}
        elif kind.startswith("data-"):
            if block.get("id") is not None:
                self._data.setdefault((kind, block["id"]), slot)
        elif "toolCallId" in block:
            self._here.setdefault(block["toolCallId"], []).append(slot)
            self._tools[block["toolCallId"]] = slot

    def reset_step(self) -> None:
        """Nothing of the present step was said."""
        kept = self.slots[: self._step]
        self.slots, self.turns, self._spoken, self._step = [], 0, False, 0
        self._here, self._tools, self._data = {}, {}, {}
        for slot in kept:
            self.add(slot)

    def tool_here(self, call_id: str, dynamic: bool | None = None) -> Slot | None:
        """The tool part of the present step, of a kind if one is wanted."""
        for slot in self._here.get(call_id, ()):
            if dynamic is None or slot.dynamic == dynamic:
                return slot
        return None

    def tool(self, call_id: str) -> Slot | None:
        return self.tool_here(call_id) or self._tools.get(call_id)

    def tool_of_approval(self, approval_id: str) -> Slot | None:
        for slot in self.slots:
            approval = slot.block.get("approval")
            if type(approval) is dict and approval.get("id") == approval_id and "toolCallId" in slot.block:
                return slot
        return None

    def data(self, chunk: dict[str, Any]) -> Slot | None:
        return self._data.get((chunk["type"], chunk["id"])) if chunk.get("id") is not None else None

    def merge(self, metadata: Any) -> None:
        """Objects are merged deeply, all else is replaced; null says nothing."""
        if metadata is not None:
            self.metadata = _merged(self.metadata, metadata)

    def record(self, place: int) -> dict[str, Any]:
        """The message; one without an id has the name that the format reads as none."""
        record = {"id": self.id if self.id is not None else f"hansard-{place + 1}", "role": "assistant"}
        said = {} if self.metadata is None else {"metadata": self.metadata}
        return {**record, **said, "parts": [slot.native() for slot in self.slots]}


def _merged(base: Any, more: Any) -> Any:
    if type(base) is not dict or type(more) is not dict:
        return more
    out = dict(base)
    for key, value in more.items():
        if key not in _UNMERGED:
            out[key] = _merged(out.get(key), value)
    return out


def read_block(block: dict[str, Any]) -> list[Any]:
    """One native part as the format reads it: a part, or a call and its result."""
    messages = read_plain([{"id": "", "role": "assistant", "parts": [block]}], NAME).messages
    return [part for message in messages for part in message.parts]
