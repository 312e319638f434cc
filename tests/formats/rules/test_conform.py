"""Every repair a provider's rules ask for is made, is reported with its place and reason, and stays the same."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.model import (
    Binding,
    Conversation,
    FilePart,
    Message,
    RawPart,
    ReasoningPart,
    RefusalPart,
    RetryPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.official_types import problems

PROVIDERS = ["anthropic", "openai-chat", "openai-responses", "gemini"]


def user(*parts: Any) -> Message:
    return Message(role="user", parts=[TextPart(text=part) if isinstance(part, str) else part for part in parts])


def assistant(*parts: Any) -> Message:
    return replace(user(*parts), role="assistant")


def tool(*parts: Any) -> Message:
    return replace(user(*parts), role="tool")


def call(name: str, **more: Any) -> ToolCallPart:
    return ToolCallPart(**{"tool_call_id": name, "tool_name": "look", "input": {"at": name}, **more})


def result(name: str, **more: Any) -> ToolResultPart:
    return ToolResultPart(**{"tool_call_id": name, "tool_name": "look", "output": "seen", "is_error": False, **more})


CASES: dict[str, tuple[list[Message], str, str]] = {
    "results_of_a_turn_are_grouped": (
        [user("go"), assistant(call("a"), call("b")), tool(result("b")), tool(result("a"))],
        "$.messages[3].parts[0]",
        "takes all results of a turn in the next message",
    ),
    "a_result_comes_before_the_users_words": (
        [user("go"), assistant(call("a")), user("wait"), tool(result("a"))],
        "$.messages[3].parts[0]",
        "takes all results of a turn in the next message",
    ),
    "a_call_without_result_gets_one": (
        [user("go"), assistant(call("a")), user("never mind")],
        "$.messages[2]",
        "refuses a call without a result",
    ),
    "a_result_without_call_goes": (
        [user("go"), assistant("ok"), tool(result("nobody"))],
        "$.messages[2].parts[0]",
        "takes a result only for a call it knows",
    ),
    "two_calls_of_one_id_are_told_apart": (
        [user("go"), assistant(call("a")), tool(result("a")), assistant(call("a")), tool(result("a"))],
        "$.messages[3].parts[0].toolCallId",
        "wants one id of its shape for each call",
    ),
    "a_name_is_made_legal": (
        [user("go"), assistant(call("a", tool_name="look up!")), tool(result("a"))],
        "$.messages[1].parts[0].toolName",
        "allows no such name",
    ),
    "another_providers_file_id_goes": (
        [user("see", FilePart(media_type="image/png", file_id="f1", binding=Binding(provider="elsewhere")))],
        "$.messages[0].parts[1]",
        "a file id belongs to the provider that gave it",
    ),
    "another_providers_thinking_goes": (
        [user("go"), assistant(ReasoningPart(text="hm", signature="s", binding=Binding(provider="elsewhere")), "ok")],
        "$.messages[1].parts[0]",
        "",
    ),
    "another_formats_raw_part_goes": (
        [user("go", RawPart(format="elsewhere", value={"x": 1}))],
        "$.messages[0].parts[1]",
        "does not know it",
    ),
    "another_providers_own_tools_go": (
        [user("go"), assistant(call("a", provider_executed=True), result("a", provider_executed=True), "found")],
        "$.messages[1].parts[0]",
        "no place for it here",
    ),
    "half_a_surrogate_pair_is_replaced": (
        [user("half \ud83d pair")],
        "$.messages[0].parts[0]",
        "rejects JSON with a lone surrogate",
    ),
    "an_event_goes": ([user("go"), Message(role="event", parts=[TextPart(text="x")])], "$.messages[1]", "no event"),
    "words_to_try_again_become_text": (
        [user("go"), assistant("ok"), user(RetryPart(content="again, please"))],
        "$.messages[2].parts[0]",
        "has no retry parts",
    ),
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("case", CASES)
def test_a_repair_is_made_and_reported(case: str, provider: str) -> None:
    messages, path, why = CASES[case]
    if provider == "gemini" and case == "two_calls_of_one_id_are_told_apart":
        return  # ids are free there
    written = formats.write(Conversation(messages=messages), provider)
    assert problems(provider, written.data) == []
    reasons = [(loss.path, loss.why) for loss in written.losses]
    assert any(why in told and (path.startswith(at) or at.startswith(path)) for at, told in reasons), reasons
    assert formats.write(Conversation(messages=messages), provider).json == written.json


@pytest.mark.parametrize("provider", PROVIDERS)
def test_names_that_differ_only_in_illegal_letters_stay_apart(provider: str) -> None:
    names = ["look up", "look_up", "look?up", "look up", "1" * 200 + "a", "1" * 200 + "b", "", "tool"]
    messages = [user("go")]
    for k, name in enumerate(names):
        messages += [assistant(call(f"c{k}", tool_name=name)), tool(result(f"c{k}", tool_name=name))]
    written = formats.write(Conversation(messages=messages), provider)
    calls = [part for message in formats.read(written.json, provider).messages for part in message.parts]
    made = [part.tool_name for part in calls if type(part) is ToolCallPart]
    assert len(set(made)) == len(set(names))
    assert made[3] == made[0]
    assert made[1] == "look_up", "a legal name is nobody else's"
    assert [part.tool_name for part in calls if type(part) is ToolResultPart] == made
    told = {loss.path for loss in written.losses}
    changed = {f"$.messages[{2 * k + 1}].parts[0].toolName" for k, name in enumerate(names) if made[k] != name}
    assert changed <= told
    assert problems(provider, written.data) == []


def test_data_that_is_no_base64_does_not_reach_those_who_refuse_it() -> None:
    given = ["aGk=", "aGk", "a\nG\nk=", "_-8=", "<the file>", "...", "aGkaG"]
    files = [FilePart(media_type="image/png", data=data) for data in given]
    linked = FilePart(media_type="image/png", url="data:image/png;base64,<the file>")
    shown = tool(result("a", output=UNSET, content=[*files, linked]))
    messages = [user(*files, linked), assistant(call("a")), shown]
    written = formats.write(Conversation(messages=messages), "gemini")
    assert problems("gemini", written.data) == []
    sent = [part["inlineData"]["data"] for part in written.data["contents"][0]["parts"]]
    assert sent == ["aGk=", "aGk=", "aGk=", "_-8="]
    told = {loss.path: loss.why for loss in written.losses}
    for place in ("$.messages[0].parts", "$.messages[2].parts[0].content"):
        assert all("as base64" in told[f"{place}[{k}]"] for k in (4, 5, 6, 7))
        assert all("no other" in told[f"{place}[{k}].data"] for k in (1, 2))
    own = {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "..."}}]}]}
    assert formats.write(formats.read(own, "gemini"), "gemini").data == own


def test_thinking_is_kept_or_dropped_as_one() -> None:
    good, bad = (
        ReasoningPart(text="a", signature="s", binding=Binding(provider="anthropic")),
        ReasoningPart(text="b", signature="t", binding=Binding(provider="anthropic", model="other")),
    )
    target = formats.Target(model="mine")
    written = formats.write(Conversation(messages=[user("go"), assistant(good, bad, "ok")]), "anthropic", target=target)
    assert written.data["messages"][1]["content"] == [{"type": "text", "text": "ok"}]
    kept = formats.write(Conversation(messages=[user("go"), assistant(good, "ok")]), "anthropic", target=target)
    assert [block["type"] for block in kept.data["messages"][1]["content"]] == ["thinking", "text"]


def test_input_that_is_no_object_is_wrapped_for_those_who_want_one() -> None:
    cut = call("a", input=UNSET, input_text='{"city": "Tok')
    messages = [user("go"), assistant(cut), tool(result("a"))]
    written = formats.write(Conversation(messages=messages), "anthropic")
    assert written.data["messages"][1]["content"][0]["input"] == {"input": '{"city": "Tok'}
    assert any(loss.path == "$.messages[1].parts[0].input" and loss.kind == "repair" for loss in written.losses)
    chat = formats.write(Conversation(messages=messages), "openai-chat")
    assert chat.data["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"city": "Tok'


def test_illegal_ids_are_mapped_the_same_way_in_call_and_result() -> None:
    messages = [user("go"), assistant(call("a.b/1")), tool(result("a.b/1"))]
    written = formats.write(Conversation(messages=messages), "anthropic").data["messages"]
    assert written[1]["content"][0]["id"] == written[2]["content"][0]["tool_use_id"] == "a_b_1"


def test_a_late_system_message_moves_to_the_front() -> None:
    late = Message(role="system", parts=[TextPart(text="Be brief.")])
    messages = [user("go"), assistant("ok"), late, user("on")]
    for provider in ("anthropic", "gemini"):
        losses = formats.write(Conversation(messages=messages), provider).losses
        assert [(loss.path, loss.what, loss.kind) for loss in losses] == [
            ("$.messages[2]", "moved to the front", "repair")
        ]
    assert formats.write(Conversation(messages=messages), "openai-chat").losses == []


def test_a_late_system_message_after_bound_reasoning_becomes_the_users_text() -> None:
    thought = ReasoningPart(text="hm", signature="c2ln", binding=Binding(provider="anthropic"))
    late = Message(role="system", parts=[TextPart(text="Be brief.")])
    messages = [user("go"), assistant(thought, "ok"), late, user("on")]
    written = formats.write(Conversation(messages=messages), "anthropic")
    assert "system" not in written.data
    assert [block["text"] for block in written.data["messages"][2]["content"]] == ["Be brief.", "on"]
    assert written.data["messages"][1]["content"][0]["signature"] == "c2ln"


def test_a_refusal_is_text_where_there_are_no_refusals() -> None:
    messages = [user("go"), assistant(RefusalPart(text="I will not."))]
    content = formats.write(Conversation(messages=messages), "anthropic").data["messages"][1]["content"]
    assert content == [{"type": "text", "text": "I will not."}]
    assert formats.write(Conversation(messages=messages), "openai-chat").losses == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_lawful_conversation_is_not_touched(provider: str) -> None:
    messages = [user("go"), assistant("look", call("a"), call("b")), tool(result("a"), result("b")), assistant("ok")]
    assert formats.write(Conversation(messages=messages), provider).losses == []


def test_ids_that_become_the_same_are_numbered() -> None:
    """The same in every release: a cache of the provider's would be lost otherwise."""
    messages = [user("go"), assistant(call("a b"), call("a.b"), call("a_b")), tool(*map(result, ("a b", "a.b", "a_b")))]
    written = formats.write(Conversation(messages=messages), "anthropic").data["messages"]
    ids = [block["id"] for block in written[1]["content"]]
    assert ids == ["a_b", "a_b_2", "a_b_3"]
    assert [block["tool_use_id"] for block in written[2]["content"]] == ids
