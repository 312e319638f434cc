"""ATIF trajectories, checked with Harbor's validator and with our copy of its schema (`atif_schema`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from hansard import formats
from hansard.model import Conversation, exact_json
from tests.atif_schema import problems
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents
from tests.formats.exchange.atif.test_atif import FORKED
from tests.laws.test_providers import without_residue_of
from tests.strategies import conversations

HARBOR = Path(__file__).parent.parent / ".harbor"


REFUSED = {"odd_steps.json"}  # not what Harbor would write, read all the same


@pytest.fixture(scope="module")
def validator() -> Any:
    if not (HARBOR / "harbor").is_dir():
        pytest.skip("tests/.harbor is missing: run `make setup`; ATIF is checked by our own reading of its schema only")
    sys.path.insert(0, str(HARBOR))
    try:
        from harbor.utils.trajectory_validator import TrajectoryValidator

        return TrajectoryValidator()
    finally:
        sys.path.remove(str(HARBOR))


def written(conversation: Conversation) -> Any:
    """The trajectory as any JSON parser reads it."""
    return exact_json.decode(formats.write(without_residue_of("atif", conversation), "atif").json)


@given(conversation=conversations)
def test_the_schema_takes_every_conversation(conversation: Conversation) -> None:
    assert problems(written(conversation)) == []


@given(conversation=conversations)
def test_harbor_takes_every_conversation(validator: Any, conversation: Conversation) -> None:
    document = written(conversation)
    assert validator.validate(document), validator.get_errors()


@pytest.mark.parametrize("path", sorted((GOLDEN / "atif").glob("*.json")), ids=lambda path: path.stem)
def test_our_reading_of_the_schema_is_harbors(validator: Any, path: Path) -> None:
    document = exact_json.decode(path.read_bytes())
    assert validator.validate(document) == (problems(document) == []) == (path.name not in REFUSED)


BREAKS: dict[str, Any] = {
    "no agent": lambda document: document.pop("agent"),
    "no steps": lambda document: document["steps"].clear(),
    "an unknown field": lambda document: document.update(title="x"),
    "a gap": lambda document: document["steps"][1].update(step_id=7),
    "a user's call": lambda document: document["steps"][0].update(tool_calls=[]),
    "another step's call": lambda document: document["steps"][1]["observation"]["results"][0].update(
        source_call_id="c9"
    ),
    "no time": lambda document: document["steps"][0].update(timestamp="yesterday"),
    "a version": lambda document: document.update(schema_version="ATIF-v9"),
    "arguments": lambda document: document["steps"][1]["tool_calls"][0].update(arguments="{}"),
    "a picture of bytes": lambda document: document["steps"][0].update(
        message=[{"type": "image", "source": {"media_type": "image/bmp", "path": "a.bmp"}}]
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_the_schema_forbids_is_found(name: str) -> None:
    document = formats.write(FORKED, "atif").data
    assert problems(document) == []
    BREAKS[name](document)
    assert problems(document) != []


@pytest.mark.parametrize("name", BREAKS)
def test_harbor_forbids_it_too(validator: Any, name: str) -> None:
    document = formats.write(FORKED, "atif").data
    BREAKS[name](document)
    assert not validator.validate(document)


def test_the_corpus_of_other_formats_passes_harbor(validator: Any, corpus: Path) -> None:
    for name in ("anthropic", "openai-responses", "gemini", "pydantic-ai", "chatgpt-export", "atif"):
        for raw in corpus_documents(corpus, name):
            document = formats.convert(raw, "atif", name).data
            assert validator.validate(document), validator.get_errors()
