"""A call that is made again because nobody heard the answer is answered as if it had been made once."""

from __future__ import annotations

import pytest

from hansard import Ledger
from hansard.errors import Conflict
from tests.ledger.said import said, transcript


def test_an_append_that_names_the_head_may_be_made_again(ledger: Ledger) -> None:
    ledger.create_thread("t")
    ledger.append("t", said("one", id="1"))
    both = [said("two", id="2"), said("three", id="3")]
    ledger.append("t", both, expected_head="1")
    ledger.append("t", both, expected_head="1")
    ledger.append("t", said("four", id="4"))
    ledger.append("t", both, expected_head="1")
    assert transcript(ledger, "t") == ["one", "two", "three", "four"]


def test_another_message_under_that_id_is_still_refused(ledger: Ledger) -> None:
    ledger.create_thread("t")
    ledger.append("t", said("one", id="1"))
    ledger.append("t", said("two", id="2"), expected_head="1")
    with pytest.raises(Conflict, match="another message under the id '2'"):
        ledger.append("t", said("other", id="2"), expected_head="1")
    with pytest.raises(Conflict, match="the head of thread"):
        ledger.append("t", [said("two", id="2"), said("new", id="3")], expected_head="1")
    assert transcript(ledger, "t") == ["one", "two"]
