"""From differences to losses: each place that reads back otherwise, with its kind and the reason why.

The differences between the source and what reads back decide what is lost, and where. The notes of the repairs that the
rules made give the better reason where they speak of the same place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats import registry
from hansard.formats.contract import KINDS, Kind, Loss, Losses, Written
from hansard.model import parts as p
from hansard.model.conversation import Conversation, Message, Run
from hansard.model.diff import Difference, brief_part, differences

_REASONS = {
    "joined": "{format} writes both as one message",
    "split": "{format} writes each kind as a message of its own",
    "order": "{format} asks for another order",
    "added": "{format} does not work without it",
    "extra": "a detail of {owner}'s own that {format} has no place for",
    "unknown": "a field of a newer schema that {format} has no place for",
}
_STRUCTURE = ("joined", "split", "order", "added")
_INSTRUCTIONS = ("system", "developer")
_KIND_OF_PART: dict[type[p.Part], Kind] = {
    p.FilePart: "files",
    p.ToolCallPart: "calls",
    p.ToolResultPart: "calls",
    p.RetryPart: "calls",
}
_DETAILS = (
    "id",
    "signature",
    "encrypted",
    "binding",
    "state",
    "extra",
    "unknown",
)  # of a part; the rest is its content
_HINT = re.compile(r"\.extra\.[^.]+\.\$(?![^.\[])")
_EMPTY: tuple[Any, ...] = (False, "", [], {})


def proven_losses(written: Written, back: Conversation, notes: list[Loss], left_out: set[int]) -> Losses:
    """The losses of a written document; empty if and only if `back` is the source."""
    by_path = {note.path: note for note in notes}
    additions = iter([note for note in notes if "was added" in note.what])
    losses = Losses()
    for difference in _parted(differences(written.source, back, left_out), by_path):
        note = _note_for(difference, by_path)
        if difference.field == "added" and (note is None or "becomes text" not in note.what):
            note = next(additions, None)
        changed = note is not None and (difference.after is not UNSET or _still_says(back, difference.before))
        loss = _explained(difference, written, left_out, changed=changed)
        if note is not None:
            own = note.path == difference.path or difference.field == "added"
            merged = loss.kind == "spelling" and note.path.endswith("]") and difference.path.startswith(f"{note.path}.")
            what = note.what if own or merged else loss.what
            loss = replace(loss, what=what, why=note.why, kind="repair" if merged else loss.kind)
        losses.append(loss)
    return losses


def _parted(found: list[Difference], notes: dict[str, Loss]) -> Iterator[Difference]:
    """Differences; of a message that is gone, each part, where the parts are of several kinds or have notes."""
    for difference in found:
        message, path = difference.before, f"{difference.path}.parts"
        if difference.field == "messages" and (
            len({_of_part(part, "parts", message.role) for part in message.parts}) > 1
            or any(at.startswith(path) for at in notes)
        ):
            for j, part in enumerate(message.parts):
                yield Difference(f"{path}[{j}]", brief_part(part), "parts", part, message.role, part)
        else:
            yield difference


def _still_says(back: Conversation, value: Any) -> bool:
    """Whether the text of a message or part that a repair took away is in another message now."""
    parts = value.parts if isinstance(value, Message) else [value]
    texts = [part.text if isinstance(part, p.TextPart | p.RefusalPart) else None for part in parts]
    return all(text and any(text in message.text for message in back.messages) for text in texts)


def _note_for(difference: Difference, notes: dict[str, Loss]) -> Loss | None:
    """The note on this place, around it in its part, or inside it; one on a whole message speaks for the whole only."""
    path = difference.path
    while path not in notes:
        cut = max(path.rfind("."), path.rfind("["))
        if cut <= 1 or "].parts" not in path[:cut]:
            break
        path = path[:cut]
    if path in notes:
        return notes[path]
    whole = difference.field in ("messages", *_STRUCTURE) or _HINT.search(difference.path) is not None
    message = difference.path.partition("]")[0] + "]"
    if whole and message in notes:
        return notes[message]
    if difference.field in ("messages", "parts", "content", *_STRUCTURE):
        inside = (f"{difference.path}.", f"{difference.path}[")
        return next((note for at, note in notes.items() if at.startswith(inside)), None)
    return None


def _explained(difference: Difference, written: Written, left_out: set[int], *, changed: bool) -> Loss:
    name, field = written.format.name, difference.field
    kind = _kind(difference, changed)
    explain, reasons = written.format.explain, written.format.why
    known = "runs" if isinstance(difference.owner, Run) else field
    if field in ("messages", "parts") and int(difference.path[len("$.messages[") :].partition("]")[0]) in left_out:
        why = f"on another branch; {name} is linear"
    elif explain is not None and (told := explain(difference)) is not None:
        why, kind = told
    elif known in reasons and not (known == "id" and isinstance(difference.owner, p.Part)):
        why = reasons[known]
    else:
        owner = difference.path.partition(".extra.")[2].partition(".")[0].partition("[")[0] or "the source"
        why = _REASONS.get(field, "{format} has no place for it").format(format=name, owner=owner)
        if difference.path.endswith(".settings.model") and written.format.dialect is not None:
            why = "a model is named for its own provider only"
        elif difference.before is UNSET and difference.after is not UNSET and field != "added":
            why = f"{name} says it where the source does not"
        elif difference.after is not UNSET and field not in _STRUCTURE:
            why = f"{name} has no place for this value"
    return Loss(path=difference.path, what=difference.what, why=why, kind=kind)


def _kind(difference: Difference, changed: bool) -> Kind:
    field, owner, before, after = difference.field, difference.owner, difference.before, difference.after
    if field in _STRUCTURE:
        return "repair"
    if _HINT.search(difference.path) is not None or _says_nothing(difference):
        return "spelling"
    if changed:
        return "repair"
    if field in ("tools", "settings"):
        return "settings"
    if field == "messages":
        return _of_message(before)
    if isinstance(owner, p.Part):
        return _of_part(owner, field, difference.role)
    if field == "role":
        return "instructions" if {before, after} & {*_INSTRUCTIONS} else "text"
    if field == "extra" and isinstance(owner, Conversation):
        return "settings" if _is_request(difference.path.partition(".extra.")[2].partition(".")[0]) else "metadata"
    return "metadata"


def _of_message(message: Message) -> Kind:
    kinds = {_of_part(part, "parts", message.role) for part in message.parts}
    return next((kind for kind in KINDS if kind in kinds), "metadata")


def _of_part(part: p.Part, field: str, role: str) -> Kind:
    kind = _KIND_OF_PART.get(type(part), "text")
    empty = field == "parts" and isinstance(part, p.ReasoningPart) and not part.text
    if empty or (field in _DETAILS and (kind == "text" or field != "extra")):
        return "metadata"
    return "instructions" if kind == "text" and role in _INSTRUCTIONS else kind


def _says_nothing(difference: Difference) -> bool:
    """Whether the difference is one of spelling: a null, a default, the text of an input that is there as data."""
    values: list[Any] = [difference.before, difference.after]
    if difference.field == "inputText":
        return getattr(difference.owner, "input", UNSET) is not UNSET
    if UNSET not in values or difference.field in ("messages", "parts"):
        return False
    value = next(value for value in values if value is not UNSET)
    if value is None:
        return True
    return difference.field in ("extra", "isError") and any(type(value) is type(one) and value == one for one in _EMPTY)


def _is_request(name: str) -> bool:
    return name in registry.names() and registry.get(name).dialect is not None
