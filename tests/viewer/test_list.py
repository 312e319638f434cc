"""The thread list: narrowed, paged, and aware of what others write; usage, price and model of every answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.model import Message, TextPart
from hansard.model.conversation import Context, ModelRef
from tests.server.live import LiveServer
from tests.viewer.conftest import opened, show, until

Snap = Callable[[Any, str], None]
MANY = 130


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    db = tmp_path_factory.mktemp("many") / "ledger.db"
    with hansard.open(str(db)) as ledger:
        for i in range(MANY):
            ledger.create_thread(f"t{i}", title=f"Thread {i}")
            ledger.append(
                f"t{i}",
                Message(
                    role="assistant",
                    agent_id="even" if i % 2 == 0 else "odd",
                    model=ModelRef(name="opus" if i < 3 else "haiku"),
                    context=Context(cwd="/home/tea/project" if i % 10 == 0 else "/home/tea/other"),
                    extra={"sage": {"x": 1}} if i == 7 else {"codex": {"x": 1}},
                    parts=[TextPart(text=f"Words {i}")],
                ),
            )
        ledger.create_thread("half\ud83d", title="Half a pair")
        ledger.append("half\ud83d", Message(id="half\ud83d", role="user", parts=[TextPart(text="Half and half")]))
    with LiveServer(db) as running:
        yield running


@pytest.fixture
def tab(browser: Any, many: LiveServer) -> Iterator[Any]:
    yield from opened(browser, many)


def rows(page: Any) -> list[str]:
    return page.locator("#threads .row-title").all_inner_texts()


def to_the_end(page: Any, rows: int) -> None:
    """Scrolls on until there are no more pages."""
    end = "document.getElementById('threads').scrollTop = 1e6"
    until(page, f"({end}) && document.querySelectorAll('#threads .row').length === {rows}")


def test_filters_narrow_the_list_and_its_pages(tab: Any, snap: Snap) -> None:
    tab.click("#show-filters")
    until(tab, "document.querySelectorAll('#filter-agent option').length === 3")
    tab.select_option("#filter-agent", "even")
    tab.wait_for_selector("#show-filters:has-text('Filter · 1')")
    until(tab, "document.querySelectorAll('#threads .row').length === 50")
    to_the_end(tab, MANY // 2)  # all pages behind the first are narrowed too
    assert all(int(name.split()[1]) % 2 == 0 for name in rows(tab))
    tab.select_option("#filter-model", "opus")
    until(tab, "document.querySelectorAll('#threads .row').length === 2")
    snap(tab, "filters")
    tab.reload()
    until(tab, "document.querySelectorAll('#threads .row').length === 2")
    tab.click("#filters :text('Clear filters')")
    until(tab, "document.querySelectorAll('#threads .row').length === 50")
    tab.select_option("#filter-project", "/home/tea/project")
    until(tab, f"document.querySelectorAll('#threads .row').length === {MANY // 10}")
    tab.select_option("#filter-project", "")
    tab.select_option("#filter-format", "sage")
    until(tab, "document.querySelectorAll('#threads .row').length === 1")
    assert rows(tab) == ["Thread 7"]


def test_dates_narrow_the_list(tab: Any) -> None:
    tab.click("#show-filters")
    with tab.expect_request(lambda asked: "since=today" in asked.url):
        tab.select_option("#filter-time", "today")
    until(tab, "document.querySelectorAll('#threads .row').length === 50")
    tab.select_option("#filter-time", "between")
    tab.fill("[aria-label='Changed since']", "2020-01-01")
    tab.fill("[aria-label='Changed until']", "2020-12-31")
    tab.wait_for_selector("text=No thread matches these filters.")


def test_filters_narrow_what_is_found(tab: Any, snap: Snap) -> None:
    """By the threads that they leave, whatever the query says itself."""
    tab.fill("#search", "words")
    tab.wait_for_selector("#threads mark")
    tab.click("#show-filters")
    until(tab, "document.querySelectorAll('#filter-agent option').length === 3")
    tab.select_option("#filter-agent", "even")
    tab.wait_for_selector("#threads .row:has-text('Thread 128')")
    to_the_end(tab, MANY // 2)
    assert all(int(name.split()[1]) % 2 == 0 for name in rows(tab))
    tab.select_option("#filter-model", "opus")
    until(tab, "document.querySelectorAll('#threads .row').length === 2")
    assert rows(tab) == ["Thread 2", "Thread 0"]
    snap(tab, "search-filtered")
    tab.fill("#search", "words thread:t2 thread:t1 thread:t4")
    until(tab, "document.querySelectorAll('#threads .row').length === 1")
    assert rows(tab) == ["Thread 2"]
    tab.fill("#search", '"words 2')
    until(tab, "document.querySelectorAll('#threads mark').length === 1")
    assert rows(tab) == ["Thread 2"]
    tab.select_option("#filter-format", "sage")
    tab.wait_for_selector("text=Nothing found in the threads that match the filters.")
    tab.click("#filters :text('Clear filters')")
    tab.fill("#search", "words")
    until(tab, "document.querySelectorAll('#threads .row').length >= 30")


def test_what_another_process_writes_appears_in_the_list_and_in_the_open_thread(tab: Any, many: LiveServer) -> None:
    show(tab, "t5")
    with hansard.open(str(many.db)) as ledger:  # this process is not the server
        ledger.append("t5", Message(role="user", parts=[TextPart(text="Said elsewhere")]))
        ledger.create_thread("new", title="Made elsewhere")
    tab.wait_for_selector(".message:has-text('Said elsewhere')")
    tab.wait_for_selector("#threads .row:has-text('Made elsewhere')")


def test_whoever_looks_further_down_the_list_is_told_and_not_moved(tab: Any, many: LiveServer) -> None:
    tab.evaluate("document.getElementById('threads').scrollTop = 900")
    with hansard.open(str(many.db)) as ledger:
        ledger.create_thread("newer", title="Made while scrolling")
    tab.wait_for_selector("#threads .news")
    assert tab.evaluate("document.getElementById('threads').scrollTop") > 500
    tab.click("#threads .news")
    tab.wait_for_selector("#threads .row:has-text('Made while scrolling')")


def test_a_quiet_page_asks_less_and_less(tab: Any) -> None:
    asked: list[str] = []
    tab.clock.install()
    tab.reload()
    tab.wait_for_selector("#threads .row")
    tab.on("request", lambda one: asked.append(one.url))
    for _ in range(15):
        tab.clock.run_for(1_000)
        tab.wait_for_load_state("networkidle")
    assert 1 <= len(asked) <= 5  # every two seconds it would be seven times


def test_an_id_with_half_a_surrogate_pair_is_opened(tab: Any) -> None:
    tab.click("#threads .row:has-text('Half a pair')")
    tab.wait_for_selector(".message:has-text('Half and half')")
    tab.reload()
    tab.wait_for_selector(".message:has-text('Half and half')")
    tab.click("#show-export")
    tab.wait_for_selector("dialog .primary:enabled")


def test_model_tokens_and_recorded_price_stand_with_each_answer_and_with_the_turn(page: Any, snap: Snap) -> None:
    show(page, "costs")
    facts = page.locator(".message .facts").all_inner_texts()
    assert "opus · 12k in · 340 out · 9,000 cached · $0.0231" in facts[1]
    assert "$" not in facts[-1]
    assert "opus" in facts[-1]
    turns = page.locator(".turn").all_inner_texts()
    assert len(turns) == 1
    assert "2 answers · 1 call · opus · 24k in · 680 out · 18k cached · $0.034" in turns[0]
    snap(page, "costs")


def test_agents_events_todos_and_what_was_cut_off_are_told_apart(page: Any) -> None:
    show(page, "parts")
    assert page.locator(".role-event summary").first.inner_text().startswith("kettle.whistled")
    assert page.locator(".badge.partial").inner_text() == "interrupted"
    assert page.locator(".todos progress").first.get_attribute("value") == "1"
    assert page.inner_text(".todos .dim") == "1 of 2"
    show(page, "files")
    page.wait_for_selector(".who.agent-0:has-text('Waiter')")


def test_an_empty_ledger_says_how_to_begin(browser: Any, tmp_path: Path, snap: Snap) -> None:
    hansard.open(str(tmp_path / "l.db")).close()
    with LiveServer(tmp_path / "l.db") as empty:
        context = browser.new_context()
        page = context.new_page()
        page.goto(empty.link)
        page.wait_for_selector("#threads :text('No threads yet.')")
        snap(page, "empty")
        context.close()
