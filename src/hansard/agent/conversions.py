"""The agent store's messages into ModelMessages, and what a stream says of parts into the agent store.

Provider metadata has a name of its own in each of these formats; as values of one format are lost in another, it is
handed over here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from hansard import formats
from hansard.agent.memory_store import FORMAT, CanonicalMessage
from hansard.errors import HansardError
from hansard.formats.ai_sdk.reasoning import put_opaque
from hansard.formats.residue import unpack
from hansard.model.conversation import Conversation, Message

_MODEL, _UI = "ai-sdk-model", "ai-sdk-ui"
_METADATA = {_UI: ("providerMetadata", "callProviderMetadata", "resultProviderMetadata"), FORMAT: ("providerMetadata",)}
_NAMES = {FORMAT: "providerMetadata", _MODEL: "providerOptions"}


def to_ai_sdk_messages(
    messages: Sequence[CanonicalMessage] | Sequence[Message] | Conversation, *, target: str = "v6"
) -> list[dict[str, Any]]:
    """`CanonicalMessage`s of the agent store as the ModelMessages that `streamText` takes.

    Truncated calls are left out, results follow their calls, and a call without a result gets one.
    `target` is the version of the AI SDK: v5, v6 or v7. Messages of the model and whole conversations are taken too.

    >>> asked = {"role": "user", "type": "text", "content": {"format": 2, "parts": [{"type": "text", "text": "hi"}]}}
    >>> to_ai_sdk_messages([asked])
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'hi'}]}]
    """
    read = _as_conversation(messages)
    given = replace(read, messages=with_provider_metadata(read.messages, FORMAT, _MODEL), extra={})
    written = formats.write(given, _MODEL, target=target).data
    return list(written)


def _as_conversation(messages: Any) -> Conversation:
    if isinstance(messages, Conversation):
        return messages
    if isinstance(messages, (str, bytes, dict)) or not isinstance(messages, Sequence):
        raise HansardError(f"expected a list of messages, not {type(messages).__name__}")
    if messages and all(isinstance(one, Message) for one in messages):
        return Conversation(messages=list(messages))
    return formats.read(list(messages), FORMAT)


def with_provider_metadata(messages: list[Message], of: str, into: str) -> list[Message]:
    """The messages whose parts carry the provider metadata that one format gave them where another looks for it."""
    return [
        replace(message, parts=[_handed_over(part, of, into) for part in message.parts])
        if any(part.extra and of in part.extra for part in message.parts)
        else message
        for message in messages
    ]


def _handed_over(part: Any, of: str, into: str) -> Any:
    rest, _ = unpack(of, part.extra)
    name = next((name for name in _METADATA[of] if type(rest.get(name)) is dict), None)
    if name is None or into in part.extra:
        return part
    put_opaque(rest, name, part, item=of == _UI)  # the reader took signatures and ids out of it
    return replace(part, extra={**part.extra, into: {_NAMES[into]: rest[name]}})
