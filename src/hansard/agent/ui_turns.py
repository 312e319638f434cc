"""A thread as an AI SDK client sees it: turns, each with the id that the client knows, and the replay of the last turn.

For a client an answer with its tool results is one message, with the id of our first message; it continues until
the next user message. A client that resumes discards its part of the answer and rebuilds it from the stream alone, so
the stream starts with the earlier steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from hansard.errors import HansardError
from hansard.formats.ai_sdk.ui.emit import AiSdkUiEmitter, event_deltas
from hansard.formats.ai_sdk.ui.events import differ
from hansard.formats.residue import pack, unpack
from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Agent, Conversation, Message
from hansard.model.parts import ToolResultPart
from hansard.model.tree import active_path
from hansard.streams import emitter
from hansard.streams.deltas import Delta, End, MessageStart, Other, PartEnd, PartStart, StepStart

_FORMAT = "ai-sdk-ui"


class Turn(NamedTuple):
    """The messages of a path from `start` to before `end`."""

    id: str
    role: str
    start: int
    end: int


def wire_id(message: Message) -> str | None:
    """The client's id of a message."""
    rest, _ = unpack(_FORMAT, message.extra)
    given = rest.get("id", message.id)
    return given if type(given) is str else None


def with_wire_id(message: Message, known_as: str) -> Message:
    """The message with the id that the client knows."""
    from msgspec.structs import replace

    rest, marks = unpack(_FORMAT, message.extra)
    return replace(message, extra=pack(_FORMAT, {**rest, "id": known_as}, marks))


def with_approval(part: ToolResultPart, approval: dict[str, Any]) -> ToolResultPart:
    """The result of an approved call with the reason of the approval; a denial's reason is the result itself."""
    from msgspec.structs import replace

    rest, marks = unpack(_FORMAT, part.extra)
    return replace(part, extra=pack(_FORMAT, {**rest, "approval": approval}, marks))


def turns_of(path: Sequence[Message]) -> list[Turn]:
    """The turns of a path; messages that clients do not see belong to the turn before."""
    starts: list[int] = []
    for i, message in enumerate(path):
        if message.role == "user" or (
            message.role == "assistant" and not (starts and _goes_on(path[starts[-1]], message))
        ):
            starts.append(i)
    ends = [*starts[1:], len(path)][: len(starts)]
    return [
        Turn(wire_id(path[start]) or "", path[start].role, start, end) for start, end in zip(starts, ends, strict=True)
    ]


def emit(
    conversation: Conversation, to: str = _FORMAT, *, target: str | None = None, message_id: str | None = None
) -> Iterator[bytes]:
    """The last answer of a conversation as the stream of a client: `ai-sdk-ui`, `openai-chat` or `ag-ui`.

    `target` is the client's version, `message_id` the id that it knows the answer by.
    >>> import hansard
    >>> talk = hansard.Conversation(messages=[hansard.Message.user("Tea?"), hansard.Message.assistant("Assam.")])
    >>> [line for line in b"".join(hansard.emit(talk)).splitlines() if b"delta" in line]
    [b'data: {"type":"text-delta","id":"1","delta":"Assam."}']
    """
    path = [conversation.messages[i] for i in active_path(conversation)]
    turns = turns_of(path)
    if not turns or turns[-1].role != "assistant":
        raise HansardError("no answer to emit: the last message of the conversation is not an assistant's")
    said = answer_so_far(path, turns[-1].id)
    shown: Any = emitter(to, target=target, message_id=message_id or turns[-1].id or None)
    about = _about(conversation, said)
    if isinstance(shown, AiSdkUiEmitter):
        shown.about = {key: value for key, value in about.items() if key == "agent"}
    return _emitted(shown, said, about)


def _emitted(shown: Any, said: list[Message], about: dict[str, Any]) -> Iterator[bytes]:
    stopped = Other(format=_FORMAT, value={"type": "abort"})
    ends: list[Delta] = [stopped, End(how="cut")] if "interrupted" in about else [End(how="done")]
    for delta in (*replay(said), *ends):
        if data := shown.emit(delta):
            yield data
    yield shown.finish()


def _about(conversation: Conversation, said: Sequence[Message]) -> dict[str, Any]:
    """The metadata of an answer: its agent, and whether it was interrupted."""
    agents = {} if conversation.agents is UNSET else conversation.agents
    failed = {run.id for run in conversation.runs or () if run.status in ("failed", "aborted", "interrupted")}
    agent_id = next((message.agent_id for message in said if message.role == "assistant"), UNSET)
    about = speaker(agent_id, agents.get(agent_id)) if isinstance(agent_id, str) else {}
    if any(message.state == "interrupted" or message.run_id in failed for message in said):
        about["interrupted"] = True
    return about


def _goes_on(first: Message, message: Message) -> bool:
    """Whether an answer that begins with `first` continues with `message`; another agent's is an answer of its own."""
    return first.role == "assistant" and not differ(first.agent_id, message.agent_id)


def speaker(agent_id: str, agent: Agent | None) -> dict[str, Any]:
    """What the metadata of a UIMessage says of its agent."""
    name = agent.name if agent is not None else None
    return {"agent": {"id": agent_id, **({"name": name} if isinstance(name, str) else {})}}


def stored_path(ledger: Ledger, thread_id: str) -> Conversation:
    """The transcript of a thread with its runs and agents."""
    runs, agents = ledger.runs(thread_id), ledger.thread(thread_id).agents
    return Conversation(messages=ledger.transcript(thread_id), runs=runs, agents=agents)


def ui_messages(conversation: Conversation, target: str | None) -> list[dict[str, Any]]:
    """UIMessages for a client; their metadata names the agent, and marks answers that were interrupted."""
    from hansard import formats

    records: list[dict[str, Any]] = formats.write(conversation, _FORMAT, target=target).data
    said = conversation.messages
    turns = [turn for turn in turns_of(said) if turn.role == "assistant"]
    about = {turn.id: _about(conversation, said[turn.start : turn.end]) for turn in turns}
    return [_with_metadata(record, about.get(record["id"], {})) for record in records]


def _with_metadata(record: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    if not more or record["role"] != "assistant":
        return record
    return {**record, "metadata": {**record.get("metadata", {}), **more}}


def answer_so_far(path: Sequence[Message], shown_id: str) -> list[Message]:
    """The messages of the last turn of a path, if it has this client id."""
    turns = turns_of(path)
    if not turns or turns[-1].id != shown_id:
        return []
    start = turns[-1].start
    while start and path[start - 1].role == "event":  # a hand-over stands before the answer
        start -= 1
    return list(path[start : turns[-1].end])


def replay(messages: list[Message]) -> Iterator[Delta]:
    """Complete messages as deltas; each further answer of the model is another step."""
    said = False
    for i, message in enumerate(messages):
        if message.role == "assistant":
            yield StepStart() if said else MessageStart(id=message.id)
            said = True
        if message.role == "event":
            yield from event_deltas(message)
            continue
        for j, part in enumerate(message.parts):
            yield PartStart(key=f"before.{i}.{j}", part=part)
            yield PartEnd(key=f"before.{i}.{j}", part=part)
