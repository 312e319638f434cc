"""UIMessages as one version of the AI SDK accepts them, without what its `validateUIMessages` rejects or strips.

    version   what it lacks
    v5        approvals (the states become input-available or output-error), toolMetadata, result metadata, titles
    v5, v6    custom, reasoning-file and steering-message parts, citations, provider references
    all       unknown parts and fields, nulls for absent fields, messages of users without parts

A part without a required field is left out; input and output are always written, null if necessary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

_Check = Callable[[Any], bool]
DENIED = "Tool call execution denied."


def _is_str(value: Any) -> bool:
    return type(value) is str


def _is_bool(value: Any) -> bool:
    return type(value) is bool


def _any(value: Any) -> bool:
    return True


def _is_object(value: Any) -> bool:
    return type(value) is dict


def _is_state(value: Any) -> bool:
    return value in ("streaming", "done")


def _is_encoding(value: Any) -> bool:
    return value in ("json", "text")


def _is_false(value: Any) -> bool:
    return value is False


def _is_metadata(value: Any) -> bool:
    return type(value) is dict and all(type(item) is dict for item in value.values())


def _is_reference(value: Any) -> bool:
    return type(value) is dict and all(type(item) is str for item in value.values())


def _is_citations(value: Any) -> bool:
    return type(value) is list and all(type(item) is dict and _is_citation(item) for item in value)


def _is_citation(citation: dict[str, Any]) -> bool:
    source = citation.get("source")
    if type(source) is not dict or source.get("type") != "source" or not _is_str(source.get("id")):
        return False
    needed = {"url": ("url",), "document": ("mediaType", "title")}.get(str(source.get("sourceType")), ("sourceType",))
    if source.get("sourceType") not in ("url", "document") or not all(_is_str(source.get(key)) for key in needed):
        return False
    texts = all(_is_str(source[key]) for key in ("title", "filename") if key in source)
    places = [citation[key] for key in ("startIndex", "endIndex") if key in citation]
    counts = all(type(place) is int and 0 <= place < 2**53 for place in places)
    return (
        texts and counts and _is_str(citation.get("citedText", "")) and _is_metadata(source.get("providerMetadata", {}))
    )


_Shape = tuple[dict[str, _Check], dict[str, _Check]]
_META: dict[str, _Check] = {"providerMetadata": _is_metadata}
_COMMON: dict[str, _Shape] = {
    "text": ({"text": _is_str}, {"state": _is_state, **_META}),
    "reasoning": ({"text": _is_str}, {"id": _is_str, "state": _is_state, **_META}),
    "source-url": ({"sourceId": _is_str, "url": _is_str}, {"title": _is_str, **_META}),
    "source-document": ({"sourceId": _is_str, "mediaType": _is_str, "title": _is_str}, {"filename": _is_str, **_META}),
    "file": ({"mediaType": _is_str, "url": _is_str}, {"filename": _is_str, **_META}),
    "step-start": ({}, {}),
}
_NEWER: dict[str, _Shape] = {
    "text": ({"text": _is_str}, {"state": _is_state, "citations": _is_citations, **_META}),
    "file": (
        {"mediaType": _is_str, "url": _is_str},
        {"filename": _is_str, "providerReference": _is_reference, **_META},
    ),
    "custom": ({"kind": _is_str}, _META),
    "reasoning-file": ({"mediaType": _is_str, "url": _is_str}, _META),
}
_PARTS: dict[str, dict[str, _Shape]] = {"v5": _COMMON, "v6": _COMMON, "v7": {**_COMMON, **_NEWER}}
_DATA: _Shape = ({"data": _any}, {"id": _is_str})
_TOOL: dict[str, dict[str, _Check]] = {
    "v5": {"providerExecuted": _is_bool, "callProviderMetadata": _is_metadata},
    "v6": {
        "providerExecuted": _is_bool,
        "callProviderMetadata": _is_metadata,
        "title": _is_str,
        "toolMetadata": _is_object,
    },
}
_TOOL["v7"] = _TOOL["v6"]
_STATES: dict[str, _Shape] = {
    "input-streaming": ({}, {"input": _any, "rawInput": _is_str, "inputEncoding": _is_encoding}),
    "input-available": ({"input": _any}, {}),
    "approval-requested": ({"input": _any}, {}),
    "approval-responded": ({"input": _any}, {}),
    "output-available": (
        {"input": _any, "output": _any},
        {"preliminary": _is_bool, "resultProviderMetadata": _is_metadata},
    ),
    "output-error": ({"errorText": _is_str}, {"input": _any, "rawInput": _any, "resultProviderMetadata": _is_metadata}),
    "output-denied": ({"input": _any}, {}),
}
_APPROVAL: dict[str, dict[str, _Check]] = {
    "v6": {"signature": _is_str, "descriptor": _any, "inputSchemaInput": _any, "approved": _is_bool, "reason": _is_str}
}
_APPROVAL["v7"] = {**_APPROVAL["v6"], "requestReason": _is_str, "isAutomatic": _is_bool}


def conform_to_version(
    records: list[dict[str, Any]], version: str, default_id: Callable[[int], str]
) -> list[dict[str, Any]]:
    """The messages as the version accepts them."""
    out: list[dict[str, Any]] = []
    for record in records:
        role, given = record.get("role"), record.get("parts")
        if role not in ("system", "user", "assistant"):
            continue
        parts = [made for part in given if (made := _part(part, version))] if type(given) is list else []
        if not parts and role != "assistant":
            continue
        message_id = record["id"] if _is_str(record.get("id")) else default_id(len(out))
        kept = {"metadata": record["metadata"]} if "metadata" in record else {}
        out.append({"id": message_id, "role": role, **kept, "parts": parts})
    return out


def _part(part: Any, version: str) -> dict[str, Any] | None:
    kind = part.get("type") if type(part) is dict else None
    if type(kind) is not str:
        return None
    if kind.startswith("tool-") or kind == "dynamic-tool":
        return _tool(part, kind, version)
    if kind == "steering-message":
        return _steering(part) if version == "v7" else None
    shape = _DATA if kind.startswith("data-") else _PARTS[version].get(kind)
    made = _fields_of(part, shape) if shape is not None else None
    if made is not None and kind in ("file", "reasoning-file") and not _has_location(made, version):
        return None
    return made


def _fields_of(part: dict[str, Any], shape: _Shape) -> dict[str, Any] | None:
    """The part with only the fields of its shape; None if a required field is missing or of the wrong type."""
    out = {"type": part["type"]}
    required, optional = shape
    for key, fits in required.items():
        if key not in part or not fits(part[key]):
            return None
        out[key] = part[key]
    for key, fits in optional.items():
        if key in part and fits(part[key]):
            out[key] = part[key]
    return out


def _has_location(part: dict[str, Any], version: str) -> bool:
    """Version 7 rejects relative URLs; in other versions a file that is only a provider reference has no URL."""
    if "providerReference" in part:
        return True
    if version != "v7":
        return bool(part["url"])
    try:
        address = urlsplit(part["url"])
    except ValueError:
        return False
    return bool(address.scheme and (address.netloc or address.scheme not in ("http", "https", "ws", "wss", "ftp")))


def _steering(part: dict[str, Any]) -> dict[str, Any] | None:
    if not _is_str(part.get("id")) or type(part.get("parts")) is not list:
        return None
    inner = [_part(item, "v7") for item in part["parts"] if type(item) is dict and item.get("type") in ("text", "file")]
    drop = ("state", "citations")
    parts = [{key: value for key, value in item.items() if key not in drop} for item in inner if item]
    return {"type": "steering-message", "id": part["id"], "parts": parts}


def _tool(part: dict[str, Any], kind: str, version: str) -> dict[str, Any] | None:
    state = part.get("state")
    if not _is_str(part.get("toolCallId")) or type(state) is not str or state not in _STATES:
        return None
    part = dict(part)
    approval = _adjust_state(part, version)
    required, optional = _STATES[part["state"]]
    for key in required:
        if key in ("input", "output"):
            part.setdefault(key, {} if key == "input" else None)
    named: dict[str, _Check] = {"toolCallId": _is_str, "state": _is_str}
    if kind == "dynamic-tool":
        named["toolName"] = _is_str
        optional = {**optional, "dynamic": _is_false}
    optional = {**optional, **_TOOL[version]}
    if version == "v5":
        optional.pop("resultProviderMetadata", None)
        optional.pop("inputEncoding", None)
        if part["state"] == "input-streaming":
            optional.pop("callProviderMetadata")
    out = _fields_of(part, ({**named, **required}, optional))
    if out is not None and approval is not None:
        out["approval"] = approval
    return out


def _adjust_state(part: dict[str, Any], version: str) -> dict[str, Any] | None:
    """Adjust the state of a tool part to its approval and the version; return the approval to write."""
    state, given = part["state"], part.get("approval")
    given = given if type(given) is dict else {}
    approval: dict[str, Any] | None = None
    if version != "v5" and _is_str(given.get("id")):
        checks = _APPROVAL[version]
        approval = {
            "id": given["id"],
            **{key: given[key] for key in checks if key in given and checks[key](given[key])},
        }
    if state == "output-denied" or (state == "approval-responded" and given.get("approved") is False):
        if version == "v5":
            reason = given.get("reason")
            part.update(state="output-error", errorText=reason if _is_str(reason) else DENIED)
        elif approval is None:
            approval = {"id": f"approval-{part['toolCallId']}"}
        return {**approval, "approved": False} if approval is not None else None
    if state in ("approval-requested", "approval-responded"):
        if approval is None:
            part["state"] = "input-available"
            return None
        if state == "approval-responded" and "approved" not in approval:
            part["state"] = "approval-requested"
        if part["state"] == "approval-requested":
            approval.pop("approved", None)
            approval.pop("reason", None)
        return approval
    if state in ("output-available", "output-error") and approval is not None and approval.get("approved") is True:
        return approval
    return None
