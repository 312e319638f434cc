"""Hand a conversation over to another coding agent: map its tool calls to that agent's own tools.

A call that one of the other agent's tools does exactly is mapped, name and input. Any other call is carried as text,
and so is its result, which then becomes a user message:

    <tool_call agent="claude-code" name="Read" id="toolu_1">
    {"file_path":"/a.txt"}
    </tool_call>

The text is complete, so that a session handed over and back has its calls again: text that carries a call of the
agent itself becomes that call. Attributes are JSON strings. `as` says what the content is if not the default: `json`
for a result that is not a string, `parts` for one of several, in which a number is a file that follows the text.

System and developer messages are left out, since the other agent has its own. Every change is noted as a `Loss`. A
conversation that no known agent wrote is left as it is, since its tools are the caller's own.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.coding_agents.tool_names import AGENTS, Tool, call_for, knows, understood
from hansard.formats.contract import Loss
from hansard.formats.residue import pack, unpack
from hansard.model import exact_json
from hansard.model.calls import Links, Place
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import FilePart, Part, TextPart, ToolCallPart, ToolResultPart

_RESPONSES = "openai-responses"
_INSTRUCTIONS = ("system", "developer")


def source_of(conversation: Conversation, to: str) -> str | None:
    """The agent that a conversation comes from: the one whose residue it has, else whose tools it calls."""
    kept = [conversation.extra, *(message.extra for message in conversation.messages[:200])]
    for extra in kept:
        if extra is not UNSET:
            for agent in (to, *AGENTS):
                if agent in extra:
                    return agent
    parts = [part for message in conversation.messages for part in message.parts]
    calls = [part for part in parts if type(part) is ToolCallPart]
    found = {agent: _familiar(agent, calls) for agent in dict.fromkeys((to, *AGENTS))}
    if any((carried := from_text(parts, j)) is not None and carried.agent == to for j in range(len(parts))):
        del found[to]  # it would not carry its own calls as text
    best = max(found, key=lambda agent: found[agent])
    return best if found[best] > (0, 0) else None


def _familiar(agent: str, calls: list[ToolCallPart]) -> tuple[int, int]:
    """How many of the calls an agent understands, and of how many it knows the tool."""
    known = [call for call in calls if knows(agent, call.tool_name)]
    return sum(understood(agent, call.tool_name, call.input, UNSET) is not None for call in known), len(known)


def handed_over(conversation: Conversation, to: str, notes: list[Loss], path: list[int]) -> Conversation:
    """The conversation as the agent `to` would have had it; `path` has the indices of its messages in the source."""
    source = source_of(conversation, to)
    if source == to:
        return conversation
    messages = _HandOver(conversation, source, to, notes, path).messages()
    return conversation if messages is conversation.messages else replace(conversation, messages=messages)


def _folder(conversation: Conversation, source: str | None) -> Any:
    """The working directory for messages without one: that of the first message that has one, or of the session."""
    for message in conversation.messages:
        if message.context is not UNSET and message.context.cwd is not UNSET:
            return message.context.cwd
    return unpack(source or "", conversation.extra)[0].get("cwd", UNSET)


class _HandOver:
    """One conversation being handed over: which calls are mapped, which become text."""

    def __init__(
        self, conversation: Conversation, source: str | None, to: str, notes: list[Loss], path: list[int]
    ) -> None:
        messages = conversation.messages
        self.given, self.to, self.notes, self.path = messages, to, notes, path
        self.cwd = _folder(conversation, source)
        self.agents: dict[Place, str] = {}  # of calls and results that were carried as text
        self.read = [self._from_text(i, message) for i, message in enumerate(messages)]
        self.links = Links(self.read)
        self.source = source
        self.as_text: set[Place] = set()
        self.mapped: dict[Place, ToolCallPart] = {}

    def messages(self) -> list[Message]:
        for place, call in self.links.calls.items():
            self._decide(place, call)
        if not self.as_text and not self.mapped and not self.agents:
            return self._without_instructions(self.given)
        out: list[Message] = []
        run: list[tuple[Message, list[Any], list[Any]]] = []
        for i, message in enumerate(self.read):
            kept, as_user = self._parts(i, message)
            if message.role == "tool" and (not run or _follows(message, run[-1][0])):
                run.append((message, kept, as_user))
                continue
            out += _results_first(run)
            run = []
            if message.role == "tool":
                run.append((message, kept, as_user))
            else:
                out.append(message if kept == message.parts else replace(message, parts=kept))
        return self._without_instructions(out + _results_first(run))

    def _without_instructions(self, messages: list[Message]) -> list[Message]:
        """The messages without system and developer messages."""
        if self.source is None or not any(message.role in _INSTRUCTIONS for message in messages):
            return messages
        for i, message in enumerate(self.given):
            if message.role in _INSTRUCTIONS:
                why = f"{self.to} has instructions of its own"
                what = f"the {message.role} message"
                self.notes.append(Loss(path=f"$.messages[{self.path[i]}]", what=what, why=why, kind="instructions"))
        instead: dict[Any, Any] = {}
        out: list[Message] = []
        before: Any = None
        for message in messages:
            parent = message.parent_message_id
            if message.role in _INSTRUCTIONS:
                instead[message.id] = before if parent is UNSET else instead.get(parent, parent)
                continue
            if type(parent) is str and parent in instead:
                message = replace(message, parent_message_id=instead[parent])
            out.append(message)
            before = message.id
        return out

    def _from_text(self, i: int, message: Message) -> Message:
        """The message with the calls and results that its text carries."""
        parts: list[Any] = []
        j = 0
        results = True
        while j < len(message.parts):
            carried = from_text(message.parts, j)
            if carried is None or (type(carried.part) is ToolCallPart) != (message.role == "assistant"):
                results = False
                parts.append(message.parts[j])
                j += 1
                continue
            self.agents[i, len(parts)] = carried.agent
            parts.append(carried.part)
            j += 1 + carried.files
        if len(parts) == len(message.parts) and not any((i, j) in self.agents for j in range(len(parts))):
            return message
        role = "tool" if message.role == "user" and results else message.role
        return replace(message, role=role, parts=parts)

    def _decide(self, place: Place, call: ToolCallPart) -> None:
        agent = self.agents.get(place, self.source)
        if agent is None or agent == self.to or agent not in AGENTS:
            if agent not in AGENTS and place in self.agents:
                self.as_text.add(place)
            return
        i, j = place
        where = f"$.messages[{self.path[i]}].parts[{j}]"
        context = self.read[i].context
        cwd = context.cwd if context is not UNSET and context.cwd is not UNSET else self.cwd
        found = None
        if call.provider_executed is not True and type(call.tool_call_id) is str:
            found = _match(call, agent, self.to, cwd)
        if found is None:
            self.as_text.add(place)
            if place not in self.agents:
                why = f"{self.to} has no tool that does exactly this"
                what = f"the call of {call.tool_name!s} becomes text"
                self.notes.append(Loss(path=where, what=what, why=why, kind="repair"))
            return
        tool, given = found
        extra = _unmarked(call.extra)
        if tool.patch:
            extra = {**({} if extra is UNSET else extra), **_CUSTOM}
        self.mapped[place] = replace(call, tool_name=tool.name, input=given, input_text=UNSET, extra=extra)
        if place not in self.agents:
            why = f"the tool of {self.to} that does the same"
            what = f"the call of {call.tool_name!s} becomes one of {tool.name}"
            self.notes.append(Loss(path=where, what=what, why=why, kind="repair"))

    def _parts(self, i: int, message: Message) -> tuple[list[Any], list[Any]]:
        """The parts of a message for the other agent, and separately the results that become user text."""
        kept: list[Any] = []
        as_user: list[Any] = []
        for j, part in enumerate(message.parts):
            place = (i, j)
            if type(part) is ToolResultPart:
                call = self.links.answers.get(place)
                if call is not None and call in self.mapped:
                    kept.append(replace(part, tool_name=self.mapped[call].tool_name, extra=_unmarked(part.extra)))
                elif call in self.as_text or (call is None and place in self.agents):
                    agent = self.agents.get(place, self.source) or ""
                    text = result_as_text(part, agent)
                    (as_user if message.role == "tool" else kept).extend(text)
                    if place not in self.agents:
                        where = f"$.messages[{self.path[i]}].parts[{j}]"
                        why = f"its call becomes text, and {self.to} takes a result only for a call"
                        self.notes.append(Loss(path=where, what="the result becomes text", why=why, kind="repair"))
                else:
                    kept.append(part)
            elif place in self.mapped:
                kept.append(self.mapped[place])
            elif place in self.as_text:
                kept += call_as_text(part, self.agents.get(place, self.source) or "")  # type: ignore[arg-type]
            else:
                kept.append(part)
        return kept, as_user


def _match(call: ToolCallPart, agent: str, to: str, cwd: Any) -> tuple[Tool, Any] | None:
    """The tool of the other agent that does the same, if its call can be mapped back too."""
    meant = understood(agent, call.tool_name, call.input, cwd)
    found = call_for(to, meant, agent, call.tool_name, cwd) if meant is not None else None
    if found is None:
        return None
    again = understood(to, found[0].name, found[1], cwd)
    back = call_for(agent, again, to, found[0].name, cwd) if again is not None else None
    return found if back is not None else None


_CUSTOM: Any = pack(_RESPONSES, {}, {"type": "custom_tool_call"})


def _unmarked(extra: Any) -> Any:
    """The residue of a call or result without the type of its old item."""
    rest, marks = unpack(_RESPONSES, extra)
    if "type" not in marks:
        return extra
    del marks["type"]
    own = pack(_RESPONSES, rest, marks)
    others = {key: value for key, value in extra.items() if key != _RESPONSES}
    return {**others, **({} if own is UNSET else own)} or UNSET


def _follows(message: Message, before: Message) -> bool:
    parent = message.parent_message_id
    return parent is UNSET or (type(parent) is str and parent == before.id)


def _results_first(run: list[tuple[Message, list[Any], list[Any]]]) -> list[Message]:
    """The results of one turn: those that answer calls first, then those that became text.

    Providers take results only directly after their calls. Ids stay, so that the messages after them keep their parent.
    """
    if not any(as_user for _, _, as_user in run):
        return [message if kept == message.parts else replace(message, parts=kept) for message, kept, _ in run]
    pieces = [(message, kept, "tool") for message, kept, as_user in run if kept or not as_user]
    pieces += [(message, as_user, "user") for message, _, as_user in run if as_user]
    ids: list[Any] = [message.id for message, _, _ in run]
    more = len(pieces) - len(ids)
    first = ids[0]
    ids = [f"{first}+{k}" if type(first) is str else UNSET for k in range(more)] + ids
    chained = any(message.parent_message_id is not UNSET for message, _, _ in run[1:])
    out: list[Message] = []
    for k, (message, parts, role) in enumerate(pieces):
        parent = run[0][0].parent_message_id if k == 0 else ids[k - 1] if chained else UNSET
        out.append(replace(message, role=role, parts=parts, id=ids[k], parent_message_id=parent))
    return out


_TAG = re.compile(r'<(tool_call|tool_result)((?: [a-z]+="(?:[^"\\]|\\.)*")*)>\n(.*)\n</\1>\Z', re.DOTALL)
_ATTRIBUTE = re.compile(r' ([a-z]+)=("(?:[^"\\]|\\.)*")')
_STATUSES = ("denied", "interrupted", "retried")


class Carried(NamedTuple):
    """A call or result carried as text, and the agent whose tool it is; the next `files` parts belong to it."""

    part: ToolCallPart | ToolResultPart
    agent: str
    files: int


def _tag(kind: str, attributes: dict[str, Any], inside: str) -> str:
    spelled = "".join(f" {key}={_json(value)}" for key, value in attributes.items() if type(value) is str)
    return f"<{kind}{spelled}>\n{inside}\n</{kind}>"


def _json(value: Any) -> str:
    return exact_json.encode(value).decode("utf-8", "surrogatepass")


def is_carried(text: str) -> bool:
    """Whether a text looks like a call or result that is carried as text."""
    return text.startswith(("<tool_call ", "<tool_result "))


def call_as_text(call: ToolCallPart, agent: str) -> list[Part]:
    """A call as text."""
    attributes: dict[str, Any] = {"agent": agent, "name": call.tool_name, "id": call.tool_call_id}
    if call.provider_executed is True:
        attributes["by"] = "provider"
    if type(call.input_text) is str and call.input is UNSET:
        attributes["as"], inside = "text", call.input_text
    else:
        inside = "" if call.input is UNSET else _json(call.input)
    return [TextPart(text=_tag("tool_call", attributes, inside))]


def result_as_text(result: ToolResultPart, agent: str) -> list[Part]:
    """A result as text, followed by its files."""
    attributes: dict[str, Any] = {"agent": agent, "name": result.tool_name, "id": result.tool_call_id}
    if result.is_error is True:
        attributes["error"] = "true"
    if result.status in _STATUSES:
        attributes["status"] = result.status
    if result.provider_executed is True:
        attributes["by"] = "provider"
    files: list[Part] = []
    if result.content is not UNSET:
        listed: list[Any] = []
        for part in result.content:
            if type(part) is TextPart:
                listed.append(part.text)
            elif type(part) is FilePart:
                listed.append(len(files))
                files.append(part)
        attributes["as"], inside = "parts", _json(listed)
    elif type(result.output) is str:
        inside = result.output
    else:
        attributes["as"], inside = "json", "" if result.output is UNSET else _json(result.output)
    return [TextPart(text=_tag("tool_result", attributes, inside)), *files]


def from_text(parts: list[Any], j: int) -> Carried | None:
    """The call or result that a text part carries."""
    part = parts[j]
    if type(part) is not TextPart or not part.text.startswith("<tool_"):
        return None
    found = _TAG.match(part.text)
    if found is None:
        return None
    try:
        given = {key: exact_json.decode(value) for key, value in _ATTRIBUTE.findall(found[2])}
        read = _read_call if found[1] == "tool_call" else _read_result
        carried = read(given, found[3], parts, j)
    except (Unreadable, ValueError):
        return None
    writer = call_as_text if type(carried.part) is ToolCallPart else result_as_text
    return carried if writer(carried.part, carried.agent)[0] == part else None  # type: ignore[arg-type]


def _named(given: dict[str, Any]) -> dict[str, Any]:
    fields = {"tool_name": given.get("name", UNSET), "tool_call_id": given.get("id", UNSET)}
    return {**fields, "provider_executed": True if given.get("by") == "provider" else UNSET}


def _read_call(given: dict[str, Any], inside: str, parts: list[Any], j: int) -> Carried:
    if given.get("as") == "text":
        return Carried(ToolCallPart(**_named(given), input_text=inside), given.get("agent", ""), 0)
    value = exact_json.decode(inside) if inside else UNSET
    return Carried(ToolCallPart(**_named(given), input=value), given.get("agent", ""), 0)


def _read_result(given: dict[str, Any], inside: str, parts: list[Any], j: int) -> Carried:
    fields: dict[str, Any] = {**_named(given), "is_error": "error" in given, "status": given.get("status", UNSET)}
    files = 0
    if given.get("as") == "parts":
        content: list[Any] = []
        listed = exact_json.decode(inside)
        for entry in listed if type(listed) is list else [None]:
            if type(entry) is str:
                content.append(TextPart(text=entry))
                continue
            if type(entry) is not int or not 0 <= entry < len(parts) - j - 1:
                raise ValueError("neither text nor the number of a file")
            if type(parts[j + 1 + entry]) is not FilePart:
                raise ValueError("no such file")
            files = max(files, entry + 1)
            content.append(parts[j + 1 + entry])
        fields["content"] = content
    elif given.get("as") == "json":
        fields["output"] = exact_json.decode(inside) if inside else UNSET
    else:
        fields["output"] = inside
    return Carried(ToolResultPart(**fields), given.get("agent", ""), files)
