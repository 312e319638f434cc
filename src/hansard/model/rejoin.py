"""Merge a conversation that a client sends back into the stored conversation.

Messages are matched by id, or in order where the client's have none, as in the request of a provider: what was merged
for the provider is taken apart again. Only what a client may change is taken from it: new user messages, results and
approvals of pending calls, and messages it edited. Everything else is the stored message, including fields the client
never saw.
Turns are compared as clients see them (`display`): for a client, an assistant's messages and tool results up to the
next user message are one message with one id.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.model import parts as p
from hansard.model.calls import Place
from hansard.model.conversation import Conversation, Message
from hansard.model.display import (
    Answer,
    answers,
    denied,
    failed,
    shown_error,
    shown_input,
    shown_media,
    shown_output,
    shown_url,
    without_ciphers,
)
from hansard.model.hashing import digests, opaque
from hansard.model.tree import active_path

# Inserted where a provider requires a user message at the start or between answers.
BEGINS, GOES_ON = "(the conversation begins)", "(the conversation goes on)"
_FILLERS = (("text", BEGINS), ("text", GOES_ON))


def rejoin(kept: Conversation, came: Conversation, *, tail: bool = False) -> Conversation:
    """Return the stored conversation with the client's additions, results and edits; truncated where it truncated.

    With `tail` the client sent only its last messages: the stored ones before them stay.

    >>> hello = Message(role="user", id="u1", parts=[p.TextPart(text="hi")])
    >>> kept = Conversation(messages=[Message(role="system", parts=[p.TextPart(text="Be kind.")]), hello])
    >>> len(rejoin(kept, Conversation(messages=[hello, replace(hello, id="u2")])).messages)
    3
    """
    path = active_path(kept)
    old = _Side([kept.messages[i] for i in path])
    new = _Side(_unmerged(old, came.messages))
    pairs = _matched(old, new, tail)
    messages: list[Message] = list(old.lead)
    if tail:
        until = next((k for k in pairs if k is not None), len(old.turns))
        for k in range(until):
            messages += old.messages(k) + old.hidden(k)
    for n, match in enumerate(pairs):
        if match is None:
            messages += new.messages(n)
        else:
            more = new.split_off(n, len(old.visible(match)))
            messages += _joined(old, match, new, n) + old.hidden(match) + more
    if len(path) == len(kept.messages) and _same_messages(messages, kept.messages):
        return kept
    return replace(kept, messages=_rebound(messages, came.messages), head=UNSET)


def _unmerged(old: _Side, came: list[Message]) -> list[Message]:
    """The messages as they were before they were written for a provider: without what it needed to be added, and user
    messages that were merged as the messages they are made of."""
    out: list[Message] = []
    waiting = [k for k in range(len(old.turns)) if old.role(k) == "user"]
    for message in came:
        if message.role != "user" or message.id is not UNSET:
            out.append(message)
            continue
        mine = [old.visible(k) for k in waiting]
        theirs = [_visible(part) for part in message.parts]
        if len(theirs) == 1 and theirs[0] in _FILLERS and theirs not in mine[:1]:
            continue
        at = 0
        while waiting and _begins_with(theirs, mine[0]) and _in_one_turn(waiting):
            size = len(mine.pop(0))
            out.append(replace(message, parts=message.parts[at : at + size]))
            at, theirs = at + size, theirs[size:]
            waiting.pop(0)
        out.append(replace(message, parts=message.parts[at:]) if at else message)
        waiting = waiting[1:]
    return out


def _begins_with(theirs: list[Any], mine: list[Any]) -> bool:
    return len(theirs) > len(mine) and theirs[: len(mine)] == mine


def _in_one_turn(waiting: list[int]) -> bool:
    """Whether the next user message may have been merged with what comes after it."""
    return len(waiting) == 1 or waiting[1] == waiting[0] + 1


def _rebound(messages: list[Message], came: list[Message]) -> list[Message]:
    """The messages, reasoning that was bound to the prefix it came after bound to the one it stands after now."""
    places = {id(message): i for i, message in enumerate(came) if any(map(opaque, message.parts))}
    here = {i: places[id(message)] for i, message in enumerate(messages) if id(message) in places}
    was, now = digests(came, set(here.values())), digests(messages, here)
    out = list(messages)
    for i, k in here.items():
        if was[k] != now[i]:
            out[i] = replace(messages[i], parts=[_moved(part, was[k], now[i]) for part in messages[i].parts])
    return out


def _moved(part: Any, was: str, now: str) -> Any:
    if not opaque(part) or part.binding is UNSET or part.binding.prefix != was:
        return part
    return replace(part, binding=replace(part.binding, prefix=now))


def _same_messages(left: list[Message], right: list[Message]) -> bool:
    return len(left) == len(right) and all(one is other for one, other in zip(left, right, strict=True))


class _Side:
    """One conversation as turns; `lead` and `after` are the messages that clients do not see."""

    def __init__(self, messages: list[Message]) -> None:
        self.all = messages
        self.answers = answers(messages)
        self.turns: list[list[int]] = []
        self.lead: list[Message] = []
        self.after: list[list[int]] = []
        for i, message in enumerate(messages):
            continues = bool(self.turns) and self.role(-1) == "assistant"
            if message.role in ("assistant", "tool") and continues:
                self.turns[-1] += [*self.after[-1], i]
                self.after[-1] = []
            elif message.role == "assistant" or (message.role == "user" and any(map(_visible, message.parts))):
                self.turns.append([i])
                self.after.append([])
            elif self.turns:
                self.after[-1].append(i)
            else:
                self.lead.append(message)

    def role(self, k: int) -> str:
        return self.all[self.turns[k][0]].role

    def id(self, k: int) -> Any:
        return self.all[self.turns[k][0]].id

    def messages(self, k: int) -> list[Message]:
        return [self.all[i] for i in self.turns[k]]

    def hidden(self, k: int) -> list[Message]:
        return [self.all[i] for i in self.after[k]]

    def split_off(self, k: int, size: int) -> list[Message]:
        """Take the messages out of an assistant's turn without an id that come after this many visible parts."""
        seen = 0
        for n, i in enumerate(self.turns[k]):
            if seen >= size and n and self.all[i].role == "assistant" and self.id(k) is UNSET:
                self.turns[k], rest = self.turns[k][:n], self.turns[k][n:]
                return [self.all[j] for j in rest]
            seen += sum(_visible(part) is not None for part in self.all[i].parts if self.all[i].role == "assistant")
        return []

    def visible(self, k: int) -> list[Any]:
        """What a client sees of a turn; calls are given by their place."""
        out: list[Any] = []
        for i in self.turns[k]:
            parts = self.all[i].parts if self.all[i].role in ("user", "assistant") else []
            for j, part in enumerate(parts):
                shown = _visible(part)
                if shown is not None:
                    out.append((i, j) if type(part) is p.ToolCallPart else shown)
        return out


def _matched(old: _Side, new: _Side, tail: bool) -> list[int | None]:
    """Stored turn of each received turn: matched by id, or by position if neither has an id."""
    by_id: dict[str, list[int]] = {}
    for k in range(len(old.turns)):
        if type(old.id(k)) is str:
            by_id.setdefault(old.id(k), []).append(k)
    out: list[int | None] = []
    last = -1
    for n in range(len(new.turns)):
        found = by_id.get(new.id(n), []) if type(new.id(n)) is str else []
        if new.id(n) is UNSET and n < len(old.turns) and not tail:
            found = [n]
        match = next((k for k in found if k > last and old.role(k) == new.role(n)), None)
        out.append(match)
        last = last if match is None else match
    return out


def _joined(old: _Side, k: int, new: _Side, n: int) -> list[Message]:
    """Merge one received turn into its stored turn."""
    left, right = old.visible(k), new.visible(n)
    if new.id(n) is UNSET and not any(map(_is_reasoning, right)):
        left = [mine for mine in left if not _is_reasoning(mine)]  # a provider is not sent the reasoning of others
    if len(left) != len(right):
        return new.messages(n)
    changes: dict[Place, p.AnyPart] = {}
    results: dict[int, list[p.AnyPart]] = {}
    for mine, theirs in zip(left, right, strict=True):
        if type(mine) is not tuple or type(theirs) is not tuple or not _is_place(mine) or not _is_place(theirs):
            if mine != theirs:
                return new.messages(n)
            continue
        call, other = _call(old, mine), _call(new, theirs)
        if _visible(call) != _visible(other):
            return new.messages(n)
        kept_answer, given = old.answers.get(mine), new.answers.get(theirs)
        if kept_answer is None and type(given) is p.ToolResultPart:
            if _may_answer(call):
                results.setdefault(mine[0], []).append(_for_call(given, call))
        elif not _same_answer(kept_answer, given):
            return new.messages(n)
        approved = _approved(call, other) if kept_answer is None else call
        if approved is not call:
            changes[mine] = approved
    return _changed(old, k, changes, results)


def _changed(old: _Side, k: int, changes: dict[Place, p.AnyPart], results: dict[int, list[p.AnyPart]]) -> list[Message]:
    """Stored messages of a turn with approvals set and results after their calls."""
    out: list[Message] = []
    due: list[p.AnyPart] = []
    for i in old.turns[k]:
        message = old.all[i]
        if due and message.role == "tool":
            message, due = replace(message, parts=[*message.parts, *due]), []
        elif due:
            out.append(Message(role="tool", parts=due))
            due = []
        if any(place[0] == i for place in changes):
            message = replace(message, parts=[changes.get((i, j), part) for j, part in enumerate(message.parts)])
        out.append(message)
        due = results.get(i, [])
    if due:
        out.append(Message(role="tool", parts=due))
    return out


def _approved(call: p.ToolCallPart, other: p.ToolCallPart) -> p.ToolCallPart:
    """The call with the client's approval or denial, if it was requested and not yet given."""
    mine: Any = call.approval if type(call.approval) is dict else {}
    theirs = other.approval
    if type(theirs) is not dict or type(theirs.get("approved")) is not bool or "approved" in mine:
        return call
    if "id" in mine and mine["id"] != theirs.get("id"):
        return call
    given = {key: theirs[key] for key in ("id", "approved", "reason") if key in theirs}
    return replace(call, approval={**mine, **given})


def _may_answer(call: p.ToolCallPart) -> bool:
    """Whether a client may answer the call: not a provider-executed call, not a denied one."""
    refused = type(call.approval) is dict and call.approval.get("approved") is False
    return call.provider_executed is not True and not refused


def _same_answer(mine: Answer | None, theirs: Answer | None) -> bool:
    if mine is not None and theirs is not None and denied(mine):
        return failed(theirs)  # old clients see a denial as an error
    return bool(_answer(mine) == _answer(theirs))


def _for_call(given: p.ToolResultPart, call: p.ToolCallPart) -> p.ToolResultPart:
    return replace(given, tool_call_id=call.tool_call_id, tool_name=call.tool_name)


def _call(side: _Side, place: Place) -> p.ToolCallPart:
    return side.all[place[0]].parts[place[1]]  # type: ignore[return-value]


def _is_reasoning(value: tuple[Any, ...]) -> bool:
    return bool(value[0] == "reasoning")


def _is_place(value: tuple[Any, ...]) -> bool:
    return type(value[0]) is int


def _answer(answer: Answer | None) -> Any:
    if answer is None:
        return None
    if denied(answer):
        return "denied"
    return (
        ("error", shown_error(answer)) if failed(answer) else ("output", _plain(without_ciphers(shown_output(answer))))
    )


def _visible(part: Any) -> tuple[Any, ...] | None:
    """What a client sees of a part, independent of spelling; None if it does not see the part."""
    kind = type(part)
    if kind is p.TextPart or kind is p.RefusalPart:
        return "text", part.text
    if kind is p.ReasoningPart:
        return ("reasoning", part.text) if part.text else None
    if kind is p.ToolCallPart:
        return "call", part.tool_name or "", _plain(shown_input(part))
    if kind is p.FilePart:
        url = shown_url(part)
        return ("file", url, shown_media(part)) if url is not None else None
    if kind is p.SourcePart:
        title = part.title or part.name
        return ("source", part.url or "", title or "") if part.url is not UNSET or title is not UNSET else None
    if kind is p.DataPart:
        return "data", part.name, _plain(part.data if part.data is not UNSET else None)
    return None


def _plain(value: Any) -> Any:
    """Data as JavaScript represents it: numbers are floats, key order is irrelevant, no `__proto__`."""
    if type(value) is dict:
        return {key: _plain(item) for key, item in value.items() if key != "__proto__"}
    if type(value) is list:
        return [_plain(item) for item in value]
    if type(value) is int or type(value) is Decimal:
        try:
            return float(value)
        except OverflowError:
            return "too large"
    return ("yes" if value else "no",) if type(value) is bool else value
