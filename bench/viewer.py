"""The viewer in Chromium: how long until the words of a thread of 10,000 messages are painted.

Each round is a browser profile of its own, logged in, with nothing cached; the clock is the page's own, from the moment
the address is gone to. It runs where Playwright and the server are installed: the development environment.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MESSAGES = int(os.environ.get("HANSARD_BENCH_MESSAGES", "10000"))
ROUNDS = 9
TOKEN = "the token of the bench"
# The frame after the first message is in the page is the one that shows it.
PAINTED = """new MutationObserver((_, watch) => {
  if (!document.querySelector('#conversation .message') || window.painted) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now() }));
}).observe(document, { childList: true, subtree: true })"""


def viewer() -> None:
    """Measure, in an environment that can."""
    print(f"\nThe viewer: a thread of {MESSAGES:,} messages in Chromium, in milliseconds from going to its address")
    python = next((one for one in (sys.executable, str(ROOT / ".venv/bin/python")) if _can(one)), None)
    if python is None:
        print("  not measured: no environment with playwright and the server; `make setup` makes one")
    elif _chromium() is None:
        print("  not measured: no Chromium on this machine")
    else:
        subprocess.run([python, __file__], check=False)


def _can(python: str) -> bool:
    if python == sys.executable:
        return all(importlib.util.find_spec(name) for name in ("playwright", "litestar", "uvicorn"))
    if not os.path.exists(python):
        return False
    return subprocess.run([python, "-c", "import playwright, litestar, uvicorn"], check=False).returncode == 0


def _chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


def _fill(path: str) -> None:
    import hansard
    from hansard.model import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

    words = "Some **words** of an answer, with `code` and a list:\n\n- one\n- two\n\n"
    with hansard.open(path) as ledger:
        ledger.create_thread("long", title="A long one")
        for start in range(0, MESSAGES, 1000):
            said = []
            for i in range(start, min(start + 1000, MESSAGES)):
                role = ("user", "assistant", "tool", "assistant")[i % 4]
                call = ToolCallPart(tool_call_id=f"c{i}", tool_name="Read", input={"path": f"src/file{i}.py"})
                result = ToolResultPart(tool_call_id=f"c{i - 1}", output="line of a file\n" * 20)
                parts: list[Any] = [TextPart(text=f"Message {i}. {words * (1 + i % 5)}")]
                if i % 4 == 1:
                    parts = [ReasoningPart(text="Let me see. " * 10), call]
                said.append(Message(id=f"m{i}", role=role, parts=[result] if role == "tool" else parts))
            ledger.append("long", said)


def _measure() -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory(prefix="hansard-bench-") as folder, sync_playwright() as playwright:
        _fill(f"{folder}/ledger.db")
        command = [sys.executable, "-m", "hansard", "serve", "--port", "0", "--db", f"{folder}/ledger.db"]
        environment = {**os.environ, "HANSARD_TOKEN": TOKEN}
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert server.stdout is not None
        url = server.stdout.readline().split()[2].partition("/login")[0]
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        try:
            rounds = [_round(browser, url) for _ in range(ROUNDS + 1)][1:]  # the first one warms the server
        finally:
            browser.close()
            server.terminate()
            server.wait()
    for name, times, goal in zip(
        ("first contentful paint", "the last messages painted"),
        zip(*rounds, strict=True),
        ("", "under 1,000"),
        strict=True,
    ):
        middle = f"{statistics.median(times):7.0f}  (from {min(times):.0f} to {max(times):.0f}, {ROUNDS} rounds)"
        print(f"  {name:<32} {middle}   {'goal: ' + goal if goal else ''}".rstrip())


def _round(browser: Any, url: str) -> tuple[float, float]:
    context = browser.new_context(viewport={"width": 1280, "height": 820})
    assert context.request.post(f"{url}/api/login", data={"token": TOKEN}).status == 204
    page = context.new_page()
    page.add_init_script(PAINTED)
    page.goto(f"{url}/#/t/long")
    while (painted := page.evaluate("window.painted")) is None:
        page.wait_for_timeout(20)
    first = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
    context.close()
    return first, painted


if __name__ == "__main__":
    _measure()
