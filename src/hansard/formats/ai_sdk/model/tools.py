"""Tool results and approvals of ModelMessages.

    canonical                              native `output` of a tool-result
    output                                 text (a string), json (anything else)
    output, is_error                       error-text, error-json
    content                                content: text, image-data, image-url, file-data, file-url, media ...
    status denied, output the reason       execution-denied (version 5: error-text)

An approval is one field of the call; natively it is a request after the call and a response in the tool message.

    approval of a call                     native
    id                                     approvalId of both
    signature, inputSchemaInput, isAutomatic, requestReason (as `reason`)     tool-approval-request
    approved, reason                       tool-approval-response
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.ai_sdk.model.files import NAME, read_data, write_data
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model.display import Answer, denied, failed, shown_error, shown_media, shown_output
from hansard.model.parts import FilePart, Part, RawPart, TextPart, ToolCallPart, ToolResultPart

_BY_VALUE = ("media", "file-data", "image-data")
_BY_URL = ("file-url", "image-url")
_BY_ID = ("file-id", "image-file-id")


# -- results -------------------------------------------------------------------------------------------------------


def read_result(block: dict[str, Any], role: str) -> Part:
    """Read a tool-result; one in an assistant message belongs to a tool that the provider ran."""
    call_id, name, output = take_str(block, "toolCallId"), take_str(block, "toolName"), block.pop("output", None)
    if type(output) is not dict:
        raise SchemaMismatch("output")
    left = dict(output)
    kind = left.pop("type", None)
    fields: dict[str, Any] = {"is_error": kind in ("error-text", "error-json", "execution-denied")}
    hints: dict[str, Any] = {}
    if kind == "execution-denied":
        fields.update(status="denied", output=take_maybe_str(left, "reason"))
    elif "value" not in left:
        raise SchemaMismatch("output")
    elif kind == "content" and type(left["value"]) is list:
        fields["content"] = [_read_content(item) for item in left.pop("value")]
    elif kind in ("text", "error-text") and type(left["value"]) is str:
        fields["output"] = left.pop("value")
    elif kind in ("json", "error-json"):
        fields["output"] = left.pop("value")
        if type(fields["output"]) is str:
            hints["json"] = True
    else:
        raise SchemaMismatch("output")
    if left:
        hints["output"] = left
    if role == "assistant":
        fields["provider_executed"] = hints["provider"] = True
    return ToolResultPart(tool_call_id=call_id, tool_name=name, **fields, extra=pack(NAME, block, hints))


def write_result(part: Answer, call_id: str, name: str, profile: str | None) -> dict[str, Any]:
    """Write a tool-result for the call with that id and name."""
    out: dict[str, Any] = {"type": "tool-result", "toolCallId": call_id, "toolName": name}
    if part.extra is UNSET and type(part) is ToolResultPart and part.is_error is not True and part.status is UNSET:
        if part.content is UNSET and part.output is not UNSET:
            out["output"] = {"type": "text" if type(part.output) is str else "json", "value": part.output}
            return out
    rest, hints = unpack(NAME, part.extra)
    out["output"] = _write_output(part, hints, profile)
    if type(hints.get("output")) is dict:
        out["output"].update(hints["output"])
    return {**out, **rest}


def _write_output(part: Answer, hints: dict[str, Any], profile: str | None) -> dict[str, Any]:
    if denied(part):
        reason = shown_error(part)
        if profile == "v5":
            return {"type": "error-text", "value": reason or "Tool call execution denied."}
        said = type(part) is ToolResultPart and (part.output is not UNSET or part.content is not UNSET)
        return {"type": "execution-denied", "reason": reason} if said else {"type": "execution-denied"}
    if type(part) is ToolResultPart and part.content is not UNSET:
        if failed(part):
            return {"type": "error-text", "value": shown_error(part)}
        items = [made for inner in part.content if (made := _write_content(inner, profile)) is not UNSET]
        return {"type": "content", "value": items}
    value = shown_output(part)
    prefix = "error-" if failed(part) else ""
    kind = "text" if type(value) is str and not hints.get("json") else "json"
    return {"type": f"{prefix}{kind}", "value": value}


def _read_content(item: Any) -> Part:
    taken = dict(item) if type(item) is dict else {}
    kind = taken.pop("type", None)
    try:
        if kind == "text":
            return TextPart(text=take_str(taken, "text"), extra=pack(NAME, taken))
        if kind == "file":
            return read_data(taken, taken.pop("data", None), take_str(taken, "mediaType"), {"kind": "file"})
        if kind in _BY_VALUE:
            data, media = take_str(taken, "data"), take_str(taken, "mediaType")
            fields: dict[str, Any] = {"data": data, "media_type": media}
            if kind == "file-data":
                fields["name"] = take_maybe_str(taken, "filename")
        elif kind in _BY_URL:
            fields = {"url": take_str(taken, "url"), "media_type": "image/*" if kind == "image-url" else UNSET}
            if taken.get("mediaType") != fields["media_type"]:
                fields["media_type"] = take_maybe_str(taken, "mediaType") or fields["media_type"]
        elif kind in _BY_ID:
            fields = {"file_id": take_str(taken, "fileId")}
        else:
            raise SchemaMismatch("type")
    except SchemaMismatch:
        return RawPart(format=NAME, value=item)
    default = _kind_of("url" in fields, fields.get("media_type", UNSET))
    return FilePart(**fields, extra=pack(NAME, taken, {"kind": kind} if kind != default else {}))


def _kind_of(address: bool, media: str | UnsetType) -> str:
    image = media is not UNSET and media.startswith("image/")
    return f"{'image' if image else 'file'}-{'url' if address else 'data'}"


def _write_content(part: Any, profile: str | None) -> Any:
    if type(part) is RawPart:
        return part.value if part.format == NAME and profile is None else UNSET
    if type(part) is TextPart:
        return {"type": "text", "text": part.text, **unpack(NAME, part.extra)[0]}
    if type(part) is not FilePart:
        return UNSET
    rest, hints = unpack(NAME, part.extra)
    kind = hints.get("kind") if profile is None else None
    if kind == "file" and (data := write_data(part, hints, profile)) is not None:
        return {
            **set_present({"type": "file", "data": data, "mediaType": shown_media(part)}, filename=part.name),
            **rest,
        }
    if part.data is UNSET and part.url is UNSET:
        return {"type": kind, "fileId": part.file_id, **rest} if kind in _BY_ID else UNSET
    kind = kind if kind in (*_BY_VALUE, *_BY_URL) else _kind_of(part.data is UNSET, part.media_type)
    if part.data is not UNSET:
        kind = "media" if profile == "v5" else kind
        out = {"type": kind, "data": part.data, "mediaType": shown_media(part)}
        return {**(set_present(out, filename=part.name) if kind == "file-data" else out), **rest}
    if profile == "v5":
        return UNSET
    out = {"type": kind, "url": part.url}
    if kind == "file-url" or part.media_type != "image/*":
        set_present(out, mediaType=part.media_type)
    return {**out, **rest}


# -- approvals -----------------------------------------------------------------------------------------------------

_REQUEST = {name: name for name in ("signature", "inputSchemaInput", "isAutomatic")} | {"requestReason": "reason"}


def read_approval_request(block: Any, call: Any) -> dict[str, Any] | None:
    """Read an approval request that directly follows its call; None for any other block."""
    if type(block) is not dict or block.get("type") != "tool-approval-request" or type(call) is not ToolCallPart:
        return None
    if call.approval is not UNSET or block.get("toolCallId") != call.tool_call_id:
        return None
    known = {native: name for name, native in _REQUEST.items()}
    approval: dict[str, Any] = {}
    for key, value in block.items():
        if key == "approvalId" and type(value) is str:
            approval["id"] = value
        elif key in known:
            approval[known[key]] = value
        elif key not in ("type", "toolCallId"):
            return None
    return approval if "id" in approval else None


def write_approval_request(call: ToolCallPart, call_id: str) -> dict[str, Any] | None:
    """Write the approval request of a call; None if the call has no approval with an id."""
    approval = call.approval
    if type(approval) is not dict or type(approval.get("id")) is not str:
        return None
    out = {"type": "tool-approval-request", "approvalId": approval["id"], "toolCallId": call_id}
    return {**out, **{native: approval[name] for name, native in _REQUEST.items() if name in approval}}


def read_approval_response(block: Any, asked: dict[str, ToolCallPart]) -> ToolCallPart | None:
    """Find the call that a response answers; None if the approval of the call cannot hold all of its fields."""
    if type(block) is not dict or block.get("type") != "tool-approval-response":
        return None
    call = asked.get(block["approvalId"]) if type(block.get("approvalId")) is str else None
    if call is None or "approved" in call.approval or type(block.get("approved")) is not bool:
        return None
    left = {key: value for key, value in block.items() if key not in ("type", "approvalId", "approved")}
    if "reason" in left and type(left.pop("reason")) is not str:
        return None
    if not exact_json.same(left, {"providerExecuted": True} if call.provider_executed is True else {}):  # 1 is not true
        return None
    return call


def write_approval_response(call: ToolCallPart) -> dict[str, Any] | None:
    """Write the approval response of a call; None if there is none yet."""
    approval: Any = call.approval
    if write_approval_request(call, "") is None or type(approval.get("approved")) is not bool:
        return None
    out = {"type": "tool-approval-response", "approvalId": approval["id"], "approved": approval["approved"]}
    if type(approval.get("reason")) is str:
        out["reason"] = approval["reason"]
    return {**out, "providerExecuted": True} if call.provider_executed is True else out


def approval_order(calls: list[tuple[str, bool]], results: list[str]) -> list[tuple[str, bool]]:
    """Default order of a tool message: for each call its response, then its result; otherwise all responses first.

    `calls` holds each call id with whether it has a response; the result holds ids with whether it is the response.
    """
    order = [call_id for call_id, _ in calls if call_id in results]
    if order != results:
        return [(call_id, True) for call_id, said in calls if said] + [(call_id, False) for call_id in results]
    out: list[tuple[str, bool]] = []
    for call_id, said in calls:
        if said:
            out.append((call_id, True))
        if call_id in results:
            out.append((call_id, False))
    return out


def has_approval_response(call: ToolCallPart) -> bool:
    """Whether a user approved or rejected the call."""
    return write_approval_response(call) is not None
