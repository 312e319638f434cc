"""Decoder of the Responses stream: 59 event types that build items.  As of openai 3.49.0.

created, in_progress, queued         the response without its output; `created` after an end starts another response
output_item.added                    an item starts; it is found by `output_index`, since ids may change on the way
content_part.added, .done            a block of a message or of reasoning; reasoning_summary_part.* the same
*.delta, *.done                      a text grows, and is repeated whole: see `items`
output_text.annotation.added         one more citation
shell_call_output_content.*          what a command printed
image_generation_call.partial_image  a preliminary result
output_item.done                     the final item: wins over its deltas
completed, incomplete, failed        the final response: wins over its items; `failed` and `error` are failures
*_call.searching and the like        the status of an item
"""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

from msgspec.structs import replace

from hansard.formats.openai_responses import is_item
from hansard.formats.openai_responses.content import NAME, PROVIDER
from hansard.formats.openai_responses.stream.items import (
    GROWTHS,
    NEW,
    ROWS,
    SHELL_OUTPUT,
    Answer,
    Growth,
    Item,
    ItemEmitter,
    Path,
    Slot,
    at,
    plain,
)
from hansard.model.conversation import Message, ModelRef
from hansard.streams.deltas import MessageDelta, MessageStart, StepStart
from hansard.streams.learned_pattern import NUMBER, STRING

_STATUS = {
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "web_search_call": ("in_progress", "searching", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_call": ("in_progress", "completed", "failed"),
}
_QUIET = (
    "response.mcp_list_tools.in_progress",
    "response.mcp_list_tools.completed",
    "response.mcp_list_tools.failed",
    "response.compaction.compacting",
)
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class OpenAIResponsesDecoder(ItemEmitter):
    """Decode one response, or several in a row."""

    name = NAME
    VARYING = {"sequence_number": NUMBER, "obfuscation": STRING}

    def __init__(self) -> None:
        super().__init__()
        self._answers: list[Answer] = []
        self._handlers = {
            "response.created": self._created,
            "response.in_progress": self._in_progress,
            "response.queued": self._in_progress,
            "response.output_item.added": self._item_added,
            "response.output_item.done": self._item_done,
            "response.content_part.added": partial(self._row_added, "content", "content_index"),
            "response.content_part.done": partial(self._row_done, "content", "content_index"),
            "response.reasoning_summary_part.added": partial(self._row_added, "summary", "summary_index"),
            "response.reasoning_summary_part.done": partial(self._row_done, "summary", "summary_index"),
            "response.output_text.annotation.added": self._annotation,
            "response.shell_call_command.added": partial(self._text_done, GROWTHS["response.shell_call_command"]),
            "response.shell_call_output_content.delta": self._shell_output_delta,
            "response.shell_call_output_content.done": self._shell_output_done,
            "response.image_generation_call.partial_image": self._partial_image,
            "error": self._error,
            **dict.fromkeys(_ENDS, self._response_ended),
            **dict.fromkeys(_QUIET, self.other),
        }
        for name, growth in GROWTHS.items():
            self._handlers[name + ".delta"] = partial(self._delta, growth)
            self._handlers[name + ".done"] = partial(self._text_done, growth)
        for kind, states in _STATUS.items():
            for status in states:
                self._handlers[f"response.{kind}.{status}"] = partial(self._status, kind, status)

    # -- what the base asks for ------------------------------------------------------------------------------------

    def whole(self) -> list[Message]:
        messages: list[Message] = []
        for answer in self._answers:
            messages += answer.messages if answer.messages is not None else answer.read()
        return messages

    def complete(self) -> bool:
        return bool(self._answers) and self._answers[-1].ended

    def on_done(self) -> None:
        """Ignore `[DONE]`, which some servers send: the events signal the end."""

    def settle(self, messages: list[Message]) -> None:
        """Correct the parts of items that no event ended."""
        for answer in self._answers:
            for item in answer.items:
                if not item.done and (item.off or not item.keys):
                    self._end(item, answer.calls)

    # -- the response ----------------------------------------------------------------------------------------------

    def _answer(self) -> Answer:
        """The current response; after an end a new one."""
        if not self._answers or self._answers[-1].ended:
            if self._answers:
                self.emit(StepStart())
            self._answers.append(Answer(len(self._answers) + 1))
        return self._answers[-1]

    def _created(self, event: dict[str, Any]) -> None:
        body = dict(event["response"])
        if not self._answers:
            names = {name: body[key] for name, key in _NAMES if type(body.get(key)) is str}
            self.emit(MessageStart(model=ModelRef(provider=PROVIDER, **names)))
        answer = self._answer()
        if answer.items and answer.body.get("id") != body.get("id"):
            self.fail("another response began before the last one ended")
            answer.ended, messages = True, answer.read()
            answer.messages = [replace(message, state="partial") for message in messages]
            answer = self._answer()
        answer.body = body

    def _in_progress(self, event: dict[str, Any]) -> None:
        if self._answers and not self._answers[-1].ended:
            self._answers[-1].body.update(event["response"])
        else:
            self._created(event)

    def _response_ended(self, event: dict[str, Any]) -> None:
        answer, response = self._answer(), event.get("response")
        status = event["type"].removeprefix("response.")
        answer.body = {**answer.body, "status": status, **(response if type(response) is dict else {})}
        answer.ended = True
        output = answer.body.get("output")
        self._match(answer, [item for item in output if is_item(item)] if type(output) is list else [], status)
        answer.messages = answer.read()
        last = answer.messages[-1]
        self.emit(MessageDelta(usage=last.usage, finish_reason=last.finish_reason))
        if event.keys() - {"type", "sequence_number", "response"}:
            self.other({key: value for key, value in event.items() if key != "response"})
        if status == "failed":
            self._failed(answer.body.get("error"), "the response failed")

    def _match(self, answer: Answer, given: list[dict[str, Any]], status: str) -> None:
        """Finish each item with its final form, found by id, index or type; an item without one stays as it is."""
        left = dict(enumerate(given))
        places = {item["id"]: i for i, item in left.items() if type(item.get("id")) is str}
        kept = len(given)
        for item in answer.ordered():
            place: Any = places.get(item.native.get("id"))
            if place not in left:
                place = item.index
            if place not in left or _kind(left[place]) != item.kind:
                place = next((i for i, other in left.items() if _kind(other) == item.kind), None)
            if place is None:
                item.index = kept = kept + 1
                if status == "completed":
                    item.finish(item.current())
            else:
                item.index = place
                item.finish(left.pop(place))
        for place, native in left.items():
            self._new(answer, native, place).done = True
        for item in answer.ordered():
            self._end(item, answer.calls)

    def _error(self, event: dict[str, Any]) -> None:
        error = event.get("error")
        self._failed(error if error is not None else event, "the provider reported an error")

    def _failed(self, error: Any, otherwise: str) -> None:
        message = error.get("message") if type(error) is dict else error
        text = message if type(message) is str and message else otherwise
        if not self._failures or self._failures[-1].text != text:
            self.fail(text, error)

    # -- items -----------------------------------------------------------------------------------------------------

    def _new(self, answer: Answer, native: dict[str, Any], index: float, kind: str = "") -> Item:
        item = Item(native, kind or _kind(native), index, f"{answer.number}.{len(answer.items)}")
        answer.items.append(item)
        return item

    def _begin(self, native: dict[str, Any], index: Any, kind: str = "") -> Item:
        answer = self._answer()
        if kind == "audio":
            index = inf
        elif type(index) is not int:
            index = max((item.index for item in answer.items if item.index != inf), default=-1) + 1
        item = answer.by_index[index] = self._new(answer, native, index, kind)
        self._open(item, answer.calls)
        return item

    def _find(self, event: dict[str, Any], kind: str) -> Item:
        """The item of an event: by index, by id, the last one of its type; else a new one."""
        answer, index, item_id = self._answer(), event.get("output_index"), event.get("item_id")
        found = answer.by_index.get(index) if type(index) is int else None
        if found is not None and found.kind == kind:
            if not found.done or type(item_id) is not str or item_id == found.native.get("id"):
                return found
        alike = [item for item in answer.items if item.kind == kind and not item.done]
        for item in alike:
            if type(item_id) is str and item.native.get("id") == item_id:
                return item
        if alike and type(index) is not int and type(item_id) is not str:
            return alike[-1]
        named = {"id": item_id} if type(item_id) is str else {}
        return self._begin({**NEW.get(kind, {"type": kind}), **named}, index, kind)

    def _item_added(self, event: dict[str, Any]) -> None:
        native, index = event["item"], event.get("output_index")
        if not is_item(native):
            self.other(event)
            return
        before = self._answer().by_index.get(index) if type(index) is int else None
        if before is None or before.done or before.kind != _kind(native) or before.native.get("id") != native.get("id"):
            self._begin(native, index)

    def _item_done(self, event: dict[str, Any]) -> None:
        native = event["item"]
        if not is_item(native):
            self.other(event)
            return
        answer, index = self._answer(), event.get("output_index")
        item = answer.by_index.get(index) if type(index) is int else None
        if item is None or item.kind != _kind(native):
            item = next((other for other in answer.items if other.native.get("id") == native.get("id")), None)
        if item is None or item.kind != _kind(native):
            item = self._begin(native, index)
        item.finish(native)
        self._end(item, answer.calls)

    def _status(self, kind: str, status: str, event: dict[str, Any]) -> None:
        item = self._find(event, kind)
        if not item.done and "status" in item.native:
            item.place(("status",), status)
        self.other(event)

    # -- what is inside items --------------------------------------------------------------------------------------

    def _delta(self, growth: Growth, event: dict[str, Any]) -> None:
        item, text = self._find(event, growth.item), event.get("delta")
        if item.done or type(text) is not str:
            self.other(event)
            return
        slot = self._slot(item, growth, _index(event, growth.place))
        self._grow(slot, text)
        logprobs = event.get("logprobs")
        for entry in logprobs if type(logprobs) is list else ():
            self._append(item, (*slot.path[:-1], "logprobs"), entry)
        if slot.key and text and not logprobs:
            self.grew("delta", slot.key, slot.pieces, partial(self._more, slot) if slot.wrapped else None)

    def _more(self, slot: Slot, text: str, values: dict[str, bytes]) -> bool:
        self._grow(slot, text)
        return True

    def _append(self, item: Item, path: Path, value: Any, index: Any = None) -> None:
        """Add a row to a list, at its own index if it has one."""
        rows = at(item.native, path)
        item.place((*path, index if type(index) is int else len(rows) if rows else 0), value)
        item.grown.add(path)

    def _text_done(self, growth: Growth, event: dict[str, Any]) -> None:
        item, text = self._find(event, growth.item), event.get(growth.whole)
        if item.done or type(text) is not str:
            self.other(event)
        else:
            self._set_text(self._slot(item, growth, _index(event, growth.place)), growth, text)

    def _row_added(self, field: str, key: str, event: dict[str, Any]) -> None:
        item, i, row = self._row(field, key, event)
        if at(item.native, (field, i)) is None and not item.done:
            item.place((field, i), row)
            self._open_row(item, field, i, row)

    def _row_done(self, field: str, key: str, event: dict[str, Any]) -> None:
        item, i, row = self._row(field, key, event)
        if item.done:
            return
        before = at(item.native, (field, i))
        for name in ("annotations", "logprobs"):
            if at(before, (name,)) and not row.get(name):
                row = {**row, name: plain(before[name])}
        item.place((field, i), row)
        growth = ROWS.get(row.get("type", ""))
        if growth is not None and growth.item == item.kind:
            self._set_text(self._slot(item, growth, i), growth, row.get(growth.whole) or "")
        else:
            item.off = True

    def _row(self, field: str, key: str, event: dict[str, Any]) -> tuple[Item, int, dict[str, Any]]:
        row = dict(event["part"])
        thought = field == "summary" or row.get("type") == "reasoning_text"
        return self._find(event, "reasoning" if thought else "message"), _index(event, key), row

    def _annotation(self, event: dict[str, Any]) -> None:
        item = self._find(event, "message")
        if item.done:
            self.other(event)
            return
        slot = self._slot(item, GROWTHS["response.output_text"], _index(event, "content_index"))
        path = (*slot.path[:-1], "annotations")
        self._append(item, path, event["annotation"], event.get("annotation_index"))

    def _shell_output_delta(self, event: dict[str, Any]) -> None:
        item, delta = self._find(event, "shell_call_output"), event["delta"]
        for name, growth in SHELL_OUTPUT.items():
            if type(delta.get(name)) is str and not item.done:
                self._grow(self._slot(item, growth, _index(event, "command_index")), delta[name])

    def _shell_output_done(self, event: dict[str, Any]) -> None:
        item, i, rows = self._find(event, "shell_call_output"), _index(event, "command_index"), event["output"]
        if rows and not item.done:
            for name in SHELL_OUTPUT:
                item.slots.pop(("output", i, name), None)
            for j, row in enumerate(rows):
                item.place(("output", i + j / len(rows)), row)
            item.off = True

    def _partial_image(self, event: dict[str, Any]) -> None:
        item = self._find(event, "image_generation_call")
        if item.done:
            self.other(event)
            return
        item.place(("result",), event["partial_image_b64"])
        for key in ("output_format", "size", "quality", "background"):
            if event.get(key) is not None:
                item.place((key,), event[key])
        self._end(item, self._answer().calls, first=1)


_NAMES = (("name", "model"), ("response_id", "id"))


def _kind(native: dict[str, Any]) -> str:
    kind = native.get("type", "message")
    return kind if type(kind) is str else ""


def _index(event: dict[str, Any], key: str) -> int:
    index = event.get(key) if key else 0
    return index if type(index) is int else 0
