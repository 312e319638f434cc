"""Whatever goes in comes out the same, from every backend; what is sent again adds only what is new."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import hansard
from hansard import Conversation, Ledger, Message
from hansard.model import DataPart, Run, Snapshot, TextPart, ToolCallPart, exact_json, native
from tests.ledger.said import said, transcript, words
from tests.strategies import conversations

ODD: list[Any] = [
    "a\x00b",
    "\ud800 alone",
    "pair \U0001f600",
    "\u2028\u2029\x85\x0b\x0c",
    10**30,
    -(10**29),
    {"b": 1, "a": 2, "": None, "__proto__": {"$": []}, "\x00": "\x00"},
    1e22,
    0.1,
    1.0,
    1,
    exact_json.decode("0.12345678901234567890"),
    exact_json.decode("1e400"),
    [[], {}, None, True, ""],
]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_odd_values_come_back_as_they_were(ledger: Ledger, value: Any) -> None:
    text = value if isinstance(value, str) else "x"
    message = Message(
        role="user",
        id=text,
        parts=[TextPart(text=text), DataPart(name=text, data=value), ToolCallPart(tool_call_id=text, input=value)],
        metadata={"value": value},
    )
    thread = ledger.create_thread(text, title=text, resource_id=text, metadata={"value": value})
    stored = ledger.append(thread.id, message)
    assert exact_json.same(native.plain(ledger.get(text, text)), native.plain(stored))
    assert stored.parent_message_id is None
    given = replace(stored, created_at=message.created_at, parent_message_id=message.parent_message_id)
    assert exact_json.same(native.plain(given), native.plain(message))
    assert ledger.thread(text).title == text
    assert ledger.threads(resource_id=text).items[0].id == text
    assert exact_json.same(ledger.thread(text).metadata, {"value": value})


def test_large_parts_come_back_and_are_kept_once(ledger: Ledger) -> None:
    large = "".join(chr(32 + (i * i) % 90) for i in range(16_000_000))
    for _ in range(2):
        thread = ledger.create_thread()
        ledger.append(thread.id, said(large))
        assert transcript(ledger, thread.id) == [large]
    assert ledger.stats().blobs == 1


def test_what_looks_like_our_own_marks_is_data(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    marks: dict[str, Any] = {"$blob": "00" * 32, "type": "text", "unknown": {"fields": {}}, "x": "\\" * 5000}
    ledger.append(thread.id, Message(role="user", parts=[DataPart(name="d", data=marks)]))
    (message,) = ledger.transcript(thread.id)
    assert message.parts[0].data == marks  # type: ignore[union-attr]


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(conversations)
def test_a_conversation_that_was_imported_is_exported_the_same(conversation: Conversation) -> None:
    with hansard.open(":memory:") as ledger:
        thread = ledger.import_conversation(conversation)
        again = ledger.export_conversation(thread.id)
        assert exact_json.same(native.plain(again), native.plain(conversation))
        assert ledger.import_conversation(conversation, thread.id).messages == thread.messages


def tree_of() -> Conversation:
    return Conversation(
        id="t",
        title="Tree",
        messages=[
            said("a", id="1"),
            said("b", id="2"),
            said("c", id="3", run_id="r1"),
            said("C", id="4", parent_message_id="2", run_id="r2"),
            said("z", id="5", parent_message_id=None),
        ],
        runs=[Run(id="r1", status="superseded"), Run(id="r2", status="committed")],
        snapshots=[Snapshot(message_id="2", files={"a": 1})],
        head="4",
    )


def test_branches_runs_and_snapshots_go_in_and_out(ledger: Ledger) -> None:
    ledger.import_conversation(tree_of())
    assert ledger.export_conversation("t") == tree_of()
    assert transcript(ledger, "t") == ["a", "b", "C"]
    assert words(ledger.run_messages("t", "r1")) == ["c"]
    assert len(ledger.branches("t")) == 3
    assert ledger.import_conversation(tree_of()).messages == 5
    ledger.checkout("t", "3")
    assert ledger.export_conversation("t").head == "3"


def test_a_history_sent_again_adds_only_what_is_new(ledger: Ledger) -> None:
    history = [said(text, role) for text, role in (("a", "user"), ("b", "assistant"), ("c", "user"))]
    first = ledger.sync("t", Conversation(messages=history[:2]))
    assert (first.known, first.added, first.forked) == (0, 2, False)
    second = ledger.sync("t", Conversation(messages=history))
    assert (second.known, second.added, second.forked) == (2, 1, False)
    again = ledger.sync("t", Conversation(messages=history))
    assert (again.known, again.added) == (3, 0)
    older = ledger.sync("t", Conversation(messages=history[:1]))
    assert (older.known, older.added) == (1, 0)
    assert transcript(ledger, "t") == ["a", "b", "c"]
    changed = ledger.sync("t", Conversation(messages=[history[0], said("B", "assistant"), history[2]]))
    assert (changed.known, changed.added, changed.forked) == (1, 2, True)
    assert transcript(ledger, "t") == ["a", "B", "c"]
    assert sorted(branch.active for branch in ledger.branches("t")) == [False, True]


def test_the_same_id_with_other_words_is_a_branch_when_synced(ledger: Ledger) -> None:
    ledger.sync("t", Conversation(messages=[said("a", id="1"), said("half", id="2")]))
    grown = ledger.sync("t", Conversation(messages=[said("a", id="1"), said("half and half", id="2")]))
    assert (grown.known, grown.added, grown.forked_from) == (1, 1, "1")
    assert transcript(ledger, "t") == ["a", "half and half"]
    assert ledger.sync("t", Conversation(messages=[said("a", id="1"), said("half and half", id="2")])).added == 0


@given(st.lists(st.sampled_from("ab"), max_size=6), st.lists(st.sampled_from("ab"), max_size=6))
def test_after_sync_the_path_or_a_branch_says_it(one: list[str], two: list[str]) -> None:
    with hansard.open(":memory:") as ledger:
        ledger.sync("t", Conversation(messages=[said(text) for text in one]))
        synced = ledger.sync("t", Conversation(messages=[said(text) for text in two]))
        common = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
        assert synced.known == common
        assert synced.added == len(two) - common
        assert transcript(ledger, "t") == (two if len(two) > common else one)
