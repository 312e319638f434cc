"""Which files of the corpus are documents of which format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hansard.model import exact_json

_CONVERSATIONS = {
    "anthropic.messages": "anthropic",
    "anthropic.beta_messages": "anthropic",
    "openai.chat": "openai-chat",
    "openai.chat_compat": "openai-chat",
    "openai.responses": "openai-responses",
    "gemini.contents": "gemini",
}
_SESSIONS = {
    "claude-code": ("claude-code/*.jsonl", "claude-code-projects/**/*.jsonl"),
    "pi": ("pi/*.jsonl",),
    "copilot-cli": ("copilot-cli/*.jsonl",),
    "codex": ("codex/**/*.json*",),
    "gemini-cli": ("gemini-cli/**/*.json*",),
}
_ANSWERS = {
    "anthropic": "anthropic",
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "google": "gemini",
}


def corpus_documents(corpus: Path, name: str) -> list[bytes]:
    """The documents of one format, as bytes."""
    found: list[bytes] = []
    for path in sorted((corpus / "provider-conversations").glob("*.json")):
        case = exact_json.decode(path.read_bytes())
        if _CONVERSATIONS.get(case["format"]) == name:
            found.append(exact_json.encode(case["request"]))
    for folder, format_name in _ANSWERS.items():
        if format_name == name:
            found += [path.read_bytes() for path in sorted((corpus / "provider-streams" / folder).glob("*.json"))]
    for pattern in _SESSIONS.get(name, ()):
        found += [path.read_bytes() for path in sorted((corpus / "sessions").glob(pattern))]
    if name == "pydantic-ai":
        found += [path.read_bytes() for path in sorted((corpus / "pydantic-ai").rglob("*.json"))]
    if name in _AI_SDK:
        whole: dict[bytes, None] = {}
        for path in sorted((corpus / "ai-sdk").rglob("*.json")):
            documents = _ai_sdk(exact_json.decode(path.read_bytes()), _AI_SDK[name])
            whole.update(dict.fromkeys(map(exact_json.encode, documents)))
        found += whole
    if name in _EXCHANGED:
        found += [path.read_bytes() for path in sorted((corpus / "sessions" / name).glob("*.json"))]
    return found


_EXCHANGED = ("atif", "chatgpt-export")
_AI_SDK = {"ai-sdk-ui": "parts", "ai-sdk-model": "content"}


def _ai_sdk(value: Any, key: str) -> Iterator[Any]:
    """Every list of messages, request body and single message in what the real packages were given and made."""
    if type(value) is list and value and all(_is_message(item, key) for item in value):
        yield value
    elif type(value) is list:
        for item in value:
            yield from _ai_sdk(item, key)
    elif type(value) is dict and key == "parts" and _is_message(value, key):
        yield value
    elif type(value) is dict:
        if key == "parts" and "trigger" in value and type(value.get("messages")) is list:
            yield value
        for name, item in value.items():
            if name not in ("nextRequest", "firstRequest"):  # what a provider was sent
                yield from _ai_sdk(item, key)


def _is_message(value: Any, key: str) -> bool:
    if type(value) is not dict or type(value.get("role")) is not str:
        return False
    if key == "content":
        return "content" in value and "parts" not in value and "id" not in value
    return type(value.get("parts")) is list or (type(value.get("content")) is str and "id" in value)
