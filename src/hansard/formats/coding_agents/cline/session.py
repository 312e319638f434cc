"""Cline sessions: the document, and its entries read and written."""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.anthropic.content import read_block, write_block
from hansard.formats.coding_agents.cline import is_session
from hansard.formats.coding_agents.cline.edits import edits_of
from hansard.formats.coding_agents.documents import Fields, fields_of, read_each, session_file
from hansard.formats.residue import SchemaMismatch, pack, set_present, unpack
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.conversation import Conversation, Message, ModelRef, Usage
from hansard.model.times import iso_time, milliseconds

NAME = "cline"
RESULTS = ":results"
_PROMPT = re.compile(r'(<user_input(?: mode="[a-z]+")?>)(.*)</user_input>', re.DOTALL)
_COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadTokens",
    "cache_write_tokens": "cacheWriteTokens",
}
_LATEST = 1 << 53


def _read(document: Fields) -> Conversation:
    rest = {key: value for key, value in document.items() if key not in ("sessionId", "messages")}
    below = document.get("agent") == "subagent"
    agent = fields_of(document.get("origin")).get("subagent")
    names: dict[str, str] = {}
    known: set[str] = set()

    def entry(i: int, value: Fields) -> list[Message]:
        found = _read_entry(value, names)
        if found[0].id is UNSET or found[0].id in known:
            found = [replace(one, id=f"{document['sessionId']}:{i}{RESULTS * n}") for n, one in enumerate(found)]
        known.update(str(one.id) for one in found)
        return (
            [replace(one, agent_id=agent, sidechain=True) for one in found] if below and type(agent) is str else found
        )

    messages = read_each(document["messages"], NAME, entry)
    return Conversation(messages=messages, id=document["sessionId"], extra=pack(NAME, rest))


def _read_entry(entry: Fields, names: dict[str, str]) -> list[Message]:
    rest = dict(entry)
    role, blocks, id, time = (rest.pop(key, None) for key in ("role", "content", "id", "ts"))
    if role not in ("user", "assistant") or type(blocks) not in (str, list):
        raise SchemaMismatch
    at: Fields = {"id": id if type(id) is str else UNSET}
    at["created_at"] = iso_time(time) if type(time) is int and 0 <= time < 1 << 45 else UNSET
    if at["created_at"] is UNSET and time is not None:
        rest["ts"] = time
    listed = [{"type": "text", "text": blocks}] if type(blocks) is str else blocks
    parts = [_read_block(block, names, role) for block in listed]
    if fields_of(rest.get("metadata")).get("displayOnly") is True:
        texts = [part.text for part in parts if type(part) is p.TextPart]
        named = rest["metadata"].get("displayRole")
        data = p.DataPart(name=named if type(named) is str else "shown", data="\n".join(texts))
        return [Message(role="event", parts=[data], extra=pack(NAME, rest, {"role": role}), **at)]
    if role == "assistant":
        return [_read_answer(parts, rest, at)]
    results = [part for part in parts if type(part) is p.ToolResultPart]
    others = [part for part in parts if type(part) is not p.ToolResultPart]
    if not others and results:
        return [Message(role="tool", parts=list(results), extra=pack(NAME, rest), **at)]
    prompt = Message(role="user", parts=others, extra=pack(NAME, rest), **at)
    if not results:
        return [prompt]
    beside = {**at, "id": UNSET if at["id"] is UNSET else at["id"] + RESULTS}
    return [Message(role="tool", parts=list(results), **beside), prompt]


def _read_answer(parts: list[Any], rest: Fields, at: Fields) -> Message:
    model, metrics = fields_of(rest.get("modelInfo")), fields_of(rest.get("metrics"))
    counts = {key: metrics[name] for key, name in _COUNTS.items() if type(metrics.get(name)) is int}
    named = {
        key: model[name] for key, name in (("name", "id"), ("provider", "provider")) if type(model.get(name)) is str
    }
    if model.keys() == {"id", "provider"} and len(named) == 2:
        del rest["modelInfo"]
    if metrics.keys() == set(_COUNTS.values()) and len(counts) == 4:
        del rest["metrics"]
    return Message(
        role="assistant",
        parts=parts,
        model=ModelRef(**named) if named else UNSET,
        usage=Usage(**counts) if counts else UNSET,
        extra=pack(NAME, rest),
        **at,
    )


def _read_block(block: Any, names: dict[str, str], role: str) -> Any:
    if type(block) is dict and block.get("type") == "tool_result" and type(block.get("tool_use_id")) is str:
        return _read_result(block)
    try:
        part = read_block(block, names)
    except (Unreadable, SchemaMismatch):
        return p.RawPart(format=NAME, value=block)
    found = _PROMPT.fullmatch(part.text) if type(part) is p.TextPart and role == "user" else None
    if found is None or part.extra is not UNSET:
        return part
    return p.TextPart(text=found[2], extra=pack(NAME, {}, {"wrapper": found[1]}))


def _read_result(block: Fields) -> p.ToolResultPart:
    """What the tool returned, as the text in it; the block's own content is a mark."""
    rest = {key: value for key, value in block.items() if key not in ("type", "tool_use_id", "name", "content")}
    content, name = block.get("content"), block.get("name")
    told: Any = content
    if type(content) is str and content.startswith("{"):
        try:
            told = exact_json.decode(content.encode("utf-8", "surrogatepass"))
        except Unreadable:
            told = content
    items = told if type(told) is list else [told]
    failed = rest.get("is_error") is True or any(fields_of(item).get("success") is False for item in items)
    return p.ToolResultPart(
        tool_call_id=block["tool_use_id"],
        tool_name=name if type(name) is str else UNSET,
        output="\n".join(text for item in items if (text := _text_of(item))),
        is_error=failed,
        extra=pack(NAME, rest, {"content": content}),
    )


def _text_of(item: Any) -> str:
    told = fields_of(item)
    texts = [told.get(key) for key in ("result", "text", "error")]
    return "\n".join(text for text in texts if type(text) is str and text) if told else str(item or "")


def _head(conversation: Conversation) -> Fields:
    rest, _ = unpack(NAME, conversation.extra)
    own = conversation.id if type(conversation.id) is str else "0_hansard"
    return {"version": 1, "updated_at": None, "agent": "lead", "sessionId": own, **rest}


def _write(message: Message) -> list[Fields]:
    if message.role in ("system", "developer") or message.sidechain is True:
        return []
    rest, marks = unpack(NAME, message.extra)
    blocks = [block for part in message.parts if (block := _write_part(part)) not in (None, UNSET)]
    if not blocks:
        return []
    role = "assistant" if message.role == "assistant" or marks.get("role") == "assistant" else "user"
    out: Fields = set_present({}, id=message.id)
    out |= {"role": role, "content": blocks}
    if (time := milliseconds(message.created_at)) is not None:
        out["ts"] = time
    if message.model is not UNSET:
        out["modelInfo"] = set_present({}, id=message.model.name, provider=message.model.provider)
    if message.usage is not UNSET:
        counts = {name: getattr(message.usage, key) for key, name in _COUNTS.items()}
        out["metrics"] = {name: count for name, count in counts.items() if count is not UNSET}
    return [{**out, **rest}]


def _write_part(part: Any) -> Any:
    rest, marks = unpack(NAME, part.extra) if hasattr(part, "extra") else ({}, {})
    if type(part) is p.TextPart and type(marks.get("wrapper")) is str:
        return {"type": "text", "text": f"{marks['wrapper']}{part.text}</user_input>"}
    if type(part) is p.RawPart:
        return part.value if part.format in (NAME, "anthropic") else None
    if type(part) is p.DataPart:
        return {"type": "text", "text": part.data} if type(part.data) is str else None
    if type(part) is p.ToolResultPart:
        named = set_present({"type": "tool_result", "tool_use_id": part.tool_call_id or ""}, name=part.tool_name)
        if "content" in marks:
            return {**named, "content": marks["content"], **rest}
        return {**named, "content": _said(part), **({"is_error": True} if part.is_error is True else {}), **rest}
    if type(part) is p.FilePart and (part.media_type if part.data is not UNSET else part.url) is UNSET:
        return write_block(part) if part.file_id is not UNSET else None
    if type(part) in (p.TextPart, p.ReasoningPart, p.ToolCallPart, p.FilePart):
        return write_block(part)
    return None


def _said(part: p.ToolResultPart) -> str:
    if part.content is not UNSET:
        return "\n".join(inner.text for inner in part.content if type(inner) is p.TextPart)
    if type(part.output) is str:
        return part.output
    return "" if part.output is UNSET else exact_json.encode(part.output).decode("utf-8", "surrogatepass")


SESSION = session_file(NAME, "messages", is_session, _read, _head, _write, edits_of, ".messages.json")
read, write = SESSION.read, SESSION.write
