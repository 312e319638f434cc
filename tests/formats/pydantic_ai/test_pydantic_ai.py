"""Pydantic AI histories: what they mean, and what the real library says to what we write."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
)

from hansard import formats
from hansard.errors import Unreadable
from hansard.model import Conversation, Message, RetryPart, ToolResultPart, exact_json, native
from hansard.model import TextPart as Text
from tests.conftest import GOLDEN

NAME = "pydantic-ai"


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / NAME / f"{name}.json").read_bytes(), NAME)


# -- what a history means ------------------------------------------------------------------------------------------


def test_a_plain_history_has_neither_residue_nor_marks() -> None:
    conversation = golden("plain")
    assert native.plain(conversation) == {
        "messages": [
            {"role": "system", "parts": [{"type": "text", "text": "Be kind."}], "createdAt": "2026-03-01T09:00:00Z"},
            {"role": "user", "parts": [{"type": "text", "text": "Hello"}], "createdAt": "2026-03-01T09:00:00Z"},
            {
                "role": "assistant",
                "parts": [{"type": "text", "text": "Hi, how can I help?"}],
                "createdAt": "2026-03-01T09:00:01Z",
                "model": {"provider": "anthropic", "name": "claude-sonnet-4-5", "responseId": "msg_1"},
                "usage": {"inputTokens": 12, "outputTokens": 6},
                "finishReason": "stop",
            },
        ]
    }


def test_a_request_with_results_and_a_prompt_is_two_messages() -> None:
    messages = golden("parallel_tools").messages
    assert [message.role for message in messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert {message.run_id for message in messages} == {"run-1"}
    assert golden("parallel_tools").id == "conv-1"


def test_arguments_are_data_and_their_spelling_is_kept() -> None:
    calls: Any = golden("parallel_tools").messages[1].parts[1:]
    seen = [(call.input, call.input_text) for call in calls]
    assert seen == [
        ({"city": "Tokyo"}, UNSET),
        ({"city": "Paris"}, '{"city": "Paris"}'),
        ({"city": "Oslo"}, UNSET),
        (UNSET, UNSET),
        (UNSET, UNSET),
        (UNSET, '{"broken'),
    ]


def test_outcomes_say_whether_it_failed_and_how() -> None:
    results = golden("parallel_tools").messages[2].parts
    assert [(part.is_error, part.status) for part in results] == [  # type: ignore[union-attr]
        (False, UNSET),
        (False, UNSET),
        (True, "denied"),
        (True, UNSET),
        (True, "interrupted"),
        (True, "retried"),
    ]


@pytest.mark.parametrize(
    ("at", "provider", "transport", "signature", "encrypted"),
    [
        ((1, 0), "anthropic", UNSET, "EqQBsig==", UNSET),
        ((1, 1), "anthropic", UNSET, UNSET, "cipher"),
        ((3, 0), "openai", UNSET, UNSET, "gAAAA"),
        ((5, 0), "google", "google-gla", "Q0c=", UNSET),
        ((5, 2), "google", "google-gla", "T0xE", UNSET),
    ],
)
def test_thinking_is_bound_to_its_provider(
    at: tuple[int, int], provider: str, transport: Any, signature: Any, encrypted: Any
) -> None:
    part: Any = golden("thinking_of_four_providers").messages[at[0]].parts[at[1]]
    assert (part.signature, part.encrypted) == (signature, encrypted)
    assert (part.binding.provider, part.binding.transport) == (provider, transport)
    assert len(part.binding.prefix) == 32


def test_a_signature_of_a_call_is_that_of_gemini() -> None:
    messages = golden("thinking_of_four_providers").messages
    call, text = messages[5].parts[1], messages[7].parts[2]
    assert (call.signature, call.binding.provider, call.extra[NAME]) == (
        "QUI=",
        "google",
        {"provider_details": {"more": 1}},
    )  # type: ignore[union-attr]
    assert (text.signature, text.binding.transport) == ("Qg==", "google-vertex")  # type: ignore[union-attr]


def test_files_are_files_and_their_usual_identifiers_no_residue() -> None:
    parts: Any = golden("files_and_content").messages[0].parts
    image, sound, _, paper, pdf, _, bytes_, named, uploaded, bucket = parts[1:11]
    assert (image.url, image.media_type) == ("https://example.org/a.png", "image/png")
    assert image.extra == {NAME: {"vendor_metadata": {"detail": "high"}, "identifier": "img-a"}}
    assert sound.extra is UNSET
    assert (paper.media_type, paper.extra) == (UNSET, {NAME: {"$": {"kind": "document-url"}}})
    assert pdf.extra == {NAME: {"force_download": True}}
    assert (bytes_.data, bytes_.extra) == ("9vf4+fr7/P3+/w==", UNSET)
    assert named.extra == {NAME: {"identifier": "doc-7"}}
    assert (uploaded.file_id, uploaded.binding.provider, uploaded.extra) == ("file-1", "openai", UNSET)
    assert (bucket.binding.provider, bucket.binding.transport) == ("google", "google-vertex")
    assert [part.text for part in parts if type(part) is Text] == [
        "Look",
        "caption",
        "bare",
        "end",
        "one item",
        "a second prompt",
    ]


def test_a_result_with_files_is_parts_and_data_beside_them_the_text_of_its_json() -> None:
    results: Any = golden("tool_results_with_files").messages[1].parts
    assert [native.plain(part)["type"] for part in results[0].content] == ["text", "text", "file", "file", "file"]
    assert results[0].content[0].text == '{"page":1}'
    assert results[1].content[0].url == "https://example.org/p.png"
    assert results[2].output["deep"]["kind"] == "image-url"
    assert results[3].output[0]["identifier"] == "not a file"
    assert results[0].extra is UNSET


def test_a_retry_that_answers_a_call_is_its_result() -> None:
    result, *retries = [part for message in golden("retries_old_and_new").messages[2:4] for part in message.parts]
    assert type(result) is ToolResultPart
    assert (result.tool_call_id, result.status, result.is_error) == ("c1", "retried", True)
    assert [type(part) for part in retries] == [RetryPart] * 3
    assert [message.role for message in golden("retries_old_and_new").messages] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]


def test_server_tools_are_run_by_the_provider() -> None:
    parts: Any = golden("server_tools_and_compaction").messages[1].parts
    assert [part.provider_executed for part in parts[:4]] == [True] * 4
    assert (parts[3].is_error, parts[3].output) == (True, {"stderr": "boom"})
    assert (parts[4].encrypted, parts[4].binding.provider) == ("gAAA", "openai")
    usage: Any = golden("server_tools_and_compaction").messages[1].usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.reasoning_tokens) == (100, 64, 9)
    assert usage.extra == {
        NAME: {"cache_write_1h_tokens": 10, "audio_seconds": 1.5, "details": {"x": 1}, "cost": "0.00123"}
    }


def test_instructions_stay_with_their_message() -> None:
    conversation = golden("instructions_states_and_ids")
    assert conversation.messages[0].extra == {NAME: {"instructions": "Be terse."}}
    assert [message.state for message in conversation.messages] == [
        UNSET,
        "partial",
        UNSET,
        UNSET,
        "interrupted",
        "suspended",
    ]
    assert [message.role for message in conversation.messages[2:4]] == ["system", "user"]


def test_the_release_is_told_once_and_not_at_every_part() -> None:
    conversation = golden("release_2_62")
    assert conversation.extra == {NAME: {"$": {"profile": "2.62"}}}
    assert all(message.extra is UNSET for message in conversation.messages)
    assert all(part.extra is UNSET for message in conversation.messages for part in message.parts)


def test_tokens_of_old_releases_are_tokens() -> None:
    usage: Any = golden("older_sparse").messages[2].usage
    assert (usage.input_tokens, usage.output_tokens) == (3, 4)


def test_a_message_of_an_unknown_kind_is_an_event() -> None:
    events = [message for message in golden("unknown_things").messages if message.role == "event"]
    assert [part.value["to"] for message in events for part in message.parts] == [["all"]]  # type: ignore[union-attr]


# -- errors and detection ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"messages": []}, "$"),
        ("hello", "$"),
        ([1], "$[0]"),
        ([{"parts": []}], "$[0].kind"),
        ([{"kind": "request", "parts": []}, {"kind": "response"}], "$[1].parts"),
    ],
)
def test_what_is_no_history_is_refused_with_the_place(document: Any, path: str) -> None:
    with pytest.raises(Unreadable) as caught:
        formats.read(exact_json.encode(document), NAME)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "value", [None, 1, "x", b"x", [], {}, [1], [{}], [{"kind": []}], [{"kind": "request", "parts": 1}]]
)
def test_other_things_do_not_fit(value: Any) -> None:
    assert formats.get(NAME).sniff(value) == 0


# -- what others said ----------------------------------------------------------------------------------------------


def test_a_call_without_an_id_finds_its_result() -> None:
    from hansard.model import ToolCallPart as Call

    call, result = Call(tool_name="f", input={}), ToolResultPart(tool_name="f", output=1)
    messages = [Message(role="assistant", parts=[call]), Message(role="tool", parts=[result])]
    asked, answered = formats.write(Conversation(messages=messages), NAME).data
    assert asked["parts"][0]["tool_call_id"] == answered["parts"][0]["tool_call_id"] == "call_0_0"


def test_the_older_release_gets_no_fields_of_the_newer() -> None:
    written = formats.write(golden("instructions_states_and_ids"), NAME, target="2.62")
    assert b"model_id" not in written.json
    assert b"context_id" not in written.json
    plain = formats.write(replace(golden("plain"), extra=UNSET), NAME, target="2.62")
    assert [loss.kind for loss in plain.losses] == ["spelling"]


def test_half_a_surrogate_pair_is_replaced_and_reported_but_kept_in_a_document_of_its_own() -> None:
    given = {"messages": [{"role": "user", "content": "half \ud83d pair"}, {"role": "assistant", "content": "whole"}]}
    written = formats.write(formats.read(given, "openai-chat"), NAME)
    asked, _ = ModelMessagesTypeAdapter.validate_json(written.json)
    assert asked.parts[0].content == "half \ufffd pair"
    assert [loss.path for loss in written.losses if "surrogate" in loss.why] == ["$.messages[0].parts[0].text"]
    own = [{"kind": "response", "parts": [{"part_kind": "text", "content": "\ude00 \U0001f600"}]}]
    for document in (own, exact_json.encode(own)):
        again = formats.write(formats.read(document, NAME), NAME)
        assert exact_json.same(again.data, own)
        assert again.losses == []
