"""The published JSON Schema says what native documents are, and lets newer ones pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

import hansard
from hansard import formats
from hansard.model import Conversation, TextPart, exact_json
from hansard.model.schema import json_schema
from tests.strategies import conversations

SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert "unknown" not in exact_json.encode(SCHEMA["$defs"]["Message"]["properties"]).decode()


@given(conversation=conversations)
def test_what_we_write_fits_it(conversation: Conversation) -> None:
    written: Any = exact_json.decode(formats.write(conversation, "hansard").json)
    document = written if type(written) is dict and "messages" in written else {"messages": written}
    assert list(VALIDATOR.iter_errors(document)) == []


WHOLE = {
    "id": "M1",
    "parentMessageId": None,
    "role": "user",
    "parts": [{"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": 1, "isError": False}],
    "createdAt": "2026-01-02T03:04:05Z",
    "metadata": {"schemaVersion": 1},
}


def test_the_fields_that_a_canonical_message_must_have_are_required() -> None:
    canonical = Draft202012Validator({"$ref": "#/$defs/CanonicalMessage", "$defs": SCHEMA["$defs"]})
    assert canonical.is_valid(WHOLE)
    for key in WHOLE:
        assert not canonical.is_valid({name: value for name, value in WHOLE.items() if name != key}), key
    (part,) = WHOLE["parts"]  # type: ignore[misc]
    for key in part:
        assert not canonical.is_valid({**WHOLE, "parts": [{k: v for k, v in part.items() if k != key}]}), key
    for wrong in ({"role": "usr"}, {"metadata": {}}, {"metadata": {"schemaVersion": "1"}}, {"parentMessageId": 1}):
        assert not canonical.is_valid({**WHOLE, **wrong}), wrong
    ledger = hansard.open(":memory:")
    ledger.create_thread("t")
    ledger.append("t", [hansard.Message(role="user", parts=[TextPart(text=word)]) for word in ("a", "b")])
    stored = hansard.write(ledger.export_conversation("t"), "hansard").data
    assert [list(canonical.iter_errors(message)) for message in stored["messages"]] == [[], []]
    ledger.close()


@pytest.mark.parametrize(
    ("document", "fits"),
    [
        ({"messages": []}, True),
        ({"messages": [{"role": "user", "parts": [{"type": "hologram", "beam": 1}], "new": True}]}, True),
        ({"messages": [{"role": "user", "parts": [{"type": "text"}]}]}, False),
        ({"messages": [{"parts": []}]}, False),
        ({}, False),
    ],
)
def test_unknown_things_pass_and_wrong_ones_do_not(document: Any, fits: bool) -> None:
    assert VALIDATOR.is_valid(document) == fits


@given(conversation=conversations)
def test_fields_of_a_newer_release_pass_everywhere(conversation: Conversation) -> None:
    """A document of a newer release is not refused by those who validate with the schema of this one."""
    written: Any = exact_json.decode(formats.write(conversation, "hansard").json)
    document = written if type(written) is dict and "messages" in written else {"messages": written}
    for node in [document, *document["messages"], *(part for m in document["messages"] for part in m["parts"])]:
        node["newer"] = {"field": 1}
    assert list(VALIDATOR.iter_errors(document)) == []
