"""`parentMessageId` of what the ledger gives out: always a string or null; an untouched import stays as it came."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

import hansard
from hansard.ledger.ledger import Ledger
from hansard.model import Conversation, Message, TextPart


def said(text: str, role: str = "user", **more: Any) -> Message:
    return Message(role=role, parts=[TextPart(text=text)], **more)


def assert_linked(messages: list[Message], before: str | None = None) -> None:
    for message in messages:
        assert message.parent_message_id == before
        assert isinstance(message.id, str)
        before = message.id


def test_every_message_names_its_parent(ledger: Ledger) -> None:
    thread = ledger.create_thread("t")
    first = ledger.append("t", said("a"))
    rest = ledger.append("t", [said("b", "assistant"), said("c")])
    last = ledger.append("t", said("d", "assistant"))
    every = [first, *rest, last]
    assert_linked(every)
    assert ledger.transcript("t") == every
    assert [ledger.get("t", str(message.id)) for message in every] == every
    assert list(ledger.iter_transcript("t", batch=1)) == every
    assert ledger.export_conversation("t").messages == every
    assert ledger.append("t", every[1]) == every[1], "what the ledger gave out is the same message"
    assert thread.id == "t"


@pytest.mark.parametrize("limit", [1, 2, 3, 9])
def test_pages_in_both_directions_name_parents(ledger: Ledger, limit: int) -> None:
    ledger.create_thread("t")
    every = ledger.append("t", [said(str(n)) for n in range(5)])
    newest: list[Message] = []
    before: str | None = None
    while not newest or before:
        page = ledger.messages("t", limit=limit, before=before)
        newest, before = newest + page.items, page.next
    assert newest == every[::-1]
    assert list(ledger.iter_transcript("t", batch=limit)) == every


def test_a_branch_names_the_message_it_forks_from(ledger: Ledger) -> None:
    ledger.create_thread("t")
    m1, m2, _ = ledger.append("t", [said("M1"), said("M2", "assistant"), said("M3")])
    ledger.fork("t", str(m2.id))
    other = ledger.append("t", said("M3'"))
    assert other.parent_message_id == m2.id
    assert_linked(ledger.transcript("t"))
    assert ledger.get("t", str(other.id)).parent_message_id == m2.id
    parents = [message.parent_message_id for message in ledger.export_conversation("t").messages]
    assert parents == [None, m1.id, m2.id, m2.id]


def test_an_untouched_native_import_is_exported_as_it_came(ledger: Ledger) -> None:
    parts = [{"type": "text", "text": "hi"}]
    plain = {"role": "user", "parts": parts, "id": "M1", "metadata": {"schemaVersion": 1}}
    document = {"id": "t", "messages": [plain, {**plain, "id": "M2", "parentMessageId": "M1"}, {**plain, "id": "M3"}]}
    ledger.import_conversation(hansard.read(document, "hansard"))
    assert_linked(ledger.transcript("t"))
    assert hansard.write(ledger.export_conversation("t"), "hansard").json == hansard.convert(document, "hansard").json
    ledger.import_conversation(hansard.read({**document, "messages": [*document["messages"], {**plain, "id": "M4"}]}))
    ledger.append("t", said("more"))
    assert_linked(ledger.export_conversation("t").messages)


def test_an_import_that_goes_on_is_exported_with_the_time_of_its_last_change(ledger: Ledger) -> None:
    told = "2025-01-15T10:05:00Z"
    ledger.import_conversation(Conversation(id="t", messages=[said("a", id="a")], created_at=told, updated_at=told))
    assert ledger.export_conversation("t").updated_at == told
    ledger.append("t", said("b"))
    exported = ledger.export_conversation("t")
    assert (exported.created_at, exported.updated_at) == (told, ledger.thread("t").updated_at)


def test_messages_without_ids_are_named_by_those_of_the_ledger(ledger: Ledger) -> None:
    ledger.import_conversation(Conversation(id="t", messages=[said("a"), said("b")]))
    assert_linked(ledger.transcript("t"))
    assert [message.id for message in ledger.export_conversation("t").messages] == [UNSET] * 2
    ledger.append("t", said("c"))
    assert_linked(ledger.export_conversation("t").messages)
