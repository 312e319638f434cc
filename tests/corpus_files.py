"""Which files of the corpus are documents of which format."""

from __future__ import annotations

from pathlib import Path

from hansard.model import exact_json

_CONVERSATIONS = {
    "anthropic.messages": "anthropic",
    "anthropic.beta_messages": "anthropic",
    "openai.chat": "openai-chat",
    "openai.chat_compat": "openai-chat",
    "openai.responses": "openai-responses",
    "gemini.contents": "gemini",
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
            found += [
                path.read_bytes() for path in sorted((corpus / "provider-streams" / folder).glob("*.json"))
            ]
    if name == "pydantic-ai":
        found += [path.read_bytes() for path in sorted((corpus / "pydantic-ai").rglob("*.json"))]
    return found
