"""Ask an agent on OpenAI's own client, and print the reasoning effort of the request and the record of the question.

python think.py DEFAULT [METADATA]: the agent's `thinking` (a level or JSON), a message's `thinkingMetadata` (JSON).
"""

import asyncio
import json
import sys

from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import hansard
from hansard.agent import Agent
from hansard.agent.replay_server import ReplayServer
from hansard.model import Message, TextPart, Thinking

CHUNK = {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "gpt-5"}
DELTA = {"index": 0, "delta": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}
default, *metadata = sys.argv[1:]
thinking = Thinking(**json.loads(default)) if default.startswith("{") else default or None
own = {"thinking": Thinking(**json.loads(metadata[0]))} if metadata else {}
prompt = Message(role="user", parts=[TextPart(text="Think hard: a weather website")], **own)
answer = json.dumps({**CHUNK, "choices": [DELTA]}).encode()
with hansard.open(":memory:") as ledger, ReplayServer(openai_chat=[answer]) as server:
    model = OpenAIChatModel("gpt-5", provider=OpenAIProvider(base_url=f"{server.url}/v1", api_key="none"))
    asyncio.run(Agent(model, ledger=ledger, thinking=thinking).run("t", prompt))
    print("effort:", server.requests[0].body.get("reasoning_effort"))
    print(hansard.write(ledger.export_conversation("t"), "sage").json.decode().splitlines()[0])
