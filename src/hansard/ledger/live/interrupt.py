"""Stopping a run from wherever one is: what it had said by then is kept in the transcript, marked as interrupted.

The one who does the run is shut out by its next write. A call that nobody answered is given the answer that it was
interrupted: whether its tool ran is not known, and it is not to be run again because of that.
"""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Conflict
from hansard.ledger import runs
from hansard.ledger.backends.driver import Tx
from hansard.ledger.ids import NewIds
from hansard.ledger.live.tail import last_words, partial_of
from hansard.ledger.rows import RunRow, find_run, find_thread
from hansard.model.calls import Links
from hansard.model.conversation import Message, Run
from hansard.model.parts import ToolResultPart

UNKNOWN = "The run was stopped before this call was answered; whether its tool ran is not known."


def stop(tx: Tx, thread_id: str, run_id: str, now: int, new_ids: NewIds) -> Run:
    """End an active run where it stands; one that has ended is left as it is."""
    thread = find_thread(tx, thread_id, lock=True)
    row: RunRow = find_run(tx, thread, run_id, lock=True)
    if row.status != runs.ACTIVE:
        return row.value
    said, damage = partial_of(tx, thread.thread, row)
    row = row._replace(fence=row.fence + 1)
    row = row if damage is UNSET else row.saying(replace(row.value, error=damage))
    row.save(tx, thread.thread)
    said += unknown_results([*runs.messages(tx, thread_id, run_id), *said])
    if items := last_words(tx, thread, row, said, now, new_ids):
        runs.stage(tx, thread_id, run_id, None, items, now, row.chunks)
    if items or row.staged:
        try:
            return runs.commit(tx, thread_id, run_id, None, now)
        except Conflict:  # the conversation went on elsewhere: what was said stays beside it
            pass
    return runs.end(tx, thread_id, run_id, None, "aborted", damage, now)


def unknown_results(messages: list[Message]) -> list[Message]:
    """A tool message that says of each unanswered call that nobody knows."""
    links = Links(messages)
    parts: list[ToolResultPart] = []
    for place in links.unanswered():
        call = links.calls[place]
        if call.provider_executed is not True and isinstance(call.tool_call_id, str):
            parts.append(
                ToolResultPart(
                    tool_call_id=call.tool_call_id,
                    tool_name=call.tool_name,
                    output=UNKNOWN,
                    is_error=True,
                    status="interrupted",
                )
            )
    return [Message(role="tool", parts=list(parts))] if parts else []
