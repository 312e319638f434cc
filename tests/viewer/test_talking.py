"""Talking and branching in the browser: an answer that streams, stops and is found again; branches, approvals."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from typing import Any

from tests.server.live import BEARER, LiveServer
from tests.viewer.conftest import show, until

FORKED = "01JCX0000000000000000000T1"
Snap = Callable[[Any, str], None]


def say(page: Any, words: str) -> None:
    page.fill("#composer textarea", words)
    page.keyboard.press("Enter")


def idle(page: Any) -> None:
    """Waits until nothing streams."""
    page.wait_for_selector("#composer:not(.busy)")
    until(page, "document.querySelector('.live').childElementCount === 0")


def talk(page: Any, words: str) -> str:
    """A new chat with these words; its thread."""
    page.click("#new-chat")
    say(page, words)
    page.wait_for_selector(".role-assistant")  # alive, or done already
    return page.evaluate("decodeURIComponent(location.hash.slice(4))")


def texts(page: Any, role: str) -> list[str]:
    return [one.strip() for one in page.locator(f".piece .role-{role} .body").all_inner_texts()]


def transcript(server: LiveServer, thread_id: str) -> list[str]:
    _, found = server.ask("GET", f"/api/threads/{thread_id}/messages?newest=false&limit=1000")
    return [part["text"] for one in found["items"] for part in one["parts"] if part["type"] == "text"]


def test_an_answer_streams_and_is_kept(page: Any, server: LiveServer, snap: Snap) -> None:
    thread_id = talk(page, "held 60 streams")
    page.wait_for_selector(".live :text('w3 ')")
    snap(page, "streaming")
    server.let_go_on("streams")
    idle(page)
    assert texts(page, "user") == ["held 60 streams"]
    assert texts(page, "assistant")[0].endswith("w59")
    assert transcript(server, thread_id)[0] == "held 60 streams"


def test_an_answer_is_stopped_and_what_was_said_is_kept(page: Any, server: LiveServer) -> None:
    thread_id = talk(page, "slow 100000")
    page.wait_for_selector(".live :text('w3 ')")
    page.click("#composer :text('Stop')")
    idle(page)
    _, runs = server.ask("GET", f"/api/threads/{thread_id}/runs")
    assert runs[-1]["status"] != "active"
    _, shown = server.ask("GET", f"/api/threads/{thread_id}/runs/{runs[-1]['id']}")
    said = shown["messages"][-1]
    assert (said["state"], "w3" in said["parts"][0]["text"]) == ("interrupted", True)


def test_after_a_reload_the_answer_goes_on(page: Any, server: LiveServer) -> None:
    talk(page, "held 150 reload")
    page.wait_for_selector(".live :text('w3 ')")
    page.reload()
    page.wait_for_selector(".live :text('w5 ')")
    server.let_go_on("reload")
    idle(page)
    assert texts(page, "assistant")[-1].endswith("w149")


def test_a_failure_of_the_model_is_told(page: Any) -> None:
    talk(page, "fail")
    page.wait_for_selector(".toast.wrong")
    idle(page)


def test_an_edit_and_a_regenerated_answer_are_branches(page: Any, server: LiveServer, snap: Snap) -> None:
    thread_id = talk(page, "hello")
    idle(page)
    first = texts(page, "assistant")[0]
    page.hover(".role-assistant")
    page.click(".role-assistant :text('Regenerate')")
    page.wait_for_selector(".siblings:has-text('2/2')")
    page.hover(".role-user")
    page.click(".role-user :text('Edit')")
    page.fill(".editor", "goodbye")
    page.click("text=Send as a new branch")
    page.wait_for_selector(".role-user .siblings:has-text('2/2')")
    idle(page)
    assert texts(page, "user") == ["goodbye"]
    page.click("#show-tree")
    until(page, "document.querySelectorAll('#tree .knot').length === 6")
    until(page, "[...document.querySelectorAll('#tree .knot[data-id] .words')].every((one) => one.textContent)")
    assert page.locator("#tree .knot.gone").count() == 1
    assert page.locator("#tree .knot.head.active").count() == 1
    snap(page, "tree")
    page.click(".role-user")
    page.keyboard.press("[")
    page.wait_for_selector(".role-user .siblings:has-text('1/2')")
    assert texts(page, "user") == ["hello"]
    page.locator("#tree .knot.gone").click()
    page.wait_for_selector(".role-assistant .siblings:has-text('1/2')")
    assert texts(page, "assistant") == [first]
    assert transcript(server, thread_id)[0] == "goodbye"  # looking at others has moved nothing
    page.click("#elsewhere :text('Check out')")
    page.wait_for_selector("#composer", state="visible")
    assert transcript(server, thread_id) == ["hello", first]


def test_two_versions_are_compared_side_by_side(page: Any, server: LiveServer, snap: Snap) -> None:
    before = server.ask("GET", f"/api/threads/{FORKED}")[1]
    show(page, FORKED)
    page.click("text=Compare")
    sides = page.locator("dialog .compared")
    sides.nth(1).locator(".message").wait_for()
    sides.nth(0).locator(".message").wait_for()
    assert [("Thames" in one, "Danube" in one) for one in sides.all_inner_texts()] == [(True, False), (False, True)]
    snap(page, "compare")
    page.click("dialog :text('Close')")
    assert server.ask("GET", f"/api/threads/{FORKED}")[1] == before


def test_a_fork_goes_on_from_an_earlier_message(page: Any, server: LiveServer) -> None:
    thread_id = talk(page, "one")
    idle(page)
    say(page, "two")
    until(page, "document.querySelectorAll('.piece .role-assistant').length === 2")
    idle(page)
    page.hover(".role-assistant >> nth=0")
    page.click(".role-assistant :text('Fork') >> nth=0")
    until(page, "document.querySelectorAll('.piece .role-user').length === 1")
    say(page, "three")
    until(page, "document.querySelectorAll('.piece .role-assistant').length === 2")
    idle(page)
    assert texts(page, "user") == ["one", "three"]
    assert len(server.ask("GET", f"/api/threads/{thread_id}/branches")[1]) == 2


def test_a_call_that_needs_a_yes_waits_for_it(page: Any, snap: Snap) -> None:
    talk(page, "delete")
    page.wait_for_selector(".piece .decide")
    assert page.locator(".tool .badge").inner_text() == "awaiting approval"
    snap(page, "approval")
    page.click("text=Approve")
    page.wait_for_selector(".piece :text('The tool said deleted a.txt.')")
    assert page.locator(".tool .badge").inner_text() == "done"


def test_a_no_is_a_no(page: Any) -> None:
    talk(page, "delete")
    page.wait_for_selector(".piece .decide")
    page.click("text=Deny")
    page.wait_for_selector(".tool .badge.denied")


def test_what_was_said_with_a_yes_is_shown_with_the_result(page: Any, server: LiveServer) -> None:
    thread_id = talk(page, "delete")
    page.wait_for_selector(".piece .decide")
    last = server.ask("GET", f"/api/chat/{thread_id}")[1][-1]
    part = next(part for part in last["parts"] if part["type"].startswith("tool-"))
    part["state"], part["approval"] = "approval-responded", {**part["approval"], "approved": True, "reason": "A copy."}
    body = json.dumps({"id": thread_id, "message": last}).encode()
    request = urllib.request.Request(
        server.url + "/api/chat", data=body, headers={"content-type": "application/json", **BEARER}
    )
    with urllib.request.urlopen(request, timeout=60) as stream:
        stream.read()
    page.reload()
    page.wait_for_selector(".piece :text('The tool said deleted a.txt.')")
    assert page.inner_text(".tool .reason") == "approved: A copy."


def test_an_approval_asked_for_elsewhere_is_shown_and_not_offered(page: Any, server: LiveServer, snap: Snap) -> None:
    """The calls of an imported conversation, by what their approvals say; no run of this ledger waits for any."""
    parts = [
        {"type": "tool-rm", "toolCallId": f"c{i}", "state": state, "input": {"path": "a.txt"}, "approval": approval}
        for i, (state, approval) in enumerate(
            [
                ("approval-requested", {"id": "a0"}),
                ("approval-responded", {"id": "a1", "approved": True}),
                ("approval-responded", {"id": "a2", "approved": False}),
            ]
        )
    ]
    said = {"id": "asks", "role": "assistant", "parts": parts}
    body = {"document": [said], "format": "ai-sdk-ui", "threadId": "asked-elsewhere"}
    status, made = server.ask("POST", "/api/import", body)
    assert status in (200, 201), made
    show(page, made[0]["threadId"])
    assert page.locator(".tool .badge").all_inner_texts() == ["awaiting approval", "approved, no result", "denied"]
    assert "no run waits for it here" in page.inner_text(".tool >> nth=0")
    assert page.locator(".decide").count() == 0
    snap(page, "approval-elsewhere")


def test_a_call_for_somebody_else_is_answered_here(page: Any) -> None:
    talk(page, "ask")
    page.wait_for_selector(".tool .badge:has-text('awaiting an answer')")
    page.fill(".decide input", "because")
    page.click(".decide :text('Answer')")
    page.wait_for_selector(".piece :text('The tool said because.')")


def test_the_composer_says_when_a_thread_is_gone(page: Any) -> None:
    page.evaluate("location.hash = '#/t/nowhere'")
    page.wait_for_selector("#nothing .wrong:has-text('nowhere')")
    assert not page.is_visible("#show-export"), "there is nothing to export, undo or draw a tree of"
    show(page, "parts")
    assert page.is_visible("#show-export")
