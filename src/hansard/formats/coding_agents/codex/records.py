"""Response items of Codex rollouts as parts, both ways: items of the Responses API with fields of Codex's own.

    canonical                         native
    text of the assistant             message, one output_text; its `phase` is kept as in the Responses API
    text, image of others             message with input_text and input_image
    reasoning                         reasoning with encrypted_content; without one the event `agent_reasoning`
    tool-call, tool-result            function_call, custom_tool_call, local_shell_call ... and their outputs
    compaction, encrypted             compaction
    data agent_message (an event)     agent_message
    raw(openai-responses)             any other item, unchanged

Encrypted reasoning is bound to OpenAI, and not written when it came from another provider. A file that has events
only is read from them: `EVENT_ITEMS` turns an event into the items it stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.openai_responses import is_item
from hansard.formats.openai_responses.content import NAME as RESPONSES
from hansard.formats.openai_responses.content import PROVIDER, read_block, write_block
from hansard.formats.openai_responses.messages import read_item, write_items
from hansard.formats.openai_responses.tools import Calls, Fields, id_key, read_function, read_plain_output
from hansard.formats.residue import pack, unpack
from hansard.model import parts as p
from hansard.model.machinery import COMMAND, ENVIRONMENT, HOOK, INTERRUPT, NOTIFICATION, REMINDER

NAME = "codex"
INPUT_ROLES = ("user", "developer", "system")
_OWN = "internal_chat_message_metadata_passthrough"  # for Codex's own server; the API rejects it
_COMPACTIONS = ("compaction_summary", "context_compaction")  # its older names
_KEPT = ("ghost_snapshot", "configuration_update")  # neither input nor output
AGENT_MESSAGE = "agent_message"  # from one agent to another


# -- messages ------------------------------------------------------------------------------------------------------


def _read_input(content: Any) -> list[p.Part] | None:
    if type(content) is str:
        return [p.TextPart(text=content)]
    return [read_block(block, "input_text", {}) for block in content] if type(content) is list else None


def write_input(role: str, parts: list[Any]) -> Fields | None:
    """The item of a message that is not the assistant's; None if Codex can express none of it."""
    content = [block for part in parts if (block := _block(part)) is not None]
    return {"type": "message", "role": role, "content": content} if content or not parts else None


def _block(part: Any) -> Fields | None:
    """A text or image block; Codex skips the whole record for a block of any other kind."""
    if type(part) is p.TextPart or (type(part) is p.CompactionPart and part.text is not UNSET):
        return {"type": "input_text", "text": part.text}
    if type(part) is p.RawPart:
        return part.value if part.format == RESPONSES and type(part.value) is dict else None
    block = write_block(part, "input_text") if type(part) is p.FilePart else UNSET
    return block if block is not UNSET and block["type"] == "input_image" and "image_url" in block else None


def _read_answer_text(item: Fields) -> list[p.Part] | None:
    content, phase = item.get("content"), item.get("phase")
    if type(content) is str:
        content = [{"type": "output_text", "text": content}]
    if type(content) is not list:
        return None
    extra = pack(RESPONSES, {}, {"easy": {"phase": phase}}) if type(phase) is str else UNSET
    parts: list[p.Part] = []
    for block in content:
        if type(block) is dict and block.get("type") == "output_text" and type(block.get("text")) is str:
            if len(block) == 2 or not any(block[key] for key in block if key not in ("type", "text")):
                parts.append(p.TextPart(text=block["text"], extra=extra))
                continue
        parts.append(read_block(block, "output_text", {}))
    return parts


def _write_answer_text(part: p.TextPart | p.RefusalPart) -> Fields:
    item: Fields = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": part.text}]}
    easy = unpack(RESPONSES, part.extra)[1].get("easy")
    if type(easy) is dict and type(easy.get("phase")) is str:
        item["phase"] = easy["phase"]
    return item


# -- items ---------------------------------------------------------------------------------------------------------


def read_response_item(item: Any, calls: Calls, model: Any) -> tuple[str, list[p.Part]] | None:
    """Role and parts of an item; None if it is not an item. `calls` are those without an output yet."""
    if not is_item(item):
        return None
    kind, role = item.get("type", "message"), item.get("role")
    parts: list[p.Part] | None = None
    if _OWN in item:
        item = {key: value for key, value in item.items() if key != _OWN}
    if kind == "message":
        if role in INPUT_ROLES:
            parts = _read_input(item.get("content"))
        elif role == "assistant":
            parts = _read_answer_text(item)
        if parts is not None:
            return role, parts
    elif kind == "function_call":
        return "assistant", read_function(item, calls) or _read_object_call(item, calls)
    elif kind == "function_call_output" and (parts := read_plain_output(item, calls)) is not None:
        calls.pop(item["call_id"], None)
        return "tool", parts
    elif kind == "function_call_output" and type(item.get("output")) is dict:
        return "tool", _read_object_output(item, item["output"], calls)
    elif kind == AGENT_MESSAGE:
        return "event", [p.DataPart(name=kind, data={key: item[key] for key in item if key != "type"})]
    elif kind in _KEPT:
        return "event", [p.RawPart(format=RESPONSES, value=item)]
    elif kind in _COMPACTIONS and type(item.get("encrypted_content")) is str:
        item = {**item, "type": "compaction"}
    role, parts = read_item(item, calls)
    if role == "tool" and type(item.get("call_id")) is str:
        calls.pop(item["call_id"], None)
    return role, [_bound(part, model) for part in parts]


def kind_of_item(item: Any) -> str | None:
    """What Codex's own metadata says of a message of the user: "" if it was typed; None if it says nothing."""
    given = item.get(_OWN)
    kinds = given.get("content_item_kinds") if type(given) is dict else None
    if type(kinds) is not list or not kinds or not all(type(kind) is str for kind in kinds):
        return None
    if any(kind.startswith("user.") for kind in kinds):
        return ""
    name = kinds[0].rpartition(".")[2]
    return _KINDS_OF_ITEMS.get(name, ENVIRONMENT if kinds[0].startswith("environments.") else REMINDER)


_KINDS_OF_ITEMS = {"turn_aborted": INTERRUPT, "subagent_notification": NOTIFICATION, "user_shell_command": COMMAND}
_KINDS_OF_ITEMS |= {"hook_prompt": HOOK, "environment_context": ENVIRONMENT}


def with_id(item: Fields, number: int) -> Fields:
    """The item; a call without an id (Codex keeps none of searches) gets one derived from its number."""
    key = id_key(item.get("type")) if type(item.get("type")) is str else None
    if key is None or type(item.get(key)) is str:
        return item
    return {**item, key: f"{item['type']}_{number}"}


def _read_object_call(item: Fields, calls: Calls) -> list[p.Part]:
    """A call whose arguments are not a string: an object, or absent."""
    call_id, name, given = item.get("call_id"), item.get("name"), item.get("arguments", UNSET)
    if type(call_id) is not str or type(name) is not str:
        return [p.RawPart(format=RESPONSES, value=item)]
    calls[call_id] = ("function_call", name, False)
    rest = {key: item[key] for key in item if key not in ("type", "call_id", "name", "arguments")}
    return [p.ToolCallPart(tool_call_id=call_id, tool_name=name, input=given, extra=pack(RESPONSES, rest))]


def _read_object_output(item: Fields, output: Fields, calls: Calls) -> list[p.Part]:
    """The output of a call as older releases wrote it: text and a success flag."""
    plain = {**item, "output": output.get("content")}
    parts = read_item(plain, calls)[1]
    if type(parts[0]) is not p.ToolResultPart:
        return [p.RawPart(format=RESPONSES, value=item)]
    return [replace(parts[0], is_error=output.get("success") is False)]


def _bound(part: p.Part, model: Any) -> p.Part:
    if isinstance(part, p.ReasoningPart | p.CompactionPart) and part.encrypted is not UNSET and part.binding is UNSET:
        return replace(part, binding=p.Binding(provider=PROVIDER, model=model))
    return part


def is_foreign(part: Any) -> bool:
    """Whether the part was encrypted by another provider than OpenAI, as far as is known."""
    if part.binding is not UNSET and part.binding.provider is not UNSET:
        return bool(part.binding.provider != PROVIDER)
    return part.extra is UNSET or RESPONSES not in part.extra


def write_answer(parts: list[Any], role: str, calls: Calls) -> list[Fields]:
    """The items of an assistant or tool message; what Codex shows but does not send to the model is an `event`."""
    out: list[Fields] = []
    others: list[Any] = []
    for part in parts:
        kind = type(part)
        if role == "assistant" and (kind is p.TextPart or kind is p.RefusalPart):
            _write_others(others, role, calls, out)
            out.append(_write_answer_text(part))
        elif kind is p.ReasoningPart and is_foreign(part):
            _write_others(others, role, calls, out)
            if part.text:
                out.append({"event": "agent_reasoning", "text": part.text})
        elif kind is p.CompactionPart and (part.encrypted is UNSET or is_foreign(part)):
            _write_others(others, role, calls, out)
            if part.text is not UNSET and role == "assistant":
                out.append(_write_answer_text(p.TextPart(text=part.text)))
        elif kind is p.ToolCallPart and part.provider_executed is not True and part.input_text is UNSET:
            others.append(_with_arguments(part))
        elif kind is p.ToolResultPart and part.content is not UNSET:
            others.append(replace(part, content=[inner for inner in part.content if _block(inner) is not None]))
        else:
            others.append(part)
    _write_others(others, role, calls, out)
    return out


def _with_arguments(part: p.ToolCallPart) -> p.ToolCallPart:
    """The call with arguments: Codex requires an object even if empty."""
    if unpack(RESPONSES, part.extra)[1].get("type") is None and part.input is UNSET:
        return replace(part, input_text="{}")
    return part


def _write_others(parts: list[Any], role: str, calls: Calls, out: list[Fields]) -> None:
    if parts:
        items: list[Any] = []
        write_items(parts, role, calls, items)
        out += [item for item in items if "type" in item]
        parts.clear()


def with_end_event(part: p.ToolResultPart, event: Any) -> p.ToolResultPart:
    """A result with the fields of its end event: whether it failed, and the changes to files."""
    failed = event.get("success") is False
    kept = {key: event[key] for key in ("changes", "status", "exit_code") if key in event}
    extra = {} if part.extra is UNSET else part.extra
    return replace(part, is_error=failed or part.is_error, extra={**extra, NAME: kept} if kept else part.extra)


# -- events to items -----------------------------------------------------------------------------------------------


def _message_event(role: str, kind: str, key: str) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    def items(event: dict[str, Any]) -> list[dict[str, Any]]:
        text = event.get(key)
        if type(text) is not str:
            return []
        if kind == "reasoning":
            return [{"type": kind, "summary": [{"type": "summary_text", "text": text}]}]
        return [{"type": "message", "role": role, "content": text}]

    return items


def _completed_item(event: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of an `item_completed` event of the paginated mode."""
    item = event.get("item")
    if type(item) is not dict or type(item.get("type")) is not str:
        return []
    kind, content = item["type"], item.get("content")
    blocks = content if type(content) is list else []
    text = [block["text"] for block in blocks if type(block) is dict and type(block.get("text")) is str]
    if kind in ("UserMessage", "AgentMessage"):
        return [{"type": "message", "role": "user" if kind[0] == "U" else "assistant", "content": "\n".join(text)}]
    thoughts = item.get("summary_text")
    if kind == "Reasoning" and type(thoughts) is list and all(type(one) is str for one in thoughts):
        return [{"type": "reasoning", "summary": [{"type": "summary_text", "text": one} for one in thoughts]}]
    return []


EVENT_ITEMS: dict[Any, Callable[[dict[str, Any]], list[dict[str, Any]]]] = {
    "user_message": _message_event("user", "message", "message"),
    "agent_message": _message_event("assistant", "message", "message"),
    "agent_reasoning": _message_event("assistant", "reasoning", "text"),
    "agent_reasoning_raw_content": _message_event("assistant", "reasoning", "text"),
    "item_completed": _completed_item,
}
