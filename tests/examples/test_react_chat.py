"""The React page in a real Chromium, talking to the FastAPI example and to `hansard serve`: it shows what they keep."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

import hansard
from tests.examples.chat_server import ANSWER, EXAMPLES, ChatServer, ServedPage
from tests.waiting import wait_until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
READY, BUSY = "output[data-status=ready]", "output[data-status=streaming]"
FAILED = "output[data-status=error]"

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: the React page is not driven"),
    pytest.mark.skipif(
        not (EXAMPLES / "react_chat" / "dist" / "index.html").exists(),
        reason="examples/react_chat is not built (Node is missing, or run `make setup`): it is not driven",
    ),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module", params=[ChatServer, ServedPage], ids=["fastapi_chat", "hansard serve"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with request.param(tmp_path_factory.mktemp("chat") / "chat.db") as running:
        yield running


@pytest.fixture
def chat(request: pytest.FixtureRequest) -> str:
    """Each test has a chat of its own."""
    return str(request.function.__name__)


@pytest.fixture
def page(browser: Any, server: ChatServer, chat: str) -> Iterator[Any]:
    opened = browser.new_page()
    broken: list[Any] = []
    opened.on("pageerror", lambda error: broken.append(error))
    opened.on("console", lambda said: broken.append(said.text) if said.type in ("error", "warning") else None)
    opened.goto(f"{server.url}/#{chat}")
    yield opened
    opened.close()
    assert broken == []


def send(page: Any) -> None:
    page.get_by_placeholder("Say something").fill("Tea, please.")
    page.get_by_role("button", name="Send").click()
    page.wait_for_function("document.querySelector('article[data-role=assistant] p')?.innerText.length > 30")


def until_ready(page: Any) -> None:
    page.wait_for_selector(READY, state="attached")


def shown(page: Any) -> list[tuple[str, str, str]]:
    """Id, role and text of each message on the page."""
    script = (
        "all => all.map(a => [a.id, a.dataset.role, [...a.querySelectorAll('p')].map(p => p.textContent).join('')])"
    )
    return [tuple(each) for each in page.eval_on_selector_all("article", script)]


def kept(server: ChatServer, chat: str) -> list[tuple[str, str, str]]:
    """The same of the ledger."""
    messages = server.messages(chat)
    return [(m["id"], m["role"], "".join(part.get("text", "") for part in m["parts"])) for m in messages]


def test_what_is_sent_is_answered(page: Any, server: ChatServer, chat: str) -> None:
    send(page)
    until_ready(page)
    assert [(role, text) for _, role, text in shown(page)] == [("user", "Tea, please."), ("assistant", ANSWER)]
    assert shown(page) == kept(server, chat)


def test_regenerating_is_a_branch(page: Any, server: ChatServer, chat: str) -> None:
    send(page)
    until_ready(page)
    before = shown(page)
    page.get_by_role("button", name="Regenerate").click()
    page.wait_for_selector(BUSY, state="attached")
    until_ready(page)
    after = shown(page)
    assert after == kept(server, chat)
    assert (after[0], after[1][2]) == (before[0], ANSWER)
    assert after[1][0] != before[1][0]
    with hansard.open(server.db) as ledger:
        assert len(ledger.branches(chat)) == 2


def test_stopping_keeps_what_was_shown(page: Any, server: ChatServer, chat: str) -> None:
    send(page)
    page.get_by_role("button", name="Stop").click()
    until_ready(page)
    before = shown(page)
    assert 30 < len(before[1][2]) < len(ANSWER)
    assert before == kept(server, chat)
    assert page.inner_text("article small") == "interrupted, try again"
    page.reload()
    page.wait_for_selector("article[data-role=assistant]")
    assert shown(page) == before
    assert page.inner_text("article small") == "interrupted, try again"
    page.get_by_role("button", name="Regenerate").click()
    page.wait_for_selector(BUSY, state="attached")
    until_ready(page)
    assert [text for _, _, text in shown(page)] == ["Tea, please.", ANSWER]
    assert page.query_selector("article small") is None


def test_stopping_after_a_reload_stops_the_answer(page: Any, server: ChatServer, chat: str) -> None:
    send(page)
    page.reload()
    page.wait_for_selector(BUSY, state="attached")
    page.get_by_role("button", name="Stop").click()
    until_ready(page)
    assert shown(page) == kept(server, chat)
    assert len(shown(page)[1][2]) < len(ANSWER)
    assert page.inner_text("article small") == "interrupted, try again"


def test_an_answer_that_ends_while_a_page_loads_is_shown(
    browser: Any, page: Any, server: ChatServer, chat: str
) -> None:
    """Closing the page did not stop it, and the next one asks for its stream only after its end."""
    other = browser.new_page()
    other.goto(f"{server.url}/#{chat}")
    send(other)
    other.close()

    def late(route: Any) -> None:
        wait_until(lambda: kept(server, chat)[-1][2] == ANSWER, "the whole answer")
        route.continue_()

    page.route("**/stream*", late)
    page.reload()
    page.wait_for_function(f"document.querySelector('article[data-role=assistant] p')?.textContent === {ANSWER!r}")
    until_ready(page)
    assert shown(page) == kept(server, chat)
    assert "interrupted" not in server.messages(chat)[-1]["metadata"]


def test_what_a_killed_server_had_said_stays_and_is_answered_again(browser: Any, server: Any, chat: str) -> None:
    page = browser.new_page()
    page.goto(f"{server.url}/#{chat}")
    send(page)
    server.kill()
    page.wait_for_selector(FAILED, state="attached")  # not `streaming` for ever
    seen = shown(page)[1][2]
    server.start()
    page.reload()
    page.wait_for_selector(BUSY, state="attached")  # until the lease of the dead run ends
    server.expire_leases()
    page.wait_for_selector(FAILED, state="attached")
    assert page.inner_text("article small") == "interrupted, try again"
    assert shown(page) == kept(server, chat)
    assert shown(page)[1][2].startswith(seen)
    page.get_by_role("button", name="Regenerate").click()
    page.wait_for_selector(BUSY, state="attached")
    until_ready(page)
    assert [text for _, _, text in shown(page)] == ["Tea, please.", ANSWER]
    assert shown(page) == kept(server, chat)
    page.close()


def test_a_reload_in_the_middle_goes_on_to_the_end(page: Any, server: ChatServer, chat: str) -> None:
    send(page)
    page.reload()
    page.wait_for_selector(BUSY, state="attached")
    assert len(shown(page)) == 2
    until_ready(page)
    assert shown(page)[1][2] == ANSWER  # nothing twice, nothing missing
    assert shown(page) == kept(server, chat)
