"""Agents on Pydantic AI, recorded as they stream.  Needs `pip install 'hansard[agent]'`.

    agent = Agent(model, ledger=ledger, name="waiter", tools=[...], instructions="Be kind.")

    async for delta in agent.stream(thread_id, "Which tea?"):   # canonical deltas, durable before they are given
    result = await agent.run(thread_id, "Which tea?")           # the same, only its end
    async for data in await agent.sse(body):                    # body: what `DefaultChatTransport` posted, as a dict
    await agent.ui_messages(thread_id)                          # what a page begins with
    stream = await agent.resume(thread_id)                      # bytes of the run that goes on, from its start, or None
    await agent.stop(thread_id)                                 # from any process; True if there was something to stop
    AI_SDK_HEADERS                                              # the headers of `sse` and `resume`

A consumer that goes away does not stop a run: it belongs to the agent, and `await agent.wait()` waits for all of them.
`Recorder` records a Pydantic AI agent you already have, `HansardConversationStore` is its store of conversations,
`MessageStore` four calls for those who only want to keep messages, `ScriptedModel` a model without a key. `FileTools`
are read, write, edit and shell in a folder, whose changes can be undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.errors import HansardError

if TYPE_CHECKING:
    from hansard.agent.conversation_store import HansardConversationStore
    from hansard.agent.file_tools import FileTools
    from hansard.agent.message_store import MessageStore
    from hansard.agent.recorder import Recorder
    from hansard.agent.runtime import AI_SDK_HEADERS, Agent, RunResult
    from hansard.agent.scripted_model import ScriptedModel

_HOMES = {
    "AI_SDK_HEADERS": "runtime",
    "Agent": "runtime",
    "RunResult": "runtime",
    "FileTools": "file_tools",
    "HansardConversationStore": "conversation_store",
    "MessageStore": "message_store",
    "Recorder": "recorder",
    "ScriptedModel": "scripted_model",
}


class MissingExtra(HansardError):
    """Something that needs packages which are not installed."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hansard.agent' has no attribute {name!r}")
    from importlib import import_module

    try:
        value = getattr(import_module(f"hansard.agent.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pydantic_ai", "pydantic"):
            raise
        raise MissingExtra(f"{name} needs Pydantic AI ({error}); way out: pip install 'hansard[agent]'") from None
    globals()[name] = value
    return value


__all__ = [
    "AI_SDK_HEADERS",
    "Agent",
    "FileTools",
    "HansardConversationStore",
    "MessageStore",
    "Recorder",
    "RunResult",
    "ScriptedModel",
]
