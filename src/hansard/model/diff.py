"""Differences of two conversations: the basis of every loss report.

A format's losses are not what its writer believes but the difference between the conversation that went in
and the one that reads back. Messages and parts are matched by what they say, so that one message joined with
its neighbour is reported as that and not as a change of everything after it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from msgspec import UNSET, Struct

from hansard.model import native
from hansard.model.conversation import Conversation, Message
from hansard.model.hashing import hashed_content
from hansard.model.parts import Node, Part, Unknown

_SHORT = 60


class Difference(Struct, frozen=True):
    """`path` in the first conversation; `what` for people; `field` the last canonical name in the path."""

    path: str
    what: str
    field: str


def differences(before: Conversation, after: Conversation) -> list[Difference]:
    """Everything in which `after` is not `before`; empty if and only if they are the same, numbers' kinds included."""
    if before == after and _same(before, after):
        return []
    found: list[Difference] = []
    for name, attribute in native.names(Conversation).items():
        if attribute != "messages":
            _compare(getattr(before, attribute), getattr(after, attribute), f"$.{name}", name, found)
    _unknown(before, after, "$", found)
    _compare_messages(before.messages, after.messages, found)
    return found


def _compare_messages(before: list[Message], after: list[Message], found: list[Difference]) -> None:
    if [_outline(message) for message in before] == [_outline(message) for message in after]:
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            _compare_message(old, new, f"$.messages[{i}]", found)
        return
    places = _match_parts(before, after)
    claimed: dict[int, int] = {}
    came: set[tuple[int, int]] = set()
    last = -1
    for i, old in enumerate(before):
        path = f"$.messages[{i}]"
        homes = [places.get((i, j)) for j in range(len(old.parts))]
        came.update(home for home in homes if home is not None)
        targets = sorted({home[0] for home in homes if home is not None})
        if not targets:
            empty = (
                next((k for k in range(last + 1, len(after)) if not after[k].parts), None) if not old.parts else None
            )
            if empty is None or after[empty].role != old.role:
                found.append(Difference(path, f"the {old.role} message {_brief_parts(old)}".strip(), "messages"))
                continue
            targets = [empty]
        home_message = targets[0]
        if len(targets) > 1:
            found.append(Difference(path, f"one {old.role} message becomes {len(targets)}", "split"))
        if home_message in claimed:
            found.append(Difference(path, f"joined with messages[{claimed[home_message]}]", "joined"))
        elif home_message < last:
            found.append(Difference(path, "moved to another place", "order"))
        claimed.setdefault(home_message, i)
        last = max(last, home_message)
        _compare_matched(old, after[home_message], homes, after, path, found)
    _report_added(after, came, set(claimed), found)


def _compare_matched(
    old: Message,
    new: Message,
    homes: list[tuple[int, int] | None],
    after: list[Message],
    path: str,
    found: list[Difference],
) -> None:
    _compare_fields(old, new, path, found, skip="parts")
    order = [home for home in homes if home is not None]
    if order != sorted(order):
        found.append(Difference(f"{path}.parts", "parts in another order", "order"))
    for j, (part, home) in enumerate(zip(old.parts, homes, strict=True)):
        place = f"{path}.parts[{j}]"
        if home is None:
            found.append(Difference(place, _brief_part(part), _tag(part)))
        else:
            _compare_part(part, after[home[0]].parts[home[1]], place, found)


def _report_added(after: list[Message], came: set[tuple[int, int]], claimed: set[int], found: list[Difference]) -> None:
    for k, new in enumerate(after):
        if k not in claimed and not any((k, j) in came for j in range(len(new.parts))):
            what = f"a {new.role} message was added {_brief_parts(new)}".strip()
            found.append(Difference(f"$.messages[{k}]", what, "added"))
            continue
        for j, part in enumerate(new.parts):
            if (k, j) not in came:
                found.append(
                    Difference(f"$.messages[{k}].parts[{j}]", f"a part was added: {_brief_part(part)}", "added")
                )


def _match_parts(before: list[Message], after: list[Message]) -> dict[tuple[int, int], tuple[int, int]]:
    """Where each part of `before` stands in `after`: by content and role, else by content, else by id and role."""
    places: dict[tuple[int, int], tuple[int, int]] = {}
    for key_of in (_by_content_and_role, _by_content, _by_id_and_role):
        taken = set(places.values())
        waiting: dict[Any, deque[tuple[int, int]]] = defaultdict(deque)
        for k, message in enumerate(after):
            for j, part in enumerate(message.parts):
                if (k, j) not in taken:
                    waiting[key_of(part, message.role)].append((k, j))
        if not waiting:
            break
        for i, message in enumerate(before):
            for j, part in enumerate(message.parts):
                if (i, j) not in places and (queue := waiting.get(key_of(part, message.role))):
                    places[i, j] = queue.popleft()
    return places


def _by_content_and_role(part: Part, role: str) -> Any:
    return type(part), hashed_content(part), role.replace("developer", "system")


def _by_content(part: Part, role: str) -> Any:
    return type(part), hashed_content(part)


def _by_id_and_role(part: Part, role: str) -> Any:
    return type(part), getattr(part, "tool_call_id", part.id), role.replace("developer", "system")


def _compare_message(old: Message, new: Message, path: str, found: list[Difference]) -> None:
    _compare_fields(old, new, path, found, skip="parts")
    for j, (one, other) in enumerate(zip(old.parts, new.parts, strict=True)):
        _compare_part(one, other, f"{path}.parts[{j}]", found)


def _compare_part(old: Part, new: Part, path: str, found: list[Difference]) -> None:
    if type(old) is not type(new):
        found.append(Difference(path, f"a {_tag(old)} part becomes {_tag(new)}", _tag(old)))
    else:
        _compare_fields(old, new, path, found)


def _compare_fields(old: Node, new: Node, path: str, found: list[Difference], skip: str = "") -> None:
    if old == new and _same(old, new):
        return
    for name, attribute in native.names(type(old)).items():
        if attribute != skip:
            _compare(getattr(old, attribute), getattr(new, attribute), f"{path}.{name}", name, found)
    _unknown(old, new, path, found)


def _compare(old: Any, new: Any, path: str, field: str, found: list[Difference]) -> None:
    if old is new:
        return
    if isinstance(old, Part) and isinstance(new, Part):
        _compare_part(old, new, path, found)
    elif isinstance(old, Node) and type(old) is type(new):
        _compare_fields(old, new, path, found)
    elif field == "extra" and (old or new):
        _compare_extra(old or {}, new or {}, path, found)
    elif type(old) is list and type(new) is list and len(old) == len(new) and field != "triggers":
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            _compare(one, other, f"{path}[{i}]", field, found)
    elif type(old) is dict and type(new) is dict and field == "agents":
        for key in {**old, **new}:
            _compare(old.get(key, UNSET), new.get(key, UNSET), f"{path}.{key}", field, found)
    elif not _same(old, new):
        found.append(Difference(path, _change(old, new), field))


def _compare_extra(old: dict[str, Any], new: dict[str, Any], path: str, found: list[Difference]) -> None:
    for name in {**old, **new}:
        left, right = old.get(name, UNSET), new.get(name, UNSET)
        if (type(left) is dict and type(right) in (dict, type(UNSET))) or (type(right) is dict and left is UNSET):
            left = left if type(left) is dict else {}
            right = right if type(right) is dict else {}
            for key in {**left, **right}:
                one, other = left.get(key, UNSET), right.get(key, UNSET)
                if not _same(one, other):
                    found.append(Difference(f"{path}.{name}.{key}", _change(one, other), "extra"))
            if not left and not right and (name in old) != (name in new):
                found.append(Difference(f"{path}.{name}", _change(old.get(name, UNSET), new.get(name, UNSET)), "extra"))
        elif not _same(left, right):
            found.append(Difference(f"{path}.{name}", _change(left, right), "extra"))


def _unknown(old: Node, new: Node, path: str, found: list[Difference]) -> None:
    left = old.unknown.fields if isinstance(old.unknown, Unknown) else {}
    right = new.unknown.fields if isinstance(new.unknown, Unknown) else {}
    for key in {**left, **right}:
        if not _same(left.get(key, UNSET), right.get(key, UNSET)):
            found.append(Difference(f"{path}.{key}", _change(left.get(key, UNSET), right.get(key, UNSET)), "unknown"))
    if (old.unknown is UNSET) != (new.unknown is UNSET) and not left and not right:
        found.append(Difference(path, "a part of an unknown type", "unknown"))


def _same(old: Any, new: Any) -> bool:
    if old is UNSET or new is UNSET:
        return old is new
    return native.same(old, new)


def _change(old: Any, new: Any) -> str:
    if new is UNSET:
        return _brief(old)
    if old is UNSET:
        return f"nothing becomes {_brief(new)}"
    return f"{_brief(old)} becomes {_brief(new)}"


def _brief(value: Any) -> str:
    text = native.encode(value).decode("utf-8", "replace") if value is not UNSET else "nothing"
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def _brief_parts(message: Message) -> str:
    return ", ".join(map(_brief_part, message.parts[:2])) + (" ..." if len(message.parts) > 2 else "")


def _brief_part(part: Part) -> str:
    words = getattr(part, "text", UNSET)
    named = words if type(words) is str else getattr(part, "tool_name", getattr(part, "name", UNSET))
    return f"{_tag(part)} {_brief(named)}" if type(named) is str else _tag(part)


def _tag(part: Part) -> str:
    return str(part.__struct_config__.tag)


def _outline(message: Message) -> tuple[Any, ...]:
    return (message.role, *map(type, message.parts))
