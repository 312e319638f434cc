"""ModelMessages: how they are read, what is written for other formats' conversations, and the profiles."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import Unreadable
from hansard.model import (
    Binding,
    CompactionPart,
    Conversation,
    DataPart,
    FilePart,
    Message,
    Part,
    RawPart,
    ReasoningPart,
    RefusalPart,
    RetryPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.conftest import GOLDEN

NAME = "ai-sdk-model"


def bare(part: Any) -> Part:
    """The part without residue and without the digest of the words before it."""
    changes: dict[str, Any] = {"extra": UNSET}
    if getattr(part, "binding", UNSET) is not UNSET:
        changes["binding"] = replace(part.binding, prefix=UNSET)
    return replace(part, **changes)


def golden(case: str) -> Conversation:
    return formats.read((GOLDEN / NAME / f"{case}.json").read_bytes(), NAME)


def written(*messages: Message, profile: str | None = None) -> Any:
    return formats.write(Conversation(messages=list(messages)), NAME, target=profile).data


CALL = {"type": "tool-call", "toolCallId": "c1", "toolName": "rm", "input": {}}
RESULT = {"type": "tool-result", "toolCallId": "c1", "toolName": "rm"}
READ_CALL = ToolCallPart(tool_call_id="c1", tool_name="rm", input={})
READ_RESULT = ToolResultPart(tool_call_id="c1", tool_name="rm", is_error=False)
PARTS: list[tuple[str, dict[str, Any], Part]] = [
    ("user", {"type": "text", "text": "hi"}, TextPart(text="hi")),
    (
        "user",
        {"type": "file", "data": "aGk=", "mediaType": "image/png"},
        FilePart(data="aGk=", media_type="image/png"),
    ),
    (
        "user",
        {"type": "file", "data": "https://example.org/a", "mediaType": "image/png"},
        FilePart(url="https://example.org/a", media_type="image/png"),
    ),
    (
        "user",
        {"type": "file", "data": "data:image/png;base64,aGk=", "mediaType": "image/png"},
        FilePart(data="aGk=", media_type="image/png"),
    ),
    *(
        (
            "user",
            {"type": "file", "data": {"type": kind, kind: "https://example.org/a"}, "mediaType": "image/png"},
            FilePart(**{kind: "https://example.org/a"}, media_type="image/png"),
        )
        for kind in ("data", "url")
    ),
    (
        "user",
        {"type": "image", "image": "https://example.org/a"},
        FilePart(url="https://example.org/a", media_type="image/*"),
    ),
    (
        "user",
        {
            "type": "file",
            "data": {"type": "reference", "reference": {"openai": "file-1"}},
            "mediaType": "a/b",
        },
        FilePart(file_id="file-1", media_type="a/b", binding=Binding(provider="openai")),
    ),
    (
        "assistant",
        {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "EqQB"}}},
        ReasoningPart(text="hm", signature="EqQB", binding=Binding(provider="anthropic")),
    ),
    (
        "assistant",
        {"type": "reasoning", "text": "", "providerOptions": {"openai": {"itemId": "rs_1"}}},
        ReasoningPart(text="", id="rs_1"),
    ),
    ("assistant", CALL, READ_CALL),
    (
        "assistant",
        {**CALL, "providerOptions": {"google": {"thoughtSignature": "Ci"}}},
        replace(READ_CALL, signature="Ci", binding=Binding(provider="google")),
    ),
    (
        "assistant",
        {**RESULT, "output": {"type": "text", "value": "x"}},
        replace(READ_RESULT, output="x", provider_executed=True),
    ),
    ("tool", {**RESULT, "output": {"type": "text", "value": "x"}}, replace(READ_RESULT, output="x")),
    ("tool", {**RESULT, "output": {"type": "json", "value": {"n": 1}}}, replace(READ_RESULT, output={"n": 1})),
    (
        "tool",
        {**RESULT, "output": {"type": "error-text", "value": "x"}},
        replace(READ_RESULT, output="x", is_error=True),
    ),
    (
        "tool",
        {**RESULT, "output": {"type": "execution-denied", "reason": "no"}},
        replace(READ_RESULT, output="no", is_error=True, status="denied"),
    ),
    (
        "tool",
        {**RESULT, "output": {"type": "content", "value": [{"type": "text", "text": "x"}]}},
        replace(READ_RESULT, content=[TextPart(text="x")]),
    ),
    ("assistant", {"type": "custom", "kind": "a.b"}, RawPart(format=NAME, value={"type": "custom", "kind": "a.b"})),
]


@pytest.mark.parametrize(("role", "part", "expected"), PARTS, ids=lambda value: str(value)[:50])
def test_a_part_is_read_as(role: str, part: dict[str, Any], expected: Part) -> None:
    read = formats.read([{"role": role, "content": [part]}], NAME)
    assert [bare(one) for one in read.messages[0].parts] == [expected]


def test_an_approval_belongs_to_its_call() -> None:
    messages = golden("approvals").messages
    first, second = messages[0].parts
    assert isinstance(first, ToolCallPart)
    assert isinstance(second, ToolCallPart)
    assert first.approval == {"id": "ap1", "signature": "hmac", "approved": True}
    assert second.approval == {
        "id": "ap2",
        "requestReason": "it deletes",
        "isAutomatic": False,
        "approved": False,
        "reason": "no",
    }
    assert [type(part) for part in messages[1].parts] == [ToolResultPart, ToolResultPart]


def test_the_approvals_of_a_client_reach_the_model() -> None:
    client = {
        "id": "a1",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {
                "type": "tool-rm",
                "toolCallId": "c1",
                "state": "approval-responded",
                "input": {},
                "approval": {"id": "ap", "approved": True, "reason": "fine"},
            },
        ],
    }
    assert formats.convert([client], NAME, "ai-sdk-ui").data == [
        {
            "role": "assistant",
            "content": [CALL, {"type": "tool-approval-request", "approvalId": "ap", "toolCallId": "c1"}],
        },
        {
            "role": "tool",
            "content": [{"type": "tool-approval-response", "approvalId": "ap", "approved": True, "reason": "fine"}],
        },
    ]


def test_signatures_go_into_the_options_of_their_provider() -> None:
    parts: list[Any] = [
        ReasoningPart(text="a", signature="s1", binding=Binding(provider="anthropic", model="claude")),
        ReasoningPart(text="", encrypted="e1", binding=Binding(provider="anthropic")),
        ReasoningPart(text="b", encrypted="e2", id="rs_1", binding=Binding(provider="openai")),
        ReasoningPart(text="c", signature="s3", binding=Binding(provider="nobody")),
        ToolCallPart(tool_call_id="c1", tool_name="rm", input={}, signature="s4", binding=Binding(provider="google")),
    ]
    (record,) = written(Message(role="assistant", parts=parts))
    assert [part.get("providerOptions") for part in record["content"]] == [
        {"anthropic": {"signature": "s1"}},
        {"anthropic": {"redactedData": "e1"}},
        {"openai": {"reasoningEncryptedContent": "e2", "itemId": "rs_1"}},
        None,
        {"google": {"thoughtSignature": "s4"}},
    ]


def test_thinking_goes_from_anthropic_to_the_sdk_and_back() -> None:
    request = {
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "EqQB"},
                    {"type": "tool_use", "id": "c1", "name": "rm", "input": {}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "gone"}]},
        ]
    }
    there = formats.convert(request, NAME, "anthropic")
    assert there.losses == []
    assert formats.convert(there.data, "anthropic", NAME).data == request


def test_files_are_written_in_the_one_form_that_all_versions_read() -> None:
    parts: list[Any] = [
        FilePart(media_type="image/png", data="aGk="),
        FilePart(media_type="image/png", url="https://example.org/a.png"),
        FilePart(media_type="image/png", file_id="file-1"),
        DataPart(name="chart", data=1),
    ]
    (record,) = written(Message(role="user", parts=parts))
    assert [part["data"] for part in record["content"]] == ["aGk=", "https://example.org/a.png"]


def test_results_with_files_are_what_each_version_knows() -> None:
    image = FilePart(media_type="image/png", data="aGk=")
    page = FilePart(media_type="application/pdf", url="https://example.org/a.pdf")
    result = Message(role="tool", parts=[replace(READ_RESULT, content=[TextPart(text="see"), image, page])])
    kinds = {
        profile: [item["type"] for item in written(result, profile=profile)[0]["content"][0]["output"]["value"]]
        for profile in ("v5", "v6", "v7")
    }
    assert kinds == {
        "v5": ["text", "media"],
        "v6": ["text", "image-data", "file-url"],
        "v7": ["text", "image-data", "file-url"],
    }


def test_a_system_prompt_of_several_parts_is_one_text_and_developers_are_the_system() -> None:
    parts: list[Any] = [TextPart(text="Be kind."), TextPart(text="Be brief.")]
    assert written(Message(role="system", parts=parts), Message(role="developer", parts=parts[:1])) == [
        {"role": "system", "content": "Be kind.\n\nBe brief."},
        {"role": "system", "content": "Be kind."},
    ]


def test_version_5_has_no_approvals() -> None:
    for record in formats.write(golden("approvals"), NAME, target="v5").data:
        assert not any("approval" in part["type"] for part in record["content"])


def test_what_was_asked_again_is_a_failed_result() -> None:
    call = Message(role="assistant", parts=[READ_CALL])
    retry = Message(role="tool", parts=[RetryPart(tool_call_id="c1", content="wrong")])
    assert written(call, retry)[1]["content"] == [{**RESULT, "output": {"type": "error-text", "value": "wrong"}}]


def test_a_plain_conversation_comes_back_the_same() -> None:
    conversation = Conversation(
        messages=[
            Message(role="system", parts=[TextPart(text="Be kind.")]),
            Message(role="user", parts=[TextPart(text="hi")]),
            Message(role="assistant", parts=[ReasoningPart(text="hm"), READ_CALL]),
            Message(role="tool", parts=[replace(READ_RESULT, output={"n": 1.0})]),
        ]
    )
    assert formats.write(conversation, NAME).losses == []


NOT_DOCUMENTS: list[tuple[Any, str]] = [
    (5, "$"),
    ({"a": 1}, "$.messages"),
    ([5], "$[0]"),
    ([{"content": "x"}], "$[0].role"),
    ({"messages": [{"role": "user"}]}, "$.messages[0].content"),
]


@pytest.mark.parametrize(("document", "path"), NOT_DOCUMENTS)
def test_what_is_no_document_is_refused_with_its_place(document: Any, path: str) -> None:
    with pytest.raises(Unreadable) as error:
        formats.read(document, NAME)
    assert error.value.path == path


@pytest.mark.parametrize("case", ["reasoning_and_tools", "results", "files", "approvals", "exact_numbers"])
def test_golden_files_are_recognised(case: str) -> None:
    assert formats.detect((GOLDEN / NAME / f"{case}.json").read_bytes()) == NAME


@pytest.mark.parametrize(
    ("role", "part"),
    [
        ("assistant", RefusalPart(text="I will not.")),
        ("assistant", CompactionPart(text="I will not.")),
        ("user", RetryPart(content="I will not.")),
    ],
    ids=lambda one: getattr(one, "type", one),
)
def test_what_the_model_has_to_know_but_the_format_has_no_part_for_is_sent_as_text(role: Any, part: Any) -> None:
    """A refusal, a summary of what was before, a prompt to try again: without it the model answers something else."""
    asked = Message(role="user", parts=[TextPart(text="Go on")])
    written = formats.write(Conversation(messages=[asked, Message(role=role, parts=[part])]), "ai-sdk-model")
    assert written.data[-1] == {"role": role, "content": [{"type": "text", "text": "I will not."}]}
