"""Whose thread it is: the thread of another user is one that does not exist, for every call of a chat back end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

import hansard
from hansard.agent import Agent, ScriptedModel
from hansard.errors import NotFound


@pytest.fixture
def agent() -> Iterator[Agent]:
    with hansard.open(":memory:") as ledger:
        yield Agent(ScriptedModel(["Tea."]), ledger=ledger)


def body(text: str, thread: str = "c1") -> dict[str, Any]:
    return {"id": thread, "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": text}]}]}


async def said(agent: Agent, text: str, **more: Any) -> bytes:
    return b"".join([data async for data in await agent.sse(body(text), **more)])


CALLS: dict[str, Callable[[Agent, str], Awaitable[Any]]] = {
    "sse": lambda agent, user: said(agent, "Again?", resource_id=user),
    "resume": lambda agent, user: agent.resume("c1", resource_id=user),
    "stop": lambda agent, user: agent.stop("c1", resource_id=user),
    "ui_messages": lambda agent, user: agent.ui_messages("c1", resource_id=user),
    "run": lambda agent, user: agent.run("c1", "Again?", resource_id=user),
}


@pytest.mark.parametrize("call", CALLS)
def test_another_user_finds_nothing_and_changes_nothing(agent: Agent, call: str) -> None:
    async def go() -> None:
        await said(agent, "Which tea?", resource_id="ann")
        before = agent.ledger.export_conversation("c1")
        with pytest.raises(NotFound, match="no thread 'c1'") as refused:
            await CALLS[call](agent, "bob")
        assert refused.value.status == 404
        assert agent.ledger.export_conversation("c1") == before
        await CALLS[call](agent, "ann")

    asyncio.run(go())
    assert agent.ledger.thread("c1").resource_id == "ann"


def test_a_run_of_another_user_is_one_that_does_not_exist(agent: Agent) -> None:
    async def go() -> None:
        stream = await agent.sse(body("Which tea?"), resource_id="ann")
        run = stream.headers["x-workflow-run-id"]
        _ = [data async for data in stream]
        assert await agent.resume(run, start=0, resource_id="bob") is None
        assert await agent.resume(run, start=0, resource_id="ann") is not None

    asyncio.run(go())


def test_a_thread_of_no_user_is_not_for_users(agent: Agent) -> None:
    async def go() -> None:
        await said(agent, "Which tea?")
        with pytest.raises(NotFound):
            await agent.ui_messages("c1", resource_id="ann")
        assert await agent.ui_messages("new", resource_id="ann") == []

    asyncio.run(go())


def test_two_users_who_begin_the_same_thread_at_once(agent: Agent) -> None:
    async def go() -> list[Any]:
        both = [said(agent, "Mine!", resource_id=user) for user in ("ann", "bob")]
        return await asyncio.gather(*both, return_exceptions=True)

    found = asyncio.run(go())
    assert [isinstance(one, NotFound) for one in found].count(True) == 1
    assert len(agent.ledger.transcript("c1")) == 2


@pytest.mark.parametrize(
    ("prompt", "title", "shown"),
    [
        ("Which  tea\nis it?", None, "Which tea is it?"),
        ("x" * 60, None, "x" * 60),
        ("word " * 30, None, ("word " * 30)[:59].rstrip() + "…"),
        ("Which tea?", "Tea time", "Tea time"),
    ],
)
def test_a_new_chat_has_a_title(agent: Agent, prompt: str, title: str | None, shown: str) -> None:
    asyncio.run(said(agent, prompt, title=title))
    (thread,) = agent.ledger.threads().items
    assert thread.title == shown
    assert len(thread.title or "") <= 60
    agent.ledger.update_thread("c1", title="Mine")
    asyncio.run(said(agent, "and then?"))
    assert agent.ledger.thread("c1").title == "Mine"
