"""`make bench`: Hansard beside its peers, in one interleaved run; CPU time, best of several rounds, ratios printed.

Nothing here asserts: it measures, and says which goal each figure is held against.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from agents import agents
from data import anthropic_request
from keeping import keeping
from ledger import ledgers
from search import searching
from sessions import sessions
from streams import live
from translators import requests
from viewer import viewer
from workspace import workspaces

import hansard
from hansard.model import exact_json

ROUNDS = 9


def measure(*actions: Callable[[], Any], rounds: int = ROUNDS) -> list[float]:
    """Milliseconds of CPU of each action: the best of its rounds, all actions in turn."""
    best = [float("inf")] * len(actions)
    for _ in range(rounds):
        for i, action in enumerate(actions):
            start = time.process_time()
            action()
            best[i] = min(best[i], (time.process_time() - start) * 1000)
    return best


def row(name: str, ours: float, theirs: float, ratio: float, goal: str) -> None:
    print(f"  {name:<58} {ours:9.1f} ms {theirs:9.1f} ms {ratio:7.2f}x   {goal}")


def conversions() -> None:
    print("\nJSON in to JSON out, against msgspec decode + encode of the same bytes (5,000 messages)")
    print(f"  {'':<58} {'hansard':>12} {'floor':>12} {'ratio':>8}   goal")
    request = exact_json.encode(anthropic_request())
    thinking = exact_json.encode(anthropic_request(thinking=True))
    chat = hansard.convert(request, "openai-chat", "anthropic").json
    ui = hansard.convert(request, "ai-sdk-ui", "anthropic").json
    native = hansard.convert(request, "hansard", "anthropic").json
    history = hansard.convert(request, "pydantic-ai", "anthropic").json
    pairs = [
        ("anthropic", "anthropic", request),
        ("anthropic", "openai-chat", request),
        ("openai-chat", "anthropic", chat),
        ("anthropic", "gemini", request),
        ("anthropic", "openai-responses", request),
        ("anthropic", "ai-sdk-ui", request),
        ("ai-sdk-ui", "anthropic", ui),
        ("anthropic", "pydantic-ai", request),
        ("pydantic-ai", "ai-sdk-ui", history),
        ("anthropic", "hansard", request),
        ("hansard", "anthropic", native),
        ("anthropic", "hansard", thinking),
    ]
    for source, target, raw in pairs:

        def convert(raw: bytes = raw, source: str = source, target: str = target) -> bytes:
            return hansard.convert(raw, target, source).json

        def floor(raw: bytes = raw) -> bytes:
            return msgspec.json.encode(msgspec.json.decode(raw))

        ours, least = measure(convert, floor)
        signed = ", signed thinking" if raw is thinking else ""
        row(f"{source} -> {target}{signed}, {len(raw) / 1e6:.1f} MB", ours, least, ours / least, "at most 2.0x")

    def with_losses() -> list[Any]:
        return hansard.convert(request, "openai-chat", "anthropic").losses

    def without() -> bytes:
        return hansard.convert(request, "openai-chat", "anthropic").json

    ours, least = measure(with_losses, without, rounds=3)
    print(f"  the loss report on top (anthropic -> openai-chat): {ours:.1f} ms against {least:.1f} ms without")


def peers() -> None:
    print("\nThe same work by others (5,000 messages)")
    print(f"  {'':<58} {'hansard':>12} {'peer':>12} {'faster':>8}   goal")
    request = anthropic_request()
    raw = exact_json.encode(request)
    _pydantic_ai(raw)
    _pydantic_ai(exact_json.encode(anthropic_request(scale=0.3)))
    _langchain(raw, request)
    _litellm(raw, request)
    requests()


def _pydantic_ai(raw: bytes) -> None:
    try:
        from pydantic import TypeAdapter
        from pydantic_ai.messages import ModelMessagesTypeAdapter
        from pydantic_ai.ui.vercel_ai import VercelAIAdapter
        from pydantic_ai.ui.vercel_ai.request_types import UIMessage
    except ImportError as error:
        print(f"  pydantic-ai's Vercel adapter could not be imported: {error}")
        return
    history = hansard.convert(raw, "pydantic-ai", "anthropic").json
    adapter = TypeAdapter(list[UIMessage])

    def their_dump() -> bytes:
        messages = VercelAIAdapter.dump_messages(ModelMessagesTypeAdapter.validate_json(history))
        return adapter.dump_json(messages, by_alias=True, exclude_none=True)

    ui = their_dump()

    def their_load() -> bytes:
        return ModelMessagesTypeAdapter.dump_json(VercelAIAdapter.load_messages(adapter.validate_json(ui)))

    ours, theirs = measure(lambda: hansard.convert(history, "ai-sdk-ui", "pydantic-ai").json, their_dump, rounds=5)
    size = f", {len(history) / 1e6:.1f} MB"
    row(
        f"pydantic-ai JSON -> AI SDK UIMessage JSON{size}",
        ours,
        theirs,
        theirs / ours,
        "at least 10x pydantic-ai's adapter",
    )
    ours, theirs = measure(lambda: hansard.convert(ui, "pydantic-ai", "ai-sdk-ui").json, their_load, rounds=5)
    size = f", {len(ui) / 1e6:.1f} MB"
    row(
        f"AI SDK UIMessage JSON -> pydantic-ai JSON{size}",
        ours,
        theirs,
        theirs / ours,
        "at least 10x pydantic-ai's adapter",
    )


def _langchain(raw: bytes, request: dict[str, Any]) -> None:
    try:
        from langchain_core.messages import convert_to_openai_messages
    except ImportError as error:
        print(f"  langchain-core could not be imported: {error}")
        return

    def theirs_json() -> bytes:
        return msgspec.json.encode(convert_to_openai_messages(msgspec.json.decode(raw)["messages"]))

    ours, theirs = measure(lambda: hansard.convert(raw, "openai-chat", "anthropic").json, theirs_json, rounds=5)
    row("Anthropic -> chat, langchain-core", ours, theirs, theirs / ours, "at least 8x")


def _litellm(raw: bytes, request: dict[str, Any]) -> None:
    try:
        from litellm.litellm_core_utils.prompt_templates.factory import anthropic_messages_pt
        from litellm.llms.anthropic.pass_through.adapters.transformation import LiteLLMAnthropicMessagesAdapter
    except ImportError as error:
        print(f"  litellm could not be imported: {error}")
        return
    adapter = LiteLLMAnthropicMessagesAdapter()

    def there() -> bytes:
        messages = adapter.translate_anthropic_messages_to_openai(messages=msgspec.json.decode(raw)["messages"])
        return msgspec.json.encode(messages)

    chat = hansard.convert(raw, "openai-chat", "anthropic").json

    def back() -> bytes:
        messages = msgspec.json.decode(chat)["messages"]
        return msgspec.json.encode(anthropic_messages_pt(messages, model="claude-opus-5", llm_provider="anthropic"))

    ours, theirs = measure(lambda: hansard.convert(raw, "openai-chat", "anthropic").json, there, rounds=5)
    row("Anthropic -> chat, litellm", ours, theirs, theirs / ours, "not slower")
    ours, theirs = measure(lambda: hansard.convert(chat, "anthropic", "openai-chat").json, back, rounds=5)
    row("chat -> Anthropic, litellm", ours, theirs, theirs / ours, "not slower")


def start_up() -> None:
    print("\nStarting the command (CPU of the process)")
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.json"
        small.write_bytes(exact_json.encode(anthropic_request(8)))
        python = [sys.executable, "-c", "pass"]
        version = [sys.executable, "-m", "hansard", "--version"]
        convert = [sys.executable, "-m", "hansard", "convert", str(small), "--to", "openai-chat", "-o", f"{folder}/o"]
        compiled = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment = {**compiled, "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}  # as an installed package is
        bare, shown, converted = (_child(command, environment) for command in (python, version, convert))
    row("hansard --version, against python -c pass", shown, bare, shown / bare, "at most 4x")
    row("hansard convert of a small file", converted, bare, converted / bare, "at most 9x")


def _child(command: list[str], environment: dict[str, str]) -> float:
    best = float("inf")
    for _ in range(20):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        best = min(best, used * 1000)
    return best


def stores() -> None:
    """In an environment of their own; `-P` because a file here is called like one of the packages."""
    here = Path(__file__).parent
    subprocess.run([here.parent / ".venv-stores/bin/python", "-P", here / "stores.py"], check=True)


SECTIONS: dict[str, Callable[[], None]] = {
    "conversions": conversions,
    "peers": peers,
    "keeping": keeping,
    "streams": lambda: live(measure),
    "ledger": ledgers,
    "stores": stores,
    "search": searching,
    "agents": agents,
    "sessions": sessions,
    "workspace": workspaces,
    "viewer": viewer,
    "start": start_up,
}


def main(chosen: list[str]) -> None:
    """Measure the chosen sections, or all of them."""
    if unknown := set(chosen) - set(SECTIONS):
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    print(f"hansard {hansard.__version__}, Python {sys.version.split()[0]}; CPU time, best of {ROUNDS} or fewer rounds")
    for name in chosen or SECTIONS:
        SECTIONS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
