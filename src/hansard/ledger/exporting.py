"""A thread as one conversation again: every branch, run and snapshot, the bodies as they came."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from hansard.ledger import bodies, branches, tree
from hansard.ledger.backends.driver import Tx, unsafe
from hansard.ledger.rows import ThreadRow, described, id_at
from hansard.model import native
from hansard.model.conversation import Conversation, Message, Snapshot
from hansard.model.tree import active_path


def conversation(tx: Tx, thread: ThreadRow) -> Conversation:
    """The whole thread. An import that nobody touched comes out as it went in."""
    rows = tx.all("all_messages", thread=thread.thread)
    messages = tree.messages_of(tx, [(row[1], row[5]) for row in rows], verbatim=True)
    nodes = branches.nodes(tx, thread)
    messages = [
        _placed(message, node.id, node.parent_id, nodes[i - 1].id if i else None)
        for i, (message, node) in enumerate(zip(messages, nodes, strict=True))
    ]
    value = described(thread)
    runs = [run.value for run in branches.runs_of(tx, thread).values()]
    snapshots = [
        native.decode_own(Snapshot, bodies.unsealed(body)) for _, _, body in tx.all("snapshots", thread=thread.thread)
    ]
    value = replace(
        value,
        messages=messages,
        runs=runs or value.runs,
        snapshots=snapshots or value.snapshots,
    )
    head = unsafe(id_at(tx, thread, thread.head))
    path = active_path(value)
    if (nodes[path[-1]].id if path else None) != head:
        value = _headed(value, head, [node.id for node in nodes])
    return value


def _placed(message: Message, key: str, parent: str | None, before: str | None) -> Message:
    """The message, naming its parent where that is not the message before it in the list."""
    if message.parent_message_id is UNSET and parent != before:
        message = replace(message, parent_message_id=parent)
    return message


def _headed(value: Conversation, head: str | None, keys: list[str]) -> Conversation:
    """The head has moved since: say where, and give ids to messages that had none, so that it can be said."""
    messages = [
        message if message.id is not UNSET else replace(message, id=key)
        for message, key in zip(value.messages, keys, strict=True)
    ]
    return replace(value, messages=messages, head=head)
