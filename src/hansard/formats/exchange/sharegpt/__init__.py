"""ShareGPT training files: an array of conversations, or one per line.  As LLaMA-Factory and axolotl read them.

    canonical                         native
    user, assistant, system           human, gpt, system; user, assistant, bot ... are other spellings
    first system message              the field `system`, if read from there
    tool-call                         function_call: a string of JSON with name and arguments; several are a list
    tool-result                       observation: without ids, it answers the first unanswered call
    event, raw(sharegpt)              any other record, verbatim

A record is a message; a canonical message of text and calls becomes several records. `tools`, images and all other
fields beside the records are residue. Lost, and reported: call ids, reasoning, files, errors, times, models.

One module: `messages`; files of many conversations are in `exchange.dataset`. May import: `exchange.dataset`, the core
of `formats`, the model. Free to change: detection, other spellings of roles.
Stored, so never renamed: residue keys and spelling hints (`"$"`).
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

LISTS = ("conversations", "items")


_SPOKEN = ("from", "value", "role", "content")


def sniff(document: Any) -> int:
    """Lists of `from` and `value` are unique to ShareGPT."""
    from hansard.formats.exchange.dataset import first_objects

    records = first_objects(document)
    sure = 3
    for record in records:
        said = (
            next((record[key] for key in LISTS if type(record.get(key)) is list), None) if _is_object(record) else None
        )
        if said is None or not all(map(_is_object, said)):
            return 0
        if not any("from" in one and "value" in one for one in said):
            if said and not any(key in one for one in said for key in _SPOKEN):
                return 0
            sure = 1
    return sure if records else 0


def _is_object(value: Any) -> bool:
    return type(value) is dict


FORMAT = Format(
    name="sharegpt",
    title="ShareGPT training files",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"conversations", "items"}),
    text=True,
)
