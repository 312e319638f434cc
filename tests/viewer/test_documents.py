"""Out and in: the loss report comes before the file; a dropped file becomes a thread; a server with a token."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from litestar.testing import TestClient

import hansard
from hansard import formats
from hansard.server import create_app
from tests.server.live import ROOT, LiveServer
from tests.viewer.conftest import show

Snap = Callable[[Any, str], None]


def test_losses_are_shown_before_saving(page: Any, server: LiveServer, snap: Snap, tmp_path: Path) -> None:
    show(page, "anthropic_thinking")
    page.click("#show-export")
    page.wait_for_selector("dialog .fine")
    assert page.locator("#export-format option").count() == len(formats.names())
    page.select_option("#export-format", "openai-chat")
    page.wait_for_selector("dialog .losses li")
    _, exported = server.ask("GET", "/api/threads/anthropic_thinking/export?format=openai-chat")
    assert page.locator("dialog .losses li").count() == len(exported["losses"])
    snap(page, "export")
    with page.expect_download() as saved:
        page.click("dialog :text('Save')")
    saved.value.save_as(tmp_path / "saved.json")
    assert json.loads((tmp_path / "saved.json").read_text()) == exported["document"]


def test_every_format_is_written(page: Any) -> None:
    show(page, "parts")
    page.click("#show-export")
    for name in formats.names():
        page.select_option("#export-format", name)
        page.wait_for_selector("dialog .report:not(:has-text('Writing'))")
        page.wait_for_selector("dialog .primary:enabled")
        assert page.locator("dialog .report .wrong").count() == 0, name


def test_a_number_is_saved_as_the_ledger_has_it(page: Any, server: LiveServer, tmp_path: Path) -> None:
    call = b'{"type":"tool-call","toolCallId":"c","toolName":"n","input":{"big":12345678901234567890,"one":1.0}}'
    server.ask("POST", "/api/threads", {"id": "numbers"})
    body = b'{"messages":[{"id":"n","role":"assistant","parts":[' + call + b"]}]}"
    assert server.ask("POST", "/api/threads/numbers/messages", body)[0] == 201
    show(page, "numbers")
    page.click("#show-export")
    page.select_option("#export-format", "anthropic")
    page.wait_for_selector("dialog .losses li")
    with page.expect_download() as saved:
        page.click("dialog :text('Save')")
    saved.value.save_as(tmp_path / "saved.json")
    assert '"big":12345678901234567890,"one":1.0' in (tmp_path / "saved.json").read_text().replace(" ", "")


def test_a_dropped_file_becomes_a_thread(page: Any) -> None:
    body = {
        "id": "dropped",
        "title": "Dropped here",
        "messages": [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}],
    }
    page.evaluate(
        """words => {
          const data = new DataTransfer();
          data.items.add(new File([words], "dropped.json"));
          window.dispatchEvent(new DragEvent("dragenter", {dataTransfer: data}));
          window.dispatchEvent(new DragEvent("drop", {dataTransfer: data, cancelable: true}));
        }""",
        json.dumps(body),
    )
    page.wait_for_selector("text=Which format is dropped.json?")
    page.select_option("#import-format", "hansard")
    page.click("dialog .primary")
    page.wait_for_selector("#title:has-text('Dropped here')")
    page.set_input_files("#import", ROOT / "src" / "hansard" / "samples" / "claude_session.jsonl")
    page.wait_for_selector(".toast:has-text('claude_session.jsonl')")


def test_a_file_that_is_no_conversation_is_refused_with_the_reason(page: Any) -> None:
    page.set_input_files("#import", {"name": "junk.bin", "mimeType": "", "buffer": b"\xff\xfe\x00junk"})
    page.wait_for_selector(".toast.wrong:has-text('junk.bin')")


def test_the_page_needs_no_token_and_everything_else_does() -> None:
    with (
        hansard.open(":memory:") as ledger,
        TestClient(create_app(ledger, token="t"), base_url="http://127.0.0.1") as client,
    ):
        for path in ("/", "/viewer/main.js", "/viewer/viewer.html"):
            assert client.get(path).status_code == 200
        for path in (
            "/api/threads",
            "/viewer/../api/threads",
            "/viewer/%2e%2e/api/threads",
            "/viewer/nothing.js",
            "/schema",
        ):
            assert client.get(path).status_code == 401, path
        assert client.get("/viewer/pages.py", headers={"authorization": "Bearer t"}).status_code == 404
        assert client.get("/", headers={"host": "evil.test"}).status_code == 421
