"""What a ledger returns: plain types to read, the canonical value to give back."""

from __future__ import annotations

import ast
import asyncio
import inspect
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

import hansard
from hansard import Conversation, Ledger, Message, StoredMessage, StoredRun, StoredThread, TextPart, Usage
from hansard.model import Agent, Context, ModelRef, native, stored
from hansard.model.conversation import Run
from hansard.model.stored import stored_message, stored_run

RICH = Message.assistant(
    "hi", id="m1", created_at="2026-01-02T03:04:05Z", model="m", usage=Usage(input_tokens=3, output_tokens=4)
)


def calls(ledger: Ledger) -> list[StoredMessage]:
    """A message from every reading and appending call."""
    ledger.create_thread("t", agents=[Agent(id="a")])
    found = [ledger.append("t", Message.user("1")), *ledger.append("t", [Message.user("2"), Message.user("3")])]
    found += [ledger.get("t", found[0].id), *ledger.messages("t").items, *ledger.transcript("t")]
    found += ledger.iter_transcript("t")
    with ledger.begin_run("t") as run:
        found += [*run.stage(Message.assistant("4")), *run.messages()]
        found += ledger.stage("t", run.id, [Message.assistant("5")])
        found += ledger.run_messages("t", run.id)
    return found


async def awaited(ledger: Ledger) -> list[StoredMessage]:
    aio = ledger.aio
    found = [await aio.append("t", Message.user("1")), *await aio.append("t", [Message.user("2")])]
    found += [await aio.get("t", found[0].id), *(await aio.messages("t")).items, *await aio.transcript("t")]
    return [*found, *[message async for message in aio.iter_transcript("t")]]


def test_every_call_returns_stored_messages(ledger: Ledger) -> None:
    for message in [*calls(ledger), *asyncio.run(awaited(ledger))]:
        assert type(message) is StoredMessage
        assert (type(message.id), type(message.created_at)) == (str, str)
        assert message.id
        assert message.created_at > "2020"
        assert (message.model, message.usage, message.finish_reason, message.metadata) == (None,) * 4
    for thread in [ledger.thread("t"), *ledger.threads().items, *ledger.iter_threads(), ledger.checkout("t", None)]:
        assert type(thread) is StoredThread
        assert (thread.usage.total, thread.project, thread.models, thread.agents["a"].name) == (0, None, [], None)
    assert [thread.title for thread in ledger.iter_threads()] == [None]  # its head is before all messages
    for run in [*ledger.runs("t"), ledger.get_run("t", ledger.runs("t")[0].id)]:
        assert type(run) is StoredRun
        assert (run.thread_id, run.status, run.agent_id, run.started_at > "2020") == ("t", "committed", None, True)


def test_an_imported_message_without_id_and_time_has_both(ledger: Ledger) -> None:
    given = hansard.read({"messages": [{"role": "user", "content": "hi"}]}, "openai-chat")
    thread = ledger.import_conversation(given)
    (message,) = ledger.transcript(thread.id)
    assert message.id
    assert message.created_at == thread.created_at
    assert ledger.export_conversation(thread.id).messages[0].created_at is UNSET  # as it came


KINDS = [kind for kind in vars(stored).values() if inspect.isclass(kind) and kind.__module__ == stored.__name__]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_is_declared_with_its_plain_type(kind: Any) -> None:
    (body,) = ast.parse(inspect.getsource(kind)).body
    declared = {node.target.id for node in ast.walk(body) if isinstance(node, ast.AnnAssign)}  # type: ignore[union-attr]
    base = kind.__mro__[1]
    wanted = {name for name, hint in base.__annotations__.items() if "UnsetType" in hint}
    assert wanted <= declared


def test_a_stored_message_is_given_back_as_it_was() -> None:
    rich = native.decode(
        Message, b'{"role":"user","parts":[],"parentMessageId":null,"strange":1,"context":{"cwd":"/"}}'
    )
    for message in (RICH, rich):
        again = stored_message(message)
        assert again.plain() == message
        assert native.encode(again.plain()) == native.encode(message)
        assert (again == message, message == again) == (True, True)
        assert native.same(Conversation(messages=[again]), Conversation(messages=[message]))
    assert stored_message(RICH) != Message.user("hi")


def test_agents_and_runs_of_a_ledger_become_plain_in_a_conversation(ledger: Ledger) -> None:
    thread = ledger.create_thread(agents=[Agent(id="a")])
    with ledger.begin_run(thread.id, "a") as run:
        run.stage(Message.assistant("hi"))
    made = Conversation(
        messages=ledger.transcript(thread.id), agents=ledger.thread(thread.id).agents, runs=ledger.runs(thread.id)
    )
    assert made.agents == {"a": Agent(id="a")}
    assert made.runs is not UNSET
    assert [type(one) for one in (made.messages[0], made.agents["a"], made.runs[0])] == [Message, Agent, Run]
    assert made.agents["a"].name is UNSET


def test_absent_is_none_and_null_is_kept() -> None:
    null = stored_message(Message(role="user", parts=[], parent_message_id=None))
    absent = stored_message(Message(role="user", parts=[]))
    assert (null.parent_message_id, absent.parent_message_id) == (None, None)
    assert (null.plain().parent_message_id, absent.plain().parent_message_id) == (None, UNSET)
    assert stored_run(Run(id="r", fork_from_message_id=None)).plain() == Run(id="r", fork_from_message_id=None)


def test_nested_values_are_plain_too() -> None:
    message = stored_message(
        Message(role="user", parts=[], usage=Usage(input_tokens=3), model=ModelRef(name="m"), context=Context(cwd="/"))
    )
    assert message.usage is not None
    assert message.model is not None
    assert message.context is not None
    assert (message.usage.output_tokens, message.usage.total) == (None, 3)
    assert (message.model.provider, message.context.git_branch) == (None, None)


def test_a_stored_message_is_appended_as_it_is(ledger: Ledger) -> None:
    one, other = ledger.create_thread().id, ledger.create_thread().id
    said = ledger.append(one, RICH)
    first = replace(RICH, parent_message_id=None)  # what the ledger says of a first message
    assert said == first
    assert ledger.append(other, said) == first
    assert ledger.transcript(other) == [first]
    assert hansard.append_answer(Conversation(messages=[]), said).messages == [first]


def test_repr_shows_what_is_there() -> None:
    assert repr(Message.user("hi")) == "Message(role='user', parts=[TextPart(text='hi')])"
    assert "UNSET" not in repr(stored_message(RICH))


def test_total_is_what_was_said_or_the_sum() -> None:
    assert Usage().total == 0
    assert Usage(input_tokens=3, output_tokens=4, total_tokens=9).total == 9
    assert stored_message(RICH).usage.total == 7  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (Message(role="user", parts="hi"), "parts of a message is a list of parts, not 'hi'"),  # type: ignore[arg-type]
        (Message(role="user", parts=["hi"]), "invalid part 'hi'"),  # type: ignore[list-item]
        (Message(role=5, parts=[]), "role of a message is a string, not 5"),  # type: ignore[arg-type]
        (Message(role="user", parts=[], id=5), "id of a message is a string, not 5"),  # type: ignore[arg-type]
        ("hi", "expected a Message, not str"),
    ],
)
def test_a_message_of_wrong_types_is_rejected(ledger: Ledger, message: Any, problem: str) -> None:
    thread = ledger.create_thread().id
    for given in (message, [message]):
        with pytest.raises(hansard.HansardError, match=problem):
            ledger.append(thread, given)
    assert ledger.transcript(thread) == []


def test_validate_names_what_is_no_message() -> None:
    wrong = [
        Message(role="usr", parts=[]),
        Message(role="user", parts="hi"),  # type: ignore[arg-type]
        Message(role="user", parts=[TextPart(text="a"), 5]),  # type: ignore[list-item]
    ]
    found = hansard.validate(Conversation(messages=wrong), "anthropic")
    assert [(one.severity, one.path, one.check) for one in found] == [
        ("error", "$.messages[0].role", "roles"),
        ("error", "$.messages[1].parts", "parts"),
        ("error", "$.messages[2].parts[1]", "parts"),
    ]


def test_validate_takes_what_read_takes() -> None:
    chat = {"max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}
    several = {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}
    with pytest.raises(hansard.HansardError, match="the data fits"):
        hansard.validate(several)
    assert hansard.validate(chat, from_="openai-chat") == []
    assert [one.check for one in hansard.validate(chat, "anthropic")] == ["empty", "required"]
    assert [one.check for one in hansard.validate(b'{"contents": []}', from_="gemini")] == []
