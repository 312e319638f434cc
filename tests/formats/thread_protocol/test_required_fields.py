"""Every written Thread has the required fields: said, derived in one way, given by `at`, or reported as absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from msgspec import UNSET
from msgspec.structs import replace

import hansard
from hansard import formats
from hansard.cli import run
from hansard.formats.contract import Target
from hansard.formats.thread_protocol.rules import check
from hansard.model import Agent, Conversation, Message, Run, TextPart, Usage, exact_json, native
from hansard.model.times import is_time
from tests.strategies import conversations

AT = "2026-05-06T07:08:09Z"
REQUIRED = {
    "thread": ("version", "thread_id", "created_at", "updated_at", "agents", "turns"),
    "agent": ("agent_id", "agent_name", "created_at"),
    "user": ("submitted_at", "parts"),
    "agent turn": ("agent_id", "started_at", "completed_at", "messages"),
    "request": ("timestamp", "agent_id", "parts"),
    "response": ("timestamp", "agent_id", "parts"),
    "system": ("timestamp", "event_type"),
}


def say(role: str, at: str | None = None, text: str = "hi", **more: Any) -> Message:
    return Message(role=role, parts=[TextPart(text=text)], created_at=UNSET if at is None else at, **more)


def write(conversation: Conversation, at: str | None = None) -> Any:
    return formats.write(conversation, "thread-protocol", target=Target(at=at)).data


def lacking(thread: dict[str, Any]) -> list[str]:
    """The required fields that a thread lacks; messages and turns of unknown kinds may say what they like."""
    found = [f"thread.{name}" for name in REQUIRED["thread"] if name not in thread]
    for agent in thread["agents"].values():
        found += [f"agent.{name}" for name in REQUIRED["agent"] if name not in agent]
    for turn in thread["turns"]:
        kind = "user" if turn["turn_type"] == "user" else "agent turn"
        found += [f"{kind}.{name}" for name in REQUIRED[kind] if name not in turn]
        for record in turn.get("messages", ()):
            names = REQUIRED.get(record.get("message_type"), ())
            found += [f"{record['message_type']}.{name}" for name in names if name not in record]
    return found


@given(conversation=conversations)
def test_with_a_time_given_no_required_field_is_missing(conversation: Conversation) -> None:
    plain = replace(conversation, extra=UNSET, messages=[without_residue(one) for one in conversation.messages])
    assert lacking(write(plain, AT)) == []


def without_residue(message: Message) -> Message:
    parts: list[Any] = [replace(part, extra=UNSET) for part in message.parts if type(part).__name__ != "RawPart"]
    return replace(message, parts=parts, extra=UNSET)


def test_what_is_derived_is_derived_in_one_way() -> None:
    used = [Usage(input_tokens=5, output_tokens=2), Usage(input_tokens=7, output_tokens=1, reasoning_tokens=3)]
    messages = [
        say("user", "2026-01-01T00:00:01Z"),
        say("assistant", "2026-01-01T00:00:02Z", run_id="r", usage=used[0]),
        say("tool", run_id="r"),
        say("assistant", "2026-01-01T00:00:04Z", run_id="r", usage=used[1]),
    ]
    thread = write(Conversation(messages=messages, runs=[Run(id="r", agent_id="a1")]))
    (_, turn) = thread["turns"]
    assert (turn["started_at"], turn["completed_at"]) == ("2026-01-01T00:00:02Z", "2026-01-01T00:00:04Z")
    assert turn["total_usage"] == {"input_tokens": 12, "output_tokens": 3, "thinking_tokens": 3, "total_tokens": 15}
    assert (thread["created_at"], thread["updated_at"]) == ("2026-01-01T00:00:01Z", "2026-01-01T00:00:04Z")
    assert thread["agents"]["a1"]["created_at"] == thread["created_at"]
    assert turn["derived"] == ["started_at", "completed_at", "total_usage"]
    assert check(thread) == []


@given(conversation=conversations)
def test_what_is_derived_is_dropped_again(conversation: Conversation) -> None:
    thread = formats.write(conversation, "thread-protocol")
    back = formats.read(thread.json, "thread-protocol")
    again = formats.write(back, "thread-protocol")
    assert exact_json.same(again.data, thread.data)
    assert native.plain(formats.read(again.json, "thread-protocol")) == native.plain(back)


def test_a_derived_value_that_somebody_changed_is_said() -> None:
    thread = write(Conversation(messages=[say("user", AT)]))
    thread["updated_at"] = "2026-12-31T00:00:00Z"
    back = formats.read(exact_json.encode(thread))
    assert back.updated_at == "2026-12-31T00:00:00Z"
    assert formats.write(back, "thread-protocol").data == thread


def test_a_missing_id_is_a_uuid_that_does_not_depend_on_times() -> None:
    talk = Conversation(messages=[say("user"), say("assistant")])
    ids = {write(talk, at)["thread_id"] for at in (None, AT, "2027-01-01T00:00:00Z")}
    assert len(ids) == 1
    assert len(ids.pop()) == 36
    assert write(Conversation(messages=[say("user", text="other")]))["thread_id"] != write(talk)["thread_id"]


def test_without_any_time_the_fields_are_absent_and_reported() -> None:
    written = formats.write(Conversation(messages=[say("user"), say("assistant")], id="t"), "thread-protocol")
    assert "created_at" not in written.data
    assert {"thread.created_at", "thread.updated_at", "user.submitted_at"} < set(lacking(written.data))
    told = [loss for loss in written.losses if "Target(at=...)" in loss.why]
    absent = ("$.extra.thread-protocol.$.absent", 'nothing becomes ["created_at","updated_at"]')
    assert absent in [(loss.path, loss.what) for loss in told]
    assert {loss.kind for loss in told} == {"metadata"}
    assert formats.write(formats.read(written.json), "thread-protocol").data == written.data


def test_the_parent_thread_is_the_canonical_one() -> None:
    thread = write(Conversation(messages=[say("user", AT)], id="t", parent_thread_id="before"))
    assert thread["parent_thread_id"] == "before"
    assert formats.read(exact_json.encode(thread)).parent_thread_id == "before"


def test_an_agent_that_only_a_run_names_is_registered() -> None:
    talk = Conversation(messages=[say("assistant", AT, run_id="r")], runs=[Run(id="r", agent_id="a9")])
    thread = write(talk)
    assert list(thread["agents"]) == ["a9"]
    assert formats.read(exact_json.encode(thread)).agents is UNSET


# -- the ledger and the command line -----------------------------------------------------------------------------------


@pytest.fixture
def thread(tmp_path: Path) -> tuple[Path, str]:
    """A thread in a ledger: a finished run, and one that is active."""
    path = tmp_path / "ledger.db"
    with hansard.open(str(path)) as ledger:
        ledger.create_thread("t", agents=[Agent(id="a1", name="Weather")])
        ledger.append("t", say("user"))
        with ledger.begin_run("t", "a1") as first:
            first.stage(say("assistant", text="Sunny."))
            first.commit()
        ledger.append("t", say("user", text="And now?"))
        going = ledger.begin_run("t", "a1")
        going.stage(say("assistant", text="Let me"))
        going.release()
    return path, "t"


def test_an_active_run_is_a_partial_turn_and_the_last(thread: tuple[Path, str]) -> None:
    with hansard.open(str(thread[0])) as ledger:
        active = ledger.active_runs("t")[0].id
        written = formats.write(ledger.export_conversation("t"), "thread-protocol")
    turns = written.data["turns"]
    assert [turn["turn_type"] for turn in turns] == ["user", "agent", "user", "agent"]
    assert [("completed_at" in turn) for turn in turns if turn["turn_type"] == "agent"] == [True, False]
    assert turns[-1]["messages"][0]["parts"][0]["content"] == "Let me"
    assert turns[-1]["run_id"] == active
    assert [finding for finding in check(written.data) if finding.severity == "error"] == []
    (_, run) = formats.read(written.json).runs or ()
    assert (run.id, run.status, run.completed_at) == (active, "active", UNSET)


def test_an_active_run_that_said_nothing_is_an_empty_turn() -> None:
    talk = Conversation(messages=[say("user", AT)], runs=[Run(id="r", agent_id="a", status="active", started_at=AT)])
    written = formats.write(talk, "thread-protocol")
    assert written.data["turns"][-1]["messages"] == []
    assert formats.read(written.json).runs == talk.runs


def test_an_export_has_the_times_of_the_ledger(thread: tuple[Path, str], tmp_path: Path) -> None:
    out = tmp_path / "thread.json"
    assert run(["export", "t", "--to", "thread-protocol", "--db", str(thread[0]), "-o", str(out)]) == 0
    document = exact_json.decode(out.read_bytes())
    with hansard.open(str(thread[0])) as ledger:
        times = [message.created_at for message in ledger.transcript("t")]
        runs = ledger.runs("t")
    assert [turn["submitted_at"] for turn in document["turns"] if turn["turn_type"] == "user"] == times[::2]
    assert document["turns"][1]["started_at"] == runs[0].started_at
    assert document["turns"][1]["completed_at"] == runs[0].completed_at
    assert lacking(document) == ["agent turn.completed_at"]


def test_the_command_line_gives_the_time_of_now(tmp_path: Path) -> None:
    source, out = tmp_path / "chat.json", tmp_path / "thread.json"
    source.write_bytes(exact_json.encode({"messages": [{"role": "user", "content": "hi"}]}))
    command = ["convert", str(source), "--from", "anthropic", "--to", "thread-protocol", "-o", str(out)]
    assert run(command) == 0
    document = exact_json.decode(out.read_bytes())
    assert lacking(document) == []
    assert is_time(document["created_at"])
