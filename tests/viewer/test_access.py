"""For everybody: axe finds nothing wrong in any state of the page, in light and in dark; landmarks, headings, focus."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.server.live import ROOT, LiveServer
from tests.viewer.conftest import opened, show, until

AXE = ROOT / "tests" / "node" / "node_modules" / "axe-core" / "axe.min.js"
STATES: dict[str, Callable[[Any], None]] = {}
State = Callable[[Any], None]


def state(act: State) -> State:
    STATES[act.__name__.replace("_", " ")] = act
    return act


@state
def the_list(page: Any) -> None:
    page.wait_for_selector("#nothing .keys")


@state
def a_search(page: Any) -> None:
    page.fill("#search", "tea")
    page.wait_for_selector("#threads mark")


@state
def nothing_found(page: Any) -> None:
    page.fill("#search", "zyxwvut")
    page.wait_for_selector("text=Nothing found.")


@state
def filters(page: Any) -> None:
    page.click("#show-filters")
    until(page, "document.querySelectorAll('#filter-model option').length > 1")
    page.select_option("#filter-time", "between")


@state
def every_part_unfolded(page: Any) -> None:
    show(page, "parts")
    page.evaluate("document.querySelectorAll('#conversation details').forEach((one) => { one.open = true })")


@state
def agents(page: Any) -> None:
    page.click("text=A talk and its room")
    page.wait_for_selector(".who.agent-1")


@state
def what_a_turn_took(page: Any) -> None:
    show(page, "costs")


@state
def a_call_that_waits(page: Any) -> None:
    page.click("#new-chat")
    page.fill("#composer textarea", "delete")
    page.keyboard.press("Enter")
    page.wait_for_selector(".piece .decide")


@state
def an_edit(page: Any) -> None:
    show(page, "parts")
    page.click(".role-user")
    page.click(".role-user .actions :text('Edit')")


@state
def the_tree_and_another_branch(page: Any) -> None:
    show(page, "branches")
    page.keyboard.press("t")
    page.click("#tree .knot[data-id=s1]")
    page.wait_for_selector("#tree .tree-card:has-text('There are many teas')")


@state
def two_branches_compared(page: Any) -> None:
    show(page, "branches")
    page.click("text=Compare >> nth=0")
    page.locator("dialog .compared").nth(1).locator(".message >> nth=0").wait_for()


@state
def files_and_a_plan(page: Any) -> None:
    show(page, "files")
    page.keyboard.press("u")
    page.wait_for_selector("#files .plan .diff >> nth=0")
    page.evaluate("document.querySelectorAll('#files details').forEach((one) => { one.open = true })")
    page.wait_for_selector("#files .change .diff >> nth=3")


@state
def no_files(page: Any) -> None:
    show(page, "costs")
    page.click("#show-files")
    page.wait_for_selector("text=No files are recorded")


@state
def the_losses_of_an_export(page: Any) -> None:
    show(page, "anthropic_thinking")
    page.click("#show-export")
    page.select_option("#export-format", "openai-chat")
    page.wait_for_selector("dialog .losses li")


@state
def help_with_keys(page: Any) -> None:
    show(page, "costs")
    page.keyboard.press("?")
    page.wait_for_selector("dialog .help")


@state
def a_thread_that_is_gone(page: Any) -> None:
    page.evaluate("location.hash = '#/t/nowhere'")
    page.wait_for_selector("#nothing .wrong")


@state
def a_fault_is_told(page: Any) -> None:
    page.set_input_files("#import", {"name": "junk.bin", "mimeType": "", "buffer": b"\xff\xfe\x00junk"})
    page.wait_for_selector(".toast.wrong")


def wrong(page: Any) -> list[str]:
    """What axe finds: the rule, and where."""
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [f"{one['id']}: {node['html'][:160]}" for one in found["violations"] for node in one["nodes"]]


@pytest.fixture(params=["light", "dark", "phone"])
def tab(request: Any, browser: Any, server: LiveServer) -> Iterator[Any]:
    how: dict[str, Any] = {"color_scheme": request.param}
    if request.param == "phone":
        how = {"viewport": {"width": 390, "height": 780}, "color_scheme": "dark"}
    yield from opened(browser, server, reduced_motion="reduce", **how)


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make setup, with Node")
def test_axe_finds_nothing_wrong_in_any_state(tab: Any, server: LiveServer) -> None:
    narrow = tab.viewport_size["width"] < 760
    found = {}
    for name, act in STATES.items():
        tab.goto("about:blank")
        tab.goto(server.url)
        tab.wait_for_selector("#threads .row")
        tab.evaluate("sessionStorage.clear()")
        if narrow and name in ("agents", "the list", "a call that waits", "a search"):
            continue  # the same parts, in the one column that the other states show
        act(tab)
        tab.evaluate(AXE.read_text())
        if problems := wrong(tab):
            found[name] = problems
    assert found == {}, json.dumps(found, indent=1, ensure_ascii=False)


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make setup, with Node")
def test_axe_is_awake(page: Any) -> None:
    """What is wrong on purpose is found."""
    show(page, "parts")
    page.evaluate(AXE.read_text())
    page.evaluate("document.querySelector('#show-help').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('#show-help').replaceChildren()")
    page.evaluate("document.querySelector('#title').style.color = '#ccc'")
    assert {one.partition(":")[0] for one in wrong(page)} == {"button-name", "color-contrast"}


def test_the_page_has_landmarks_and_one_heading_of_the_first_order(page: Any) -> None:
    for landmark in ("main", "nav[aria-label]", "aside[aria-label]"):
        assert page.locator(landmark).count() >= 1
    assert page.locator("h1").count() == 1
    assert page.get_attribute("html", "lang") == "en"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
