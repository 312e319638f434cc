"""Gemini CLI sessions: what deletes, what grows, and what a session needs to be resumed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.model import (
    Context,
    Conversation,
    DataPart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from hansard.model.tree import active_path
from tests.conftest import GOLDEN


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / "gemini-cli" / name).read_bytes(), "gemini-cli")


def texts(messages: list[Message]) -> list[str]:
    return [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]


def followed(conversation: Conversation) -> list[str]:
    return texts([conversation.messages[i] for i in active_path(conversation)])


def records(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


@pytest.mark.parametrize(
    ("name", "path", "branches"),
    [
        ("rewound.jsonl", ["first", "one", "second again", "two again"], ["second", "two"]),
        ("rewound_to_nothing.jsonl", ["anew", "here"], ["first", "one", "gone"]),
        ("messages_set.jsonl", ["long", "a summary", "of it", "go on"], ["story", "more", "of it"]),
        ("replaced_late.jsonl", ["first", "1, corrected", "second", "two", "third"], ["one", "second", "two"]),
    ],
)
def test_what_was_deleted_stays_as_a_branch(name: str, path: list[str], branches: list[str]) -> None:
    conversation = golden(name)
    assert followed(conversation) == path
    off = [m for i, m in enumerate(conversation.messages) if i not in active_path(conversation)]
    assert texts(off) == branches


def test_a_record_that_only_grew_is_not_kept_twice() -> None:
    assert [message.id for message in golden("records.jsonl").messages] == ["u1", "g1", "g1:results", "g2"]


def test_a_call_is_the_assistants_and_its_result_a_tool_message() -> None:
    _, answer, results, _ = golden("records.jsonl").messages
    call, result = answer.parts[-1], results.parts[0]
    assert isinstance(call, ToolCallPart)
    assert isinstance(result, ToolResultPart)
    assert (call.tool_call_id, call.tool_name) == (result.tool_call_id, result.tool_name) == ("e1", "replace")
    assert result.extra["gemini-cli"]["resultDisplay"]["originalContent"] == "a"  # type: ignore[index]


def test_thoughts_are_counted_with_what_was_said() -> None:
    usage = golden("records.jsonl").messages[1].usage
    assert usage == Usage(input_tokens=10, output_tokens=7, reasoning_tokens=5, cache_read_tokens=3, total_tokens=17)


def test_what_was_set_last_is_the_title_and_time() -> None:
    conversation = golden("records.jsonl")
    assert (conversation.title, conversation.updated_at) == ("A line changed", "2026-01-10T02:10:00.000Z")


def test_notes_of_the_screen_are_events() -> None:
    events = [m.parts[0] for m in golden("one_document.json").messages if m.role == "event"]
    assert [part.name for part in events if isinstance(part, DataPart)] == ["info", "warning"]


def test_a_document_cut_short_is_read_up_to_the_cut() -> None:
    session = formats.get("gemini-cli").session
    assert session is not None
    raw = (GOLDEN / "gemini-cli" / "document_cut_short.json").read_bytes()
    reading = session.open()
    messages = reading.feed(raw) + reading.finish()
    assert [message.id for message in messages] == ["u1", "g1", "g1:results", "i1", "g2"]
    (report,) = reading.reports
    assert raw[: report.byte].count(b"\n") == report.line - 1
    assert raw[report.byte :].startswith(b'{\n      "id": "w1"')


def test_a_new_message_goes_into_the_list_of_a_document() -> None:
    raw = (GOLDEN / "gemini-cli" / "one_document.json").read_bytes()
    conversation = golden("one_document.json")
    asked = Message(role="user", parts=[TextPart(text="and now?")])
    written = formats.write(replace(conversation, messages=[*conversation.messages, asked]), "gemini-cli").json
    assert len(json.loads(written)["messages"]) == len(json.loads(raw)["messages"]) + 1
    assert written.startswith(raw[: raw.rindex(b"\n  ]")])


def test_so_it_does_beside_a_message_whose_id_is_none() -> None:
    raw = (GOLDEN / "gemini-cli" / "one_document.json").read_bytes()
    document = json.loads(raw)
    document["messages"].insert(0, {"id": ["odd"], "type": "user", "content": "hi"})
    conversation = formats.read(json.dumps(document, indent=2), "gemini-cli")
    asked = Message(role="user", parts=[TextPart(text="and now?")])
    written = formats.write(replace(conversation, messages=[*conversation.messages, asked]), "gemini-cli").json
    assert json.loads(written)["messages"][:-1] == document["messages"]


def test_a_late_result_is_written_with_its_call() -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="run_shell_command", input={"command": "ls"})
    asked = Conversation(messages=[Message(role="assistant", parts=[call], id="g1")])
    pending = formats.read(formats.write(asked, "gemini-cli").json, "gemini-cli")
    result = ToolResultPart(tool_call_id="c1", tool_name="run_shell_command", output="a", is_error=False)
    answered = replace(pending, messages=[*pending.messages, Message(role="tool", parts=[result])])
    again = formats.read(formats.write(answered, "gemini-cli").json, "gemini-cli")
    assert [message.parts for message in again.messages] == [[call], [result]]


def test_a_session_for_gemini_has_what_it_lists_and_resumes() -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="read_file", input={"file_path": "a"})
    conversation = Conversation(
        id="not a uuid",
        messages=[
            Message(role="user", parts=[TextPart(text="hi")], id="u1", context=Context(cwd="/work")),
            Message(role="assistant", parts=[ReasoningPart(text="hm"), TextPart(text="I look"), call], id="g1"),
            Message(role="tool", parts=[ToolResultPart(tool_call_id="c1", tool_name="read_file", output="x")]),
        ],
    )
    written = formats.write(conversation, "gemini-cli")
    header, user, answer = records(written.json)
    assert header.keys() >= {"sessionId", "projectHash", "startTime", "lastUpdated"}
    assert len(header["projectHash"]) == 64
    assert user == {"id": "u1", "timestamp": user["timestamp"], "type": "user", "content": "hi"}
    assert answer["toolCalls"][0]["result"][0]["functionResponse"]["response"] == {"output": "x"}
    again = formats.read(written.json, "gemini-cli")
    assert [message.parts for message in again.messages[:2]] == [m.parts for m in conversation.messages[:2]]


def test_many_messages_are_given_before_the_file_ends() -> None:
    session = formats.get("gemini-cli").session
    assert session is not None
    reading = session.open()
    text = "x" * 100_000
    lines = [b'{"id":"u%d","timestamp":"t","type":"user","content":"%s"}\n' % (i, text.encode()) for i in range(700)]
    given = [message for line in lines for message in reading.feed(line)]
    assert len(given) > 100
    assert len(given) + len(reading.finish()) == 700
    assert reading.conversation([]).head is UNSET


def test_a_resumed_session_is_told_again_and_stays_one_path() -> None:
    """Gemini CLI 0.61 begins with its context, then tells the model's history again: calls as parts, with or without
    their list, without tokens. A session that was handed over has no context of its own."""
    call = {"id": "c", "name": "write_file", "args": {"file_path": "a"}, "status": "success"}
    asked = [{"functionCall": {"id": "c", "name": "write_file", "args": {"file_path": "a"}}}]
    context = {"id": "ctx", "type": "user", "content": [{"text": "<session_context>\nHere.\n</session_context>"}]}
    first: dict[str, Any] = {"id": "u", "type": "user", "content": "Write a."}
    answer = {"id": "g", "type": "gemini", "content": "", "tokens": {"input": 9, "output": 3}, "toolCalls": [call]}
    for told in (asked, asked + asked):
        for listed in ({}, {"toolCalls": [call]}):
            again = [context, {**first, "content": [{"text": "Write a."}]}]
            again.append({"id": "g", "type": "gemini", "content": told, **listed})
            lines = [{"sessionId": "s"}, first, answer, {"sessionId": "s"}, {"$set": {"messages": [context]}}]
            lines += [{"$set": {"messages": again}}, {"id": "v", "type": "user", "content": "And b."}]
            read = formats.read("".join(json.dumps(one) + "\n" for one in lines), "gemini-cli")
            assert followed(read) == ["Write a.", "And b."]
            assert [message.role for message in read.messages] == ["user", "assistant", "user"]


def test_the_context_of_a_session_is_its_first_message_once_something_is_said() -> None:
    """Until then Gemini CLI 0.61 may write another one, as it does into a second file with each resume."""
    context = {"id": "ctx", "type": "user", "content": [{"text": "<session_context>\nHere.\n</session_context>"}]}
    start: list[dict[str, Any]] = [{"sessionId": "s"}, {"$set": {"messages": [context]}}]
    for said, roles in ([], []), ([{"id": "u", "type": "user", "content": "Hi."}], ["event", "user"]):
        lines = "".join(json.dumps(one) + "\n" for one in [*start, *start[1:], *said])
        read = formats.read(lines, "gemini-cli")
        assert [message.role for message in read.messages] == roles
        assert formats.write(read, "gemini-cli").json == lines.encode()


def test_a_history_told_again_without_a_prompt_in_its_middle_is_known_up_to_there() -> None:
    """As Gemini CLI 0.61 leaves out a prompt that begins with a slash when the session is resumed."""
    response = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "tea.txt"}}}
    call = {"id": "c", "name": "ls", "args": {}}
    lines = [
        {"sessionId": "9e551000-0000-4000-8000-000000000001", "projectHash": "p", "kind": "main"},
        {"id": "1", "type": "user", "content": [{"text": "Look."}]},
        {"id": "2", "type": "gemini", "content": "Looking.", "toolCalls": [{**call, "result": [response]}]},
        {"id": "3", "type": "user", "content": [response]},
        {"id": "4", "type": "user", "content": [{"text": "/compress"}]},
        {"id": "5", "type": "gemini", "content": "Done."},
    ]
    again = [
        {**lines[1]},
        {"id": "2", "type": "gemini", "content": [{"text": "Looking."}, {"functionCall": call}]},
        {"id": "2-r", "type": "user", "content": [response]},
        {"id": "5", "type": "gemini", "content": [{"text": "Done."}]},
    ]
    lines += [{"$set": {"messages": again}}, {"id": "6", "type": "user", "content": [{"text": "On."}]}]
    read = formats.read("".join(json.dumps(line) + "\n" for line in lines), "gemini-cli")
    path = [read.messages[i] for i in active_path(read)]
    assert [(one.id, one.role) for one in path] == [
        ("1", "user"),
        ("2", "assistant"),
        ("2:results", "tool"),
        ("5~1", "assistant"),
        ("6", "user"),
    ]
    assert {one.id for one in read.messages} == {"1", "2", "2:results", "4", "5", "5~1", "6"}
