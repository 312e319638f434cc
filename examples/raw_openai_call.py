"""A call without streaming, of OpenAI's own SDK, in the ledger: the request is read from it, the answer appended.

OPENAI_API_KEY=... python examples/raw_openai_call.py [ledger.db]
Without a key the answer is one that was recorded.
"""

import os
import sys

from openai import OpenAI
from openai.types.chat import ChatCompletion

import hansard

RECORDED = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1780000000,
    "model": "gpt-5",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "At ten to four."}}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16},
}


def ask(ledger: hansard.Ledger, thread_id: str, prompt: str) -> str:
    """Append a prompt and the model's answer to a thread."""
    ledger.append(thread_id, hansard.Message.user(prompt))
    request = hansard.write(ledger.export_conversation(thread_id), "openai-chat").data
    if "OPENAI_API_KEY" in os.environ:
        answer = OpenAI().chat.completions.create(model="gpt-5", messages=request["messages"])
    else:
        answer = ChatCompletion.model_validate(RECORDED)
    (stored,) = ledger.append(thread_id, hansard.read(answer, "openai-chat").messages)
    return stored.text


def main(path: str) -> None:
    with hansard.open(path) as ledger:
        thread = ledger.create_thread(title="Tides")
        print(ask(ledger, thread.id, "When is high tide in Leith?"))
        for message in ledger.transcript(thread.id):
            print(message.role, message.text, message.usage.total if message.usage else 0)


main(sys.argv[1] if len(sys.argv) > 1 else ":memory:")
