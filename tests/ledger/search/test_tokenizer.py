"""Words cut in bulk for the index are those a query is cut into."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.ledger.search.tokenizer import LONGEST, folded, tally, words

LETTERS = "aZ9 _-\n→─…™½é\u0301ßŒİﬁ漢한٣①\u200b\ue001\ud800\udc00"


def slowly(text: str) -> tuple[Counter[str], int]:
    found = words(folded(text))
    return Counter(found), len(found)


@given(st.text(st.sampled_from(LETTERS), max_size=60))
def test_a_text_is_counted_as_it_is_cut(text: str) -> None:
    assert tally(text) == slowly(text)


def test_every_letter_there_is_counts_as_it_is_cut() -> None:
    for code in (*range(0x32000), *range(0xE0000, 0xE0200), sys.maxunicode):  # between them there are none yet
        if tally(f"a{chr(code)}b") != slowly(f"a{chr(code)}b"):
            pytest.fail(f"U+{code:04X}")


@pytest.mark.parametrize("beside", ["", "→", "é"])
def test_of_a_long_word_the_beginning_counts(beside: str) -> None:
    assert tally(f"{'x' * 70} {'x' * 80} {beside}")[0]["x" * LONGEST] == 2
