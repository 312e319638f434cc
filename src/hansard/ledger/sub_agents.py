"""Sub-agents inside a thread: their messages are marked as a sidechain and follow the call that started them."""

from __future__ import annotations

from collections import Counter

from msgspec import UNSET

from hansard.ledger import summary, tree
from hansard.ledger.backends.driver import Tx
from hansard.ledger.results import SubAgent
from hansard.ledger.rows import ThreadRow
from hansard.model.parts import DataPart, ToolCallPart
from hansard.model.stored import StoredMessage, plain_messages
from hansard.model.times import milliseconds


def of_thread(tx: Tx, thread: ThreadRow) -> list[SubAgent]:
    """Every sub-agent of a thread, in the order of writing. Only messages at forks and of sub-agents are read.

    A sidechain is a sub-agent if it follows a call, or has an agent of its own; otherwise it is a branch left.
    """
    nodes = tree.placed_nodes(tx, thread)
    children = Counter(node.parent_id for node, _ in nodes)
    active = {node.id for node, _ in nodes if node.active}
    owner: dict[str | None, str] = {}
    places: dict[str, list[tuple[int, int]]] = {}
    first: dict[str, tuple[StoredMessage, str | None, str | None]] = {}
    for node, seg in nodes:
        above, parent = owner.get(node.parent_id), node.parent_id
        if children[parent] > 1 or (not node.active and parent in active):
            (message,) = _between(tx, thread, seg, node.depth - 1, node.depth)
            call = _named_call(message)
            if call is None and message.sidechain is True and above is None and parent is not None:
                call = _call_of(message, tree.message_at(tx, thread, parent))
            alone = above is None and parent is None and isinstance(message.agent_id, str)
            if message.sidechain is True and (call is not None or alone):
                first[node.id], above = (message, parent, call), node.id
        if above is not None:
            owner[node.id] = above
            places.setdefault(above, []).append((seg, node.depth))
    return [_sum(tx, thread, *told, places[key]) for key, told in first.items()]


def _sum(
    tx: Tx, thread: ThreadRow, first: StoredMessage, parent: str | None, call: str | None, places: list[tuple[int, int]]
) -> SubAgent:
    found: list[StoredMessage] = []
    for seg in dict.fromkeys(seg for seg, _ in places):
        depths = {depth for one, depth in places if one == seg}
        read = _between(tx, thread, seg, min(depths) - 1, max(depths))
        found += [message for depth, message in enumerate(read, start=min(depths)) if depth in depths]
    times = [time for one in found if isinstance(one.created_at, str) and (time := milliseconds(one.created_at))]
    answers = plain_messages([one for one in found if one.role == "assistant"])
    used = [one.usage for one in answers if one.usage is not UNSET]
    return SubAgent(
        id=first.id,
        parent_id=parent,
        tool_call_id=call,
        agent_id=first.agent_id if isinstance(first.agent_id, str) else None,
        last=found[-1].id,
        messages=len(found),
        usage=summary.token_sum(summary.total(used)),
        seconds=(max(times) - min(times)) / 1000 if times else None,
    )


def _between(tx: Tx, thread: ThreadRow, seg: int, low: int, high: int) -> list[StoredMessage]:
    rows = tx.all("range_up", thread=thread.thread, seg=seg, low=low, high=high, limit=tree.ALL)
    return tree.stored_messages(tx, thread, rows)


def _named_call(message: StoredMessage) -> str | None:
    """The call that started a sub-agent, as its first message was linked to it."""
    held = message.metadata if isinstance(message.metadata, dict) else {}
    found = held.get("toolCallId")
    return found if isinstance(found, str) else None


def _call_of(message: StoredMessage, parent: StoredMessage) -> str | None:
    """The call of the message before that a sub-agent's first message is about, or its only one."""
    calls = [part.tool_call_id for part in parent.parts if isinstance(part, ToolCallPart)]
    told = [
        part.data.get("toolCallId")
        for part in message.parts
        if isinstance(part, DataPart) and isinstance(part.data, dict)
    ]
    named = [call for call in calls if call in told] or (calls if len(calls) == 1 else [])
    return named[0] if named and isinstance(named[0], str) else None
