"""What a client is shown of calls and results, and which result answers which call."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from hansard.model import (
    FilePart,
    Message,
    RetryPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hansard.model.display import (
    answers,
    denied,
    failed,
    shown_error,
    shown_input,
    shown_media,
    shown_output,
    shown_url,
    without_ciphers,
)


def call(call_id: Any = "c", **more: Any) -> ToolCallPart:
    return ToolCallPart(tool_call_id=call_id, tool_name=more.pop("tool_name", "f"), **more)


def result(call_id: Any = "c", **more: Any) -> ToolResultPart:
    return ToolResultPart(tool_call_id=call_id, tool_name=more.pop("tool_name", "f"), **more)


def pairs(*parts: Any) -> dict[int, int]:
    """The calls that were answered with their answers, by their places in one message."""
    found = answers([Message(role="assistant", parts=list(parts))])
    return {place[1]: next(j for j, part in enumerate(parts) if part is answer) for place, answer in found.items()}


OWN, THEIRS = {"provider_executed": True}, {"provider_executed": False}


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ([call("a"), call("b"), result("b"), result("a")], {0: 3, 1: 2}),
        ([call(), result()], {0: 1}),
        ([call(**OWN), result()], {0: 1}),  # a result that does not say who made it
        ([call(), result(**OWN)], {0: 1}),
        ([call(**OWN), call(), result(), result(**OWN)], {0: 3, 1: 2}),  # one id, made by two: each has its own
        ([call(), call(**OWN), result(**OWN), result(**THEIRS)], {0: 3, 1: 2}),
        ([call(UNSET), result(UNSET)], {0: 1}),  # without ids by name
        ([call(UNSET, tool_name="g"), result(UNSET)], {}),
        ([call("a"), result(UNSET)], {}),
        ([result(), call()], {}),
        ([call(), result(), result()], {0: 1}),
        ([call(), result(preliminary=True), result()], {0: 2}),
        ([call(), call(), result(), result()], {1: 2, 0: 3}),  # a result right after a call is of that call
        ([call(), call(), TextPart(text=""), result(), result()], {0: 3, 1: 4}),  # else the first is answered first
        ([call(), RetryPart(tool_call_id="c", tool_name="f", content="no")], {0: 1}),
        ([call(**OWN), RetryPart(tool_call_id="c", tool_name="f", content="no")], {0: 1}),
        ([call(UNSET), RetryPart(tool_name="f", content="no")], {}),
    ],
)
def test_a_call_gets_the_result_that_answers_it(parts: list[Any], wanted: dict[int, int]) -> None:
    assert pairs(*parts) == wanted


def test_of_messages_the_nearest_with_an_open_call_is_answered() -> None:
    talk = [
        Message(role="assistant", parts=[call()]),
        Message(role="assistant", parts=[call(), call()]),
        Message(role="tool", parts=[result(output=1), result(output=2), result(output=3)]),
    ]
    assert {place: answer.output for place, answer in answers(talk).items() if isinstance(answer, ToolResultPart)} == {
        (1, 0): 1,
        (1, 1): 2,
        (0, 0): 3,
    }


PICTURE = FilePart(media_type="image/png", data="aGk=")
ANSWERS: list[tuple[Any, Any, str]] = [
    (result(output={"a": 1}), {"a": 1}, '{"a":1}'),
    (result(output="no"), "no", "no"),
    (result(output=None), None, ""),
    (result(), None, ""),
    (result(content=[]), [], ""),
    (result(content=[TextPart(text="x")]), "x", "x"),
    (
        result(content=[TextPart(text="x"), PICTURE, TextPart(text="y")]),
        [
            {"type": "text", "text": "x"},
            {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="},
            {"type": "text", "text": "y"},
        ],
        "xy",
    ),
    (result(content=[FilePart(media_type="image/png", file_id="f")]), [], ""),  # only its provider can find it
    (RetryPart(tool_name="f", content="again"), "again", "again"),
    (RetryPart(tool_name="f", content=[1]), [1], "[1]"),
    (RetryPart(tool_name="f"), None, ""),
]


@pytest.mark.parametrize(("answer", "output", "error"), ANSWERS)
def test_a_result_is_shown_as_data_and_an_error_as_text(answer: Any, output: Any, error: str) -> None:
    assert (shown_output(answer), shown_error(answer)) == (output, error)


def test_whether_a_result_failed_or_was_denied_is_shown() -> None:
    assert [failed(one) for one in (result(), result(is_error=True), result(is_error=False), RetryPart())] == [
        False,
        True,
        False,
        True,
    ]
    assert [denied(one) for one in (result(), result(status="denied"), result(status="x"), RetryPart())] == [
        False,
        True,
        False,
        False,
    ]


def test_the_input_of_a_call_is_shown_as_data_or_as_the_text_it_is() -> None:
    assert shown_input(call(input={"a": 1}, input_text="{}")) == {"a": 1}
    assert shown_input(call(input=None)) is None
    assert shown_input(call(input_text='{"a')) == '{"a'
    assert shown_input(call()) == {}


def test_ciphers_are_never_shown() -> None:
    held = {"a": [{"encrypted_content": "x", "b": 1}], "encrypted": 2, "c": {"encryptedX": 3}, "not_encrypted": 4}
    assert without_ciphers(held) == {"a": [{"b": 1}], "c": {}, "not_encrypted": 4}


def test_a_file_is_shown_by_its_bytes_else_by_its_address() -> None:
    assert shown_url(FilePart(media_type="a/b", data="eA==", url="https://e.x")) == "data:a/b;base64,eA=="
    assert shown_url(FilePart(url="https://e.x")) == "https://e.x"
    assert shown_url(FilePart(file_id="f")) is None
    assert shown_media(FilePart(data="")) == "application/octet-stream"
