"""Approvals in ModelMessages: a request behind its call, a response in the tool message; one `approval` of the call.

approval of a call                      native
id                                      approvalId of both
signature, inputSchemaInput, isAutomatic, requestReason (as `reason`)     tool-approval-request
approved, reason                        tool-approval-response
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.model import exact_json
from hansard.model.parts import ToolCallPart

_REQUEST = {name: name for name in ("signature", "inputSchemaInput", "isAutomatic")} | {"requestReason": "reason"}


def read_request(block: Any, call: Any) -> dict[str, Any] | None:
    """The approval that a request right behind its call asks for; None when it is anything else."""
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


def write_request(call: ToolCallPart, call_id: str) -> dict[str, Any] | None:
    """The request for the approval of a call, if it has one with an id."""
    approval = call.approval
    if type(approval) is not dict or type(approval.get("id")) is not str:
        return None
    out = {"type": "tool-approval-request", "approvalId": approval["id"], "toolCallId": call_id}
    return {**out, **{native: approval[name] for name, native in _REQUEST.items() if name in approval}}


def read_response(block: Any, asked: dict[str, ToolCallPart]) -> ToolCallPart | None:
    """The call that a response answers, if the call's approval can say all of it."""
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


def write_response(call: ToolCallPart) -> dict[str, Any] | None:
    """What was said to the request, if anything."""
    approval: Any = call.approval
    if write_request(call, "") is None or type(approval.get("approved")) is not bool:
        return None
    out = {"type": "tool-approval-response", "approvalId": approval["id"], "approved": approval["approved"]}
    if type(approval.get("reason")) is str:
        out["reason"] = approval["reason"]
    return {**out, "providerExecuted": True} if call.provider_executed is True else out


def layout(calls: list[tuple[str, bool]], results: list[str]) -> list[tuple[str, bool]]:
    """The usual order of a tool message: for each call its response, then its result; else all responses first.

    `calls` are ids with "was it answered by a person"; the outcome are ids with "is it the response".
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


def answered(call: ToolCallPart) -> bool:
    """Has somebody said yes or no to the call?"""
    return write_response(call) is not None
