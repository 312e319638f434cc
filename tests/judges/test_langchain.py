"""LangChain messages, checked with langchain-core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.model import Binding, Conversation, Message, RawPart, ReasoningPart, ToolResultPart, exact_json
from tests.conftest import GOLDEN
from tests.formats.langchain.test_langchain import CALL, CALLED, said
from tests.strategies import conversations


def written(*messages: Message) -> Any:
    return formats.write(Conversation(messages=list(messages)), "langchain").data


MADE_BY_HAND = {"unknown_things", "usage_in_part", "flat", "flat_by_hand", "dumped_constructors", "one_message"}


@pytest.fixture(scope="module")
def langchain() -> Any:
    return pytest.importorskip("langchain_core.messages", reason="langchain-core is not installed: nobody judges")


@pytest.mark.parametrize("path", sorted((GOLDEN / "langchain").glob("*.json")), ids=lambda path: path.stem)
def test_the_library_reads_what_we_wrote_as_what_we_read(langchain: Any, path: Path) -> None:
    if path.stem in MADE_BY_HAND:
        return
    document = exact_json.decode(path.read_bytes())
    again = formats.convert(path.read_bytes(), "langchain", "langchain").data
    assert langchain.messages_from_dict(again) == langchain.messages_from_dict(document)


@pytest.mark.filterwarnings("ignore")  # `load` calls itself a beta
def test_the_library_loads_constructors_that_we_wrote(langchain: Any) -> None:
    from langchain_core.load import load

    raw = (GOLDEN / "langchain" / "dumped_constructors.json").read_bytes()
    again = formats.convert(raw, "langchain", "langchain").data
    assert load(again, allowed_objects="messages") == load(exact_json.decode(raw), allowed_objects="messages")


def test_the_library_takes_flat_messages_that_we_wrote(langchain: Any) -> None:
    for name in ("flat", "flat_by_hand"):
        data = formats.convert((GOLDEN / "langchain" / f"{name}.json").read_bytes(), "langchain", "langchain").data
        messages = langchain.convert_to_messages(data["messages"] if type(data) is dict else data)
        assert [message.type for message in messages][:2] == ["human", "ai"]


def foreign(conversation: Conversation) -> Conversation:
    """The same without what only a document of LangChain itself could have left there."""
    messages = []
    for message in conversation.messages:
        parts = [replace(part, extra=UNSET) for part in message.parts]
        parts = [part for part in parts if type(part) is not RawPart or part.format != "langchain"]
        for part in parts:
            if type(part) is ToolResultPart and type(part.content) is list:
                part.content[:] = [inner for inner in part.content if type(inner) is not RawPart]
        messages.append(replace(message, parts=parts, extra=UNSET))
    return replace(conversation, messages=messages, extra=UNSET)


@given(conversation=conversations.map(foreign))
def test_the_library_takes_every_conversation_of_others(langchain: Any, conversation: Conversation) -> None:
    data = formats.write(conversation, "langchain").data
    for record, message in zip(data, langchain.messages_from_dict(data), strict=True):
        assert all(type(block["type"]) is str for block in message.content_blocks)
        dumped = langchain.message_to_dict(message)["data"]
        assert exact_json.same(dumped["content"], record["data"]["content"])
        assert dumped.get("tool_calls") == record["data"].get("tool_calls")
        assert dumped.get("usage_metadata") == record["data"].get("usage_metadata")


def test_a_turn_of_thinking_and_calls_is_whole_in_the_librarys_own_blocks(langchain: Any) -> None:
    thought = ReasoningPart(text="hm", signature="s", binding=Binding(provider="anthropic"))
    message = langchain.messages_from_dict(written(said("assistant", thought, CALLED, "so")))[0]
    assert [block["type"] for block in message.content_blocks] == ["reasoning", "tool_call", "text"]
    assert message.tool_calls == [{**CALL, "type": "tool_call"}]
    plain = langchain.messages_from_dict(written(said("assistant", "so", CALLED)))[0]
    assert [block["type"] for block in plain.content_blocks] == ["text", "tool_call"]
