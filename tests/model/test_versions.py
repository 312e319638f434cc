"""Schema versions: older ones are upgraded, newer minor ones kept, a newer major one refused."""

from __future__ import annotations

import pytest

from hansard import formats
from hansard.errors import Unreadable
from hansard.model import TextPart, exact_json


def message(version: object, **more: object) -> dict[str, object]:
    return {"role": "user", "parts": [{"type": "text", "text": "x"}], "metadata": {"schemaVersion": version}, **more}


def test_the_draft_is_upgraded_and_written_back_as_it_was() -> None:
    old = [{"id": "M1", "role": "user", "content": "hi", "metadata": {"schemaVersion": 0}}]
    read = formats.read(old, "hansard")
    assert read.messages[0].parts == [TextPart(text="hi")]
    assert exact_json.same(exact_json.decode(formats.write(read, "hansard").json), old)


def test_a_newer_minor_version_is_kept_with_its_fields() -> None:
    new = [message(1.3, mood={"new": True})]
    read = formats.read(new, "hansard")
    assert exact_json.same(exact_json.decode(formats.write(read, "hansard").json), new)


@pytest.mark.parametrize("version", [2, 2.1, 17])
@pytest.mark.parametrize("unknown", [{}, {"mood": 1}])
def test_a_newer_major_version_is_refused(version: object, unknown: dict[str, object]) -> None:
    with pytest.raises(Unreadable, match=r"newer than 1.*upgrade"):
        formats.read([message(1), message(version, **unknown)], "hansard")
