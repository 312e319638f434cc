"""One message as a provider takes it: what may stay, what must change, what has to go, each with a note."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.contract import Target
from hansard.formats.data_url import by_value, mended_base64
from hansard.formats.rules.names import called, legal_names
from hansard.formats.rules.tool_pairing import CUT_CALL
from hansard.model import parts as p
from hansard.model.conversation import Message
from hansard.model.hashing import digests, opaque

if TYPE_CHECKING:
    from hansard.formats.rules.conform import Rules


def media_fits(rules: Rules, part: p.FilePart) -> bool:
    """Does the provider take files of this type, given so?"""
    if type(part.file_id) is str or rules.media is None:
        return True  # the provider's own: it has the file already
    part = by_value(part)
    linked = part.data is UNSET
    kinds = rules.media if rules.linked is None or not linked else rules.linked
    media = part.media_type if type(part.media_type) is str else ""
    if media in kinds:
        return True
    if media.endswith("/*") and not linked:
        return False
    return any(kind.endswith("/") and media.startswith(kind) for kind in kinds)


def takes_file_id(rules: Rules, part: p.FilePart) -> bool:
    """Whether the file is known to the provider: it gave the id, or nothing says who did and there is nothing else."""
    if part.binding is UNSET:
        return part.url is UNSET and part.data is UNSET
    return part.binding.provider == rules.provider


class Repair:
    """One pass over the messages of one conversation."""

    def __init__(
        self, rules: Rules, target: Target, name: str, messages: list[Message], tools: Sequence[str] = ()
    ) -> None:
        self.rules, self.target, self.name, self.messages, self.tools = rules, target, name, messages, tools
        self.allowed = rules.parts
        self.wants_ids = rules.ids
        self.first_user = rules.first_user and len(messages) > 1  # an answer by itself needs no question
        self.open_end = True  # the answer may still be under way
        self.is_id, self.is_name = rules.matchers()
        self.notes: list[tuple[int, str, str, str]] = []
        self._prefixes: dict[int, str] | None = None
        self._names: dict[str, str] | None = None

    def note(self, i: int, where: str, what: str, why: str) -> None:
        self.notes.append((i, where, what, why))

    def prefix(self, i: int) -> str:
        if self._prefixes is None:
            signed = {k for k, message in enumerate(self.messages) if any(map(opaque, message.parts))}
            self._prefixes = digests(self.messages, signed)
        return self._prefixes[i]

    # -- one message -------------------------------------------------------------------------------------------

    def fits(self, i: int, message: Message) -> bool:
        """Whether the message conforms by itself. The quick answer for almost every message."""
        rules, role = self.rules, message.role
        if rules.roles.get(role) != role or (not message.parts and not rules.empty_text):
            return False
        allowed = self.allowed[role]
        part: Any
        for part in message.parts:
            kind = type(part)
            if kind is p.TextPart:
                if p.TextPart not in allowed:
                    return False
                if part.signature is not UNSET:
                    if not self.holds(i, part):
                        return False
                elif not part.text and not rules.empty_text:
                    return False
            elif not self.part_fits(i, kind, part, allowed):
                return False
        return not self.ends_in_thought(i, message.parts)

    def part_fits(self, i: int, kind: type, part: Any, allowed: frozenset[type]) -> bool:
        rules = self.rules
        if kind is p.RawPart:
            return bool(part.format == self.name)
        if kind not in allowed and not self.own_kind(kind, part):
            return False
        if kind is p.ToolCallPart or kind is p.ToolResultPart:
            if part.provider_executed is True and not self.own(part):
                return False
            if rules.ids and (type(part.tool_call_id) is not str or not self.is_id(part.tool_call_id)):
                return False
        if kind is p.ToolCallPart:
            if part.state == p.PARTIAL:
                return False
            if type(part.tool_name) is not str or not self.is_name(part.tool_name):
                return False
            if rules.object_input and (type(part.input) is not dict or part.input_text is not UNSET):
                return False
        elif kind is p.ToolResultPart:
            if part.provider_executed is not True and type(part.content) is list:
                if not all(map(self.inner_fits, part.content)):
                    return False
        elif kind is p.ReasoningPart:
            if not opaque(part):
                return self.may_be_unsigned(part)
        elif kind is p.FilePart and not self.file_fits(part):
            return False
        return not opaque(part) or self.holds(i, part)

    def own_kind(self, kind: type, part: Any) -> bool:
        return kind in self.rules.own_parts and (self.own(part) or (opaque(part) and self.owned(part)))

    def ends_in_thought(self, i: int, parts: list[Any]) -> bool:
        """Does a thought, which this provider wants followed by what was thought of, stand last?"""
        last = self.open_end and i == len(self.messages) - 1
        return self.rules.leading_reasoning and not last and bool(parts) and type(parts[-1]) is p.ReasoningPart

    def inner_fits(self, part: Any) -> bool:
        """May the part stand inside a tool result?"""
        kind = type(part)
        return self.raw(part) or (kind in self.rules.result_parts and (kind is not p.FilePart or self.file_fits(part)))

    def file_fits(self, part: p.FilePart) -> bool:
        if type(part.file_id) is str:
            if not takes_file_id(self.rules, part):
                return False
        elif part.url is UNSET and part.data is UNSET:
            return False
        return self.own(part) or (media_fits(self.rules, part) and self.data_fits(part))

    def data_fits(self, part: p.FilePart) -> bool:
        data = by_value(part).data if self.rules.base64 else UNSET
        return type(data) is not str or mended_base64(data) == data

    def own(self, part: p.Part) -> bool:
        """Was the part read from this very format?"""
        return part.extra is not UNSET and self.name in part.extra

    def in_place(self, part: p.Part) -> bool:
        """Whether the provider gave the part for this place in this message only."""
        return type(part) is p.RawPart or type(part) in self.rules.own_parts

    def raw(self, part: p.Part) -> bool:
        return type(part) is p.RawPart and part.format == self.name

    def owned(self, part: Any) -> bool:
        return part.binding is not UNSET and part.binding.provider == self.rules.provider

    def holds(self, i: int, part: Any) -> bool:
        """Whether the opaque part may go to this provider, transport and model, after these messages."""
        bound = part.binding
        if bound is UNSET or bound.provider != self.rules.provider:
            return False
        if bound.transport is not UNSET and self.target.transport not in (None, bound.transport):
            return False
        if bound.model is not UNSET and self.target.model not in (None, bound.model):
            return False
        return bound.prefix is UNSET or bound.prefix == self.prefix(i)

    def reason(self, i: int, part: Any) -> str:
        bound, provider = part.binding, self.rules.provider
        if bound is UNSET or bound.provider is UNSET:
            return f"nothing says that it was made by {provider}"
        if bound.provider != provider:
            return f"it was made by {bound.provider} and means nothing to {provider}"
        if bound.prefix is not UNSET and bound.prefix != self.prefix(i):
            return "the messages before it are not those it was made for"
        return f"it belongs to {bound.model if bound.transport is UNSET else bound.transport}"

    def repaired(self, i: int, message: Message) -> Message | None:
        """The message as this provider accepts it; None if nothing is left of it."""
        role = self.rules.roles.get(message.role)
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
            if type(part) is p.ReasoningPart and drop_reasoning:
                self.note(i, where, "the reasoning", drop_reasoning)
                continue
            made = self.repaired_part(i, where, part, allowed)
            if made is not None and drop_reasoning and self.rules.unbound is not None:
                made = self.rules.unbound(made)
                if made is None:
                    why = f"{self.name} takes it only with its reasoning"
                    self.note(i, where, f"a {part.__struct_config__.tag} part", why)
            if made is not None:
                parts.append(made)
        while self.ends_in_thought(i, parts):
            j = max((j for j, part in enumerate(message.parts) if part is parts[-1]), default=0)
            self.note(i, f".parts[{j}]", "the reasoning", f"{self.name} wants it followed by what was thought of")
            parts.pop()
        if not parts and (message.parts or not self.rules.empty_text):
            self.note(i, "", f"the {message.role} message", f"nothing is left of it that {self.name} takes")
            return None
        return replace(message, role=role, parts=parts)

    def reasoning_goes(self, i: int, message: Message, allowed: frozenset[type]) -> str:
        """Why the reasoning of a message must go, all of it: a thinking run is kept or dropped as one."""
        thoughts = [part for part in message.parts if type(part) is p.ReasoningPart]
        if not thoughts:
            return ""
        if p.ReasoningPart not in allowed:
            return f"{self.name} has no reasoning in {message.role} messages"
        for part in thoughts:
            if not opaque(part):
                if not self.may_be_unsigned(part):
                    return f"{self.name} takes reasoning only with its signature"
            elif not self.holds(i, part):
                return self.reason(i, part)
        return ""

    def may_be_unsigned(self, part: p.ReasoningPart) -> bool:
        return (self.rules.unsigned_reasoning and part.text != "") or (self.rules.own_reasoning and self.own(part))

    def repaired_part(self, i: int, where: str, part: Any, allowed: frozenset[type]) -> p.Part | None:
        kind = type(part)
        if self.part_conforms(i, kind, part, allowed):
            return part  # type: ignore[no-any-return]
        if p.is_partial(part):
            self.note(i, where, CUT_CALL, f"{self.name} takes only whole calls")
            return None
        if kind is p.RawPart:
            self.note(i, where, f"a part of {part.format}", f"{self.name} does not know it")
            return None
        if kind in (p.RefusalPart, p.CompactionPart, p.RetryPart) and kind not in allowed:
            part = self.as_text(i, where, part)
            if part is None:
                return None
            kind = type(part)
        if kind is p.TextPart and not part.text and not self.rules.empty_text:
            self.note(i, where, "an empty text", f"{self.name} refuses empty texts")
            return None
        if kind not in allowed or (kind in (p.ToolCallPart, p.ToolResultPart) and self.foreign_tool(part)):
            if kind is p.ToolResultPart and part.provider_executed is not True:
                return part  # type: ignore[no-any-return]  # pairing will move it
            self.note(i, where, f"a {part.__struct_config__.tag} part", f"{self.name} has no place for it here")
            return None
        if opaque(part) and not self.holds(i, part):
            self.note(i, f"{where}.signature", "the signature", self.reason(i, part))
            changes: dict[str, Any] = {"signature": UNSET, "binding": UNSET}
            if kind in (p.ReasoningPart, p.CompactionPart):
                changes["encrypted"] = UNSET
            part = replace(part, **changes)
        if kind is p.FilePart:
            return self.repaired_file(i, where, part)
        if kind is p.ToolCallPart:
            return self.repaired_call(i, where, part)
        if kind is p.ToolResultPart:
            return self.repaired_result(i, where, part)
        return part  # type: ignore[no-any-return]

    def part_conforms(self, i: int, kind: type, part: Any, allowed: frozenset[type]) -> bool:
        if kind is p.TextPart:
            if part.signature is not UNSET:
                return kind in allowed and self.holds(i, part)
            return kind in allowed and bool(part.text or self.rules.empty_text)
        return self.part_fits(i, kind, part, allowed)

    def foreign_tool(self, part: Any) -> bool:
        return part.provider_executed is True and not self.own(part)

    def as_text(self, i: int, where: str, part: Any) -> p.Part | None:
        text = part.text if type(part) is not p.RetryPart else part.content
        tag = part.__struct_config__.tag
        if type(text) is not str:
            self.note(i, where, f"a {tag} part", f"{self.name} has no {tag} parts")
            return None
        self.note(i, where, f"a {tag} part becomes text", f"{self.name} has no {tag} parts")
        return p.TextPart(text=text)

    def repaired_file(self, i: int, where: str, part: p.FilePart) -> p.Part | None:
        if part.file_id is UNSET and part.url is UNSET and part.data is UNSET:
            self.note(i, where, "a file", "it has neither data nor an address")
            return None
        if type(part.file_id) is str and not takes_file_id(self.rules, part):
            if part.url is UNSET and part.data is UNSET:
                self.note(i, where, f"the file {part.file_id!r}", "a file id belongs to the provider that gave it")
                return None
            self.note(i, f"{where}.fileId", f"{part.file_id!r}", "a file id belongs to the provider that gave it")
            part = replace(part, file_id=UNSET)
        if not self.own(part) and not media_fits(self.rules, part):
            self.note(i, where, f"a file of type {part.media_type!s}", f"{self.name} takes no such files")
            return None
        if not self.own(part) and not self.data_fits(part):
            return self.repaired_data(i, where, by_value(part))
        return part

    def repaired_data(self, i: int, where: str, part: p.FilePart) -> p.Part | None:
        data = mended_base64(part.data) if type(part.data) is str else None
        if data is None:
            self.note(i, where, "a file whose data is not base64", f"{self.name} accepts data only as base64")
            return None
        self.note(i, f"{where}.data", "base64 is written in whole groups", f"{self.name} takes no other")
        return replace(part, data=data)

    def repaired_call(self, i: int, where: str, part: p.ToolCallPart) -> p.Part:
        if type(part.tool_name) is not str or not self.is_name(part.tool_name):
            legal = self.legal_name(str(part.tool_name or ""))
            self.note(
                i,
                f"{where}.toolName",
                f"{part.tool_name!r} becomes {legal!r}",
                f"{self.name} allows no such name",
            )
            part = replace(part, tool_name=legal)
        if self.rules.object_input and (type(part.input) is not dict or part.input_text is not UNSET):
            if type(part.input) is dict:
                return replace(part, input_text=UNSET)
            given = part.input_text if part.input is UNSET else part.input
            why = f"{self.name} takes only an object as input"
            what = "no input becomes {}" if given is UNSET else "the input is put under the key 'input'"
            self.note(i, f"{where}.input", what, why)
            part = replace(part, input={} if given is UNSET else {"input": given}, input_text=UNSET)
        return part

    def legal_name(self, given: str) -> str:
        """The legal name that stands for this one everywhere, and for no other tool of the conversation."""
        if self._names is None:
            self._names = legal_names([*called(self.messages), *self.tools], self.is_name)
        return self._names[given]

    def repaired_result(self, i: int, where: str, part: p.ToolResultPart) -> p.Part:
        if type(part.content) is not list:
            return part
        kept = []
        for k, inner in enumerate(part.content):
            if self.inner_fits(inner):
                kept.append(inner)
            elif type(inner) is p.FilePart and p.FilePart in self.rules.result_parts:
                file: Any = self.repaired_file(i, f"{where}.content[{k}]", inner)
                kept += [file] if file is not None else []
            else:
                what = f"a {inner.__struct_config__.tag} part of a tool result"
                self.note(i, f"{where}.content[{k}]", what, f"{self.name} has no place for it here")
        return replace(part, content=kept)
