"""Events of a Codex rollout that tell what was said, as the items that they stand for where no items are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _told_message(role: str, kind: str, key: str) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    def tell(event: dict[str, Any]) -> list[dict[str, Any]]:
        words = event.get(key)
        if type(words) is not str:
            return []
        if kind == "reasoning":
            return [{"type": kind, "summary": [{"type": "summary_text", "text": words}]}]
        return [{"type": "message", "role": role, "content": words}]

    return tell


def _told_item(event: dict[str, Any]) -> list[dict[str, Any]]:
    """What the paginated mode says of an item that is complete."""
    item = event.get("item")
    if type(item) is not dict or type(item.get("type")) is not str:
        return []
    kind, content = item["type"], item.get("content")
    blocks = content if type(content) is list else []
    words = [block["text"] for block in blocks if type(block) is dict and type(block.get("text")) is str]
    if kind in ("UserMessage", "AgentMessage"):
        return [{"type": "message", "role": "user" if kind[0] == "U" else "assistant", "content": "\n".join(words)}]
    thoughts = item.get("summary_text")
    if kind == "Reasoning" and type(thoughts) is list and all(type(one) is str for one in thoughts):
        return [{"type": "reasoning", "summary": [{"type": "summary_text", "text": one} for one in thoughts]}]
    return []


TELLING: dict[Any, Callable[[dict[str, Any]], list[dict[str, Any]]]] = {
    "user_message": _told_message("user", "message", "message"),
    "agent_message": _told_message("assistant", "message", "message"),
    "agent_reasoning": _told_message("assistant", "reasoning", "text"),
    "agent_reasoning_raw_content": _told_message("assistant", "reasoning", "text"),
    "item_completed": _told_item,
}
