"""Gemini generateContent: a request, a bare list of contents, or a response.  As of google-genai 3.1.0.

    canonical                         native
    system (leading)                  the `systemInstruction` field
    user, tool                        role user; functionResponses and the rest of it are messages of their own
    assistant                         role model
    text, reasoning                   text; with `thought: true`
    signature of any part             thoughtSignature; the documented dummy is written where a call lacks one
    tool-call                         functionCall; provider-executed: executableCode, toolCall
    tool-result                       functionResponse (files in its `parts`); provider-executed:
                                      codeExecutionResult, toolResponse
    file                              inlineData, fileData; videoMetadata and the like are residue
    raw(gemini)                       any other part, word for word; alone in an event: a content of an unknown role
    model, usage, finish reason       of a response; further candidates and grounding are residue

Keys are camelCase, or snake_case as the SDK has them. Settings around the contents (tools, generationConfig ...)
stay with the conversation. Lost, and reported: ids of messages, times, agents, other providers' reasoning.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.gemini import ROLES
from hansard.formats.gemini.content import read_parts, take_content, write_content, write_parts, write_usual
from hansard.formats.gemini.fields import NAME, PROVIDER, Keys, camel, is_snake, lacks, spelled, without
from hansard.formats.gemini.tools import is_client_call, is_name
from hansard.formats.residue import HINTS, pack, set_present, take_maybe_str, unpack
from hansard.model.conversation import Conversation, Message, ModelRef, Usage
from hansard.model.parts import RawPart, TextPart, ToolResultPart

ROLES_OF_OTHERS = ("assistant", "developer")  # a sign that the document is not Gemini's
_NATIVE = {"user": "user", "tool": "user", "assistant": "model"}
_REQUEST = Keys("systemInstruction")
_GO_ON = "(the conversation goes on)"


# -- contents ------------------------------------------------------------------------------------------------------


def _read_content(record: Any, i: int, snake: bool, out: list[Message]) -> None:
    """One content becomes one message, or several: responses of functions are messages of their own."""
    if type(record) is dict and len(record) == 2 and type(blocks := record.get("parts")) is list:
        role = record.get("role")  # nearly all are so
        if role == "user":
            parts = read_parts(blocks, snake, False)
            if len(parts) == 1:
                out.append(Message(role="tool" if _is_result(parts[0]) else "user", parts=parts))
            else:
                _append(out, role, parts, UNSET)
            return
        if role == "model":
            parts = read_parts(blocks, snake, True)
            extra = {NAME: {HINTS: {"apart": True}}} if _is_apart(parts, out) else UNSET
            out.append(Message(role="assistant", parts=parts, extra=extra))
            return
    path = f"$.contents[{i}]"
    if type(record) is str:
        out.append(Message(role="user", parts=[TextPart(text=record)], extra=pack(NAME, {}, {"content": "string"})))
        return
    if type(record) is not dict or (record and not ("parts" in record or "role" in record)):
        raise Unreadable("a content with role and parts expected", path)
    native = record.get("role")
    if type(native) is str and native not in ROLES and native not in ROLES_OF_OTHERS:
        out.append(Message(role="event", parts=[RawPart(format=NAME, value=record)]))
        return
    if native is not None and (type(native) is not str or native not in ROLES):
        raise Unreadable(f"no role {native!r}; it is user or model", f"{path}.role")
    role = "user" if native is None else ROLES[native]
    record = dict(record)
    parts, marks = take_content(record, _NATIVE.get(role, UNSET), snake, path)
    if role == "system":
        marks["at"] = "contents"
    if role == "assistant" and _is_apart(parts, out):
        marks["apart"] = True
    _append(out, role, parts, pack(NAME, record, marks))


def _append(out: list[Message], role: str, parts: list[Any], extra: Any) -> None:
    if role == "user" and ToolResultPart in map(type, parts):
        for said_by, run in _runs(parts):
            out.append(Message(role=said_by, parts=run, extra=extra))
            extra = {NAME: {HINTS: {"joined": True}}}
    else:
        out.append(Message(role=role, parts=parts, extra=extra))


def _is_apart(parts: list[Any], out: list[Message]) -> bool:
    """Is it a turn with calls that follows an answer, which others' turns never do?"""
    return bool(out) and out[-1].role == "assistant" and any(map(is_client_call, parts))


def _runs(parts: list[Any]) -> list[tuple[str, list[Any]]]:
    """The parts of a user's content by the role of who says them."""
    runs: list[tuple[str, list[Any]]] = []
    for part in parts:
        said_by = "tool" if _is_result(part) else "user"
        if runs and runs[-1][0] == said_by:
            runs[-1][1].append(part)
        else:
            runs.append((said_by, [part]))
    return runs


def _is_result(part: Any) -> bool:
    return type(part) is ToolResultPart and part.provider_executed is not True


def _write_contents(messages: list[Message], snake: bool) -> list[Any]:
    """The contents; a message that was part of one, or must be, goes into the one before it."""
    out: list[Any] = []
    joined: set[int] | None = None
    turn: list[Any] = []
    written = False
    role = ""
    for i, message in enumerate(messages):
        before, role = role, message.role
        if role == "tool":
            message = _named(message, turn)
        elif role == "assistant":
            turn = message.parts
        elif role == "event":
            out += [part.value for part in message.parts if type(part) is RawPart and part.format == NAME]
            continue
        if message.extra is UNSET and not role == before == "assistant":  # nearly all are so, and none is joined
            parts = None if snake else write_usual(message.parts, role == "assistant")
            if parts is None:
                parts = write_parts(message.parts, snake, role == "assistant")
            written = bool(parts) or not message.parts
            if written:
                out.append({"role": _NATIVE.get(role, "user"), "parts": parts})
            continue
        if joined is None:
            joined = _joined(messages)
        rest, marks = _content_residue(message)
        if role == before == "assistant" and i not in joined and "apart" not in marks:
            if any(map(is_client_call, message.parts)):
                out.append({"role": "user", "parts": [{"text": _GO_ON}]})
        if i in joined and written and type(out[-1]) is dict and type(out[-1].get("parts")) is list:
            out[-1]["parts"] += write_parts(message.parts, snake, message.role == "assistant")
            continue
        record: Any = _plain_text(message) if marks.get("content") == "string" else None
        if record is None:
            record = write_content(message, _role(message, marks), snake, rest, marks)
        written = type(record) is str or bool(record.get("parts")) or not message.parts
        if written:
            out.append(record)
    return out


def _joined(messages: list[Message]) -> set[int]:
    """The messages that go into the content before them: those that came from it, and answers before calls.

    A turn with calls must follow the user's or a function's, so answers before it are one with it. Those of
    another model stay as they are: then a word of the user's is put between.
    """
    found = set()
    pulled = False
    for i in range(len(messages) - 1, 0, -1):
        message, before = messages[i], messages[i - 1]
        marks = unpack(NAME, message.extra)[1]
        answers = message.role == before.role == "assistant" and "apart" not in marks and message.model == before.model
        calls = pulled or any(map(is_client_call, message.parts))
        pulled = answers and calls and not any(map(is_client_call, before.parts))
        if pulled or ("joined" in marks and {before.role, message.role} == {"user", "tool"}):
            found.add(i)
    return found


def _role(message: Message, marks: dict[str, Any]) -> Any:
    """The role as it was written, if it still is true of the message."""
    said_by = "user" if message.role == "tool" else message.role
    native = marks.get("role")
    if said_by == "user" and (lacks(marks, "role") or ("role" in marks and native is None)):
        return native if "role" in marks else UNSET
    if type(native) is str and ROLES.get(native) == said_by:
        return native
    return _NATIVE.get(message.role, "user")


def _named(message: Message, turn: list[Any]) -> Message:
    """A result names its function: where it does not, or not in a legal way, the call in the turn before does."""
    for j, part in enumerate(message.parts):
        if type(part) is not ToolResultPart or is_name(part.tool_name) or "name" in unpack(NAME, part.extra)[1]:
            continue
        calls = [call for call in turn if is_client_call(call) and call.tool_call_id == part.tool_call_id]
        found = [call.tool_name for call in calls if is_name(call.tool_name)]
        named = replace(part, tool_name=found[0] if found else "tool")
        message = replace(message, parts=[*message.parts[:j], named, *message.parts[j + 1 :]])
    return message


def _plain_text(message: Message) -> str | None:
    """The text, when a user's message is one text and nothing else."""
    part: Any = message.parts[0] if len(message.parts) == 1 and message.role == "user" else None
    return part.text if type(part) is TextPart and part.extra is UNSET and part.signature is UNSET else None


def _content_residue(message: Message) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was left over of the content; of a response, only that of the content inside it."""
    rest, marks = unpack(NAME, message.extra)
    if "response" not in marks:
        return rest, marks
    return _take_left(_take_candidate(rest)[0], "content"), marks


# -- system --------------------------------------------------------------------------------------------------------


def _read_system(value: Any, snake: bool) -> Message | None:
    """None for what is no content: it stays with the settings."""
    if type(value) is str:
        return Message(role="system", parts=[TextPart(text=value)], extra=pack(NAME, {}, {"content": "string"}))
    if type(value) is not dict or type(value.get("parts")) is not list:
        return None
    record = dict(value)
    parts, marks = take_content(record, UNSET, snake, "$.systemInstruction")
    return Message(role="system", parts=parts, extra=pack(NAME, record, marks))


def _write_system(messages: list[Message], snake: bool) -> Any:
    rest, marks = unpack(NAME, messages[0].extra)
    if len(messages) > 1:  # only other formats have several
        return {"parts": [block for message in messages for block in write_parts(message.parts, snake, False)]}
    part: Any = messages[0].parts[0] if len(messages[0].parts) == 1 else None
    if marks.get("content") == "string" and type(part) is TextPart and part.extra is UNSET:
        return part.text
    return write_content(messages[0], marks.get("role", UNSET), snake, rest, marks)


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
    """The first candidate is the message. What is left over of the body keeps its place in it."""
    spelling: dict[str, Any] = {}
    body = camel(document, _RESPONSE, snake, spelling)
    candidates = body.get("candidates")
    marks: dict[str, Any] = {}
    parts: list[Any] = []
    finish: str | UnsetType = UNSET
    if type(candidates) is list and candidates and type(candidates[0]) is dict:
        candidate = camel(candidates[0], _CANDIDATE, snake, spelling)
        if type(candidate.get("content")) is dict:
            content = dict(candidate.pop("content"))
            parts, marks = take_content(content, "model", snake, "$.candidates[0].content")
            if content:
                candidate["content"] = content
        else:
            without(marks, "content")
        finish = _take_finish(candidate, marks)
        if "index" not in candidate:
            without(marks, "index")
        elif type(candidate["index"]) is int and candidate["index"] == 0:
            del candidate["index"]
        del body["candidates"]
        if candidate or len(candidates) > 1:
            body["candidates"] = [candidate, *candidates[1:]]
    else:
        without(marks, "candidates")
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
        extra=pack(NAME, body, {"response": True, **marks, **spelling}),
    )
    return Conversation(messages=[message], extra=pack(NAME, {}, {"case": "snake"} if snake else {}))


def _write_response(message: Message, snake: bool) -> dict[str, Any]:
    rest, marks = unpack(NAME, message.extra)
    model = message.model if message.model is not UNSET else ModelRef()
    out = set_present({}, modelVersion=model.name, responseId=model.response_id, createTime=message.created_at)
    if not lacks(marks, "candidates"):
        left, others = _take_candidate(rest)
        candidate: dict[str, Any] = {} if lacks(marks, "index") else {"index": 0}
        if not lacks(marks, "content"):
            role = marks["role"] if "role" in marks else UNSET if lacks(marks, "role") else "model"
            candidate["content"] = write_content(message, role, snake, _take_left(left, "content"), marks)
        set_present(candidate, finishReason=_finish(message, marks))
        out["candidates"] = [spelled({**candidate, **left}, _CANDIDATE, snake, marks), *others]
    _put_usage(out, message.usage, rest, snake, marks)
    return spelled({**out, **rest}, _RESPONSE, snake, marks)


def _take_candidate(rest: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """What was left over of the first candidate, and the others."""
    kept = rest.pop("candidates", None)
    if type(kept) is not list or not kept or type(kept[0]) is not dict:
        return {}, []
    return dict(kept[0]), kept[1:]


def _take_left(rest: dict[str, Any], key: str) -> dict[str, Any]:
    left = rest.pop(key, None)
    return dict(left) if type(left) is dict else {}


def _take_finish(candidate: dict[str, Any], marks: dict[str, Any]) -> str | UnsetType:
    native = take_maybe_str(candidate, "finishReason")
    if native is UNSET:
        return UNSET
    canonical = _FINISH.get(native, native)
    if _STOP.get(canonical, canonical) != native:
        marks["finishReason"] = native
    return canonical


def _finish(message: Message, marks: dict[str, Any]) -> str | UnsetType:
    reason, native = message.finish_reason, marks.get("finishReason")
    if type(native) is str and _FINISH.get(native, native) == reason:
        return native
    return UNSET if reason is UNSET else _STOP.get(reason, reason)


def _take_usage(body: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Usage | UnsetType:
    """Canonical output counts thoughts too, Gemini's candidates do not; what is no plain number is left over."""
    given = body.get("usageMetadata")
    if type(given) is not dict:
        return UNSET
    rest = camel(given, _USAGE, snake, marks)
    counts = {field: rest.pop(key) for key, field in _COUNTS.items() if type(rest.get(key)) is int}
    if "output_tokens" in counts:
        counts["output_tokens"] += counts.get("reasoning_tokens", 0)
    del body["usageMetadata"]
    if rest or not counts:
        body["usageMetadata"] = rest
    return Usage(**counts) if counts else UNSET


def _put_usage(
    out: dict[str, Any], usage: Usage | UnsetType, rest: dict[str, Any], snake: bool, marks: dict[str, Any]
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
        out["usageMetadata"] = spelled({**counts, **(left or {})}, _USAGE, snake, marks)


# -- documents -----------------------------------------------------------------------------------------------------


_OF_RESPONSES = frozenset(
    {
        *("candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata"),
        *("modelVersion", "model_version", "responseId", "response_id"),
    }
)


def _is_response(body: dict[str, Any]) -> bool:
    return "contents" not in body and not _OF_RESPONSES.isdisjoint(body)


def _spelling(body: dict[str, Any], keys: Keys) -> bool:
    """Is the document in snake_case? The first part with a key of two spellings decides."""
    candidates, contents = body.get("candidates"), body.get("contents")
    if type(candidates) is list:
        contents = [item.get("content") for item in candidates if type(item) is dict]
    for record in contents if type(contents) is list else [contents]:
        found = is_snake(record.get("parts")) if type(record) is dict else None
        if found is not None:
            return found
    return not keys.camel.keys().isdisjoint(body) and keys.snake.keys().isdisjoint(body)


def read(document: Any) -> Conversation:
    """A request body, a list of contents, or a response body."""
    marks: dict[str, Any] = {}
    if type(document) is list:
        document = {"contents": document}
        marks["shape"] = "list"
    if type(document) is not dict:
        raise Unreadable("an object or a list expected")
    if _is_response(document):
        return _read_response(document, _spelling(document, _RESPONSE))
    snake = _spelling(document, _REQUEST)
    if snake:
        marks["case"] = "snake"
    body = camel(document, _REQUEST, snake, marks)
    contents = body.pop("contents", None)
    if type(contents) is str or type(contents) is dict:
        marks["contents"] = "one"
        contents = [contents]
    if type(contents) is not list:
        raise Unreadable("no list of contents", "$.contents")
    messages: list[Message] = []
    system = _read_system(body.get("systemInstruction"), snake)
    if system is not None:
        del body["systemInstruction"]
        messages.append(system)
    for i, record in enumerate(contents):
        _read_content(record, i, snake, messages)
    return Conversation(messages=messages, extra=pack(NAME, body, marks))


def write(conversation: Conversation, target: Target) -> Any:
    """The shape it was read from; for conversations of other formats a request body."""
    rest, marks = unpack(NAME, conversation.extra)
    snake = marks.get("case") == "snake"
    messages = conversation.messages
    if len(messages) == 1 and messages[0].role == "assistant" and "response" in unpack(NAME, messages[0].extra)[1]:
        return _write_response(messages[0], snake)
    leading = 0
    while leading < len(messages) and messages[leading].role == "system":
        if "at" in unpack(NAME, messages[leading].extra)[1]:
            break
        leading += 1
    contents: Any = _write_contents(messages[leading:], snake)
    if marks.get("shape") == "list" and not leading:
        return contents
    if marks.get("contents") == "one" and len(contents) == 1:
        contents = contents[0]
    out: dict[str, Any] = {"contents": contents, **rest}
    if leading:
        out["systemInstruction"] = _write_system(messages[:leading], snake)
    return spelled(out, _REQUEST, snake, marks)
