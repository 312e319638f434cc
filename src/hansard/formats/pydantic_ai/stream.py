"""Pydantic AI's agent events, as JSON lines (what `TypeAdapter(AgentStreamEvent)` writes) or as live objects.

    part_start, part_delta, part_end        a part of the response; its end has it complete and overrides the deltas
    function_tool_call, output_tool_call    a call is run; nothing new, unless its part was never seen
    function_tool_result, output_tool_result
                                            the results of a response's calls are the request that follows it
    tool_availability_delta, model_settings_delta, capability_load_delta
                                            parts of that request, too
    enqueued_messages                       messages, or parts of that request, that others put in
    agent_run_result                        the end of the run; its messages override everything
    final_result, deferred_tool_*, custom, capability, realtime_*
                                            told, and no part of a message; an error of a session is a failure

A part that starts at index 0 when the one before has ended, or after calls were run, begins another response. Events
do not say model, usage or time: without `agent_run_result` those are unknown. Results are put in the order of their
calls, as the history has them. Live objects are made plain by `dump`, if one is given, else by the pydantic they came
with, else field by field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.documents import read
from hansard.formats.pydantic_ai.fields import DIALECTS, NAME, NEWEST
from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.model.parts import ToolCallPart
from hansard.model.sdk_objects import plain
from hansard.streams.decoder_base import EventDecoder
from hansard.streams.deltas import Delta, MessageStart, PartDelta, PartEnd, PartStart, StepStart
from hansard.streams.text_buffer import joined

_Fields = dict[str, Any]
_GROWS = {"text": "content", "thinking": "content", "tool-call": "args", "builtin-tool-call": "args"}
_OLDER = "2.62"


# -- a run while it is made: responses, and the requests that answer them ---------------------------------------------


class Slot:
    """A part of the response: its start as received, and its pieces."""

    __slots__ = ("block", "ended", "key", "kind", "pieces")

    def __init__(self, key: str) -> None:
        self.key, self.kind = key, ""
        self.block: _Fields = {}
        self.pieces: list[str] = []
        self.ended = False

    def begin(self, part: _Fields) -> str:
        """Start a part; returns the first piece of its text."""
        self.block, self.kind, self.pieces, self.ended = dict(part), part.get("part_kind", ""), [], False
        field = _GROWS.get(self.kind)
        first = part.get(field) if field is not None else None
        if type(first) is not str or not first:
            return ""
        self.block[field] = ""  # type: ignore[index]
        self.pieces.append(first)
        return first

    def native(self) -> _Fields:
        """The part as a history would have it."""
        if not self.pieces:
            return self.block
        field = _GROWS[self.kind]
        return {**self.block, field: (self.block.get(field) or "") + joined(self.pieces)}

    def part(self) -> Any:
        return read_part("response", self.native())


class Response:
    """A response, and the parts of the request that answers it."""

    __slots__ = ("final", "over", "request", "slots")

    def __init__(self) -> None:
        self.slots: dict[int, Slot] = {}
        self.request: list[_Fields] = []
        self.over = self.final = False

    def calls(self) -> list[Any]:
        kept = [slot.block for _, slot in sorted(self.slots.items()) if slot.kind == "tool-call"]
        return [block.get("tool_call_id") for block in kept]

    def parts(self) -> list[_Fields]:
        return [slot.native() for _, slot in sorted(self.slots.items())]

    def records(self, release: str) -> list[_Fields]:
        """The response and, if there is any of it, the request."""
        found = [_record("response", self.parts(), release)] if self.slots else []
        if self.request:
            place = {call_id: i for i, call_id in enumerate(self.calls())}
            found.append(_record("request", sorted(self.request, key=lambda part: _order(part, place)), release))
        return found


def release_of(parts: list[_Fields]) -> str:
    """The release that wrote the parts: the older one does not list the files in what tools return."""
    returned = [part for part in parts if type(part.get("content")) in (list, dict)]
    kinds = ("tool-return", "builtin-tool-return")
    older = any(part.get("part_kind") in kinds and "content_file_digests" not in part for part in returned)
    return _OLDER if older else NEWEST


def _record(kind: str, parts: list[_Fields], release: str = NEWEST) -> _Fields:
    """A message with all the fields of its release, none of which the events tell."""
    record = {**DIALECTS[release].defaults[kind], "parts": parts, "kind": kind}
    if kind == "request":
        record["timestamp"] = next((part["timestamp"] for part in parts if "timestamp" in part), None)
    return record


def _order(part: _Fields, place: dict[Any, int]) -> int:
    """Results stand in the order of their calls, before all else."""
    called = part.get("part_kind") in ("tool-return", "retry-prompt")
    return place.get(part.get("tool_call_id"), len(place)) if called else len(place) + 1


def read_part(kind: str, part: _Fields) -> Any:
    """One native part as the format reads it."""
    return read([_record(kind, [part], release_of([part]))], NAME).messages[0].parts[0]


# -- events --------------------------------------------------------------------------------------------------------


class PydanticAIDecoder(EventDecoder):
    """One run of an agent: one response, or several with the results of tools between them."""

    name = NAME

    def __init__(self, dump: Callable[[Any], Any] | None = None) -> None:
        super().__init__()
        self.dump = dump
        self._said: list[Response | _Fields] = []  # responses, and messages that others put in
        self._open: dict[int, Slot] = {}
        self._history: list[Any] | None = None
        self._waits = False
        self._handlers = {
            "part_start": self._part_start,
            "part_delta": self._part_delta,
            "part_end": self._part_end,
            "function_tool_call": self._call,
            "output_tool_call": self._call,
            "function_tool_result": self._result,
            "output_tool_result": self._result,
            "tool_availability_delta": self._request_part,
            "model_settings_delta": self._request_part,
            "capability_load_delta": self._request_part,
            "enqueued_messages": self._enqueued,
            "final_result": self._final_result,
            "deferred_tool_requests": self._deferred,
            "agent_run_result": self._run_result,
            "realtime_session_error": self._session_error,
        }

    def feed_event(self, event: Any, kind: str = "message") -> list[Delta]:
        """One event as plain data or as a live object; what it holds is taken as it is now."""
        if type(event) is not dict:
            try:
                if self._is_piece(event):
                    return self._given()
                event = self._plain(event)
            except Exception as error:  # the object is not ours: whatever its own code raises is a failure of the event
                self.fail(f"an event of type {type(event).__name__} cannot be made plain: {error!r}")
                return self._given()
        return super().feed_event(event, kind)

    def _is_piece(self, event: Any) -> bool:
        """Take a live piece of text or thinking in, if it is one and says nothing else."""
        if event.__class__.__name__ != "PartDeltaEvent":
            return False
        delta, slot = event.delta, self._open.get(event.index)
        if slot is None or slot.ended or delta.part_delta_kind != slot.kind or slot.kind not in ("text", "thinking"):
            return False
        given = list(vars(delta).values())
        if type(delta.content_delta) is not str or len(given) - given.count(None) != 2:
            return False
        self._events += 1
        self._grow(slot, delta.content_delta)
        return True

    def _plain(self, event: Any) -> Any:
        if getattr(event, "event_kind", None) == "agent_run_result":
            messages = exact_json.decode(event.result.new_messages_json())
            return {"event_kind": "agent_run_result", "result": {"messages": messages, "new_message_index": 0}}
        return self.dump(event) if self.dump is not None else plain(event)

    def handle(self, event: Any, kind: str) -> None:
        named = event.get("event_kind") if type(event) is dict else None
        handler = self._handlers.get(named) if type(named) is str else None
        if handler is not None:
            handler(event)
        elif type(event) is dict and named is None and "error" in event:
            self.fail(f"an error in place of an event: {exact_json.encode(event['error']).decode()[:200]}", event)
        else:
            self.other(event)

    def whole(self) -> list[Message]:
        if self._history is not None:
            return read(self._history, NAME).messages
        records: list[_Fields] = []
        responses = [said for said in self._said if isinstance(said, Response)]
        release = release_of([part for said in responses for part in [*said.parts(), *said.request]])
        for said in self._said:
            records += said.records(release) if isinstance(said, Response) else [said]
        messages = read(records, NAME).messages if records else []
        if messages and any(not slot.ended for slot in self._open.values()):
            messages[-1] = replace(messages[-1], state="partial")
        return messages

    def complete(self) -> bool:
        if self._history is not None:
            return True
        last = self._said[-1] if self._said else None
        if not isinstance(last, Response) or any(not slot.ended for slot in last.slots.values()):
            return False
        answered = {part.get("tool_call_id") for part in last.request}
        if any(call_id not in answered for call_id in last.calls()):
            return self._waits
        return last.final or self._waits or (bool(last.slots) and not last.request)

    # -- the response ----------------------------------------------------------------------------------------------

    def response(self) -> Response:
        """The present one."""
        last = self._said[-1] if self._said else None
        return last if isinstance(last, Response) else self._another()

    def _another(self) -> Response:
        self.emit(StepStart() if self._said else MessageStart())
        response = Response()
        self._said.append(response)
        self._open, self._waits = response.slots, False
        return response

    def _part_start(self, event: _Fields) -> None:
        index, part = event["index"], event["part"]
        response = self.response()
        known = response.slots.get(index)
        if response.over or (index == 0 and known is not None and known.ended):
            response, known = self._another(), None
        slot = known if known is not None else Slot(f"{len(self._said)}.{index}")
        first = slot.begin(part)
        response.slots[index] = slot
        pieces, slot.pieces = slot.pieces, []
        begun = slot.part()
        if type(begun) is ToolCallPart and (first or not slot.block.get("args")):
            begun = replace(begun, input=UNSET, input_text=UNSET)
        slot.pieces = pieces
        # a part that starts again takes the place of the one before
        self.emit(PartStart(key=slot.key, part=begun) if known is None else PartEnd(key=slot.key, part=begun))
        if first:
            self.emit(PartDelta(key=slot.key, text=first))

    def _grow(self, slot: Slot, text: str) -> None:
        slot.pieces.append(text)
        self._out.append(PartDelta(key=slot.key, text=text))

    def _part_delta(self, event: _Fields) -> None:
        slot, delta = self._open[event["index"]], event["delta"]
        block = slot.block
        for key, into in (
            ("signature_delta", "signature"),
            ("citations_delta", "citations"),
            ("transcript", "transcript"),
        ):
            if delta.get(key) is not None:
                block[into] = delta[key]
        for key in ("tool_call_id", "provider_name"):
            if delta.get(key) is not None:
                block[key] = delta[key]
        if delta.get("tool_name_delta"):
            block["tool_name"] = (block.get("tool_name") or "") + delta["tool_name_delta"]
        if type(delta.get("provider_details")) is dict:
            block["provider_details"] = {**(block.get("provider_details") or {}), **delta["provider_details"]}
        grown = delta.get("content_delta") if delta.get("content_delta") is not None else delta.get("args_delta")
        if type(grown) is dict:
            block["args"] = {**(block.get("args") or {}), **grown}
        elif type(grown) is str and slot.kind in _GROWS and type(block.get(_GROWS[slot.kind])) is not dict:
            self._grow(slot, grown)
            if not delta.get("tool_name_delta"):
                field = "content_delta" if delta.get("content_delta") is not None else "args_delta"
                self.grew(field, slot.key, slot.pieces)
        elif grown is not None or delta.get("part_delta_kind") not in ("text", "thinking", "tool_call"):
            self.other(event)
        if slot.ended:
            self.emit(PartEnd(key=slot.key, part=slot.part()))

    def _part_end(self, event: _Fields) -> None:
        index, part = event["index"], event["part"]
        slot = self._open.get(index)
        if slot is None:
            self._part_start(event)
            slot = self._open[index]
        slot.block, slot.kind, slot.pieces, slot.ended = dict(part), part.get("part_kind", ""), [], True
        self.emit(PartEnd(key=slot.key, part=slot.part()))

    def _final_result(self, event: _Fields) -> None:
        self.response().final = True
        self.other(event)

    # -- tools and the request -------------------------------------------------------------------------------------

    def _call(self, event: _Fields) -> None:
        response, part = self.response(), event["part"]
        if part.get("tool_call_id") not in response.calls():
            index = max(response.slots, default=-1) + 1
            if response.request:
                response, index = self._another(), 0
            self._part_end({"index": index, "part": part})
        response.over = True
        self.other(event)

    def _result(self, event: _Fields) -> None:
        response = self.response()
        part = event["part"] if "part" in event else event["result"]
        response.over = True
        response.request.append(part)
        key = f"{len(self._said)}.r{len(response.request)}"
        read = read_part("request", part)
        self.emit(PartStart(key=key, part=read))
        self.emit(PartEnd(key=key, part=read))
        if event.get("content") is not None:
            at = {"timestamp": part["timestamp"]} if "timestamp" in part else {}
            response.request.append({"content": event["content"], **at, "part_kind": "user-prompt"})
            self.other(event)

    def _request_part(self, event: _Fields) -> None:
        response = self.response()
        response.over = True
        response.request.append(event["part"])
        self.other(event)

    def _enqueued(self, event: _Fields) -> None:
        if event.get("parts"):
            self.response().request += event["parts"]
        else:
            self._said += event["messages"]
            self._open = {}
        self.other(event)

    def _deferred(self, event: _Fields) -> None:
        self._waits = True
        self.other(event)

    def _run_result(self, event: _Fields) -> None:
        result = event.get("result")
        messages = result.get("messages") if type(result) is dict else None
        if type(messages) is not list:
            self.response().final = True
            self.other(event)
            return
        new = messages[result.get("new_message_index") or 0 :]  # type: ignore[union-attr]
        kinds = [message.get("kind") for message in new]
        self._history = new[kinds.index("response") :] if "response" in kinds else []

    def _session_error(self, event: _Fields) -> None:
        self.fail(event["message"], event)
