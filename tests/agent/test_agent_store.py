"""An agent whose messages are kept in a store of others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import hansard
from hansard.agent import Agent, LedgerMemoryStore, ScriptedModel
from hansard.errors import Conflict
from hansard.streams.accumulator import fold
from tests.testing.test_store_conformance import PlainStore

SCRIPT: list[Any] = [["Let me look. ", {"tool": "look", "input": {"x": 2}, "id": "c1"}], ["It is 4."]]


class Watched(PlainStore):
    """Notes when messages are saved."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: list[list[str]] = []

    async def save_messages(self, *, messages: list[dict[str, Any]]) -> None:
        self.saved.append([f"{one['role']}/{one['type']}" for one in messages])
        await super().save_messages(messages=messages)


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for one in messages for part in one["content"]["parts"] if part["type"] == "text"]


def looking(store: Any, script: Any = SCRIPT) -> tuple[Agent, Watched]:
    def look(x: int) -> int:
        store.seen = list(store.saved)
        return x * 2

    return Agent(model=ScriptedModel(list(script)), store=store, tools=[look]), store


def test_a_store_is_saved_to_at_every_boundary() -> None:
    agent, store = looking(Watched())
    result = asyncio.run(agent.run("t", "What is it?"))
    assert result.output == "It is 4."
    assert store.saved == [["user/text"], ["assistant/tool", "tool/tool"], ["assistant/text"]]
    assert store.seen == [["user/text"]]
    listed = asyncio.run(store.list_messages(thread_id="t"))
    assert texts(listed) == ["What is it?", "Let me look. ", "It is 4."]
    (invocation,) = listed[2]["content"]["parts"]
    assert (invocation["toolCallId"], invocation["result"], invocation["state"]) == ("c1", 4, "result")
    thread = asyncio.run(store.get_thread_by_id(thread_id="t"))
    assert thread is not None
    assert thread["id"] == "t"


def test_the_next_run_reads_the_store() -> None:
    store = Watched()
    asyncio.run(looking(store)[0].run("t", "What is it?"))
    seen: list[Any] = []

    def still(messages: list[Any]) -> Any:
        seen.extend(messages)
        return ["Still 4."]

    asyncio.run(Agent(model=ScriptedModel(still), store=store).run("t", "And now?"))
    asked = [part.content for message in seen for part in message.parts if hasattr(part, "content")]
    assert asked == ["What is it?", "Let me look. ", 4, "It is 4.", "And now?"]
    assert texts(asyncio.run(store.list_messages(thread_id="t")))[-2:] == ["And now?", "Still 4."]


def test_streams_and_clients_are_served_too() -> None:
    store = Watched()
    agent, _ = looking(store)

    async def go() -> tuple[Any, bytes]:
        deltas = [delta async for delta in agent.stream("t", "What is it?")]
        agent.agent.model = ScriptedModel([["Still 4."]])
        body = {"id": "t", "messages": [{"id": "u2", "role": "user", "parts": [{"type": "text", "text": "And now?"}]}]}
        data = b"".join([piece async for piece in await agent.sse(body)])
        await agent.wait()
        return fold(deltas), data

    folded, data = asyncio.run(go())
    assert [message.role for message in folded] == ["assistant", "tool", "assistant"]
    assert b"Still" in data
    assert data.endswith(b"data: [DONE]\n\n")
    ui = asyncio.run(agent.ui_messages("t"))
    assert [message["role"] for message in ui] == ["user", "assistant", "user", "assistant"]
    assert store.saved[-2:] == [["user/text"], ["assistant/text"]]


def test_what_a_failed_run_said_is_saved() -> None:
    store = Watched()
    agent = Agent(model=ScriptedModel([["Half an ", {"error": "broken"}]]), store=store)
    with pytest.raises(Exception, match="broken"):
        asyncio.run(agent.run("t", "What is it?"))
    assert texts(asyncio.run(store.list_messages(thread_id="t")))[:2] == ["What is it?", "Half an "]


def test_a_ledger_may_be_the_store(ledger: hansard.Ledger) -> None:
    asyncio.run(looking_at(ledger).run("t", "What is it?"))
    assert [message.role for message in ledger.transcript("t")] == ["user", "assistant", "tool", "assistant"]


def looking_at(ledger: hansard.Ledger) -> Agent:
    def look(x: int) -> int:
        return x * 2

    return Agent(model=ScriptedModel(list(SCRIPT)), store=LedgerMemoryStore(ledger), tools=[look])


@pytest.mark.parametrize(
    ("what", "call"),
    [
        ("resume", lambda agent: agent.resume("t")),
        ("stop", lambda agent: agent.stop("t")),
        ("a branch", lambda agent: agent.run("t", "Again?", fork_from=None)),
        ("a branch", lambda agent: begun(agent, trigger="regenerate-message", messageId="m")),
    ],
)
def test_what_a_store_cannot_do_says_that_it_needs_a_ledger(what: str, call: Any) -> None:
    agent, store = looking(Watched())
    asyncio.run(agent.run("t", "What is it?"))
    before = list(store.saved)
    if what == "a branch":
        message = asyncio.run(store.list_messages(thread_id="t"))[1]["id"]
        call = (
            (lambda agent: begun(agent, trigger="regenerate-message", messageId=message))
            if "begun" in str(call.__code__.co_names)
            else call
        )
    with pytest.raises(hansard.HansardError, match=f"^{what} needs a ledger"):
        asyncio.run(call(agent))
    assert store.saved == before


async def begun(agent: Agent, **more: Any) -> Any:
    body = {"id": "t", "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "x"}]}], **more}
    return await agent.sse(body)


def test_exactly_one_of_ledger_and_store() -> None:
    with hansard.open(":memory:") as ledger:
        for given in ({}, {"ledger": ledger, "store": PlainStore()}):
            with pytest.raises(hansard.HansardError, match="exactly one of ledger and store"):
                Agent(ScriptedModel([["x"]]), **given)  # type: ignore[arg-type]


def test_what_is_not_a_store_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(hansard.HansardError, match="dict is not a MemoryStore: it has no list_messages, save_messages"):
        Agent(ScriptedModel([["x"]]), store={})  # type: ignore[arg-type]


def test_one_run_at_a_time() -> None:
    agent = Agent(ScriptedModel([["One ", {"delay": 600}, "two"]]), store=PlainStore())

    async def go() -> None:
        _, running = await agent.start("t", "count")
        with pytest.raises(Conflict, match="a run is active"):
            await agent.start("t", "again")
        running.cancel()
        await agent.wait()

    asyncio.run(go())
