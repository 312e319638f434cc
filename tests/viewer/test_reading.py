"""Reading in the browser: the list, search, a conversation of every kind of part, and very long ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.server.live import LiveServer
from tests.viewer.conftest import LONG, show, until

FORKED = "01JCX0000000000000000000T1"
Snap = Callable[[Any, str], None]


def test_the_page_may_run_and_load_only_its_own(server: LiveServer, page: Any) -> None:
    policy = page.goto(server.url).headers["content-security-policy"]
    for rule in (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ):
        assert rule in policy.split("; ")
    assert page.evaluate("document.querySelectorAll('script:not([src]), style, [style], [onclick]').length") == 0


def test_every_thread_is_listed_and_an_untitled_one_goes_by_its_first_words(page: Any, snap: Snap) -> None:
    until(page, "document.querySelectorAll('#threads .row').length >= 10")
    page.wait_for_selector("text=Delete the old backups.")
    snap(page, "threads")


def test_search_as_you_type_marks_the_words_and_jumps_to_the_message_without_moving_the_head(
    page: Any, server: LiveServer, snap: Snap
) -> None:
    before = server.ask("GET", f"/api/threads/{FORKED}")[1]
    page.keyboard.press("/")
    page.keyboard.type("thames")
    page.wait_for_selector("#threads mark")
    assert page.inner_text("#threads mark").lower() == "thames"
    snap(page, "search")
    page.click("#threads .row")
    page.wait_for_selector(".message.selected:has-text('Thames')")
    page.wait_for_selector("text=This is another branch")
    assert not page.is_visible("#composer")
    snap(page, "another-branch")
    page.click("text=Back to the active branch")
    page.wait_for_selector(".message:has-text('Danube')")
    assert server.ask("GET", f"/api/threads/{FORKED}")[1] == before


def test_a_hit_deep_in_a_long_thread_is_shown(page: Any) -> None:
    page.fill("#search", '"number 4321"')
    page.wait_for_selector("#threads mark")
    page.click("#threads .row")
    page.wait_for_selector(".message.selected[data-id=l4321]")
    box = page.locator("[data-id=l4321]").bounding_box()
    assert 0 <= box["y"] <= 820


def test_nothing_found_is_said(page: Any) -> None:
    page.fill("#search", "zyxwvut")
    page.wait_for_selector("text=Nothing found.")


def test_every_kind_of_part_is_readable(page: Any, snap: Snap) -> None:
    show(page, "parts")
    page.evaluate("document.getElementById('conversation').scrollTop = 0")
    assert page.locator(".role-system details:not([open])").count() == 1
    assert page.locator("img.picture").evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    assert page.locator("details.reasoning:not([open])").count() == 1
    assert page.inner_text(".prose strong") == "bold"
    assert page.inner_text(".prose .code .c-note") == "# hot"
    assert page.locator(".prose td").count() == 2
    link = page.locator(".prose a")
    assert (link.get_attribute("href"), "noopener" in link.get_attribute("rel")) == ("https://example.com/x", True)
    assert [one.strip() for one in page.locator(".tool .d-out, .tool .d-in").all_inner_texts()] == [
        "-water = 80",
        "+water = 96",
    ]
    assert page.locator(".tool .diff .d").count() == 3  # and no empty line behind the last
    sides = page.locator(".tool:has-text('brew') .side").all()
    assert ("black" in sides[0].inner_text(), "cold" in sides[1].inner_text()) == (True, True)
    assert sides[0].bounding_box()["y"] == sides[1].bounding_box()["y"]
    assert page.locator(".tool-error .badge").inner_text() == "failed"
    assert page.locator("progress").first.get_attribute("value") == "1"
    assert page.locator(".role-event").inner_text().startswith("kettle.whistled")
    assert page.locator(".badge.partial").inner_text() == "interrupted"
    assert page.locator(".message.role-tool").count() == 0
    snap(page, "parts")


def test_agents_have_names_and_colours(page: Any, snap: Snap) -> None:
    page.click("text=A talk and its room")
    page.wait_for_selector(".who.agent-1")
    assert page.locator(".who.agent").all_inner_texts()[:2] == ["Host", "Rooms"]
    snap(page, "agents")


def test_a_thread_of_ten_thousand_messages_is_drawn_only_where_it_is_looked_at(page: Any, snap: Snap) -> None:
    show(page, "long")
    page.wait_for_selector(f"[data-id=l{LONG - 1}]")
    box = page.locator(f"[data-id=l{LONG - 1}]").bounding_box()
    assert 0 < box["y"] < 820
    for part in (0.5, 0.0, 0.8, 0.25):
        page.evaluate(
            "part => { const box = document.getElementById('conversation'); box.scrollTop = box.scrollHeight * part }",
            part,
        )
        until(
            page,
            """() => { const box = document.getElementById('conversation').getBoundingClientRect();
            const middle = box.y + box.height / 2;
            return [...document.querySelectorAll('.message')].map((one) => one.getBoundingClientRect())
              .some((one) => one.top < middle + 30 && one.bottom > middle - 30) }""",
        )
        until(page, "document.querySelectorAll('.message').length < 600")
    snap(page, "long")


def test_the_keys_go_from_message_to_message(page: Any) -> None:
    show(page, "parts")
    for key, reached in zip("jjjjjkk", ("p1", "p2", "p3", "p5", "p6", "p5", "p3"), strict=True):
        page.keyboard.press(key)
        until(page, f"document.activeElement.dataset.id === '{reached}'")


def test_a_phone_shows_one_column_and_goes_back(phone: Any, snap: Snap) -> None:
    show(phone, "parts")
    assert not phone.is_visible("#sidebar")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    snap(phone, "phone-dark")
    phone.click("#back")
    phone.wait_for_selector("#sidebar", state="visible")
    snap(phone, "phone-list")


def test_what_changes_elsewhere_appears(page: Any, server: LiveServer) -> None:
    show(page, "parts")
    said = {"messages": [{"id": "late", "role": "user", "parts": [{"type": "text", "text": "And milk?"}]}]}
    server.ask("POST", "/api/threads", {"id": "elsewhere", "title": "Made elsewhere"})
    assert server.ask("POST", "/api/threads/elsewhere/messages", said)[0] == 201
    page.wait_for_selector("#threads .row:has-text('Made elsewhere')")


def test_names_that_every_object_of_a_browser_has_are_names_like_any_other(page: Any, server: LiveServer) -> None:
    """What is looked up in a table by a word of the ledger is found only if the table lists it."""
    parts = [
        {"type": "tool-call", "toolCallId": "c", "toolName": "brew", "input": {"constructor": "a\nb"}},
        {"type": "valueOf", "kept": "words of a part"},
    ]
    said = [
        {"id": "o1", "role": "toString", "parts": [{"type": "text", "text": "of no role"}]},
        {"id": "o2", "role": "assistant", "agentId": "constructor", "parts": parts},
        {"id": "o3", "role": "tool", "parts": [{"type": "tool-result", "toolCallId": "c", "status": "toString"}]},
    ]
    server.ask("POST", "/api/threads", {"id": "objects"})
    status, answer = server.ask("POST", "/api/threads/objects/messages", {"messages": said})
    assert status == 201, answer
    show(page, "objects")
    assert page.locator(".message .who").all_inner_texts() == ["toString", "constructor"]
    assert page.locator(".tool .badge").inner_text() == "toString"
    assert page.locator(".tool .code figcaption").inner_text().startswith("text")
    page.click("summary:has-text('valueOf')")
    page.wait_for_selector(".data:has-text('words of a part')")
    page.click("#show-tree")
    page.wait_for_selector("#tree .knot")
    assert page.locator("#tree .role").first.text_content() == "toString"
