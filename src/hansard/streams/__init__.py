"""Live answers: any provider's stream in, one message out, any client's stream out. The caller owns the socket."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hansard.errors import UnknownFormat

if TYPE_CHECKING:
    from hansard.streams.event_decoder import EventDecoder
    from hansard.streams.event_emitter import EventEmitter

_DECODERS = {
    "anthropic": ("anthropic", "AnthropicDecoder"),
    "ai-sdk-ui": ("ai_sdk_ui", "AiSdkUiDecoder"),
    "ai-sdk-full": ("ai_sdk_full", "AiSdkFullDecoder"),
    "pydantic-ai": ("pydantic_ai", "PydanticAIDecoder"),
    "openai-chat": ("openai_chat", "OpenAIChatDecoder"),
    "gemini": ("gemini", "GeminiDecoder"),
    "openai-responses": ("openai_responses", "OpenAIResponsesDecoder"),
}
_EMITTERS = {
    "ai-sdk-ui": ("emit_ai_sdk_ui", "AiSdkUiEmitter"),
    "openai-chat": ("emit_openai_chat", "OpenAIChatEmitter"),
    "ag-ui": ("emit_ag_ui", "AgUiEmitter"),
}


def decoders() -> list[str]:
    """The streams that can be read."""
    return list(_DECODERS)


def decoder(name: str) -> EventDecoder:
    """A new decoder for one stream."""
    if name not in _DECODERS:
        raise UnknownFormat(f"no stream {name!r} can be read; there are {', '.join(_DECODERS)}")
    module, kind = _DECODERS[name]
    return getattr(import_module(f"hansard.streams.{module}"), kind)()  # type: ignore[no-any-return]


def emitters() -> list[str]:
    """The streams that can be written."""
    return list(_EMITTERS)


def emitter(name: str, *, target: str | None = None, message_id: str | None = None, **options: Any) -> EventEmitter:
    """A new emitter for one client: `target` is a version of it, `message_id` the id of the answer."""
    if name not in _EMITTERS:
        raise UnknownFormat(f"no stream {name!r} can be written; there are {', '.join(_EMITTERS)}")
    module, kind = _EMITTERS[name]
    found = getattr(import_module(f"hansard.streams.{module}"), kind)
    if target is not None and target not in found.targets:
        known = f"there are {', '.join(found.targets)}" if found.targets else "it has none"
        raise UnknownFormat(f"the stream {name} has no target {target!r}; {known}")
    return found(target, message_id, **options)  # type: ignore[no-any-return]
