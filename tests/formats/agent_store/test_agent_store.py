"""The agent store: what its messages mean, and what becomes of other formats' conversations in it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import Unreadable
from hansard.model import (
    Binding,
    Conversation,
    DataPart,
    FilePart,
    Message,
    RawPart,
    ReasoningPart,
    SourcePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hansard.model.calls import pending_calls

NAME = "agent-store"


def stored(*parts: Any, role: str = "assistant", kind: str = "text", **more: Any) -> dict[str, Any]:
    return {"role": role, "type": kind, "content": {"format": 2, "parts": list(parts)}, **more}


def invocation(state: str = "call", **more: Any) -> dict[str, Any]:
    return {
        "type": "tool-invocation",
        "toolCallId": "c1",
        "toolName": "search",
        "args": {"q": 1},
        "state": state,
        **more,
    }


def read(*records: Any) -> Conversation:
    return formats.read(list(records), NAME)


PARTS = [
    ({"type": "text", "text": "hi"}, TextPart(text="hi")),
    ({"type": "reasoning", "reasoning": "hm"}, ReasoningPart(text="hm")),
    ({"type": "file", "data": "aGk=", "mimeType": "image/png"}, FilePart(data="aGk=", media_type="image/png")),
    ({"type": "file", "data": "https://example.org/a"}, FilePart(url="https://example.org/a")),
    ({"type": "source", "id": "s", "url": "u", "title": "t"}, SourcePart(source_id="s", url="u", title="t")),
    ({"type": "data", "data": [1]}, DataPart(name="data", data=[1])),
    ({"type": "odd"}, RawPart(format=NAME, value={"type": "odd"})),
    ({"type": "text", "text": None}, RawPart(format=NAME, value={"type": "text", "text": None})),
    (invocation(), ToolCallPart(tool_call_id="c1", tool_name="search", input={"q": 1})),
]


@pytest.mark.parametrize(("block", "part"), PARTS)
def test_a_part_is_read_as_what_it_says(block: Any, part: Any) -> None:
    kind = "tool" if isinstance(part, ToolCallPart) else "text"
    conversation = read(stored(block, kind=kind))
    assert conversation == Conversation(messages=[Message(role="assistant", parts=[part])])


def test_an_invocation_with_its_result_is_a_call_and_a_tool_message() -> None:
    conversation = read(stored(invocation("result", result={"n": 3}), {"type": "text", "text": "3"}, kind="tool"))
    call, said = conversation.messages[0].parts
    assert call == ToolCallPart(tool_call_id="c1", tool_name="search", input={"q": 1})
    assert said == TextPart(text="3")
    result = ToolResultPart(tool_call_id="c1", tool_name="search", output={"n": 3}, is_error=False)
    assert conversation.messages[1] == Message(role="tool", parts=[result])
    assert pending_calls(conversation) == []


def test_calls_without_a_result_wait() -> None:
    conversation = read(stored(invocation("call"), invocation("partial-call", toolCallId="c2"), kind="tool"))
    assert [call.tool_call_id for _, call in pending_calls(conversation)] == ["c1", "c2"]


def test_a_call_and_its_result_are_folded_into_one_part() -> None:
    request = {
        "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "search", "input": {"q": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3"}]},
        ]
    }
    written = formats.convert(request, NAME, "anthropic")
    assert written.data[0]["content"]["parts"] == [
        {
            "type": "tool-invocation",
            "toolCallId": "c1",
            "toolName": "search",
            "args": {"q": 1},
            "result": "3",
            "state": "result",
        }
    ]
    assert [loss.path for loss in written.losses if ".$" not in loss.path] == []


def test_a_tool_message_with_an_id_stays_a_row() -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="search", input={})
    result = ToolResultPart(tool_call_id="c1", tool_name="search", output=1, is_error=False)
    conversation = Conversation(
        messages=[Message(role="assistant", parts=[call]), Message(role="tool", parts=[result], id="m2")]
    )
    written = formats.write(conversation, NAME)
    assert [record["role"] for record in written.data] == ["assistant", "tool"]
    assert written.losses == []


def test_a_provider_executed_result_is_folded_in_its_own_message() -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="search", input={}, provider_executed=True)
    result = ToolResultPart(tool_call_id="c1", tool_name="search", output=1, is_error=False, provider_executed=True)
    written = formats.write(Conversation(messages=[Message(role="assistant", parts=[call, result])]), NAME)
    assert [part["state"] for part in written.data[0]["content"]["parts"]] == ["result"]


SIGNED = [
    ("anthropic", "signature", {"signature": "sig"}),
    ("anthropic", "encrypted", {"redactedData": "sig"}),
    ("openai", "encrypted", {"reasoningEncryptedContent": "sig"}),
    ("google", "signature", {"thoughtSignature": "sig"}),
]


@pytest.mark.parametrize(("provider", "field", "metadata"), SIGNED)
def test_signatures_are_kept_under_their_provider(provider: str, field: str, metadata: dict[str, str]) -> None:
    block = {"type": "reasoning", "reasoning": "hm", "providerMetadata": {provider: metadata}}
    part = read(stored(block)).messages[0].parts[0]
    assert isinstance(part, ReasoningPart)
    assert isinstance(part.binding, Binding)
    assert (getattr(part, field), part.binding.provider, part.extra) == ("sig", provider, UNSET)
    foreign = ReasoningPart(text="hm", binding=Binding(provider=provider), **{field: "sig"})
    written = formats.write(Conversation(messages=[Message(role="assistant", parts=[foreign])]), NAME)
    assert written.data[0]["content"]["parts"] == [block]


def test_a_signed_thought_goes_back_to_its_provider_and_to_no_other() -> None:
    block = {"type": "reasoning", "reasoning": "hm", "providerMetadata": {"anthropic": {"signature": "sig"}}}
    document = [stored({"type": "text", "text": "hi"}, role="user"), stored(block, {"type": "text", "text": "yes"})]
    assert b"sig" in formats.convert(document, "anthropic", NAME).json
    for other in ("openai-chat", "gemini"):
        assert b"sig" not in formats.convert(document, other, NAME).json


def test_ids_and_times_are_left_out_rather_than_made_up() -> None:
    written = formats.write(Conversation(messages=[Message(role="user", parts=[TextPart(text="hi")])]), NAME)
    assert written.data == [stored({"type": "text", "text": "hi"}, role="user")]
    assert written.losses == []


def test_rows_of_the_table_are_read_like_messages() -> None:
    row = {"id": "m1", "thread_id": "t", **stored(role="user"), "created_at": "2026-01-02", "resource_id": "r"}
    conversation = read(row)
    message = conversation.messages[0]
    assert (conversation.id, conversation.resource_id) == ("t", "r")
    assert (message.id, message.created_at) == ("m1", "2026-01-02")
    assert formats.write(conversation, NAME).data == [row]


def test_the_thread_is_what_all_messages_name() -> None:
    one, other = stored(role="user", threadId="a"), stored(role="user", threadId="b")
    assert read(one, one).id == "a"
    assert read(one, other).id is UNSET
    assert formats.write(read(one, other), NAME).data == [one, other]


def test_a_thread_says_title_and_times() -> None:
    thread = {"id": "t", "title": "Chess", "createdAt": "2026-01-01", "metadata": {"a": 1}}
    conversation = formats.read({"thread": thread, "messages": [stored(role="user", threadId="t")]}, NAME)
    assert (conversation.id, conversation.title, conversation.created_at) == ("t", "Chess", "2026-01-01")
    assert conversation.extra is UNSET
    plain = Conversation(messages=[Message(role="user", parts=[TextPart(text="hi")])], id="t", title="Chess")
    assert formats.write(plain, NAME).losses == []


def test_the_type_follows_from_role_and_parts() -> None:
    records = [stored(role="user"), stored(invocation(), kind="tool"), stored(role="event", kind="event")]
    assert all(message.extra is UNSET for message in read(*records).messages)
    assert read(stored(kind="event")).messages[0].extra == {NAME: {"type": "event"}}


def test_an_edit_wins_over_content_kept_as_text() -> None:
    row = {"role": "user", "type": "text", "content": '{"format": 2, "parts": [{"type": "text", "text": "hi"}]}'}
    conversation = read(row)
    assert formats.write(conversation, NAME).data == [row]
    edited = replace(conversation, messages=[replace(conversation.messages[0], parts=[TextPart(text="ho")])])
    assert formats.write(edited, NAME).data[0]["content"] == '{"format":2,"parts":[{"type":"text","text":"ho"}]}'


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (17, "$"),
        ({"messages": {}}, "$.messages"),
        ([{"content": {}}], "$[0].role"),
        ({"messages": [stored(), {"role": "user"}]}, "$.messages[1].content"),
        ({"role": "user"}, "$.content"),
        (["x"], "$[0]"),
    ],
)
def test_what_is_no_document_of_the_store_is_refused_with_its_place(document: Any, path: str) -> None:
    with pytest.raises(Unreadable) as error:
        formats.read(document, NAME)
    assert error.value.path == path


def test_the_store_is_told_from_other_formats() -> None:
    sniff = formats.get(NAME).sniff
    assert sniff([stored()]) == sniff(stored()) == sniff({"messages": [stored()]}) == 3
    assert [sniff(other) for other in (b"", [], {}, [{"role": "user", "content": "hi"}], [1], None)] == [0] * 6
