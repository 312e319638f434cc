"""A Pydantic AI agent you already have, recorded: one capability more, nothing else changes.

python examples/pydantic_ai_recorder.py [ledger.db]
"""

import asyncio
import os
import sys

from pydantic_ai import Agent

import hansard
from hansard.agent import Recorder, ScriptedModel
from hansard.agent.scripted_model import Step

SCRIPT: list[Step] = [
    ["Let me look. ", {"tool": "weather", "input": {"city": "Ghent"}}],
    "It is 21 degrees in Ghent.",
    "The same as yesterday.",
]


def weather(city: str) -> dict[str, object]:
    """The weather in a city."""
    return {"city": city, "degrees": 21}


async def main(path: str) -> None:
    with hansard.open(path) as ledger:
        model = os.environ.get("MODEL") or ScriptedModel(SCRIPT)  # MODEL=anthropic:claude-...
        agent = Agent(model, name="waiter", tools=[weather], capabilities=[Recorder(ledger, "terrace")])
        result = await agent.run("Shall I sit outside?")
        await agent.run("And tomorrow?", message_history=result.all_messages())

        for message in ledger.transcript("terrace"):
            for part in message.parts:
                said = getattr(part, "text", None) or getattr(part, "input", None) or getattr(part, "output", None)
                print(f"{message.role:>9} | {said}")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ":memory:"))
