"""Responses API documents (requests, lists of items, responses), their items and messages: read and write.

Consecutive items of the assistant are one message, and so are consecutive outputs. An item may be several parts: the
first keeps the item's own fields as residue, the others have the hint `same`. Calls and outputs are in `tools`,
reasoning in `reasoning`, the blocks inside items in `content`.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.openai_responses import ROLES, is_item
from hansard.formats.openai_responses.content import NAME, NO_RESIDUE, PROVIDER, read_block, write_block, write_blocks
from hansard.formats.openai_responses.reasoning import (
    read_compaction,
    read_reasoning,
    write_compaction,
    write_reasoning,
)
from hansard.formats.openai_responses.settings import DIALECT
from hansard.formats.openai_responses.tools import (
    OUTPUTS,
    READERS,
    Calls,
    Fields,
    join_result,
    read_function,
    read_plain_output,
    write_call,
    write_output,
)
from hansard.formats.requests import put, take
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_maybe_str, unpack
from hansard.model import parts as p
from hansard.model.conversation import Conversation, Message, ModelRef, Usage

_ENDS = ("status", "incomplete_details", "error", "created_at", "completed_at")
_FINISH = {"max_output_tokens": "length", "failed": "error"}
_DETAILS = (
    ("input_tokens_details", "cached_tokens", "cache_read_tokens"),
    ("input_tokens_details", "cache_write_tokens", "cache_write_tokens"),
    ("output_tokens_details", "reasoning_tokens", "reasoning_tokens"),
)


# -- items ---------------------------------------------------------------------------------------------------------


def read_item(item: Fields, calls: Calls) -> tuple[str, list[p.Part]]:
    """Role and parts of an item that no fast path took; an unknown item is kept as a raw part."""
    kind = item.get("type")
    reader = _READERS.get(kind) if type(kind) is str else None
    if reader is not None:
        taken = dict(item)
        del taken["type"]
        try:
            parts: list[p.Part] = reader(kind, taken, calls)
        except SchemaMismatch:
            pass
        else:
            asked = type(parts[0]) is p.ToolResultPart and parts[0].provider_executed is not True
            return "tool" if asked else "assistant", parts
    raw: list[p.Part] = [p.RawPart(format=NAME, value=item)]
    if kind == "mcp_approval_response" or (type(kind) is str and kind in OUTPUTS):
        return "tool", raw
    if kind in ("compaction_trigger", "configuration_update"):
        return "developer", raw
    return item["role"] if item.get("role") in ("user", "system", "developer") else "assistant", raw


def write_items(parts: list[Any], role: str, calls: Calls, items: list[Any]) -> None:
    """Append the items of an assistant or tool message."""
    last: Fields | None = None  # the item that a part with the hint `same` belongs to
    for part in parts:
        rest, hints = unpack(NAME, part.extra) if part.extra is not UNSET else NO_RESIDUE
        if "same" in hints and last is not None and _join(last, part, hints):
            continue
        kind = type(part)
        if kind is p.TextPart and not hints and role == "assistant":  # fast path: text only
            last = {"role": "assistant", "content": part.text}
        elif (writer := _WRITERS.get(kind)) is not None:
            last = writer(part, rest, hints, calls)
        elif role == "assistant":
            last = _write_assistant_item(part, hints)
        else:
            last = None
        if last is not None:
            items.append(last)
        elif kind is p.RawPart and part.format == NAME and not {"item", "same"} & hints.keys():
            items += [part.value] if is_item(part.value) else []


def _join(item: Fields, part: Any, hints: Fields) -> bool:
    """Add a part to the item of the previous part."""
    if type(part) is p.ToolResultPart:
        return join_result(item, part, hints)
    if item.get("type") not in (None, "message") or type(item.get("content")) is not list:
        return False
    block = write_block(part, "output_text")
    if block is not UNSET:
        item["content"].append(block)
    return block is not UNSET


def _write_assistant_item(part: Any, hints: Fields) -> Fields | None:
    """An assistant message item: a list of blocks if it was read so, else the short form, which needs no id."""
    if type(hints.get("item")) is dict:
        block = write_block(part, "output_text")
        return {**hints["item"], "role": "assistant", "content": [block]} if block is not UNSET else None
    if type(part) is not p.TextPart:
        return None
    easy = hints.get("easy")
    return {**(easy if type(easy) is dict else {}), "role": "assistant", "content": part.text}


def read_message(item: Fields) -> list[p.Part] | None:
    """Read an assistant message item; None if its content is malformed."""
    content = item.get("content")
    if len(item) == 2 and type(content) is str:
        return [p.TextPart(text=content)]
    rest = {key: value for key, value in item.items() if key not in ("role", "content")}
    if type(content) is str:
        return [p.TextPart(text=content, extra=pack(NAME, {}, {"easy": rest} if rest else None))]
    if type(content) is not list or not content:
        return None
    same: Fields = {"same": True}
    return [read_block(block, "output_text", {"item": rest} if i == 0 else same) for i, block in enumerate(content)]


_READERS: dict[str, Any] = {
    "reasoning": read_reasoning,
    "compaction": read_compaction,
    **READERS,
}
_WRITERS: dict[type, Any] = {
    p.ReasoningPart: write_reasoning,
    p.CompactionPart: write_compaction,
    p.ToolCallPart: write_call,
    p.ToolResultPart: write_output,
}


_MAY_BE_NULL = frozenset({"arguments", "result", "code", "outputs", "param", "keys", "strict"})
_NEEDED = {
    "code_interpreter_call": ("code", "outputs"),
    "image_generation_call": ("result",),
    "function": ("parameters", "strict"),
}
_DATA = frozenset({"parameters", "attributes", "metadata", "defs"})


def as_request_item(item: Any) -> Any:
    """An item of an answer without the keys and nulls that a request must not have."""
    if type(item) is list:
        made = list(map(as_request_item, item))
        return made if any(new is not old for new, old in zip(made, item, strict=True)) else item
    if type(item) is not dict:
        return item
    kept = {
        key: value if key in _DATA else as_request_item(value)
        for key, value in item.items()
        if key != "created_by" and (value is not None or key in _MAY_BE_NULL or key in _DATA)
    }
    kind = item.get("type")
    if kind in ("custom_tool_call", "custom_tool_call_output"):
        kept.pop("status", None)
    elif kind == "computer_call_output" and kept.get("status") == "failed":
        kept["status"] = "incomplete"
    elif kind == "additional_tools":
        kept["role"] = "developer"
    for key in _NEEDED.get(kind, ()) if type(kind) is str else ():
        kept.setdefault(key, None)
    return item if len(kept) == len(item) and all(kept[key] is item.get(key) for key in kept) else kept


# -- messages ------------------------------------------------------------------------------------------------------


def _read_items(items: list[Any], path: str) -> list[Message]:
    """Read a list of items; consecutive assistant items are one message, and so are consecutive outputs."""
    out: list[Message] = []
    calls = Calls()
    running = ""  # the role of the last message, if more items may belong to it
    run: list[Any] = []  # and its parts
    role: Any
    parts: Any
    for i, item in enumerate(items):
        if type(item) is not dict:
            raise _not_an_item(path, i)
        kind, role, parts = item.get("type", "message"), item.get("role"), None
        if kind == "function_call":
            role, parts = "assistant", read_function(item, calls)
        elif kind == "function_call_output":
            role, parts = "tool", read_plain_output(item, calls)
        elif kind == "message" and role == "assistant":
            parts = read_message(item)
        elif kind == "message" and role in ROLES and (message := _read_message(item)) is not None:
            out.append(message)
            running = ""
            continue
        if parts is None:
            if not is_item(item):
                raise _not_an_item(path, i)
            role, parts = read_item(item, calls)
        if role == running:
            run += parts
        elif role in ROLES:
            out.append(Message(role=role, parts=parts, extra=pack(NAME, {}, {"item": True})))
            running = ""
        else:
            out.append(Message(role=role, parts=parts))
            running, run = role, parts
    return out


def _not_an_item(path: str, i: int) -> Unreadable:
    return Unreadable("expected an item: an object with a type, a role or an id", f"{path}[{i}]")


def _read_message(item: dict[str, Any]) -> Message | None:
    """Read a message item of another role; None if its content is malformed."""
    text = item.get("content")
    if len(item) == 2 and type(text) is str:  # fast path: role and text only
        return Message(role=item["role"], parts=[p.TextPart(text=text)])
    rest = dict(item)
    role, content = rest.pop("role"), rest.pop("content", None)
    hints: dict[str, Any] = {}
    if type(content) is str:
        parts: list[Any] = [p.TextPart(text=content)]
    elif type(content) is list:
        parts = [read_block(block, "input_text", {}) for block in content]
        if not parts or _plain_text(parts) is not None:
            hints["content"] = "list"
    else:
        return None
    return Message(role=role, parts=parts, extra=pack(NAME, rest, hints))


def _plain_text(parts: list[Any]) -> str | None:
    """The text, if the message has only one text part without residue."""
    if len(parts) == 1 and type(parts[0]) is p.TextPart and parts[0].extra is UNSET:
        return parts[0].text
    return None


def _write_message(message: Message) -> list[Any]:
    """Write the item of a message of another role than assistant."""
    rest, hints = unpack(NAME, message.extra) if message.extra is not UNSET else NO_RESIDUE
    content: Any = _plain_text(message.parts)
    if content is not None and not hints:
        return [{**rest, "role": message.role, "content": content}]
    if hints.get("item") is True and all(type(part) is p.RawPart and is_item(part.value) for part in message.parts):
        return [part.value for part in message.parts]  # type: ignore[union-attr]
    listed = hints.get("content") == "list"
    if content is None or listed:
        content = write_blocks(message.parts, "input_text")
        if not content and not (listed and not message.parts):
            return []
    return [{**rest, "role": message.role, "content": content}]


def _write_messages(messages: list[Message], request: bool) -> list[Any]:
    items: list[Any] = []
    calls = Calls()
    for message in messages:
        start = len(items)
        if message.role in ROLES:
            items += _write_message(message)
        elif message.role in ("assistant", "tool"):
            write_items(message.parts, message.role, calls, items)
        if request and (message.model is not UNSET or "answer" in unpack(NAME, message.extra)[1]):
            items[start:] = map(as_request_item, items[start:])
    return items


# -- responses -----------------------------------------------------------------------------------------------------


def _read_response(body: dict[str, Any]) -> Conversation:
    """Read a response; the last message has its model, usage and finish reason."""
    output = body.pop("output")
    messages = _read_items(output, "$.output")
    if not messages or messages[-1].role != "assistant":
        messages.append(Message(role="assistant", parts=[]))
    if any(as_request_item(item) is not item for item in output):
        for i, message in enumerate(messages[:-1]):
            rest, kept = unpack(NAME, message.extra)
            messages[i] = replace(message, extra=pack(NAME, rest, {**kept, "answer": True}))
    hints: dict[str, Any] = {}
    usage, left = _read_usage(body.get("usage"))
    if usage is not UNSET:
        del body["usage"]
        if left:
            hints["usage"] = left
    model = ModelRef(provider=PROVIDER, name=take_maybe_str(body, "model"), response_id=take_maybe_str(body, "id"))
    ends = {key: body.pop(key) for key in _ENDS if key in body}
    parts = messages[-1].parts
    messages[-1] = Message(
        role="assistant",
        parts=parts,
        model=model,
        usage=usage,
        finish_reason=_finish(ends, parts),
        extra=pack(NAME, ends, hints),
    )
    shape: dict[str, Any] = {"shape": "response"}
    tools, settings = take(DIALECT, body, shape)
    return Conversation(messages=messages, tools=tools, settings=settings, extra=pack(NAME, body, shape))


def _finish(ends: dict[str, Any], parts: list[Any]) -> str | UnsetType:
    status, details = ends.get("status"), ends.get("incomplete_details")
    if status == "completed":
        calls = any(type(part) is p.ToolCallPart and part.provider_executed is not True for part in parts)
        return "tool_call" if calls else "stop"
    if status == "incomplete":
        status = details.get("reason") if type(details) is dict else None
    elif status not in ("failed", "cancelled"):
        return UNSET
    return _FINISH.get(status, status) if type(status) is str else UNSET


def _is_response(messages: list[Message]) -> bool:
    """Whether the messages are still one answer: only the last one has a model."""
    if not messages or messages[-1].role != "assistant" or messages[-1].model is UNSET:
        return False
    return all(message.model is UNSET for message in messages[:-1])


def _write_response(conversation: Conversation, body: dict[str, Any]) -> dict[str, Any]:
    message = conversation.messages[-1]
    ends, hints = unpack(NAME, message.extra)
    model = message.model if message.model is not UNSET else ModelRef()
    out = set_present(
        {**body, **{key: ends[key] for key in _ENDS if key in ends}}, id=model.response_id, model=model.name
    )
    out["output"] = _write_messages(conversation.messages, request=False)
    return set_present(out, usage=_write_usage(message.usage, hints.get("usage")))


def _read_usage(value: Any) -> tuple[Usage | UnsetType, dict[str, Any]]:
    """Read the counts, and their residue; UNSET if there are none."""
    if type(value) is not dict or type(value.get("input_tokens")) is not int:
        return UNSET, {}
    rest = dict(value)
    counts = {
        key: rest.pop(key) for key in ("input_tokens", "output_tokens", "total_tokens") if type(rest.get(key)) is int
    }
    for group, key, name in _DETAILS:
        details = rest.get(group)
        if type(details) is dict and type(details.get(key)) is int:
            counts[name] = details[key]
            rest[group] = {other: details[other] for other in details if other != key}
    for group in ("input_tokens_details", "output_tokens_details"):
        if rest.get(group) == {} and value[group]:
            del rest[group]
    return Usage(**counts), rest


def _write_usage(usage: Usage | UnsetType, left: Any) -> Any:
    if usage is UNSET:
        return UNSET
    out: dict[str, Any] = dict(left) if type(left) is dict else {}
    set_present(
        out, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, total_tokens=usage.total_tokens
    )
    for group, key, name in _DETAILS:
        count = getattr(usage, name)
        if count is not UNSET:
            held = out.get(group)
            out[group] = {**(held if type(held) is dict else {}), key: count}
    return out


# -- documents -----------------------------------------------------------------------------------------------------


# keys of a request that needs no input
_INPUT_ELSEWHERE = frozenset({"prompt", "previous_response_id", "conversation", "instructions"})


def read(document: Any) -> Conversation:
    """Read a request body, a list of items or a response body."""
    if type(document) is list:
        return Conversation(messages=_read_items(document, "$"), extra=pack(NAME, {}, {"shape": "list"}))
    if type(document) is not dict:
        raise Unreadable("expected an object or a list")
    body = dict(document)
    if type(body.get("output")) is list and (body.get("object") == "response" or "input" not in body):
        return _read_response(body)
    hints: dict[str, Any] = {}
    messages: list[Message] = []
    if type(body.get("instructions")) is str:
        text = p.TextPart(text=body.pop("instructions"))
        messages.append(Message(role="system", parts=[text], extra=pack(NAME, {}, {"at": "instructions"})))
    given = body.pop("input", None)
    if type(given) is str:
        hints["input"] = "string"
        messages.append(Message(role="user", parts=[p.TextPart(text=given)]))
    elif type(given) is list:
        messages += _read_items(given, "$.input")
    elif given is None and "input" not in document and not _INPUT_ELSEWHERE.isdisjoint(document):
        hints["input"] = "none"
    else:
        raise Unreadable("input is neither a string nor a list of items", "$.input")
    tools, settings = take(DIALECT, body, hints)
    return Conversation(messages=messages, tools=tools, settings=settings, extra=pack(NAME, body, hints))


def write(conversation: Conversation, target: Target) -> Any:
    """Write the document type it was read from; for conversations of other formats a request body."""
    rest, hints = unpack(NAME, conversation.extra)
    messages, shape = conversation.messages, hints.get("shape")
    if shape == "response":
        if _is_response(messages):
            return _write_response(conversation, put(DIALECT, conversation, rest, hints))
        rest = {}
    out: dict[str, Any] = dict(put(DIALECT, conversation, rest, hints))
    if messages and messages[0].role == "system" and "at" in unpack(NAME, messages[0].extra)[1]:
        text = _plain_text(messages[0].parts)
        if text is not None:
            out["instructions"] = text
            messages = messages[1:]
    items = _write_messages(messages, request=True)
    if shape == "list" and not out:
        return items
    if hints.get("input") == "string" and len(items) == 1 and items[0].keys() == {"role", "content"}:
        if items[0]["role"] == "user" and type(items[0]["content"]) is str:
            return {**out, "input": items[0]["content"]}
    if hints.get("input") == "none" and not items:
        return out
    return {**out, "input": items}
