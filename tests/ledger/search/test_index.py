"""The index follows what is written: words are cut beside writers, and filed only if nothing happened meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UnsetType

import hansard
from hansard import Ledger, Message
from hansard.ledger.search import index, indexed_text
from tests.ledger.said import said


def found(ledger: Ledger, query: str) -> list[str]:
    return [hit.message_id for hit in ledger.search(query).items]


def _beside(monkeypatch: pytest.MonkeyPatch, action: Callable[[], Any]) -> None:
    """Let something happen while the first message is cut into words."""
    tokens, waiting = indexed_text.tokens, [action]

    def cut(message: Message, repeats: indexed_text.TokenCache, **about: Any) -> str:
        while waiting:
            working = threading.Thread(target=waiting.pop(), daemon=True)
            working.start()
            working.join(60)
            assert not working.is_alive()
        return tokens(message, repeats, **about)

    monkeypatch.setattr(index, "tokens", cut)


@pytest.mark.opened_twice
def test_others_write_while_words_are_cut(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = ledger.create_thread().id
    first = ledger.append(thread, said("tea")).id
    _beside(monkeypatch, lambda: ledger.append(thread, said("tea too")))
    assert found(ledger, "tea") == [first]
    assert len(found(ledger, "tea")) == 2


@pytest.mark.opened_twice
def test_what_is_deleted_while_its_words_are_cut_is_not_indexed(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = ledger.create_thread().id
    ledger.append(thread, said("tea"))
    run = ledger.begin_run(thread)
    run.stage([said("coffee"), said("cocoa")])
    new: list[str | UnsetType] = []

    def prune() -> None:
        run.abort()
        ledger.prune()
        new.extend(message.id for message in ledger.append(thread, [said("water"), said("milk")]))

    _beside(monkeypatch, prune)
    assert found(ledger, "coffee") == found(ledger, "cocoa") == []
    assert [found(ledger, word) for word in ("water", "milk")] == [[key] for key in new]


def test_a_text_that_is_said_again_is_cut_once(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[str] = []
    tally = indexed_text.tally

    def counting(text: str) -> Any:
        cut.append(text)
        return tally(text)

    monkeypatch.setattr(indexed_text, "tally", counting)
    threads = [ledger.create_thread().id for _ in range(3)]
    keys = [ledger.append(thread, said("a tea that is told again")).id for thread in threads]
    assert found(ledger, "tea") == keys[::-1]
    assert found(ledger, f"tea thread:{threads[1]}") == [keys[1]]
    assert len(cut) == 1


def test_threads_that_search_at_once_do_not_cut_the_same_words(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "BATCH", 10)
    tokens, cut, met = indexed_text.tokens, list[Any](), threading.Event()

    def slowly(message: Message, repeats: indexed_text.TokenCache, **about: Any) -> str:
        cut.append(message.id)
        met.wait(60)  # all four are searching
        return tokens(message, repeats, **about)

    monkeypatch.setattr(index, "tokens", slowly)
    thread = ledger.create_thread().id
    ledger.append(thread, [said(f"tea {i}") for i in range(60)])
    counts: list[int] = []
    arrived = threading.Barrier(4, action=met.set)

    def work() -> None:
        arrived.wait(60)
        counts.append(len(found(ledger, "tea")))

    working = [threading.Thread(target=work) for _ in range(4)]
    for one in working:
        one.start()
    for one in working:
        one.join()
    assert counts == [20, 20, 20, 20]
    assert len(cut) == 60


def test_what_is_remembered_of_texts_has_an_end() -> None:
    repeats = indexed_text.TokenCache()
    for i in range(40):
        text = f"{i} " * 100_000
        assert repeats[text] == repeats[text]
        assert sum(len(text) + len(tokens) for text, tokens in repeats.items()) < 8_000_000
    long = "word " * 1_000_000
    assert repeats[long].startswith(" word")
    assert long not in repeats


def test_the_next_batch_of_a_long_thread_is_as_near_as_that_of_a_short_one() -> None:
    def steps(messages: int) -> int:
        with hansard.open(":memory:") as ledger:
            thread = ledger.create_thread().id
            ledger.append(thread, [said("tea") for _ in range(messages)])
            end = ledger._write(index._fill_feed)
            taken: list[bool] = []

            def step() -> bool:
                taken.append(True)
                return False

            ledger._driver._writer.set_progress_handler(step, 10)  # type: ignore[attr-defined]
            assert len(ledger._read(lambda tx: tx.all("fed", end=end, limit=20))) == 20
            assert len(ledger._read(lambda tx: tx.all("fed_still", end=end, limit=20))) == 20
            return len(taken)

    assert steps(2000) < 2 * steps(200)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_an_entry_of_the_feed_whose_messages_are_gone_is_passed_over(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Wherever a batch ends: search must neither fail nor begin the same batch for ever."""
    monkeypatch.setattr(index, "BATCH", size)
    driver: Any = ledger._driver
    first, last = ledger.create_thread("first"), ledger.create_thread("last")
    ledger.append(first.id, [said("tea one"), said("tea two")])
    if driver.dialect == "sqlite":
        driver.write(index._fill_feed)
    number = driver.read(lambda tx: tx.one("thread", id="first"))[0]
    gone: Any = "feed", ["n", "thread", "seg", "low", "high"], [(901, number, 99, 0, 5), (902, number, 98, 0, 1)]
    driver.load(*gone) if driver.dialect == "sqlite" else driver.write(lambda tx: tx.load(*gone))
    ledger.append(last.id, [said("tea three"), said("tea four"), said("tea five")])
    assert len(found(ledger, "tea")) == 5
    assert index.catch_up(driver) == 0
    assert driver.read(lambda tx: tx.one("feed_end"))[0] in (None, index._NOT_IN_FEED)
