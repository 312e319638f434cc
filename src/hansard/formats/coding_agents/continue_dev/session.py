"""Continue sessions: the document, its entries read and written, and the edits that results record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.coding_agents.continue_dev import is_session
from hansard.formats.coding_agents.documents import Fields, fields_of, list_of, read_each, session_file
from hansard.formats.coding_agents.edits import UNKNOWN, Calls, Edit, content_of, of_diff
from hansard.formats.coding_agents.identity import session_uuid
from hansard.formats.openai_chat.messages import read_message, read_usage, write_message, write_usage
from hansard.formats.residue import pack, set_present, unpack
from hansard.model import parts as p
from hansard.model.conversation import Context, Conversation, Message, ModelRef

NAME = "continue"
RESULTS = ":results"
_UNTITLED = "Untitled Session"
_FAILED, _STOPPED = "errored", "canceled"


def _read(document: Fields) -> Conversation:
    rest = {key: value for key, value in document.items() if key not in ("sessionId", "history")}
    cwd, title = rest.get("workspaceDirectory"), rest.get("title")
    cwd = cwd.removeprefix("file://") if type(cwd) is str else ""
    context = Context(cwd=cwd) if cwd else UNSET
    names: dict[str, str] = {}

    def entry(i: int, value: Fields) -> list[Message]:
        found = _read_entry(value, f"{document['sessionId']}:{i}", names)
        return [replace(one, context=context) for one in found] if cwd else found

    return Conversation(
        messages=read_each(document["history"], NAME, entry),
        id=document["sessionId"],
        title=title if type(title) is str and title != _UNTITLED else UNSET,
        extra=pack(NAME, rest),
    )


def _read_entry(entry: Fields, id: str, names: dict[str, str]) -> list[Message]:
    rest = {key: value for key, value in entry.items() if key not in ("message", "toolCallStates", "editorState")}
    if rest.get("contextItems") == []:
        del rest["contextItems"]
    record = dict(fields_of(entry.get("message")))
    if record.get("role") == "thinking" and type(record.get("content")) is str:
        part = p.ReasoningPart(text=record.pop("content"))
        del record["role"]
        return [Message(role="assistant", parts=[part], id=id, extra=pack(NAME, rest, {"message": record}))]
    for theirs, chat in (("toolCalls", "tool_calls"), ("toolCallId", "tool_call_id")):
        if theirs in record:
            record[chat] = record.pop(theirs)
    record["content"] = _blocks(record.get("content"), "imageUrl", "image_url")
    told = fields_of(record.get("usage"))
    usage = read_usage(record)
    record.pop("usage", None)
    found: list[Message] = []
    read_message(record, "$.history[{}].message", 0, names, found)
    more: Fields = {} if usage is UNSET else {"usage": usage}
    if type(told.get("model")) is str:
        more["model"] = ModelRef(name=told["model"])
    own = pack(NAME, rest)
    messages = [replace(found[0], id=id, **more, extra=_joined(found[0].extra, own))]
    results = [part for state in list_of(entry.get("toolCallStates")) for part in _read_state(fields_of(state))]
    return [*messages, Message(role="tool", parts=results, id=id + RESULTS)] if results else messages


def _joined(*each: Any) -> Any:
    return {key: value for one in each if one is not UNSET for key, value in one.items()} or UNSET


def _blocks(content: Any, old: str, new: str) -> Any:
    """Content with pictures named as the other format names them."""
    if type(content) is not list:
        return content
    return [
        {"type": new, new: block[old]} if type(block) is dict and block.get("type") == old and old in block else block
        for block in content
    ]


def _read_state(state: Fields) -> list[Any]:
    """The result of a call, if it has one."""
    output, status, call = state.get("output"), state.get("status"), fields_of(state.get("toolCall"))
    if type(state.get("toolCallId")) is not str or (type(output) is not list and status not in (_FAILED, _STOPPED)):
        return []
    items = list_of(output)
    texts = [item["content"] for item in items if type(item) is dict and type(item.get("content")) is str]
    name = fields_of(call.get("function")).get("name")
    stopped: Fields = {"status": "interrupted"} if status == _STOPPED else {}
    return [
        p.ToolResultPart(
            tool_call_id=state["toolCallId"],
            tool_name=name if type(name) is str else UNSET,
            output="\n".join(texts) if len(texts) == len(items) else items,
            is_error=status in (_FAILED, _STOPPED),
            **stopped,
        )
    ]


def _head(conversation: Conversation) -> Fields:
    rest, _ = unpack(NAME, conversation.extra)
    folders = (one.context.cwd for one in conversation.messages if one.context is not UNSET)
    cwd = next((folder for folder in folders if type(folder) is str), "")
    named = conversation.title is not UNSET
    title = conversation.title if named else _UNTITLED
    own = conversation.id if rest and type(conversation.id) is str else session_uuid(conversation)
    return {"sessionId": own, "title": title, "workspaceDirectory": cwd, **rest}


def _write(message: Message) -> list[Fields]:
    rest, marks = unpack(NAME, message.extra)
    if message.sidechain is True or message.role == "event":
        return []
    if type(marks.get("message")) is dict and len(message.parts) == 1 and type(message.parts[0]) is p.ReasoningPart:
        said = {"role": "thinking", "content": message.parts[0].text, **marks["message"]}
        return [{"message": said, "contextItems": [], **rest}]
    records: list[Fields] = []
    write_message(message, records)
    usage = write_usage(message.usage)
    if usage is not UNSET and message.model is not UNSET:
        set_present(usage, model=message.model.name)
    for record in records:
        for theirs, chat in (("toolCalls", "tool_calls"), ("toolCallId", "tool_call_id")):
            if chat in record:
                record[theirs] = record.pop(chat)
        if "content" in record:
            record["content"] = _blocks(record["content"], "image_url", "imageUrl")
        if message.role == "assistant":
            set_present(record, usage=usage)
    return [{"message": record, "contextItems": [], **rest} for record in records]


def _edits(message: Message, key: str, calls: Calls) -> Iterator[Edit]:
    """`Write` of a file that is new; a diff in the result of any other write or edit."""
    for part in message.parts:
        call = calls.get(str(part.tool_call_id)) if type(part) is p.ToolResultPart else None
        if call is None or type(part) is not p.ToolResultPart or part.is_error is True:
            continue
        given, told = fields_of(call.input), part.output if type(part.output) is str else ""
        path = given.get("filepath", given.get("file_path"))
        if call.tool_name not in ("Write", "Edit", "MultiEdit") or type(path) is not str:
            continue
        _, found, diff = told.partition("\nDiff:\n")
        if found:
            yield of_diff(key, path, diff)
        elif call.tool_name == "Write":
            after = content_of(given.get("content"))
            before = None if told.startswith("Successfully created") else UNKNOWN
            yield Edit(message_id=key, path=path, before=before, change=lambda _, after=after: after)  # type: ignore[misc]


SESSION = session_file(NAME, "history", is_session, _read, _head, _write, _edits, ".json")
read, write = SESSION.read, SESSION.write
