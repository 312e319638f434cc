"""A folder of Claude Code sessions: which file belongs to which session, and which call started a sub-agent.

    <session>.jsonl                                         a session
    agent-<id>.jsonl                                        a sub-agent of the session its records name
    <session>/subagents/**/agent-<id>.jsonl, journal.jsonl  sub-agents and workflows of that session

A sub-agent's messages are a sidechain below the message whose call started it. The call is found by its result
(`toolUseResult.agentId`, its `runId` for a workflow, `agentId: ...` in text), else by its prompt. A sub-agent that no
call started (Claude Code warms some up) is a root.

    calls = Calls()                                  # streaming: note every message of the session as it is stored
    calls.note(message)
    link(sub_agent_messages, calls, file_name)       # then the messages of each sub-agent's file, linked
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.coding_agents.claude_code.content import NAME
from hansard.formats.coding_agents.claude_code.session import SESSION
from hansard.formats.coding_agents.session_file import with_evidence
from hansard.formats.contract import Target
from hansard.formats.residue import unpack
from hansard.model.conversation import Agent, Conversation, Message
from hansard.model.parts import TextPart, ToolCallPart, ToolResultPart

_AGENT_ID = re.compile(r"\bagentId: ([0-9A-Za-z_-]+)")


class Calls:
    """The calls that start sub-agents: message, call id and kind of agent of each."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, str, str | None]] = {}
        self._by_agent: dict[str, str] = {}
        self._by_run: dict[str, str] = {}
        self._by_prompt: dict[int, str] = {}

    def note(self, message: Message) -> None:
        """Record the calls of a message, and its results that name an agent."""
        for part in message.parts:
            if type(part) is ToolCallPart and type(part.tool_call_id) is str and type(message.id) is str:
                given = part.input if type(part.input) is dict else {}
                prompt, kind = given.get("prompt"), given.get("subagent_type")
                if part.tool_name in ("Task", "Agent", "Workflow"):
                    self._calls[part.tool_call_id] = (
                        message.id,
                        part.tool_call_id,
                        kind if type(kind) is str else None,
                    )
                    if type(prompt) is str:
                        self._by_prompt[hash(prompt)] = part.tool_call_id
            elif type(part) is ToolResultPart and part.tool_call_id in self._calls:
                self._note_result(message, part)

    def _note_result(self, message: Message, part: ToolResultPart) -> None:
        call = str(part.tool_call_id)
        result = unpack(NAME, message.extra)[0].get("toolUseResult")
        if type(result) is dict:
            if type(result.get("agentId")) is str:
                self._by_agent[result["agentId"]] = call
            if type(result.get("runId")) is str:
                self._by_run[result["runId"]] = call
        inner = part.content if part.content is not UNSET else [TextPart(text=str(part.output))]
        for one in inner:
            if type(one) is TextPart and (found := _AGENT_ID.search(one.text[-2000:])):
                self._by_agent.setdefault(found[1], call)

    def of(self, agent: str, folder: str, prompt: str | None) -> tuple[str, str, str | None] | None:
        """Message, call id and kind of agent of the call that started an agent, if known."""
        call = self._by_agent.get(agent) or self._by_run.get(folder)
        if call is None and prompt is not None:
            call = self._by_prompt.get(hash(prompt))
        return self._calls.get(call) if call is not None else None


def link(messages: list[Message], calls: Calls, name: str) -> list[Message]:
    """The messages of a sub-agent's file, its roots linked to the call that started it."""
    folder, file = _folder_and_name(name)
    named = file.removesuffix(".jsonl").removeprefix("agent-")
    agent = next((one.agent_id for one in messages if type(one.agent_id) is str), named)
    prompt = next((_text(one) for one in messages if one.role == "user"), None)
    found = calls.of(agent, folder, prompt)
    linked = []
    for message in messages:
        calls.note(message)
        if found is not None and message.parent_message_id is None:
            held = message.metadata if message.metadata is not UNSET else {}
            message = replace(message, parent_message_id=found[0], metadata={**held, "toolCallId": found[1]})
        linked.append(message if message.sidechain is True else replace(message, sidechain=True))
    return linked


def _folder_and_name(name: str) -> tuple[str, str]:
    """The folder of a file, and its own name."""
    above, _, file = name.rpartition("/")
    return above.rpartition("/")[2], file


def _text(message: Message) -> str:
    return "".join(part.text for part in message.parts if type(part) is TextPart)


def join(session: Conversation, agents: dict[str, Conversation]) -> Conversation:
    """A session and its sub-agents (by file name) as one tree."""
    calls = Calls()
    for message in session.messages:
        calls.note(message)
    messages = list(session.messages)
    known = {message.id for message in messages}
    registry: dict[str, Agent] = dict(session.agents) if session.agents is not UNSET else {}
    for name, agent in agents.items():
        new = [message for message in link(agent.messages, calls, name) if message.id not in known]
        known.update(message.id for message in new)
        messages += new
        agent_id = next((one.agent_id for one in new if type(one.agent_id) is str), None)
        if agent_id is not None:
            found = calls.of(agent_id, _folder_and_name(name)[0], None)
            registry[agent_id] = Agent(id=agent_id, name=UNSET if found is None or found[2] is None else found[2])
    return replace(session, messages=messages, agents=registry or UNSET)


def split(conversation: Conversation, files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a joined session, later messages appended; `files` are those that were read, the session first."""
    (main, text), *others = files.items()
    agents = {name: SESSION.read(raw) for name, raw in others}
    read = {message.id for agent in agents.values() for message in agent.messages}
    left = [message for message in conversation.messages if message.id not in read]
    given: dict[str, bytes] = {}
    for name, agent in agents.items():
        mine = {message.agent_id for message in agent.messages if type(message.agent_id) is str}
        new = [message for message in left if message.sidechain is True and message.agent_id in mine]
        left = [message for message in left if message not in new] if new else left
        longer = replace(agent, messages=[*agent.messages, *new])
        given[name] = SESSION.write(with_evidence(longer, NAME, files[name]), Target())
    kept = with_evidence(replace(conversation, messages=left), NAME, text)
    return {main: SESSION.write(kept, Target()), **given}


def sessions(names: Iterable[str]) -> dict[str, list[str]]:
    """Which of a folder's files are sessions, and which sub-agents' files belong to each (paths from the folder).

    >>> sessions(["a.jsonl", "a/subagents/agent-1.jsonl", "agent-2.jsonl", "a/tool-results/x.txt"])
    {'a.jsonl': ['a/subagents/agent-1.jsonl'], 'agent-2.jsonl': []}
    """
    found: dict[str, list[str]] = {}
    listed = sorted(name for name in names if name.endswith(".jsonl"))
    for name in listed:
        if "/" not in name:
            found[name] = []
    for name in listed:
        session, _, rest = name.partition("/")
        if rest and f"{session}.jsonl" in found:
            found[f"{session}.jsonl"].append(name)
        elif rest:
            found[name] = []
    return found


def read_project(files: dict[str, bytes]) -> dict[str, Conversation]:
    """Every session of a folder with its sub-agents, by the name of its file.

    A sub-agent's file beside the sessions belongs to the session its records name; without that it is one of its own.
    """
    below = sessions(files)
    read: dict[str, Conversation] = {name: SESSION.read(raw) for name, raw in files.items() if name.endswith(".jsonl")}
    for name in list(below):
        if _folder_and_name(name)[1].startswith("agent-") and not below[name]:
            owner = f"{read[name].id}.jsonl"
            if owner in below and owner != name:
                below[owner].append(name)
                del below[name]
    return {name: join(read[name], {agent: read[agent] for agent in agents}) for name, agents in below.items()}
