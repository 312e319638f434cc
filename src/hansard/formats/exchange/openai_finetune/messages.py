"""Lines of OpenAI fine-tuning files: `read`, `write`, `split` and `join`."""

from __future__ import annotations

from typing import Any

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.exchange.dataset import join, read_one, split, write_one
from hansard.formats.exchange.openai_finetune import is_preference
from hansard.formats.openai_chat.messages import read_message, write_message
from hansard.formats.openai_chat.rules import RULES
from hansard.formats.residue import pack, unpack
from hansard.model.conversation import Conversation, Message

NAME = "openai-finetune"


def _read_records(records: Any, place: str, names: dict[str, str], out: list[Message]) -> None:
    if type(records) is not list:
        raise Unreadable("missing list of messages", place)
    for i, record in enumerate(records):
        read_message(record, place + "[{}]", i, names, out)


def _write_records(messages: list[Message]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for message in messages:
        write_message(message, records)
    return records


def read(document: Any) -> Conversation:
    """One line, or an array of one object."""
    record, hints = read_one(document, "lines")
    messages: list[Message] = []
    names: dict[str, str] = {}
    if not is_preference(record):
        _read_records(record.pop("messages", None), "$.messages", names, messages)
        return Conversation(messages=messages, extra=pack(NAME, record, hints))
    given = record["input"]
    _read_records(given.pop("messages", None), "$.input.messages", names, messages)
    hints["preferred"] = len(messages)
    answer: list[Message] = []
    _read_records(record.pop("preferred_output"), "$.preferred_output", names, answer)
    return Conversation(messages=[*messages, *answer], extra=pack(NAME, record, hints))


def write(conversation: Conversation, target: Target) -> bytes:
    """The line it was read from; for conversations of other formats a line with `messages`."""
    rest, hints = unpack(NAME, conversation.extra)
    messages, cut = conversation.messages, hints.get("preferred")
    if type(cut) is int and 0 <= cut <= len(messages) and type(rest.get("input")) is dict:
        given = {**rest["input"], "messages": _write_records(messages[:cut])}
        record = {**rest, "input": given, "preferred_output": _write_records(messages[cut:])}
    else:
        record = {"messages": _write_records(messages), **rest}
    return write_one(record, hints, "lines")


__all__ = ["RULES", "join", "read", "split", "write"]
