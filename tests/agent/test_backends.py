"""Agents on every backend: recorded, stopped, asked again."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pydantic_ai

import hansard
from hansard.agent import Agent, Recorder, ScriptedModel
from hansard.streams.deltas import PartDelta

SCRIPT = [["Hm. ", {"tool": "look", "input": {"x": 2}}], "Four."]


def look(x: int) -> int:
    return x * 2


def test_a_recorded_thread_is_what_the_run_says(ledger: hansard.Ledger) -> None:
    agent: pydantic_ai.Agent[Any, Any] = pydantic_ai.Agent(
        ScriptedModel(SCRIPT), tools=[look], capabilities=[Recorder(ledger, "t")]
    )
    result = asyncio.run(agent.run("what?"))
    written = hansard.write(ledger.export_conversation("t"), "pydantic-ai").data
    assert written == json.loads(result.all_messages_json())


def test_a_run_is_stopped_and_asked_again(ledger: hansard.Ledger) -> None:
    agent = Agent(ScriptedModel([["One two three ", {"delay": 60}, "four"]], delay=0.01), ledger=ledger)

    async def stop() -> None:
        async for delta in agent.stream("t", "count"):
            if isinstance(delta, PartDelta) and delta.text == "three ":
                await agent.stop("t")
        await agent.wait()

    asyncio.run(stop())
    assert [message.state for message in ledger.transcript("t")][1] == "interrupted"
    assert ledger.active_runs("t") == []
    assert ledger.verify() == []
