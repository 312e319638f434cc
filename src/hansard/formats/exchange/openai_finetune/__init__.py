"""OpenAI fine-tuning files: one conversation per line, as Chat Completions messages.  As of openai 3.49.0.

    canonical                         native
    messages                          `messages`, as in `openai_chat`; `weight` and `name` are residue
    messages, the last ones preferred `input.messages`, then `preferred_output`; `non_preferred_output` is residue
    residue of the conversation       `tools`, `parallel_tool_calls`, fields of a grader

A file holds many conversations. An array of such objects is read too, and written back as an array. Lost, and
reported: the same as in `openai-chat`.

One module: `messages`; files of many conversations are in `exchange.dataset`. It builds on `openai_chat`, which it may
import besides `exchange.dataset`, the core of `formats` and the model. Free to change: detection.
Stored, so never renamed: residue keys and spelling hints (`"$"`).
"""

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
    return type(record) is dict and type(record.get("role")) is str and not {"parts", "messageId"} & record.keys()


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
