"""Names of tools that a provider allows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from hansard.model.conversation import Message
from hansard.model.parts import ToolCallPart


def called(messages: Sequence[Message]) -> list[str]:
    """The names of the tools that messages call, in order."""
    calls = (part for message in messages for part in message.parts if type(part) is ToolCallPart)
    return [str(call.tool_name or "") for call in calls]


def legal_names(names: Iterable[str], is_name: Callable[[str], object]) -> dict[str, str]:
    """A legal name for each of these, the same for equal ones and of no other tool; a legal one stays.

    >>> legal_names(["a b", "a_b", "a.b"], re.compile("[a-z_0-9]+").fullmatch)
    {'a_b': 'a_b', 'a b': 'a_b_2', 'a.b': 'a_b_3'}
    """
    given = list(dict.fromkeys(names))
    made = {name: name for name in given if is_name(name)}
    taken = set(made)
    counts: dict[str, int] = {}  # the last number appended to a name
    for name in given:
        if name in made:
            continue
        base = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "tool"
        legal = base = base if is_name(base) else f"_{base}"[:64]
        while legal in taken:
            counts[base[:56]] = count = counts.get(base[:56], 1) + 1
            legal = f"{base[:56]}_{count}"
        taken.add(legal)
        made[name] = legal
    return made
