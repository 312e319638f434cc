"""Two agents in one thread: one asks the other from a tool, then hands over; the thread as a ThreadProtocol document.

python examples/agents_in_one_thread.py [ledger.db]
"""

import asyncio
import json
import sys

import hansard
from hansard.agent import Agent, ScriptedModel
from hansard.agent.scripted_model import Step


def agents(ledger: hansard.Ledger) -> tuple[Agent, Agent]:
    """A chief with a tool that asks a writer, and the writer."""
    writer = Agent(ScriptedModel(["Rivers: Po, Rhine."]), ledger=ledger, id="writer", name="Writer")

    async def ask_writer(topic: str) -> str:
        """Ask the writer for a text."""
        return str((await writer.run("talk", f"Write about {topic}")).output)

    script: list[Step] = [[{"tool": "ask_writer", "input": {"topic": "rivers"}, "id": "call-1"}], "It names two."]
    chief = Agent(ScriptedModel(script), ledger=ledger, id="chief", name="Chief", tools=[ask_writer])
    return chief, writer


async def talk(ledger: hansard.Ledger) -> None:
    chief, writer = agents(ledger)
    await chief.run("talk", "A text about rivers, please")
    await writer.run("talk")  # without a prompt: the writer answers what the chief said


def main(path: str) -> None:
    with hansard.open(path) as ledger:
        asyncio.run(talk(ledger))

        for message in ledger.iter_messages("talk"):
            print(f"{message.agent_id or 'person':>7} {message.role:>9} | {message.text}")
        for below in ledger.sub_threads("talk", "call-1"):
            print(f"below call-1: {[message.text for message in ledger.iter_messages(below.id)]}")

        conversation = ledger.export_conversation("talk")
        seen = hansard.agent_view(conversation, "writer")
        print([message.text for message in seen.messages])

        document = hansard.write(conversation, "thread-protocol")
        again = hansard.write(hansard.read(document.json), "thread-protocol")
        print(json.dumps([turn["turn_type"] for turn in document.data["turns"]]), again.data == document.data)


main(sys.argv[1] if len(sys.argv) > 1 else ":memory:")
