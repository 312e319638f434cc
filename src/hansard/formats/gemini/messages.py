"""Gemini documents (requests, lists of contents, responses) and their messages: read and write.

Parts inside a content are read by `content`, `files` and `tools`. The package docstring has the field mapping.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.gemini import ROLES
from hansard.formats.gemini.content import read_parts, take_content, write_content, write_parts, write_typed
from hansard.formats.gemini.fields import (
    NAME,
    PROVIDER,
    Keys,
    is_omitted,
    is_snake,
    mark_omitted,
    to_camel_case,
    to_spelling,
)
from hansard.formats.gemini.settings import DIALECT
from hansard.formats.gemini.tools import is_client_call, is_name
from hansard.formats.requests import put, take
from hansard.formats.residue import HINTS, pack, set_present, take_maybe_str, unpack
from hansard.model.conversation import Conversation, Message, ModelRef, Usage
from hansard.model.parts import RawPart, TextPart, ToolResultPart
from hansard.model.rejoin import GOES_ON

_FOREIGN_ROLES = ("assistant", "developer")  # roles of other formats: such a document is not Gemini's
_NATIVE = {"user": "user", "tool": "user", "assistant": "model"}
_REQUEST = Keys("systemInstruction")


# -- contents ------------------------------------------------------------------------------------------------------


def _read_content(record: Any, i: int, snake: bool, out: list[Message]) -> None:
    """Read one content as one message, or as several: function responses become tool messages."""
    if type(record) is dict and len(record) == 2 and type(blocks := record.get("parts")) is list:
        role = record.get("role")  # fast path: most contents have only these two keys
        if role == "user":
            parts = read_parts(blocks, snake, False)
            if len(parts) == 1:
                out.append(Message(role="tool" if _is_result(parts[0]) else "user", parts=parts))
            else:
                _append_message(out, role, parts, UNSET)
            return
        if role == "model":
            parts = read_parts(blocks, snake, True)
            extra = {NAME: {HINTS: {"apart": True}}} if _follows_answer(parts, out) else UNSET
            out.append(Message(role="assistant", parts=parts, extra=extra))
            return
    path = f"$.contents[{i}]"
    if type(record) is str:
        out.append(Message(role="user", parts=[TextPart(text=record)], extra=pack(NAME, {}, {"content": "string"})))
        return
    if type(record) is not dict or (record and not ("parts" in record or "role" in record)):
        raise Unreadable("expected a content with role and parts", path)
    native = record.get("role")
    if type(native) is str and native not in ROLES and native not in _FOREIGN_ROLES:
        out.append(Message(role="event", parts=[RawPart(format=NAME, value=record)]))
        return
    if native is not None and (type(native) is not str or native not in ROLES):
        raise Unreadable(f"unknown role {native!r}; use user or model", f"{path}.role")
    role = "user" if native is None else ROLES[native]
    record = dict(record)
    parts, hints = take_content(record, _NATIVE.get(role, UNSET), snake, path)
    if role == "system":
        hints["at"] = "contents"
    if role == "assistant" and _follows_answer(parts, out):
        hints["apart"] = True
    _append_message(out, role, parts, pack(NAME, record, hints))


def _append_message(out: list[Message], role: str, parts: list[Any], extra: Any) -> None:
    if role == "user" and ToolResultPart in map(type, parts):
        for message_role, run in _split_by_role(parts):
            out.append(Message(role=message_role, parts=run, extra=extra))
            extra = {NAME: {HINTS: {"joined": True}}}
    else:
        out.append(Message(role=role, parts=parts, extra=extra))


def _follows_answer(parts: list[Any], out: list[Message]) -> bool:
    """Whether this turn has calls and follows another model turn, as no other format's turns do."""
    return bool(out) and out[-1].role == "assistant" and any(map(is_client_call, parts))


def _split_by_role(parts: list[Any]) -> list[tuple[str, list[Any]]]:
    """Split the parts of a user content into runs of tool results and other parts."""
    runs: list[tuple[str, list[Any]]] = []
    for part in parts:
        message_role = "tool" if _is_result(part) else "user"
        if runs and runs[-1][0] == message_role:
            runs[-1][1].append(part)
        else:
            runs.append((message_role, [part]))
    return runs


def _is_result(part: Any) -> bool:
    return type(part) is ToolResultPart and part.provider_executed is not True


def _write_contents(messages: list[Message], snake: bool) -> list[Any]:
    """Write the contents; some messages are merged into the previous content (see `_merged_into_previous`)."""
    out: list[Any] = []
    joined: set[int] | None = None
    turn: list[Any] = []
    written = False
    role = ""
    for i, message in enumerate(messages):
        before, role = role, message.role
        if role == "tool":
            message = _with_tool_names(message, turn)
        elif role == "assistant":
            turn = message.parts
        elif role == "event":
            out += [part.value for part in message.parts if type(part) is RawPart and part.format == NAME]
            continue
        if message.extra is UNSET and not role == before == "assistant":  # fast path: no residue, nothing to merge
            parts = None if snake else write_typed(message.parts, role == "assistant")
            if parts is None:
                parts = write_parts(message.parts, snake, role == "assistant")
            written = bool(parts) or not message.parts
            if written:
                out.append({"role": _NATIVE.get(role, "user"), "parts": parts})
            continue
        if joined is None:
            joined = _merged_into_previous(messages)
        rest, hints = _content_residue(message)
        if role == before == "assistant" and i not in joined and "apart" not in hints:
            if any(map(is_client_call, message.parts)):
                out.append({"role": "user", "parts": [{"text": GOES_ON}]})
        if i in joined and written and type(out[-1]) is dict and type(out[-1].get("parts")) is list:
            out[-1]["parts"] += write_parts(message.parts, snake, message.role == "assistant")
            continue
        record: Any = _plain_text(message) if hints.get("content") == "string" else None
        if record is None:
            record = write_content(message, _role(message, hints), snake, rest, hints)
        written = type(record) is str or bool(record.get("parts")) or not message.parts
        if written:
            out.append(record)
    return out


def _merged_into_previous(messages: list[Message]) -> set[int]:
    """Indices of messages to merge into the previous content: those read from it, and model turns before calls.

    Gemini requires that a turn with calls follows a user turn or a function response, so preceding model turns are
    merged into it. Turns of another model are not merged; a short user turn is inserted between them.
    """
    found = set()
    pulled = False
    for i in range(len(messages) - 1, 0, -1):
        message, before = messages[i], messages[i - 1]
        hints = unpack(NAME, message.extra)[1]
        answers = message.role == before.role == "assistant" and "apart" not in hints and message.model == before.model
        calls = pulled or any(map(is_client_call, message.parts))
        pulled = answers and calls and not any(map(is_client_call, before.parts))
        if pulled or ("joined" in hints and {before.role, message.role} == {"user", "tool"}):
            found.add(i)
    return found


def _role(message: Message, hints: dict[str, Any]) -> Any:
    """The native role as it was read, if it still fits the message."""
    message_role = "user" if message.role == "tool" else message.role
    native = hints.get("role")
    if message_role == "user" and (is_omitted(hints, "role") or ("role" in hints and native is None)):
        return native if "role" in hints else UNSET
    if type(native) is str and ROLES.get(native) == message_role:
        return native
    return _NATIVE.get(message.role, "user")


def _with_tool_names(message: Message, turn: list[Any]) -> Message:
    """Fill in missing or invalid function names of results from the calls in the previous turn."""
    for j, part in enumerate(message.parts):
        if type(part) is not ToolResultPart or is_name(part.tool_name) or "name" in unpack(NAME, part.extra)[1]:
            continue
        calls = [call for call in turn if is_client_call(call) and call.tool_call_id == part.tool_call_id]
        found = [call.tool_name for call in calls if is_name(call.tool_name)]
        named = replace(part, tool_name=found[0] if found else "tool")
        message = replace(message, parts=[*message.parts[:j], named, *message.parts[j + 1 :]])
    return message


def _plain_text(message: Message) -> str | None:
    """The text of a user message that has only one plain text part."""
    part: Any = message.parts[0] if len(message.parts) == 1 and message.role == "user" else None
    return part.text if type(part) is TextPart and part.extra is UNSET and part.signature is UNSET else None


def _content_residue(message: Message) -> tuple[dict[str, Any], dict[str, Any]]:
    """Residue of the content; for a response only that of the content inside the candidate."""
    rest, hints = unpack(NAME, message.extra)
    if "response" not in hints:
        return rest, hints
    return _take_rest(_take_candidate(rest)[0], "content"), hints


# -- system --------------------------------------------------------------------------------------------------------


def _read_system(value: Any, snake: bool) -> Message | None:
    """Read systemInstruction; None if it is not a content, which then stays with the settings."""
    if type(value) is str:
        return Message(role="system", parts=[TextPart(text=value)], extra=pack(NAME, {}, {"content": "string"}))
    if type(value) is not dict or type(value.get("parts")) is not list:
        return None
    record = dict(value)
    parts, hints = take_content(record, UNSET, snake, "$.systemInstruction")
    return Message(role="system", parts=parts, extra=pack(NAME, record, hints))


def _write_system(messages: list[Message], snake: bool) -> Any:
    rest, hints = unpack(NAME, messages[0].extra)
    if len(messages) > 1:  # only other formats have several
        return {"parts": [block for message in messages for block in write_parts(message.parts, snake, False)]}
    part: Any = messages[0].parts[0] if len(messages[0].parts) == 1 else None
    if hints.get("content") == "string" and type(part) is TextPart and part.extra is UNSET:
        return part.text
    return write_content(messages[0], hints.get("role", UNSET), snake, rest, hints)


# -- responses -----------------------------------------------------------------------------------------------------


_FINISH = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
}
_STOP = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_RESPONSE = Keys("usageMetadata", "modelVersion", "responseId", "createTime")
_CANDIDATE = Keys("finishReason")
_COUNTS = {
    "promptTokenCount": "input_tokens",
    "candidatesTokenCount": "output_tokens",
    "totalTokenCount": "total_tokens",
    "thoughtsTokenCount": "reasoning_tokens",
    "cachedContentTokenCount": "cache_read_tokens",
}
_USAGE = Keys(*_COUNTS)


def _read_response(document: dict[str, Any], snake: bool) -> Conversation:
    """Read the first candidate as the message. Residue of the body keeps its place in the body."""
    spelling: dict[str, Any] = {}
    body = to_camel_case(document, _RESPONSE, snake, spelling)
    candidates = body.get("candidates")
    hints: dict[str, Any] = {}
    parts: list[Any] = []
    finish: str | UnsetType = UNSET
    if type(candidates) is list and candidates and type(candidates[0]) is dict:
        candidate = to_camel_case(candidates[0], _CANDIDATE, snake, spelling)
        if type(candidate.get("content")) is dict:
            content = dict(candidate.pop("content"))
            parts, hints = take_content(content, "model", snake, "$.candidates[0].content")
            if content:
                candidate["content"] = content
        else:
            mark_omitted(hints, "content")
        finish = _take_finish(candidate, hints)
        if "index" not in candidate:
            mark_omitted(hints, "index")
        elif type(candidate["index"]) is int and candidate["index"] == 0:
            del candidate["index"]
        del body["candidates"]
        if candidate or len(candidates) > 1:
            body["candidates"] = [candidate, *candidates[1:]]
    else:
        mark_omitted(hints, "candidates")
    usage = _take_usage(body, snake, spelling)
    model = ModelRef(
        provider=PROVIDER,
        name=take_maybe_str(body, "modelVersion"),
        response_id=take_maybe_str(body, "responseId"),
    )
    message = Message(
        role="assistant",
        parts=parts,
        model=model,
        usage=usage,
        finish_reason=finish,
        created_at=take_maybe_str(body, "createTime"),
        extra=pack(NAME, body, {"response": True, **hints, **spelling}),
    )
    return Conversation(messages=[message], extra=pack(NAME, {}, {"case": "snake"} if snake else {}))


def _write_response(message: Message, snake: bool) -> dict[str, Any]:
    rest, hints = unpack(NAME, message.extra)
    model = message.model if message.model is not UNSET else ModelRef()
    out = set_present({}, modelVersion=model.name, responseId=model.response_id, createTime=message.created_at)
    if not is_omitted(hints, "candidates"):
        left, others = _take_candidate(rest)
        candidate: dict[str, Any] = {} if is_omitted(hints, "index") else {"index": 0}
        if not is_omitted(hints, "content"):
            role = hints["role"] if "role" in hints else UNSET if is_omitted(hints, "role") else "model"
            candidate["content"] = write_content(message, role, snake, _take_rest(left, "content"), hints)
        set_present(candidate, finishReason=_native_finish(message, hints))
        out["candidates"] = [to_spelling({**candidate, **left}, _CANDIDATE, snake, hints), *others]
    _put_usage(out, message.usage, rest, snake, hints)
    return to_spelling({**out, **rest}, _RESPONSE, snake, hints)


def _take_candidate(rest: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Residue of the first candidate, and the other candidates."""
    kept = rest.pop("candidates", None)
    if type(kept) is not list or not kept or type(kept[0]) is not dict:
        return {}, []
    return dict(kept[0]), kept[1:]


def _take_rest(rest: dict[str, Any], key: str) -> dict[str, Any]:
    left = rest.pop(key, None)
    return dict(left) if type(left) is dict else {}


def _take_finish(candidate: dict[str, Any], hints: dict[str, Any]) -> str | UnsetType:
    native = take_maybe_str(candidate, "finishReason")
    if native is UNSET:
        return UNSET
    canonical = _FINISH.get(native, native)
    if _STOP.get(canonical, canonical) != native:
        hints["finishReason"] = native
    return canonical


def _native_finish(message: Message, hints: dict[str, Any]) -> str | UnsetType:
    reason, native = message.finish_reason, hints.get("finishReason")
    if type(native) is str and _FINISH.get(native, native) == reason:
        return native
    return UNSET if reason is UNSET else _STOP.get(reason, reason)


def _take_usage(body: dict[str, Any], snake: bool, hints: dict[str, Any]) -> Usage | UnsetType:
    """Read the counts; canonical output tokens include thoughts, candidatesTokenCount does not."""
    given = body.get("usageMetadata")
    if type(given) is not dict:
        return UNSET
    rest = to_camel_case(given, _USAGE, snake, hints)
    counts = {field: rest.pop(key) for key, field in _COUNTS.items() if type(rest.get(key)) is int}
    if "output_tokens" in counts:
        counts["output_tokens"] += counts.get("reasoning_tokens", 0)
    del body["usageMetadata"]
    if rest or not counts:
        body["usageMetadata"] = rest
    return Usage(**counts) if counts else UNSET


def _put_usage(
    out: dict[str, Any], usage: Usage | UnsetType, rest: dict[str, Any], snake: bool, hints: dict[str, Any]
) -> None:
    left = rest.get("usageMetadata")
    if usage is UNSET or (left is not None and type(left) is not dict):
        usage = Usage()
    counts = {key: getattr(usage, field) for key, field in _COUNTS.items() if getattr(usage, field) is not UNSET}
    if "candidatesTokenCount" in counts:
        counts["candidatesTokenCount"] -= counts.get("thoughtsTokenCount", 0)
    if type(left) is dict:
        del rest["usageMetadata"]
    if counts or type(left) is dict:
        out["usageMetadata"] = to_spelling({**counts, **(left or {})}, _USAGE, snake, hints)


# -- documents -----------------------------------------------------------------------------------------------------


_RESPONSE_KEYS = frozenset(
    {
        *("candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata"),
        *("modelVersion", "model_version", "responseId", "response_id"),
    }
)


def _is_response(body: dict[str, Any]) -> bool:
    return "contents" not in body and not _RESPONSE_KEYS.isdisjoint(body)


def _spelling(body: dict[str, Any], keys: Keys) -> bool:
    """Whether the document is in snake_case; the first part with a key of two spellings decides."""
    candidates, contents = body.get("candidates"), body.get("contents")
    if type(candidates) is list:
        contents = [item.get("content") for item in candidates if type(item) is dict]
    for record in contents if type(contents) is list else [contents]:
        found = is_snake(record.get("parts")) if type(record) is dict else None
        if found is not None:
            return found
    return not keys.camel.keys().isdisjoint(body) and keys.snake.keys().isdisjoint(body)


def read(document: Any) -> Conversation:
    """Read a request body, a list of contents or a response body."""
    hints: dict[str, Any] = {}
    if type(document) is list:
        document = {"contents": document}
        hints["shape"] = "list"
    if type(document) is not dict:
        raise Unreadable("expected an object or a list")
    if _is_response(document):
        return _read_response(document, _spelling(document, _RESPONSE))
    snake = _spelling(document, _REQUEST)
    if snake:
        hints["case"] = "snake"
    body = to_camel_case(document, _REQUEST, snake, hints)
    contents = body.pop("contents", None)
    if type(contents) is str or type(contents) is dict:
        hints["contents"] = "one"
        contents = [contents]
    if type(contents) is not list:
        raise Unreadable("contents is not a list", "$.contents")
    messages: list[Message] = []
    system = _read_system(body.get("systemInstruction"), snake)
    if system is not None:
        del body["systemInstruction"]
        messages.append(system)
    for i, record in enumerate(contents):
        _read_content(record, i, snake, messages)
    tools, settings = take(DIALECT, body, hints)
    return Conversation(messages=messages, tools=tools, settings=settings, extra=pack(NAME, body, hints))


def write(conversation: Conversation, target: Target) -> Any:
    """Write the document type it was read from; for conversations of other formats a request body."""
    rest, hints = unpack(NAME, conversation.extra)
    snake = hints.get("case") == "snake"
    messages = conversation.messages
    if len(messages) == 1 and messages[0].role == "assistant" and "response" in unpack(NAME, messages[0].extra)[1]:
        return _write_response(messages[0], snake)
    leading = 0
    while leading < len(messages) and messages[leading].role == "system":
        if "at" in unpack(NAME, messages[leading].extra)[1]:
            break
        leading += 1
    contents: Any = _write_contents(messages[leading:], snake)
    if hints.get("shape") == "list" and not leading and conversation.tools is conversation.settings is UNSET:
        return contents
    if hints.get("contents") == "one" and len(contents) == 1:
        contents = contents[0]
    out: dict[str, Any] = {**put(DIALECT, conversation, rest, hints), "contents": contents}
    if leading:
        out["systemInstruction"] = _write_system(messages[:leading], snake)
    return to_spelling(out, _REQUEST, snake, hints)
