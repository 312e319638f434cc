"""Agent events to deltas, with tool results at the moment the tool returns.

A tool result arrives twice, from the tool and from the event that follows; the second becomes a delta only if it
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace
from pydantic_ai.messages import ToolCallPart as NativeCall
from pydantic_ai.messages import ToolReturn, ToolReturnPart

from hansard.formats.pydantic_ai.stream import PydanticAIDecoder, read_part
from hansard.model.parts import DataPart, ToolCallPart, ToolResultPart
from hansard.model.sdk_objects import plain
from hansard.streams.deltas import Delta, MessageStart, Other, PartEnd, PartStart

_ADDED = ("name", "event_kind", "tool_call_id", "tool_name")
_TOLD = ("final_result", "function_tool_call", "output_tool_call", "function_tool_result", "deferred_tool_requests")


class RunEvents:
    """Events in, deltas out; `calls` and `results` by call id."""

    def __init__(self, message_id: str) -> None:
        self.message_id = message_id
        self.calls: dict[str, tuple[str, ToolCallPart]] = {}
        self.results: dict[str, tuple[str, ToolResultPart]] = {}
        self.approvals: dict[str, str] = {}
        self._decoder = PydanticAIDecoder()
        self.data: list[DataPart] = []  # of the application, not in a message yet
        self._begun = False
        self._told = 0

    def begin(self) -> list[Delta]:
        """Start the answer, if it has not started."""
        if self._begun:
            return []
        self._begun = True
        return [MessageStart(id=self.message_id)]

    def event(self, event: Any) -> list[Delta]:
        """The deltas of one event."""
        kind = getattr(event, "event_kind", "")
        out = self.begin()
        if kind == "custom":
            part = _data(event)
            self.data.append(part)
            self._told += 1
            key = f"d.{self._told}"
            return [*out, PartStart(key=key, part=part), PartEnd(key=key, part=part)]
        for delta in self._decoder.feed_event(event):
            out += self._kept(delta)
        if kind == "deferred_tool_requests":
            out += self._asked(event.requests)
        return out

    def called(self, call: NativeCall) -> list[Delta]:
        """A tool is about to run; emit its call unless an event did."""
        if call.tool_call_id in self.calls:
            return []
        part = read_part("response", plain(call))
        key = f"c.{call.tool_call_id}"
        self.calls[call.tool_call_id] = key, part
        return [*self.begin(), PartStart(key=key, part=part), PartEnd(key=key, part=part)]

    def returned(self, call: NativeCall, result: Any) -> list[Delta]:
        """A tool returned."""
        value = result.return_value if isinstance(result, ToolReturn) else result
        given = ToolReturnPart(tool_name=call.tool_name, content=value, tool_call_id=call.tool_call_id)
        part = read_part("request", plain(given))
        key = f"r.{call.tool_call_id}"
        self.results[call.tool_call_id] = key, part
        return [*self.begin(), PartStart(key=key, part=part), PartEnd(key=key, part=part)]

    def _kept(self, delta: Delta) -> list[Delta]:
        if isinstance(delta, MessageStart):
            return []
        if isinstance(delta, Other) and type(delta.value) is dict and delta.value.get("event_kind") in _TOLD:
            return []
        if isinstance(delta, (PartStart, PartEnd)):
            part: Any = delta.part
            if type(part) is ToolResultPart and type(part.tool_call_id) is str:
                return self._result(delta, part)
            if type(part) is ToolCallPart and type(part.tool_call_id) is str:
                self.calls[part.tool_call_id] = delta.key, part
        return [delta]

    def _result(self, delta: PartStart | PartEnd, part: ToolResultPart) -> list[Delta]:
        call_id: Any = part.tool_call_id
        known = self.results.get(call_id)
        if known is None or known[0] == delta.key:
            self.results[call_id] = delta.key, part
            return [delta]
        if type(delta) is PartStart:
            return []
        key, before = known
        self.results[call_id] = key, part
        return [] if _same(before, part) else [PartEnd(key=key, part=part)]

    def _asked(self, requests: Any) -> list[Delta]:
        """Mark calls that need approval."""
        out: list[Delta] = []
        for call in requests.approvals:
            out += self.called(call)
            key, part = self.calls[call.tool_call_id]
            if part.approval is UNSET:
                asked = self.approvals[call.tool_call_id] = f"approval-{call.tool_call_id}"
                part = replace(part, approval={"id": asked})
                self.calls[call.tool_call_id] = key, part
                out.append(PartEnd(key=key, part=part))
        return out


def _same(one: ToolResultPart, other: ToolResultPart) -> bool:
    return replace(one, extra=UNSET) == replace(other, extra=UNSET)


def _data(event: Any) -> DataPart:
    """A custom event of the application, as a part that clients see."""
    fields = plain(event)
    told = {key: value for key, value in fields.items() if key not in _ADDED and value is not None}
    return DataPart(name=fields.get("name") or "custom", data=told.get("data", told))
