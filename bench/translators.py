"""The recorded provider conversations of the corpus, every pair of formats, beside other translators.

Each peer does what it can: a pair that it raises an error for, or needs the network for, is left out on both sides. A
round is all pairs a few times; Hansard and the peer take turns; the median of the rounds counts. What comes back
equal: a request in its own format, and one that went to another format and came back, by the translators alone.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import hansard

ROUNDS, TIMES = 5, 40
FORMATS = ("openai-chat", "openai-responses", "anthropic", "gemini")
_OF_CORPUS = dict(
    zip(("openai.chat", "openai.responses", "anthropic.messages", "gemini.contents"), FORMATS, strict=True)
)
Translate = Callable[[bytes, str, str], bytes]


def requests() -> None:
    """One row a peer; what they warn of is not shown."""
    logging.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _requests()


def _requests() -> None:
    folder = Path(os.environ.get("HANSARD_CORPUS", "")) / "provider-conversations"
    paths = sorted(folder.glob("*.json")) if os.environ.get("HANSARD_CORPUS") else []
    if not paths:
        print("  recorded requests: HANSARD_CORPUS names no corpus")
        return
    recorded = [json.loads(path.read_bytes()) for path in paths]
    given = [(_OF_CORPUS[one["format"]], json.dumps(one["request"]).encode()) for one in recorded]
    print(
        f"\nRecorded requests ({len(given)}), each to {len(FORMATS)} formats, JSON to JSON; median of {ROUNDS} rounds"
    )
    print(f"  {'':<34} {'pairs':>9} {'hansard':>11} {'peer':>11} {'faster':>8}   equal in own format   after a trip")
    for name, peer in (
        ("llm-rosetta", _rosetta),
        ("litellm", _litellm),
        ("pydantic-ai, from its history", _pydantic_ai),
    ):
        try:
            translate = peer()
        except ImportError as error:
            print(f"  {name} could not be imported: {error}")
            continue
        _row(name, translate, given if name != "pydantic-ai, from its history" else _histories(given))


def ours(raw: bytes, source: str, target: str) -> bytes:
    return hansard.convert(raw, target, source, **_ASKED[target] if source != target else {}).json


_ASKED: dict[str, Any] = {name: {"model": "m", "max_tokens": 1024} for name in FORMATS}


def _row(name: str, theirs: Translate, given: list[tuple[str, bytes]]) -> None:
    pairs = [(raw, source, target) for source, raw in given for target in FORMATS]
    able = [pair for pair in pairs if _made(theirs, *pair) is not None]
    if not able:
        print(f"  {name:<34} {0:>3} of {len(pairs)}")
        return
    rounds = [(_milliseconds(ours, able), _milliseconds(theirs, able)) for _ in range(ROUNDS)]
    mine, other = (median(times) for times in zip(*rounds, strict=True))
    own = [(source, raw) for source, raw in given if source in FORMATS]
    trips = [(source, target, raw) for source, raw in own for target in FORMATS if target != source]
    equal = [[sum(_equal(way, raw, source) for source, raw in own) for way in (ours, theirs)]]
    equal.append([sum(_equal(way, raw, source, target) for source, target, raw in trips) for way in (ours, theirs)])
    pairs_of = zip(equal, (own, trips), strict=True)
    told = [f"{counts[0]} and {counts[1]} of {len(of)}" if of else "-" for counts, of in pairs_of]
    print(
        f"  {name:<34} {len(able):>3} of {len(pairs):<3} {mine:8.2f} ms {other:8.2f} ms {other / mine:7.2f}x   "
        f"{told[0]:<19}   {told[1]}"
    )


def _milliseconds(translate: Translate, pairs: list[tuple[bytes, str, str]]) -> float:
    start = time.process_time()
    for _ in range(TIMES):
        for pair in pairs:
            translate(*pair)
    return (time.process_time() - start) * 1000 / TIMES


def _made(translate: Translate, raw: bytes, source: str, target: str) -> bytes | None:
    """What a translator makes of a request; None if it raises an error, or needs the network (some fetch images)."""
    asked: list[Any] = []
    resolve = socket.getaddrinfo

    def refuse(*given: Any, **named: Any) -> Any:
        asked.append(given)
        raise OSError("no network in a measurement")

    socket.getaddrinfo = refuse
    try:
        made = translate(raw, source, target)
    except Exception:  # whatever a peer says to what it does not translate
        return None
    finally:
        socket.getaddrinfo = resolve
    return None if asked else made


def _equal(translate: Translate, raw: bytes, source: str, by: str | None = None) -> bool:
    there = _made(translate, raw, source, by or source)
    back = there if by is None or there is None else _made(translate, there, by, source)
    return back is not None and json.loads(back) == json.loads(raw)


def _rosetta() -> Translate:
    from llm_rosetta import ConversionPipeline

    names = dict(zip(FORMATS, ("openai_chat", "openai_responses", "anthropic", "google"), strict=True))

    def translate(raw: bytes, source: str, target: str) -> bytes:
        way = ConversionPipeline(names[source], names[target], force_conversion=True)  # one of its own for each request
        return json.dumps(way.convert_request(json.loads(raw))).encode()

    return translate


def _litellm() -> Translate:
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig
    from litellm.llms.anthropic.pass_through.adapters.transformation import LiteLLMAnthropicMessagesAdapter

    adapter, config = LiteLLMAnthropicMessagesAdapter(), AnthropicConfig()

    def to_chat(body: dict[str, Any]) -> Any:
        made = adapter.translate_anthropic_to_openai(body)  # type: ignore[arg-type]
        return made[0] if isinstance(made, tuple) else made

    def to_claude(body: dict[str, Any]) -> Any:
        messages, model = body.pop("messages"), body.pop("model", "m")
        known = config.map_openai_params(body, {}, model, drop_params=True)
        return config.transform_request(model, messages, {"max_tokens": 1024, **known}, {}, {})

    ways = {("anthropic", "openai-chat"): to_chat, ("openai-chat", "anthropic"): to_claude}

    def translate(raw: bytes, source: str, target: str) -> bytes:
        return json.dumps(ways[source, target](json.loads(raw)), default=_plain).encode()

    return translate


def _plain(value: Any) -> Any:
    return value.model_dump(exclude_none=True)


def _histories(given: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Pydantic AI reads no requests of providers: it is given its own history of the same conversation."""
    return [("pydantic-ai", hansard.convert(raw, "pydantic-ai", source).json) for source, raw in given]


def _pydantic_ai() -> Translate:
    from pydantic_ai.messages import ModelMessagesTypeAdapter
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    asked = ModelRequestParameters()
    openai, claude = OpenAIProvider(api_key="none"), AnthropicProvider(api_key="none")
    chat = OpenAIChatModel("gpt-5", provider=openai)
    responses = OpenAIResponsesModel("gpt-5", provider=openai)
    anthropic = AnthropicModel("claude-opus-4-6", provider=claude)
    ways: dict[str, Callable[[Any], Any]] = {
        "openai-chat": lambda history: chat._map_messages(history, asked),
        "openai-responses": lambda history: responses._map_messages(history, {}, asked),
        "anthropic": lambda history: anthropic._map_message(history, asked, {}),
    }
    loop = asyncio.new_event_loop()

    def translate(raw: bytes, source: str, target: str) -> bytes:
        made = loop.run_until_complete(ways[target](ModelMessagesTypeAdapter.validate_json(raw)))
        return json.dumps(made, default=_plain_or_text).encode()

    return translate


def _plain_or_text(value: Any) -> Any:
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else str(value)
