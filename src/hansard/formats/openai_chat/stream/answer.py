"""One choice of a chat stream as far as it came, and the keys that its parts are given out under."""

from __future__ import annotations

from typing import Any

from hansard.formats.openai_chat.content import NAME
from hansard.formats.openai_chat.stream.calls import Calls
from hansard.formats.openai_chat.stream.growth import settled
from hansard.formats.residue import unpack
from hansard.model.parts import FilePart, RawPart, ReasoningPart, RefusalPart, ToolCallPart

REASONING = ("reasoning_details", "thinking_blocks", "reasoning_content", "reasoning")  # the first that speaks is read
RANKS = {key: rank for rank, key in enumerate(REASONING)}


class Choice:
    """What it says (`message`, `calls`), what is said about it (`fields`)."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.fields: dict[str, Any] = {}
        self.message: dict[str, Any] = {}
        self.calls = Calls()
        self.thoughts = 0  # among the items of its content
        self.speaks = len(REASONING)  # the rank of the key whose reasoning is given out

    def more_logprobs(self, said: dict[str, Any]) -> None:
        """The log probabilities of one more piece."""
        kept = self.fields.get("logprobs")
        if type(kept) is not dict:
            kept = self.fields["logprobs"] = {}
        for name, value in said.items():
            if type(value) is list and type(kept.get(name)) is list:
                kept[name] += value
            elif value is not None or name not in kept:
                kept[name] = list(value) if type(value) is list else value

    def native(self) -> dict[str, Any]:
        """The choice as a whole answer would have it."""
        message = {"role": "assistant", **settled(self.message)}
        if self.calls.all:
            message["tool_calls"] = [call.native() for call in self.calls.all]
        about = {key: value for key, value in self.fields.items() if key != "finish_reason" or value is not None}
        return {"index": self.index, **about, "message": message}


class Completion:
    """One answer: what is said about all of it, its choices, and the parts that were given out."""

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
        """The provider's answer as if it had come whole."""
        body = settled(self.body)
        if body.get("object") == "chat.completion.chunk":
            body["object"] = "chat.completion"
        body["choices"] = [self.choices[index].native() for index in sorted(self.choices)]
        return body  # type: ignore[no-any-return]


def group_of(part: Any) -> str:
    """The kind of key that a part is given out under: with the number of it among its kind it names the part."""
    marks = unpack(NAME, part.extra)[1]
    kind = type(part)
    if kind is ReasoningPart or (kind is RawPart and "key" in marks):
        return "reasoning"
    if kind is ToolCallPart:
        return "function" if marks.get("kind") == "function_call" else "call"
    if marks.get("at") == "audio":
        return "audio" if kind is FilePart else "transcript"
    if marks.get("at") == "tool_calls":
        return "call"
    return "refusal" if kind is RefusalPart and "at" not in marks else "text"
