"""Turns as providers want them: system messages in front, consecutive messages of one role as one turn."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.residue import HINTS, unpack
from hansard.formats.rules.repair import Repair
from hansard.formats.rules.tool_pairing import Item, as_is
from hansard.model.conversation import Message
from hansard.model.hashing import opaque
from hansard.model.parts import TextPart

SEPARATOR = "\n\n"


def systems_in_front(repair: Repair, items: list[Item]) -> list[Item]:
    """System messages in front of all turns; after reasoning that is bound to its prefix they become the user's text.

    A system message that was read from the provider in another place stays there.
    """
    if repair.rules.mid_system != "any" and any(message.role == "system" for _, message in items):
        items = _moved(repair, items)
    return _one_system(repair, items) if repair.rules.joins_system else items


def _moved(repair: Repair, items: list[Item]) -> list[Item]:
    front: list[Item] = []
    rest: list[Item] = []
    bound = False
    for i, message in items:
        if message.role != "system" or as_is(message, repair.name):
            bound = bound or any(map(opaque, message.parts))
            rest.append((i, message))
        elif not rest:
            front.append((i, message))
        elif bound:
            why = f"{repair.name} has no system messages here, and reasoning before it is bound to what stands in front"
            repair.note(i, ".role", "system becomes user", why)
            rest.append((i, replace(message, role="user")))
        else:
            repair.note(i, "", "moved to the front", f"{repair.name} has system messages only there")
            front.append((i, message))
    return front + rest


def _one_system(repair: Repair, items: list[Item]) -> list[Item]:
    """The system messages in front as one text, unless one of their parts says more than text to the provider."""
    count = 0
    while count < len(items) and items[count][1].role == "system" and not as_is(items[count][1], repair.name):
        count += 1
    messages = [message for _, message in items[:count]]
    parts: list[Any] = [part for message in messages for part in message.parts]
    own = any(part.extra is not UNSET and repair.name in part.extra for part in parts)
    listed = any("content" in unpack(repair.name, message.extra)[1] for message in messages)
    if len(parts) < 2 or own or (listed and count == 1) or any(type(part) is not TextPart for part in parts):
        return items
    first = items[0][0]
    why = f"{repair.name} takes one system text"
    for i, message in items[:count]:
        if i != first:
            repair.note(i, "", f"joined with messages[{first}]", why)
        elif len(message.parts) > 1:
            repair.note(i, ".parts", "its texts are joined", why)
        else:
            repair.note(i, ".parts[0].text", "the text of other system messages is added", why)
    text = SEPARATOR.join(part.text for part in parts)
    joined = replace(messages[0], parts=[replace(parts[0], text=text)], extra=_unlisted(repair.name, messages[0].extra))
    return [(first, joined), *items[count:]]


def _unlisted(name: str, extra: Any) -> Any:
    if extra is UNSET or name not in extra:
        return extra
    return {key: value for key, value in extra.items() if key != name} or UNSET


def merged_turns(repair: Repair, items: list[Item]) -> list[Item]:
    """Consecutive messages of one role as one; the user's text after tool results in the turn of the results."""
    if not repair.rules.merges:
        return items
    out: list[Item] = []
    for i, message in items:
        before = out[-1] if out else None
        if before is None or not _may_join(repair, before[1], message):
            out.append((i, message))
        elif before[1].role == message.role:
            repair.note(
                i, "", f"joined with messages[{before[0]}]", f"{repair.name} takes one turn of a role at a time"
            )
            out[-1] = (before[0], replace(before[1], parts=[*before[1].parts, *message.parts]))
        else:
            if "joined" not in unpack(repair.name, message.extra)[1]:
                why = f"{repair.name} takes results of tools and the user's text in one turn"
                repair.note(i, "", f"shares the turn of messages[{before[0]}]", why)
            extra = {} if message.extra is UNSET else message.extra
            out.append((i, replace(message, extra={**extra, repair.name: {HINTS: {"joined": True}}})))
    return out


def _may_join(repair: Repair, before: Message, message: Message) -> bool:
    """Whether two neighbours become one turn; what was read from the provider as two turns stays two."""
    name, rules = repair.name, repair.rules
    if as_is(before, name) or as_is(message, name) or unpack(name, message.extra)[0]:
        return False
    if any(map(repair.in_place, before.parts)) or any(map(repair.in_place, message.parts)):
        return False
    if message.role == "assistant" and before.model is UNSET and message.model is not UNSET:
        return False  # an answer to a request that ends with the assistant: the request stays as it was
    if before.role == message.role:
        return message.role in rules.merges and "joined" not in unpack(name, message.extra)[1]
    return rules.shares_results and (before.role, message.role) == ("tool", "user")
