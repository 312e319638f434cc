"""Decoder of the Chat Completions stream and its dialects: `chat.completion.chunk` events.

    choices[].delta         content, refusal, reasoning (any key of the format), audio, tool_calls, function_call grow
    choices[].message       a whole answer, where nothing was streamed; beside a delta it only repeats
    finish_reason           why it ended; logprobs are appended, other fields of the choice replaced
    usage                   in any chunk, with or without choices; the last one counts
    error                   a failure, alone or beside choices
    obfuscation             padding, dropped
    [DONE]                  the end; without it a finish reason is the end
    id                      a different one, after an end or interleaved with the first, belongs to another answer

Any part may grow until the end, so all parts end together. The first choice is the message; deltas of other choices
are emitted as `other`, and `body` has them whole.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import HansardError
from hansard.formats.documents import read
from hansard.formats.openai_chat.content import NAME
from hansard.formats.openai_chat.stream.answer import RANKS, REASONING, Call, Choice, Completion, group_of
from hansard.formats.openai_chat.stream.growth import Pieces, grow, grow_content, grow_list, merge
from hansard.model import exact_json
from hansard.model.conversation import Message, ModelRef
from hansard.model.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart
from hansard.streams.answers import AnswersDecoder
from hansard.streams.deltas import Delta, MessageStart, PartDelta, PartEnd, PartStart
from hansard.streams.learned_pattern import NUMBER, OBJECT, STRING


class OpenAIChatDecoder(AnswersDecoder[Completion]):
    """Decode one answer, or several in a row."""

    name = NAME
    VARYING = {"obfuscation": STRING, "usage": OBJECT}

    def __init__(self) -> None:
        super().__init__(Completion)
        self._handlers = {
            "content": self._content,
            "refusal": self._refusal,
            "reasoning_content": self._reasoning,
            "reasoning": self._reasoning,
            "reasoning_details": self._reasoning_list,
            "thinking_blocks": self._reasoning_list,
            "tool_calls": self._tool_calls,
            "function_call": self._function_call,
            "audio": self._audio,
        }

    def _check_created(self, created: Any) -> None:
        """Some servers send the time of each chunk as `created`; the last one counts."""
        if (
            created is not UNSET
            and created != self._now.body.get("created", created)
            and "created" not in self._varying
        ):
            self._varying = {**self._varying, "created": NUMBER}

    def _learn(self, field: str, key: str, pieces: list[str]) -> None:
        """Learn the event's byte pattern; usage and time are updated from each later chunk that has them."""
        body = self._now.body

        def take(text: str, values: dict[str, bytes]) -> bool:
            given = {name: values[name] for name in ("usage", "created") if name in values}
            try:
                merge(body, {name: exact_json.decode(value) for name, value in given.items()})
            except HansardError:
                return False
            if text:
                pieces.append(text)
                self._out.append(PartDelta(key=key, text=text))
            return bool(text)

        continues = type(body.get("usage")) is dict or "created" in self._varying
        self.grew(field, key, pieces, take if continues else None)

    # -- events --------------------------------------------------------------------------------------------------------

    def handle(self, event: Any, kind: str) -> None:
        if type(event) is not dict:
            self.other(event)
            return
        choices, before = event.get("choices"), len(self._out)
        failed = self._error(event, kind)
        if type(choices) is not list and "usage" not in event and not _is_chunk(event):
            if not failed:
                self.other(event)
            return
        self.turn_to(event.get("id"), type(choices) is list and any(map(_has_content, choices)))
        self._check_created(event.get("created", UNSET))
        merge(self._now.body, {key: value for key, value in event.items() if key not in _NOT_BODY})
        for choice in choices if type(choices) is list else []:
            self._choice(choice)
        if type(event.get("usage")) is dict:
            self._emit_usage()
        if len(self._out) == before + 1:
            self._learn_from(choices, self._out[before])

    def _learn_from(self, choices: Any, delta: Delta) -> None:
        """Learn from a chunk whose only effect was one text delta."""
        if type(delta) is not PartDelta:
            return
        field, first = _growing_field(choices, delta.text), self._now.first
        if field is None or first is None:
            return
        if field == "arguments":
            call = first.calls.by_index.get(choices[0]["delta"]["tool_calls"][0]["index"])
            pieces = call.pieces if call is not None else None
        else:
            pieces = first.message.get(field)
        if type(pieces) is Pieces:
            self._learn(field, delta.key, pieces)

    def _error(self, event: dict[str, Any], kind: str) -> bool:
        error = event.get("error")
        if error is None and (event.get("object") == "error" or kind == "error" or "detail" in event):
            error = event if "choices" not in event else None
        if not error:
            return False
        found = [error.get(key) for key in ("message", "detail", "error")] if type(error) is dict else [error]
        text = next((text for text in found if type(text) is str and text), None)
        self.fail(text or exact_json.encode(error).decode(), error)
        return True

    def _choice(self, given: Any) -> None:
        if type(given) is not dict:
            self.other(given)
            return
        index = given.get("index")
        index = index if type(index) is int else 0
        choice = self._now.choices.get(index)
        if choice is None:
            choice = self._now.choices[index] = Choice(index)
        if index == 0 and self._now.first is None:
            self._now.first = choice
            name, made = self._now.body.get("model") or UNSET, self._now.body.get("id") or UNSET
            if self._now is self._answers.all[0]:
                self.emit(MessageStart(model=ModelRef(name=name, response_id=made)))
        delta = given.get("delta")
        if type(delta) is not dict:
            delta = given.get("message")
        fields = {key: value for key, value in given.items() if key not in _NOT_FIELDS}
        if type(given.get("logprobs")) is dict:
            choice.append_logprobs(given["logprobs"])
            fields.pop("logprobs")
        merge(choice.fields, fields)
        if type(delta) is dict:
            if choice is not self._now.first:
                self.other(given)
            self._delta(choice, delta)
        if type(given.get("error")) is dict:
            self._error(given, "")
        if given.get("finish_reason") and choice is self._now.first:
            self._emit_usage()

    def _delta(self, choice: Choice, delta: dict[str, Any]) -> None:
        for key in REASONING:  # the key that will be read is the one to emit
            if delta.get(key):
                self._handlers[key](choice, key, delta[key])
        rest = {}
        for key, value in delta.items():
            if type(choice.message.get(key)) is Pieces and type(value) not in _GROWING_TYPES:
                self.other({key: value})
                continue
            handler = self._handlers.get(key)
            if handler is None or value is None:
                rest[key] = value
            elif key not in RANKS or not value:
                handler(choice, key, value)
        grow(choice.message, rest)

    # -- what grows ----------------------------------------------------------------------------------------------------

    def _emit_text(self, choice: Choice, key: str, part: Any, text: str) -> None:
        """Emit text of an open part, if the choice is the message."""
        if choice is self._now.first and text:
            if key not in self._now.started:
                self._now.started[key] = None
                self.emit(PartStart(key=self._now.prefix + key, part=part))
            self.emit(PartDelta(key=self._now.prefix + key, text=text))

    def _content(self, choice: Choice, key: str, value: Any) -> None:
        message = choice.message
        old = message.get(key)
        if type(value) is str and type(old) is not list:
            grow(message, {key: value})
            self._emit_text(choice, "text.0", TextPart(text=""), value)
        elif type(value) is str or type(value) is list:
            if type(old) is not list:
                old = message[key] = [{"type": "text", "text": old}] if type(old) is Pieces and any(old) else []
            for i, item in enumerate(value if type(value) is list else [{"type": "text", "text": value}]):
                self._content_item(choice, old, item, i == 0)
        elif old is None:
            message[key] = value
        else:
            self.other({key: value})

    def _content_item(self, choice: Choice, items: list[Any], item: Any, first: bool) -> None:
        given = grow_content(items, item, first, choice.reasoning_count)
        if given is not None:
            group, number, text = given
            if group == "reasoning":
                choice.reasoning_count = max(choice.reasoning_count, number + 1)
            part = TextPart(text="") if group == "text" else ReasoningPart(text="")
            self._emit_text(choice, f"{group}.{number}", part, text)

    def _refusal(self, choice: Choice, key: str, value: Any) -> None:
        grow(choice.message, {key: value})
        if type(value) is str:
            self._emit_text(choice, "refusal.0", RefusalPart(text=""), value)

    def _reasoning(self, choice: Choice, key: str, value: Any) -> None:
        grow(choice.message, {key: value})
        if type(value) is str and value and self._is_reported(choice, key):
            self._emit_text(choice, "reasoning.0", ReasoningPart(text=""), value)

    def _reasoning_list(self, choice: Choice, key: str, value: Any) -> None:
        if type(value) is not list:
            grow(choice.message, {key: value})
            return
        items = choice.message.get(key)
        if type(items) is not list:
            items = choice.message[key] = []
        places = grow_list(items, value, runs=True)
        if not value or not self._is_reported(choice, key):
            return
        for place, item in zip(places, value, strict=True):
            field = _TEXT_FIELDS.get(item.get("type", items[place].get("type"))) if type(item) is dict else None
            text = item.get(field) if field is not None else None
            if type(text) is str:
                self._emit_text(choice, f"reasoning.{place}", ReasoningPart(text=""), text)

    def _is_reported(self, choice: Choice, key: str) -> bool:
        """Whether this key's reasoning is emitted: only one key is; a wrong first choice is corrected at the end."""
        if choice.reasoning_rank == len(REASONING):
            choice.reasoning_rank = RANKS[key]
        return choice.reasoning_rank == RANKS[key]

    def _tool_calls(self, choice: Choice, key: str, value: Any) -> None:
        items = [item for item in value if type(item) is dict] if type(value) is list else []
        if len(items) != len(value):
            self.other({key: value})
        choice.message.setdefault(key, [])
        for i, item in enumerate(items):
            call = choice.calls.find(item, alone=i == 0)
            call.unsent.append(call.take(item))
            if choice is self._now.first and (call.started or call.name):
                self._emit_call(call)

    def _emit_call(self, call: Call) -> None:
        if not call.started:
            call.started = True
            self._now.started[call.key] = None
            self.emit(PartStart(key=self._now.prefix + call.key, part=call.part()))
        text, call.unsent = "".join(call.unsent), []
        if text:
            self.emit(PartDelta(key=self._now.prefix + call.key, text=text))

    def _function_call(self, choice: Choice, key: str, value: Any) -> None:
        grow(choice.message, {key: value})
        grown = choice.message[key]
        if type(value) is not dict or choice is not self._now.first:
            return
        if "function.0" not in self._now.started and type(grown.get("name")) is str:
            self._now.started["function.0"] = None
            self.emit(PartStart(key=self._now.prefix + "function.0", part=ToolCallPart(tool_name=grown["name"])))
        text = value.get("arguments")
        if type(text) is str and text and "function.0" in self._now.started:
            self.emit(PartDelta(key=self._now.prefix + "function.0", text=text))

    def _audio(self, choice: Choice, key: str, value: Any) -> None:
        grow(choice.message, {key: value})
        if type(value) is dict and type(value.get("transcript")) is str and choice.message[key].get("id"):
            self._emit_text(choice, "transcript.0", TextPart(text=""), value["transcript"])

    # -- the end -------------------------------------------------------------------------------------------------------

    def _emit_usage(self) -> None:
        """Emit usage and finish reason once the answer has ended."""
        reason = self._now.first.fields.get("finish_reason") if self._now.first is not None else None
        if not reason:
            return
        choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": ""}}
        (message,) = read({"choices": [choice], "usage": self._now.body.get("usage")}, NAME).messages
        self.tell(message)

    def cut_calls(self) -> dict[str, ToolCallPart]:
        """Only the last call of an answer without an end: when another begins, the input before it is whole."""
        last = next((key for key in reversed(self._open_calls) if key.startswith(self._now.prefix)), None)
        return {} if last is None or self._now.ended else {last: self._open_calls[last]}

    def whole(self) -> list[Message]:
        messages: list[Message] = []
        for answer in self._answers.all:
            if answer.body or answer.choices:
                (message,) = read(answer.native(), NAME).messages
                self._now = answer
                self._end_parts(message)
                messages.append(message if answer.ended else replace(message, state="partial"))
        return messages

    def on_done(self) -> None:
        self._now.done = True

    def _end_parts(self, message: Message) -> None:
        """Emit the ends of the parts of an answer."""
        prefix, started = self._now.prefix, self._now.started
        ended: dict[str, int] = {}
        for part in message.parts:
            group = group_of(part)
            key = f"{group}.{ended.get(group, 0)}"
            ended[group] = ended.get(group, 0) + 1
            if key not in started:
                self.emit(PartStart(key=prefix + key, part=part))
            started.pop(key, None)
            self.emit(PartEnd(key=prefix + key, part=part))
        for key in started:
            self.emit(PartEnd(key=prefix + key))


_GROWING_TYPES = (str, list, type(None))
_NOT_BODY = frozenset({"choices", "error", "obfuscation"})
_NOT_FIELDS = frozenset({"delta", "message", "index", "error"})
_TEXTS = ("content", "reasoning_content", "reasoning")
_TEXT_FIELDS = {"reasoning.text": "text", "reasoning.summary": "summary", "thinking": "thinking"}


def _has_content(choice: Any) -> bool:
    delta = choice.get("delta") or choice.get("message") if type(choice) is dict else None
    return type(delta) is dict and any(delta.values())


def _is_chunk(event: dict[str, Any]) -> bool:
    kind = event.get("object")
    return type(kind) is str and kind.startswith("chat.completion")


def _growing_field(choices: Any, text: str) -> str | None:
    """The field that the text came from, if repeating the chunk with another text would change nothing else."""
    if type(choices) is not list or len(choices) != 1:
        return None
    delta, logprobs = choices[0].get("delta"), choices[0].get("logprobs")
    if type(delta) is not dict or logprobs is not None or "error" in choices[0]:
        return None
    given = {key: value for key, value in delta.items() if value and key != "role"}
    if len(given) != 1:
        return None
    ((field, value),) = given.items()
    if field in _TEXTS:
        return field if value == text else None
    return "arguments" if field == "tool_calls" and _is_piece(value, text) else None


def _is_piece(calls: Any, text: str) -> bool:
    if type(calls) is not list or len(calls) != 1 or type(calls[0]) is not dict:
        return False
    call, function = calls[0], calls[0].get("function")
    if call.keys() - {"index", "id", "type", "function"} or type(call.get("index")) is not int:
        return False
    if type(function) is not dict or function.keys() - {"name", "arguments"} or function.get("arguments") != text:
        return False
    return not function.get("name") or bool(call.get("id"))
