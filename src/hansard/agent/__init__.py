"""Agents on Pydantic AI, recorded as they stream.  Needs `pip install 'hansard[agent]'`.

    agent = Agent(model, ledger=ledger, name="waiter", tools=[...], instructions="Be kind.")

    async for delta in agent.stream(thread_id, "Which tea?"):   # canonical deltas, durable before they are yielded
    result = await agent.run(thread_id, "Which tea?")           # the same, returns the result
    async for data in await agent.sse(body):                    # body: what `DefaultChatTransport` posted, as a dict
    await agent.ui_messages(thread_id)                          # initial messages of a page
    stream = await agent.resume(thread_id)                      # bytes of the active run from its start, or None
    stream = await agent.resume(thread_id, start=resume_point(query, headers))  # from a chunk
    await agent.stop(thread_id)                                 # from any process; whether a run was active
    stream.headers                                              # of the response: AI_SDK_HEADERS, and the run

A run continues when its consumer disconnects: it belongs to the agent, and `await agent.wait()` waits for all runs.
`Recorder` records an existing Pydantic AI agent, `HansardConversationStore` is a conversation store for it,
`ScriptedModel` is a model that needs no API key. `FileTools` are read, write, edit and shell in a folder, with undo.

`MemoryStore` is the contract of a database for messages, `LedgerMemoryStore` its implementation on a ledger;
`Agent(model, store=...)` takes any. `MessageList` makes messages of the parts of an AI SDK stream, `to_ai_sdk_messages`
makes them the input of `streamText` again. These four need no Pydantic AI.

Read `runtime` (Agent) and `async_run` (a run of the ledger on asyncio), then `events` (agent events to deltas),
`durability` (waiting for writes) and `stream_hub` (listeners). Clients: `chat_request`, `sse_response`, `ui_turns`.
Existing agents: `recorder`, `model_request` (tools, settings), `history_match`, `model_messages`,
`conversation_store`. Tools: `file_tools`, `shell`, `tool_call_context`. Stores: `memory_store`, `store_runs`,
`message_list`, `conversions`. Tests: `scripted_model`, `replay_server`. May import: every package but `sessions`,
`server`, `cli` and `demo`. Free to change: everything but the names and parameters above, which callers use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.errors import HansardError

if TYPE_CHECKING:
    from hansard.agent.conversation_store import HansardConversationStore
    from hansard.agent.conversions import to_ai_sdk_messages
    from hansard.agent.file_tools import FileTools
    from hansard.agent.memory_store import LedgerMemoryStore, MemoryStore
    from hansard.agent.message_list import MessageList
    from hansard.agent.recorder import Recorder
    from hansard.agent.runtime import Agent, RunResult
    from hansard.agent.scripted_model import ScriptedModel
    from hansard.agent.sse_response import AI_SDK_HEADERS, resume_point

_HOMES = {
    "AI_SDK_HEADERS": "sse_response",
    "Agent": "runtime",
    "RunResult": "runtime",
    "FileTools": "file_tools",
    "HansardConversationStore": "conversation_store",
    "LedgerMemoryStore": "memory_store",
    "MemoryStore": "memory_store",
    "MessageList": "message_list",
    "Recorder": "recorder",
    "ScriptedModel": "scripted_model",
    "resume_point": "sse_response",
    "to_ai_sdk_messages": "conversions",
}


class MissingExtra(HansardError):
    """Placeholder for an export whose packages are not installed."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hansard.agent' has no attribute {name!r}")
    from importlib import import_module

    try:
        value = getattr(import_module(f"hansard.agent.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pydantic_ai", "pydantic"):
            raise
        raise MissingExtra(f"{name} needs Pydantic AI ({error}); run pip install 'hansard[agent]'") from None
    globals()[name] = value
    return value


__all__ = [
    "AI_SDK_HEADERS",
    "Agent",
    "FileTools",
    "HansardConversationStore",
    "LedgerMemoryStore",
    "MemoryStore",
    "MessageList",
    "Recorder",
    "RunResult",
    "ScriptedModel",
    "resume_point",
    "to_ai_sdk_messages",
]
