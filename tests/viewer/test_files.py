"""The files a thread changed: listed by message, shown as diffs; undo and redo by a plan that is shown first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from tests.server.live import LiveServer
from tests.viewer.conftest import opened, show, until, work

Snap = Callable[[Any, str], None]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "project"


@pytest.fixture
def server(tmp_path: Path, project: Path) -> Iterator[LiveServer]:
    """A ledger of its own for every test: files are changed here."""
    with hansard.open(str(tmp_path / "ledger.db")) as ledger:
        work(ledger, project)
    with LiveServer(tmp_path / "ledger.db") as running:
        yield running


@pytest.fixture
def page(browser: Any, server: LiveServer) -> Iterator[Any]:
    yield from opened(browser, server, viewport={"width": 1400, "height": 860})


def head(server: LiveServer) -> Any:
    return server.ask("GET", "/api/threads/files")[1]["head"]


def test_files_are_listed_by_message_with_their_diffs(page: Any, project: Path, snap: Snap) -> None:
    show(page, "files")
    page.click(".message[data-id=f0a] .touched:has-text('2 files')")
    page.wait_for_selector("#files .change[data-message=f0a] .diff")
    words = page.inner_text("#files .change[data-message=f0a]")
    assert "-water = 80" in words
    assert "+water = 96" in words
    assert page.get_attribute("#files .root", "title") == str(project)
    assert page.locator("#files .change").count() == 2
    page.wait_for_selector("#files .change-words:has-text('there is milk now')")
    snap(page, "files")
    page.click("#files .change[data-message=f0a] :text('Show')")
    page.wait_for_selector(".message.selected[data-id=f0a]")


def test_undo_shows_its_plan_touches_nothing_before_and_redo_takes_it_back(
    page: Any, server: LiveServer, project: Path, snap: Snap
) -> None:
    before = {one.name: one.read_text() for one in project.iterdir() if one.is_file()}
    show(page, "files")
    page.keyboard.press("u")
    page.wait_for_selector("#files .plan .primary:has-text('Undo 3 files')")
    plan = [one.split() for one in page.locator("#files .plan summary").all_inner_texts()]
    assert [one for one in plan if one[0] != "Todo"] == [
        ["delete", "milk.py"],
        ["put", "back", "notes.md"],
        ["put", "back", "tea.py"],
    ]
    page.wait_for_selector("#files .plan q:has-text('96')")
    snap(page, "undo-plan")
    assert {one.name: one.read_text() for one in project.iterdir() if one.is_file()} == before
    page.keyboard.press("Enter")
    page.wait_for_selector(".toast:has-text('Undone: 3 files')")
    assert sorted(one.name for one in project.iterdir() if one.is_file()) == ["notes.md", "tea.py"]
    assert head(server) == "f0a"
    until(page, "document.querySelectorAll('.piece .message').length === 2")
    page.wait_for_selector("#files .change.undone")
    page.wait_for_selector("#files .change-words:text-is('Undo')")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    page.click("#files .plan .primary:has-text('Redo 3 files')")
    page.wait_for_selector(".toast:has-text('Redone: 3 files')")
    assert {one.name: one.read_text() for one in project.iterdir() if one.is_file()} == before
    assert head(server) == "f1a"
    until(page, "document.querySelectorAll('.piece .message').length === 4")


def test_the_scope_can_be_the_files_or_the_conversation_alone(page: Any, server: LiveServer, project: Path) -> None:
    show(page, "files")
    page.click("#show-files")
    page.select_option("#files .tools select[aria-label='What to undo']", "files")
    page.click("#ask-undo")
    page.wait_for_selector("#files .plan:has-text('The conversation stays as it is.')")
    page.click("#files .plan .primary")
    page.wait_for_selector(".toast:has-text('Undone')")
    assert (head(server), (project / "notes.md").exists()) == ("f1a", True)
    page.select_option("#files .tools select[aria-label='What to undo']", "conversation")
    page.click("#ask-undo")
    page.wait_for_selector("#files .plan:has-text('No file changes')")
    page.click("#files .plan .primary")
    until(page, "document.querySelectorAll('.piece .message').length === 2")
    assert head(server) == "f0a"


def test_what_others_changed_is_named_and_kept(page: Any, project: Path, snap: Snap) -> None:
    (project / "milk.py").write_text("kind = 'cow'\n")
    show(page, "files")
    page.keyboard.press("u")
    page.wait_for_selector("#files .plan-conflicts:has-text('milk.py'):has-text('was changed since')")
    snap(page, "undo-conflict")
    page.click("#files .plan .primary:has-text('Undo 2 files')")
    page.wait_for_selector(".toast:has-text('1 kept')")
    assert (project / "milk.py").read_text() == "kind = 'cow'\n"


def test_a_plan_that_is_out_of_date_is_shown_anew_and_not_carried_out(page: Any, project: Path) -> None:
    show(page, "files")
    page.keyboard.press("u")
    page.wait_for_selector("#files .plan .primary:has-text('Undo 3 files')")
    (project / "tea.py").write_text("leaf = 'green'\n")
    page.keyboard.press("Enter")
    page.wait_for_selector("#files .plan .warn:has-text('Nothing was done')")
    page.wait_for_selector("#files .plan .primary:has-text('Undo 2 files')")
    assert (project / "tea.py").read_text() == "leaf = 'green'\n"
    assert (project / "milk.py").exists()


def test_with_nothing_to_redo_that_is_said(page: Any) -> None:
    show(page, "files")
    page.keyboard.press("r")
    page.wait_for_selector("#files .plan:has-text('nothing to redo')")
    page.click("#files .plan :text('Close')")
    assert not page.is_visible("#files .plan")


def test_a_server_that_may_not_touch_the_folder_says_so(browser: Any, server: LiveServer, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with LiveServer(server.db, "--workspace", str(tmp_path / "other")) as careful:
        for page in opened(browser, careful):
            show(page, "files")
            page.click("#show-files")
            page.wait_for_selector("#files .warn:has-text('may not change')")
            assert page.is_disabled("#ask-undo")
            assert page.locator("#files .change").count() == 2


def test_a_thread_without_files_goes_back_by_a_turn_too(page: Any, server: LiveServer, snap: Snap) -> None:
    said = [
        {"id": f"m{i}", "role": ("user", "assistant")[i % 2], "parts": [{"type": "text", "text": f"w{i}"}]}
        for i in range(4)
    ]
    server.ask("POST", "/api/threads", {"id": "plain", "title": "Plain"})
    server.ask("POST", "/api/threads/plain/messages", {"messages": said})
    show(page, "plain")
    page.click("#show-files")
    page.wait_for_selector("#files :text('No files are recorded')")
    assert "only the conversation moves" in page.inner_text("#files .tools")
    assert "no files are recorded" in str(page.get_attribute("#undo", "title"))
    assert page.is_disabled("#ask-redo")
    snap(page, "files-none")
    page.keyboard.press("u")
    page.wait_for_selector("#files .plan q:has-text('w1')")
    page.wait_for_selector("#files .plan .primary:has-text('Undo in the conversation')")
    snap(page, "undo-conversation")
    page.keyboard.press("Enter")
    page.wait_for_selector(".toast:has-text('the conversation went back by a turn')")
    until(page, "document.querySelectorAll('.piece .message').length === 2")
    assert server.ask("GET", "/api/threads/plain")[1]["head"] == "m1"
    page.reload()  # what was undone can be redone still
    until(page, "document.querySelectorAll('.piece .message').length === 2")
    page.keyboard.press("r")
    page.click("#files .plan .primary:has-text('Redo in the conversation')")
    until(page, "document.querySelectorAll('.piece .message').length === 4")
    assert server.ask("GET", "/api/threads/plain")[1]["head"] == "m3"
    page.wait_for_selector("#ask-redo:disabled")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    page.wait_for_selector("#files .plan:has-text('nothing to redo')")


def test_a_thread_in_which_nothing_was_said_offers_no_undo(page: Any) -> None:
    page.click("#new-chat")
    page.wait_for_selector("#undo:disabled")
    show(page, "files")
    page.wait_for_selector("#undo:enabled")
    until(page, "document.querySelector('#undo').title.includes('and of its files')")
