"""A folder of Claude Code sessions: which file belongs to which session, and which call started a sub-agent.

    <session>.jsonl                                         a session
    agent-<id>.jsonl                                        a sub-agent of the session its records name
    <session>/subagents/**/agent-<id>.jsonl, journal.jsonl  sub-agents and workflows of that session

A sub-agent's messages are a sidechain below the message whose call started it. The call is found by its result
(`toolUseResult.agentId`, its `runId` for a workflow, `agentId: ...` in text), else by its prompt. A sub-agent that no
call started (Claude Code warms some up) is a root.

How a sub-agent's messages are linked to the call is in `coding_agents.sub_agents`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.coding_agents.claude_code.content import NAME
from hansard.formats.coding_agents.claude_code.session import SESSION
from hansard.formats.coding_agents.session_file import with_evidence
from hansard.formats.coding_agents.sub_agents import Calls, folder_and_name, link
from hansard.formats.contract import Target
from hansard.model.conversation import Agent, Conversation


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
            found = calls.of(agent_id, folder_and_name(name)[0], None)
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
        if folder_and_name(name)[1].startswith("agent-") and not below[name]:
            owner = f"{read[name].id}.jsonl"
            if owner in below and owner != name:
                below[owner].append(name)
                del below[name]
    return {name: join(read[name], {agent: read[agent] for agent in agents}) for name, agents in below.items()}
