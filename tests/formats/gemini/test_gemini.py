"""Gemini: what a document means, what others' conversations become, and what is refused."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.gemini.reasoning import DUMMY
from hansard.model import (
    Conversation,
    FilePart,
    Message,
    RawPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    exact_json,
    native,
)
from tests.conftest import GOLDEN
from tests.official_types import problems

SIGNATURE = "U2lnbmVk"


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def read(*contents: Any, **settings: Any) -> Conversation:
    return formats.read({"contents": list(contents), **settings}, "gemini")


def written(*messages: Message) -> Any:
    return formats.write(Conversation(messages=list(messages)), "gemini").data


def said(role: str, *parts: Any) -> Message:
    return Message(role=role, parts=[TextPart(text=part) if type(part) is str else part for part in parts])


def one(block: Any) -> Any:
    """The part a block is read as, without what the registry adds."""
    part = read(user({"text": "hi"}), model(block)).messages[1].parts[0]
    return replace(part, binding=UNSET) if getattr(part, "binding", UNSET) is not UNSET else part


def marked(**marks: Any) -> dict[str, Any]:
    return {"gemini": {"$": marks}}


SERVED: dict[str, Any] = {"provider_executed": True}
MEANINGS: list[tuple[Any, Any]] = [
    ({"text": "hi"}, TextPart(text="hi")),
    ({"text": "", "thoughtSignature": SIGNATURE}, TextPart(text="", signature=SIGNATURE)),
    ({"text": "hm", "thought": True}, ReasoningPart(text="hm")),
    ({"text": "hm", "thought": True, "thoughtSignature": SIGNATURE}, ReasoningPart(text="hm", signature=SIGNATURE)),
    (
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": SIGNATURE},
        FilePart(media_type="image/png", data="aGk=", signature=SIGNATURE),
    ),
    (
        {"inline_data": {"mime_type": "image/png", "data": "-__-", "display_name": "a"}},
        FilePart(media_type="image/png", data="+//+", name="a", extra=marked(base64="url")),
    ),
    (
        {"fileData": {"fileUri": "gs://b/v", "mimeType": "video/mp4"}, "videoMetadata": {"fps": 2}},
        FilePart(url="gs://b/v", media_type="video/mp4", extra={"gemini": {"videoMetadata": {"fps": 2}}}),
    ),
    (
        {"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}, "thoughtSignature": SIGNATURE},
        ToolCallPart(tool_call_id="c", tool_name="f", input={"a": 1}, signature=SIGNATURE),
    ),
    (
        {"functionCall": {"name": "f"}, "thoughtSignature": DUMMY},
        ToolCallPart(tool_name="f", input={}, extra=marked(without=["args"])),
    ),
    (
        {"functionCall": {"name": "f", "partialArgs": [], "willContinue": True}, "thoughtSignature": SIGNATURE},
        ToolCallPart(
            tool_name="f",
            signature=SIGNATURE,
            extra={"gemini": {"functionCall": {"partialArgs": [], "willContinue": True}}},
        ),
    ),
    (
        {"executableCode": {"id": "x", "code": "1", "language": "PYTHON"}},
        ToolCallPart(
            tool_call_id="x",
            tool_name="code_execution",
            input={"code": "1", "language": "PYTHON"},
            extra=marked(type="executableCode"),
            **SERVED,
        ),
    ),
    (
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}},
        ToolResultPart(
            tool_name="code_execution",
            output={"outcome": "OUTCOME_FAILED", "output": "no"},
            is_error=True,
            extra=marked(type="codeExecutionResult"),
            **SERVED,
        ),
    ),
    (
        {"toolCall": {"id": "s", "toolType": "GOOGLE_MAPS", "args": {"q": 1}}},
        ToolCallPart(
            tool_call_id="s", tool_name="GOOGLE_MAPS", input={"q": 1}, extra=marked(type="toolCall"), **SERVED
        ),
    ),
    (
        {"toolResponse": {"id": "s", "toolType": "GOOGLE_MAPS", "response": {"hits": 1}}},
        ToolResultPart(
            tool_call_id="s",
            tool_name="GOOGLE_MAPS",
            output={"hits": 1},
            is_error=False,
            extra=marked(type="toolResponse"),
            **SERVED,
        ),
    ),
    ({"hologram": {}}, RawPart(format="gemini", value={"hologram": {}})),
    ({"text": 5}, RawPart(format="gemini", value={"text": 5})),
]


@pytest.mark.parametrize(("block", "meaning"), MEANINGS, ids=lambda value: str(value)[:40])
def test_a_part_means(block: Any, meaning: Any) -> None:
    assert exact_json.same(native.plain(one(block)), native.plain(meaning))


RESPONSES: list[tuple[Any, Any, bool]] = [
    ({"output": "words"}, "words", False),
    ({"output": None}, None, False),
    ({"error": "no"}, "no", True),
    ({"temperature": 4}, {"temperature": 4}, False),
    ({"output": {"temperature": 4}}, {"temperature": 4}, False),
    ({"output": 1, "more": 2}, {"output": 1, "more": 2}, False),
]


@pytest.mark.parametrize(("response", "output", "is_error"), RESPONSES)
def test_a_response_says_what_the_function_gave(response: Any, output: Any, is_error: bool) -> None:
    result = {"functionResponse": {"id": "c", "name": "f", "response": response}}
    message = read(user({"text": "hi"}), model({"functionCall": {"id": "c", "name": "f"}}), user(result)).messages[2]
    part: Any = message.parts[0]
    assert message.role == "tool"
    assert (part.output, part.is_error, part.tool_call_id, part.tool_name) == (output, is_error, "c", "f")


def test_files_of_a_response_are_content_after_its_text() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    result = {"functionResponse": {"name": "f", "response": {"output": "seen"}, "parts": [image]}}
    part: Any = read(user({"text": "hi"}), model({"functionCall": {"name": "f"}}), user(result)).messages[2].parts[0]
    assert part.content == [TextPart(text="seen"), FilePart(media_type="image/png", data="aGk=")]


def test_a_content_with_responses_and_text_is_two_messages() -> None:
    result = {"functionResponse": {"name": "f", "response": {"output": 1}}}
    conversation = read(user({"text": "hi"}), model({"functionCall": {"name": "f"}}), user(result, {"text": "and?"}))
    assert [message.role for message in conversation.messages] == ["user", "assistant", "tool", "user"]


def test_a_response_body_is_an_answer_with_usage_model_and_reason() -> None:
    conversation = formats.read((GOLDEN / "gemini" / "response.json").read_bytes(), "gemini")
    (message,) = conversation.messages
    assert message.usage == Usage(
        input_tokens=9, output_tokens=52, total_tokens=61, reasoning_tokens=40, cache_read_tokens=4
    )
    assert message.model is not UNSET
    assert (message.model.provider, message.model.name, message.model.response_id) == (
        "google",
        "gemini-3-pro-preview",
        "r-17",
    )
    assert (message.role, message.finish_reason, message.created_at) == (
        "assistant",
        "stop",
        "2026-01-02T03:04:05.678Z",
    )


@pytest.mark.parametrize(
    ("native_reason", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("SPII", "content_filter"),
        ("CONTINUATION", "CONTINUATION"),
        ("stop", "stop"),
    ],
)
def test_the_reason_to_finish_is_named_and_comes_back(native_reason: str, reason: str) -> None:
    body = {"candidates": [{"content": model({"text": "x"}), "finishReason": native_reason}]}
    conversation = formats.read(body, "gemini")
    assert conversation.messages[0].finish_reason == reason
    assert formats.write(conversation, "gemini").data == body


def test_an_answer_read_from_a_response_goes_into_a_request_without_the_rest_of_the_response() -> None:
    answer = formats.read((GOLDEN / "gemini" / "response.json").read_bytes(), "gemini").messages[0]
    document = written(said("user", "Where?"), answer)
    assert document["contents"][1].keys() == {"role", "parts"}
    assert problems("gemini", document) == []


# -- signatures ----------------------------------------------------------------------------------------------------


def calls_of(document: Any) -> list[Any]:
    return [part for content in document["contents"] for part in content["parts"] if "functionCall" in part]


def call(name: str = "f", **fields: Any) -> ToolCallPart:
    return ToolCallPart(tool_call_id=name, tool_name=name, input={}, **fields)


def test_the_first_call_of_a_foreign_turn_gets_the_dummy_and_reads_back_without_it() -> None:
    messages = [said("user", "hi"), said("assistant", "well", call("f"), call("g"))]
    source = Conversation(messages=messages)
    result = formats.write(source, "gemini")
    assert [part.get("thoughtSignature") for part in calls_of(result.data)] == [DUMMY, None]
    assert base64.b64decode(DUMMY) == b"skip_thought_signature_validator"
    assert result.losses == []


def test_an_own_call_without_signature_stays_without() -> None:
    document = {"contents": [user({"text": "hi"}), model({"functionCall": {"name": "f", "args": {}}})]}
    assert formats.write(formats.read(document, "gemini"), "gemini").data == document


def test_a_signature_lost_on_the_way_is_replaced_by_the_dummy() -> None:
    conversation = read(user({"text": "hi"}), model({"functionCall": {"name": "f"}, "thoughtSignature": SIGNATURE}))
    same = formats.write(conversation, "gemini")
    assert calls_of(same.data)[0]["thoughtSignature"] == SIGNATURE
    edited = replace(conversation, messages=[said("user", "other words"), *conversation.messages[1:]])
    changed = formats.write(edited, "gemini")
    assert calls_of(changed.data)[0]["thoughtSignature"] == DUMMY
    assert any("signature" in loss.path for loss in changed.losses)


@pytest.mark.parametrize("word", ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"])
@pytest.mark.parametrize("spelling", [str, lambda word: base64.b64encode(word.encode()).decode()])
def test_a_dummy_is_no_signature(word: str, spelling: Any) -> None:
    part = one({"functionCall": {"name": "f"}, "thoughtSignature": spelling(word)})
    assert part.signature is UNSET


def test_a_signature_of_another_model_is_not_sent() -> None:
    conversation = read(user({"text": "hi"}), model({"text": "x", "thoughtSignature": SIGNATURE}), model="gemini-3-pro")
    data = formats.write(conversation, "gemini", target=Target(model="gemini-9")).data
    assert "thoughtSignature" not in data["contents"][1]["parts"][0]


def test_thoughts_need_no_signature() -> None:
    own = read(user({"text": "hi"}), model({"text": "hm", "thought": True}, {"text": "x"}))
    assert formats.write(own, "gemini").data["contents"][1]["parts"][0] == {"text": "hm", "thought": True}
    foreign = written(said("user", "hi"), said("assistant", ReasoningPart(text="hm"), "x"))
    assert foreign["contents"][1]["parts"] == [{"text": "hm", "thought": True}, {"text": "x"}]
    empty = written(said("user", "hi"), said("assistant", ReasoningPart(text=""), "x"))
    assert empty["contents"][1]["parts"] == [{"text": "x"}]


# -- other formats' conversations ----------------------------------------------------------------------------------


def result_of(name: str, **fields: Any) -> ToolResultPart:
    return ToolResultPart(tool_call_id=name, **fields)


def test_leading_system_messages_are_the_instruction() -> None:
    document = written(said("system", "one"), said("developer", "two"), said("user", "hi"))
    assert document == {
        "systemInstruction": {"parts": [{"text": "one"}, {"text": "two"}]},
        "contents": [user({"text": "hi"})],
    }


@pytest.mark.parametrize(
    ("fields", "response"),
    [
        ({"output": "words"}, {"output": "words"}),
        ({"output": {"a": 1}}, {"a": 1}),
        ({"output": {"output": 1, "b": 2}}, {"output": {"output": 1, "b": 2}}),
        ({"output": [1, 2]}, {"output": [1, 2]}),
        ({"output": "no", "is_error": True}, {"error": "no"}),
        ({"content": [TextPart(text="a"), TextPart(text="b")]}, {"output": "a\nb"}),
        ({}, {}),
    ],
)
def test_any_result_becomes_an_object(fields: Any, response: Any) -> None:
    document = written(said("user", "hi"), said("assistant", call("f")), said("tool", result_of("f", **fields)))
    assert document["contents"][2]["parts"] == [{"functionResponse": {"id": "f", "name": "f", "response": response}}]


def test_a_result_is_named_as_its_call_is() -> None:
    odd = replace(call("f"), tool_name="2 words")
    document = written(
        said("user", "hi"), said("assistant", odd), said("tool", result_of("f", tool_name="2 words", output=1))
    )
    (written_call,) = calls_of(document)
    assert written_call["functionCall"]["name"] == "_2_words"
    assert document["contents"][2]["parts"][0]["functionResponse"]["name"] == "_2_words"


def test_answers_before_a_call_are_one_turn_with_it() -> None:
    document = written(said("user", "hi"), said("assistant", "a"), said("assistant", "b"), said("assistant", call("f")))
    assert [content["role"] for content in document["contents"]] == ["user", "model"]
    assert len(document["contents"][1]["parts"]) == 3


def test_two_answers_without_calls_stay_two() -> None:
    source = Conversation(messages=[said("user", "hi"), said("assistant", "a"), said("assistant", "b")])
    assert formats.write(source, "gemini").losses == []


def test_a_data_address_is_written_as_data() -> None:
    image = FilePart(media_type="image/*", url="data:image/png;base64,aGk=")
    for file in (image, replace(image, media_type="image/png"), replace(image, media_type=UNSET)):
        assert written(said("user", file))["contents"][0]["parts"] == [
            {"inlineData": {"data": "aGk=", "mimeType": "image/png"}}
        ]


def test_a_typical_anthropic_conversation_loses_only_what_gemini_cannot_say() -> None:
    document = {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "4 °C"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Four degrees."}]},
        ],
    }
    result = formats.convert(document, "gemini", "anthropic")
    assert result.losses == []
    assert formats.write(formats.read(result.data, "gemini"), "anthropic").data == document
    assert problems("gemini", result.data) == []


# -- spelling ------------------------------------------------------------------------------------------------------


def snake(value: Any) -> Any:
    """The document with every key spelled as the SDK does, but for the data inside it."""
    if type(value) is list:
        return [snake(item) for item in value]
    if type(value) is not dict:
        return value
    return {
        re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", key): item
        if key in ("args", "response")
        else snake(item)
        for key, item in value.items()
    }


@pytest.mark.parametrize("name", ["request", "list", "response", "server_tools", "function_results", "signatures"])
def test_both_spellings_mean_the_same_and_differ_by_one_mark(name: str) -> None:
    document = exact_json.decode((GOLDEN / "gemini" / f"{name}.json").read_bytes())
    one, other = formats.read(document, "gemini"), formats.read(snake(document), "gemini")
    assert exact_json.same(formats.write(other, "gemini").data, snake(document))
    parts = [[replace(p, extra=UNSET) for p in m.parts] for m in one.messages]
    assert [[replace(p, extra=UNSET) for p in m.parts] for m in other.messages] == parts
    marks = [part for message in other.messages for part in message.parts if "keys" in str(part.extra)]
    assert marks == []


# -- what is no Gemini document ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (3, "$"),
        ({"messages": []}, "$.contents"),
        ({"contents": 3}, "$.contents"),
        ([3], "$.contents[0]"),
        ([{"text": "hi"}], "$.contents[0]"),
        ([user(), {"role": "assistant", "parts": []}], "$.contents[1].role"),
        ([{"role": {}, "parts": []}], "$.contents[0].role"),
        ([{"role": "user", "parts": "hi"}], "$.contents[0].parts"),
        ({"candidates": [{"content": {"parts": 3}}]}, "$.candidates[0].content.parts"),
    ],
)
def test_what_is_no_gemini_document_is_refused_with_its_place(document: Any, path: str) -> None:
    with pytest.raises(Unreadable) as caught:
        formats.read(document, "gemini")
    assert caught.value.path == path


@pytest.mark.parametrize("path", sorted((GOLDEN / "gemini").glob("*.json")), ids=lambda path: path.stem)
def test_every_golden_file_fits(path: Path) -> None:
    document = exact_json.decode(path.read_bytes())
    assert formats.get("gemini").sniff(document) >= (1 if path.stem in ("one_string",) else 2)


@pytest.mark.parametrize(
    "document",
    [
        [{"role": "user", "content": "hi"}],
        {"messages": [{"role": "user", "content": "hi"}]},
        [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "hi"}]}],
        [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]}],
        {"input": "hi"},
        {},
        [],
    ],
)
def test_others_documents_do_not_fit(document: Any) -> None:
    assert formats.get("gemini").sniff(document) == 0


odd_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3), st.just(b"x")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["contents", "parts", "role", "candidates", "content", "text", "usageMetadata"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)


@given(document=odd_values)
def test_asking_whether_it_fits_never_fails(document: Any) -> None:
    assert formats.get("gemini").sniff(document) in (0, 1, 2, 3)


blocks: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from(["", "x", None, 3]),
        "thought": st.sampled_from([True, False, None]),
        "thoughtSignature": st.sampled_from([SIGNATURE, DUMMY, "no base64!", None, 3]),
        "thought_signature": st.sampled_from([SIGNATURE, DUMMY, None]),
        "functionCall": st.fixed_dictionaries(
            {},
            optional={
                "id": st.sampled_from(["c", None]),
                "name": st.sampled_from(["f", "ü", None]),
                "args": odd_values,
            },
        ),
        "function_response": st.fixed_dictionaries(
            {},
            optional={
                "id": st.sampled_from(["c", None]),
                "name": st.sampled_from(["f", "ü", None]),
                "response": st.one_of(
                    st.none(), st.dictionaries(st.sampled_from(["output", "error", "x"]), st.integers())
                ),
                "parts": st.sampled_from([None, [], [{"inlineData": {"data": "aGk="}}], [{"text": "x"}], 3]),
            },
        ),
        "inlineData": st.sampled_from([{"data": "-_"}, {"data": "aGk=", "mime_type": "image/*"}, {}, None]),
        "toolCall": st.sampled_from([{}, {"tool_type": "X", "args": {}}, {"toolType": None}]),
        "codeExecutionResult": st.sampled_from([{}, {"id": None, "outcome": []}]),
    },
)
contents = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "model", "function", "system", None])},
        optional={"parts": st.one_of(st.none(), st.lists(st.one_of(blocks, st.just({"text": "x"})), max_size=3))},
    ),
    max_size=4,
)


@given(contents=contents, instruction=st.sampled_from([None, "x", {"parts": []}, {"parts": [{"text": "x"}]}, 3]))
def test_any_contents_are_written_as_they_were_read(contents: Any, instruction: Any) -> None:
    document = {"contents": contents, "systemInstruction": instruction}
    document = exact_json.decode(exact_json.encode(exact_json.copied(unbytes(document))))
    conversation = formats.read(document, "gemini")
    result = formats.write(conversation, "gemini")
    assert exact_json.same(result.data, document)
    assert result.losses == []


counts = st.one_of(st.integers(0, 99), st.none(), st.just(1.0), st.just("9"))
candidates = st.fixed_dictionaries(
    {},
    optional={
        "content": st.one_of(st.none(), st.fixed_dictionaries({}, optional={"parts": st.lists(blocks, max_size=2)})),
        "finishReason": st.sampled_from(["STOP", "stop", "SPII", None, 3]),
        "finish_reason": st.sampled_from(["MAX_TOKENS", None]),
        "index": st.sampled_from([0, 1, None, False, 0.0]),
        "groundingMetadata": odd_values,
    },
)
bodies = st.fixed_dictionaries(
    {"candidates": st.one_of(st.none(), st.lists(st.one_of(candidates, st.none()), max_size=2))},
    optional={
        "usageMetadata": st.one_of(
            st.none(),
            st.dictionaries(
                st.sampled_from(["promptTokenCount", "candidatesTokenCount", "thoughts_token_count", "new"]), counts
            ),
        ),
        "modelVersion": st.sampled_from(["m", None, 3]),
        "model_version": st.sampled_from(["m", None]),
        "responseId": st.sampled_from(["r", None]),
        "createTime": st.sampled_from(["2026-01-02T03:04:05Z", None]),
        "promptFeedback": odd_values,
    },
)


@given(body=bodies)
def test_any_response_is_written_as_it_was_read(body: Any) -> None:
    document = exact_json.copied(unbytes(body))
    result = formats.write(formats.read(document, "gemini"), "gemini")
    assert exact_json.same(result.data, document)
    assert result.losses == []


def unbytes(value: Any) -> Any:
    if type(value) is dict:
        return {key: unbytes(item) for key, item in value.items()}
    if type(value) is list:
        return [unbytes(item) for item in value]
    return "bytes" if type(value) is bytes else value


@pytest.mark.parametrize("part", [{}, {"thought": True}, {"partMetadata": {"a": 1}}])
def test_a_part_that_says_nothing_is_kept_and_is_no_empty_text(part: dict[str, Any]) -> None:
    """Others would show an empty paragraph, and some providers refuse empty texts."""
    document = [{"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": [part, {"text": "a"}]}]
    read = formats.read(document, "gemini")
    assert [type(one) for one in read.messages[1].parts] == [RawPart, TextPart]
    assert formats.write(read, "gemini").data == document
