"""The index follows what is written: words are cut beside writers, and filed only if nothing happened meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UnsetType

from hansard import Ledger, Message
from hansard.store import searchable
from tests.store.said import said


def found(ledger: Ledger, query: str) -> list[str]:
    return [hit.message_id for hit in ledger.search(query).items]


def _beside(monkeypatch: pytest.MonkeyPatch, action: Callable[[], Any]) -> None:
    """Let something happen while the first message is cut into words."""
    tokens, waiting = searchable.tokens, [action]

    def cut(message: Message, **about: Any) -> str:
        while waiting:
            working = threading.Thread(target=waiting.pop(), daemon=True)
            working.start()
            working.join(20)
            assert not working.is_alive()
        return tokens(message, **about)

    monkeypatch.setattr(searchable, "tokens", cut)


def test_others_write_while_words_are_cut(url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    if url == ":memory:":
        pytest.skip("a ledger in memory has one connection")
    thread = ledger.create_thread().id
    first = ledger.append(thread, said("tea")).id
    _beside(monkeypatch, lambda: ledger.append(thread, said("tea too")))
    assert found(ledger, "tea") == [first]
    assert len(found(ledger, "tea")) == 2


def test_what_is_deleted_while_its_words_are_cut_is_not_indexed(
    url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    if url == ":memory:":
        pytest.skip("a ledger in memory has one connection")
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
