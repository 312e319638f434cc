"""The quick way of Pydantic AI and ThreadProtocol: wherever it reads or writes, the general way does the same."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.pydantic_ai import usage as pydantic_usage
from hansard.formats.pydantic_ai.fields import DIALECTS
from hansard.formats.pydantic_ai.messages import documents as pydantic_documents
from hansard.formats.thread_protocol.records import DIALECT
from hansard.model import Conversation, Message, exact_json, native
from tests.conftest import GOLDEN
from tests.strategies import conversations

NAMES = ("pydantic-ai", "thread-protocol")
DOCUMENTS = [(name, exact_json.decode(path.read_bytes())) for name in NAMES for path in (GOLDEN / name).glob("*.json")]
TIME = "2026-03-01T09:00:00Z"
odd: Any = st.sampled_from(
    [None, 0, 0.0, -0.0, False, 2**70, "", "complete", "success", "text", TIME, [], {}, {"a": 1}]
)
names: Any = st.sampled_from(["timestamp", "metadata", "id", "content_file_digests", "unknown", "$"])


def objects_in(value: Any) -> list[dict[str, Any]]:
    inner = value.values() if type(value) is dict else value if type(value) is list else ()
    return [value] * (type(value) is dict) + [found for one in inner for found in objects_in(one)]


@st.composite
def broken_documents(draw: st.DrawFn) -> tuple[str, Any]:
    """A golden document in which one or two fields are gone, odd or new."""
    name, document = draw(st.sampled_from(DOCUMENTS))
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(0, 2))):
        one = draw(st.sampled_from(objects_in(document)))
        key = draw(st.one_of(st.sampled_from(sorted(one)), names) if one else names)
        if draw(st.booleans()):
            one[key] = copy.deepcopy(draw(odd))
        else:
            one.pop(key, None)
    return name, document


def said_of(name: str, document: Any) -> Any:
    try:
        return native.encode(formats.get(name).read(copy.deepcopy(document)))
    except Unreadable as error:
        return error.problem, error.path


def never_found(record: Any, around: Any) -> None:
    return None


@contextmanager
def the_general_way() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pydantic_documents.Reading, "request_fields", never_found)
        patch.setattr(pydantic_documents.Reading, "response_fields", never_found)
        patch.setattr(pydantic_usage, "NOTHING", b"")
        for dialect in (*DIALECTS.values(), DIALECT):
            patch.setattr(dialect, "readers", dict.fromkeys(dialect.readers, never_found))
        yield


@given(broken_documents())
def test_a_document_is_read_the_quick_way_as_it_is_the_general_way(broken: tuple[str, Any]) -> None:
    name, document = broken
    quick = said_of(name, document)
    with the_general_way():
        assert said_of(name, document) == quick


def test_a_time_that_pydantic_does_not_take_comes_back_as_it_was() -> None:
    time, defaults = "2026-01-02T03:04:05+00", DIALECTS["2.66"].defaults
    asked = {"parts": [{"content": "hi", "timestamp": time, "part_kind": "user-prompt"}], **defaults["request"]}
    said = {"parts": [{"content": "hi", **defaults["text"], "part_kind": "text"}], "usage": {}, **defaults["response"]}
    document = [
        {**asked, "kind": "request", "timestamp": time},
        {**said, "kind": "response", "timestamp": time},
    ]
    raw = exact_json.encode(document)
    assert formats.write(formats.read(raw, "pydantic-ai"), "pydantic-ai").data == document


@pytest.mark.parametrize("name", NAMES)
def test_so_is_a_document_that_lacks_any_one_field(name: str) -> None:
    for named, document in DOCUMENTS:
        for one in objects_in(document) if named == name else ():
            for key, value in list(one.items()):
                del one[key]
                quick = said_of(name, document)
                with the_general_way():
                    assert said_of(name, document) == quick
                one[key] = value


def with_residue(message: Message, name: str) -> Message:
    """The same message, with residue of the format that says nothing: it is written the general way."""

    def residue(extra: Any) -> Any:
        return {name: {}} if extra is UNSET else {name: {}, **extra}

    parts: list[Any] = [replace(part, extra=residue(part.extra)) for part in message.parts]
    return replace(message, parts=parts, extra=residue(message.extra))


@pytest.mark.parametrize("name", NAMES)
@given(conversation=conversations)
def test_a_conversation_is_written_the_quick_way_as_it_is_the_general_way(
    name: str, conversation: Conversation
) -> None:
    messages = [with_residue(message, name) for message in conversation.messages]
    write = formats.get(name).write
    quick, general = write(conversation, Target()), write(replace(conversation, messages=messages), Target())
    assert exact_json.same(exact_json.plain(quick), exact_json.plain(general))
