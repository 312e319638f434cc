"""ATIF 1.8 as Harbor's models have it, written down again: what `problems` finds, its validator would refuse."""

from __future__ import annotations

from datetime import datetime
from typing import Any

_NUMBER: Any = (int, float)
_TRAJECTORY = {
    "schema_version": str,
    "session_id": str,
    "trajectory_id": str,
    "agent": dict,
    "steps": list,
    "notes": str,
    "final_metrics": dict,
    "continued_trajectory_ref": str,
    "extra": dict,
    "subagent_trajectories": list,
}
_AGENT = {"name": str, "version": str, "model_name": str, "tool_definitions": list, "extra": dict}
_STEP = {
    "step_id": int,
    "timestamp": str,
    "source": str,
    "model_name": str,
    "reasoning_effort": (str, int, float),
    "message": (str, list),
    "reasoning_content": str,
    "tool_calls": list,
    "observation": dict,
    "metrics": dict,
    "is_copied_context": bool,
    "llm_call_count": int,
    "extra": dict,
}
_CALL = {"tool_call_id": str, "function_name": str, "arguments": dict, "extra": dict}
_RESULT = {"source_call_id": str, "content": (str, list), "subagent_trajectory_ref": list, "extra": dict}
_METRICS = {
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens"), int),
    "cost_usd": _NUMBER,
    **dict.fromkeys(("prompt_token_ids", "completion_token_ids", "logprobs"), list),
    "extra": dict,
}
_TOTALS = {
    **dict.fromkeys(("total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_steps"), int),
    "total_cost_usd": _NUMBER,
    "extra": dict,
}
_CONTENT = {"type": str, "text": str, "source": dict}
_MEDIA = {
    "image": ("jpeg", "png", "gif", "webp"),
    "audio": ("wav", "mpeg", "mp4", "aac", "ogg", "flac", "webm", "aiff"),
}
_AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


def problems(document: Any) -> list[str]:
    """Everything wrong with a trajectory, by its place."""
    found: list[str] = []
    _object(document, _TRAJECTORY, ("agent", "steps"), "$", found)
    if found:
        return found
    if document.get("schema_version", "ATIF-v1.8") not in {f"ATIF-v1.{minor}" for minor in range(9)}:
        found.append("$.schema_version")
    _object(document["agent"], _AGENT, ("name", "version"), "$.agent", found)
    if document.get("final_metrics") is not None:
        _object(document["final_metrics"], _TOTALS, (), "$.final_metrics", found)
    if not document["steps"]:
        found.append("$.steps: none")
    for i, step in enumerate(document["steps"]):
        _step(step, i + 1, f"$.steps[{i}]", found)
    seen: set[Any] = set()
    for i, other in enumerate(document.get("subagent_trajectories") or []):
        found += [f"$.subagent_trajectories[{i}]{problem[1:]}" for problem in problems(other)]
        name = other.get("trajectory_id")
        if name is None or name in seen:
            found.append(f"$.subagent_trajectories[{i}].trajectory_id")
        seen.add(name)
    return found


def _object(value: Any, fields: dict[str, Any], required: tuple[str, ...], path: str, found: list[str]) -> None:
    if type(value) is not dict:
        found.append(f"{path}: not an object")
        return
    found += [f"{path}.{key}: missing" for key in required if value.get(key) is None]
    for key, item in value.items():
        if key not in fields:
            found.append(f"{path}.{key}: unknown")
        elif item is not None and (not isinstance(item, fields[key]) or (type(item) is bool and fields[key] is int)):
            found.append(f"{path}.{key}: a {type(item).__name__}")


def _step(step: Any, number: int, path: str, found: list[str]) -> None:
    before = len(found)
    _object(step, _STEP, ("step_id", "source", "message"), path, found)
    if len(found) > before:
        return
    if step["step_id"] != number:
        found.append(f"{path}.step_id")
    if step["source"] not in ("system", "user", "agent"):
        found.append(f"{path}.source")
    if step["source"] != "agent":
        found += [f"{path}.{key}: only for agents" for key in _AGENT_ONLY if step.get(key) is not None]
    if step.get("timestamp") is not None:
        try:
            datetime.fromisoformat(step["timestamp"].replace("Z", "+00:00"))
        except ValueError:
            found.append(f"{path}.timestamp")
    _content(step["message"], f"{path}.message", found)
    if step.get("metrics") is not None:
        _object(step["metrics"], _METRICS, (), f"{path}.metrics", found)
    if step.get("llm_call_count") == 0 and step["source"] == "agent":
        found += [f"{path}.{key}: no call" for key in ("metrics", "reasoning_content") if step.get(key) is not None]
    calls = step.get("tool_calls") or []
    for k, call in enumerate(calls):
        _object(call, _CALL, ("tool_call_id", "function_name", "arguments"), f"{path}.tool_calls[{k}]", found)
    if step.get("observation") is not None:
        _observation(step["observation"], {call.get("tool_call_id") for call in calls}, f"{path}.observation", found)


def _observation(value: Any, called: set[Any], path: str, found: list[str]) -> None:
    _object(value, {"results": list}, ("results",), path, found)
    for k, result in enumerate(value.get("results") or []):
        _object(result, _RESULT, (), f"{path}.results[{k}]", found)
        if result.get("source_call_id") is not None and result["source_call_id"] not in called:
            found.append(f"{path}.results[{k}].source_call_id")
        _content(result.get("content"), f"{path}.results[{k}].content", found)
        for ref in result.get("subagent_trajectory_ref") or []:
            if ref.get("trajectory_id") is None and ref.get("trajectory_path") is None:
                found.append(f"{path}.results[{k}].subagent_trajectory_ref")


def _content(content: Any, path: str, found: list[str]) -> None:
    for i, part in enumerate(content if type(content) is list else []):
        place = f"{path}[{i}]"
        _object(part, _CONTENT, ("type",), place, found)
        kind, source = part.get("type"), part.get("source")
        if kind == "text":
            if part.get("text") is None or source is not None:
                found.append(f"{place}: not a text")
        elif kind not in _MEDIA or part.get("text") is not None or type(source) is not dict:
            found.append(f"{place}: not a file")
        else:
            sound = {"duration_sec": _NUMBER} if kind == "audio" else {}
            _object(source, {"media_type": str, "path": str, **sound}, ("media_type", "path"), f"{place}.source", found)
            if source.get("media_type") not in {f"{kind}/{one}" for one in _MEDIA[kind]}:
                found.append(f"{place}.source.media_type")
