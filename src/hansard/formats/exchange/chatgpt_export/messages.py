"""ChatGPT export: documents, trees and nodes: `read`, `write`, `split` and `join`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.exchange.chatgpt_export import CAPTURED, is_capture
from hansard.formats.exchange.chatgpt_export.content import EVERYONE, NAME, groups, read_content, write_content
from hansard.formats.residue import HINTS, pack, set_present, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message, ModelRef
from hansard.model.parts import RawPart, ToolCallPart, ToolResultPart
from hansard.model.times import epoch_seconds, epoch_time
from hansard.model.tree import active_path, parents

_ROLES = ("system", "user", "assistant", "tool")
_DEFAULTS: dict[str, Any] = {
    "update_time": None,
    "status": "finished_successfully",
    "end_turn": None,
    "weight": 1.0,
    "metadata": {},
    "recipient": EVERYONE,
}


def _take_time(body: dict[str, Any], key: str) -> Any:
    time = epoch_time(body.get(key))
    if time is None:
        return UNSET
    del body[key]
    return time


# -- messages ------------------------------------------------------------------------------------------------------


def _read_message(node_id: str, body: dict[str, Any]) -> Message:
    """Read the message of a node; one that the writer would change is kept raw."""
    message = _read_fields(node_id, exact_json.copied(body))
    if message is not None and exact_json.same(_write_fields(message, message.parts, node_id), body):
        return message
    raw = RawPart(format=NAME, value=body, extra={NAME: {HINTS: {"at": "node"}}})
    return Message(role="event", parts=[raw], id=node_id)


def _read_fields(node_id: str, rest: dict[str, Any]) -> Message | None:
    hints: dict[str, Any] = {}
    author, content = rest.pop("author", None), rest.pop("content", None)
    if type(author) is not dict or type(author.get("role")) is not str:
        return None
    role = author["role"]
    if rest.get("id") == node_id:
        del rest["id"]
    elif "id" not in rest:
        hints["id"] = "absent"
    parts = read_content(content, role, author.get("name") if role == "tool" else rest.get("recipient"), hints)
    if not exact_json.same(author, _author(role, parts)):
        hints["author"] = author
    model: Any = UNSET
    about = rest.get("metadata")
    if type(about) is dict and type(about.get("model_slug")) is str:
        model = ModelRef(name=about.pop("model_slug"))
    time = _take_time(rest, "create_time")
    if exact_json.same({**_DEFAULTS, "recipient": _recipient(parts)}, rest):
        rest = {}
    elif not rest:
        hints["fields"] = "none"
    return Message(
        role=role if role in _ROLES else "event",
        parts=parts,
        id=node_id,
        created_at=time,
        model=model,
        extra=pack(NAME, rest, hints),
    )


def _author(role: str, parts: list[Any]) -> dict[str, Any]:
    tool = parts[0].tool_name if parts and type(parts[0]) is ToolResultPart else UNSET
    return {"role": role, "name": tool if tool is not UNSET else None, "metadata": {}}


def _recipient(parts: list[Any]) -> str:
    tool = parts[0].tool_name if parts and type(parts[0]) is ToolCallPart else UNSET
    return tool if type(tool) is str and tool else EVERYONE


def _write_fields(message: Message, parts: list[Any], node_id: str) -> dict[str, Any]:
    """Write the message of a node for one group of parts."""
    rest, hints = unpack(NAME, message.extra)
    author = hints.get("author")
    if type(author) is not dict:
        author = _author({"developer": "system", "event": "system"}.get(message.role, message.role), parts)
    out: dict[str, Any] = {} if hints.get("id") == "absent" else {"id": node_id}
    out["author"] = author
    seconds = _seconds(message, message.created_at)
    if seconds is not None:
        out["create_time"] = seconds
    out["content"] = write_content(parts, hints)
    if not rest and hints.get("fields") != "none":
        rest = {**_DEFAULTS, "recipient": _recipient(parts)}
    if message.model is not UNSET and message.model.name is not UNSET:
        about = rest.get("metadata", {})
        rest["metadata"] = {"model_slug": message.model.name, **(about if type(about) is dict else {})}
    return {**out, **rest}


def _write_message(message: Message, node_id: str) -> list[dict[str, Any]]:
    """Write one message per group of parts: a chain of nodes."""
    first = message.parts[0] if message.parts else None
    if type(first) is RawPart and type(first.value) is dict and unpack(NAME, first.extra)[1].get("at") == "node":
        return [first.value]
    found = groups(message.parts) or [[]]
    if len(found) > 1:
        message = replace(message, extra=UNSET)
    return [_write_fields(message, group, f"{node_id}.{k}" if k else node_id) for k, group in enumerate(found)]


# -- the tree ------------------------------------------------------------------------------------------------------


def _parent(node: dict[str, Any]) -> str | None:
    told = node.get("parent")
    return told if type(told) is str else None


def _order(mapping: dict[str, Any]) -> list[str]:
    """Every node once, parents before children, children in the order of the parent."""
    order: dict[str, None] = {}
    roots = [key for key, node in mapping.items() if _parent(node) not in mapping]
    for start in (*roots, *mapping):
        waiting = [start]
        while waiting:
            key = waiting.pop()
            if key in order or key not in mapping:
                continue
            order[key] = None
            children = mapping[key].get("children")
            named = [child for child in children if type(child) is str] if type(children) is list else []
            waiting += [child for child in reversed(named) if _parent(mapping.get(child, {})) == key]
    return list(order)


def _read_nodes(mapping: dict[str, Any], hints: dict[str, Any]) -> list[Message]:
    messages: list[Message] = []
    empty: dict[str, Any] = {}
    bare: list[str] = []  # nodes without `children`
    above: dict[str, str | None] = {}  # the nearest message at or above a node
    order = _order(mapping)
    written = sorted(order, key=lambda key: type(mapping[key].get("message")) is dict)  # nodes without a message first
    expected = _children(written, {key: mapping[key].get("parent") for key in order})
    for key in order:
        rest = dict(mapping[key])
        parent, said = rest.pop("parent", UNSET), rest.get("message")
        nearest = above.get(parent) if type(parent) is str else None
        own: dict[str, Any] = {}
        if "children" not in rest:
            bare.append(key)
        elif rest["children"] == expected.get(key, []):
            del rest["children"]
        if type(said) is not dict:
            empty[key] = rest if parent is UNSET else {**rest, "parent": parent}
            above[key] = nearest
            continue
        del rest["message"]
        if rest.get("id") == key:
            del rest["id"]
        else:
            told = rest.pop("id", UNSET)
            own["id"] = None if told is UNSET else told if type(told) is str else [told]
        if parent != nearest:
            own["parent"] = [] if parent is UNSET else [parent]
        if rest:
            own["rest"] = rest
        message = _read_message(key, said)
        if own:
            left, kept = unpack(NAME, message.extra)
            message = replace(message, extra=pack(NAME, left, {**kept, "node": own}))
        before = messages[-1].id if messages else None
        if nearest != before:
            message = replace(message, parent_message_id=nearest)
        messages.append(message)
        above[key] = key
    if empty:
        hints["empty"] = empty
    if bare:
        hints["bare"] = bare
    return messages


def _children(order: list[str], above: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key in order:
        if type(above.get(key)) is str:
            found.setdefault(above[key], []).append(key)
    return found


def _write_nodes(conversation: Conversation, hints: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The mapping, and for each message its last node."""
    mapping: dict[str, Any] = {}
    ends: list[str] = []
    empty = hints.get("empty")
    if type(empty) is dict:
        for key, node in empty.items():
            mapping[key] = dict(node) if type(node) is dict else {}
    links = parents(conversation.messages)
    for i, message in enumerate(conversation.messages):
        node_id = message.id if type(message.id) is str and message.id not in mapping else _free_id(mapping, i)
        parent = ends[link] if (link := links[i]) is not None else None
        own = unpack(NAME, message.extra)[1].get("node")
        for k, body in enumerate(_write_message(message, node_id)):
            key = f"{node_id}.{k}" if k else node_id
            node = {"id": key, "message": body, "parent": parent}
            if k == 0 and type(own) is dict:
                _restore_spelling(node, own)
            mapping[key] = node
            parent = key
        ends.append(str(parent))
    expected = _children(list(mapping), {key: node.get("parent") for key, node in mapping.items()})
    told = hints.get("bare")
    bare = {key for key in told if type(key) is str} if type(told) is list else set()
    for key, node in mapping.items():
        if key not in bare:
            node.setdefault("children", expected.get(key, []))
    return mapping, ends


def _restore_spelling(node: dict[str, Any], own: dict[str, Any]) -> None:
    """Restore the fields that the node spelled otherwise."""
    if "id" in own:
        node["id"] = own["id"][0] if type(own["id"]) is list and own["id"] else own["id"]
        if own["id"] is None:
            del node["id"]
    if type(own.get("parent")) is list:
        del node["parent"]
        if own["parent"]:
            node["parent"] = own["parent"][0]
    if type(own.get("rest")) is dict:
        node |= own["rest"]


def _free_id(mapping: dict[str, Any], i: int) -> str:
    key = f"node-{i + 1}"
    while key in mapping:
        key += "x"
    return key


# -- documents -----------------------------------------------------------------------------------------------------


def split(document: Any) -> list[Any]:
    """A list for each conversation; one object is one conversation."""
    return [[item] for item in document] if type(document) is list else [document]


def join(documents: list[Any]) -> list[Any]:
    """One list of all."""
    return [item for document in documents for item in (document if type(document) is list else [document])]


def read(document: Any) -> Conversation:
    """A list of one conversation, or the conversation."""
    hints: dict[str, Any] = {}
    if type(document) is list and len(document) == 1:
        document = document[0]
    else:
        hints["shape"] = "object"
    if is_capture(document):
        hints["capture"] = {key: value for key, value in document.items() if key != CAPTURED}
        document = document[CAPTURED]
    mapping = document.get("mapping") if type(document) is dict else None
    if type(mapping) is not dict:
        raise Unreadable("missing mapping of nodes", "$.mapping")
    for key, node in mapping.items():
        if type(node) is not dict:
            raise Unreadable("expected a node object", f"$.mapping.{key}")
    rest = dict(document)
    messages = _read_nodes(rest.pop("mapping"), hints)
    own_id = take_maybe_str(rest, "id")
    if own_id is not UNSET and rest.get("conversation_id") == own_id:
        del rest["conversation_id"]
    elif own_id is not UNSET and "conversation_id" not in rest:
        hints["conversation_id"] = "absent"
    made, changed = _take_time(rest, "create_time"), _take_time(rest, "update_time")
    title = take_maybe_str(rest, "title")
    conversation = Conversation(messages=messages, id=own_id, title=title, created_at=made, updated_at=changed)
    current = rest.get("current_node", UNSET)
    head: Any = UNSET
    if current is not UNSET and current == _default_head(conversation):
        del rest["current_node"]
    elif type(current) is str and any(message.id == current for message in messages):
        head = rest.pop("current_node")
    elif current is UNSET and messages:
        hints["current_node"] = "absent"
    return replace(conversation, head=head, extra=pack(NAME, rest, hints))


def _default_head(conversation: Conversation) -> Any:
    path = active_path(conversation)
    return conversation.messages[path[-1]].id if path else UNSET


def write(conversation: Conversation, target: Target) -> Any:
    """A list of one conversation, or the object it was read from."""
    rest, hints = unpack(NAME, conversation.extra)
    mapping, ends = _write_nodes(conversation, hints)
    out: dict[str, Any] = set_present({}, id=conversation.id, title=conversation.title)
    if conversation.id is not UNSET and hints.get("conversation_id") != "absent":
        out["conversation_id"] = conversation.id
    for key, time in (("create_time", conversation.created_at), ("update_time", conversation.updated_at)):
        if (seconds := _seconds(conversation, time)) is not None:
            out[key] = seconds
    out["mapping"] = mapping
    path = active_path(conversation)
    if path and hints.get("current_node") != "absent":
        out["current_node"] = ends[path[-1]]
    out |= {key: value for key, value in rest.items() if key != "mapping"}
    if type(hints.get("capture")) is dict:
        out = {**hints["capture"], CAPTURED: out}
    return out if hints.get("shape") == "object" else [out]


def _seconds(node: Message | Conversation, time: Any) -> int | float | Decimal | None:
    """A time as the export writes it; digits that no float holds are kept only of documents that had them."""
    seconds = epoch_seconds(time)
    own = node.extra is not UNSET and "chatgpt-export" in node.extra
    return float(seconds) if isinstance(seconds, Decimal) and not own else seconds
