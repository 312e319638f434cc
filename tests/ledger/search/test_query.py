"""Search: what was acknowledged is found, at once, the same on every backend."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hansard
from hansard import Ledger, Message
from hansard.errors import HansardError
from hansard.ledger.results import Hit
from hansard.ledger.search import index
from hansard.ledger.search import query as searching
from hansard.ledger.search.language import Query
from hansard.model import TextPart
from hansard.model.parts import (
    DataPart,
    FilePart,
    ReasoningPart,
    RefusalPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.ledger.said import said

ROLES = ("user", "assistant", "tool")
WORDS = ("alpha", "alphabet", "Beta", "bêta", "gamma_ray", "delta-7", "漢字", "字", "x", "l'eau", "ΣΊΣΥΦΟΣ", "don't")


def everything(ledger: Ledger, query: str, limit: int = 1000) -> list[Hit]:
    """All pages of a search."""
    hits: list[Hit] = []
    after = None
    while True:
        page = ledger.search(query, limit=limit, after=after)
        hits += page.items
        if (after := page.next) is None:
            return hits


def found(ledger: Ledger, query: str, limit: int = 1000) -> list[str]:
    return [hit.message_id for hit in everything(ledger, query, limit)]


# -- the law: a naive scan finds the same --------------------------------------------------------------------------


def _naive_words(text: str) -> list[str]:
    """Words by going through the letters one by one."""
    import unicodedata

    out: list[str] = [""]
    for letter in unicodedata.normalize("NFKD", text.casefold()):
        if unicodedata.category(letter).startswith("M"):
            continue
        if "\u3400" <= letter <= "\u9fff":
            out += [letter, ""]
        elif letter.isalnum():
            out[-1] += letter
        else:
            out.append("")
    return [word for word in out if word]


def _naive_match(text: str, typed: str, kind: str) -> bool:
    have, want = _naive_words(text), _naive_words(typed)
    for i in range(len(have) - len(want) + 1):
        piece = have[i : i + len(want)]
        if piece == want or (kind == "prefix" and piece[:-1] == want[:-1] and piece[-1].startswith(want[-1])):
            return True
    return False


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
terms = st.tuples(
    st.sampled_from(("word", "phrase", "prefix", "without")), st.sampled_from(WORDS), st.sampled_from(WORDS)
)


def _typed(kind: str, first: str, second: str) -> str:
    return {
        "word": first,
        "phrase": f'"{first} {second}"',
        "prefix": f"{first}*",
        "without": f"-{first}",
    }[kind]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    messages=st.lists(st.tuples(st.sampled_from(ROLES), texts), min_size=1, max_size=12),
    queries=st.lists(
        st.tuples(st.lists(terms, min_size=1, max_size=3), st.none() | st.sampled_from(ROLES)), max_size=8
    ),
)
def test_a_naive_scan_finds_the_same(ledger: Ledger, messages: list[Any], queries: list[Any]) -> None:
    thread = ledger.create_thread()
    stored: list[tuple[str, str, str]] = []
    for i, (role, text) in enumerate(messages):
        message = ledger.append(thread.id, said(text, role))
        stored.append((str(message.id), role, text))
        if i == len(messages) // 2:
            found(ledger, "alpha")  # the index follows in pieces
    for parts, role in queries:
        if all(kind == "without" for kind, _, _ in parts) and role is None:
            continue
        query = " ".join(
            [*(_typed(*part) for part in parts), f"thread:{thread.id}", *([f"role:{role}"] if role else [])]
        )
        expected = {
            key
            for key, whose, text in stored
            if (role is None or whose == role)
            and all(
                _naive_match(text, f"{first} {second}" if kind == "phrase" else first, kind) != (kind == "without")
                for kind, first, second in parts
            )
        }
        assert sorted(found(ledger, query)) == sorted(expected), query


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(max_size=40), other=st.text(max_size=20))
def test_every_word_of_a_message_finds_it(ledger: Ledger, text: str, other: str) -> None:
    thread = ledger.create_thread()
    key = ledger.append(thread.id, said(f"{text} {other}")).id
    for word in (text + " " + other).split():
        if _naive_words(word) and not re.match(r'-|"|role:|tool:|agent:|thread:|since:|until:', word, re.IGNORECASE):
            if '"' not in word:
                assert key in found(ledger, f"{word} thread:{thread.id}")


# -- what is looked at ---------------------------------------------------------------------------------------------


def test_all_that_was_said_can_be_found(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    parts = {
        "spoken": TextPart(text="spoken"),
        "thought": ReasoningPart(text="I thought so"),
        "needle": ToolCallPart(tool_call_id="c", tool_name="Grep", input={"pattern": ["needle", {"deep": 5432}]}),
        "pattern": ToolCallPart(tool_call_id="d", tool_name="x", input={"pattern": 1}),
        "5432": ToolCallPart(tool_call_id="e", tool_name="y", input={"port": 5432}),
        "haystack": ToolResultPart(tool_call_id="c", output={"lines": ["the haystack"]}),
        "nested": ToolResultPart(tool_call_id="c", content=[TextPart(text="nested words")]),
        "cannot": RefusalPart(text="I cannot"),
        "event": DataPart(name="event", data={"kind": "joined"}),
        "report": FilePart(name="report.pdf", data="QUJD", media_type="application/pdf"),
    }
    keys = {}
    for word, part in parts.items():
        keys[word] = ledger.append(thread.id, Message(role="assistant", parts=[part])).id
    for word, key in keys.items():
        assert key in found(ledger, word), word
    assert found(ledger, "QUJD") == []
    assert set(found(ledger, "tool:grep")) == {keys["needle"], keys["haystack"], keys["nested"]}


def test_files_written_as_letters_are_not_words(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    data = "data:image/png;base64," + "iVBORw0KGgo" * 200
    ledger.append(thread.id, Message(role="tool", parts=[ToolResultPart(tool_call_id="c", output={"image": data})]))
    assert len(found(ledger, "image")) == 1
    assert found(ledger, "ivborw0kggo*") == []


def test_a_message_with_more_words_than_an_index_takes_is_found_by_its_first(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    many = " ".join(f"w{i:x}é{i * 7919:x}" for i in range(150_000))
    key = ledger.append(thread.id, said("beginning " + many)).id
    assert found(ledger, "beginning role:user") == [key]
    assert found(ledger, '"beginning w0e0"') == [key]


# -- filters -------------------------------------------------------------------------------------------------------


def test_filters_pick_by_who_where_and_when(ledger: Ledger) -> None:
    one, two = ledger.create_thread(title="Tea"), ledger.create_thread()
    a = ledger.append(one.id, said("tea", agent_id="Ann", created_at="2026-03-01T12:00:00Z")).id
    b = ledger.append(one.id, said("tea", "assistant", created_at="2026-03-02T12:00:00+02:00")).id
    c = ledger.append(two.id, said("tea", "system", created_at="2031-01-01T00:00:00Z")).id
    now = ledger.append(two.id, said("tea")).id
    odd = ledger.append(two.id, said("tea", "rôle \x00 odd", created_at="no time")).id
    table = {
        "tea role:user": [a, now],
        "tea role:USER role:system": [a, c, now],
        "tea -role:user": [b, c, odd],
        "tea agent:ann": [a],
        f"tea thread:{one.id}": [a, b],
        "tea since:2026-03-02": [b, c, now],
        "tea since:2026-03-02T10:00:00.001Z": [c, now],
        "tea since:2026-03-02T10:00:00Z until:2026-03-02T10:00Z": [b],
        "tea until:2026-03-01": [a],
        "tea since:2026-03 until:2026-03": [a, b],
        "tea since:1d until:1y": [],
        "tea since:1d until:2030": [now],
        "since:today until:today": [now],
        'tea role:"rôle \x00 odd"': [odd],
        "tea until:1900": [],
        "tea until:999999y": [],
        "tea since:999999y": [a, b, c, now],
    }
    for query, expected in table.items():
        assert sorted(found(ledger, query)) == sorted(map(str, expected)), query
    assert ledger.search("agent:ann").items[0].title == "Tea"


def test_what_cannot_be_searched_for_is_one_clear_error(ledger: Ledger) -> None:
    wrong = (
        "",
        "   ",
        "!!!",
        "-tea",
        "role:",
        "since:soon",
        "until:2026-13",
        "since:99999",
        "-since:7d",
        "thread:nobody",
    )
    for query in (*wrong, '""', "since:2026-02-30", "a " * 300):
        with pytest.raises(HansardError) as caught:
            ledger.search(query)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 250


def test_cursors_are_checked(ledger: Ledger) -> None:
    of_this = hashlib.blake2b(b"tea", digest_size=4).hexdigest()
    far = ".".join(["9" * 30] * 4)
    for cursor in ("", "x", "1.2.3", "1.2.3.4.abc", "1.2.3.4.5.6", f"{far}.{of_this}", f"1.2.3.\u0664.{of_this}"):
        with pytest.raises(HansardError):
            ledger.search("tea", after=cursor)
    with pytest.raises(HansardError):
        ledger.search("tea", limit=0)


ATTACKS = [
    "x') OR '1'='1", "a OR b", "a AND NOT b", "NEAR(a b, 2)", "words : a", "^a", "a + b", "{words} : a", "a*b*", "(a",
    "a)", '"a', 'a"b', '""a""', "a & b | !c", "a <-> b", "a:*", "'a' & 'b'", "a\\", "a''b", "%s %(tenant)s :tenant $1",
    "a\x00b", "\x00", "\ud800a", "\ue000x", "\ue001abc*", "rank MATCH 'x'", "a; drop table search; --", "[#-1]", "$.a",
    "a" * 10_000, "a " * 5_000, "(" * 10_000, '"' * 9_999, "-" * 100, "role:'); --", "tool:\"a OR b", "agent:\x00",
    "thread:' OR 1=1", "since:' OR 1=1", "AND", "NOT", "OR", "search MATCH a", "*", "a -", "--", "🙂", "\u202ea",
]  # fmt: skip


def _hits_or_error(ledger: Ledger, query: str) -> list[Hit]:
    """What it finds; nothing if the query itself is refused, but the database never has a say in that."""
    try:
        return everything(ledger, query)
    except hansard.errors.StorageError:
        raise
    except HansardError:
        return []


def test_what_is_typed_is_data(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    ledger.append(thread.id, said("something else entirely"))
    for query in ATTACKS:
        for typed in (query, f"entirely {query}", f'"{query}"', f"{query}*", f"-{query} entirely"):
            assert len(_hits_or_error(ledger, typed)) <= 1, typed
        assert len(found(ledger, "entirely")) == 1


# -- pages ---------------------------------------------------------------------------------------------------------


def test_pages_have_no_gaps_and_no_doubles_while_messages_arrive(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "WINDOW", 40)  # several windows
    thread = ledger.create_thread()
    before = [
        str(message.id)
        for message in ledger.append(thread.id, [said("tea " * (1 + i % 7) + "milk " * (i % 50)) for i in range(130)])
    ]
    seen: list[str] = []
    after = None
    while True:
        page = ledger.search("tea", limit=9, after=after)
        seen += (hit.message_id for hit in page.items)
        ledger.append(thread.id, [said("tea tea tea"), said("tea")])
        if (after := page.next) is None:
            break
    assert len(seen) == len(set(seen))
    assert set(seen) == set(before)


def test_pages_are_the_same_whatever_their_size(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "WINDOW", 25)
    thread = ledger.create_thread()
    ledger.append(thread.id, [said("tea " * (1 + i % 5) + '"with milk"' * (i % 3)) for i in range(70)])
    for query in ("tea", '"with milk"', "te*", "tea -milk"):
        whole = found(ledger, query)
        assert whole
        for limit in (1, 7, 25, 70):
            assert found(ledger, query, limit) == whole


def test_words_weigh_more_in_messages_that_are_about_them(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    much = ledger.append(thread.id, said("tea tea and more tea, " * 9)).id
    little = ledger.append(thread.id, said("tea " + "something else " * 200)).id
    assert found(ledger, "tea") == [much, little]
    ranks = [hit.rank for hit in everything(ledger, "tea")]
    assert ranks == sorted(ranks, reverse=True)
    assert 0 <= ranks[-1] < ranks[0] <= 1


# -- branches, runs, tenants ---------------------------------------------------------------------------------------


def test_superseded_answers_are_found_and_marked_and_dead_runs_are_not(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    ledger.append(thread.id, said("question"))
    keys: dict[str, str] = {}
    for name in ("old", "new"):
        fork = ledger.messages(thread.id, newest=False, limit=1).items[0].id
        run = ledger.begin_run(thread.id, "ann", fork_from=fork)
        keys[name] = str(run.stage(said(f"answer {name}", "assistant"))[0].id)
        assert [hit.status for hit in everything(ledger, f"answer {name}")] == ["active"]
        run.commit()
    for end in ("abort", "fail"):
        run = ledger.begin_run(thread.id, "ann")
        keys[end] = str(run.stage(said(f"answer {end}", "assistant"))[0].id)
        assert len(found(ledger, f"answer {end}")) == 1
        run.abort() if end == "abort" else run.fail("broken")
    hits = {hit.message_id: hit for hit in everything(ledger, "answer")}
    assert set(hits) == {keys["old"], keys["new"]}
    assert (hits[keys["new"]].active, hits[keys["old"]].active) == (True, False)
    assert hits[keys["old"]].status == "superseded"


@pytest.mark.opened_twice
def test_tenants_do_not_see_one_another(url: str) -> None:
    with hansard.open(url) as one, hansard.open(url, tenant="b") as two, hansard.open(url, tenant="c") as three:
        for ledger, text in ((one, "tea for one"), (two, "tea for two"), (three, "tea for three")):
            thread = ledger.create_thread("same")
            ledger.append(thread.id, said(text))
        for ledger, text in ((one, "one"), (two, "two"), (three, "three")):
            assert [hit.snippet for hit in everything(ledger, "tea")] == [f"\x02tea\x03 for {text}"]
            assert len(found(ledger, "role:user since:1d thread:same")) == 1
        two.rebuild_search()
        for ledger in (one, two, three):
            assert len(found(ledger, "te*")) == 1


# -- the index -----------------------------------------------------------------------------------------------------


def test_an_index_that_was_dropped_is_rebuilt_the_same(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "BATCH", 7)
    thread = ledger.create_thread()
    ledger.append(thread.id, [said(f"tea number {i} " * (1 + i % 4)) for i in range(50)])
    fork = ledger.messages(thread.id, newest=False, limit=5).items[-1].id
    ledger.fork(thread.id, fork)
    ledger.append(thread.id, said("tea on a branch"))
    queries = ("tea", '"tea number"', "numb*", "role:user -branch", "branch")
    before = [everything(ledger, query) for query in queries]
    ledger._write(lambda tx: tx.run("drop_search"))
    counts: list[int] = []
    assert ledger.rebuild_search(counts.append) == 51
    assert counts[-1] == 51
    assert [everything(ledger, query) for query in queries] == before
    assert ledger._read(lambda tx: tx.one("feed_end")) == (None,)


def test_what_takes_the_number_of_a_deleted_message_is_found(ledger: Ledger) -> None:
    thread = ledger.create_thread().id
    ledger.append(thread, said("tea"))
    run = ledger.begin_run(thread)
    run.stage([said("coffee"), said("cocoa")])
    assert found(ledger, "coffee") == [run.messages()[0].id]
    run.abort()
    assert ledger.prune().messages == 2
    new = ledger.append(thread, [said("water"), said("milk"), said("juice")])
    assert found(ledger, "coffee") == []
    assert [found(ledger, word) for word in ("water", "milk", "juice")] == [[message.id] for message in new]


def test_many_indexers_and_writers_lose_and_double_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "BATCH", 10)
    threads = [ledger.create_thread().id for _ in range(4)]
    errors: list[BaseException] = []

    def write(key: str) -> None:
        try:
            for i in range(40):
                sent = ledger.append(key, said(f"tea {i}")).id
                if i % 8 == 0:
                    assert sent in found(ledger, f"tea {i} thread:{key}")
        except BaseException as error:
            errors.append(error)

    working = [threading.Thread(target=write, args=(key,)) for key in threads]
    for thread in working:
        thread.start()
    for thread in working:
        thread.join()
    assert errors == []
    keys = found(ledger, "tea")
    assert len(keys) == len(set(keys)) == 160


def test_two_ledgers_on_one_store_find_what_the_other_wrote(ledger: Ledger, reopened: Callable[[], Ledger]) -> None:
    with reopened() as other:
        thread = ledger.create_thread()
        for i in range(5):
            key = (ledger if i % 2 else other).append(thread.id, said(f"tea {i}")).id
            assert found(other, f"tea {i}") == found(ledger, f"tea {i}") == [key]


# -- snippets ------------------------------------------------------------------------------------------------------


def snippets() -> Iterator[tuple[str, str, str]]:
    yield "tea", "A cup of Tea, please", "A cup of \x02Tea\x03, please"
    yield '"cup of"', "A cup  of\ntea", "A \x02cup of\x03 tea"
    yield "creme", "Crème\x02 \x1b[31m brûlée", "\x02Crème\x03 [31m brûlée"
    yield "te*", "teapots", "\x02teapots\x03"
    yield "字", "漢字", "漢\x02字\x03"
    yield "role:user", "just the beginning", "just the beginning"


def test_a_snippet_marks_what_was_found(ledger: Ledger) -> None:
    for query, text, expected in snippets():
        thread = ledger.create_thread()
        ledger.append(thread.id, said(text))
        assert ledger.search(f"{query} thread:{thread.id}").items[0].snippet == expected


def test_a_snippet_is_short_and_where_the_words_are(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    filler = "something else entirely " * 2000
    ledger.append(thread.id, said(f"milk {filler} some milk and tea together {filler}"))
    text = ledger.search("tea milk").items[0].snippet
    assert "\x02milk\x03 and \x02tea\x03" in text
    assert len(text) < 260
    assert text[0] == text[-1] == "…"
    assert text[1:].split()[0] in filler.split()  # it begins with a whole word


@pytest.mark.parametrize(
    ("typed", "minutes"),
    [("30min", 30), ("2h", 120), ("1d", 1440), ("1w", 7 * 1440), ("1mo", 30 * 1440), ("1y", 365 * 1440)],
)
def test_a_time_may_be_said_as_how_long_ago_it_was(typed: str, minutes: int) -> None:
    now = 1_800_000_000_000
    query = Query(f"since:{typed} until:{typed}", now)
    assert (query.since, query.until) == (now - minutes * 60_000,) * 2
