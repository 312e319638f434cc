"""`MessageList` and `to_ai_sdk_messages`: parts of a stream, messages of the store, the input of `streamText`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hansard
from hansard import formats
from hansard.agent import MessageList, to_ai_sdk_messages
from hansard.formats.agent_store import sniff
from tests.judges.test_stream_text import judge as judge
from tests.node_judge import Judge

START: list[Any] = [{"type": "start"}, {"type": "start-step", "request": {}, "warnings": []}]
FINISH: list[Any] = [
    {"type": "finish-step", "finishReason": "stop", "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}},
    {"type": "finish", "finishReason": "stop", "totalUsage": {}},
]


def text(said: str, key: str = "t1") -> list[Any]:
    pieces = [{"type": "text-delta", "id": key, "text": said[i : i + 4]} for i in range(0, len(said), 4)]
    return [{"type": "text-start", "id": key}, *pieces, {"type": "text-end", "id": key}]


def call(key: str = "c1", **given: Any) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": key, "toolName": "weather", "input": given or {"city": "Oslo"}}


def result(output: Any, key: str = "c1") -> dict[str, Any]:
    return {**call(key), "type": "tool-result", "output": output}


def flushed(parts: list[Any], listed: MessageList | None = None) -> list[tuple[str, dict[str, Any]]]:
    """The messages, each with the type of the part after which it was there."""
    listed, found = listed or MessageList("t"), []
    for part in parts:
        listed.update_from_stream_part(part)
        if (message := listed.flush_to_canonical()) is not None:
            found.append((part["type"], message))
    return found


def parts_of(message: dict[str, Any]) -> list[Any]:
    return message["content"]["parts"]  # type: ignore[no-any-return]


PART_CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("TextStreamPart", text("It rains."), {"type": "text", "text": "It rains."}),
    (
        "ToolCallPart",
        [call()],
        {
            "type": "tool-invocation",
            "toolCallId": "c1",
            "toolName": "weather",
            "args": {"city": "Oslo"},
            "state": "call",
        },
    ),
    (
        "ToolResultPart",
        [call(), result({"celsius": 7})],
        {
            "type": "tool-invocation",
            "toolCallId": "c1",
            "toolName": "weather",
            "args": {"city": "Oslo"},
            "result": {"celsius": 7},
            "state": "result",
        },
    ),
    (
        "ReasoningPart",
        [
            {"type": "reasoning-start", "id": "r", "providerMetadata": {"x": {"k": 1}}},
            {"type": "reasoning-delta", "id": "r", "text": "Hm."},
            {"type": "reasoning-end", "id": "r"},
        ],
        {"type": "reasoning", "reasoning": "Hm.", "providerMetadata": {"x": {"k": 1}}},
    ),
    (
        "SourcePart",
        [{"type": "source", "sourceType": "url", "id": "s", "url": "https://example.org/a", "title": "A"}],
        {"type": "source", "id": "s", "title": "A", "url": "https://example.org/a"},
    ),
    (
        "FilePart",
        [{"type": "file", "file": {"base64": "aGk=", "mediaType": "text/plain"}}],
        {"type": "file", "data": "aGk=", "mimeType": "text/plain"},
    ),
]


@pytest.mark.parametrize(("parts", "expected"), [case[1:] for case in PART_CASES], ids=[case[0] for case in PART_CASES])
def test_each_stream_part_becomes_a_message_part(parts: list[Any], expected: dict[str, Any]) -> None:
    ((_, message),) = flushed([*START, *parts, *FINISH])
    assert parts_of(message) == [expected]
    assert (message["threadId"], message["role"]) == ("t", "assistant")
    assert message["type"] == ("tool" if expected["type"] == "tool-invocation" else "text")
    assert message["content"]["format"] == 2
    assert sniff([message]) == 3


def test_messages_are_flushed_at_tool_results_and_at_finish() -> None:
    found = flushed(
        [*START, *text("Let me look."), call(), result(7), FINISH[0], *START[1:], *text("Seven.", "t2"), *FINISH]
    )
    assert [kind for kind, _ in found] == ["tool-result", "finish"]
    (_, first), (_, second) = found
    assert [part["type"] for part in parts_of(first)] == ["text", "tool-invocation"]
    assert parts_of(second) == [{"type": "text", "text": "Seven."}]
    assert len({first["id"], second["id"]}) == 2
    assert to_ai_sdk_messages([first, second])[1]["role"] == "tool"


def test_parallel_calls_wait_for_all_their_results() -> None:
    found = flushed([*START, call("c1"), call("c2"), result(2, "c2"), result(1, "c1"), *FINISH])
    assert [kind for kind, _ in found] == ["tool-result"]
    assert [(part["toolCallId"], part["result"]) for part in parts_of(found[0][1])] == [("c1", 1), ("c2", 2)]


def test_a_preliminary_result_is_no_boundary() -> None:
    found = flushed([*START, call(), {**result("so far"), "preliminary": True}, result("done"), *FINISH])
    assert [(kind, parts_of(message)[0]["result"]) for kind, message in found] == [("tool-result", "done")]


@pytest.mark.parametrize("kind", ["abort", "error"])
def test_what_came_before_an_abort_or_an_error_is_flushed(kind: str) -> None:
    ((at, message),) = flushed([*START, *text("One two")[:-1], {"type": kind, "error": RuntimeError("no")}])
    assert at == kind
    assert parts_of(message)[0] == {"type": "text", "text": "One two"}


def test_nothing_gives_nothing() -> None:
    listed = MessageList("t")
    assert listed.flush_to_canonical() is None
    assert flushed([*START, *FINISH], listed) == []


def test_a_stream_that_broke_off_is_flushed_with_its_partial_call() -> None:
    listed = MessageList("t", resource_id="ann")
    begun = [{"type": "tool-input-start", "id": "c1", "toolName": "weather"}]
    for part in [*START, *text("Let me look."), *begun, {"type": "tool-input-delta", "id": "c1", "delta": '{"ci'}]:
        listed.update_from_stream_part(part)
    message = listed.flush_to_canonical()
    assert message is not None
    assert (parts_of(message)[1]["state"], message["resourceId"]) == ("partial-call", "ann")
    assert to_ai_sdk_messages([message]) == [
        {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}]}
    ]
    assert listed.flush_to_canonical() is None


parts_said = st.lists(
    st.one_of(
        st.text(max_size=9).map(text),
        st.just([call(), result({"n": 1})]),
        st.just([call("c1"), call("c2"), result(None, "c2"), result("x", "c1")]),
        st.just([{"type": "file", "file": {"base64": "aGk=", "mediaType": "text/plain"}}]),
        st.just([{"type": "raw", "rawValue": 3}, {"type": "ping"}]),
    ),
    max_size=5,
)


@given(said=parts_said, data=st.data())
def test_bytes_in_any_cut_give_what_dicts_give(said: list[list[Any]], data: st.DataObject) -> None:
    parts = [*START, *(part for group in said for part in group), *FINISH]
    made = {"new_id": lambda: "id", "now": lambda: "now"}
    expected = [message for _, message in flushed(parts, MessageList("t", **made))]
    raw = b"".join(json.dumps(part).encode() + b"\n" for part in parts)
    places = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    listed = MessageList("t", **made)
    for start, end in zip([0, *places], [*places, len(raw)], strict=True):
        listed.update_from_stream_part(raw[start:end])
    found = []
    while (message := listed.flush_to_canonical()) is not None:
        found.append(message)
    assert found == expected


@pytest.mark.parametrize(
    "spell", [json.dumps, lambda part: json.dumps(part).encode(), lambda part: json.dumps(part) + "\n"]
)
def test_one_part_may_be_json_with_or_without_the_end_of_its_line(spell: Any) -> None:
    listed = MessageList("t")
    for part in [*START, *text("It rains."), *FINISH]:
        listed.update_from_stream_part(spell(part))
    message = listed.flush_to_canonical()
    assert message is not None
    assert parts_of(message) == [{"type": "text", "text": "It rains."}]


@pytest.mark.parametrize(
    ("part", "path"),
    [
        (3, "$"),
        ({}, "$.type"),
        ({"type": "text-delta", "id": "t9", "text": "x"}, "$.id"),
        ({"type": "text-delta", "id": "t1"}, "$.text"),
        ({"type": "tool-call", "toolName": "a"}, "$.toolCallId"),
        ({"type": "file", "file": "aGk="}, "$.file"),
        (b"{nonsense}\n", "$"),
    ],
)
def test_a_bad_part_gets_one_message_and_changes_nothing(part: Any, path: str) -> None:
    listed = MessageList("t")
    for good in [*START, *text("One two")[:-1]]:
        listed.update_from_stream_part(good)
    with pytest.raises(hansard.HansardError) as caught:
        listed.update_from_stream_part(part)
    assert getattr(caught.value, "path", "$").startswith(path)
    for good in [text("")[-1], *FINISH]:
        listed.update_from_stream_part(good)
    message = listed.flush_to_canonical()
    assert message is not None
    assert parts_of(message) == [{"type": "text", "text": "One two"}]


def test_what_is_no_list_of_messages_is_refused() -> None:
    for bad in ("text", {"role": "user"}, 3):
        with pytest.raises(hansard.HansardError, match="expected a list of messages"):
            to_ai_sdk_messages(bad)  # type: ignore[arg-type]
    with pytest.raises(hansard.HansardError, match="missing content"):
        to_ai_sdk_messages([{"role": "user"}])
    with pytest.raises(hansard.HansardError, match="no target 'v9'"):
        to_ai_sdk_messages([], target="v9")


def test_recorded_runs_give_the_messages_that_the_sdk_itself_gave(judge: Judge, corpus: Path) -> None:
    """`responseMessages` of the real SDK, but for what the agent store cannot say: errors, and whose tool it was."""
    same = 0
    for path in sorted((corpus / "ai-sdk" / "stream").glob("*.fullstream.jsonl")):
        version = path.name.split(".")[1]
        listed, stored = MessageList("t"), []
        for line in path.read_bytes().splitlines(keepends=True):
            listed.update_from_stream_part(line)
            if (message := listed.flush_to_canonical()) is not None:
                stored.append(message)
        ours = to_ai_sdk_messages(stored, target=version)
        verdict = judge.ask("stream-text", v=int(version[1:]), messages=ours)
        assert verdict["ok"], (path.name, verdict["error"])
        recorded = path.with_name(path.name.replace(".fullstream.jsonl", ".result.json"))
        if recorded.exists() and isinstance(theirs := json.loads(recorded.read_text())["responseMessages"], list):
            told = json.dumps(theirs)
            lost = any(word in told for word in ("error-text", "providerExecuted")) or "clientTool" in path.name
            assert lost or ours == theirs, path.name
            same += ours == theirs
    assert same > 8


@given(said=parts_said)
def test_the_store_reads_back_what_the_list_made(said: list[list[Any]]) -> None:
    messages = [message for _, message in flushed([*START, *(part for group in said for part in group), *FINISH])]
    assert formats.convert(messages, "agent-store", "agent-store").data == messages
