"""One record of a Qwen Code session, read and written, and the edits that results record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.formats.coding_agents.documents import fields_of
from hansard.formats.coding_agents.edits import UNKNOWN, Calls, Edit, content_of, replaced
from hansard.formats.coding_agents.gemini_cli.edits import edits_of_result
from hansard.formats.coding_agents.gemini_cli.records import read_result, write_result
from hansard.formats.coding_agents.records import raw_record
from hansard.formats.gemini.content import read_part, write_part
from hansard.formats.residue import pack, set_present, unpack
from hansard.model import parts as p
from hansard.model.conversation import Message, ModelRef, Usage

NAME = "qwen-code"
RESULTS = ":results"  # the tool message of a sub-agent's call has the record's id and this
Fields = dict[str, Any]
_KNOWN = frozenset({"uuid", "parentUuid", "timestamp", "type", "sessionId", "cwd", "gitBranch", "version", "message"})
_ANSWER = frozenset({"model", "usageMetadata"})
_COUNTS = {
    "input_tokens": "promptTokenCount",
    "output_tokens": "candidatesTokenCount",
    "cache_read_tokens": "cachedContentTokenCount",
    "reasoning_tokens": "thoughtsTokenCount",
    "total_tokens": "totalTokenCount",
}
_TOLD = {  # the same in telemetry
    "promptTokenCount": "input_token_count",
    "candidatesTokenCount": "output_token_count",
    "cachedContentTokenCount": "cached_content_token_count",
    "thoughtsTokenCount": "thoughts_token_count",
    "totalTokenCount": "total_token_count",
}


# -- reading ---------------------------------------------------------------------------------------------------------


def read_record(record: Fields, at: Fields) -> Message:
    """The message of a record; what has another shape is an event."""
    kind, body = record["type"], record.get("message")
    blocks = body.get("parts") if type(body) is dict else None
    if kind == "system" and type(record.get("subtype")) is str:
        rest = {key: value for key, value in record.items() if key not in _KNOWN}
        data = p.DataPart(name=rest.pop("subtype"), data=rest.pop("systemPayload", UNSET))
        return Message(role="event", parts=[data], extra=pack(NAME, rest), **at)
    if type(blocks) is not list or kind == "system":
        kept = {key: value for key, value in record.items() if key not in ("uuid", "parentUuid", "timestamp")}
        return Message(role="event", parts=[p.RawPart(format=NAME, value=kept)], **at)
    known = _KNOWN | _ANSWER if kind == "assistant" else _KNOWN
    rest = {key: value for key, value in record.items() if key not in known}
    if kind == "assistant":
        model = record.get("model")
        return Message(
            role="assistant",
            parts=[read_part(block, False) for block in blocks],
            model=ModelRef(name=model) if type(model) is str else UNSET,
            usage=_read_usage(record.get("usageMetadata")),
            extra=pack(NAME, rest),
            **at,
        )
    told = rest.pop("toolCallResult", None)
    parts = [_read_block(block, told) for block in blocks]
    role = "tool" if parts and all(type(part) is p.ToolResultPart for part in parts) else "user"
    return Message(role=role, parts=parts, extra=pack(NAME, rest), **at)


def _read_block(block: Any, told: Any) -> Any:
    answer = block.get("functionResponse") if type(block) is dict else None
    if type(answer) is not dict or type(answer.get("id")) is not str:
        return read_part(block, False)
    name, told = answer.get("name"), told if type(told) is dict else {}
    fields = read_result([block])
    failed = fields.pop("failed", False) or told.get("status") == "error"
    rest = {key: value for key, value in told.items() if key != "callId"}
    named = name if type(name) is str else UNSET
    return p.ToolResultPart(
        tool_call_id=answer["id"], tool_name=named, **fields, is_error=failed, extra=pack(NAME, rest)
    )


def _read_usage(counts: Any) -> Usage | UnsetType:
    """The tokens of an answer; the output has the reasoning in it, or beside it if that makes the total."""
    told = fields_of(counts)
    given = {key: told[name] for key, name in _COUNTS.items() if type(told.get(name)) is int}
    output, thoughts = given.get("output_tokens", 0), given.get("reasoning_tokens", 0)
    if thoughts and given.get("input_tokens", 0) + output + thoughts == given.get("total_tokens"):
        given["output_tokens"] = output + thoughts
    return Usage(**given) if given else UNSET


def agent_of(event: Any) -> str | None:
    """The sub-agent that an event of the telemetry is about: the middle of `SESSION#AGENT#NUMBER`."""
    told = fields_of(event)
    named = str(told.get("prompt_id")).split("#")
    kind = str(told.get("event.name"))
    return named[1] if len(named) == 3 and kind.endswith(("api_response", "tool_call")) else None


def read_telemetry(event: Fields, at: Fields) -> list[Message]:
    """An answer of a sub-agent, or a call with its result."""
    if type(name := event.get("function_name")) is str:
        named: Fields = {"tool_call_id": f"{at['id']}:call", "tool_name": name}
        call = p.ToolCallPart(**named, input=event.get("function_args", UNSET))
        kept = {key: value for key, value in event.items() if key in ("metadata", "error")}
        result = p.ToolResultPart(**named, is_error=event.get("success") is not True, extra=pack(NAME, kept))
        later = {**at, "id": at["id"] + RESULTS, "parent_message_id": at["id"]}
        return [Message(role="assistant", parts=[call], **at), Message(role="tool", parts=[result], **later)]
    text, model = event.get("response_text"), event.get("model")
    usage = _read_usage({key: event.get(name) for key, name in _TOLD.items()})
    parts: list[Any] = [p.TextPart(text=text)] if type(text) is str else []
    named = {"model": ModelRef(name=model)} if type(model) is str else {}
    return [Message(role="assistant", parts=parts, usage=usage, **named, **at)]


# -- writing ---------------------------------------------------------------------------------------------------------


def write_records(message: Message) -> list[Fields]:
    """The records of a message without their links; none if Qwen Code has no such record."""
    if message.sidechain is True or message.role in ("system", "developer"):
        return []
    rest, _ = unpack(NAME, message.extra)
    if message.role == "event":
        if (raw := raw_record(message, NAME)) is not None:
            return [dict(raw)]
        return [
            {"type": "system", "subtype": part.name, **set_present({}, systemPayload=part.data), **rest}
            for part in message.parts
            if type(part) is p.DataPart
        ]
    if message.role == "tool":
        results = [part for part in message.parts if type(part) is p.ToolResultPart]
        return [{"type": "tool_result", **_write_result(part), **rest} for part in results]
    blocks = [block for part in message.parts if (block := write_part(part, False, False)) is not UNSET]
    if message.role == "user":
        return [{"type": "user", "message": {"role": "user", "parts": blocks}, **rest}]
    out: Fields = {"type": "assistant"}
    if message.model is not UNSET:
        set_present(out, model=message.model.name)
    out["message"] = {"role": "model", "parts": blocks}
    if message.usage is not UNSET:
        counts = {name: getattr(message.usage, key) for key, name in _COUNTS.items()}
        out["usageMetadata"] = {name: count for name, count in counts.items() if count is not UNSET}
    return [{**out, **rest}]


def _write_result(part: p.ToolResultPart) -> Fields:
    told, _ = unpack(NAME, part.extra)
    if part.output is UNSET and part.content is UNSET:
        part = replace(part, output="")
    named = set_present({}, id=part.tool_call_id, name=part.tool_name)
    status = {"status": "error" if part.is_error is True else "success"}
    result = {**set_present({}, callId=part.tool_call_id), **status, **told}
    return {"message": {"role": "user", "parts": write_result(part, named)}, "toolCallResult": result}


# -- edits of the user's files ---------------------------------------------------------------------------------------


def edits_of(message: Message, key: str, calls: Calls) -> Iterator[Edit]:
    """The edits that results record: with the contents before and after; of a sub-agent, by its call alone."""
    for part in message.parts:
        if type(part) is p.ToolResultPart:
            yield from edits_of_result(part, key, calls, NAME)
            if message.sidechain is True and part.is_error is not True:
                yield from _edits_of_sub_agent(part, key, calls)


def _edits_of_sub_agent(part: p.ToolResultPart, key: str, calls: Calls) -> Iterator[Edit]:
    call = calls.get(str(part.tool_call_id))
    given: Any = call.input if call is not None and type(call.input) is dict else {}
    path, old, new = given.get("file_path"), given.get("old_string"), given.get("new_string")
    if part.tool_name == "write_file" and type(path) is str and type(text := given.get("content")) is str:
        counts: Any = unpack(NAME, part.extra)[0].get("metadata")
        lines = text.count("\n") + (not text.endswith("\n"))  # all of them added: there was nothing before
        added = counts if type(counts) is dict else {}
        is_new = (added.get("model_added_lines"), added.get("model_removed_lines")) == (lines, 0)
        yield Edit(message_id=key, path=path, before=None if is_new else UNKNOWN, change=lambda _: content_of(text))
    elif part.tool_name == "edit" and type(path) is str and type(old) is str and type(new) is str:
        yield Edit(
            message_id=key,
            path=path,
            change=lambda text: replaced(text, old, new),
            reverse=lambda text: replaced(text, new, old),
        )
