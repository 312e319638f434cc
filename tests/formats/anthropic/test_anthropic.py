"""What an Anthropic document means."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from hansard import formats
from hansard.errors import Unreadable
from hansard.model import (
    Conversation,
    FilePart,
    Message,
    RawPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    exact_json,
)
from hansard.model.hashing import append
from tests.conftest import GOLDEN


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / "anthropic" / f"{name}.json").read_bytes(), "anthropic")


def test_results_and_words_of_one_record_are_two_messages() -> None:
    assert [message.role for message in golden("thinking_and_parallel_tools").messages] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]


def test_thinking_carries_what_it_is_bound_to() -> None:
    answer = golden("thinking_and_parallel_tools").messages[1]
    thought, hidden, text, call, _ = answer.parts
    assert isinstance(thought, ReasoningPart)
    assert (thought.text, thought.signature) == ("Two calls.", "EqQBsig1==")
    assert thought.binding is not UNSET
    assert thought.binding.provider == "anthropic"
    assert len(str(thought.binding.prefix)) == 32
    assert isinstance(hidden, ReasoningPart)
    assert (hidden.text, hidden.encrypted) == ("", "EmwKAhgB")
    assert text == TextPart(text="Looking.")
    assert call == ToolCallPart(tool_call_id="toolu_1", tool_name="get_weather", input={"city": "Tokyo"})


def test_results_know_their_name_and_their_parts() -> None:
    first, second = golden("thinking_and_parallel_tools").messages[2].parts
    assert isinstance(first, ToolResultPart)
    assert (first.tool_name, first.output, first.is_error) == ("get_weather", "18 C", False)
    assert isinstance(second, ToolResultPart)
    assert second.content == [TextPart(text="no such place"), FilePart(media_type="image/png", data="aGk=")]
    assert second.is_error is True


def test_a_response_is_one_message_with_all_its_tokens() -> None:
    (message,) = golden("response").messages
    assert message.model is not UNSET
    assert message.model.response_id == "msg_1"
    assert message.finish_reason == "stop"
    assert message.usage is not UNSET
    assert (message.usage.input_tokens, message.usage.cache_read_tokens) == (112, 100)


def test_server_tools_stay_in_the_answer() -> None:
    parts = golden("server_tools").messages[1].parts
    calls = [part for part in parts if isinstance(part, ToolCallPart | ToolResultPart)]
    assert [part.tool_name for part in calls] == ["web_search", "web_search", "echo", "echo", "web_fetch"]
    assert all(part.provider_executed is True for part in calls)


def test_what_is_unknown_is_kept_raw() -> None:
    parts = golden("unknown_things").messages[0].parts
    assert [type(part) for part in parts] == [RawPart, TextPart, RawPart, RawPart]


def test_documents_are_files() -> None:
    files = [part for part in golden("documents_and_cache").messages[1].parts if isinstance(part, FilePart)]
    assert [file.media_type for file in files] == ["text/plain", "application/pdf", "image/*", UNSET, "application/pdf"]
    assert files[0].name == "Notes"


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"messages": "x"}, "$.messages"),
        ({"messages": [{"role": "user", "content": "x"}, {"role": "tool", "content": "y"}]}, "$.messages[1].role"),
        ({"messages": [{"role": "user"}]}, "$.messages[0].content"),
        ({"messages": ["x"]}, "$.messages[0]"),
        ("text", "$"),
    ],
)
def test_what_is_no_document_is_refused_with_its_place(document: object, path: str) -> None:
    with pytest.raises(Unreadable) as refused:
        formats.read(exact_json.encode(document), "anthropic")
    assert refused.value.path == path
    assert refused.value.way_out


@pytest.mark.parametrize(
    ("file", "source"),
    [
        (FilePart(media_type="image/bmp", data="aGk="), None),
        (FilePart(media_type="image/*", data="aGk="), None),
        (FilePart(media_type="text/plain", url="https://example.org/a.txt"), None),
        (
            FilePart(media_type="image/bmp", url="https://example.org/a"),
            {"type": "url", "url": "https://example.org/a"},
        ),
        (
            FilePart(media_type="image/*", url="data:image/png;base64,aGk="),
            {"type": "base64", "media_type": "image/png", "data": "aGk="},
        ),
    ],
)
def test_only_files_that_anthropic_takes_are_written(file: FilePart, source: object) -> None:
    asked = Message(role="user", parts=[TextPart(text="see"), file])
    written = formats.write(Conversation(messages=[asked]), "anthropic")
    blocks = written.data["messages"][0]["content"]
    assert blocks == "see" if source is None else blocks[1]["source"] == source
    assert source is not None or [loss.path for loss in written.losses] == ["$.messages[0].parts[1]"]


@pytest.mark.parametrize(
    "source",
    [
        {"type": "base64", "media_type": "image/png", "data": "aGk=", "detail": "high"},
        {"type": "url", "url": "https://example.org/a.png", "expires": {"at": 1}},
        {"type": "file", "file_id": "f1", "version": None},
    ],
)
def test_fields_of_a_source_that_are_not_known_yet_are_written_back(source: dict[str, object]) -> None:
    """What a newer API adds to a picture's source is sent again with the next request."""
    document = {"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}]}
    written = formats.write(formats.read(exact_json.encode(document), "anthropic"), "anthropic")
    assert written.data["messages"][0]["content"][0]["source"] == source
    assert written.losses == []


def test_a_summary_is_carried_to_others_and_its_seal_stays_here() -> None:
    question = formats.read([{"role": "user", "content": "hi"}], "anthropic")
    block = {"type": "compaction", "content": "We said hello.", "encrypted_content": "ENC", "signature": "SIG"}
    answer = {"type": "message", "role": "assistant", "content": [block, {"type": "text", "text": "Yes?"}]}
    both = append(question, formats.read(answer, "anthropic"))
    assert formats.write(both, "anthropic").data[1]["content"][0] == block
    for other in ("openai-chat", "openai-responses", "gemini"):
        written = formats.write(both, other).json
        assert b"We said hello." in written
        assert b"ENC" not in written
        assert b"SIG" not in written
    other_words = formats.read([{"role": "user", "content": "hello"}], "anthropic").messages
    changed = Conversation(messages=[*other_words, *both.messages[1:]])
    unsealed = {"type": "text", "text": "We said hello."}
    assert formats.write(changed, "anthropic").data["messages"][1]["content"][0] == unsealed
