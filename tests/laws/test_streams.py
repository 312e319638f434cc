"""The laws of streams, over every decoder in the registry and every recorded stream of the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from hansard import formats, streams
from hansard.model import Message, exact_json, native
from hansard.streams.accumulator import Accumulator, fold
from hansard.streams.deltas import Delta, PartDelta

FOLDERS = {
    "anthropic": "anthropic",
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "google": "gemini",
}


def decode(name: str, pieces: list[bytes]) -> list[Delta]:
    decoder = streams.decoder(name)
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    return deltas + decoder.finish()


def plain(messages: list[Message]) -> Any:
    return native.plain(messages)


def recorded(corpus: Path) -> list[tuple[str, Path]]:
    found = []
    for folder, name in FOLDERS.items():
        if name in streams.decoders():
            paths = sorted((corpus / "provider-streams" / folder).iterdir())
            found += [(name, path) for path in paths if path.suffix in (".txt", ".sse")]
    for path in sorted((corpus / "ai-sdk" / "stream").iterdir()):
        if path.suffix in (".sse", ".jsonl"):
            found.append(("ai-sdk-full" if "fullstream" in path.name else "ai-sdk-ui", path))
    assert found
    return found


def as_sse(path: Path) -> bytes:
    """The recorded events as they came over the wire."""
    raw = path.read_bytes()
    if path.suffix == ".sse":
        return raw
    return b"".join(b"data: " + line + b"\n\n" for line in raw.splitlines() if line.strip())


def test_any_cut_of_the_bytes_gives_the_same_message(corpus: Path) -> None:
    for name, path in recorded(corpus):
        raw = as_sse(path)
        once = decode(name, [raw])
        whole = plain(fold(once))
        assert plain(fold(decode(name, [raw[i : i + 7] for i in range(0, len(raw), 7)]))) == whole
        assert plain(fold(decode(name, [raw[i : i + 1] for i in range(len(raw))]))) == whole, "every boundary"
        assert plain(fold(decode(name, [path.read_bytes()]))) == whole, "as lines"


@given(data=st.data())
def test_two_cuts_anywhere_give_the_same_deltas(data: st.DataObject) -> None:
    raw = b"".join(b"data: " + exact_json.encode(event) + b"\n\n" for event in SMALL)
    first = data.draw(st.integers(0, len(raw)))
    second = data.draw(st.integers(first, len(raw)))
    assert decode("anthropic", [raw[:first], raw[first:second], raw[second:]]) == decode("anthropic", [raw])


SMALL: list[Any] = [
    {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "model": "c"}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a\ud83d"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "\ude00 b"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_stop"},
]


# Pairs that were recorded from different answers: what the stream says, the whole answer does not.
OTHER_ANSWERS = {
    "anthropic-web-search-tool.1": "one search, and two",
    "openai-reasoning-encrypted-content.1": "four responses, and one",
    "openai-web-search-tool.1": "six searches, and three",
    "google-reasoning-gemini3": "the signature came in an event of its own, which is a part of its own",
    "google-text": "the signature came in an event of its own, which is a part of its own",
}


def test_the_folded_message_is_the_formats_reading_of_the_whole_answer(corpus: Path) -> None:
    """Recorded pairs agree in all but their words; answers taken apart and put together again are tested by decoder."""
    pairs, others = 0, set()
    for name, path in recorded(corpus):
        whole = path.with_name(path.name.replace(".chunks.txt", ".json"))
        if path.suffix == ".txt" and whole.exists():
            said = said_by(fold(decode(name, [as_sse(path)])))
            read = said_by(formats.read(whole.read_bytes(), name).messages)
            pairs += 1
            if said != read:
                others.add(whole.stem)
    assert pairs > len(others)
    assert others <= OTHER_ANSWERS.keys()


def said_by(messages: list[Message]) -> list[Any]:
    """Who said what kind of parts, with which of the canonical fields, and how it ended."""
    told = []
    for message in messages:
        parts = [(type(part).__name__, sorted(plain([message])[0]["parts"][i])) for i, part in enumerate(message.parts)]
        parts = [(kind, [field for field in fields if field != "extra"]) for kind, fields in parts]
        told.append((message.role, message.finish_reason, message.state, message.usage is UNSET, parts))
    return told


def test_a_stream_cut_anywhere_keeps_every_character(corpus: Path) -> None:
    for name, path in recorded(corpus):
        lines = as_sse(path).split(b"\n\n")
        for cut in {1, len(lines) // 3, len(lines) // 2, len(lines) - 2}:
            raw = b"\n\n".join(lines[:cut])
            deltas = decode(name, [raw])
            grown = sum(len(delta.text) for delta in deltas if isinstance(delta, PartDelta))
            text = exact_json.encode(plain(fold(deltas))).decode()
            assert len(text) >= grown
            live = Accumulator()
            for delta in deltas:
                live.fold(delta)
                live.messages()


@pytest.mark.parametrize("name", streams.decoders())
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html><body>502 Bad Gateway</body></html>",
        b"\x1f\x8b\x08\x00\x00\x00",
        b"data: {broken\n\n",
        b'data: "a string"\n\ndata: [1]\n\ndata: null\n\n',
        b'data: {"type":"never.heard.of.it","x":1}\n\n',
        b'data: {"type":"start","choices":[],"x":1e9999999999999999999}\n\n',
        b'{"error":{"message":"overloaded","type":"overloaded_error"}}',
    ],
)
def test_broken_streams_never_raise(name: str, raw: bytes) -> None:
    deltas = decode(name, [raw])
    assert deltas
    fold(deltas)


def test_one_huge_event_is_read_in_pieces() -> None:
    start = exact_json.encode(SMALL[1]).replace(b'"text":""', b'"text":"' + b"x" * 50_000_000 + b'"')
    raw = b"data: " + exact_json.encode(SMALL[0]) + b"\n\ndata: " + start + b"\n\n"
    (message,) = fold(decode("anthropic", [raw[i : i + 65536] for i in range(0, len(raw), 65536)]))
    assert len(message.parts[0].text) == 50_000_000  # type: ignore[union-attr]
