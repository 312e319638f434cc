"""mini-swe-agent trajectories: the document, and its entries read and written."""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.coding_agents.documents import Fields, fields_of, read_each, session_file
from hansard.formats.coding_agents.identity import derived_hex
from hansard.formats.coding_agents.mini_swe_agent import is_session
from hansard.formats.openai_chat.messages import read_message, read_usage, write_message, write_usage
from hansard.formats.residue import pack, set_present, unpack
from hansard.model import parts as p
from hansard.model.conversation import Conversation, Message, ModelRef
from hansard.model.machinery import REMINDER
from hansard.model.times import epoch_seconds, epoch_time

NAME = "mini-swe-agent"
_TASK = re.compile(r"\{\{\s*task\s*\}\}")
_TEMPLATE = re.compile(r"\{[{%#]")  # where the text of a template is not literal


def _read(document: Fields) -> Conversation:
    rest = {key: value for key, value in document.items() if key != "messages"}
    config = fields_of(fields_of(document["info"]).get("config"))
    agent = fields_of(config.get("agent"))
    names: dict[str, str] = {}
    asked = False

    def entry(i: int, value: Fields) -> list[Message]:
        nonlocal asked
        message = _read_entry(value, derived_hex(agent.get("output_path"), i), names)
        if message.role == "user" and not asked:
            asked = True
            message = _as_typed(message, agent.get("instance_template"))
        return [message]

    return Conversation(messages=read_each(document["messages"], NAME, entry), extra=pack(NAME, rest))


def _as_typed(message: Message, template: Any) -> Message:
    """The task without the template round it."""
    part = message.parts[0] if len(message.parts) == 1 else None
    if type(part) is not p.TextPart or type(template) is not str or (found := _TASK.search(template)) is None:
        return message
    before, after = template[: found.start()], _TEMPLATE.split(template[found.end() :])[0].rstrip()
    end = part.text.find(after, len(before)) if after else len(part.text)
    if _TEMPLATE.search(before) or not part.text.startswith(before) or end < 0:
        return message
    marks = {"before": before, "after": part.text[end:]}
    rest, _ = unpack(NAME, message.extra)
    return replace(message, parts=[replace(part, text=part.text[len(before) : end])], extra=pack(NAME, rest, marks))


def _read_entry(entry: Fields, id: str, names: dict[str, str]) -> Message:
    record = dict(entry)
    rest = dict(fields_of(record.pop("extra", None)))
    response = rest.pop("response", None)
    usage = read_usage(dict(fields_of(response)))
    found: list[Message] = []
    read_message(record, "$.messages[{}]", 0, names, found)
    message = found[0]
    time = epoch_time(rest.get("timestamp"))
    if time is not None:
        del rest["timestamp"]
    model = fields_of(response)
    name, response_id = model.get("model"), model.get("id")
    if type(name) is str:
        named = ModelRef(name=name, response_id=response_id if type(response_id) is str else UNSET)
        message = replace(message, model=named)
    if message.role == "user" and rest.get("interrupt_type") not in (None, "UserInterruption"):
        text = "\n".join(part.text for part in message.parts if type(part) is p.TextPart)
        message = Message(role="event", parts=[p.DataPart(name=REMINDER, data=text)])
    elif message.role == "tool" and type(rest.get("raw_output")) is str:
        marks = {"content": record.get("content")}
        message = _with_output(message, rest.pop("raw_output"), rest.get("returncode"))
        return replace(message, id=id, created_at=time or UNSET, extra=pack(NAME, rest, marks))
    own = pack(NAME, rest)
    extra = {**(message.extra or {}), **(own or {})} or UNSET
    return replace(message, id=id, created_at=time or UNSET, usage=usage, extra=extra)


def _with_output(message: Message, output: str, code: Any) -> Message:
    parts = [
        replace(part, output=output, content=UNSET, is_error=code != 0) if type(part) is p.ToolResultPart else part
        for part in message.parts
    ]
    return replace(message, parts=parts)


def _head(conversation: Conversation) -> Fields:
    rest, _ = unpack(NAME, conversation.extra)
    return {"info": {"model_stats": {}}, "trajectory_format": "mini-swe-agent-1.1", **rest}


def _write(message: Message) -> list[Fields]:
    if message.sidechain is True:
        return []
    rest, marks = unpack(NAME, message.extra)
    records: list[Fields] = []
    if marks.get("before") is not None and len(message.parts) == 1 and type(message.parts[0]) is p.TextPart:
        text = f"{marks['before']}{message.parts[0].text}{marks.get('after')}"
        message = replace(message, parts=[replace(message.parts[0], text=text)])
    write_message(message, records)
    results = [part for part in message.parts if type(part) is p.ToolResultPart]
    for i, record in enumerate(records):
        more: Fields = {}
        if message.role == "tool":
            result = results[min(i, len(results) - 1)]
            if "content" in marks and type(result.output) is str:
                record["content"] = marks["content"]
                more["raw_output"] = result.output
            elif result.is_error is True:
                more["returncode"] = 1
        seconds = epoch_seconds(message.created_at)
        more |= {**rest, **({} if seconds is None else {"timestamp": seconds})}
        response: Fields = set_present({}, usage=write_usage(message.usage))
        if message.model is not UNSET:
            set_present(response, id=message.model.response_id, model=message.model.name)
        if response and message.role == "assistant":
            more["response"] = response
        if more:
            record["extra"] = more
    return records


SESSION = session_file(NAME, "messages", is_session, _read, _head, _write, None, ".traj.json")
read, write = SESSION.read, SESSION.write
