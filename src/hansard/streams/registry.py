"""Registry of decoders and emitters, imported on first use."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from hansard.errors import HansardError, UnknownFormat
from hansard.model.conversation import Message

if TYPE_CHECKING:
    from hansard.streams.decoder_base import EventDecoder
    from hansard.streams.emitter_base import EventEmitter
else:
    EventDecoder = EventEmitter = Any  # slow to import; so hints resolve without them

_DECODERS = {
    "anthropic": ("hansard.formats.anthropic.stream", "AnthropicDecoder"),
    "ai-sdk-ui": ("hansard.formats.ai_sdk.ui.stream", "AiSdkUiDecoder"),
    "ai-sdk-full": ("hansard.formats.ai_sdk.full.stream", "AiSdkFullDecoder"),
    "pydantic-ai": ("hansard.formats.pydantic_ai.stream", "PydanticAIDecoder"),
    "openai-chat": ("hansard.formats.openai_chat.stream.decoder", "OpenAIChatDecoder"),
    "gemini": ("hansard.formats.gemini.stream.decoder", "GeminiDecoder"),
    "openai-responses": ("hansard.formats.openai_responses.stream.decoder", "OpenAIResponsesDecoder"),
}
_EMITTERS = {
    "ai-sdk-ui": ("hansard.formats.ai_sdk.ui.emit", "AiSdkUiEmitter"),
    "openai-chat": ("hansard.formats.openai_chat.emit", "OpenAIChatEmitter"),
    "ag-ui": ("hansard.formats.ag_ui.emit", "AgUiEmitter"),
}


def decoders() -> list[str]:
    """Names of the streams that can be read."""
    return list(_DECODERS)


def decoder(name: str) -> EventDecoder:
    """A new decoder for one stream."""
    if name not in _DECODERS:
        raise UnknownFormat(f"unknown stream {name!r} (choose from {', '.join(_DECODERS)})")
    module, kind = _DECODERS[name]
    return getattr(import_module(module), kind)()  # type: ignore[no-any-return]


def read_answer(name: str, answer: Any) -> list[Message]:
    """The messages of a whole answer, as the format of the same name reads it."""
    decoder(name)  # names the streams there are
    documents = import_module("hansard.formats.documents")
    return documents.read(answer, name).messages  # type: ignore[no-any-return]


def emitters() -> list[str]:
    """Names of the streams that can be written."""
    return list(_EMITTERS)


def emitter(
    name: str,
    *,
    target: str | None = None,
    message_id: str | None = None,
    thread_id: str | None = None,
    run_id: str | None = None,
    created: int | None = None,
    own: bool | None = None,
) -> EventEmitter:
    """A new emitter for one client: `target` is the client's version, `message_id` the id of the answer.

    `thread_id` and `run_id` are for ag-ui, `created` (seconds since 1970) for openai-chat. With `own` ai-sdk-ui
    writes a stream that was read from ai-sdk-ui as it was.
    """
    if name not in _EMITTERS:
        raise UnknownFormat(f"unknown output stream {name!r} (choose from {', '.join(_EMITTERS)})")
    module, kind = _EMITTERS[name]
    found = getattr(import_module(module), kind)
    if target is not None and target not in found.targets:
        known = f"choose from {', '.join(found.targets)}" if found.targets else "it has none"
        raise UnknownFormat(f"unknown target {target!r} of the stream {name}; {known}")
    options = {"thread_id": thread_id, "run_id": run_id, "created": created, "own": own}
    given = {key: value for key, value in options.items() if value is not None}
    for key in given.keys() - signature(found).parameters.keys():
        raise HansardError(f"{key} does not apply to the stream {name}")
    return found(target, message_id, **given)  # type: ignore[no-any-return]
