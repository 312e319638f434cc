"""OpenAI fine-tuning files."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """Lines of objects with messages are training files; a single object is a request."""
    from hansard.formats.exchange.dataset import first_objects
    from hansard.formats.openai_chat import ROLES

    records = first_objects(document)
    if not records or type(document) is dict:
        return 3 if type(document) is dict and is_preference(document) else 0
    known = False
    for record in records:
        if type(record) is not dict:
            return 0
        if is_preference(record):
            known = True
            continue
        said = record.get("messages")
        if type(said) is not list or not all(map(_is_message, said)):
            return 0
        known = known or any(one["role"] in ROLES for one in said)
    return 3 if known else 0


def is_preference(record: dict[str, Any]) -> bool:
    return "messages" not in record and type(record.get("input")) is dict and "preferred_output" in record


def _is_message(record: Any) -> bool:
    return type(record) is dict and type(record.get("role")) is str and "parts" not in record


FORMAT = Format(
    name="openai-finetune",
    title="OpenAI fine-tuning files, one conversation per line",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"preferred_output"}),
    text=True,
    binds=True,
    own_provider="openai",
    suffix="jsonl",
)
