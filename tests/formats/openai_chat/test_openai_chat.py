"""OpenAI Chat: what a document means, what others' conversations become, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.openai_chat import FORMAT, sniff
from hansard.formats.openai_chat.messages import write
from hansard.model import (
    Binding,
    Conversation,
    FilePart,
    Message,
    ModelRef,
    RawPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    exact_json,
)
from hansard.model.arguments import read_arguments
from hansard.model.hashing import append
from tests.conftest import GOLDEN
from tests.official_types import problems
from tests.strategies import conversations, json_values, with_extra

OPENAI = Binding(provider="openai")


def marked(**marks: Any) -> dict[str, Any]:
    return {"openai-chat": {"$": marks}}


def kept(**fields: Any) -> dict[str, Any]:
    return {"openai-chat": fields}


def read(*records: Any) -> list[Message]:
    return formats.read(list(records), "openai-chat").messages


def bare(part: Any) -> Any:
    """Without the digest of the words before it, which the registry adds."""
    if getattr(part, "signature", UNSET) is UNSET and getattr(part, "encrypted", UNSET) is UNSET:
        return part
    return replace(part, binding=replace(part.binding, prefix=UNSET))


def written(*messages: Message) -> Any:
    return formats.write(Conversation(messages=list(messages)), "openai-chat").data["messages"]


def said(role: str, *parts: Any) -> Message:
    return Message(role=role, parts=[TextPart(text=part) if type(part) is str else part for part in parts])


USER_PARTS: list[tuple[Any, Any]] = [
    ({"type": "text", "text": "hi"}, TextPart(text="hi")),
    (
        {"type": "text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit"}},
        TextPart(text="hi", extra=kept(prompt_cache_breakpoint={"mode": "explicit"})),
    ),
    (
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        FilePart(url="https://example.org/a.png", media_type="image/*"),
    ),
    (
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
        FilePart(data="aGk=", media_type="image/png", extra=kept(image_url={"detail": "low"})),
    ),
    (
        {"type": "image_url", "image_url": {"url": "data:text/plain,hi"}},
        FilePart(url="data:text/plain,hi", media_type="image/*"),
    ),
    (
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
        FilePart(data="aGk=", media_type="audio/mpeg"),
    ),
    (
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}},
        FilePart(data="aGk=", media_type="application/pdf", name="a.pdf"),
    ),
    ({"type": "file", "file": {"file_id": "file_1"}}, FilePart(file_id="file_1", binding=OPENAI)),
    ({"type": "file", "file": {}}, RawPart(format="openai-chat", value={"type": "file", "file": {}})),
    ({"type": "hologram"}, RawPart(format="openai-chat", value={"type": "hologram"})),
]


@pytest.mark.parametrize(("block", "part"), USER_PARTS)
def test_a_user_part_means(block: Any, part: Any) -> None:
    (message,) = read({"role": "user", "content": [block, {"type": "text", "text": "!"}]})
    assert message.parts[0] == part
    assert message.extra is UNSET


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
THOUGHT = {"type": "reasoning.text", "text": "hm", "signature": "s", "format": "anthropic-claude-v1"}
ASSISTANTS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"content": "hi"}, [TextPart(text="hi")]),
    ({"content": ""}, [TextPart(text="")]),
    ({"content": None, "tool_calls": [CALL]}, [ToolCallPart(tool_call_id="c", tool_name="f", input={"a": 1})]),
    ({"content": "", "tool_calls": [CALL]}, [ToolCallPart(tool_call_id="c", tool_name="f", input={"a": 1})]),
    (
        {"tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "SELECT 1"}}]},
        [ToolCallPart(tool_call_id="c", tool_name="f", input="SELECT 1", extra=marked(kind="custom"))],
    ),
    (
        {"tool_calls": [{**CALL, "extra_content": {"google": {"thought_signature": "g"}}}]},
        [
            ToolCallPart(
                tool_call_id="c",
                tool_name="f",
                input={"a": 1},
                signature="g",
                binding=Binding(provider="google"),
            )
        ],
    ),
    (
        {"content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        [ToolCallPart(tool_name="f", input={"a": 1}, input_text='{"a": 1}', extra=marked(kind="function_call"))],
    ),
    ({"content": None, "refusal": "No."}, [RefusalPart(text="No.")]),
    (
        {"content": [{"type": "refusal", "refusal": "No."}, {"type": "text", "text": "Sorry."}]},
        [RefusalPart(text="No.", extra=marked(at="content")), TextPart(text="Sorry.")],
    ),
    (
        {"content": None, "audio": {"id": "a", "transcript": "hi"}},
        [
            TextPart(text="hi", extra=marked(at="audio")),
            FilePart(file_id="a", media_type="audio/*", binding=OPENAI, extra=marked(at="audio")),
        ],
    ),
    (
        {"content": "hi", "reasoning_content": "hm"},
        [ReasoningPart(text="hm", extra=marked(key="reasoning_content")), TextPart(text="hi")],
    ),
    (
        {"content": "hi", "reasoning": "hm", "reasoning_details": [THOUGHT]},
        [
            ReasoningPart(
                text="hm",
                signature="s",
                binding=Binding(provider="anthropic", transport="openrouter"),
                extra={"openai-chat": {"format": "anthropic-claude-v1", "$": {"key": "reasoning_details"}}},
            ),
            TextPart(text="hi"),
        ],
    ),
    (
        {"content": "hi", "thinking_blocks": [{"type": "redacted_thinking", "data": "x"}]},
        [
            ReasoningPart(
                text="",
                encrypted="x",
                binding=Binding(provider="anthropic"),
                extra=marked(key="thinking_blocks"),
            ),
            TextPart(text="hi"),
        ],
    ),
]


@pytest.mark.parametrize(("fields", "parts"), ASSISTANTS)
def test_an_assistant_message_means(fields: dict[str, Any], parts: list[Any]) -> None:
    (message,) = read({"role": "assistant", **fields})
    assert [bare(part) for part in message.parts] == parts


def test_results_that_follow_one_another_are_one_message() -> None:
    asked, answered = read(
        {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "d"}]},
        {"role": "tool", "tool_call_id": "d", "content": "2", "took": 3},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "1"}]},
    )
    assert asked.extra is UNSET
    assert answered == Message(
        role="tool",
        parts=[
            ToolResultPart(tool_call_id="d", tool_name="f", output="2", is_error=False, extra=kept(took=3)),
            ToolResultPart(tool_call_id="c", tool_name="f", content=[TextPart(text="1")], is_error=False),
        ],
    )


def test_a_response_is_its_first_choice() -> None:
    conversation = formats.read(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": "gpt-5.6",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
                    "logprobs": None,
                    "finish_reason": "tool_calls",
                },
                {"index": 1, "message": {"role": "assistant", "content": "b"}, "finish_reason": "stop"},
            ],
            "usage": {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "total_tokens": 14,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
        }
    )
    (message,) = conversation.messages
    assert message == Message(
        role="assistant",
        parts=[ToolCallPart(tool_call_id="c", tool_name="f", input={"a": 1})],
        model=ModelRef(name="gpt-5.6", response_id="chatcmpl-1"),
        finish_reason="tool_call",
        usage=Usage(
            input_tokens=9,
            output_tokens=5,
            total_tokens=14,
            reasoning_tokens=3,
            cache_read_tokens=4,
            cache_write_tokens=2,
            extra=kept(prompt_tokens_details={"audio_tokens": 0}),
        ),
    )
    assert conversation.extra == {
        "openai-chat": {
            "object": "chat.completion",
            "$": {
                "shape": "response",
                "choices": [{"index": 1, "message": {"role": "assistant", "content": "b"}, "finish_reason": "stop"}],
            },
        }
    }


def test_a_response_that_is_continued_becomes_a_request_without_the_envelope() -> None:
    answer = formats.read(
        {"id": "x", "object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "hi"}}]},
        "openai-chat",
    )
    longer = replace(answer, messages=[*answer.messages, said("user", "go on")])
    assert formats.write(longer, "openai-chat").data == {
        "messages": [{"role": "assistant", "content": "hi"}, {"role": "user", "content": "go on"}]
    }


def test_a_plain_conversation_with_tools_needs_no_marks_and_loses_nothing() -> None:
    call = ToolCallPart(tool_call_id="c", tool_name="f", input={"a": 1})
    result = ToolResultPart(tool_call_id="c", tool_name="f", output="1", is_error=False)
    conversation = Conversation(
        messages=[
            said("system", "Be brief."),
            said("developer", "Be kind."),
            said("user", "Look:", FilePart(media_type="image/png", data="aGk=")),
            said("assistant", call),
            said("tool", result),
            said("assistant", "One.", "Two.", RefusalPart(text="No more.")),
        ]
    )
    document = formats.write(conversation, "openai-chat")
    assert document.losses == []
    assert problems("openai-chat", document.data) == []
    assert b"$" not in formats.write(formats.read(document.json, "openai-chat"), "hansard").json


def test_text_goes_before_calls_and_the_change_of_order_is_reported() -> None:
    call = ToolCallPart(tool_call_id="c", tool_name="f", input={})
    document = formats.write(Conversation(messages=[said("assistant", call, "then")]), "openai-chat")
    assert document.data["messages"][0]["content"] == "then"
    assert [loss.what for loss in document.losses] == ["parts in another order"]


def test_reasoning_is_written_only_in_the_dialect_it_came_from() -> None:
    thought = ReasoningPart(text="hm", signature="s", binding=Binding(provider="anthropic"))
    assert written(said("assistant", thought, "hi")) == [{"role": "assistant", "content": "hi"}]
    for key in ("reasoning_content", "reasoning"):
        record = {"role": "assistant", "content": "hi", key: "hm"}
        assert formats.convert([record], "openai-chat", "openai-chat").data == [record]


def test_repeated_reasoning_is_kept_once() -> None:
    blocks = [{"type": "thinking", "thinking": "A"}, {"type": "thinking", "thinking": "B"}]
    for glue in ("", "\n", "\n\n"):
        record = {"role": "assistant", "content": "hi", "reasoning_content": f"A{glue}B", "thinking_blocks": blocks}
        (message,) = read(record)
        assert "reasoning_content" not in message.extra["openai-chat"]  # type: ignore[index]
        assert formats.convert([record], "openai-chat", "openai-chat").data == [record]


def test_calls_that_another_provider_made_itself_are_not_written() -> None:
    call = ToolCallPart(tool_call_id="c", tool_name="search", input={}, provider_executed=True, extra=marked(index=0))
    assert written(said("user", "hi"), said("assistant", "Found.", call)) == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Found."},
    ]


def test_a_message_of_nothing_but_reasoning_goes_as_a_whole() -> None:
    document = formats.write(
        Conversation(messages=[said("user", "hi"), said("assistant", ReasoningPart(text="hm"))]), "openai-chat"
    )
    assert document.data == {"messages": [{"role": "user", "content": "hi"}]}
    assert [(loss.path, loss.kind) for loss in document.losses] == [("$.messages[1].parts[0]", "text")]


def test_outputs_that_are_not_text_are_written_as_json() -> None:
    call = ToolCallPart(tool_call_id="c", tool_name="f", input={})
    for output, text in (({"a": 1.0}, '{"a":1.0}'), (None, "null"), (UNSET, ""), ("x", "x")):
        result = ToolResultPart(tool_call_id="c", tool_name="f", output=output, is_error=True)
        records = written(said("user", "hi"), said("assistant", call), said("tool", result))
        assert records[-1] == {"role": "tool", "tool_call_id": "c", "content": text}


def test_what_chat_has_no_place_for_is_left_out_and_reported() -> None:
    files = [
        FilePart(media_type="application/pdf", url="https://example.org/a.pdf"),
        FilePart(media_type="text/plain", data="aGk="),
        FilePart(file_id="file_1", binding=Binding(provider="anthropic")),
    ]
    document = formats.write(Conversation(messages=[said("user", "hi", *files)]), "openai-chat")
    assert document.data == {"messages": [{"role": "user", "content": "hi"}]}
    assert {f"$.messages[0].parts[{i}]" for i in (1, 2, 3)} <= {loss.path for loss in document.losses}


def test_a_file_id_of_openai_goes_back_to_openai() -> None:
    part = FilePart(file_id="file_1", binding=OPENAI)
    assert written(said("user", "hi", part))[0]["content"][1] == {"type": "file", "file": {"file_id": "file_1"}}


def test_ids_and_names_are_made_legal() -> None:
    call = ToolCallPart(tool_call_id="x" * 70, tool_name="get weather", input={})
    result = ToolResultPart(tool_call_id="x" * 70, output="1", is_error=False)
    asked, answered = written(said("user", "hi"), said("assistant", call), said("tool", result))[1:]
    (made,) = asked["tool_calls"]
    assert made["function"]["name"] == "get_weather"
    assert len(made["id"]) <= 64
    assert answered["tool_call_id"] == made["id"]


MARKS = [
    "arguments",
    "at",
    "bare",
    "choice",
    "choices",
    "content",
    "finish_reason",
    "key",
    "kind",
    "name",
    "reasoning",
    "role",
    "shape",
    "string",
    "wordless",
]
WORDS = st.sampled_from(
    [
        "list",
        "response",
        "audio",
        "tool_calls",
        "messages",
        "image_url",
        "input_audio",
        "file",
        "custom",
        "function_call",
        "untyped",
        "data",
        "missing",
        "null",
        "reasoning",
        "reasoning_details",
        "thinking_blocks",
    ]
)
marks = st.dictionaries(st.sampled_from(MARKS), st.one_of(WORDS, json_values), min_size=1, max_size=3)


@given(conversation=conversations, given_marks=marks)
def test_forged_hints_do_not_break_the_writer(conversation: Conversation, given_marks: dict[str, Any]) -> None:
    exact_json.encode(write(with_extra(conversation, marked(**given_marks)), Target()))


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ("text", "$"),
        ({}, "$.messages"),
        ({"messages": {}}, "$.messages"),
        (["hi"], "$[0]"),
        ({"messages": [{"role": "user", "content": "hi"}, {"content": "hi"}]}, "$.messages[1].role"),
        ({"choices": [{"text": "hi"}]}, "$.choices[0].message"),
    ],
)
def test_what_is_no_chat_is_refused_with_its_place(document: Any, path: str) -> None:
    with pytest.raises(Unreadable) as refused:
        formats.read(exact_json.encode(document), "openai-chat")
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("document", "sure"),
    [
        ([{"role": "user", "content": "hi"}], 1),
        ({"messages": [{"role": "user", "content": "hi"}]}, 2),
        ({"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}, 1),
        ({"model": "gpt-5.6", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}, 3),
        ({"model": "x", "messages": [{"role": "system", "content": "hi"}]}, 2),
        ({"system": "x", "messages": [{"role": "user", "content": "hi"}]}, 0),
        ([{"role": "assistant", "content": None, "tool_calls": [CALL]}], 3),
        ([{"role": "assistant", "content": "", "tool_calls": [{"name": "f", "arguments": "{}"}]}], 0),
        ([{"role": "tool", "content": "x", "call_id": "c"}], 0),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}], 0),
        ([{"role": "user", "parts": []}], 0),
        ({"object": "chat.completion.chunk", "choices": [{"delta": {}}]}, 0),
        ([], 0),
    ],
)
def test_it_is_as_sure_as_it_can_be(document: Any, sure: int) -> None:
    assert sniff(document) == sure


@given(document=st.one_of(json_values, st.binary(), st.builds(lambda value: {"messages": [value]}, json_values)))
def test_looking_at_a_document_never_fails(document: Any) -> None:
    assert sniff(document) in (0, 1, 2, 3)


_WORDS = st.text(min_size=1, max_size=5)
_IDS = st.sampled_from(["c1", "c2"])
_CALLS = st.builds(
    lambda call_id, name, words: {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": words},
    },
    _IDS,
    _WORDS,
    st.one_of(st.text(max_size=5), json_values.map(lambda value: exact_json.encode(value).decode())),
)
_RECORDS = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system", "developer"]), "content": st.text(max_size=5)}
    ),
    st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "content": st.one_of(st.none(), _WORDS),
            "tool_calls": st.lists(_CALLS, min_size=1, max_size=3),
        }
    ),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": _IDS, "content": st.text(max_size=5)}),
)


@given(records=st.lists(_RECORDS, max_size=6))
def test_one_more_field_changes_nothing_else(records: list[dict[str, Any]]) -> None:
    """Plain records take a quick way of their own, those with a field more the general one."""
    longer = [{**record, "more": 1} for record in records]
    for record in longer:
        if "tool_calls" in record:
            record["tool_calls"] = [{**call, "more": 1} for call in record["tool_calls"]]
    plain, general = FORMAT.read(records), FORMAT.read(longer)
    assert plain.messages == [
        replace(message, parts=[replace(part, extra=UNSET) for part in message.parts], extra=UNSET)
        for message in general.messages
    ]
    assert exact_json.plain(write(plain, Target())) == records
    assert exact_json.plain(write(general, Target())) == longer


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', '{"a":"\ud800"', "NaN", "[" * 3000])
def test_arguments_that_are_not_exact_json_are_kept_as_text(text: str) -> None:
    assert read_arguments(text) == (UNSET, text)


@pytest.mark.parametrize("text", ['\ufeff{"a":1}', '{"a":1.50}', '{ "a":1}', '"\\u0041"', "1e2"])
def test_arguments_in_another_spelling_are_data_and_text(text: str) -> None:
    value, words = read_arguments(text)
    assert words == text
    assert exact_json.same(value, exact_json.decode(text))


def test_an_answer_removed_by_a_filter_has_no_text() -> None:
    raw = (GOLDEN / "openai-chat" / "answer_taken_by_a_filter.json").read_bytes()
    (message,) = formats.read(raw).messages
    assert (message.role, message.parts, message.finish_reason) == ("assistant", [], "content_filter")
    assert message.usage.output_tokens == 9


def test_a_json_value_as_content_is_read_and_sent_back_as_text() -> None:
    raw = (GOLDEN / "openai-chat" / "response_with_a_value_as_content.json").read_bytes()
    conversation = formats.read(raw)
    words = '{"title":"Über Äpfel","pages":1.0,"by":["A","B"]}'
    assert conversation.messages[0].parts == [TextPart(text=words)]
    asked = formats.read([{"role": "user", "content": "Which book?"}], "openai-chat")
    assert formats.write(append(asked, conversation), "openai-chat").data[1]["content"] == words
    assert formats.write(conversation, "anthropic").data["messages"][-1]["content"] == [{"type": "text", "text": words}]


def test_thinking_inside_the_content_is_reasoning() -> None:
    raw = (GOLDEN / "openai-chat" / "thoughts_among_the_words.json").read_bytes()
    assert formats.detect(raw) == "openai-chat"
    said = formats.read(raw).messages[1].parts
    assert [part.text for part in said if type(part) is ReasoningPart] == ["A street.", "Or a river?", ""]
    assert [type(part) for part in said[:2]] == [ReasoningPart, TextPart]


def test_images_beside_the_text_are_files() -> None:
    conversation = formats.read((GOLDEN / "openai-chat" / "response_with_pictures.json").read_bytes())
    words, first, second = conversation.messages[0].parts
    assert words == TextPart(text="Here it is.")
    assert isinstance(first, FilePart)
    assert isinstance(second, FilePart)
    assert (first.media_type, first.data, second.url) == ("image/png", "aGk=", "https://example.org/b.png")
    painted = formats.write(conversation, "gemini").data["contents"][-1]["parts"][1]
    assert painted == {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    odd = {"role": "assistant", "content": "x", "images": [{"type": "image_url", "image_url": {}}, 1]}
    assert formats.write(formats.read([odd], "openai-chat"), "openai-chat").data == [odd]


def test_a_part_of_a_result_that_chat_has_no_place_for_is_left_out_by_the_writer_itself() -> None:
    """The rules of providers take it away before; a writer that is called without them must not send a hole."""
    odd = RawPart(format="gemini", value={"x": 1})
    for content, sent in (([TextPart(text="a"), odd], [{"type": "text", "text": "a"}]), ([odd], "")):
        result = ToolResultPart(tool_call_id="c", tool_name="f", content=content)
        document = write(Conversation(messages=[Message(role="tool", parts=[result])]), Target())
        assert exact_json.plain(document) == {"messages": [{"role": "tool", "tool_call_id": "c", "content": sent}]}


@pytest.mark.parametrize("given", [{}, {"message": None}])
def test_an_answer_without_a_message_can_be_given_one_later(given: dict[str, Any]) -> None:
    """As a client does that fills in what a provider with a content filter has left out."""
    read = formats.read({"id": "x", "choices": [{"index": 0, **given, "finish_reason": "stop"}]}, "openai-chat")
    (message,) = read.messages
    assert (message.role, message.parts) == ("assistant", [])
    message.parts.append(TextPart(text="hi"))
    (choice,) = formats.write(read, "openai-chat").data["choices"]
    assert choice["message"] == {"role": "assistant", "content": "hi"}
