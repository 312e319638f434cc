"""A provider's rules for a request, and the repairs that make any conversation keep them.

`conform` works on canonical messages before they are mapped, so that formats stay pure mapping. Every repair
leaves a note with the place in the source. A message that was read from this very provider and would be
repaired carries the mark `asIs`: what a provider's document says is written back as it was, conforming or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import UNSET, Struct

from hansard.formats.contract import Loss, Target
from hansard.formats.rules.merging import merged_turns, systems_in_front
from hansard.formats.rules.repair import Repair
from hansard.formats.rules.tool_pairing import Item, as_is, legal_ids, mark_as_is, paired
from hansard.formats.rules.unicode import mark_surrogates
from hansard.model.conversation import Message
from hansard.model.hashing import digests
from hansard.model.parts import Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from hansard.model.rejoin import BEGINS

_Matcher: TypeAlias = Callable[[str], object]


_ROLES: dict[str, dict[str, str | None]] = {
    developer: {
        "system": "system",
        "developer": developer,
        "user": "user",
        "assistant": "assistant",
        "tool": "tool",
        "event": None,
    }
    for developer in ("system", "developer")
}


class Rules(Struct, frozen=True, kw_only=True):
    """The rules of one provider. `parts` says which kinds of part each role may hold, `developer` what it becomes.

    `mid_system` is where system messages may stand after the first turn: any, after-user or never; where it is not any,
    system messages of other formats are moved to the front, and with `joins_system` several are joined into one text.
    `merges` are the roles whose consecutive messages become one turn; with `shares_results` the user's text after tool
    results stands in their turn. `media` are the media types a file may have (`image/` for all images), None for any;
    a file read from the provider passes.
    `linked` are those of a file given by its address, where they are others (the empty one: it needs none).
    `base64`: the provider refuses a whole request for data that is none.
    `unsigned_reasoning`: reasoning without a signature passes; `own_reasoning`: only what was read from the provider.
    A signed text may be empty.
    `own_parts` are kinds that no role holds, which pass if they were read from the provider or are bound to it.
    `leading_reasoning`: a thought is followed by what was thought of. `unbound` gives what is left of a part
    when the reasoning beside it goes.
    """

    provider: str
    parts: dict[str, frozenset[type]]
    developer: str = "system"
    id_pattern: str | None = None
    name_pattern: str | None = r"[a-zA-Z0-9_-]{1,64}"
    ids: bool = True
    object_input: bool = False
    unsigned_reasoning: bool = False
    own_reasoning: bool = False
    own_parts: frozenset[type] = frozenset()
    leading_reasoning: bool = False
    unbound: Callable[[Part], Part | None] | None = None
    empty_text: bool = False
    media: frozenset[str] | None = None
    linked: frozenset[str] | None = None
    base64: bool = False
    result_parts: frozenset[type] = frozenset()
    mid_system: str = "any"
    joins_system: bool = False
    merges: frozenset[str] = frozenset()
    shares_results: bool = False
    first_user: bool = False

    @property
    def roles(self) -> dict[str, str | None]:
        """What each role becomes; what becomes nothing is left out."""
        return _ROLES[self.developer]

    def repeatable(self, repeats: set[tuple[str, str]]) -> bool:
        """Whether these neighbours may stay messages of their own."""
        if self.joins_system and ("system", "system") in repeats:
            return False
        if self.shares_results and ("tool", "user") in repeats:
            return False
        return not any(one == other and one in self.merges for one, other in repeats)

    def matchers(self) -> tuple[_Matcher, _Matcher]:
        """Tests for a legal id and a legal name; `re` keeps the compiled patterns."""
        every = re.compile("", re.DOTALL).match
        is_id = re.compile(self.id_pattern, re.DOTALL).fullmatch if self.id_pattern else every
        return is_id, re.compile(self.name_pattern, re.DOTALL).fullmatch if self.name_pattern else every


def _apply(repair: Repair) -> list[Item]:
    items: list[Item] = []
    for i, message in enumerate(repair.messages):
        if repair.fits(i, message) or as_is(message, repair.name):
            items.append((i, message))
        elif (made := repair.repaired(i, message)) is not None:
            items.append((i, made))
    items = systems_in_front(repair, legal_ids(repair, paired(repair, items)))
    first = next((message for _, message in items if message.role not in ("system", "developer")), None)
    if repair.first_user and first is not None and first.role != "user" and not as_is(first, repair.name):
        at = items.index(next(item for item in items if item[1] is first))
        repair.note(items[at][0], "", "a user message was added before it", f"{repair.name} begins with the user")
        items.insert(at, (items[at][0], Message(role="user", parts=[TextPart(text=BEGINS)])))
    return merged_turns(repair, items)


class Outline(Struct, frozen=True, kw_only=True, gc=False):
    """What rules ask about a plain conversation: one whose calls are each answered in the very next message.

    `kinds` are the kinds of part that each role says, `signed` the messages with opaque reasoning; `repeats` are the
    roles of neighbours that a provider may merge (a system message of several parts counts as two).
    """

    kinds: dict[str, set[type]]
    ids: set[str]
    names: set[str]
    object_input: bool
    begins: str | None
    mid_system: bool
    ends_in_thought: bool
    repeats: set[tuple[str, str]]
    signed: list[int]


def outline(messages: list[Message]) -> Outline | None:
    """The facts that decide for almost every conversation and every provider; None where they do not."""
    kinds: dict[str, set[type]] = {}
    ids: set[str] = set()
    names: set[str] = set()
    waiting: list[Any] = []
    signed: list[int] = []
    begins: str | None = None
    repeats: set[tuple[str, str]] = set()
    before = ""
    object_input, mid_system, ends_in_thought = True, False, False
    part: Any
    for i, message in enumerate(messages):
        role, parts = message.role, message.parts
        if not parts:
            return None
        if role == before or (before == "tool" and role == "user"):
            repeats.add((before, role))
        before = role
        if role == "system":
            mid_system = mid_system or begins is not None
            if len(parts) > 1:
                repeats.add(("system", "system"))
        elif begins is None:
            begins = role
        seen = kinds.get(role)
        if seen is None:
            seen = kinds[role] = set()
        calls: list[Any] = []
        for part in parts:
            kind = type(part)
            seen.add(kind)
            if kind is TextPart:
                if not part.text or part.signature is not UNSET:
                    return None
            elif kind is ToolCallPart:
                call_id = part.tool_call_id
                if type(call_id) is not str or call_id in ids or type(part.tool_name) is not str:
                    return None
                if part.provider_executed is not UNSET or part.signature is not UNSET or part.state is not UNSET:
                    return None
                ids.add(call_id)
                names.add(part.tool_name)
                calls.append(call_id)
                if type(part.input) is not dict or part.input_text is not UNSET:
                    object_input = False
            elif kind is ToolResultPart:
                if role != "tool" or part.tool_call_id not in waiting:
                    return None
                if part.provider_executed is not UNSET or part.content is not UNSET or part.signature is not UNSET:
                    return None
                waiting.remove(part.tool_call_id)
            elif kind is ReasoningPart:
                if part.signature is UNSET and part.encrypted is UNSET:
                    return None
                signed.append(i)
                ends_in_thought = ends_in_thought or part is parts[-1]
            else:
                return None
        if waiting:
            return None
        waiting = calls
    return Outline(
        kinds=kinds,
        ids=ids,
        names=names,
        object_input=object_input,
        begins=begins,
        mid_system=mid_system,
        ends_in_thought=ends_in_thought,
        repeats=repeats,
        signed=signed,
    )


def is_plain(seen: Outline | None, rules: Rules) -> bool:
    """Whether the rules leave nothing to repair; the bindings of signatures are checked apart."""
    if seen is None or (seen.ends_in_thought and rules.leading_reasoning):
        return False
    if seen.mid_system and rules.mid_system != "any":
        return False
    if seen.repeats and not rules.repeatable(seen.repeats):
        return False
    if rules.first_user and seen.begins is not None and seen.begins != "user":
        return False
    if rules.object_input and not seen.object_input:
        return False
    for role, kinds in seen.kinds.items():
        if rules.roles.get(role) != role or not kinds <= rules.parts[role]:
            return False
    is_id, is_name = rules.matchers()
    return all(map(is_id, seen.ids)) and all(map(is_name, seen.names))


def _bound(messages: list[Message], signed: list[int], rules: Rules, target: Target) -> bool:
    """Does every signed thought stand where it was made?"""
    prefixes = digests(messages[: signed[-1] + 1], set(signed))
    for i in signed:
        for part in messages[i].parts:
            if type(part) is ReasoningPart:
                bound = part.binding
                if bound is UNSET or bound.provider != rules.provider or bound.prefix not in (UNSET, prefixes[i]):
                    return False
                if bound.transport is not UNSET and target.transport not in (None, bound.transport):
                    return False
                if bound.model is not UNSET and target.model not in (None, bound.model):
                    return False
    return True


def conform(
    messages: list[Message],
    rules: Rules,
    target: Target,
    name: str,
    notes: list[Loss],
    indices: list[int],
    seen: Outline | None = None,
    tools: Sequence[str] = (),
) -> list[Message]:
    """The messages as the provider takes them; a note for each repair, by the index in the source.

    `seen` is their outline, where the caller has it already; `tools` are the names of tools that the request defines.
    """
    seen = seen or outline(messages)
    if seen is not None and is_plain(seen, rules) and (not seen.signed or _bound(messages, seen.signed, rules, target)):
        return messages
    repair = Repair(rules, target, name, messages, tools)
    items = _apply(repair)
    for i, where, what, why in repair.notes:
        notes.append(Loss(path=f"$.messages[{indices[i]}]{where}", what=what, why=why, kind="repair"))
    return [message for _, message in items]


def mark_nonconforming(messages: list[Message], rules: Rules, name: str, *, surrogates: bool, answer: bool) -> None:
    """Mark the messages, just read, that the rules would repair: they are written back as they are."""
    if surrogates:
        mark_surrogates(messages, name)
    for _ in range(len(messages) + 1):
        repair = Repair(rules, Target(), name, messages)
        repair.first_user = rules.first_user and not answer
        repair.open_end = answer  # a request stays unchanged when messages follow
        _apply(repair)
        touched = {note[0] for note in repair.notes if not as_is(messages[note[0]], name)}
        if not touched:
            return
        for i in touched:
            mark_as_is(messages[i], name)
