"""Agents on every backend: recorded, stopped, asked again."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import psycopg
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


def test_a_resumed_stream_whose_database_is_gone_ends_with_an_error(database: str) -> None:
    name = str(psycopg.conninfo.conninfo_to_dict(database)["dbname"])

    endless = itertools.repeat("more ")

    async def go() -> bytes:
        ledger = hansard.open(database, retry_for=0.2)
        agent = Agent(ScriptedModel([["one ", {"text": "", "pieces": endless}]], delay=0.05), ledger=ledger)
        answer = await agent.sse({"id": "t", "messages": [MESSAGE]})
        await anext(answer)
        stream: Any = await agent.resume("t")
        out = await anext(stream)
        with psycopg.connect(database.replace(name, "postgres"), autocommit=True) as other:
            other.execute(f"drop database {name} with (force)".encode())
            other.execute(f"create database {name}".encode())  # empty: there is something to drop afterwards
        async for data in stream:
            out += data
        await agent.wait()
        ledger.close()
        return out

    out = asyncio.run(go())
    assert b'"type":"error"' in out
    assert out.endswith(b"data: [DONE]\n\n")


MESSAGE = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
