"""The functions and types of the ThreadProtocol specification 2.0.0, under its names.

    from_agent_run(messages, agent_id)            an agent run of Pydantic AI as an AgentTurn
    to_model_messages(turns, viewing_agent_id)    turns as ModelMessages, as one of the agents sees them
    from_stream_event(event)                      a chunk of an AI SDK stream as a part or a SystemMessage
    get_pending_tool_calls(turn)                  the tool calls that have no return
    process_agent_turn, prefix_agent_name_to_parts, aggregate_usage
                                                  the helpers that the specification writes these with

Turns and threads are plain dicts, as `json.loads` gives them; the types describe them. Whole threads are read and
written by the format `thread-protocol`: `hansard.read`, `hansard.write`, `hansard.convert`. ModelMessages need
`pip install 'hansard[agent]'`.

`types` has the types, `functions` the functions. It may import `formats` and the model. Free to change: code, not
names and signatures, which the specification gives.
"""

from __future__ import annotations

from hansard.formats.thread_protocol.derived import aggregate_usage
from hansard.thread_protocol.functions import (
    from_agent_run,
    from_stream_event,
    get_pending_tool_calls,
    prefix_agent_name_to_parts,
    process_agent_turn,
    to_model_messages,
)
from hansard.thread_protocol.types import (
    AgentConfig,
    AgentTurn,
    Attachment,
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    FilePart,
    FinishReason,
    ImageUrl,
    MessagePart,
    MultiModalContent,
    RetryPromptPart,
    SystemEventType,
    SystemMessage,
    TextPart,
    ThinkingPart,
    Thread,
    ThreadMessage,
    ToolCallPart,
    ToolReturnPart,
    Turn,
    Usage,
    UserContent,
    UserPromptPart,
    UserTurn,
    VideoUrl,
)

__all__ = [
    "AgentConfig",
    "AgentTurn",
    "Attachment",
    "AudioUrl",
    "BinaryContent",
    "DocumentUrl",
    "FilePart",
    "FinishReason",
    "ImageUrl",
    "MessagePart",
    "MultiModalContent",
    "RetryPromptPart",
    "SystemEventType",
    "SystemMessage",
    "TextPart",
    "ThinkingPart",
    "Thread",
    "ThreadMessage",
    "ToolCallPart",
    "ToolReturnPart",
    "Turn",
    "Usage",
    "UserContent",
    "UserPromptPart",
    "UserTurn",
    "VideoUrl",
    "aggregate_usage",
    "from_agent_run",
    "from_stream_event",
    "get_pending_tool_calls",
    "prefix_agent_name_to_parts",
    "process_agent_turn",
    "to_model_messages",
]
