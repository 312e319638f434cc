"""A raw stream of Anthropic's SDK, recorded as it passes.

ANTHROPIC_API_KEY=... python examples/raw_anthropic.py [ledger.db]
Without a key a recorded answer is played by a server of our own.
"""

import os
import sys
from contextlib import nullcontext
from importlib.resources import files

from anthropic import Anthropic

import hansard
from hansard.agent.replay_server import ReplayServer
from hansard.model import Message, TextPart

PROMPT = "When is high tide in Leith?"


def main(path: str) -> None:
    recording = files("hansard.samples").joinpath("anthropic_stream.sse").read_bytes()
    played = nullcontext() if "ANTHROPIC_API_KEY" in os.environ else ReplayServer(anthropic=[recording])
    with played as server, hansard.open(path) as ledger:
        client = Anthropic() if server is None else Anthropic(base_url=server.url, api_key="none")
        ledger.create_thread("harbour")
        ledger.append("harbour", Message(role="user", parts=[TextPart(text=PROMPT)]))

        asked = hansard.write(ledger.export_conversation("harbour"), "anthropic").data["messages"]
        stream = client.messages.create(model="claude-opus-5", max_tokens=1000, messages=asked, stream=True)
        for event in ledger.record(stream, format="anthropic", thread="harbour"):
            print(event.type)

        print(hansard.write(ledger.export_conversation("harbour"), "anthropic").json.decode())


main(sys.argv[1] if len(sys.argv) > 1 else ":memory:")
