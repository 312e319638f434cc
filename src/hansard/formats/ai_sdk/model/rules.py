"""What `modelMessageSchema` of AI SDK 5, 6 and 7 accepts; with a profile the writer removes the rest."""

from __future__ import annotations

from typing import Any

_OPTIONAL: dict[str, type] = {
    "filename": str,
    "providerExecuted": bool,
    "reason": str,
    "signature": str,
    "isAutomatic": bool,
}


def conform_to_version(records: list[dict[str, Any]], profile: str) -> list[dict[str, Any]]:
    """Remove everything that `modelMessageSchema` of the version rejects."""
    out: list[dict[str, Any]] = []
    for record in records:
        if record["role"] not in ("system", "user", "assistant", "tool"):
            continue
        content = record["content"]
        if type(content) is list:
            content = [_tidy(part) for part in content if _is_part(part, record["role"], profile)]
        out.append(_tidy({**record, "content": content}))
    return _without_stray_approvals(out)


def _without_stray_approvals(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Remove requests without their call and responses without their request: `streamText` refuses them."""
    calls: set[str] = set()
    asked: set[str] = set()
    out: list[dict[str, Any]] = []
    for record in records:
        content = record["content"]
        if type(content) is list:
            kept = []
            calls |= {part["toolCallId"] for part in content if part["type"] == "tool-call"}
            for part in content:
                if part["type"] == "tool-approval-request":
                    if part["toolCallId"] not in calls:
                        continue
                    asked.add(part["approvalId"])
                elif part["type"] == "tool-approval-response" and part["approvalId"] not in asked:
                    continue
                kept.append(part)
            if len(kept) != len(content):
                record = {**record, "content": kept}
        out.append(record)
    return out


def _is_part(part: Any, role: str, profile: str) -> bool:
    kind = part.get("type") if type(part) is dict else None
    if type(kind) is not str or kind not in _ALLOWED[role]:
        return False
    if kind in _SINCE and profile < _SINCE[kind]:
        return False
    return all(type(part.get(key)) is str for key in _TEXTS[kind]) and _holds(part, kind, profile)


def _holds(part: dict[str, Any], kind: str, profile: str) -> bool:
    """Whether the part has its content, in a form that the version reads from JSON."""
    if kind == "file":
        data = part.get("data")
        return type(data) is str or (profile == "v7" and type(data) is dict and _is_reference(data))
    if kind == "tool-call":
        return "input" in part
    if kind == "tool-approval-response":
        return type(part.get("approved")) is bool
    if kind != "tool-result":
        return True
    output: Any = part.get("output")
    name = output.get("type") if type(output) is dict else None
    if name == "execution-denied":
        return profile != "v5"
    value = {"text": str, "error-text": str, "content": list}.get(name) if type(name) is str else None
    if value is None:
        return name in ("json", "error-json") and "value" in output
    return type(output.get("value")) is value


def _is_reference(data: dict[str, Any]) -> bool:
    held = data.get("reference")
    return data.get("type") == "reference" and type(held) is dict and all(type(one) is str for one in held.values())


_SINCE = {"tool-approval-request": "v6", "tool-approval-response": "v6", "custom": "v7", "reasoning-file": "v7"}
_TEXTS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "reasoning": ("text",),
    "file": ("mediaType",),
    "image": ("image",),
    "custom": ("kind",),
    "reasoning-file": ("mediaType", "data"),
    "tool-call": ("toolCallId", "toolName"),
    "tool-result": ("toolCallId", "toolName"),
    "tool-approval-request": ("approvalId", "toolCallId"),
    "tool-approval-response": ("approvalId",),
}
_ALLOWED: dict[str, frozenset[str]] = {
    "system": frozenset(),
    "user": frozenset({"text", "file", "image"}),
    "assistant": frozenset(_TEXTS) - {"image", "tool-approval-response"},
    "tool": frozenset({"tool-result", "tool-approval-response"}),
}


def _tidy(part: dict[str, Any]) -> dict[str, Any]:
    """Remove optional fields of the wrong type from the part, its output and the items of the output."""
    options = part.get("providerOptions")
    flat = type(options) is not dict or not all(type(one) is dict for one in options.values())
    out = {
        key: value
        for key, value in part.items()
        if not (key in _OPTIONAL and type(value) is not _OPTIONAL[key]) and not (key == "providerOptions" and flat)
    }
    if type(out.get("output")) is dict:
        output = _tidy(out["output"])
        if output.get("type") == "content":
            output["value"] = [_tidy(item) for item in output["value"]]
        out["output"] = output
    return out
