"""LangChain messages: reading and writing records. `tests/judges/test_langchain.py` asks langchain-core."""

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
from hansard.formats.langchain import sniff
from hansard.formats.langchain.messages import write
from hansard.model import (
    Binding,
    CompactionPart,
    Conversation,
    DataPart,
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
from tests.conftest import GOLDEN
from tests.strategies import conversations, json_values, with_extra

CALL = {"name": "f", "args": {"a": 1}, "id": "c"}
CALLED = ToolCallPart(tool_call_id="c", tool_name="f", input={"a": 1})


def read(*records: Any) -> list[Message]:
    return formats.read(list(records), "langchain").messages


def said(role: str, *parts: Any) -> Message:
    return Message(role=role, parts=[TextPart(text=part) if type(part) is str else part for part in parts])


def bare(part: Any) -> Any:
    """A part without marks and without the digest of the words before it."""
    if getattr(part, "binding", UNSET) is not UNSET:
        part = replace(part, binding=replace(part.binding, prefix=UNSET))
    return replace(part, extra=UNSET)


ANSWERS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"content": "hi"}, [TextPart(text="hi")]),
    ({"content": ["a", {"type": "text", "text": "b"}]}, [TextPart(text="a"), TextPart(text="b")]),
    ({"content": "", "tool_calls": [CALL]}, [CALLED]),
    (
        {"content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}, "so"], "tool_calls": [CALL]},
        [CALLED, TextPart(text="so")],
    ),
    (
        {"content": "", "invalid_tool_calls": [{"name": "f", "args": "{bad", "id": "c", "error": "no JSON"}]},
        [ToolCallPart(tool_call_id="c", tool_name="f", input_text="{bad")],
    ),
    (
        {"content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
        [ReasoningPart(text="hm", signature="s", binding=Binding(provider="anthropic"))],
    ),
    (
        {
            "content": [{"type": "reasoning", "reasoning": "hm", "extras": {"signature": "s"}}],
            "response_metadata": {"model_provider": "google_genai"},
        },
        [ReasoningPart(text="hm", signature="s", binding=Binding(provider="google"))],
    ),
    (
        {"content": [{"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "a"}]}]},
        [ReasoningPart(text="a", id="rs")],
    ),
    (
        {"content": "x", "additional_kwargs": {"reasoning_content": "hm"}},
        [ReasoningPart(text="hm"), TextPart(text="x")],
    ),
    ({"content": "", "additional_kwargs": {"refusal": "No."}}, [RefusalPart(text="No.")]),
    (
        {"content": [{"type": "image_url", "image_url": {"url": "https://example.org/a"}}]},
        [FilePart(media_type="image/*", url="https://example.org/a")],
    ),
    (
        {"content": [{"type": "text-plain", "text": "hi", "mime_type": "text/plain"}]},
        [FilePart(media_type="text/plain", data="aGk=")],
    ),
    ({"content": [{"type": "hologram"}]}, [RawPart(format="langchain", value={"type": "hologram"})]),
]


@pytest.mark.parametrize(("fields", "parts"), ANSWERS)
@pytest.mark.parametrize("form", ["wrapped", "flat", "constructor"])
def test_an_answer_means_the_same_in_every_form(form: str, fields: dict[str, Any], parts: list[Any]) -> None:
    record: dict[str, Any] = {"type": "ai", "data": fields}
    if form == "flat":
        record = {"type": "ai", **fields}
    elif form == "constructor":
        path = ["langchain", "schema", "messages", "AIMessage"]
        record = {"lc": 1, "type": "constructor", "id": path, "kwargs": fields}
    assert [bare(part) for part in read(record)[0].parts] == parts


def test_an_answer_says_who_made_it_and_what_it_took() -> None:
    counts = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5, "input_token_details": {"cache_read": 1}}
    about = {"model_name": "claude", "model_provider": "anthropic", "id": "msg_1", "stop_reason": "tool_use"}
    record = {"content": "x", "name": "waiter", "id": "r", "usage_metadata": counts, "response_metadata": about}
    message = read({"type": "ai", "data": record})[0]
    assert message.model == ModelRef(provider="anthropic", name="claude", response_id="msg_1")
    assert message.usage == Usage(input_tokens=3, output_tokens=2, total_tokens=5, cache_read_tokens=1)
    assert (message.id, message.agent_id, message.finish_reason) == ("r", "waiter", "tool_call")


def test_results_know_the_tool_they_are_of() -> None:
    results = read(
        {"type": "ai", "content": "", "tool_calls": [CALL]},
        {"type": "tool", "content": "1", "tool_call_id": "c"},
        {"type": "tool", "content": "2", "tool_call_id": "d", "name": "g", "status": "error"},
    )[1]
    assert [bare(part) for part in results.parts] == [
        ToolResultPart(tool_call_id="c", tool_name="f", output="1", is_error=False),
        ToolResultPart(tool_call_id="d", tool_name="g", output="2", is_error=True),
    ]


def test_a_tool_loop_of_another_provider_is_carried_both_ways() -> None:
    chat = {
        "messages": [
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
    }
    document = formats.convert(chat, "langchain", "openai-chat")
    assert document.losses == []
    assert formats.convert(document.data, "openai-chat", "langchain").data == chat


def test_a_turn_whose_order_matters_is_written_in_standard_blocks() -> None:
    thought = ReasoningPart(text="hm", signature="s", binding=Binding(provider="anthropic"))
    source = Conversation(messages=[said("assistant", thought, CALLED, "so")])
    document = formats.write(source, "langchain")
    assert document.losses == []
    data = document.data[0]["data"]
    assert [block["type"] for block in data["content"]] == ["reasoning", "tool_call", "text"]
    assert data["response_metadata"] == {"model_provider": "anthropic", "output_version": "v1"}
    assert [call["id"] for call in data["tool_calls"]] == ["c"]


def test_a_signature_of_somebody_else_than_the_model_stays_at_home() -> None:
    thought = ReasoningPart(text="hm", signature="s", binding=Binding(provider="anthropic"))
    message = replace(said("assistant", thought), model=ModelRef(provider="openai"))
    document = formats.write(Conversation(messages=[message]), "langchain")
    assert b'"s"' not in document.json
    assert any(loss.path.endswith("signature") for loss in document.losses)


def test_what_has_no_place_is_left_out_and_named() -> None:
    document = formats.write(Conversation(messages=[said("user", "hi", DataPart(name="chart", data={}))]), "langchain")
    assert document.data[0]["data"]["content"] == "hi"
    assert [loss.path for loss in document.losses] == ["$.messages[0].parts[1]"]


kinds = ["human", "ai", "system", "tool", "function", "chat", "remove", "AIMessageChunk", "robot"]
calls = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["f", None]),
        "args": st.sampled_from([{"a": 1}, {}, "{bad", "[1]", None]),
        "id": st.sampled_from(["a", "b", None]),
        "type": st.sampled_from(["tool_call", "invalid_tool_call", "x"]),
        "error": st.none(),
    },
)
blocks = st.one_of(
    json_values,
    calls,
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "reasoning", "thinking", "tool_use", "image", "file", "non_standard", "x"])},
        optional={
            "text": st.sampled_from(["a", 1]),
            "reasoning": st.just("hm"),
            "thinking": st.just("hm"),
            "summary": st.sampled_from([[], [{"type": "summary_text", "text": "a"}], [{"text": "a\n\nb"}], 5]),
            "id": st.sampled_from(["a", "b", 5]),
            "name": st.just("f"),
            "input": st.sampled_from([{"a": 1}, {}]),
            "url": st.just("https://example.org"),
            "base64": st.just("aGk="),
            "data": st.just("aGk="),
            "source_type": st.sampled_from(["url", "base64", "id", "text"]),
            "source": st.just({"type": "base64", "data": "aGk=", "media_type": "image/png"}),
            "mime_type": st.sampled_from(["image/png", None]),
            "file_id": st.just("f"),
            "file": st.sampled_from([{"file_id": "f"}, {"file_data": "data:,x", "filename": "a"}, {}]),
            "image_url": st.sampled_from(["https://example.org", {"url": "x", "detail": "low"}, {}]),
            "value": st.sampled_from(
                [{"type": "refusal", "refusal": "no"}, {"type": "redacted_thinking", "data": "x"}]
            ),
            "extras": st.sampled_from([{}, {"signature": "s"}, {"encrypted_content": "e", "x": 1}, {"filename": "a"}]),
        },
    ),
)
metas = st.dictionaries(
    st.sampled_from(["model_name", "model", "model_provider", "id", "finish_reason", "stop_reason", "output_version"]),
    st.sampled_from(["v1", "stop", "anthropic", "google", "google_genai", "tool_calls", "tool_use", None]),
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "content": st.one_of(st.sampled_from(["", "hi", None, 5]), st.lists(blocks, max_size=4)),
        "tool_calls": st.one_of(st.lists(calls, max_size=3), st.none()),
        "invalid_tool_calls": st.lists(calls, max_size=2),
        "additional_kwargs": st.dictionaries(
            st.sampled_from(["reasoning_content", "refusal", "function_call", "__openai_role__", "x"]),
            st.sampled_from(["", "developer", "hm", {"name": "f", "arguments": "{}"}, None]),
        ),
        "response_metadata": st.one_of(metas, json_values),
        "usage_metadata": st.one_of(
            st.dictionaries(
                st.sampled_from(["input_tokens", "output_tokens", "total_tokens", "input_token_details"]),
                st.sampled_from([0, 1, 1.0, True, {}, {"cache_read": 1}, None]),
            ),
            json_values,
        ),
        "type": st.sampled_from([*kinds, None]),
        "name": st.sampled_from(["f", None]),
        "id": st.sampled_from(["m1", None, 5]),
        "tool_call_id": st.sampled_from(["a", "", None]),
        "status": st.sampled_from(["success", "error", "odd"]),
        "artifact": json_values,
        "role": st.sampled_from(["user", "assistant", "narrator"]),
        "$": json_values,
    },
)
paths = st.sampled_from([["langchain", "schema", "messages"], ["x"], []])
names = st.sampled_from(["AIMessage", "HumanMessage", "ToolMessage", "ChatMessage", "AIMessageChunk", "Document"])
records = st.one_of(
    st.builds(
        lambda kind, inner, more: {"type": kind, "data": inner, **more},
        st.sampled_from(kinds),
        fields,
        st.sampled_from([{}, {"$": 1}]),
    ),
    st.builds(lambda kind, inner: {**inner, "type": kind}, st.sampled_from(kinds), fields),
    st.builds(
        lambda path, name, inner: {"lc": 1, "type": "constructor", "id": [*path, name], "kwargs": inner},
        paths,
        names,
        fields,
    ),
)


@given(
    document=st.one_of(
        st.lists(records, max_size=4), st.builds(lambda some: {"messages": some, "x": 1}, st.lists(records))
    )
)
def test_any_document_is_written_as_it_was_read(document: Any) -> None:
    raw = exact_json.encode(document)
    back = formats.write(formats.read(raw, "langchain"), "langchain")
    assert exact_json.same(back.data, exact_json.decode(raw))
    assert back.losses == []


MARKS = ["absent", "around", "as", "at", "bare", "block", "content", "encrypted", "finish", "form", "invalid", "media"]
MARKS += ["model", "provider", "shape", "string", "type", "uncounted", "unnamed", "version", "words"]
words = ["list", "null", "missing", "v0", "v1", "flat", "one", "object", "chat", "thinking", "summary", "url", "text"]
words += ["reasoning_content", "function_call", "tool_calls", "data", True, False]
marks = st.dictionaries(st.sampled_from(MARKS), st.one_of(st.sampled_from(words), json_values), min_size=1, max_size=3)


@given(conversation=conversations, given_marks=marks)
def test_marks_that_nobody_made_do_not_break_the_writer(conversation: Conversation, given_marks: Any) -> None:
    exact_json.encode(write(with_extra(conversation, {"langchain": {"$": given_marks}}), Target()))


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ("text", "$"),
        ({}, "$"),
        (["hi"], "$[0]"),
        ({"messages": [{"type": 5}]}, "$.messages[0].type"),
        ([{}], "$[0].type"),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(document: Any, path: str) -> None:
    with pytest.raises(Unreadable) as refused:
        formats.read(exact_json.encode(document), "langchain")
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("document", "sure"),
    [
        ([{"type": "human", "data": {"content": "hi"}}], 3),
        ({"messages": [{"type": "human", "content": "hi", "additional_kwargs": {}}]}, 3),
        ([{"type": "human", "content": "hi"}], 2),
        ([{"type": "system", "content": "hi"}], 1),
        ([{"type": "system", "content": "hi", "uuid": "x"}], 0),
        ([{"role": "user", "content": "hi"}], 0),
        ([{"type": "robot", "data": {"content": "hi"}}], 0),
        ([], 0),
    ],
)
def test_it_is_as_sure_as_it_can_be(document: Any, sure: int) -> None:
    assert sniff(document) == sure


# -- the real library as judge -------------------------------------------------------------------------------------


def test_what_a_provider_ran_and_thought_is_read_in_its_own_words_too() -> None:
    raw = (GOLDEN / "langchain" / "what_providers_ran_in_their_own_words.json").read_bytes()
    conversation = formats.read(raw)
    parts = [part for message in conversation.messages for part in message.parts]
    assert not [part for part in parts if type(part) is RawPart]
    calls = [part for part in parts if type(part) is ToolCallPart]
    assert all(call.provider_executed is True for call in calls)
    assert [(call.tool_name, call.input) for call in calls] == [
        ("web_search", {"query": "news"}),
        ("web_fetch", {"url": "https://example.org/a"}),
        ("echo", {"x": 1}),
        ("web_search", {"type": "search", "query": "news"}),
        ("code_interpreter", "1+1"),
        ("echo", {"x": 1}),
        ("image_generation", UNSET),
    ]
    results = [(part.tool_call_id, part.is_error) for part in parts if type(part) is ToolResultPart]
    assert results == [("s1", False), ("s2", True), ("s3", False)]
    thoughts = [part.text for part in parts if type(part) is ReasoningPart]
    assert thoughts == ["First.\n\nAnd then.\n\nLast.", "Hm.", "Merged."]
    assert [part.text for part in parts if type(part) is RefusalPart] == ["No."]
    assert [part.text for part in parts if type(part) is CompactionPart] == ["We spoke of news.", UNSET]


def test_a_sealed_thought_that_no_model_said_is_written_back() -> None:
    sealed = {"type": "redacted_thinking", "data": "x"}
    signed = {"type": "thinking", "thinking": "hm", "signature": "s"}
    for block in (sealed, {"type": "non_standard", "value": sealed}, signed):
        said = [
            {"type": "human", "data": {"content": [block], "type": "human"}},
            {"type": "tool", "data": {"content": [block], "tool_call_id": "c", "type": "tool"}},
        ]
        assert formats.write(formats.read(said, "langchain"), "langchain").data == said
