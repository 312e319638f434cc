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


@pytest.mark.parametrize(
    "draft",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "parts": [{"type": "text", "text": "x"}]},  # as version 1 has it
        {"role": "user", "content": "hi", "parts": [{"type": "text", "text": "x"}]},  # both: neither is dropped
        {"role": "user", "content": ["hi"], "parts": []},
    ],
)
def test_any_message_of_the_draft_is_written_back_as_it_was(draft: dict[str, object]) -> None:
    old = [{**draft, "metadata": {"schemaVersion": 0, "k": 1}}]
    written = formats.write(formats.read(old, "hansard"), "hansard")
    assert exact_json.same(exact_json.decode(written.json), old)
    assert written.losses == []


@pytest.mark.parametrize("version", [0.0, False, 1, 1.0, 0.5, -1, "0", None, True])
def test_only_the_number_0_is_the_draft(version: object) -> None:
    """A message of another version that says `v0` keeps its parts: a reader of version 1 knows no `content`."""
    kept = [{"role": "user", "parts": [{"type": "text", "text": "x"}], "metadata": {"schemaVersion": version, "v0": 1}}]
    assert exact_json.same(exact_json.decode(formats.write(formats.read(kept, "hansard"), "hansard").json), kept)
    content = [{"role": "user", "parts": [], "content": "hi", "metadata": {"schemaVersion": version}}]
    assert exact_json.same(exact_json.decode(formats.write(formats.read(content, "hansard"), "hansard").json), content)


def test_a_draft_that_was_answered_since_is_written_with_parts() -> None:
    old = [{"role": "user", "content": "hi", "metadata": {"schemaVersion": 0}}]
    conversation = formats.read(old, "hansard")
    conversation.messages[0].parts.append(TextPart(text="more"))
    (message,) = exact_json.decode(formats.write(conversation, "hansard").json)
    assert [part["text"] for part in message["parts"]] == ["hi", "more"]
    assert "content" not in message


def test_beside_a_draft_other_messages_stay_what_they_are() -> None:
    draft = {"role": "user", "content": "hi", "metadata": {"schemaVersion": 0}}
    others = [message(version) for version in (1, -1, 1.5)] + [{"role": "user", "parts": []}]
    for other in others:
        if "metadata" in other:
            other["metadata"]["v0"] = True  # type: ignore[index]
    kept = [draft, *others]
    assert exact_json.same(exact_json.decode(formats.write(formats.read(kept, "hansard"), "hansard").json), kept)


def test_a_draft_without_words_is_refused_for_what_it_lacks() -> None:
    with pytest.raises(Unreadable, match="no 'parts'"):
        formats.read([{"role": "user", "content": ["hi"], "metadata": {"schemaVersion": 0}}], "hansard")


@pytest.mark.parametrize(("version", "refused"), [(1, False), (1.9, False), (2, True), (2.0, True), (True, False)])
def test_the_newest_version_that_is_read_is_1(version: object, refused: bool) -> None:
    if refused:
        with pytest.raises(Unreadable, match="schema version") as error:
            formats.read([message(version)], "hansard")
        assert error.value.path == "$.messages[0].metadata.schemaVersion"
    else:
        formats.read([message(version)], "hansard")
