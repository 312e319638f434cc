"""A model that streams the answers of a script, without API key or network: for demos and tests.

    model = ScriptedModel([
        ["Let me look. ", {"tool": "look", "input": {"x": 1}}],
        [{"reasoning": "It is 4.", "signature": "s"}, "It is 4."],
    ])

A script is a list of steps, one per request; a step is a text or a list of items:

    "text", {"text": "text"}                text, streamed word by word, or cut by `pieces`
    {"reasoning": "text"}                   optionally with `signature`
    {"tool": "name", "input": {...}}        a call; `id` is optional; `input` may be any text, also invalid JSON
    {"file": "base64", "mediaType": "..."}  a file
    {"delay": 0.2}                          wait so many seconds
    {"error": "text"}                       the model fails here
    {"finish": "length"}                    the finish reason
    {"usage": {"input_tokens": 9}}          the usage

            keys = ", ".join(_KEYS)
            raise HansardError(f"{place} of the script: invalid item {item!r}: expected one of the keys {keys}")
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage

from hansard.agent.brief_help import BriefHelp
from hansard.errors import HansardError

Item: TypeAlias = "str | dict[str, Any]"
Step: TypeAlias = "str | Sequence[Item]"
_WORDS = re.compile(r"\S+\s*|\s+")
_KEYS = ("text", "reasoning", "tool", "file", "delay", "error", "finish", "usage")


class ScriptedError(Exception):
    """The failure of a model, raised by an `error` item."""


class ScriptedModel(Model, metaclass=BriefHelp):
    """A model without a provider: it answers from a script.

    The number of answers in the history picks the entry, and after the last one the script begins again. So a second
    agent in the same thread begins with the second entry. `delay` is the time between two pieces, in seconds.
    """

    def __init__(
        self,
        script: Sequence[Step] | Callable[[list[ModelMessage]], Step],
        *,
        name: str = "scripted",
        provider: str = "scripted",
        delay: float = 0.0,
    ) -> None:
        super().__init__()
        if not callable(script) and not script:
            raise HansardError("the script has no steps; give at least one, such as ['Hello.']")
        self._script, self._name, self._provider_name, self._delay = script, name, provider, delay
        if not callable(script):
            for i, step in enumerate(script):
                _items(step, f"step {i}")

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def system(self) -> str:
        return self._provider_name

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        stream = self._stream(messages, model_request_parameters)
        async for _ in stream:
            pass
        return stream.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        yield self._stream(messages, model_request_parameters)

    def _stream(self, messages: list[ModelMessage], parameters: ModelRequestParameters) -> _Scripted:
        said = sum(isinstance(message, ModelResponse) for message in messages)
        step = self._script(messages) if callable(self._script) else self._script[said % len(self._script)]
        return _Scripted(
            model_request_parameters=parameters,
            items=_items(step, f"step {said}"),
            said=said,
            delay=self._delay,
            named=self._name,
            provider=self._provider_name,
        )


@dataclass
class _Scripted(StreamedResponse):
    items: list[dict[str, Any]] = field(default_factory=list)
    said: int = 0
    delay: float = 0.0
    named: str = ""
    provider: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        self.finish_reason = "stop"
        parts = self._parts_manager
        for i, item in enumerate(self.items):
            key = f"item {i}"
            if "text" in item:
                async for piece in self._pieces(item, "text"):
                    for event in parts.handle_text_delta(vendor_part_id=key, content=piece):
                        yield event
            elif "reasoning" in item:
                async for piece in self._pieces(item, "reasoning"):
                    for event in parts.handle_thinking_delta(vendor_part_id=key, content=piece):
                        yield event
                if "signature" in item:
                    for event in parts.handle_thinking_delta(
                        vendor_part_id=key, signature=item["signature"], provider_name=self.provider
                    ):
                        yield event
            elif "tool" in item:
                self.finish_reason = "tool_call"
                async for event in self._call(item, key, i):
                    yield event
            elif "file" in item:
                await asyncio.sleep(self.delay)
                data = base64.b64decode(item["file"])
                content = BinaryContent(data=data, media_type=item.get("mediaType", "application/octet-stream"))
                yield parts.handle_part(vendor_part_id=key, part=FilePart(content=content))
            elif "delay" in item:
                await asyncio.sleep(item["delay"])
            elif "error" in item:
                raise ScriptedError(item["error"])
            elif "finish" in item:
                self.finish_reason = item["finish"]
            else:
                self._usage = RequestUsage(**item["usage"])

    async def _pieces(self, item: dict[str, Any], key: str) -> AsyncIterator[str]:
        for piece in item.get("pieces") or _WORDS.findall(item[key]):
            if self.delay:
                await asyncio.sleep(self.delay)
            self._usage += RequestUsage(output_tokens=1)
            yield piece

    async def _call(self, item: dict[str, Any], key: str, i: int) -> AsyncIterator[ModelResponseStreamEvent]:
        given = item.get("input", {})
        words = given if isinstance(given, str) else json.dumps(given)
        call_id = item.get("id") or f"call_{self.said}_{i}"
        begun = ToolCallPart(tool_name=item["tool"], args="", tool_call_id=call_id)
        yield self._parts_manager.handle_part(vendor_part_id=key, part=begun)
        for piece in re.findall(r"(?s).{1,12}", words):
            if self.delay:
                await asyncio.sleep(self.delay)
            event = self._parts_manager.handle_tool_call_delta(vendor_part_id=key, args=piece)
            if event is not None:
                yield event

    async def close_stream(self) -> None:
        """Nothing to close."""

    @property
    def model_name(self) -> str:
        return self.named

    @property
    def provider_name(self) -> str:
        return self.provider

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self.at


def _items(step: Step, place: str) -> list[dict[str, Any]]:
    """A step as a list of items, each with one of the known keys."""
    found: list[dict[str, Any]] = []
    for item in [step] if isinstance(step, str) else step:
        plain = {"text": item} if isinstance(item, str) else item
        if not isinstance(plain, dict) or not any(key in plain for key in _KEYS):
            raise HansardError(
                f"{place} of the script: invalid item {item!r}: expected one of the keys {', '.join(_KEYS)}"
            )
        found.append(plain)
    return found
