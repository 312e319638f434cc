"""A provider's rules for a request, and the repairs that make any conversation keep them.

`lawful` works on canonical messages before they are mapped, so that formats stay pure mapping. Every repair
leaves a note with the place in the source. A message that was read from this very provider and would be
repaired carries the mark `asIs`: what a provider's document says is written back as it was, lawful or not.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import force_setattr, replace

from hansard.formats.contract import Loss, Target
from hansard.formats.pairing import AS_IS, as_is, legal_ids, paired
from hansard.formats.residue import MARKS
from hansard.model import exact_json, native
from hansard.model.binding import opaque, prefixes
from hansard.model.conversation import Message
from hansard.model.parts import (
    CompactionPart,
    FilePart,
    Part,
    RawPart,
    ReasoningPart,
    RefusalPart,
    RetryPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_HALVES = re.compile("[\ud800-\udfff]")


class Law(Struct, frozen=True, kw_only=True):
    """The rules of one provider. `parts` says which kinds of part each role may hold, `roles` what a role becomes.

    `mid_system` is where system messages may stand behind the first turn: any, after-user or never. `media` are
    the media types a file may have (`image/` for all images), None for any; a file read from the provider passes.
    """

    provider: str
    roles: dict[str, str | None]
    parts: dict[str, frozenset[type]]
    id_pattern: str | None = None
    name_pattern: str | None = r"[a-zA-Z0-9_-]{1,64}"
    ids: bool = True
    object_input: bool = False
    unsigned_reasoning: bool = False
    empty_text: bool = False
    media: frozenset[str] | None = None
    result_parts: frozenset[type] = frozenset()
    mid_system: str = "any"
    first_user: bool = False


class _Repair:
    """One pass over the messages of one conversation."""

    def __init__(self, law: Law, target: Target, name: str, messages: list[Message]) -> None:
        self.law, self.target, self.name, self.messages = law, target, name, messages
        self.allowed = law.parts
        self.wants_ids = law.ids
        self.is_id = re.compile(law.id_pattern or ".*", re.DOTALL).fullmatch
        self.is_name = re.compile(law.name_pattern or ".*", re.DOTALL).fullmatch
        self.notes: list[tuple[int, str, str, str]] = []
        self.ids: dict[str, str] | None = None
        self._prefixes: list[str] | None = None

    def note(self, i: int, where: str, what: str, why: str) -> None:
        self.notes.append((i, where, what, why))

    def prefix(self, i: int) -> str:
        if self._prefixes is None:
            self._prefixes = list(prefixes(self.messages))
        return self._prefixes[i]

    # -- one message -------------------------------------------------------------------------------------------

    def fits(self, i: int, message: Message) -> bool:
        """Is the message lawful by itself? The quick answer for almost every message."""
        law, role = self.law, message.role
        if law.roles.get(role) != role or (not message.parts and not law.empty_text):
            return False
        allowed = self.allowed[role]
        part: Any
        for part in message.parts:
            kind = type(part)
            if kind is TextPart:
                if TextPart not in allowed or (not part.text and not law.empty_text):
                    return False
                if part.signature is not UNSET and not self.holds(i, part):
                    return False
            elif not self.part_fits(i, kind, part, allowed):
                return False
        return True

    def part_fits(self, i: int, kind: type, part: Any, allowed: frozenset[type]) -> bool:
        law = self.law
        if kind is RawPart:
            return bool(part.format == self.name)
        if kind not in allowed:
            return False
        if kind is ToolCallPart or kind is ToolResultPart:
            if part.provider_executed is True and not self.own(part):
                return False
            if law.ids and (type(part.tool_call_id) is not str or not self.is_id(part.tool_call_id)):
                return False
        if kind is ToolCallPart:
            if type(part.tool_name) is not str or not self.is_name(part.tool_name):
                return False
            if law.object_input and (type(part.input) is not dict or part.input_text is not UNSET):
                return False
        elif kind is ToolResultPart:
            if part.provider_executed is not True and type(part.content) is list:
                if not all(type(inner) in law.result_parts or self.raw(inner) for inner in part.content):
                    return False
        elif kind is ReasoningPart:
            if not opaque(part):
                return law.unsigned_reasoning
        elif kind is FilePart:
            if type(part.file_id) is str and not self.owned(part):
                return False
            if law.media is not None and not self.own(part) and not self.media_fits(part):
                return False
        return not opaque(part) or self.holds(i, part)

    def media_fits(self, part: FilePart) -> bool:
        media = part.media_type if type(part.media_type) is str else ""
        return any(
            media == kind or (kind.endswith("/") and media.startswith(kind)) for kind in self.law.media or ()
        )

    def own(self, part: Part) -> bool:
        """Was the part read from this very format?"""
        return part.extra is not UNSET and self.name in part.extra

    def raw(self, part: Part) -> bool:
        return type(part) is RawPart and part.format == self.name

    def owned(self, part: Any) -> bool:
        return part.binding is not UNSET and part.binding.provider == self.law.provider

    def holds(self, i: int, part: Any) -> bool:
        """May the opaque part go to this provider, transport and model, behind these words?"""
        bound = part.binding
        if bound is UNSET or bound.provider != self.law.provider:
            return False
        if bound.transport is not UNSET and self.target.transport not in (None, bound.transport):
            return False
        if bound.model is not UNSET and self.target.model not in (None, bound.model):
            return False
        return bound.prefix is UNSET or bound.prefix == self.prefix(i)

    def reason(self, i: int, part: Any) -> str:
        bound, provider = part.binding, self.law.provider
        if bound is UNSET or bound.provider is UNSET:
            return f"nothing says that it was made by {provider}"
        if bound.provider != provider:
            return f"it was made by {bound.provider} and means nothing to {provider}"
        if bound.prefix is not UNSET and bound.prefix != self.prefix(i):
            return "the words before it are not those it was made for"
        return f"it belongs to {bound.model if bound.transport is UNSET else bound.transport}"

    def repaired(self, i: int, message: Message) -> Message | None:
        """The message as this provider takes it, or None when nothing of it can be said."""
        role = self.law.roles.get(message.role)
        if role is None:
            self.note(i, "", f"the {message.role} message", f"{self.name} has no {message.role} messages")
            return None
        if role != message.role:
            self.note(i, ".role", f"{message.role} becomes {role}", f"{self.name} has no role {message.role}")
        allowed = self.allowed[role]
        drop_reasoning = self.reasoning_goes(i, message, allowed)
        parts: list[Any] = []
        for j, part in enumerate(message.parts):
            where = f".parts[{j}]"
            if type(part) is ReasoningPart and drop_reasoning:
                self.note(i, where, "the reasoning", drop_reasoning)
                continue
            made = self.repaired_part(i, where, part, allowed)
            if made is not None:
                parts.append(made)
        if not parts and not self.law.empty_text:
            self.note(i, "", f"the {message.role} message", f"nothing is left of it that {self.name} takes")
            return None
        return replace(message, role=role, parts=parts)

    def reasoning_goes(self, i: int, message: Message, allowed: frozenset[type]) -> str:
        """Why the reasoning of a message must go, all of it: a thinking run is kept or dropped as one."""
        thoughts = [part for part in message.parts if type(part) is ReasoningPart]
        if not thoughts:
            return ""
        if ReasoningPart not in allowed:
            return f"{self.name} has no reasoning in {message.role} messages"
        if self.law.unsigned_reasoning:
            return ""
        for part in thoughts:
            if not opaque(part):
                return f"{self.name} takes reasoning only with its signature"
            if not self.holds(i, part):
                return self.reason(i, part)
        return ""

    def repaired_part(self, i: int, where: str, part: Any, allowed: frozenset[type]) -> Part | None:
        kind = type(part)
        if self.part_lawful(i, kind, part, allowed):
            return part  # type: ignore[no-any-return]
        if kind is RawPart:
            self.note(i, where, f"a part of {part.format}", f"{self.name} does not know it")
            return None
        if kind in (RefusalPart, CompactionPart, RetryPart) and kind not in allowed:
            part = self.as_text(i, where, part)
            kind = type(part)
        if kind is TextPart and not part.text and not self.law.empty_text:
            self.note(i, where, "an empty text", f"{self.name} refuses empty texts")
            return None
        if kind not in allowed or (kind in (ToolCallPart, ToolResultPart) and self.foreign_tool(part)):
            if kind is ToolResultPart and part.provider_executed is not True:
                return part  # type: ignore[no-any-return]  # pairing will move it
            self.note(
                i, where, f"a {part.__struct_config__.tag} part", f"{self.name} has no place for it here"
            )
            return None
        if opaque(part) and not self.holds(i, part):
            self.note(i, f"{where}.signature", "the signature", self.reason(i, part))
            changes: dict[str, Any] = {"signature": UNSET, "binding": UNSET}
            if kind in (ReasoningPart, CompactionPart):
                changes["encrypted"] = UNSET
            part = replace(part, **changes)
        if kind is FilePart:
            return self.repaired_file(i, where, part)
        if kind is ToolCallPart:
            return self.repaired_call(i, where, part)
        if kind is ToolResultPart:
            return self.repaired_result(i, where, part)
        return part  # type: ignore[no-any-return]

    def part_lawful(self, i: int, kind: type, part: Any, allowed: frozenset[type]) -> bool:
        if kind is TextPart:
            signed = part.signature is not UNSET
            return (
                kind in allowed
                and bool(part.text or self.law.empty_text)
                and (not signed or self.holds(i, part))
            )
        return self.part_fits(i, kind, part, allowed)

    def foreign_tool(self, part: Any) -> bool:
        return part.provider_executed is True and not self.own(part)

    def as_text(self, i: int, where: str, part: Any) -> Part:
        text = part.text if type(part) is not RetryPart else part.content
        tag = part.__struct_config__.tag
        self.note(i, where, f"a {tag} part becomes text", f"{self.name} has no {tag} parts")
        return TextPart(text=text if type(text) is str else "")

    def repaired_file(self, i: int, where: str, part: FilePart) -> Part | None:
        if type(part.file_id) is str and not self.owned(part):
            if part.url is UNSET and part.data is UNSET:
                self.note(
                    i, where, f"the file {part.file_id!r}", "a file id belongs to the provider that gave it"
                )
                return None
            self.note(
                i, f"{where}.fileId", f"{part.file_id!r}", "a file id belongs to the provider that gave it"
            )
            part = replace(part, file_id=UNSET)
        if self.law.media is not None and not self.own(part) and not self.media_fits(part):
            self.note(i, where, f"a file of type {part.media_type!s}", f"{self.name} takes no such files")
            return None
        return part

    def repaired_call(self, i: int, where: str, part: ToolCallPart) -> Part:
        if type(part.tool_name) is not str or not self.is_name(part.tool_name):
            legal = re.sub(r"[^a-zA-Z0-9_-]", "_", str(part.tool_name or ""))[:64] or "tool"
            self.note(
                i,
                f"{where}.toolName",
                f"{part.tool_name!r} becomes {legal!r}",
                f"{self.name} allows no such name",
            )
            part = replace(part, tool_name=legal)
        if self.law.object_input and (type(part.input) is not dict or part.input_text is not UNSET):
            if type(part.input) is dict:
                return replace(part, input_text=UNSET)
            given = part.input_text if part.input is UNSET else part.input
            why = f"{self.name} takes only an object as input"
            self.note(i, f"{where}.input", "the input is put under the key 'input'", why)
            part = replace(part, input={} if given is UNSET else {"input": given}, input_text=UNSET)
        return part

    def repaired_result(self, i: int, where: str, part: ToolResultPart) -> Part:
        if type(part.content) is not list:
            return part
        kept = []
        for k, inner in enumerate(part.content):
            if type(inner) in self.law.result_parts or self.raw(inner):
                kept.append(inner)
            else:
                what = f"a {inner.__struct_config__.tag} part of a tool result"
                self.note(i, f"{where}.content[{k}]", what, f"{self.name} has no place for it here")
        return replace(part, content=kept)


def _apply(repair: _Repair) -> list[tuple[int, Message]]:
    items: list[tuple[int, Message]] = []
    for i, message in enumerate(repair.messages):
        if repair.fits(i, message) or as_is(message, repair.name):
            items.append((i, message))
        elif (made := repair.repaired(i, message)) is not None:
            items.append((i, made))
    items = _systems_placed(repair, legal_ids(repair, paired(repair, items)))
    first = next((message for _, message in items if message.role not in ("system", "developer")), None)
    if (
        len(items) > 1
        and repair.law.first_user
        and first is not None
        and first.role != "user"
        and not as_is(first, repair.name)
    ):
        at = items.index(next(item for item in items if item[1] is first))
        repair.note(
            items[at][0], "", "a user message was added before it", f"{repair.name} begins with the user"
        )
        items.insert(
            at, (items[at][0], Message(role="user", parts=[TextPart(text="(the conversation begins)")]))
        )
    return items


def _systems_placed(repair: _Repair, items: list[tuple[int, Message]]) -> list[tuple[int, Message]]:
    """System messages behind the first turn, where the provider does not take them, become the user's words."""
    if repair.law.mid_system == "any" or all(message.role != "system" for _, message in items):
        return items
    out: list[tuple[int, Message]] = []
    begun = False
    for k, (i, message) in enumerate(items):
        if message.role == "system" and begun and not as_is(message, repair.name):
            before = out[-1][1].role
            after = items[k + 1][1].role if k + 1 < len(items) else "assistant"
            if repair.law.mid_system == "never" or before not in ("user", "tool") or after != "assistant":
                why = f"{repair.name} takes no system message in this place"
                repair.note(i, ".role", "system becomes user", why)
                message = replace(message, role="user")
        begun = begun or message.role != "system"
        out.append((i, message))
    return out


def lawful(
    messages: list[Message], law: Law, target: Target, name: str, notes: list[Loss], indices: list[int]
) -> list[Message]:
    """The messages as the provider takes them; a note for each repair, by the index in the source."""
    repair = _Repair(law, target, name, messages)
    items = _apply(repair)
    for i, where, what, why in repair.notes:
        notes.append(Loss(path=f"$.messages[{indices[i]}]{where}", what=what, why=why, kind="repair"))
    return [message for _, message in items]


def without_halves(
    messages: list[Message], name: str, notes: list[Loss], indices: list[int]
) -> list[Message]:
    """The messages with every half surrogate pair, which no provider's parser takes, replaced by U+FFFD."""
    out = []
    for i, message in zip(indices, messages, strict=False):
        plain = native.plain(message)
        clean = _clean(plain)
        if not exact_json.same(plain, clean) and not as_is(message, name):
            why = f"{name} refuses JSON with half a surrogate pair"
            notes.append(
                Loss(path=f"$.messages[{i}]", what="half a character becomes U+FFFD", why=why, kind="repair")
            )
            message = native.build(Message, clean, "$")
        out.append(message)
    return out


def _clean(value: Any) -> Any:
    if type(value) is str:
        return _HALVES.sub("\ufffd", value)
    if type(value) is list:
        return [_clean(item) for item in value]
    if type(value) is dict:
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def mark_unlawful(messages: list[Message], law: Law, name: str) -> None:
    """Mark the messages, just read, that the law would repair: they are written back as they are."""
    for _ in range(len(messages) + 1):
        repair = _Repair(law, Target(), name, messages)
        _apply(repair)
        touched = {note[0] for note in repair.notes if not as_is(messages[note[0]], name)}
        if not touched:
            return
        for i in touched:
            given: Any = messages[i].extra
            extra: dict[str, Any] = {} if given is UNSET else dict(given)
            kept = dict(extra.get(name, {}))
            kept[MARKS] = {**kept.get(MARKS, {}), AS_IS: True}
            force_setattr(messages[i], "extra", {**extra, name: kept})
