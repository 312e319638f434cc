"""Native JSON is the one format that carries everything."""

from __future__ import annotations

from hypothesis import assume, given

from hansard import formats
from hansard.model import Conversation, native
from tests.strategies import conversations


@given(conversation=conversations)
def test_native_json_carries_every_conversation(conversation: Conversation) -> None:
    assume(b'"hansard":' not in native.encode(conversation))  # its own residue is not just carried but obeyed
    assert formats.write(conversation, "hansard").losses == []
