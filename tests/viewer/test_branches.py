"""Branches: looking moves nothing; the drawn tree, comparing, checking out; superseded runs and sidechains."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import hansard
from hansard.sessions.discovery import of_file
from hansard.sessions.importer import import_session
from tests.conftest import GOLDEN
from tests.server.live import LiveServer
from tests.viewer.conftest import show, until

Snap = Callable[[Any, str], None]


def head(server: LiveServer, thread_id: str = "branches") -> Any:
    return server.ask("GET", f"/api/threads/{thread_id}")[1]["head"]


def tree(page: Any) -> None:
    show(page, "branches")
    page.keyboard.press("t")
    page.wait_for_selector("#tree .knot")
    until(page, "[...document.querySelectorAll('#tree .knot[data-id] .words')].every((one) => one.textContent)")


def test_another_version_is_looked_at_without_moving_the_head(page: Any, server: LiveServer, snap: Snap) -> None:
    before = server.ask("GET", "/api/threads/branches")[1]
    show(page, "branches")
    page.wait_for_selector(".message:has-text('Darjeeling is light.')")
    page.keyboard.press("[")
    page.wait_for_selector(".message.gone:has-text('Assam is strong.') .badge:has-text('superseded')")
    page.wait_for_selector("#elsewhere:has-text('another branch')")
    assert not page.is_visible("#composer")
    snap(page, "looking")
    page.reload()
    page.wait_for_selector(".message:has-text('Assam is strong.')")
    page.click(".message.gone .siblings [aria-label='Later version']")
    page.wait_for_selector(".message:has-text('Darjeeling is light.')")
    assert not page.is_visible("#elsewhere")
    assert server.ask("GET", "/api/threads/branches")[1] == before


def test_the_tree_shows_runs_as_one_line_superseded_answers_and_sidechains(page: Any, snap: Snap) -> None:
    tree(page)
    assert [one.split("  ")[:2] for one in page.locator("#tree .knot.gone .role").all_text_contents()] == [
        ["Waiter", "superseded"]
    ]
    page.wait_for_selector("#tree .knot.chain .side-tag")
    assert page.locator("#tree .knot.head.active").count() == 1
    assert page.locator("#tree .pill").all_text_contents() == ["+3", "+12"]
    snap(page, "tree-branches")


def test_a_sub_agent_is_a_line_after_its_call_and_no_version(page: Any, server: LiveServer) -> None:
    """A session of the real Claude Code: the sub-agent's messages are a click away, events are folded together."""
    home = GOLDEN / "lab" / "claude@2.1.327" / "home"
    key = json.loads((home.parent / "manifest.json").read_text("utf-8"))["session"]
    (file,) = home.rglob(f"{key}.jsonl")
    with hansard.open(server.db) as ledger:
        import_session(ledger, of_file(file, "claude-code"))
        (agent,) = ledger.sub_agents(key)
    show(page, key)
    page.evaluate("place => { location.hash = place }", f"#/t/{key}/m/{agent.parent_id}")
    page.wait_for_selector(".role-user:has-text('Let a helper count for us.')")
    chip = page.locator(".tool:has-text('Agent') .sub-agent button")
    assert chip.text_content().startswith("sub-agent: 20 messages · ")
    assert page.locator(".siblings").count() == 0
    assert page.locator("details.events > summary").first.is_visible()
    assert not page.locator("details.events .role-event").first.is_visible()
    chip.click()
    page.wait_for_selector(".message.sidechain:has-text('I counted seven porcelain cups.')")
    page.wait_for_selector("#elsewhere:has-text('another branch')")


def test_a_run_of_messages_opens_and_folds(page: Any) -> None:
    tree(page)
    folded = page.locator("#tree .knot").count()
    page.locator("#tree .pill").first.click()
    until(page, f"document.querySelectorAll('#tree .knot').length > {folded}")
    page.locator("#tree .pill[aria-label^='Fold']").first.focus()
    page.keyboard.press("Enter")
    until(page, f"document.querySelectorAll('#tree .knot').length === {folded}")


def test_the_tree_is_zoomed_and_moved(page: Any) -> None:
    tree(page)
    wide = "Number(document.querySelector('#tree svg').getAttribute('width'))"
    start = page.evaluate(wide)
    page.click("#tree [aria-label=Larger]")
    page.click("#tree [aria-label=Larger]")
    assert page.evaluate(wide) > start * 1.4
    page.hover("#tree .tree-box")
    page.keyboard.down("Control")
    page.mouse.wheel(0, 100)
    page.keyboard.up("Control")
    until(page, f"{wide} < {start * 1.5}")
    for _ in range(3):
        page.click("#tree [aria-label=Larger]")
    box = page.locator("#tree .tree-box").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 180, steps=5)
    page.mouse.up()
    assert page.evaluate("document.querySelector('#tree .tree-box').scrollTop") > 50
    assert page.locator("#tree .knot.picked").count() == 0  # dragging is not clicking
    page.click("#tree :text('Fit')")
    assert page.evaluate("document.querySelector('#tree .tree-box').scrollHeight") <= box["height"] + 1


def test_a_place_in_the_tree_is_looked_at_compared_and_then_checked_out(
    page: Any, server: LiveServer, snap: Snap
) -> None:
    tree(page)
    before = head(server)
    page.click("#tree .knot[data-id=s1]")
    page.wait_for_selector(".message.sidechain:has-text('There are many teas') .badge:has-text('sidechain')")
    page.wait_for_selector("#tree .tree-card:has-text('There are many teas')")
    assert head(server) == before
    snap(page, "tree-picked")
    page.click("#tree .tree-card :text('Compare with active')")
    sides = page.locator("dialog .compared")
    sides.nth(1).locator(".message >> nth=0").wait_for()
    sides.nth(0).locator(".message >> nth=0").wait_for()
    texts = sides.all_inner_texts()
    assert sorted(("many teas" in one, "Step 6" in one) for one in texts) == [(False, True), (True, False)]
    page.wait_for_selector("dialog .compare-where:has-text('Step 4')")
    snap(page, "compare-branches")
    page.click("dialog :text('Close')")
    page.click("#tree .tree-card :text('Check out')")
    until(page, "document.getElementById('elsewhere').hidden")
    assert head(server) == "s1"
    page.click("#tree .knot[data-id=again1]")
    page.click("#elsewhere :text('Check out')")
    until(page, "document.getElementById('elsewhere').hidden")
    assert head(server) == "again1"


def test_a_fork_is_made_from_the_tree(page: Any, server: LiveServer) -> None:
    tree(page)
    page.click("#tree .knot[data-id=b0]")
    page.click("#tree .tree-card :text('Fork from here')")
    until(page, "document.querySelectorAll('.piece .message').length === 1")
    assert head(server) == "b0"
    server.ask("POST", "/api/threads/branches/checkout", {"messageId": "again1"})


def test_the_keys_are_listed_and_panels_open_and_close_by_them(page: Any, snap: Snap) -> None:
    show(page, "branches")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open] .help")
    for key in ("j", "k", "[", "]", "/", "u", "r", "t", "?"):
        assert key in page.locator("dialog kbd").all_inner_texts()
    snap(page, "help")
    page.keyboard.press("Escape")
    for key, panel in (("t", "#tree"), ("f", "#files")):
        page.keyboard.press(key)
        page.wait_for_selector(panel, state="visible")
    assert not page.is_visible("#tree")  # one at a time
    page.keyboard.press("Escape")
    page.wait_for_selector("#files", state="hidden")
    page.keyboard.press("e")
    page.wait_for_selector("dialog[open] #export-format")


def test_what_can_be_reached_by_tab_shows_where_the_focus_is(page: Any) -> None:
    show(page, "branches")
    page.keyboard.press("t")
    page.wait_for_selector("#tree .knot")
    marked = """(() => { const one = document.activeElement; const style = getComputedStyle(one);
      const hit = one.querySelector?.('.hit, rect');
      return (style.outlineStyle !== 'none' && style.outlineWidth !== '0px') || style.boxShadow !== 'none' ||
        (hit && getComputedStyle(hit).stroke !== 'none') || one === document.body ||
        one.closest('.composer') !== null || one.id === 'main' ? '' : one.outerHTML.slice(0, 120) })()"""
    for _ in range(60):
        page.keyboard.press("Tab")
        assert page.evaluate(marked) == ""


def test_words_that_are_cut_say_so(page: Any, server: LiveServer) -> None:
    said = {"id": "w", "role": "user", "parts": [{"type": "text", "text": "**Tea** " + "🫖 and more tea " * 30}]}
    server.ask("POST", "/api/threads", {"id": "wordy"})
    assert server.ask("POST", "/api/threads/wordy/messages", {"messages": [said]})[0] == 201
    show(page, "wordy")
    page.click("#show-tree")
    page.click("#tree .knot[data-id=w]")
    page.wait_for_selector("#tree .words:has-text('Tea 🫖 and more tea')")
    until(page, "document.querySelector('#tree .card-words').textContent.length > 100")
    for words in (page.text_content("#tree .words"), page.text_content("#tree .card-words"), page.inner_text("#title")):
        assert (words[:5], words[-1], "\ufffd" in words) == ("Tea 🫖", "…", False)
