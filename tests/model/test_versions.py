"""Schema versions: older ones are upgraded, newer ones are read, kept, returned unchanged and reported."""

from __future__ import annotations

import pytest

from hansard import formats
from hansard.errors import Unreadable
from hansard.model import TextPart, exact_json
from hansard.model.validate import validate


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


@pytest.mark.parametrize("version", [2, 2.1, 9, 17, 10**30])
@pytest.mark.parametrize("unknown", [{}, {"mood": 1}, {"parts": [{"type": "hologram", "beam": 1}]}])
def test_a_newer_version_is_kept_and_reported(version: object, unknown: dict[str, object]) -> None:
    new = [message(1), message(version, **unknown)]
    read = formats.read(new, "hansard")
    assert exact_json.same(exact_json.decode(formats.write(read, "hansard").json), new)
    (found,) = validate(read)
    assert (found.check, found.path) == ("schema-version", "$.messages[1].metadata.schemaVersion")
    assert found.severity == "warning"
    assert f"{version} is newer than 1" in found.problem


@pytest.mark.parametrize("version", ["1", None, True, [1], {}])
def test_a_version_that_is_not_a_number_is_an_error(version: object) -> None:
    new = [message(version)]
    read = formats.read(new, "hansard")
    assert exact_json.same(exact_json.decode(formats.write(read, "hansard").json), new)
    (found,) = validate(read)
    assert (found.severity, found.path) == ("error", "$.messages[0].metadata.schemaVersion")
    assert "is not a number" in found.problem


@pytest.mark.parametrize("more", [{}, {"metadata": {}}, {"metadata": {"k": 1}}])
def test_a_native_message_without_a_version_is_an_error(more: dict[str, object]) -> None:
    native = [{"role": "user", "parts": [{"type": "text", "text": "x"}], **more}]
    (found,) = validate(formats.read(native, "hansard"))
    assert (found.severity, found.problem) == ("error", "the message has no schema version")
    assert validate(formats.read([{"role": "user", "content": "x"}], "anthropic")) == []


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


def test_a_draft_whose_text_has_got_more_than_text_keeps_it() -> None:
    """A text that was signed or marked since would be a bare string in the draft."""
    conversation = formats.read([{"role": "user", "content": "hi", "metadata": {"schemaVersion": 0}}], "hansard")
    conversation.messages[0].parts[0] = TextPart(text="hi", extra={"anthropic": {"cache_control": {"type": "x"}}})
    (message,) = exact_json.decode(formats.write(conversation, "hansard").json)
    assert message["parts"][0]["extra"] == {"anthropic": {"cache_control": {"type": "x"}}}


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
