"""The one mechanism of session files: records out of any bytes, in any cut, with nothing fatal."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from hansard.formats.coding_agents.scanner import Bad, Record, Scanner
from hansard.formats.coding_agents.session_file import append_lines, evidence, with_evidence, without_evidence
from hansard.model import Conversation
from hansard.model.exact_json import encode
from tests.strategies import objects

lines = st.one_of(
    objects.map(encode),
    st.binary(max_size=12),
    st.sampled_from(
        [b"", b" ", b"\r", b'{"a":1}{"b":2}', b'{"a":{"b"{"c":3}', b'{"a":1}\xff', b'{"a":"\xff"}', b"\xef\xbb\xbf{}"]
    ),
)
files = st.lists(lines, max_size=6).map(b"\n".join)


def scanned(data: bytes, cuts: list[int] | None = None, **options: int) -> list[Record | Bad]:
    scanner = Scanner(**options)  # type: ignore[arg-type]
    found: list[Record | Bad] = []
    at = 0
    for cut in [*sorted(cuts or []), len(data)]:
        found += scanner.feed(data[at:cut])
        at = max(at, cut)
    return [*found, *scanner.finish()]


@given(data=files, cuts=st.lists(st.integers(0, 80), max_size=5))
def test_any_cut_of_the_bytes_gives_the_same_records(data: bytes, cuts: list[int]) -> None:
    assert scanned(data, [min(cut, len(data)) for cut in cuts]) == scanned(data)


@given(data=files)
def test_every_record_stands_where_it_says(data: bytes) -> None:
    for one in scanned(data):
        assert one.line == data[: one.byte].count(b"\n") + 1
        if isinstance(one, Record):
            assert data[one.byte :].startswith(one.raw)


@given(data=files)
def test_what_is_no_record_is_reported_and_nothing_else_is_left_out(data: bytes) -> None:
    found = scanned(data)
    spoken = {one.line for one in found}
    for number, line in enumerate(data.split(b"\n"), 1):
        assert number in spoken or not line.strip().removeprefix(b"\xef\xbb\xbf").strip(b" \t\r")


def test_glued_records_are_each_read() -> None:
    one, two = scanned(b'{"a":1}{"b":"\xc3\xa4"} \r\n')
    assert (one.value, one.byte, one.glued) == ({"a": 1}, 0, False)
    assert (two.value, two.byte, two.glued) == ({"b": "ä"}, 7, True)


def test_the_whole_record_behind_a_torn_one_is_read() -> None:
    torn, whole = scanned(b'{"type":"user","message":{"role"{"type":"user"}\n')
    assert isinstance(torn, Bad)
    assert torn.byte == 0
    assert whole == Record({"type": "user"}, b'{"type":"user"}', 32, 1, True)


def test_a_line_beyond_the_limit_is_reported_and_the_next_one_read() -> None:
    data = b'{"a":1}\n{"b":"' + b"x" * 100 + b'"}\n{"c":2}'
    for cuts in ([], list(range(0, len(data), 7))):
        first, huge, last = scanned(data, cuts, longest=50)
        assert isinstance(huge, Bad)
        assert (huge.line, huge.byte) == (2, 8)
        assert isinstance(first, Record)
        assert isinstance(last, Record)
        assert last.value == {"c": 2}


@given(data=st.binary())
def test_a_conversation_keeps_the_bytes_of_its_file(data: bytes) -> None:
    plain = Conversation(messages=[], extra={"x": {"a": 1}})
    keeping = with_evidence(plain, "claude-code", data)
    assert evidence(keeping, "claude-code") == data
    assert without_evidence(keeping, "claude-code") == plain


def test_new_lines_end_as_the_lines_of_the_file_do() -> None:
    assert append_lines(b"{}", [b"[]\n"]) == b"{}\n[]\n"
    assert append_lines(b"{}\r\n", [b"[]\n"]) == b"{}\r\n[]\r\n"
    assert append_lines(b"{}\r\n{}", [b"[]\n"]) == b"{}\r\n{}\r\n[]\r\n"
    assert append_lines(b"", [b"[]\n"]) == b"[]\n"


def test_a_line_beyond_the_limit_is_not_held() -> None:
    scanner = Scanner(longest=10_000)
    tracemalloc.start()
    for _ in range(500):
        assert list(scanner.feed(bytes(10_000))) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    (bad,) = scanner.finish()
    assert isinstance(bad, Bad)
