"""Requests for all providers, checked against the types of their official Python SDKs (`official_types`)."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from hansard import formats
from hansard.model import Conversation, exact_json
from tests.corpus_files import corpus_documents
from tests.laws.test_answers_sent_back import sent_back
from tests.laws.test_providers import ANSWERS, PROVIDERS, is_request, own_documents, without_residue_of
from tests.laws.test_requests import requests
from tests.official_samples import FILLINGS, samples
from tests.official_types import problems, request_problems
from tests.strategies import conversations

DIALECT = ("reasoning_content", "reasoning_details", "'reasoning'", "extra_content")  # not OpenAI's, but to be kept


@pytest.mark.parametrize("name", PROVIDERS)
def test_recorded_answers_can_be_sent_back(name: str, corpus: Path) -> None:
    for raw in corpus_documents(corpus, name):
        document = exact_json.decode(raw)
        if not is_request(name, document):
            written = sent_back(name, document)
            assert [problem for problem in problems(name, written.data) if not any(map(problem.count, DIALECT))] == []
            assert exact_json.same(formats.write(formats.read(raw, name), name).data, document)


def every_answer(name: str, filling: str) -> list[Any]:
    """One answer for each thing that the SDK's types let an answer say."""
    if name == "openai-responses":
        from openai.types.responses import ResponseOutputItem

        return [{**ANSWERS[name], "output": [item]} for item in samples(ResponseOutputItem, filling)]
    from anthropic.types import ContentBlock
    from anthropic.types.beta import BetaContentBlock

    blocks = samples(ContentBlock, filling) + samples(BetaContentBlock, filling)
    return [{**ANSWERS[name], "content": [block, {"type": "text", "text": "So."}]} for block in blocks]


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("name", ["anthropic", "openai-responses"])
def test_whatever_an_answer_may_say_can_be_sent_back(name: str, filling: str) -> None:
    for answer in every_answer(name, filling):
        again = formats.write(formats.read(answer, name), name)
        assert exact_json.same(again.data, answer)
        assert again.losses == []
        assert problems(name, sent_back(name, answer).data) == [], answer


@pytest.mark.parametrize("other", PROVIDERS)
@pytest.mark.parametrize("name", PROVIDERS)
def test_what_is_written_for_a_provider_is_valid_there(name: str, other: str, corpus: Path) -> None:
    if name == other:
        return
    for document in own_documents(name, corpus):
        written = formats.write(formats.read(document, name), other)
        assert problems(other, written.data) == []


@pytest.mark.parametrize("other", PROVIDERS)
@pytest.mark.parametrize("name", PROVIDERS)
def test_a_recorded_request_is_a_whole_request_for_every_provider(name: str, other: str, corpus: Path) -> None:
    for document in own_documents(name, corpus):
        if is_request(name, document):
            written = formats.write(formats.read(document, name), other, model="the-model", max_tokens=4096)
            assert written.missing == []
            if name != other:
                assert request_problems(other, written.data) == []


@pytest.mark.parametrize(("name", "other"), [*permutations(PROVIDERS, 2)])
@given(request=requests)
def test_any_tools_and_settings_make_a_whole_request(name: str, other: str, request: Conversation) -> None:
    first = formats.write(request, name).data
    written = formats.write(formats.read(first, name), other, model="the-model", max_tokens=4096)
    assert request_problems(other, written.data) == []


@pytest.mark.parametrize("other", PROVIDERS)
@given(conversation=conversations)
def test_any_conversation_written_for_a_provider_is_valid_there(other: str, conversation: Conversation) -> None:
    plain = without_residue_of(other, conversation)
    assert problems(other, formats.write(plain, other).data) == []
