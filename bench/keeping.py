"""What is left of a conversation that went to another format and came back: leaf values at their old place.

The documents are this project's golden ones. Hansard goes through its own record, as its users do: what the other side
cannot carry stays there, and is joined again with what comes back.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hansard
from hansard.model.rejoin import rejoin

ANSWER = {"role": "assistant", "content": "Enjoy!"}
Way = Callable[[Any], Any]
GOLDEN = Path(__file__).parent.parent / "tests/golden"


def leaves(value: Any, place: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    if type(value) is dict:
        pairs: Any = value.items()
    elif type(value) is list:
        pairs = enumerate(value)
    else:
        return {place: value}
    return {key: leaf for name, one in pairs for key, leaf in leaves(one, (*place, name)).items()}


def kept(before: Any, after: Any) -> tuple[int, int]:
    """How many leaf values there were, and how many of them are where they were."""
    old, new = leaves(before), leaves(after)
    return len(old), sum(place in new and new[place] == value for place, value in old.items())


def answered(document: Any) -> Any:
    """Another provider answers in between, and the first is asked again: the record is what is written."""
    record = hansard.read(document, "anthropic")
    hansard.write(record, "openai-chat")
    answer = hansard.read({"choices": [{"index": 0, "finish_reason": "stop", "message": ANSWER}]}, "openai-chat")
    return hansard.write(hansard.append_answer(record, answer), "anthropic").data


def rejoined(document: Any) -> Any:
    """A browser sends back what it was given, and it is joined with the record."""
    record = hansard.read(document, "pydantic-ai")
    returned = hansard.read(hansard.write(record, "ai-sdk-ui").data, "ai-sdk-ui")
    return hansard.write(rejoin(record, returned), "pydantic-ai").data


def litellm(document: Any) -> Any:
    from litellm.litellm_core_utils.prompt_templates.factory import anthropic_messages_pt
    from litellm.llms.anthropic.pass_through.adapters.transformation import LiteLLMAnthropicMessagesAdapter

    adapter = LiteLLMAnthropicMessagesAdapter()
    chat = adapter.translate_anthropic_messages_to_openai(messages=document["messages"])
    plain = json.loads(json.dumps([*chat, ANSWER], default=lambda value: value.model_dump(exclude_none=True)))
    return {"messages": anthropic_messages_pt(plain, model="claude-opus-5", llm_provider="anthropic")}


def vercel(document: Any) -> Any:
    from pydantic_ai.messages import ModelMessagesTypeAdapter
    from pydantic_ai.ui.vercel_ai import VercelAIAdapter

    messages = ModelMessagesTypeAdapter.validate_python(document)
    again = VercelAIAdapter.load_messages(VercelAIAdapter.dump_messages(messages))
    return ModelMessagesTypeAdapter.dump_python(again, mode="json")


def keeping() -> None:
    """One line a trip."""
    print("\nThere and back: leaf values of the golden conversations that are at their place again")
    _trip("anthropic", "openai-chat", answered, "litellm", litellm, part="messages")
    _trip("pydantic-ai", "ai-sdk-ui", rejoined, "pydantic-ai's adapter", vercel)


def _trip(home: str, away: str, ours: Way, peer: str, theirs: Way, part: str | None = None) -> None:
    rows: dict[str, list[int]] = {"hansard": [0, 0, 0], peer: [0, 0, 0]}
    count = 0
    for path in sorted((GOLDEN / home).glob("*.json")):
        document = json.loads(path.read_bytes())
        if type(document) is not (dict if part else list) or (part and part not in document):
            continue
        try:
            theirs(document)
        except Exception:  # what the peer cannot read at all is left out on both sides
            continue
        count += 1
        for name, there_and_back in (("hansard", ours), (peer, theirs)):
            before, after = document, there_and_back(document)
            had, has = kept(before[part], after[part]) if part else kept(before, after)
            rows[name][0] += had
            rows[name][1] += has
            rows[name][2] += had == has
    for name, (had, has, whole) in rows.items():
        print(f"  {home} -> {away} -> {home:<12} {name:<24} {has:5} of {had:5} kept; {whole} of {count} whole")
