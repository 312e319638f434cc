"""ThreadProtocol: a thread of user turns and agent turns.  As of its specification 2.0.0.

    canonical                         native
    conversation                      thread_id, title, metadata, times, parent_thread_id; agents are the registry
    user message without a run        a user turn; so are the user messages that a run begins with
    run                               an agent turn: agent_id, started_at, completed_at, total_usage
    other messages without a run      an agent turn of the agent `assistant` with `run_id: null`
    assistant; tool, user             a response; a request
    event with data                   a system message: event_type, event_data; source_agent, target_agents are metadata
    data in an answer                 a system message with `part`, the index of the part in the response before it
    parts                             as in `pydantic_ai`; status of a result: success, error, validation_error
    raw(thread-protocol)              in an event message any other message or turn, verbatim

What the document lacks stands beside its own fields under the name that Pydantic AI gives it (`provider_details`,
`instructions`, `state`, `run_id`, `outcome`, a part's `timestamp`, `args_text`), so a Pydantic AI history comes back
equal. A run is named by `run_id`, or without one by its position, `turn-2`. System prompts are configuration and are
not stored: a loss; a `system-prompt` in a document is kept.

Required fields that the source lacks are derived (`derived`), and listed in `derived` beside them; the reader drops
them again. Where no time is known at all, `Target(at=...)` gives it; without it the field stays absent, and a loss says
so. An active run is the last turn and has no `completed_at`. A document may also be a fragment: an object with only
`turns`. Lost, and reported: system prompts, ids of messages, data in user messages, states of runs other than active,
todos, files by address in answers.

Read `messages` (threads, agents), `turns`, `records` (one message of a turn, reader beside writer), `derived`, `rules`
(what `validate` reports of a document). Parts are those of Pydantic AI in another dialect, so it may import
`pydantic_ai` besides the core of `formats` and the model. The functions of the specification are in
`hansard.thread_protocol`. Free to change: detection.
Stored, so never renamed: residue keys and spelling hints (`"$"`), the agent id `assistant`, run ids
`turn-<n>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.formats.contract import Format

if TYPE_CHECKING:
    from hansard.formats.contract import Kind
    from hansard.model.diff import Difference


def sniff(document: Any) -> int:
    """Turns with a turn_type are unique to this format."""
    records = document.get("turns") if type(document) is dict else None
    if type(records) is not list or not all(type(turn) is dict and "turn_type" in turn for turn in records):
        return 0
    return 3 if records or "thread_id" in document else 1


def explain(difference: Difference) -> tuple[str, Kind] | None:
    """The reason for a required field that nothing could be derived for: no time is known."""
    from hansard.formats.residue import unpack

    runs = (difference.after or ()) if difference.path == "$.runs" and not difference.before else ()
    absent = any("absent" in unpack("thread-protocol", run.extra)[1] for run in runs)
    if not absent and not difference.path.endswith(".extra.thread-protocol.$.absent"):
        return None
    return "thread-protocol requires a time and the source knows none; give one with Target(at=...)", "metadata"


FORMAT = Format(
    name="thread-protocol",
    title="ThreadProtocol 2.0.0",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"turns"}),
    binds=True,
    active_runs=True,
    explain=explain,
    why={"runs": "of a run the thread says its agent, its times and its usage"},
)
