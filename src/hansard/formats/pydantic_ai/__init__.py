"""Pydantic AI: the list of messages that `ModelMessagesTypeAdapter` writes.  As of pydantic-ai-slim 2.62 and 2.66.

    canonical                         native
    system, user, tool                parts of a request; a user message after a system message shares its request
    assistant                         a response: model, usage, finish_reason, time, state
    parts                             see `content` and `tools`
    conversation id                   conversation_id of its messages
    run id, metadata                  run_id, metadata of the request or response
    raw(pydantic-ai)                  any other part or item of content, verbatim
    event with one raw part           a message of an unknown kind

A request with parts of several roles is one message a role; the mark `joined` says where that is not as above. Every
field is written, as Pydantic AI does; the profile (2.62 or 2.66) says which there are and is a mark of the
conversation. Instructions, provider details and the like stay with their message. A part has a time of its own only
where it is not its message's; where no time is known none is written, and Pydantic AI takes the time of loading.
Lost, and reported: ids of messages, agents, events, data and sources, names of files, finish reasons that Pydantic AI
would refuse.

Read `fields` first: which fields each release writes, and the field tables (`formats/field_table/` explains them).
Then `messages/documents` (requests, responses), `messages/requests` (prompts and parts of several roles), `content`,
`tools`, `files`, `reasoning` (signatures), `usage`. `stream` is the decoder; only it may import `streams`. Otherwise:
the core of `formats` and the model. `thread_protocol` is written in a dialect of the same parts. Free to change:
detection, a new release in `fields`. Stored, so never renamed: residue keys and spelling hints (`"$"`: `absent`,
`prompts`, `joined`, `args` ...).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.formats.contract import Format

if TYPE_CHECKING:
    from hansard.formats.contract import Kind
    from hansard.model.diff import Difference


def sniff(document: Any) -> int:
    """Only Pydantic AI has requests and responses with parts in one list."""
    if type(document) is not list or not document or not all(type(record) is dict for record in document):
        return 0
    known = sum(
        record.get("kind") in ("request", "response") and type(record.get("parts")) is list for record in document
    )
    if not known or any(type(record.get("kind")) is not str for record in document):
        return 0
    return 3 if known == len(document) else 2


def explain(difference: Difference) -> tuple[str, Kind] | None:
    """The reason for what Pydantic AI would refuse a history for."""
    from hansard.model.times import is_time

    if difference.field == "finishReason" and difference.role == "assistant":
        return "Pydantic AI refuses a history with a finish reason it does not know", "metadata"
    if difference.field == "createdAt" and difference.role and not is_time(difference.before):
        return "Pydantic AI takes only dates and times of ISO 8601", "metadata"
    return None


FORMAT = Format(
    name="pydantic-ai",
    title="Pydantic AI message history",
    module=__name__,
    sniff=sniff,
    keys=frozenset(),
    profiles=("2.62", "2.66"),
    binds=True,
    strict_unicode=True,
    why={"agentId": "Pydantic AI messages do not say which agent they are of"},
    explain=explain,
)
