"""Tool calls and results as `streamText` takes them: each whole call answered in the tool messages right after it.

`streamText` of AI SDK 6 and 7 refuses a call without a result (`AI_MissingToolResultsError`). Calls at the end of the
conversation may still be answered, so they stay open where no version is named; for a version all calls get a result,
but for denied ones, whose result the SDK writes itself. Partial calls were never made, so they are left out.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.ai_sdk.model.files import NAME
from hansard.formats.ai_sdk.model.tools import has_approval_response
from hansard.formats.contract import Target
from hansard.formats.rules.tool_pairing import CUT_CALL, INTERRUPTED, as_is
from hansard.model.calls import Place
from hansard.model.conversation import Message
from hansard.model.display import answers
from hansard.model.parts import RetryPart, ToolCallPart, ToolResultPart, is_partial

Note: TypeAlias = tuple[int, str, str, str]
_Item: TypeAlias = tuple[int, Message]
UNSEEN = ("event",)  # no record is written for these, so they may stand between a call and its result


def paired(messages: list[Message], target: Target, notes: list[Note]) -> list[Message]:
    """The messages with all calls answered, and a note for each change."""
    pairing = _Pairing(messages, target)
    fixed = pairing.fixed_messages()
    notes += pairing.notes
    return fixed


class _Pairing:
    """One pass over the messages of one conversation."""

    def __init__(self, messages: list[Message], target: Target) -> None:
        self.target = target
        self.notes: list[Note] = []
        self.items = [item for item in map(self._whole, range(len(messages)), messages) if item is not None]
        roles = [message.role for _, message in self.items]
        self.begins = roles.index("assistant") if "assistant" in roles else len(roles)
        found = answers([message for _, message in self.items])
        ids = self._ids()
        self.home: dict[int, Place] = {}  # the call that a result answers, by the identity of the result
        self.answer: dict[Place, Place] = {}  # where the result of a call stands
        for place, answer in found.items():
            self.home[id(answer)] = place
        for k, (_, message) in enumerate(self.items):
            for j, part in enumerate(message.parts):
                if (call := self.home.get(id(part))) is not None:
                    self.answer[call] = (k, j)
        for call, (k, j) in self.answer.items():  # so that the writer need not find the pairs again
            self._name(call, ids[call])
            given: Any = self.items[k][1].parts[j]
            if given.tool_call_id != ids[call]:
                made = replace(given, tool_call_id=ids[call])
                self.items[k][1].parts[j] = made
                self.home[id(made)] = call
        for call in ids.keys() - self.answer.keys():
            self._name(call, ids[call])

    def fixed_messages(self) -> list[Message]:
        out: list[_Item] = []
        k = 0
        while k < len(self.items):
            i, message = self.items[k]
            self._keep(out, k, k)
            k += 1
            if message.role != "assistant" or not self._calls(k - 1):
                continue
            asked, first = k - 1, len(out)
            while k < len(self.items) and self.items[k][1].role in ("tool", *UNSEEN):
                self._keep(out, k, asked)
                k += 1
            added = self._added(asked, k)
            if not added:
                continue
            last = next((n for n in reversed(range(first, len(out))) if out[n][1].role == "tool"), None)
            if last is None or self._fixed(out[last][1]):
                out.insert(first if last is None else last + 1, (i, Message(role="tool", parts=added)))
            else:
                out[last] = (out[last][0], replace(out[last][1], parts=[*out[last][1].parts, *added]))
        return [message for _, message in out]

    def _whole(self, i: int, message: Message) -> _Item | None:
        """The message without partial calls, with results of its own identity; None if nothing is left of it."""
        if self._fixed(message):
            return i, replace(message, parts=[_own(part, "") for part in message.parts])
        kept = []
        for j, part in enumerate(message.parts):
            if is_partial(part):
                self.notes.append((i, f".parts[{j}]", CUT_CALL, f"{NAME} takes only whole calls"))
            else:
                kept.append(_own(part, message.role))
        return (i, replace(message, parts=kept)) if kept or not message.parts else None

    def _ids(self) -> dict[Place, str]:
        """The id of each call, as the writer would give it to one that has none."""
        found: dict[Place, str] = {}
        for k, (_, message) in enumerate(self.items):
            for j, part in enumerate(message.parts):
                if type(part) is ToolCallPart:
                    own = part.tool_call_id
                    found[k, j] = own if type(own) is str else f"call-{len(found) + 1}"
        return found

    def _name(self, call: Place, call_id: str) -> None:
        parts = self.items[call[0]][1].parts
        given: Any = parts[call[1]]
        if given.tool_call_id != call_id:
            parts[call[1]] = replace(given, tool_call_id=call_id)

    def _fixed(self, message: Message) -> bool:
        """Whether the message is written as it was read: no version is asked for, and it was read so."""
        return self.target.profile is None and as_is(message, NAME)

    def _calls(self, k: int) -> list[Place]:
        parts = enumerate(self.items[k][1].parts)
        return [(k, j) for j, part in parts if type(part) is ToolCallPart and part.provider_executed is not True]

    def _keep(self, out: list[_Item], k: int, asked: int) -> None:
        """Put out a message without the results that belong elsewhere, or to no call."""
        i, message = self.items[k]
        if self._fixed(message):
            out.append((i, message))
            return
        kept = []
        for j, part in enumerate(message.parts):
            if type(part) is not ToolResultPart or part.provider_executed is True:
                kept.append(part)
                continue
            call = self.home.get(id(part))
            if call is None and part.preliminary is True and message.role == "tool":
                kept.append(part)  # the last result of the call stands for it
            elif call is None and message.role == "tool" and k < self.begins:
                kept.append(part)  # a part of a conversation: the call is in what came before
            elif call is None or not self._answerable(call):
                what = f"the result of {part.tool_call_id!s}, whose call is not there"
                self.notes.append((i, f".parts[{j}]", what, f"{NAME} takes a result only for a call it knows"))
            elif call[0] == asked and message.role == "tool":
                kept.append(part)
        if kept or not message.parts:
            out.append((i, replace(message, parts=kept)))

    def _answerable(self, call: Place) -> bool:
        message = self.items[call[0]][1]
        return message.role == "assistant" and call in self._calls(call[0])

    def _added(self, k: int, end: int) -> list[Any]:
        """Results to put after the calls of a message: those from elsewhere, and new ones for missing ones."""
        i, message = self.items[k]
        added: list[Any] = []
        for call in self._calls(k):
            given: Any = message.parts[call[1]]
            place = self.answer.get(call)
            if place is not None:
                holder = self.items[place[0]]
                if (k < place[0] < end and holder[1].role == "tool") or self._fixed(holder[1]):
                    continue
                why = f"{NAME} takes the results of a turn right after it"
                self.notes.append((holder[0], f".parts[{place[1]}]", "the result moves after its call", why))
                added.append(holder[1].parts[place[1]])
            elif not self._fixed(message) and not self._stays_open(given, end):
                why = f"{NAME} refuses a call without a result"
                self.notes.append((i, f".parts[{call[1]}]", f"a result was added for {given.tool_call_id}", why))
                added.append(_missing_result(given))
        return added

    def _stays_open(self, call: ToolCallPart, end: int) -> bool:
        """Whether a call without a result may be at the end."""
        if any(message.role not in UNSEEN for _, message in self.items[end:]):
            return False
        profile = self.target.profile
        return profile is None or (profile != "v5" and has_approval_response(call) and not call.approval["approved"])


def _own(part: Any, role: str) -> Any:
    """A result of its own identity; a prompt to retry in a tool message is a result."""
    if type(part) is RetryPart and role == "tool":
        named: dict[str, Any] = {"tool_call_id": part.tool_call_id, "tool_name": part.tool_name}
        return ToolResultPart(**named, output=part.content, is_error=True, extra=part.extra)
    return replace(part) if type(part) in (ToolResultPart, RetryPart) else part


def _missing_result(call: ToolCallPart) -> ToolResultPart:
    named: dict[str, Any] = {"tool_call_id": call.tool_call_id, "tool_name": call.tool_name, "is_error": True}
    if type(call.approval) is dict and call.approval.get("approved") is False:
        reason = call.approval.get("reason")
        return ToolResultPart(**named, status="denied", output=reason if type(reason) is str else UNSET)
    return ToolResultPart(**named, status="interrupted", output=INTERRUPTED)
