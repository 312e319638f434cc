"""Calls of provider SDKs, recorded without a change of the code that makes them: sync and async, streamed and whole.

python examples/raw_sdk_calls.py [ledger.db]

A server of our own plays recorded answers, so no key is needed; a tool loop is closed with `pending_calls`.
"""

import asyncio
import sys
from importlib.resources import files

from anthropic import Anthropic, AsyncAnthropic

import hansard
from hansard.agent.replay_server import ReplayServer

QUESTION = "When is high tide in Leith?"


def whole_stream(client: Anthropic) -> None:
    """The SDK's own helper: text as it arrives, then the whole message."""
    with client.messages.stream(
        model="claude-opus-5", max_tokens=1000, messages=[{"role": "user", "content": QUESTION}]
    ) as stream:
        for text in stream.text_stream:
            print(text, end="")
        print(f"\n{stream.get_final_message().stop_reason}")


async def events(client: AsyncAnthropic) -> None:
    """The raw events of an async stream."""
    stream = await client.messages.create(
        model="claude-opus-5", max_tokens=1000, messages=[{"role": "user", "content": QUESTION}], stream=True
    )
    async for event in stream:
        print(event.type)


def close_tool_loop(ledger: hansard.Ledger, thread: str) -> None:
    """Answer the calls that the last message made."""
    talk = ledger.export_conversation(thread)
    results = [
        hansard.ToolResultPart(tool_call_id=call.call_id, tool_name=call.name, output={"high": "15:50"})
        for _, call in hansard.pending_calls(talk)
    ]
    ledger.append(thread, hansard.Message.tool(*results))
    print([result.output for message in ledger.transcript(thread) for result in message.results])


def main(path: str) -> None:
    recording = files("hansard.samples").joinpath("anthropic_stream.sse").read_bytes()
    with ReplayServer(anthropic=[recording, recording]) as server, hansard.open(path) as ledger:
        client = Anthropic(base_url=server.url, api_key="none")
        with hansard.instrument(client, ledger, thread="helper"):
            whole_stream(client)
        close_tool_loop(ledger, "helper")

        later = AsyncAnthropic(base_url=server.url, api_key="none")
        with hansard.instrument(later, ledger), hansard.recording(thread="events"):
            asyncio.run(events(later))

        for thread in ledger.iter_threads(newest=False):
            for message in ledger.iter_messages(thread.id):
                calls = ", ".join(f"{call.name}({call.arguments})" for call in message.calls)
                print(f"{thread.id} {message.role:>9} | {message.text}{calls}")


main(sys.argv[1] if len(sys.argv) > 1 else ":memory:")
