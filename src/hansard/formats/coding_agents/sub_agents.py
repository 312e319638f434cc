"""Sub-agents with files of their own: which call of the session started each, and its messages linked to that call.

calls = Calls()                                  # streaming: note every message of the session as it is stored
calls.note(message)
link(sub_agent_messages, calls, file_name)       # then the messages of each sub-agent's file, linked
"""

from __future__ import annotations

import re

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.residue import unpack
from hansard.model.conversation import Message
from hansard.model.parts import TextPart, ToolCallPart, ToolResultPart

_STARTING = ("Task", "Agent", "Workflow", "invoke_agent", "task", "sessions_spawn", "spawn_agent")
_JOURNAL = "journal.jsonl"  # of a workflow: no agent wrote it
_AGENT_ID = re.compile(r"(?:\bagentId: |<task id=\")([0-9A-Za-z_-]+)")


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
                given, name = part.input if type(part.input) is dict else {}, part.tool_name
                if name == "tool_call" and type(given.get("args")) is dict:  # OpenClaw: a tool found by a search
                    given, name = given["args"], given.get("id")
                prompt, kind = given.get("prompt", given.get("task")), given.get("subagent_type")
                if name in _STARTING:
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
        result = unpack("claude-code", message.extra)[0].get("toolUseResult")
        if type(result) is dict:
            if type(result.get("agentId")) is str:
                self._by_agent[result["agentId"]] = call
            if type(result.get("runId")) is str:
                self._by_run[result["runId"]] = call
        inner = part.content if part.content is not UNSET else [TextPart(text=str(part.output))]
        for one in inner:
            if type(one) is TextPart and (found := _AGENT_ID.search(one.text[:200] + one.text[-2000:])):
                self._by_agent.setdefault(found[1], call)

    def of(self, agent: str, folder: str, prompt: str | None) -> tuple[str, str, str | None] | None:
        """Message, call id and kind of agent of the call that started an agent, if known."""
        call = self._by_agent.get(agent) or self._by_run.get(folder)
        if call is None and prompt is not None:
            call = self._by_prompt.get(hash(prompt))
        return self._calls.get(call) if call is not None else None


def link(messages: list[Message], calls: Calls, name: str) -> list[Message]:
    """The messages of a sub-agent's file, its roots linked to the call that started it."""
    folder, file = folder_and_name(name)
    named = file.removesuffix(".jsonl").removeprefix("agent-")
    agent = next((one.agent_id for one in messages if type(one.agent_id) is str), UNSET if file == _JOURNAL else named)
    prompt = next((_text(one) for one in messages if one.role == "user"), None)
    found = calls.of(agent if agent is not UNSET else "", folder, prompt)
    linked: list[Message] = []
    for i, message in enumerate(messages):
        calls.note(message)
        root = message.parent_message_id is None or (not i and message.parent_message_id is UNSET)
        if message.agent_id is UNSET and message.sidechain is not True:
            message = replace(message, agent_id=agent)
        if root and i and message.role == "event":
            message = replace(message, parent_message_id=linked[-1].id)  # records of the agent, outside its chain
        elif found is not None and root:
            held = message.metadata if message.metadata is not UNSET else {}
            message = replace(message, parent_message_id=found[0], metadata={**held, "toolCallId": found[1]})
        linked.append(message if message.sidechain is True else replace(message, sidechain=True))
    return linked


def after_call(messages: list[Message], started: list[Message]) -> int:
    """Where the messages of a sub-agent belong: after the call that started it and its results."""
    call = started[0].parent_message_id if started else None
    at = next((i for i, one in enumerate(messages) if type(call) is str and one.id == call), None)
    if at is None:
        return len(messages)
    return at + 2 if at + 1 < len(messages) and messages[at + 1].role == "tool" else at + 1


def folder_and_name(name: str) -> tuple[str, str]:
    """The folder of a file, and its own name."""
    above, _, file = name.rpartition("/")
    return above.rpartition("/")[2], file


def _text(message: Message) -> str:
    return "".join(part.text for part in message.parts if type(part) is TextPart)
