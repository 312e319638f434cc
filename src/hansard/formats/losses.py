"""From differences to losses: what reads back otherwise, with the reason why.

The difference between the source and what reads back decides what is lost. The notes of the repairs
that the rules made give the better reason where they speak of the same place.
"""

from __future__ import annotations

from hansard.formats.contract import Loss, Written
from hansard.model.conversation import Conversation
from hansard.model.diff import Difference, differences
from hansard.model.tree import active_path

_IDENTITY = {
    "id",
    "parentMessageId",
    "createdAt",
    "updatedAt",
    "agentId",
    "runId",
    "head",
    "resourceId",
    "parentThreadId",
}
_STRUCTURE = ("joined", "split", "order", "added")
_INSTRUCTIONS = ("the system message", "the developer message")
_REASONS = {
    "joined": "{format} writes both as one message",
    "split": "{format} writes each kind as a message of its own",
    "order": "{format} asks for another order",
    "added": "{format} does not work without it",
    "extra": "a detail of {owner}'s own that {format} has no place for",
    "unknown": "a field of a newer schema that {format} has no place for",
}


def proven_losses(written: Written, back: Conversation, notes: list[Loss]) -> list[Loss]:
    """The losses of a written document; empty if and only if `back` is the source."""
    found = differences(written.source, back)
    if not found:
        return []
    left = set(range(len(written.source.messages))) - set(active_path(written.source))
    branches = set() if written.format.trees else {f"$.messages[{i}]" for i in left}
    losses: list[Loss] = []
    spoken: set[Loss] = set()
    by_path = {note.path: note for note in notes}
    for difference in found:
        note = _note_for(difference, by_path)
        if difference.path in branches:
            losses.append(_loss(difference, f"on another branch; {written.format.name} is linear", "content"))
        elif note is None:
            losses.append(_explained(difference, written))
        elif note not in spoken:
            spoken.add(note)
            losses.append(note)
    losses.extend(note for note in notes if note not in spoken)
    return losses


def _note_for(difference: Difference, notes: dict[str, Loss]) -> Loss | None:
    """The note on the same place or the part around it; one on a whole message speaks for the whole only."""
    path = difference.path
    while path not in notes:
        cut = max(path.rfind("."), path.rfind("["))
        if cut <= 1 or "].parts" not in path[:cut]:
            message = path.partition("]")[0] + "]"
            about = difference.field in _STRUCTURE or difference.path.endswith(".$")
            return notes.get(message) if about else None
        path = path[:cut]
    return notes[path]


def _explained(difference: Difference, written: Written) -> Loss:
    name, field = written.format.name, difference.field
    if written.format.explain is not None and (told := written.format.explain(difference.path, difference.what)):
        return told
    if field in written.format.why:
        return _loss(difference, written.format.why[field], _kind(difference))
    owner = difference.path.partition(".extra.")[2].partition(".")[0].partition("[")[0] or "the source"
    reason = _REASONS.get(field, "{format} has no place for it")
    if field == "extra" and owner == name:
        reason = "{format} would not write it so"
    return _loss(difference, reason.format(format=name, owner=owner), _kind(difference))


def _kind(difference: Difference) -> str:
    if difference.field == "extra":
        if difference.path.endswith(".$"):
            return "spelling"
        return "settings" if difference.path.startswith("$.extra.") else "content"
    if difference.field in _STRUCTURE:
        return "repair"
    if difference.field == "messages" and difference.what.startswith(_INSTRUCTIONS):
        return "instructions"
    if difference.field == "inputText":
        return "spelling"
    return "identity" if difference.field in _IDENTITY else "content"


def _loss(difference: Difference, why: str, kind: str) -> Loss:
    return Loss(path=difference.path, what=difference.what, why=why, kind=kind)
