"""The types of the specification. Fields that it lacks may stand beside its own; they are kept."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

FinishReason: TypeAlias = Literal["stop", "length", "content_filter", "tool_call", "error"]
SystemEventType: TypeAlias = str
"""Known are agent.handoff, tool.grant, tool.revoke, state.update, ui.update and context.switch; others may follow."""


class Usage(TypedDict, total=False):
    input_tokens: int
    output_tokens: int
    thinking_tokens: int
    total_tokens: int


# -- content of prompts --------------------------------------------------------------------------------------------


class _Url(TypedDict):
    url: str
    identifier: str
    force_download: NotRequired[bool]
    vendor_metadata: NotRequired[Any]
    media_type: NotRequired[str]


class ImageUrl(_Url):
    kind: Literal["image-url"]


class AudioUrl(_Url):
    kind: Literal["audio-url"]


class VideoUrl(_Url):
    kind: Literal["video-url"]


class DocumentUrl(_Url):
    kind: Literal["document-url"]


class BinaryContent(TypedDict):
    kind: Literal["binary"]
    data: str
    media_type: str
    identifier: str
    vendor_metadata: NotRequired[Any]


class Attachment(TypedDict):
    name: str
    media_type: str
    url: NotRequired[str]
    data: NotRequired[str]
    size_bytes: NotRequired[int]


MultiModalContent: TypeAlias = ImageUrl | AudioUrl | DocumentUrl | VideoUrl | BinaryContent
UserContent: TypeAlias = str | MultiModalContent


# -- parts ---------------------------------------------------------------------------------------------------------


class TextPart(TypedDict):
    part_kind: Literal["text"]
    content: str
    id: NotRequired[str]


class ThinkingPart(TypedDict):
    part_kind: Literal["thinking"]
    content: NotRequired[str]
    signature: NotRequired[str]
    provider_name: NotRequired[str]
    thinking_id: NotRequired[str]


class ToolCallPart(TypedDict):
    part_kind: Literal["tool-call"]
    tool_name: str
    tool_call_id: str
    args: Any


class ToolReturnPart(TypedDict):
    part_kind: Literal["tool-return"]
    tool_name: NotRequired[str]
    tool_call_id: str
    status: Literal["success", "error", "validation_error"]
    content: Any
    metadata: NotRequired[Any]


class RetryPromptPart(TypedDict):
    part_kind: Literal["retry-prompt"]
    content: str | list[Any]
    tool_name: NotRequired[str]
    tool_call_id: NotRequired[str]


class FilePart(TypedDict):
    part_kind: Literal["file"]
    content: BinaryContent
    id: NotRequired[str]


class UserPromptPart(TypedDict):
    part_kind: Literal["user-prompt"]
    content: str | list[UserContent]


MessagePart: TypeAlias = (
    UserPromptPart | TextPart | ThinkingPart | ToolCallPart | ToolReturnPart | RetryPromptPart | FilePart
)


# -- messages and turns --------------------------------------------------------------------------------------------


class ThreadMessage(TypedDict):
    message_type: Literal["request", "response"]
    timestamp: str
    parts: list[MessagePart]
    agent_id: str
    model_name: NotRequired[str]
    provider_name: NotRequired[str]
    provider_response_id: NotRequired[str]
    usage: NotRequired[Usage]
    finish_reason: NotRequired[FinishReason]


class SystemMessage(TypedDict):
    message_type: Literal["system"]
    timestamp: str
    event_type: SystemEventType
    event_data: NotRequired[Any]
    source_agent: NotRequired[str]
    target_agents: NotRequired[list[str]]


class UserTurn(TypedDict):
    turn_type: Literal["user"]
    submitted_at: str
    parts: list[MessagePart]


class AgentTurn(TypedDict):
    turn_type: Literal["agent"]
    agent_id: str
    started_at: str
    completed_at: NotRequired[str]
    messages: list[ThreadMessage | SystemMessage]
    total_usage: NotRequired[Usage]


Turn: TypeAlias = UserTurn | AgentTurn


class AgentConfig(TypedDict):
    agent_id: str
    agent_name: str
    created_at: str
    model_name: NotRequired[str]
    provider_name: NotRequired[str]
    config_ref: NotRequired[str]


class Thread(TypedDict):
    version: str
    thread_id: str
    created_at: str
    updated_at: str
    agents: dict[str, AgentConfig]
    turns: list[Turn]
    title: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    parent_thread_id: NotRequired[str]
