"""OpenAI Responses: what items mean, what is written for conversations from elsewhere, and what is refused."""

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
from hansard.formats.openai_responses.messages import read, write
from hansard.model import (
    Binding,
    CompactionPart,
    Conversation,
    FilePart,
    Message,
    RawPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    exact_json,
)
from hansard.model.hashing import append
from tests.conftest import GOLDEN
from tests.official_types import problems, request_problems

NAME = "openai-responses"


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / NAME / f"{name}.json").read_bytes(), NAME)


def parts_of(*items: Any) -> list[Any]:
    """The parts of items, without residue."""
    found: list[Any] = [part for message in formats.read(list(items), NAME).messages for part in message.parts]
    return [replace(part, extra=UNSET) for part in found]


def said(*messages: Message) -> Conversation:
    return Conversation(messages=list(messages))


def user(text: str) -> Message:
    return Message(role="user", parts=[TextPart(text=text)])


def assistant(*parts: Any) -> Message:
    return Message(role="assistant", parts=list(parts))


def tool(*parts: Any) -> Message:
    return Message(role="tool", parts=list(parts))


ITEMS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"role": "user", "content": "hi"}, [TextPart(text="hi")]),
    ({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "a"}]}, [TextPart(text="a")]),
    (
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {
                    "type": "output_text",
                    "text": "a",
                    "annotations": [{"type": "file_path", "file_id": "f"}],
                },
                {"type": "refusal", "refusal": "no"},
            ],
        },
        [TextPart(text="a"), RefusalPart(text="no")],
    ),
    (
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1.0}', "id": "fc_1"},
        [ToolCallPart(tool_call_id="c1", tool_name="f", input={"a": 1.0})],
    ),
    (
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1'},
        [ToolCallPart(tool_call_id="c1", tool_name="f", input_text='{"a": 1')],
    ),
    (
        {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "SELECT 1"},
        [ToolCallPart(tool_call_id="c1", tool_name="sql", input="SELECT 1")],
    ),
    (
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        [ReasoningPart(text="hm")],
    ),
    (
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        [
            ToolCallPart(
                tool_call_id="ws_1",
                tool_name="web_search",
                input={"type": "search", "query": "q"},
                provider_executed=True,
            )
        ],
    ),
    (
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "code": "1",
            "container_id": "x",
            "outputs": [{"type": "logs", "logs": "1"}],
        },
        [
            ToolCallPart(
                tool_call_id="ci_1", tool_name="code_interpreter", input={"code": "1"}, provider_executed=True
            ),
            ToolResultPart(
                tool_call_id="ci_1",
                tool_name="code_interpreter",
                output=[{"type": "logs", "logs": "1"}],
                is_error=False,
                provider_executed=True,
            ),
        ],
    ),
    (
        {
            "type": "image_generation_call",
            "id": "ig_1",
            "status": "completed",
            "result": "aGk=",
            "output_format": "webp",
        },
        [
            ToolCallPart(tool_call_id="ig_1", tool_name="image_generation", provider_executed=True),
            ToolResultPart(
                tool_call_id="ig_1",
                tool_name="image_generation",
                content=[FilePart(data="aGk=", media_type="image/webp")],
                is_error=False,
                provider_executed=True,
            ),
        ],
    ),
    (
        {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "f", "arguments": "{}", "error": "gone"},
        [
            ToolCallPart(tool_call_id="mcp_1", tool_name="f", input={}, provider_executed=True),
            ToolResultPart(tool_call_id="mcp_1", tool_name="f", output="gone", is_error=True, provider_executed=True),
        ],
    ),
    (
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
        [ToolCallPart(tool_call_id="c1", tool_name="shell", input={"commands": ["ls"]})],
    ),
    (
        {"type": "local_shell_call_output", "id": "c1", "output": "a"},
        [ToolResultPart(tool_call_id="c1", tool_name="local_shell", output="a", is_error=False)],
    ),
    (
        {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed", "output": "no"},
        [ToolResultPart(tool_call_id="c1", tool_name="apply_patch", output="no", is_error=True)],
    ),
    ({"type": "teleport_call", "id": "tp_1"}, [RawPart(format=NAME, value={"type": "teleport_call", "id": "tp_1"})]),
]


@pytest.mark.parametrize(("item", "parts"), ITEMS, ids=[item.get("type", "easy") for item, _ in ITEMS])
def test_an_item_means_these_parts(item: dict[str, Any], parts: list[Any]) -> None:
    assert parts_of(item) == parts


BLOCKS: list[tuple[dict[str, Any], FilePart]] = [
    (
        {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
        FilePart(url="https://example.org/a.png", media_type="image/*"),
    ),
    (
        {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
        FilePart(data="aGk=", media_type="image/png"),
    ),
    (
        {"type": "input_file", "file_data": "data:application/pdf;base64,aGk=", "filename": "a.pdf"},
        FilePart(data="aGk=", media_type="application/pdf", name="a.pdf"),
    ),
    ({"type": "input_file", "file_id": "file_1"}, FilePart(file_id="file_1", binding=Binding(provider="openai"))),
    (
        {"type": "input_file", "file_data": "data:text/csv;base64,aGk=", "filename": "unnamed"},
        FilePart(data="aGk=", media_type="text/csv"),
    ),
]


@pytest.mark.parametrize(("block", "part"), BLOCKS)
def test_a_file_in_its_usual_spelling_leaves_no_residue(block: dict[str, Any], part: FilePart) -> None:
    assert formats.read([{"role": "user", "content": [block]}], NAME).messages[0].parts == [part]


def test_runs_of_items_are_one_message_each() -> None:
    conversation = golden("request_tool_loop")
    roles = [message.role for message in conversation.messages]
    assert roles == ["system", "developer", "user", "assistant", "tool", "assistant", "user"]
    turn = conversation.messages[3].parts
    assert [type(part) for part in turn] == [ReasoningPart, TextPart, ToolCallPart, ToolCallPart]
    assert isinstance(turn[0], ReasoningPart)
    assert (turn[0].text, turn[0].encrypted) == ("Two cities.\n\nTwo calls.", "gAAAAB-one")
    assert isinstance(turn[0].binding, Binding)
    assert turn[0].binding.provider == "openai"


def test_the_usual_messages_leave_no_residue() -> None:
    items = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "o"},
    ]
    conversation = formats.read({"input": items}, NAME)
    assert conversation == said(
        Message(role="system", parts=[TextPart(text="s")]),
        user("u"),
        assistant(TextPart(text="a"), ToolCallPart(tool_call_id="c", tool_name="f", input={})),
        tool(ToolResultPart(tool_call_id="c", tool_name="f", output="o", is_error=False)),
    )


def test_a_response_tells_model_usage_and_the_reason_of_its_end() -> None:
    message = golden("response_with_reasoning_and_call").messages[0]
    assert message.model is not UNSET
    assert message.model.name == "gpt-5.5-2026-04-23"
    assert message.model.response_id == "resp_1"
    assert message.finish_reason == "tool_call"
    assert message.usage == Usage(
        input_tokens=50,
        output_tokens=20,
        total_tokens=70,
        cache_read_tokens=32,
        cache_write_tokens=0,
        reasoning_tokens=8,
    )
    cut = golden("response_cut_short").messages[0]
    assert (cut.parts, cut.finish_reason) == ([], "length")


def test_what_the_server_ran_stays_with_the_assistant() -> None:
    conversation = golden("response_of_a_server_shell")
    assert [message.role for message in conversation.messages] == ["assistant", "tool", "assistant"]
    shell = conversation.messages[0].parts[1]
    assert isinstance(shell, ToolResultPart)
    assert (shell.tool_name, shell.provider_executed) == ("shell", True)


def test_a_result_goes_into_the_item_of_its_own_call_only() -> None:
    calls = [{"type": "mcp_call", "id": f"mcp_{n}", "name": "t", "arguments": "{}", "output": f"{n}"} for n in (1, 2)]
    (one, first), (two, second) = (formats.read([call], NAME).messages[0].parts for call in calls)
    mixed = said(user("hi"), assistant(one, TextPart(text="hm"), first, two, second))
    written = write(mixed, Target())["input"]
    assert [item.get("output") for item in written] == [None, None, None, "2"]
    swapped = write(said(user("hi"), assistant(one, two, first)), Target())["input"]
    assert [item.get("output") for item in swapped] == [None, None, None]


def test_few_own_messages_need_to_be_written_as_they_are() -> None:
    for path in (GOLDEN / NAME).glob("*.json"):
        if path.stem in ("unknown_things", "control_items", "ends_in_a_thought", "half_a_character_in_arguments"):
            continue
        for message in formats.read(path.read_bytes(), NAME).messages:
            assert "asIs" not in str(message.extra), (path.stem, message.role)


# -- written for conversations from elsewhere ----------------------------------------------------------------------


def test_a_plain_conversation_is_written_in_the_short_form() -> None:
    conversation = said(
        Message(role="system", parts=[TextPart(text="s")]),
        user("u"),
        assistant(TextPart(text="a"), TextPart(text="b")),
    )
    written = formats.write(conversation, NAME)
    assert written.losses == []
    assert written.data == {
        "input": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": "a"},
            {"role": "assistant", "content": "b"},
        ]
    }


def test_files_from_elsewhere_are_written_by_their_kind() -> None:
    message = Message(
        role="user",
        parts=[
            FilePart(data="aGk=", media_type="image/png"),
            FilePart(data="aGk=", media_type="application/pdf"),
            FilePart(url="https://example.org/a.pdf", media_type="application/pdf"),
            FilePart(data="aGk=", media_type="audio/wav"),
            FilePart(file_id="anothers", media_type="image/png", binding=Binding(provider="elsewhere")),
        ],
    )
    written = formats.write(said(message), NAME)
    assert written.data["input"][0]["content"] == [
        {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,aGk=", "filename": "unnamed.pdf"},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
    ]
    assert problems(NAME, written.data) == []
    assert [loss.path for loss in written.losses] == ["$.messages[0].parts[3]", "$.messages[0].parts[4]"]


def test_a_file_id_of_another_provider_does_not_hide_in_a_tool_result() -> None:
    call = ToolCallPart(tool_call_id="c", tool_name="f", input={})
    content: list[Any] = [
        TextPart(text="t"),
        FilePart(file_id="anothers", media_type="image/png", binding=Binding(provider="elsewhere")),
    ]
    conversation = said(user("u"), assistant(call), tool(ToolResultPart(tool_call_id="c", content=content)))
    written = formats.write(conversation, NAME)
    assert b"anothers" not in written.json
    assert any("a file id belongs to the provider" in loss.why for loss in written.losses)


@pytest.mark.parametrize(
    ("call", "output"),
    [
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "done"},
        ),
        (
            {"type": "local_shell_call", "id": "l", "call_id": "c", "status": "completed", "action": {"type": "exec"}},
            {"type": "local_shell_call_output", "id": "c", "output": "done"},
        ),
        (
            {"type": "apply_patch_call", "call_id": "c", "status": "completed", "operation": {"type": "delete_file"}},
            {"type": "apply_patch_call_output", "call_id": "c", "status": "completed", "output": "done"},
        ),
        (
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
            {
                "type": "shell_call_output",
                "call_id": "c",
                "output": [{"stdout": "done", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
            },
        ),
    ],
)
def test_a_result_from_elsewhere_answers_in_the_way_of_its_call(call: dict[str, Any], output: dict[str, Any]) -> None:
    conversation = formats.read([{"role": "user", "content": "u"}, call], NAME)
    answer = tool(ToolResultPart(tool_call_id="c", output="done", is_error=False))
    longer = replace(conversation, messages=[*conversation.messages, answer])
    assert formats.write(longer, NAME).data == [{"role": "user", "content": "u"}, call, output]


def test_a_screenshot_from_elsewhere_answers_a_computer_call() -> None:
    call = {"type": "computer_call", "id": "cu", "call_id": "c", "status": "completed", "pending_safety_checks": []}
    conversation = formats.read([{"role": "user", "content": "u"}, call], NAME)
    content: list[Any] = [TextPart(text="see"), FilePart(data="aGk=", media_type="image/png")]
    answer = tool(ToolResultPart(tool_call_id="c", content=content))
    longer = replace(conversation, messages=[*conversation.messages, answer])
    assert formats.write(longer, NAME).data[-1] == {
        "type": "computer_call_output",
        "call_id": "c",
        "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,aGk="},
    }


# -- reasoning -----------------------------------------------------------------------------------------------------

TURN = [
    {"role": "user", "content": "u"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "I call.", "annotations": []}],
    },
    {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "o"},
]


def test_items_whose_reasoning_goes_are_no_longer_known_by_their_ids() -> None:
    conversation = formats.read(TURN, NAME)
    edited = replace(conversation, messages=[user("other words"), *conversation.messages[1:]])
    written = formats.write(edited, NAME)
    assert written.data == [
        {"role": "user", "content": "other words"},
        {"role": "assistant", "content": "I call.", "phase": "commentary"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "o"},
    ]
    assert problems(NAME, written.data) == []
    assert {loss.why for loss in written.losses} >= {
        "the messages before it are not those it was made for",
        f"{NAME} takes it only with its reasoning",
    }


def test_a_thought_that_nothing_followed_is_not_sent_again() -> None:
    start = formats.read([{"role": "user", "content": "u"}], NAME)
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
    cut = {"object": "response", "id": "resp_1", "status": "incomplete", "model": "m", "output": [thought]}
    both = append(start, formats.read(cut, NAME))
    assert formats.write(both, NAME).data[-1] == thought
    longer = replace(both, messages=[*both.messages, user("go on")])
    written = formats.write(longer, NAME)
    assert written.data == [{"role": "user", "content": "u"}, {"role": "user", "content": "go on"}]
    assert [loss.path for loss in written.losses if loss.what == "the reasoning"] == ["$.messages[1].parts[0]"]


def test_reasoning_of_openai_that_came_another_way_is_written_as_an_item() -> None:
    thought = ReasoningPart(text="hm", signature="gAAA", id="rs_1", binding=Binding(provider="openai"))
    stranger = ReasoningPart(text="hm", signature="sig", binding=Binding(provider="anthropic"))
    data = formats.write(said(user("u"), assistant(thought, TextPart(text="a"))), NAME).data
    assert data["input"][1] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "gAAA",
    }
    data = formats.write(said(user("u"), assistant(stranger, TextPart(text="a"))), NAME).data
    assert data["input"][1:] == [{"role": "assistant", "content": "a"}]


def test_a_compaction_goes_to_its_maker_only() -> None:
    conversation = formats.read(
        [
            {"type": "compaction", "encrypted_content": "gAAA"},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "u"},
        ],
        NAME,
    )
    assert isinstance(conversation.messages[0].parts[0], CompactionPart)
    for other in ("anthropic", "openai-chat", "gemini"):
        written = formats.write(conversation, other)
        assert b"gAAA" not in written.json
        assert "$.messages[0].parts[0]" in [loss.path for loss in written.losses]


# -- shapes --------------------------------------------------------------------------------------------------------


def test_instructions_come_back_as_a_field_and_only_there() -> None:
    document = {"instructions": "i", "input": "u"}
    conversation = formats.read(document, NAME)
    assert [message.role for message in conversation.messages] == ["system", "user"]
    assert formats.write(conversation, NAME).data == document
    assert formats.write(conversation, "anthropic").data == {
        "system": "i",
        "messages": [{"role": "user", "content": "u"}],
    }
    longer = replace(conversation, messages=[*conversation.messages, assistant(TextPart(text="a"))])
    assert formats.write(longer, NAME).data == {
        "instructions": "i",
        "input": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}],
    }


def test_a_response_that_is_answered_becomes_a_request() -> None:
    response = golden("response_with_reasoning_and_call")
    answer = tool(ToolResultPart(tool_call_id="call_1", output="sun", is_error=False))
    data = formats.write(replace(response, messages=[*response.messages, answer]), NAME).data
    assert {"id", "object", "status", "output", "usage", "created_at"}.isdisjoint(data)
    assert request_problems(NAME, {**data, "model": "m"}) == []
    kinds = [item["type"] for item in data["input"]]
    assert kinds == ["reasoning", "message", "function_call", "function_call_output"]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (3, "$"),
        ({}, "$.input"),
        ({"input": None}, "$.input"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "$.input"),
        ({"input": [{"role": "user", "content": "hi"}, 3]}, "$.input[1]"),
        ([{"parts": []}], "$[0]"),
        ({"object": "response", "output": ["hi"]}, "$.output[0]"),
    ],
)
def test_what_is_no_document_is_refused_with_its_place(document: Any, path: str) -> None:
    with pytest.raises(Unreadable) as caught:
        formats.read(document, NAME)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("document", "sure"),
    [
        ({"object": "response", "output": []}, 3),
        ({"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]}, 3),
        ([{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}], 3),
        ({"input": [{"role": "user", "content": "hi"}]}, 2),
        ({"input": "hi", "instructions": "be brief"}, 2),
        ({"input": "hi", "model": "m"}, 1),
        ([{"role": "user", "content": "hi"}], 1),
        ([{"role": "user", "content": [{"type": "text", "text": "hi"}]}], 0),
        ([{"role": "tool", "content": "hi", "tool_call_id": "c"}], 0),
        ({"messages": []}, 0),
        ([], 0),
        (None, 0),
        (b"{}", 0),
        ([[1], {"type": {}}], 0),
        ([{"type": ["message"], "role": []}], 0),
    ],
)
def test_how_surely_a_document_is_of_this_format(document: Any, sure: int) -> None:
    assert formats.get(NAME).sniff(document) == sure


def test_golden_files_with_items_of_our_own_are_certain() -> None:
    for path in (GOLDEN / NAME).glob("*.json"):
        if path.stem not in ("request_with_a_string", "request_of_a_stored_prompt"):
            assert formats.get(NAME).sniff(exact_json.decode(path.read_bytes())) == 3, path.stem


_IDS = st.sampled_from(["c1", "c2"])
_ITEMS = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system", "developer"]), "content": st.text(max_size=5)}
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("function_call"),
            "call_id": _IDS,
            "name": st.text(max_size=5),
            "arguments": st.sampled_from(["", "{}", '{"a": 1}', '{"a":', "[1.0]"]),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("custom_tool_call"), "call_id": _IDS, "name": st.just("sql"), "input": st.text(max_size=5)}
    ),
    st.fixed_dictionaries({"type": st.just("function_call_output"), "call_id": _IDS, "output": st.text(max_size=5)}),
)


@given(items=st.lists(_ITEMS, max_size=8))
def test_one_more_field_changes_nothing_else(items: list[dict[str, Any]]) -> None:
    """Plain items take a quick way of their own, those with a field more the general one."""
    longer = [{**item, "more": 1} for item in items]
    plain, general = read(items), read(longer)

    def bare(conversation: Conversation) -> list[Message]:
        return [
            replace(message, parts=[replace(part, extra=UNSET) for part in message.parts], extra=UNSET)
            for message in conversation.messages
        ]

    assert bare(plain) == bare(general)
    assert write(plain, Target()) == items
    assert write(general, Target()) == longer


def test_a_search_for_tools_that_the_server_made_is_a_call_with_its_result() -> None:
    raw = (GOLDEN / NAME / "search_for_tools_by_the_server.json").read_bytes()
    (message,) = formats.read(raw).messages
    search, found, call = message.parts
    assert isinstance(search, ToolCallPart)
    assert isinstance(found, ToolResultPart)
    assert isinstance(call, ToolCallPart)
    assert (search.tool_call_id, search.input, search.provider_executed) == ("tsc_1", {"paths": ["weather"]}, True)
    assert (found.tool_call_id, found.tool_name, found.provider_executed) == ("tsc_1", "tool_search", True)
    assert call.provider_executed is UNSET


def test_what_openai_takes_only_with_its_reasoning_goes_with_it_and_is_reported() -> None:
    """A prompt that was edited unbinds the reasoning after it: ids of its items, and hosted calls, would be refused."""
    items: list[Any] = [
        {"role": "user", "content": "q"},
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": []},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "item_reference", "id": "msg_9"},
        {"type": "of_tomorrow", "id": "c"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "x"},
    ]
    conversation = formats.read({"model": "gpt-5", "input": items}, "openai-responses")
    conversation.messages[0] = replace(conversation.messages[0], parts=[TextPart(text="other")])
    written = formats.write(conversation, "openai-responses")
    assert written.data["input"] == [
        {"role": "user", "content": "other"},
        {"type": "of_tomorrow", "id": "c"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "x"},
    ]
    places = [loss.path.removeprefix("$.messages[1].parts") for loss in written.losses]
    assert places == ["[0]", "[1]", "[2]", "[4].extra.openai-responses.id"]
