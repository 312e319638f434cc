"""The rules of providers as named checks, beside those every conversation should keep (`hansard.model.validate`).

A check looks at canonical messages through the provider's `Rules`: what it finds is what writing for that provider
would repair, or what only the provider itself can judge (then a warning). A message read from the provider in a state
its rules would change is written back as it was, so it is found here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import AmbiguousFormat, UnknownFormat
from hansard.formats.contract import Format
from hansard.formats.detection import TEXTS, as_bytes
from hansard.formats.requests import own_model
from hansard.formats.residue import unpack
from hansard.formats.rules.conform import Rules
from hansard.formats.rules.repair import media_fits, takes_file_id
from hansard.model import exact_json, native
from hansard.model.calls import Links, Place
from hansard.model.conversation import Conversation, Message
from hansard.model.hashing import digests, opaque
from hansard.model.parts import FilePart, RawPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from hansard.model.request import Settings
from hansard.model.tree import active_path
from hansard.model.validate import CHECKS, Finding, check_parts
from hansard.model.validate import validate as validate_always

_HOURS = {"5m": 0, "1h": 1}


class Case:
    """A conversation before one provider: its messages on the active path, and where they stand in the whole."""

    def __init__(self, conversation: Conversation, rules: Rules, name: str) -> None:
        self.conversation, self.rules, self.name = conversation, rules, name
        self.indices = active_path(conversation)
        self.messages: list[Message] = [conversation.messages[i] for i in self.indices]
        self.is_id, self.is_name = rules.matchers()

    @cached_property
    def links(self) -> Links:
        return Links(self.messages)

    @cached_property
    def client_calls(self) -> dict[Place, ToolCallPart]:
        """The calls that the provider waits to be answered."""
        return {place: call for place, call in self.links.calls.items() if call.provider_executed is not True}

    @cached_property
    def prefixes(self) -> dict[int, str]:
        signed = {i for i, message in enumerate(self.messages) if any(map(opaque, message.parts))}
        return digests(self.messages, signed)

    def parts(self, *kinds: type) -> Iterator[tuple[int, int, Any]]:
        for i, message in enumerate(self.messages):
            for j, part in enumerate(message.parts):
                if not kinds or type(part) in kinds:
                    yield i, j, part

    def own(self, part: Any) -> bool:
        return part.extra is not UNSET and self.name in part.extra

    def owned(self, part: Any) -> bool:
        return part.binding is not UNSET and part.binding.provider == self.rules.provider

    def said(self, i: int, where: str, problem: str, fix: str, severity: str = "error") -> Finding:
        path = f"$.messages[{self.indices[i]}]{where}"
        return Finding(check="", path=path, severity=severity, problem=problem, fix=fix)


ProviderCheck: TypeAlias = Callable[[Case], Iterator[Finding]]


# -- tool calls and results ----------------------------------------------------------------------------------------


def check_unanswered(case: Case) -> Iterator[Finding]:
    answered = set(case.links.answers.values())
    last = len(case.messages) - 1
    for i, j in case.client_calls:
        if (i, j) not in answered:
            severity = "warning" if i == last else "error"
            fix = "add a result, or one that says the call was interrupted, in the next message"
            yield case.said(i, f".parts[{j}]", "a tool call without a result", fix, severity)


def check_orphans(case: Case) -> Iterator[Finding]:
    for (i, j), result in case.links.results.items():
        if (i, j) not in case.links.answers and result.provider_executed is not True:
            yield case.said(i, f".parts[{j}]", "a tool result whose call is not there", "leave the result out")


def check_results_place(case: Case) -> Iterator[Finding]:
    for (i, j), (k, _) in case.links.answers.items():
        if case.links.results[i, j].provider_executed is True:
            continue
        if i != k + 1 or case.messages[i].role != "tool":
            fix = "put all results of a turn into one tool message directly after it"
            yield case.said(i, f".parts[{j}]", "a tool result that is not in the message after its call", fix)


def check_server_results(case: Case) -> Iterator[Finding]:
    answered = set(case.links.answers.values())
    for place, call in case.links.calls.items():
        if call.provider_executed is True and place not in answered and place[0] != len(case.messages) - 1:
            fix = "keep the result the provider gave, or leave the call out"
            yield case.said(place[0], f".parts[{place[1]}]", "a server tool call without its result", fix)


def check_call_ids(case: Case) -> Iterator[Finding]:
    if not case.rules.ids:
        return
    for i, j, part in case.parts(ToolCallPart, ToolResultPart):
        if type(part.tool_call_id) is not str:
            yield case.said(i, f".parts[{j}].toolCallId", "no id of the call", "give call and result the same id")
        elif not case.is_id(part.tool_call_id):
            problem = f"{part.tool_call_id!r} does not match {case.rules.id_pattern}"
            yield case.said(i, f".parts[{j}].toolCallId", problem, "give call and result another id")


def check_duplicate_ids(case: Case) -> Iterator[Finding]:
    seen: set[str] = set()
    for (i, j), call in case.links.calls.items():
        if type(call.tool_call_id) is str:
            if call.tool_call_id in seen and case.rules.ids:
                problem = f"the id {call.tool_call_id!r} was used before"
                yield case.said(i, f".parts[{j}].toolCallId", problem, "give each call an id of its own")
            seen.add(call.tool_call_id)


def check_names(case: Case) -> Iterator[Finding]:
    for i, j, part in case.parts(ToolCallPart):
        if type(part.tool_name) is not str or not case.is_name(part.tool_name):
            shown = repr(part.tool_name) if type(part.tool_name) is str else "no name"
            problem = f"{shown} does not match {case.rules.name_pattern}"
            yield case.said(i, f".parts[{j}].toolName", problem, "name the tool with letters, digits, _ and -")


def check_input(case: Case) -> Iterator[Finding]:
    if not case.rules.object_input:
        return
    for i, j, part in case.parts(ToolCallPart):
        if type(part.input) is not dict:
            yield case.said(
                i, f".parts[{j}].input", "the input of a call is not an object", "give it an object, {} at least"
            )


# -- content and roles -----------------------------------------------------------------------------------------------


def check_roles(case: Case) -> Iterator[Finding]:
    for i, message in enumerate(case.messages):
        becomes = case.rules.roles.get(message.role)
        if becomes != message.role:
            fix = "leave it out" if becomes is None else f"make it a {becomes} message"
            yield case.said(i, ".role", f"there are no {message.role} messages", fix)


def check_part_kinds(case: Case) -> Iterator[Finding]:
    rules = case.rules
    for i, message in enumerate(case.messages):
        allowed = rules.parts.get(rules.roles.get(message.role) or "", frozenset())
        for j, part in enumerate(message.parts):
            tag = part.__struct_config__.tag
            where = f".parts[{j}]"
            foreign = isinstance(part, ToolCallPart | ToolResultPart) and part.provider_executed is True
            if type(part) is RawPart:
                if part.format != case.name:
                    yield case.said(i, where, f"a part of {part.format}", "leave it out")
            elif foreign and not case.own(part):
                yield case.said(i, where, f"a {tag} of another provider's server tool", "leave it out")
            elif type(part) not in allowed and not _own_kind(case, part):
                yield case.said(i, where, f"no {tag} parts in {message.role} messages", "leave it out or make it text")
            elif type(part) is ToolResultPart and type(part.content) is list and not foreign:
                for k, inner in enumerate(part.content):
                    own = type(inner) is RawPart and inner.format == case.name
                    if not own and type(inner) not in rules.result_parts:
                        tag = inner.__struct_config__.tag
                        yield case.said(i, f"{where}.content[{k}]", f"no {tag} parts in tool results", "make it text")


def _own_kind(case: Case, part: Any) -> bool:
    return type(part) in case.rules.own_parts and (case.own(part) or (opaque(part) and case.owned(part)))


def check_empty(case: Case) -> Iterator[Finding]:
    if case.rules.empty_text:
        return
    for i, message in enumerate(case.messages):
        if not message.parts:
            yield case.said(i, ".parts", "a message without parts", "leave it out")
    for i, j, part in case.parts(TextPart):
        if not part.text and part.signature is UNSET:
            yield case.said(i, f".parts[{j}].text", "an empty text", "leave it out")


def check_system_place(case: Case) -> Iterator[Finding]:
    if case.rules.mid_system == "any":
        return
    begun = False
    for i, message in enumerate(case.messages):
        if case.rules.roles.get(message.role) == "system" and begun:
            after = case.messages[i + 1].role if i + 1 < len(case.messages) else "assistant"
            asked = case.messages[i - 1].role in ("user", "tool") and after == "assistant"
            misplaced = case.rules.mid_system == "never" or not asked
            severity = "error" if misplaced else "warning"
            yield case.said(i, "", "a system message after the first turn", "put it in front of all turns", severity)
        begun = begun or case.rules.roles.get(message.role) not in ("system", None)


def check_one_turn(case: Case) -> Iterator[Finding]:
    """Several messages of one role after another: writing joins them."""
    rules, before = case.rules, ""
    for i, message in enumerate(case.messages):
        role = rules.roles.get(message.role)
        joined = role == "system" and rules.joins_system and (before == "system" or len(message.parts) > 1)
        joined = joined or (role == before and role in rules.merges)
        if joined or (rules.shares_results and (before, role) == ("tool", "user")):
            yield case.said(i, "", f"another {message.role} message in one turn", "join them", "warning")
        before = role or before


def check_first_user(case: Case) -> Iterator[Finding]:
    if not case.rules.first_user or len(case.messages) < 2:
        return
    for i, message in enumerate(case.messages):
        role = case.rules.roles.get(message.role)
        if role not in ("system", None):
            if role != "user":
                yield case.said(i, ".role", f"the talk begins with {message.role}", "begin with a user message")
            return


def check_surrogates(case: Case) -> Iterator[Finding]:
    for i, message in enumerate(case.messages):
        if native.holds_surrogates(message):
            for j, part in enumerate(message.parts):
                if native.holds_surrogates(part):
                    fix = "replace the half character by U+FFFD"
                    yield case.said(i, f".parts[{j}]", "a lone surrogate, which JSON parsers of providers reject", fix)


# -- reasoning and files -------------------------------------------------------------------------------------------


def check_signatures(case: Case) -> Iterator[Finding]:
    rules = case.rules
    for i, j, part in case.parts(ReasoningPart):
        if opaque(part) or (rules.unsigned_reasoning and part.text) or (rules.own_reasoning and case.own(part)):
            continue
        if ReasoningPart in rules.parts.get(case.messages[i].role, frozenset()):
            yield case.said(i, f".parts[{j}]", "reasoning without its signature", "leave the reasoning out")


def check_bindings(case: Case) -> Iterator[Finding]:
    for i, j, part in case.parts():
        if not opaque(part):
            continue
        bound = part.binding
        where, fix = f".parts[{j}].binding", "omit the signature (and reasoning without another one)"
        if bound is UNSET or bound.provider is UNSET:
            yield case.said(i, where, f"nothing says that {case.rules.provider} made this signature", fix)
        elif bound.provider != case.rules.provider:
            yield case.said(i, where, f"the signature was made by {bound.provider}", fix)
        elif bound.prefix is not UNSET and bound.prefix != case.prefixes[i]:
            yield case.said(i, where, "the messages before it are not those it was made for", fix)


def check_reasoning_first(case: Case) -> Iterator[Finding]:
    """In a tool loop the turn begins with its thinking; the provider asks for it while thinking is on."""
    for i, message in enumerate(case.messages):
        kinds = [type(part) for part in message.parts]
        if message.role == "assistant" and ToolCallPart in kinds and ReasoningPart in kinds:
            if kinds[0] is not ReasoningPart:
                problem = "a turn with tool calls has reasoning, but does not begin with it"
                yield case.said(i, ".parts", problem, "keep the parts in the order they came", "warning")


def check_reasoning_followed(case: Case) -> Iterator[Finding]:
    for i, message in enumerate(case.messages[:-1]):
        if case.rules.leading_reasoning and message.parts and type(message.parts[-1]) is ReasoningPart:
            where = f".parts[{len(message.parts) - 1}]"
            yield case.said(i, where, "reasoning without content after it", "omit the reasoning")


def check_call_signatures(case: Case) -> Iterator[Finding]:
    """Gemini 3 refuses a step whose first call has lost its signature; a dummy takes its place when written."""
    for i, message in enumerate(case.messages):
        calls = [j for j, part in enumerate(message.parts) if (i, j) in case.client_calls]
        if message.role == "assistant" and calls and not opaque(message.parts[calls[0]]):
            problem = "the first call of a step has no thought signature"
            fix = "nothing: the documented dummy is written in its place"
            yield case.said(i, f".parts[{calls[0]}].signature", problem, fix, "warning")


def check_files(case: Case) -> Iterator[Finding]:
    for i, j, part in case.parts(FilePart, ToolResultPart):
        if type(part) is FilePart:
            yield from _file(case, i, f".parts[{j}]", part)
        elif type(part.content) is list:
            for k, inner in enumerate(part.content):
                if type(inner) is FilePart:
                    yield from _file(case, i, f".parts[{j}].content[{k}]", inner)


def _file(case: Case, i: int, where: str, part: FilePart) -> Iterator[Finding]:
    if type(part.file_id) is str:
        if not takes_file_id(case.rules, part):
            problem = f"nothing says that the file {part.file_id!r} is known to {case.rules.provider}"
            yield case.said(i, f"{where}.fileId", problem, "give its data or its address")
        return
    if part.url is UNSET and part.data is UNSET:
        yield case.said(i, where, "a file of which neither data nor address is known", "leave it out")
    if not case.own(part) and not media_fits(case.rules, part):
        media = part.media_type if type(part.media_type) is str else "unknown"
        yield case.said(i, f"{where}.mimeType", f"no files of type {media}", "give it as text, or leave it out")


def check_cache_control(case: Case) -> Iterator[Finding]:
    """At most four breakpoints, never on thinking, and those that live longer before those that live shorter."""
    points: list[tuple[int, str, Any]] = []
    for i, j, part in case.parts():
        point = unpack(case.name, part.extra)[0].get("cache_control")
        if point is not None:
            points.append((i, f".parts[{j}].extra.{case.name}.cache_control", point))
            if type(part) is ReasoningPart:
                yield case.said(i, points[-1][1], "a cache breakpoint on reasoning", "put it on another part")
    for i, where, _ in points[4:]:
        yield case.said(i, where, f"{len(points)} cache breakpoints; there may be four", "leave out the others")
    ages = [_HOURS.get(point.get("ttl", "5m"), 0) if type(point) is dict else 0 for _, _, point in points]
    for k in range(1, len(points)):
        if ages[k] > ages[k - 1]:
            i, where, _ = points[k]
            yield case.said(i, where, "a longer cache breakpoint after a shorter one", "put the longer one first")


# -- the request ---------------------------------------------------------------------------------------------------


def check_required(case: Case) -> Iterator[Finding]:
    dialect, conversation = formats.get(case.name).dialect, case.conversation
    if dialect is None or (conversation.settings is UNSET and conversation.tools is UNSET):
        return  # only messages, not a whole request
    settings = conversation.settings or Settings()
    given = {"model": own_model(settings, dialect.provider), "maxTokens": settings.max_tokens}
    for _, field in dialect.required:
        if given[field] is UNSET:
            way_out = f"give it: write(..., {_ARGUMENTS[field]}=...)"
            yield Finding(
                check="", path=f"$.settings.{field}", severity="error", problem=f"{case.name} requires it", fix=way_out
            )


_ARGUMENTS = {"model": "model", "maxTokens": "max_tokens"}


# -- all of them ---------------------------------------------------------------------------------------------------

PROVIDER_CHECKS: dict[str, tuple[ProviderCheck, str]] = {
    "roles": (check_roles, "every role is one the provider has"),
    "part-kinds": (check_part_kinds, "every part is of a kind its message may hold"),
    "empty": (check_empty, "no message and no text is empty"),
    "first-user": (check_first_user, "the talk begins with the user"),
    "one-turn": (check_one_turn, "consecutive messages of one role are one turn"),
    "system-place": (check_system_place, "system messages stand where the provider takes them"),
    "unanswered-call": (check_unanswered, "every tool call has a result"),
    "orphan-result": (check_orphans, "every tool result has a call"),
    "result-place": (check_results_place, "results are in the message directly after their calls"),
    "server-result": (check_server_results, "every server tool call has its result"),
    "call-id": (check_call_ids, "ids of calls have the provider's shape"),
    "duplicate-id": (check_duplicate_ids, "each call has an id of its own"),
    "tool-name": (check_names, "names of tools have the provider's shape"),
    "input-object": (check_input, "the input of a call is an object"),
    "signature": (check_signatures, "reasoning has its signature"),
    "binding": (check_bindings, "signatures go to their provider only, after the messages they were made for"),
    "reasoning-first": (check_reasoning_first, "a turn of a tool loop begins with its reasoning"),
    "reasoning-followed": (check_reasoning_followed, "reasoning is followed by what was thought of"),
    "call-signature": (check_call_signatures, "the first call of a step has its thought signature"),
    "files": (check_files, "files are of a type the provider takes, and ids of files its own"),
    "cache-control": (check_cache_control, "at most four cache breakpoints, in order, none on reasoning"),
    "surrogates": (check_surrogates, "no half characters"),
    "required": (check_required, "a request with tools or settings has what the provider requires"),
}
# Checks that hold for some providers only.
ONLY = {
    "reasoning-first": {"anthropic"},
    "cache-control": {"anthropic"},
    "server-result": {"anthropic"},
    "call-signature": {"gemini"},
}


def validate(source: Any, provider: str | None = None, from_: str | None = None) -> list[Finding]:
    """What a conversation or document does wrong: by its own rules, and with `provider` by that provider's too.

    `source` is a `Conversation`, or what `read` takes; `from_` names its format. If several formats fit and none is
    named, it is read as a document of `provider`. Of a document of many conversations, paths begin with `$[i]`.
    A finding has a `severity` (error, warning), `path`, `check`, `problem` and `fix`; it never prevents storing.

    >>> silent = {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}
    >>> [(found.severity, found.path, found.check) for found in validate(silent, "anthropic")]
    [('error', '$.messages[0].parts[0].text', 'empty')]
    """
    rules = _rules_of(provider)
    if isinstance(source, Message):
        source = [source]
    if isinstance(source, list) and source and all(isinstance(one, Message) for one in source):
        source = Conversation(messages=source)
    if isinstance(source, Conversation):
        return _findings(source, _own_findings(source), provider, rules)
    conversations, chosen = _read(source, provider, from_)
    if chosen.check is not None:
        document = exact_json.decode(as_bytes(source)) if isinstance(source, TEXTS) else exact_json.copied(source)
        return _findings(conversations[0], chosen.check(document), provider, rules)
    every = [_findings(one, validate_always(one), provider, rules) for one in conversations]
    if len(every) == 1:
        return every[0]
    return [replace(one, path=f"$[{i}]{one.path[1:]}") for i, found in enumerate(every) for one in found]


def validate_all(source: Any, format: str | None = None, provider: str | None = None) -> list[Finding]:
    """The same for a document, its format first."""
    return validate(source, provider, format)


def _read(source: Any, provider: str | None, from_: str | None) -> tuple[list[Conversation], Format]:
    """The conversations of a document, and its format: the one named or detected, else the provider's."""
    try:
        name = from_ or formats.detect(source)
    except AmbiguousFormat:
        if provider is None:
            raise
        name = provider
    return formats.read_all(source, name), formats.get(name)


def _rules_of(provider: str | None) -> Rules | None:
    if provider is None:
        return None
    rules = formats.get(provider).rules
    if rules is None:
        raise UnknownFormat(f"no rules for provider {provider!r} (choose from {', '.join(_providers())})")
    return rules


def _own_findings(conversation: Conversation) -> list[Finding]:
    """What holds for every conversation; by the rules of a specification where it came from such a document."""
    if any(True for _ in check_parts(conversation)):
        return validate_always(conversation)
    for name in conversation.extra or ():
        chosen = formats.get(name) if name in formats.names() else None
        if chosen is not None and chosen.check is not None:
            return chosen.check(formats.write(conversation, name).data)
    return validate_always(conversation)


def _findings(
    conversation: Conversation, found: list[Finding], provider: str | None, rules: Rules | None
) -> list[Finding]:
    """Findings, and with them those by the provider's rules."""
    if provider is None or rules is None or any(one.check == "parts" for one in found):
        return found
    case = Case(conversation, rules, provider)
    more: list[Finding] = []
    for name, (check, _) in PROVIDER_CHECKS.items():
        if provider in ONLY.get(name, {provider}):
            more += [replace(finding, check=name) for finding in check(case)]
    return found + more


def _providers() -> list[str]:
    return [name for name in formats.names() if formats.get(name).rules is not None]


__all__ = ["CHECKS", "PROVIDER_CHECKS", "Finding", "validate", "validate_all"]
