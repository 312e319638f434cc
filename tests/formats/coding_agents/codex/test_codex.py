"""Codex rollouts: what the records of a session mean, and what Codex needs to resume one we wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest
import zstandard
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.formats.coding_agents.codex import sniff
from hansard.formats.coding_agents.codex.records import read_response_item
from hansard.formats.coding_agents.records import Report
from hansard.formats.coding_agents.session_file import without_evidence
from hansard.formats.openai_responses.tools import Calls
from hansard.model import (
    Binding,
    CompactionPart,
    Context,
    Conversation,
    DataPart,
    FilePart,
    Message,
    ModelRef,
    RawPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from hansard.model.tree import active_path
from tests.conftest import GOLDEN


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / "codex" / name).read_bytes(), "codex")


FIRST = {"id": "s1", "timestamp": "2025-01-01T00:00:00Z", "instructions": None}


@pytest.mark.parametrize(
    ("records", "certain"),
    [
        ([FIRST], True),
        ([FIRST, {"type": "message", "role": "user", "content": []}, {"record_type": "state"}], True),
        ([FIRST, {"type": "custom_tool_call", "call_id": "c"}, {"type": "custom_tool_call_output"}], True),
        ([FIRST, {"type": "message"}, {"type": "turn"}], False),
        ([FIRST, {"role": "user", "content": "hi"}], False),
        ([FIRST, "message"], False),
        ([{**FIRST, "id": 1}, {"type": "message"}], False),
        ([{"type": "event_msg", "payload": {"type": "token_count"}}], True),
        ([{"type": "retained_context", "payload": {}}], True),
        ([{"type": "event_msg", "payload": "text"}], False),
        ([{"type": "event", "payload": {}}], False),
    ],
)
def test_a_rollout_of_any_release_is_detected_and_nothing_else(records: list[Any], certain: bool) -> None:
    assert (sniff(records) == 3) is certain


def texts(messages: list[Message]) -> list[str]:
    return [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]


def records(conversation: Conversation) -> list[dict[str, Any]]:
    return [json.loads(line) for line in formats.write(conversation, "codex").json.splitlines()]


def test_events_that_repeat_items_say_nothing_twice() -> None:
    said = texts(golden("two_turns.jsonl").messages)
    assert said.count("I look.") == said.count("List the files") == 1


def test_tokens_are_counted_once_for_each_change() -> None:
    counts = [m.usage.output_tokens for m in golden("two_turns.jsonl").messages if m.usage is not UNSET]
    assert counts == [20, 10]


def test_a_call_and_its_output_are_two_messages() -> None:
    roles = [message.role for message in golden("two_turns.jsonl").messages]
    assert roles == ["system", "developer", "event", "user", "assistant", "tool", "assistant", "user", "assistant"]


def test_turns_rolled_back_stay_as_a_branch() -> None:
    conversation = golden("turns_rolled_back.jsonl")
    path = [conversation.messages[i] for i in active_path(conversation)]
    assert texts(path) == ["first", "one", "second again", "two again"]
    assert texts(conversation.messages)[2:6] == ["second", "two", "third", "three"]


def test_a_rollback_at_the_end_moves_the_head() -> None:
    conversation = golden("rolled_back_to_the_end.jsonl")
    assert texts([conversation.messages[i] for i in active_path(conversation)]) == ["first", "one"]


def test_branches_are_written_as_rollbacks() -> None:
    conversation = golden("turns_rolled_back.jsonl")
    anew = Conversation(messages=conversation.messages, id=conversation.id)
    dropped = [record["payload"].get("num_turns") for record in records(anew)]
    assert [number for number in dropped if number] == [2]
    again = formats.read(formats.write(anew, "codex").json, "codex")
    assert active_path(again) == active_path(conversation)


@pytest.mark.parametrize("name", ["forked_paginated.jsonl", "continues_a_base.jsonl"])
def test_a_fork_names_the_thread_it_came_from(name: str) -> None:
    assert golden(name).parent_thread_id == "019f0000-0000-7000-8000-000000000001"


def test_the_first_session_is_the_identity() -> None:
    assert golden("forked_paginated.jsonl").id == "019f0000-0000-7000-8000-000000000002"


def test_a_cold_file_says_what_the_warm_one_said() -> None:
    assert golden("cold.jsonl.zst").messages == golden("two_turns.jsonl").messages
    assert formats.detect((GOLDEN / "codex" / "cold.jsonl.zst").read_bytes()) == "codex"


def test_a_compressed_file_cut_short_is_read_as_far_as_it_goes() -> None:
    raw = b"".join(b'{"type":"response_item","payload":{"role":"user","content":"%d"}}\n' % i for i in range(9000))
    cold = zstandard.ZstdCompressor().compress(raw)
    session = formats.get("codex").session
    assert session is not None
    reading = session.open()
    messages = reading.feed(cold[: len(cold) // 2]) + reading.finish()
    assert 0 < len(messages) < 9000
    assert "is truncated" in reading.reports[-1].what


def test_a_file_that_blows_up_is_not_held() -> None:
    bomb = zstandard.ZstdCompressor().compress(b"[" * 200_000_000)
    session = formats.get("codex").session
    assert session is not None
    reading = session.open()
    assert reading.feed(bomb) + reading.finish() == []
    assert "more than 100 times as many" in reading.reports[0].what


def test_bad_records_are_named_with_line_and_byte() -> None:
    raw = (GOLDEN / "codex" / "damaged.jsonl").read_bytes()
    session = formats.get("codex").session
    assert session is not None
    reading = session.open()
    reading.feed(raw)
    reading.finish()
    places = [(report.line, report.byte) for report in reading.reports]
    assert [line for line, _ in places] == [4, 6, 7, 8, 9]
    assert all(isinstance(report, Report) and report.kind == "bad" for report in reading.reports)
    assert all(raw[:byte].count(b"\n") == line - 1 for line, byte in places)


def test_sealed_thoughts_are_bound_to_openai() -> None:
    sealed = next(p for m in golden("sealed_reasoning.jsonl").messages for p in m.parts if type(p) is ReasoningPart)
    assert sealed.binding is not UNSET
    assert (sealed.encrypted, sealed.binding.provider, sealed.binding.model) == ("gAAAsealed", "openai", "gpt-5.4")


def test_thoughts_of_others_are_shown_and_not_played_back() -> None:
    thought = ReasoningPart(text="hm", signature="sig", binding=Binding(provider="anthropic"))
    written = records(Conversation(messages=[Message(role="assistant", parts=[thought])]))
    assert [record["payload"] for record in written[1:]] == [{"type": "agent_reasoning", "text": "hm"}]


def test_what_an_event_told_of_a_patch_is_kept_with_its_result() -> None:
    result = next(p for m in golden("kinds_of_tools.jsonl").messages for p in m.parts if type(p) is ToolResultPart)
    assert result.is_error is True
    assert result.extra["codex"]["changes"] == {"/work/app/a": {"type": "add", "content": "x\n"}}  # type: ignore[index]


def test_a_session_for_codex_has_what_it_lists_and_resumes() -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="exec_command", input={"cmd": "ls"})
    conversation = Conversation(
        id="not a uuid",
        messages=[
            Message(role="user", parts=[TextPart(text="hi")], context=Context(cwd="/work"), created_at="2026-01-01"),
            Message(
                role="assistant",
                parts=[TextPart(text="I look"), call],
                model=ModelRef(name="gpt-5.4", provider="openai"),
                usage=Usage(input_tokens=5, output_tokens=2),
            ),
            Message(role="tool", parts=[ToolResultPart(tool_call_id="c1", tool_name="exec_command", output="a")]),
        ],
    )
    written = records(conversation)
    kinds = [(record["type"], record["payload"].get("type")) for record in written]
    assert kinds == [
        ("session_meta", None),
        ("turn_context", None),
        ("response_item", "message"),
        ("event_msg", "user_message"),
        ("event_msg", "agent_message"),
        ("response_item", "message"),
        ("response_item", "function_call"),
        ("event_msg", "token_count"),
        ("response_item", "function_call_output"),
    ]
    assert all(type(record["timestamp"]) is str for record in written)
    assert written[0]["payload"]["cwd"] == "/work"
    assert len(written[0]["payload"]["id"]) == 36
    again = formats.read(formats.write(conversation, "codex").json, "codex")
    assert [message.parts for message in again.messages[:2]] == [m.parts for m in conversation.messages[:2]]


def test_a_file_that_is_no_image_does_not_cost_a_result() -> None:
    content = [TextPart(text="a page"), FilePart(data="aGk=", media_type="application/pdf")]
    result = ToolResultPart(tool_call_id="c1", tool_name="x", content=list(content))
    written = formats.write(Conversation(messages=[Message(role="tool", parts=[result])]), "codex")
    assert json.loads(written.json.splitlines()[-1])["payload"]["output"] == [{"type": "input_text", "text": "a page"}]
    assert ("files", "$.messages[0].parts[0].content[1]") in [(loss.kind, loss.path) for loss in written.losses]


def test_what_stands_in_for_the_past_is_written_as_that() -> None:
    summary = CompactionPart(text="All went well.")
    conversation = Conversation(messages=[Message(role="user", parts=[summary])])
    assert records(conversation)[-1]["payload"] == {"message": "All went well."}
    assert formats.read(formats.write(conversation, "codex").json, "codex").messages[0].parts == [summary]


def test_records_of_newer_releases_are_read() -> None:
    conversation = golden("newer_records.jsonl")
    assert conversation.id == "0199f7fa-3cff-7962-956f-917245c8d037"
    parts = [part for message in conversation.messages for part in message.parts]
    assert [part.value["type"] for part in parts if isinstance(part, RawPart)] == ["configuration_update"]
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    assert [part.tool_name for part in calls] == ["web_search", "tool_search", "image_generation", "exec_command"]
    assert calls[0].input == {"type": "search", "query": "zstd news"}
    assert len({part.tool_call_id for part in calls}) == 4
    results = [part for part in parts if isinstance(part, ToolResultPart)]
    assert [(part.output, part.is_error) for part in results[1:]] == [("zstd: not found", True)]
    assert [part.text for part in parts if isinstance(part, ReasoningPart)] == ["I had better look it up."]
    assert [part.text for part in parts if isinstance(part, CompactionPart)] == ["So far: it is 1.6."]
    said = [part.data for part in parts if isinstance(part, DataPart) and part.name == "agent_message"]
    assert [data["content"][0]["text"] for data in said] == ["Pack it yourself."]
    branch = [conversation.messages[i] for i in active_path(conversation)]
    assert texts(branch) == ["What is new in zstd?", "Version 1.6.", "And now?", "Thanks."]


def test_records_of_tokens_are_counted_and_what_repeats_them_is_not() -> None:
    usages = [message.usage for message in golden("newer_records.jsonl").messages if message.usage is not UNSET]
    assert [(usage.input_tokens, usage.output_tokens) for usage in usages] == [(100, 30), (150, 5)]


def test_tokens_of_a_running_total_alone_are_what_it_grew_by() -> None:
    raw = b""
    for n, (said, count) in enumerate([("One.", 5), ("Two.", 12), ("Three.", 4)]):
        block = {"type": "output_text", "text": said}
        item = {"type": "message", "role": "assistant", "content": [block]}
        told = {"type": "token_count", "info": {"total_token_usage": {"input_tokens": 10 * n, "output_tokens": count}}}
        for kind, payload in (("response_item", item), ("event_msg", told), ("event_msg", told)):
            raw += json.dumps({"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}).encode() + b"\n"
    usages = [message.usage for message in formats.read(raw, "codex").messages if message.usage is not UNSET]
    assert [usage.output_tokens for usage in usages] == [5, 7, 4]


def test_what_agents_say_to_each_other_is_written_again() -> None:
    items = [one["payload"] for one in records(without_evidence(golden("newer_records.jsonl"), "codex"))]
    assert [item["author"] for item in items if item.get("type") == "agent_message" and "author" in item] == ["/root"]


def test_an_answer_to_a_call_that_was_written_before_is_of_its_kind() -> None:
    raw = (GOLDEN / "codex" / "kinds_of_tools.jsonl").read_bytes()
    lines = raw.splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if b'"custom_tool_call"' in line) + 1
    before = b"".join(lines[:cut])
    asked = formats.read(before, "codex")
    answer = Message(role="tool", parts=[ToolResultPart(tool_call_id="c1", output="done")])
    written = formats.write(replace(asked, messages=[*asked.messages, answer]), "codex").json
    assert written.startswith(before)
    items = [json.loads(line)["payload"] for line in written[len(before) :].splitlines()]
    assert [item["type"] for item in items if item.get("call_id") == "c1"] == ["custom_tool_call_output"]


@pytest.mark.parametrize("annotations", [[], [{"type": "url_citation", "url": "https://a.b", "title": "A"}]])
@pytest.mark.parametrize("more", [{}, {"logprobs": []}, {"logprobs": [{"token": "x", "logprob": -1}]}])
def test_what_comes_with_a_text_of_an_answer_is_kept(annotations: list[Any], more: dict[str, Any]) -> None:
    block = {"type": "output_text", "text": "see there", "annotations": annotations, **more}
    read = read_response_item({"type": "message", "role": "assistant", "content": [block]}, Calls(), UNSET)
    assert read is not None
    part = read[1][0]
    assert isinstance(part, TextPart)
    assert (part.text, part.extra is UNSET) == ("see there", not annotations and not any(more.values()))
