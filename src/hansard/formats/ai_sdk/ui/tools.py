"""Tool parts of UIMessages: a call and its result in one part, `tool-<name>` or `dynamic-tool`, AI SDK 5 to 7.

    state                                canonical
    input-streaming                      call with state partial; the text so far is `input_text`
    input-available                      call
    approval-requested, -responded       call with `approval`
    output-available                     call and result
    output-error                         call and result with `is_error`; input that is not valid JSON is `input_text`
    output-denied                        call and result with status denied, its output the reason

Title, tool metadata, encodings and provider metadata are residue of the call, result metadata of the result.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.ai_sdk.reasoning import put_opaque, take_opaque
from hansard.formats.field_table.records import Written
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_str, unpack
from hansard.model.display import Answer, denied, failed, shown_error, shown_input, shown_output, without_ciphers
from hansard.model.parts import PARTIAL, ToolCallPart, ToolResultPart

NAME = "ai-sdk-ui"
_OUTPUT = ("output-available", "output-error", "output-denied")
_STREAMING = "input-streaming"
_STATES = (_STREAMING, "input-available", "approval-requested", "approval-responded", *_OUTPUT)


def read_finished(block: dict[str, Any], name: str, unchecked: list[Any]) -> tuple[ToolCallPart, ToolResultPart] | None:
    """Fast path for most tool parts, a call with its output and nothing else; None for all others."""
    call_id, state, ran = block.get("toolCallId"), block.get("state"), block.get("providerExecuted", UNSET)
    given, output = block.get("input", UNSET), block.get("output", UNSET)
    if state != "output-available" or type(call_id) is not str or given is UNSET or output is UNSET:
        return None
    if len(block) != (5 if ran is UNSET else 6) or (ran is not UNSET and ran is not False):
        return None
    unchecked.append(given)
    if type(output) is not str:
        unchecked.append(output)
    call = ToolCallPart(tool_call_id=call_id, tool_name=name, input=given, provider_executed=ran)
    return call, ToolResultPart(tool_call_id=call_id, tool_name=name, output=output, is_error=False)


def read_tool(block: dict[str, Any], name: str, dynamic: bool) -> tuple[ToolCallPart, ToolResultPart | None]:
    """Read the call and, if present, the result of a tool part, whose type and name the caller has taken."""
    call_id, state = take_str(block, "toolCallId"), take_str(block, "state")
    if state not in _STATES:
        raise SchemaMismatch("state")
    hints: dict[str, Any] = {"dynamic": True} if dynamic else {}
    fields: dict[str, Any] = {"input": block.pop("input", UNSET), "approval": block.pop("approval", UNSET)}
    raw = block.get("rawInput")
    if type(raw) is str and (state == _STREAMING or (state == "output-error" and fields["input"] is UNSET)):
        fields["input_text"] = block.pop("rawInput")
    elif raw is not None and state == "output-error" and fields["input"] is UNSET:  # the SDK rejected the call
        fields["input"], hints["raw"] = block.pop("rawInput"), True
    if state == _STREAMING:
        fields["state"] = PARTIAL
    if fields["input"] is UNSET and state not in (_STREAMING, "output-error"):
        hints["inputless"] = True
    if type(block.get("providerExecuted")) is bool:
        fields["provider_executed"] = block.pop("providerExecuted")
    fields.update(take_opaque(block, "callProviderMetadata", item=True))
    result = _read_result(block, call_id, name, state, fields) if state in _OUTPUT else None
    if fields["approval"] is not UNSET or state == "output-denied":
        if not _approval_fits(fields["approval"], state):
            hints["approval"] = True
    call = ToolCallPart(tool_call_id=call_id, tool_name=name, **fields)
    if _state_of(call, result) != state:
        hints["state"] = state
    return replace(call, extra=pack(NAME, block, hints)), result


def _read_result(block: dict[str, Any], call_id: str, name: str, state: str, call: dict[str, Any]) -> ToolResultPart:
    hints: dict[str, Any] = {}
    fields: dict[str, Any] = {"is_error": state != "output-available"}
    if state == "output-available":
        fields["output"] = block.pop("output", UNSET)
        if fields["output"] is UNSET:
            hints["outputless"] = True
        if type(block.get("preliminary")) is bool:
            fields["preliminary"] = block.pop("preliminary")
    elif state == "output-error":
        fields["output"] = take_str(block, "errorText")
    else:
        reason = call["approval"].get("reason") if type(call["approval"]) is dict else None
        fields.update(output=reason if type(reason) is str else UNSET, status="denied")
    if call.get("provider_executed") is True:
        fields["provider_executed"] = hints["provider"] = True
    rest = {key: block.pop(key) for key in ("resultProviderMetadata",) if key in block}
    return ToolResultPart(tool_call_id=call_id, tool_name=name, **fields, extra=pack(NAME, rest, hints))


def _is_finished(call: ToolCallPart, answer: ToolResultPart) -> bool:
    """Whether call and result have only fields that `read_finished` reads."""
    return (
        (call.extra is UNSET or NAME not in call.extra)
        and (answer.extra is UNSET or NAME not in answer.extra)
        and answer.is_error is not True
        and answer.status is UNSET
        and answer.preliminary is UNSET
        and answer.provider_executed is not True
        and call.approval is UNSET
        and call.input is not UNSET
        and call.state is UNSET
        and call.provider_executed is not True
        and type(call.tool_name) is str
    )


class _Finished(Written):
    type: str
    toolCallId: str
    state: str
    input: Any
    providerExecuted: Any
    output: Any


def write_finished(call: ToolCallPart, answer: Answer | None, call_id: str, unchecked: list[Any]) -> Written | None:
    """Fast path of `write_tool` for a call with its output and nothing else; None for all others."""
    if type(answer) is not ToolResultPart or not _is_finished(call, answer):
        return None
    output = shown_output(answer)
    unchecked.append(call.input)
    if type(output) is not str:
        unchecked.append(output)
    kind = f"tool-{call.tool_name}"
    return _Finished(kind, call_id, "output-available", call.input, call.provider_executed, output)


def write_tool(call: ToolCallPart, answer: Answer | None, call_id: str, unchecked: list[Any]) -> dict[str, Any]:
    """Write call and result as one part; an inconsistent approval or state is written only as it was read."""
    rest, hints = unpack(NAME, call.extra)
    put_opaque(rest, "callProviderMetadata", call, item=True)
    name = call.tool_name if type(call.tool_name) is str else ""
    out: dict[str, Any] = {"type": f"tool-{name}"}
    if hints.get("dynamic"):
        out = {"type": "dynamic-tool", "toolName": name}
    implied = _state_of(call, answer)
    state = hints.get("state", implied)
    if state not in _STATES or (state in _OUTPUT) != (implied in _OUTPUT):
        state = implied
    out.update(toolCallId=call_id, state=state)
    _put_input(out, call, state, hints)
    set_present(out, providerExecuted=call.provider_executed)
    if answer is not None:
        result_rest, result_marks = unpack(NAME, answer.extra)
        if state == "output-available":
            _put_output(out, answer, result_marks)
        elif state == "output-error":
            out["errorText"] = shown_error(answer)
        rest.update(result_rest)
    if state == "output-denied" and not hints.get("approval"):
        out["approval"] = _denial(call, answer, call_id)
    elif call.approval is not UNSET and (hints.get("approval") or _approval_fits(call.approval, state)):
        out["approval"] = call.approval
    elif state in ("output-available", "output-error") and _approval_fits(call.approval, "approval-requested"):
        out["approval"] = {**call.approval, "approved": True}  # the call ran, so the user approved it
    out.update(rest)
    unchecked.append(out)
    return out


def _put_input(out: dict[str, Any], call: ToolCallPart, state: str, hints: dict[str, Any]) -> None:
    if state == _STREAMING:
        set_present(out, input=call.input, rawInput=call.input_text)
    elif state == "output-error" and call.input is UNSET:
        set_present(out, rawInput=call.input_text)
    elif state == "output-error" and hints.get("raw"):
        out["rawInput"] = shown_input(call)
    elif call.input is not UNSET or not hints.get("inputless"):
        out["input"] = shown_input(call)


def _put_output(out: dict[str, Any], answer: Answer, hints: dict[str, Any]) -> None:
    value = shown_output(answer)
    if value is not None or not hints.get("outputless"):
        hide = getattr(answer, "provider_executed", UNSET) is True and not hints.get("provider")
        out["output"] = without_ciphers(value) if hide else value
    set_present(out, preliminary=getattr(answer, "preliminary", UNSET))


def _state_of(call: ToolCallPart, answer: Answer | None) -> str:
    """The state implied by a call, its approval and its result."""
    if answer is not None:
        return "output-denied" if denied(answer) else "output-error" if failed(answer) else "output-available"
    if call.state == PARTIAL:
        return _STREAMING
    approval = call.approval
    if _approval_fits(approval, "approval-responded"):
        return "approval-responded"
    return "approval-requested" if _approval_fits(approval, "approval-requested") else "input-available"


def _approval_fits(approval: Any, state: str) -> bool:
    """Whether the AI SDK accepts this approval in this state."""
    if type(approval) is not dict or type(approval.get("id")) is not str:
        return False
    approved, reason = approval.get("approved", UNSET), approval.get("reason", UNSET)
    if state == "approval-requested":
        return approved is UNSET and reason is UNSET
    if reason is not UNSET and type(reason) is not str:
        return False
    if state == "approval-responded":
        return type(approved) is bool
    if state == "output-denied":
        return approved is False
    return approved is True and state in ("output-available", "output-error")


def _denial(call: ToolCallPart, answer: Answer | None, call_id: str) -> dict[str, Any]:
    """The approval of a denied call: as it was read, otherwise made from the denial."""
    given: Any = call.approval
    if _approval_fits(given, "output-denied"):
        return given  # type: ignore[no-any-return]
    out = {"id": given["id"]} if type(given) is dict and type(given.get("id")) is str else {"id": f"approval-{call_id}"}
    reason = shown_error(answer) if answer is not None else ""
    return {**out, "approved": False, **({"reason": reason} if reason else {})}
