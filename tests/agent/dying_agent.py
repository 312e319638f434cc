"""Run by a test and killed: an agent that says on stdout what its caller has seen, and stops at a named point."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from pydantic_ai import Agent

import hansard
from hansard.agent import Recorder, ScriptedModel

HANG: dict[str, Any] = {"delay": 600}


def main(path: str, point: str) -> None:
    first: list[Any] = [
        {"reasoning": "Hm hm."},
        "Let me look. ",
        {"tool": "quick", "id": "q"},
        {"tool": "dig", "id": "d"},
    ]
    second: list[Any] = ["It is ", "four."]
    if point == "first":
        first.insert(2, HANG)
    if point == "second":
        second.insert(1, HANG)

    async def quick() -> str:
        return "quickly"

    async def dig() -> str:
        if point == "tool":
            await seen_quickly.wait()  # the caller has the result of the other call
            print("seen tool", flush=True)
            await asyncio.sleep(600)
        return "dug"

    seen_quickly = asyncio.Event()

    async def run() -> None:
        with hansard.open(path) as ledger:
            agent: Agent[Any, Any] = Agent(
                ScriptedModel([first, second]), capabilities=[Recorder(ledger, "t")], tools=[quick, dig]
            )
            async with agent.run_stream_events("what is it?") as stream:
                async for event in stream:
                    delta = getattr(event, "delta", None) or getattr(event, "part", None)
                    text = getattr(delta, "content_delta", None) or getattr(delta, "content", None)
                    print("seen", event.event_kind, repr(text), flush=True)
                    if event.event_kind == "function_tool_result":
                        seen_quickly.set()
            print("seen end", flush=True)
            await asyncio.sleep(600)

    asyncio.run(run())


if __name__ == "__main__":
    main(*sys.argv[1:])
