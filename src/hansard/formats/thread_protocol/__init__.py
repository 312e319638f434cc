"""ThreadProtocol: a thread of user turns and agent turns.  As of its specification 2.0.0.

    canonical                         native
    conversation                      thread_id, title, metadata, created_at, updated_at; agents are the registry
    user message without a run        a user turn; so are the user messages that a run begins with
    run                               an agent turn: agent_id, started_at, completed_at, total_usage
    other messages without a run      an agent turn of the agent `assistant`, which is added to the registry
    assistant; tool, user             a response; a request
    event with data                   a system message: event_type and event_data
    parts                             as in `pydantic_ai`; status of a result: success, error, validation_error
    raw(thread-protocol)              any other part; in an event message any other message or turn, verbatim

Runs have no ids in a thread: their position names them, `turn-2`. System prompts are configuration and are not stored;
a `system-prompt` in a document is kept. A document may also be a fragment: an object with only `turns`. Lost, and
reported: system messages, ids of messages and runs, states, todos, files by address in answers.

One module: `messages`. Parts are those of Pydantic AI in another dialect, so it may import `pydantic_ai` besides the
core of `formats` and the model. Free to change: detection.
Stored, so never renamed: residue keys and spelling hints (`"$"`), the agent id `assistant`, run ids
`turn-<n>`.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """Turns with a turn_type are unique to this format."""
    records = document.get("turns") if type(document) is dict else None
    if type(records) is not list or not all(type(turn) is dict and "turn_type" in turn for turn in records):
        return 0
    return 3 if records or "thread_id" in document else 1


FORMAT = Format(
    name="thread-protocol",
    title="ThreadProtocol 2.0.0",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"turns"}),
    binds=True,
    why={
        "runId": "the position of a run in the thread is its name",
        "runs": "the position of a run in the thread is its name",
    },
)
