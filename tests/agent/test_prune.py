"""`prune=True` where a run is started, and where a client may ask for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

import hansard
from hansard.agent import Agent, ScriptedModel
from hansard.errors import Forbidden, HansardError
from hansard.model import TextPart
from hansard.server import create_app
from tests.testing.test_store_conformance import PlainStore


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with hansard.open(str(tmp_path / "ledger.db")) as opened:
        yield opened


def talking(ledger: hansard.Ledger) -> Agent:
    agent = Agent(ScriptedModel(lambda messages: [f"Answer {len(messages)}"]), ledger=ledger)
    asyncio.run(agent.run("t", "One"))
    asyncio.run(agent.run("t", "Two"))
    return agent


def texts(messages: list[Any]) -> list[str]:
    return [part.text for one in messages for part in one.parts if isinstance(part, TextPart)]


def everything(ledger: hansard.Ledger) -> list[str]:
    return texts([ledger.get("t", node.id) for node in ledger.tree("t")])


async def streamed(agent: Agent, *args: Any, **how: Any) -> None:
    async for _ in agent.stream(*args, **how):
        pass
    await agent.wait()


STARTS: list[Callable[..., Any]] = [lambda agent, *args, **how: agent.run(*args, **how), streamed]


@pytest.mark.parametrize("start", STARTS, ids=["run", "stream"])
def test_an_answer_is_replaced(ledger: hansard.Ledger, start: Callable[..., Any]) -> None:
    agent = talking(ledger)
    question = ledger.transcript("t")[2].id
    asyncio.run(start(agent, "t", fork_from=question))
    assert everything(ledger) == ["One", "Answer 1", "Two", "Answer 3", "Answer 3"]  # kept by default
    asyncio.run(start(agent, "t", fork_from=question, prune=True))
    assert everything(ledger) == ["One", "Answer 1", "Two", "Answer 3"]
    assert ledger.verify() == []


@pytest.mark.parametrize("start", STARTS, ids=["run", "stream"])
def test_an_edited_prompt_replaces_the_old_one_with_all_that_followed(
    ledger: hansard.Ledger, start: Callable[..., Any]
) -> None:
    agent = talking(ledger)
    asyncio.run(start(agent, "t", "Edited", fork_from=None, prune=True))
    assert everything(ledger) == ["Edited", "Answer 1"]


def test_a_run_that_fails_deletes_nothing(ledger: hansard.Ledger) -> None:
    agent = talking(ledger)
    before = set(everything(ledger))
    agent.agent.model = ScriptedModel([["Half", {"error": "broken"}]])
    with pytest.raises(Exception, match="broken"):
        asyncio.run(agent.run("t", "Edited", fork_from=None, prune=True))
    assert before <= set(everything(ledger))


def body(ledger: hansard.Ledger, **more: Any) -> dict[str, Any]:
    return {
        "id": "t",
        "messages": [],
        "trigger": "regenerate-message",
        "messageId": ledger.transcript("t")[2].id,
        **more,
    }


async def answered(agent: Agent, asked: dict[str, Any], **how: Any) -> None:
    async for _ in await agent.sse(asked, **how):
        pass
    await agent.wait()


def test_sse_prunes_where_the_server_says_so_or_lets_the_client(ledger: hansard.Ledger) -> None:
    agent = talking(ledger)
    asyncio.run(answered(agent, body(ledger)))
    assert len(everything(ledger)) == 5
    with pytest.raises(Forbidden, match=r"\$\.prune"):
        agent.sse(body(ledger, prune=True))
    assert len(everything(ledger)) == 5
    asyncio.run(answered(agent, body(ledger, prune=True), allow_prune=True))
    assert len(everything(ledger)) == 4
    asyncio.run(answered(agent, body(ledger), prune=True))
    assert len(everything(ledger)) == 4
    with pytest.raises(HansardError, match=r"true or false expected"):
        agent.sse(body(ledger, prune="yes"), allow_prune=True)


@pytest.mark.parametrize(("allowed", "status", "left"), [(False, 403, 4), (True, 200, 4)])
def test_a_chat_body_prunes_only_where_the_server_was_built_for_it(
    ledger: hansard.Ledger, allowed: bool, status: int, left: int
) -> None:
    agent = talking(ledger)
    with TestClient(create_app(ledger, [agent], allow_prune=allowed), base_url="http://localhost") as client:
        before = everything(ledger)
        answer = client.post("/api/chat", json=body(ledger, prune=True))
        assert answer.status_code == status
        if not allowed:
            assert "prune" in answer.text
            assert everything(ledger) == before
            assert client.post("/api/chat", json=body(ledger, prune=False)).status_code == 200
        else:
            assert answer.text.endswith("data: [DONE]\n\n")
            assert len(everything(ledger)) == left


def test_a_store_of_others_cannot_prune() -> None:
    agent = Agent(ScriptedModel([["x"]]), store=PlainStore())
    with pytest.raises(HansardError, match="prune needs a ledger"):
        asyncio.run(agent.run("t", "One", prune=True))
