"""Differences of two conversations: the basis of every loss report.

A format's losses are not what its writer believes but the difference between the conversation that went in
and the one that reads back. Messages and parts are matched by what they say, so that one message joined with
its neighbour is reported as that and not as a change of everything after it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hansard.model import native
from hansard.model.conversation import Agent, Conversation, Message, Run
from hansard.model.hashing import hashed_content
from hansard.model.parts import Node, Part, RawPart, Unknown
from hansard.model.request import Settings

_SHORT = 60


class Difference(Struct, frozen=True):
    """`path`, down to the leaf, in the first conversation; of what was added, its place in the second.

    `what` is for people; `field` is the canonical field of `owner`, the innermost conversation, message, part, run or
    agent that the path is in; `role` that of its message. `before` and `after` are the values, UNSET where there is
    none.
    """

    path: str
    what: str
    field: str
    owner: Any = UNSET
    role: str = ""
    before: Any = UNSET
    after: Any = UNSET


class Place(Struct, frozen=True):
    """What a path is in."""

    owner: Any
    role: str = ""
    field: str = ""


def differences(before: Conversation, after: Conversation, left_out: Collection[int] = ()) -> list[Difference]:
    """Everything in which `after` is not `before`; empty if and only if they are the same, numbers' kinds included.

    `left_out` are messages of `before` that were not written: they are matched with none.
    """
    if not left_out and before == after and _same(before, after):
        return []
    found: list[Difference] = []
    _compare_fields(before, after, "$", Place(before), found, skip="messages")
    _compare_messages(before.messages, after.messages, left_out, found)
    return found


def _compare_messages(
    before: list[Message], after: list[Message], left_out: Collection[int], found: list[Difference]
) -> None:
    if not left_out and [_outline(message) for message in before] == [_outline(message) for message in after]:
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            _compare_matched(old, new, None, f"$.messages[{i}]", found)
        return
    written = [replace(message, parts=[]) if i in left_out else message for i, message in enumerate(before)]
    places = _match_parts(written, after)
    claimed: dict[int, int] = {}
    came: set[tuple[int, int]] = set()
    last = -1
    for i, old in enumerate(before):
        path = f"$.messages[{i}]"
        place = Place(old, old.role, "messages")
        homes = [places.get((i, j)) for j in range(len(old.parts))]
        came.update(home for home in homes if home is not None)
        targets = sorted({home[0] for home in homes if home is not None})
        if not targets:
            empty = None
            if not old.parts and i not in left_out:
                empty = next((k for k in range(last + 1, len(after)) if not after[k].parts), None)
            if empty is None or after[empty].role != old.role:
                what = f"the {old.role} message {_brief_parts(old)}".strip()
                _add(found, path, place, old, UNSET, what)
                continue
            targets = [empty]
        home_message = targets[0]
        if len(targets) > 1:
            found.append(Difference(path, f"one {old.role} message becomes {len(targets)}", "split", old, old.role))
        if home_message in claimed:
            what = f"joined with messages[{claimed[home_message]}]"
            found.append(Difference(path, what, "joined", old, old.role))
        elif home_message < last:
            found.append(Difference(path, "moved to another place", "order", old, old.role))
        claimed.setdefault(home_message, i)
        last = max(last, home_message)
        parts = [None if home is None else after[home[0]].parts[home[1]] for home in homes]
        _compare_matched(old, after[home_message], parts, path, found)
        order = [home for home in homes if home is not None]
        if order != sorted(order):
            found.append(Difference(f"{path}.parts", "parts in another order", "order", old, old.role))
    _report_added(after, came, set(claimed), found)


def _compare_matched(old: Message, new: Message, parts: list[Any] | None, path: str, found: list[Difference]) -> None:
    """Compare a message with the one it became, and its parts with what they became, if not those in their places."""
    _compare_fields(old, new, path, Place(old, old.role), found, skip="parts")
    for j, (part, other) in enumerate(zip(old.parts, new.parts if parts is None else parts, strict=True)):
        place = f"{path}.parts[{j}]"
        if other is None:
            _add(found, place, Place(part, old.role, "parts"), part, UNSET, brief_part(part))
        else:
            _compare_part(part, other, place, old.role, found)


def _report_added(after: list[Message], came: set[tuple[int, int]], claimed: set[int], found: list[Difference]) -> None:
    for k, new in enumerate(after):
        if k not in claimed and not any((k, j) in came for j in range(len(new.parts))):
            what = f"a {new.role} message was added {_brief_parts(new)}".strip()
            found.append(Difference(f"$.messages[{k}]", what, "added", new, new.role, UNSET, new))
            continue
        for j, part in enumerate(new.parts):
            if (k, j) not in came:
                what = f"a part was added: {brief_part(part)}"
                found.append(Difference(f"$.messages[{k}].parts[{j}]", what, "added", part, new.role, UNSET, part))


def _match_parts(before: list[Message], after: list[Message]) -> dict[tuple[int, int], tuple[int, int]]:
    """Where each part of `before` stands in `after`: by content and role, by content, by id and role, or by text."""
    places: dict[tuple[int, int], tuple[int, int]] = {}
    for key_of in (_by_content_and_role, _by_content, _by_id_and_role, _by_text):
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


def _by_text(part: Part, role: str) -> Any:
    """Parts of two types that say the same, as a refusal that becomes text; an empty one is like no other."""
    text = getattr(part, "text", UNSET)
    return text if type(text) is str and text else id(part)


def _compare_part(old: Part, new: Part, path: str, role: str, found: list[Difference]) -> None:
    if type(old) is not type(new):
        place = Place(old, role, "parts")
        _add(found, path, place, old, new, f"a {_tag(old)} part becomes {_tag(new)}")
    elif isinstance(old, RawPart) and old.unknown is not UNSET and new.unknown is not UNSET:
        _compare(native.plain(old), native.plain(new), path, Place(old, role, "value"), found)
    else:
        _compare_fields(old, new, path, Place(old, role), found)


def _compare_fields(
    old: Node, new: Node, path: str, place: Place, found: list[Difference], skip: str = "", *, inner: bool = False
) -> None:
    """Compare the fields of two nodes of a type; an `inner` one belongs to the field it is in."""
    if old == new and _same(old, new):
        return
    for name, attribute in native.names(type(old)).items():
        if attribute != skip:
            where = Place(place.owner, place.role, name if not inner or name == "extra" else place.field)
            _compare(getattr(old, attribute), getattr(new, attribute), f"{path}.{name}", where, found)
    _unknown(old, new, path, place, found)


def _compare(old: Any, new: Any, path: str, place: Place, found: list[Difference]) -> None:
    """Report each leaf in which two values differ: what is absent is one leaf, but for the residue of a format."""
    if old is new:
        return
    if isinstance(old, Part) and isinstance(new, Part):
        _compare_part(old, new, path, place.role, found)
    elif isinstance(old, Node) and type(old) is type(new):
        own = isinstance(old, Run | Agent)
        _compare_fields(old, new, path, Place(old) if own else place, found, inner=not own)
    elif place.field == "settings" and _one_only(old, new):
        _compare_fields(old or type(new)(), new or type(old)(), path, place, found, inner=True)
    elif place.field == "content" and type(old) is list and type(new) is list and len(old) != len(new):
        _compare_content(old, new, path, place.role, found)
    elif type(old) is list and type(new) is list and len(old) == len(new):
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            _compare(one, other, f"{path}[{i}]", place, found)
    elif place.field == "extra" and (_has_keys(old, new) or _has_keys(new, old)):
        _compare_keys(old or {}, new or {}, path, place, found)
    elif type(old) is dict and type(new) is dict:
        _compare_keys(old, new, path, place, found)
    elif not _same(old, new):
        _add(found, path, place, old, new, _change(old, new))


def _one_only(old: Any, new: Any) -> bool:
    """Whether one of them is settings that say something, and the other is absent."""
    one, other = (old, new) if new is UNSET else (new, old)
    return other is UNSET and type(one) is Settings and one != Settings()


def _compare_content(old: list[Part], new: list[Part], path: str, role: str, found: list[Difference]) -> None:
    """Compare the parts of a result, of which some are missing or were added."""
    places = _match_parts([Message(role=role, parts=[*old])], [Message(role=role, parts=[*new])])  # type: ignore[list-item]
    for k, part in enumerate(old):
        place = f"{path}[{k}]"
        if (home := places.get((0, k))) is not None:
            _compare_part(part, new[home[1]], place, role, found)
        else:
            _add(found, place, Place(part, role, "parts"), part, UNSET, brief_part(part))
    for k in sorted({*range(len(new))} - {k for _, k in places.values()}):
        what = f"a part was added: {brief_part(new[k])}"
        found.append(Difference(f"{path}[{k}]", what, "added", new[k], role, UNSET, new[k]))


def _has_keys(one: Any, other: Any) -> bool:
    return type(one) is dict and bool(one) and other is UNSET


def _compare_keys(old: dict[str, Any], new: dict[str, Any], path: str, place: Place, found: list[Difference]) -> None:
    for key in {**old, **new}:
        _compare(old.get(key, UNSET), new.get(key, UNSET), f"{path}.{key}", place, found)


def _unknown(old: Node, new: Node, path: str, place: Place, found: list[Difference]) -> None:
    left = old.unknown.fields if isinstance(old.unknown, Unknown) else {}
    right = new.unknown.fields if isinstance(new.unknown, Unknown) else {}
    where = Place(place.owner, place.role, "unknown")
    _compare_keys(left, right, path, where, found)
    if (old.unknown is UNSET) != (new.unknown is UNSET) and not left and not right:
        _add(found, path, where, old, new, "a part of an unknown type")


def _add(found: list[Difference], path: str, place: Place, before: Any, after: Any, what: str) -> None:
    found.append(Difference(path, what, place.field, place.owner, place.role, before, after))


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
    return ", ".join(map(brief_part, message.parts[:2])) + (" ..." if len(message.parts) > 2 else "")


def brief_part(part: Part) -> str:
    words = getattr(part, "text", UNSET)
    named = words if type(words) is str else getattr(part, "tool_name", getattr(part, "name", UNSET))
    return f"{_tag(part)} {_brief(named)}" if type(named) is str else _tag(part)


def _tag(part: Part) -> str:
    return str(part.__struct_config__.tag)


def _outline(message: Message) -> tuple[Any, ...]:
    return (message.role, *map(type, message.parts))
