"""Tool calls and their results as providers want them: each call answered in the very next message, by a legal id."""

from __future__ import annotations

import re
from typing import Any, Protocol, TypeAlias

from msgspec import UNSET
from msgspec.structs import force_setattr, replace

from hansard.formats.contract import Loss, Repairer, Target
from hansard.formats.residue import HINTS
from hansard.model.calls import Links, Place
from hansard.model.conversation import Message
from hansard.model.parts import ToolResultPart, is_partial

Item: TypeAlias = tuple[int, Message]
AS_IS = "asIs"
CUT_CALL = "a call whose input was cut off"
INTERRUPTED = "No result was recorded: the call was interrupted."


class Repairs(Protocol):
    """What pairing needs of the pass it is part of."""

    name: str

    @property
    def wants_ids(self) -> bool: ...
    def is_id(self, text: str, /) -> object: ...
    def note(self, i: int, where: str, what: str, why: str) -> None: ...


def as_is(message: Message, name: str) -> bool:
    """Whether the message was read from this format in a state that the format's rules would change."""
    extra = message.extra
    if extra is UNSET or name not in extra:
        return False
    kept = extra[name]
    marked = type(kept) is dict and type(kept.get(HINTS)) is dict and AS_IS in kept[HINTS]
    return marked and not any(map(is_partial, message.parts))  # a stream, cut: no document holds such a call


def mark_as_is(message: Message, name: str) -> None:
    """Mark a message, just read: it is written back as it is."""
    given: Any = message.extra
    extra: dict[str, Any] = {} if given is UNSET else dict(given)
    kept = dict(extra.get(name, {}))
    kept[HINTS] = {**kept.get(HINTS, {}), AS_IS: True}
    force_setattr(message, "extra", {**extra, name: kept})


def mark_repaired(messages: list[Message], name: str, repair: Repairer) -> None:
    """Mark the messages, just read, that a format's repair would change: they are written back as they are."""
    for _ in range(len(messages) + 1):
        notes: list[Loss] = []
        repair(messages, Target(), notes, list(range(len(messages))))
        touched = {int(note.path.partition("[")[2].partition("]")[0]) for note in notes}
        left = [messages[i] for i in touched if not as_is(messages[i], name)]
        if not left:
            return
        for message in left:
            mark_as_is(message, name)


def paired(repair: Repairs, items: list[Item]) -> list[Item]:
    """Every call is answered in the next message, every result follows its call."""
    messages = [message for _, message in items]
    links = Links(messages)
    if _well_paired(repair, messages, links):
        return items
    fixed = {k for k, message in enumerate(messages) if as_is(message, repair.name)}
    client = {place for place, call in links.calls.items() if call.provider_executed is not True}
    home: dict[Place, Place] = {}
    for result, call in links.answers.items():
        if call in client and result[0] not in fixed:
            home[call] = result
    out: list[Item] = []
    placed: set[Place] = set()
    for k, (i, message) in enumerate(items):
        if k in fixed:
            out.append((i, message))
            continue
        kept = _without_moved_results(repair, k, i, message, links, placed)
        if kept is not None:
            out.append((i, kept))
        calls = [(k, j) for j in range(len(message.parts)) if (k, j) in client]
        if calls and message.role == "assistant":
            answer = _answer(repair, items, k, calls, home, placed)
            if answer is not None:
                out.append(answer)
    return out


def _well_paired(repair: Repairs, messages: list[Message], links: Links) -> bool:
    """The quick answer: are results just where they belong?"""
    expected: dict[int, list[Place]] = {}
    for (k, j), call in links.calls.items():
        if call.provider_executed is not True and not as_is(messages[k], repair.name):
            if messages[k].role != "assistant":
                return False
            expected.setdefault(k, []).append((k, j))
    answered: dict[int, list[Place]] = {}
    for place, result in links.results.items():
        k = place[0]
        if result.provider_executed is True or as_is(messages[k], repair.name):
            continue
        call_place = links.answers.get(place)
        if call_place is None or messages[k].role != "tool" or call_place[0] != k - 1:
            return False
        answered.setdefault(k - 1, []).append(call_place)
    last = len(messages) - 1
    return all(sorted(answered.get(k, [])) == places or k == last for k, places in expected.items())


def _without_moved_results(
    repair: Repairs, k: int, i: int, message: Message, links: Links, placed: set[Place]
) -> Message | None:
    """The message less the results that stand elsewhere now; None when nothing is left of it."""
    parts: list[Any] = []
    for j, part in enumerate(message.parts):
        if type(part) is not ToolResultPart or part.provider_executed is True:
            parts.append(part)
        elif (k, j) not in placed:
            why = f"{repair.name} takes a result only for a call it knows"
            repair.note(i, f".parts[{j}]", f"the result of {part.tool_call_id!s}, whose call is not there", why)
    if len(parts) == len(message.parts):
        return message
    return replace(message, parts=parts) if parts else None


def _answer(
    repair: Repairs,
    items: list[Item],
    k: int,
    calls: list[Place],
    home: dict[Place, Place],
    placed: set[Place],
) -> Item | None:
    """One tool message with the results of these calls, in the order they came."""
    i, message = items[k]
    found = sorted(home[call] for call in calls if call in home)
    missing = [call for call in calls if call not in home]
    if not found and k == len(items) - 1:
        return None
    placed.update(found)
    first = items[found[0][0]] if found else None
    base = first[1] if first and first[1].role == "tool" else Message(role="tool", parts=[])
    at = first[0] if first else i
    for place in found:
        if place[0] != k + 1:
            why = f"{repair.name} takes all results of a turn in the next message"
            repair.note(items[place[0]][0], f".parts[{place[1]}]", "the result moves after its call", why)
    parts: list[Any] = [items[a][1].parts[b] for a, b in found]
    for _, j in missing:
        call: Any = message.parts[j]
        why = f"{repair.name} refuses a call without a result"
        repair.note(i, f".parts[{j}]", f"a result was added for {call.tool_call_id!s}", why)
        parts.append(
            ToolResultPart(
                tool_call_id=call.tool_call_id,
                tool_name=call.tool_name,
                output=INTERRUPTED,
                is_error=True,
                status="interrupted",
            )
        )
    return at, replace(base, parts=parts)


def legal_ids(repair: Repairs, items: list[Item]) -> list[Item]:
    """Ids of the legal shape, one for each call: mapped the same way every time, and only where they must be."""
    if not repair.wants_ids:
        return items
    messages = [message for _, message in items]
    links = Links(messages)
    taken: set[str] = set()
    new_ids: dict[Place, str] = {}
    for place, call in links.calls.items():
        if as_is(messages[place[0]], repair.name):
            if type(call.tool_call_id) is str:
                taken.add(call.tool_call_id)
            continue
        given = call.tool_call_id
        legal = given if type(given) is str else f"call_{place[0]}_{place[1]}"
        if not repair.is_id(legal):
            legal = re.sub(r"[^a-zA-Z0-9_-]", "_", legal)[:56] or f"call_{place[0]}_{place[1]}"
        base, count = legal, 1
        while legal in taken:
            count += 1
            legal = f"{base[:56]}_{count}"
        taken.add(legal)
        if legal != given:
            new_ids[place] = legal
            shown = repr(given) if type(given) is str else "no id"
            why = f"{repair.name} wants one id of its shape for each call"
            repair.note(items[place[0]][0], f".parts[{place[1]}].toolCallId", f"{shown} becomes {legal!r}", why)
    for result, call_place in links.answers.items():
        if call_place in new_ids and not as_is(messages[result[0]], repair.name):
            new_ids[result] = new_ids[call_place]
    if not new_ids:
        return items
    out = []
    for k, (i, message) in enumerate(items):
        if any((k, j) in new_ids for j in range(len(message.parts))):
            parts: list[Any] = [
                replace(part, tool_call_id=new_ids[k, j]) if (k, j) in new_ids else part
                for j, part in enumerate(message.parts)
            ]
            message = replace(message, parts=parts)
        out.append((i, message))
    return out
