"""UIMessages: how they are read, what a client is shown of other formats' conversations, and the profiles."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import CannotWrite, Unreadable
from hansard.model import (
    Binding,
    CompactionPart,
    Conversation,
    DataPart,
    FilePart,
    Message,
    ModelRef,
    Part,
    RawPart,
    ReasoningPart,
    RefusalPart,
    RetryPart,
    SourcePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from tests.conftest import GOLDEN

NAME = "ai-sdk-ui"


def bare(part: Any) -> Part:
    """The part without residue."""
    return replace(part, extra=UNSET)


def answer(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "a1", "role": "assistant", "parts": [{"type": "step-start"}, *parts]}]


def golden(case: str) -> Conversation:
    return formats.read((GOLDEN / NAME / f"{case}.json").read_bytes(), NAME)


def shown(*messages: Message, profile: str | None = None) -> Any:
    return formats.write(Conversation(messages=list(messages)), NAME, target=profile).data


TOOL = {"type": "tool-rm", "toolCallId": "c1", "input": {"p": 1}}
CALL = ToolCallPart(tool_call_id="c1", tool_name="rm", input={"p": 1})
RESULT = ToolResultPart(tool_call_id="c1", tool_name="rm", is_error=False)
PARTS = [
    ({"type": "text", "text": "hi", "state": "done"}, [TextPart(text="hi")]),
    ({"type": "reasoning", "text": "hm", "state": "done"}, [ReasoningPart(text="hm")]),
    (
        {"type": "reasoning", "text": "hm", "providerMetadata": {"anthropic": {"signature": "EqQB"}}},
        [ReasoningPart(text="hm", signature="EqQB", binding=Binding(provider="anthropic"))],
    ),
    (
        {"type": "reasoning", "text": "", "providerMetadata": {"bedrock": {"redactedData": "c2Vj"}}},
        [ReasoningPart(text="", encrypted="c2Vj", binding=Binding(provider="anthropic", transport="bedrock"))],
    ),
    (
        {
            "type": "reasoning",
            "id": "r1",
            "text": "hm",
            "providerMetadata": {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "enc"}},
        },
        [ReasoningPart(text="hm", id="rs_1", encrypted="enc", binding=Binding(provider="openai"))],
    ),
    (
        {"type": "text", "text": "hi", "providerMetadata": {"google": {"thoughtSignature": "Ab"}}},
        [TextPart(text="hi", signature="Ab", binding=Binding(provider="google"))],
    ),
    (
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk=", "filename": "a.png"},
        [FilePart(media_type="image/png", data="aGk=", name="a.png")],
    ),
    (
        {"type": "file", "mediaType": "image/png", "url": "data:image/jpeg;base64,aGk="},
        [FilePart(media_type="image/png", url="data:image/jpeg;base64,aGk=")],
    ),
    (
        {"type": "file", "mediaType": "image/png", "url": "", "providerReference": {"openai": "file-1"}},
        [FilePart(media_type="image/png", file_id="file-1", binding=Binding(provider="openai"))],
    ),
    (
        {"type": "source-url", "sourceId": "s", "url": "https://example.org", "title": "T"},
        [SourcePart(source_id="s", url="https://example.org", title="T")],
    ),
    (
        {"type": "source-document", "sourceId": "s", "mediaType": "text/plain", "title": "T", "filename": "a"},
        [SourcePart(source_id="s", media_type="text/plain", title="T", name="a")],
    ),
    ({"type": "data-chart", "id": "d", "data": [1]}, [DataPart(name="chart", id="d", data=[1])]),
    ({"type": "custom", "kind": "a.b"}, [RawPart(format=NAME, value={"type": "custom", "kind": "a.b"})]),
    ({**TOOL, "state": "input-available"}, [CALL]),
    ({**TOOL, "type": "tool-my-tool-x", "state": "input-available"}, [replace(CALL, tool_name="my-tool-x")]),
    (
        {**TOOL, "type": "dynamic-tool", "toolName": "rm", "state": "output-available", "output": None},
        [CALL, replace(RESULT, output=None)],
    ),
    (
        {**TOOL, "state": "output-available", "output": "x", "preliminary": True},
        [CALL, replace(RESULT, output="x", preliminary=True)],
    ),
    (
        {**TOOL, "state": "output-error", "errorText": "broken"},
        [CALL, replace(RESULT, output="broken", is_error=True)],
    ),
    (
        {
            "type": "tool-rm",
            "toolCallId": "c1",
            "state": "output-error",
            "rawInput": "{bad",
            "errorText": "not JSON",
        },
        [replace(CALL, input=UNSET, input_text="{bad"), replace(RESULT, output="not JSON", is_error=True)],
    ),
    (
        {**TOOL, "state": "input-streaming", "rawInput": '{"p": 1'},
        [replace(CALL, input_text='{"p": 1', state="partial")],
    ),
    (
        {**TOOL, "state": "approval-requested", "approval": {"id": "ap"}},
        [replace(CALL, approval={"id": "ap"})],
    ),
    (
        {**TOOL, "state": "output-denied", "approval": {"id": "ap", "approved": False, "reason": "no"}},
        [
            replace(CALL, approval={"id": "ap", "approved": False, "reason": "no"}),
            replace(RESULT, output="no", is_error=True, status="denied"),
        ],
    ),
    (
        {**TOOL, "state": "output-available", "output": 1, "providerExecuted": True},
        [replace(CALL, provider_executed=True), replace(RESULT, output=1, provider_executed=True)],
    ),
]


@pytest.mark.parametrize(("part", "expected"), PARTS, ids=lambda value: str(value)[:60])
def test_a_part_is_read_as(part: dict[str, Any], expected: list[Part]) -> None:
    read = formats.read(answer(part), NAME)
    assert [bare(one) for message in read.messages for one in message.parts] == expected


def test_the_usual_answer_has_no_residue() -> None:
    parts = [
        {"type": "reasoning", "text": "hm", "state": "done"},
        {"type": "text", "text": "hi", "state": "done"},
        {**TOOL, "state": "output-available", "output": {"n": 1}},
        {"type": "step-start"},
        {"type": "text", "text": "done", "state": "done"},
    ]
    read = formats.read(answer(*parts), NAME)
    assert read.extra is UNSET
    assert [message.role for message in read.messages] == ["assistant", "tool", "assistant"]
    assert [message.id for message in read.messages] == ["a1", UNSET, UNSET]
    assert all(node.extra is UNSET for message in read.messages for node in (message, *message.parts))


def test_what_a_provider_ran_stays_in_the_answer() -> None:
    read = formats.read(answer({**TOOL, "state": "output-available", "output": 1, "providerExecuted": True}), NAME)
    assert [message.role for message in read.messages] == ["assistant"]


def test_what_the_user_said_in_the_middle_of_an_answer_is_a_user_message() -> None:
    roles = [(message.role, message.id) for message in golden("version_7_parts").messages]
    assert roles[-3:] == [("assistant", UNSET), ("user", "s9"), ("assistant", UNSET)]


def test_version_4_is_read_with_what_its_official_migration_loses() -> None:
    user, first, tool, second = golden("version_4").messages[:4]
    assert user.created_at == "2025-01-01T00:00:00Z"
    assert [bare(part) for part in user.parts] == [
        TextPart(text="Look at this"),
        FilePart(media_type="image/png", data="aGk=", name="a.png"),
        FilePart(url="https://example.org/b.pdf"),
    ]
    assert [bare(part) for part in first.parts] == [
        ReasoningPart(text="Need the tool.", signature="EqQB", binding=Binding(provider="anthropic")),
        ReasoningPart(text="", encrypted="c2Vj", binding=Binding(provider="anthropic")),
        ToolCallPart(tool_call_id="c1", tool_name="weather", input={"city": "Tokyo"}),
    ]
    assert bare(tool.parts[0]) == ToolResultPart(
        tool_call_id="c1", tool_name="weather", output={"celsius": 18}, is_error=False
    )
    assert [type(part) for part in second.parts] == [SourcePart, FilePart, TextPart]


def test_version_4_is_written_as_version_6_for_that_profile() -> None:
    records = formats.write(golden("version_4"), NAME, target="v6").data
    assert [record["role"] for record in records] == ["user", "assistant", "assistant"]
    kinds = [part["type"] for part in records[1]["parts"]]
    assert kinds == ["step-start", "reasoning", "tool-weather", "step-start", "source-url", "file", "text"]
    assert {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="} in records[1]["parts"]


# -- other formats' conversations -----------------------------------------------------------------------------------

SECRET = Binding(provider="anthropic", model="claude", prefix="0" * 32)
SERVER_SIDE = [
    Message(role="system", parts=[TextPart(text="secret prompt")]),
    Message(role="developer", parts=[TextPart(text="secret prompt")]),
    Message(role="user", id="u1", parts=[TextPart(text="hi")], metadata={"cost": "secret"}, run_id="secret-run"),
    Message(
        role="assistant",
        id="a1",
        model=ModelRef(provider="anthropic", name="secret-model", response_id="secret-id"),
        usage=Usage(input_tokens=77777),
        agent_id="secret-agent",
        extra={"anthropic": {"container": "secret"}},
        parts=[
            ReasoningPart(text="thinking", signature="secret-sig", binding=SECRET),
            ReasoningPart(text="", encrypted="secret-cipher", binding=SECRET, id="secret-item"),
            TextPart(text="Looking.", extra={"anthropic": {"citations": ["secret"]}}),
            RawPart(format="anthropic", value={"type": "secret"}),
            CompactionPart(text="secret summary"),
            ToolCallPart(tool_call_id="s1", tool_name="web_search", input={"q": 1}, provider_executed=True),
            ToolResultPart(
                tool_call_id="s1",
                output=[{"url": "https://example.org", "encrypted_content": "secret"}],
                is_error=False,
                provider_executed=True,
            ),
            ToolCallPart(tool_call_id="c1", tool_name="rm", input={}, signature="secret-sig", binding=SECRET),
        ],
    ),
    Message(role="tool", id="t1", parts=[ToolResultPart(tool_call_id="c1", output="gone", is_error=False)]),
    Message(role="assistant", id="a2", parts=[TextPart(text="Done.")]),
    Message(role="event", parts=[DataPart(name="secret", data="secret")]),
]


@pytest.mark.parametrize("profile", [None, "v5", "v6", "v7"])
def test_a_client_is_shown_an_answer_as_the_sdk_would_have_streamed_it(profile: str | None) -> None:
    records = shown(*SERVER_SIDE, profile=profile)
    assert records == [
        {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {
            "id": "a1",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "thinking", "state": "done"},
                {"type": "text", "text": "Looking.", "state": "done"},
                {
                    "type": "tool-web_search",
                    "toolCallId": "s1",
                    "state": "output-available",
                    "input": {"q": 1},
                    "providerExecuted": True,
                    "output": [{"url": "https://example.org"}],
                },
                {
                    "type": "tool-rm",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": {},
                    "output": "gone",
                },
                {"type": "step-start"},
                {"type": "text", "text": "Done.", "state": "done"},
            ],
        },
    ]


def test_nothing_of_the_server_is_on_the_wire() -> None:
    assert b"secret" not in formats.write(Conversation(messages=SERVER_SIDE), NAME).json
    assert b"77777" not in formats.write(Conversation(messages=SERVER_SIDE), NAME).json


def test_a_message_without_an_id_gets_one_that_reads_as_none() -> None:
    hello = Conversation(messages=[Message(role="user", parts=[TextPart(text="hi")])])
    written = formats.write(hello, NAME)
    assert written.data[0]["id"] == "hansard-1"
    assert written.losses == []


def test_a_plain_conversation_with_tools_comes_back_the_same() -> None:
    conversation = Conversation(
        messages=[
            Message(role="user", parts=[TextPart(text="hi")]),
            Message(role="assistant", parts=[ReasoningPart(text="hm"), TextPart(text="Looking."), CALL]),
            Message(role="tool", parts=[replace(RESULT, output={"n": 1.0})]),
            Message(role="assistant", parts=[TextPart(text="Done.")]),
            Message(role="user", parts=[TextPart(text="thanks")]),
        ]
    )
    written = formats.write(conversation, NAME)
    assert written.losses == []
    assert formats.read(written.json, NAME) == conversation


def test_an_asked_again_call_is_shown_as_an_error() -> None:
    retry = Message(role="tool", parts=[RetryPart(tool_call_id="c1", content="wrong city")])
    (record,) = shown(Message(role="assistant", id="a", parts=[CALL]), retry)
    assert record["parts"][1]["state"] == "output-error"
    assert record["parts"][1]["errorText"] == "wrong city"


def test_a_refusal_is_shown_as_text() -> None:
    (record,) = shown(Message(role="assistant", id="a", parts=[RefusalPart(text="No.")]))
    assert record["parts"][1] == {"type": "text", "text": "No.", "state": "done"}


def test_a_late_result_is_shown_where_its_call_is() -> None:
    late = Message(role="tool", parts=[replace(RESULT, output="late")])
    user = Message(role="user", id="u", parts=[TextPart(text="well?")])
    records = shown(Message(role="assistant", id="a", parts=[CALL]), user, late)
    assert [record["id"] for record in records] == ["a", "u"]
    assert records[0]["parts"][1]["output"] == "late"


def test_a_result_without_a_call_and_a_user_who_says_nothing_are_not_shown() -> None:
    orphan = Message(role="tool", parts=[replace(RESULT, output="x")])
    assert shown(orphan, Message(role="user", parts=[]), Message(role="user", parts=[CompactionPart(text="x")])) == []


def test_keys_that_javascript_refuses_are_left_out() -> None:
    call = replace(CALL, input={"a": [{"__proto__": 1, "b": 2}]})
    (record,) = shown(Message(role="assistant", id="a", parts=[call]))
    assert record["parts"][1]["input"] == {"a": [{"b": 2}]}


def test_absent_inputs_and_outputs_are_written_all_the_same() -> None:
    call, result = replace(CALL, input=UNSET), replace(RESULT, output=UNSET)
    (record,) = shown(Message(role="assistant", id="a", parts=[call]), Message(role="tool", parts=[result]))
    assert record["parts"][1]["input"] == {}
    assert record["parts"][1]["output"] is None


def test_signatures_that_came_from_a_client_go_back_to_it_and_to_their_provider() -> None:
    conversation = golden("tool_steps")
    request = formats.write(conversation, "anthropic").data
    assert {"type": "thinking", "thinking": "Two cities.", "signature": "EqQB"} in request["messages"][1]["content"]
    with_system = replace(
        conversation, messages=[Message(role="system", parts=[TextPart(text="Be kind.")]), *conversation.messages]
    )
    kinds = [block["type"] for block in formats.write(with_system, "anthropic").data["messages"][1]["content"]]
    assert kinds[:2] == ["thinking", "redacted_thinking"], "a system prompt is never in a client's document"


# -- profiles -------------------------------------------------------------------------------------------------------


def states(profile: str) -> dict[str, dict[str, Any]]:
    (record,) = formats.write(golden("tool_states"), NAME, target=profile).data
    return {part["toolCallId"]: part for part in record["parts"] if "toolCallId" in part}


def test_version_5_has_no_approvals() -> None:
    parts = states("v5")
    assert {key: parts[key]["state"] for key in ("c3", "c4", "c5", "c6", "c7")} == {
        "c3": "input-available",
        "c4": "input-available",
        "c5": "output-available",
        "c6": "output-error",
        "c7": "output-error",
    }
    assert parts["c6"]["errorText"] == "too risky"
    assert not any(key in part for part in parts.values() for key in ("approval", "title", "toolMetadata"))


def test_version_6_has_approvals_and_a_denial_says_so() -> None:
    parts = states("v6")
    assert parts["c3"]["approval"] == {"id": "ap3", "signature": "hmac"}
    assert parts["c7"]["approval"] == {"id": "ap7", "approved": False}
    assert parts["c2"]["title"] == "Search"


def test_parts_of_version_7_are_left_out_for_the_older_ones() -> None:
    for profile in ("v5", "v6"):
        records = formats.write(golden("version_7_parts"), NAME, target=profile).data
        assert [record["role"] for record in records] == ["user", "assistant", "user", "assistant"]
        assert records[2]["id"] == "s9", "what the user said is a message of its own there"
        text = next(part for part in records[1]["parts"] if part["type"] == "text")
        assert text == {"type": "text", "text": "One.", "state": "done"}
    newest = formats.write(golden("version_7_parts"), NAME, target="v7").data
    assert newest == formats.write(golden("version_7_parts"), NAME).data


def test_an_unknown_profile_is_refused_by_name() -> None:
    with pytest.raises(CannotWrite, match="v5, v6, v7"):
        formats.write(golden("plain"), NAME, target="v8")


# -- documents ------------------------------------------------------------------------------------------------------

NOT_DOCUMENTS: list[tuple[Any, str]] = [
    (5, "$"),
    ({"a": 1}, "$.messages"),
    ([5], "$[0]"),
    ([{"parts": []}], "$[0].role"),
    ({"messages": [{"role": "user"}]}, "$.messages[0].parts"),
    ({"message": {"role": "user"}}, "$.message.parts"),
]


@pytest.mark.parametrize(("document", "path"), NOT_DOCUMENTS)
def test_what_is_no_document_is_refused_with_its_place(document: Any, path: str) -> None:
    with pytest.raises(Unreadable) as error:
        formats.read(document, NAME)
    assert error.value.path == path


@pytest.mark.parametrize("path", sorted((GOLDEN / NAME).glob("*.json")), ids=lambda path: path.stem)
def test_golden_files_are_recognised(path: Any) -> None:
    if path.stem != "unknown_things":
        assert formats.detect(path.read_bytes()) == NAME


def test_the_chat_id_is_the_conversation() -> None:
    assert golden("request_body").id == "chat-1"
    assert golden("request_with_the_last_message").id == "chat-1"


def test_the_input_of_a_call_that_was_refused_is_its_input() -> None:
    conversation = formats.read((GOLDEN / NAME / "a_call_that_was_refused.json").read_bytes(), NAME)
    calls = [part for message in conversation.messages for part in message.parts if type(part) is ToolCallPart]
    assert [(call.input, call.input_text) for call in calls] == [({"person": "Joe"}, UNSET), (UNSET, '{"person":')]
