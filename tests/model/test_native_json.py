"""Native JSON of what this release does not know, and of strings that are not Unicode."""

from __future__ import annotations

from typing import Any

import pytest

from hansard.model import native
from hansard.model.conversation import Message
from hansard.model.parts import TextPart, Unknown

HALF = "half of a pair \ud83d"


@pytest.mark.parametrize("text", ["", "text", "\U0001f600", HALF])
@pytest.mark.parametrize("unknown", [None, {"newer": [{"deep": "text"}]}, {"newer": HALF}, {HALF: 1}])
def test_half_a_pair_is_found_wherever_it_is(text: str, unknown: dict[str, Any] | None) -> None:
    more = {} if unknown is None else {"unknown": Unknown(unknown)}
    message = Message(role="user", parts=[TextPart(text=text, **more)])
    holds = text == HALF or unknown in ({"newer": HALF}, {HALF: 1})
    assert native.holds_surrogates(message) is holds
    assert native.decode_own(Message, native.encode(message)) == message
