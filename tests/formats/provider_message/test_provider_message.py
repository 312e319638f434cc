"""Provider messages: what a document means, what others' conversations become, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import AmbiguousFormat, Unreadable
from hansard.formats.contract import Target
from hansard.formats.provider_message import sniff
from hansard.formats.provider_message.messages import write
from hansard.model import (
    Binding,
    CompactionPart,
    Conversation,
    DataPart,
    FilePart,
    Message,
    RawPart,
    ReasoningPart,
    RefusalPart,
    RetryPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    exact_json,
)
from tests.corpus_files import corpus_documents
from tests.strategies import conversations, json_values, with_extra

ANTHROPIC = Binding(provider="anthropic")
GOOGLE = Binding(provider="google")


def marked(**marks: Any) -> dict[str, Any]:
    return {"provider-message": {"$": marks}}


def read(*records: Any) -> list[Message]:
    return formats.read(list(records), "provider-message").messages


def bare(part: Any) -> Any:
    """Without the digest of the words before it, which the registry adds."""
    if getattr(part, "binding", UNSET) is UNSET:
        return part
    return replace(part, binding=replace(part.binding, prefix=UNSET))


def said(role: str, *parts: Any) -> Message:
    return Message(role=role, parts=[TextPart(text=part) if type(part) is str else part for part in parts])


def written(*messages: Message) -> Any:
    return formats.write(Conversation(messages=list(messages)), "provider-message").data


CALL = {"name": "f", "arguments": '{"a":1}', "id": "c"}
CALLED = ToolCallPart(tool_call_id="c", tool_name="f", input={"a": 1})
MEANINGS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"content": "hi"}, [TextPart(text="hi")]),
    (
        {"content": [{"type": "text", "text": "a"}, {"type": "image", "url": "https://example.org/a"}]},
        [TextPart(text="a"), FilePart(url="https://example.org/a", media_type="image/*")],
    ),
    (
        {"content": [{"type": "audio", "format": "wav", "data": "aGk="}]},
        [FilePart(data="aGk=", media_type="audio/wav", extra=marked(format="wav"))],
    ),
    (
        {"content": [{"type": "file", "format": "application/pdf", "file_id": "f1", "name": "a.pdf"}]},
        [FilePart(file_id="f1", media_type="application/pdf", name="a.pdf")],
    ),
    (
        {"content": [{"type": "hologram"}]},
        [RawPart(format="provider-message", value={"type": "hologram"})],
    ),
    ({"content": "hi", "reasoning": "hm"}, [ReasoningPart(text="hm"), TextPart(text="hi")]),
    (
        {"content": "hi", "reasoning": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        [ReasoningPart(text="a"), ReasoningPart(text="b"), TextPart(text="hi")],
    ),
    ({"content": "", "refusal": "No."}, [RefusalPart(text="No.")]),
    ({"content": "", "tool_calls": [CALL]}, [CALLED]),
    (
        {"content": "", "tool_calls": [{"name": "f", "arguments": "{}", "call_id": "c"}]},
        [ToolCallPart(tool_call_id="c", tool_name="f", input={}, extra=marked(id="call_id"))],
    ),
    (
        {
            "content": "hi",
            "reasoning": "ab",
            "extra": {
                "claude": {
                    "thinking_blocks": [
                        {"type": "thinking", "thinking": "ab", "signature": "s"},
                        {"type": "redacted_thinking", "data": "x"},
                    ]
                }
            },
        },
        [
            ReasoningPart(text="ab", signature="s", binding=ANTHROPIC),
            ReasoningPart(text="", encrypted="x", binding=ANTHROPIC),
            TextPart(text="hi"),
        ],
    ),
    (
        {
            "content": "hi",
            "reasoning": "hm",
            "tool_calls": [CALL],
            "extra": {"gemini": {"thought_signatures": ["g"]}},
        },
        [ReasoningPart(text="hm"), TextPart(text="hi"), replace(CALLED, signature="g", binding=GOOGLE)],
    ),
    (
        {"content": "hi", "extra": {"gemini": {"thought_signatures": ["g"]}}},
        [TextPart(text="hi", signature="g", binding=GOOGLE)],
    ),
]


@pytest.mark.parametrize(("fields", "parts"), MEANINGS)
def test_a_message_means(fields: dict[str, Any], parts: list[Any]) -> None:
    (message,) = read({"role": "assistant", "id": "m1", **fields})
    assert [bare(part) for part in message.parts] == parts
    assert message == Message(role="assistant", id="m1", parts=message.parts)


def test_signatures_that_cannot_be_placed_stay_where_they_are() -> None:
    extra = {"gemini": {"thought_signatures": ["a", "b", "c"]}}
    (message,) = read({"role": "assistant", "content": "hi", "extra": extra})
    assert message.parts == [TextPart(text="hi")]
    assert message.extra == {"provider-message": {"extra": extra}}


def test_results_name_their_call_by_call_id_or_else_by_id() -> None:
    asked, answered = read(
        {"role": "assistant", "content": "", "tool_calls": [CALL, {**CALL, "id": "d"}]},
        {"role": "tool", "content": "1", "call_id": "c", "id": "m2"},
        {"role": "tool", "content": "2", "id": "d"},
    )
    assert asked.extra is UNSET
    assert answered.parts == [
        ToolResultPart(tool_call_id="c", tool_name="f", output="1", is_error=False, id="m2"),
        ToolResultPart(tool_call_id="d", tool_name="f", output="2", is_error=False, extra=marked(id=True)),
    ]


def test_the_call_id_of_a_call_counts_when_results_answer_it() -> None:
    call = {"name": "f", "arguments": "{}", "id": "fc_1", "call_id": "call_1"}
    asked, answered = read(
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "1", "call_id": "call_1"},
    )
    assert asked.parts[0].tool_call_id == answered.parts[0].tool_call_id == "call_1"  # type: ignore[union-attr]
    assert asked.parts[0].id == "fc_1"


def test_claudes_thinking_goes_through_and_comes_back_word_for_word() -> None:
    request = {
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "x"},
                    {"type": "text", "text": "hello"},
                    {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1.0}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "1"}]},
        ]
    }
    document = formats.convert(request, "provider-message", "anthropic")
    assert document.losses == []
    assert document.data[1] == {
        "role": "assistant",
        "content": "hello",
        "reasoning": "hm",
        "tool_calls": [{"name": "f", "arguments": '{"a":1.0}', "id": "c"}],
        "extra": {
            "claude": {
                "thinking_blocks": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "x"},
                ]
            }
        },
    }
    assert formats.convert(document.data, "anthropic", "provider-message").data == request


def test_geminis_signatures_go_through_and_come_back() -> None:
    request = {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"id": "c", "name": "f", "args": {}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"id": "d", "name": "f", "args": {}}},
                ],
            },
        ]
    }
    document = formats.convert(request, "provider-message", "gemini")
    assert document.losses == []
    assert document.data[1]["extra"] == {"gemini": {"thought_signatures": ["c2ln"]}}
    assert formats.convert(document.data, "gemini", "provider-message").data == request


def test_chat_and_provider_messages_say_the_same_of_tools() -> None:
    chat = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "1"},
        {"role": "assistant", "content": "one"},
    ]
    document = formats.convert({"messages": chat}, "provider-message", "openai-chat")
    assert document.losses == []
    assert document.data[2:4] == [
        {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "arguments": "{}", "id": "c"}]},
        {"role": "tool", "content": "1", "call_id": "c"},
    ]
    assert formats.convert(document.data, "openai-chat", "provider-message").data == {"messages": chat}


def test_thinking_between_texts_moves_to_the_front_and_that_is_reported() -> None:
    thought = ReasoningPart(text="hm", signature="s", binding=ANTHROPIC)
    document = formats.write(Conversation(messages=[said("assistant", "a", thought, "b")]), "provider-message")
    assert "parts in another order" in [loss.what for loss in document.losses]


def test_what_has_no_place_is_left_out() -> None:
    data = DataPart(name="chart", data={})
    assert written(said("user", data), said("event", "x"), said("tool", "x")) == []
    assert written(said("user", "hi", data)) == [{"role": "user", "content": "hi"}]


def test_retries_and_summaries_are_written_as_text() -> None:
    records = written(said("user", RetryPart(content="again"), CompactionPart(text="so far")))
    assert records[0]["content"] == [{"type": "text", "text": "again"}, {"type": "text", "text": "so far"}]


def test_results_inside_other_messages_become_records_behind_them() -> None:
    result = ToolResultPart(tool_call_id="c", tool_name="f", output={"a": 1}, provider_executed=True)
    assert written(said("assistant", replace(CALLED, provider_executed=True), result, "done")) == [
        {"role": "assistant", "content": "done", "tool_calls": [CALL]},
        {"role": "tool", "content": '{"a":1}', "call_id": "c"},
    ]


def test_other_providers_conversations_can_be_read_again(corpus: Path) -> None:
    for name in ("anthropic", "openai-chat"):
        for raw in corpus_documents(corpus, name):
            document = formats.convert(raw, "provider-message", name)
            assert sniff(document.data) >= 1
            again = formats.convert(document.data, "provider-message", "provider-message")
            assert again.losses == []
            assert exact_json.same(again.data, document.data)


MARKS = [
    "arguments",
    "at",
    "blocks",
    "content",
    "format",
    "id",
    "kind",
    "name",
    "reasoning",
    "refusal",
    "shape",
    "signatures",
]
WORDS = st.sampled_from(
    [
        "list",
        "one",
        "object",
        "both",
        "call_id",
        "data",
        "missing",
        "null",
        "last",
        "reasoning",
        "thinking_blocks",
        "refusal",
        "tool_calls",
        "image",
    ]
)
marks = st.dictionaries(st.sampled_from(MARKS), st.one_of(WORDS, json_values), min_size=1, max_size=3)


@given(conversation=conversations, given_marks=marks)
def test_marks_that_nobody_made_do_not_break_the_writer(
    conversation: Conversation, given_marks: dict[str, Any]
) -> None:
    exact_json.encode(write(with_extra(conversation, marked(**given_marks)), Target()))


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ("text", "$"),
        ({}, "$"),
        ({"messages": [{"role": 5}]}, "$.messages[0].role"),
        (["hi"], "$[0]"),
        ([{"role": "user", "content": "hi"}, {"content": "hi"}], "$[1].role"),
        ({"role": None}, "$.role"),
    ],
)
def test_what_is_no_provider_message_is_refused_with_its_place(document: Any, path: str) -> None:
    with pytest.raises(Unreadable) as refused:
        formats.read(exact_json.encode(document), "provider-message")
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("document", "sure"),
    [
        ([{"role": "user", "content": "hi"}], 1),
        ({"role": "user", "content": "hi"}, 1),
        ([{"role": "assistant", "content": "hi", "reasoning": "hm"}], 2),
        ([{"role": "user", "content": [{"type": "image", "url": "https://example.org/a"}]}], 2),
        ([{"role": "assistant", "content": "", "tool_calls": [CALL]}], 3),
        ([{"role": "tool", "content": "x", "call_id": "c"}], 3),
        ([{"role": "assistant", "content": "x", "extra": {"claude": {}}}], 3),
        ([{"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {}}]}], 0),
        ([{"role": "tool", "content": "x", "tool_call_id": "c"}], 0),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}], 0),
        ([{"role": "user", "content": [{"type": "image", "source": {}}]}], 0),
        ([], 0),
        ({}, 0),
    ],
)
def test_it_is_as_sure_as_it_can_be(document: Any, sure: int) -> None:
    assert sniff(document) == sure


def test_plain_roles_and_contents_are_not_guessed() -> None:
    with pytest.raises(AmbiguousFormat):
        formats.detect([{"role": "user", "content": "hi"}])


@given(document=st.one_of(json_values, st.binary(), st.builds(lambda value: {"messages": [value]}, json_values)))
def test_looking_at_a_document_never_fails(document: Any) -> None:
    assert sniff(document) in (0, 1, 2, 3)
