"""Server-sent events, in any cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.streams.sse import Event, SSEReader, write_event

CASES: dict[str, tuple[bytes, list[Event]]] = {
    "plain": (b"data: a\n\ndata: b\n\n", [Event(data=b"a"), Event(data=b"b")]),
    "crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", [Event(data=b"a"), Event(data=b"b")]),
    "cr": (b"data: a\r\rdata: b\r\r", [Event(data=b"a"), Event(data=b"b")]),
    "bom": (b"\xef\xbb\xbfdata: a\n\n", [Event(data=b"a")]),
    "no_space": (b"data:a\ndata:  b\n\n", [Event(data=b"a\n b")]),
    "comments": (b": hi\ndata: a\n:\n\n", [Event(data=b"a")]),
    "fields": (
        b"event: x\nid: 7\nretry: 10\nretry: no\nodd: 1\ndata: a\n\n",
        [Event(data=b"a", event="x", id="7", retry=10)],
    ),
    "no_data": (b"event: ping\n\ndata: a\n\n", [Event(data=b"a")]),
    "empty_data": (b"data\n\ndata:\n\n", [Event(data=b""), Event(data=b"")]),
    "no_end": (b"data: a\n\ndata: b", [Event(data=b"a"), Event(data=b"b")]),
    "cr_at_the_end": (b"data: a\r", [Event(data=b"a")]),
    "line_separators": ("data: \u2028\u0085\x0b\n\n".encode(), [Event(data="\u2028\u0085\x0b".encode())]),
}


def read(pieces: list[bytes]) -> list[Event]:
    reader = SSEReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.finish()


@pytest.mark.parametrize("case", CASES)
def test_events_are_read_in_any_cut(case: str) -> None:
    raw, events = CASES[case]
    assert read([raw]) == events
    assert read([raw[i : i + 1] for i in range(len(raw))]) == events
    for cut in range(len(raw) + 1):
        assert read([raw[:cut], raw[cut:]]) == events


@given(
    st.lists(st.sampled_from([b"data", b":", b" ", b"a", b"\n", b"\r", b"\r\n", b"event: x", b"\xef\xbb\xbf"])),
    st.data(),
)
def test_any_bytes_read_the_same_in_any_cut(pieces: list[bytes], data: st.DataObject) -> None:
    raw = b"".join(pieces)
    cut = data.draw(st.integers(0, len(raw)))
    assert read([raw[:cut], raw[cut:]]) == read([raw]) == read([raw[i : i + 1] for i in range(len(raw))])


@given(st.lists(st.binary().map(lambda raw: raw.replace(b"\r", b"\n"))))
def test_what_is_written_is_read(payloads: list[bytes]) -> None:
    assert [event.data for event in read([b"".join(map(write_event, payloads))])] == payloads
