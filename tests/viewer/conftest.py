"""A real Chromium on a real `hansard serve`, with a ledger of every sample; nothing outside may be asked for.

Screenshots go to `screenshots/`, to be looked at; they are not kept in the repository.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import formats
from hansard.demo import SAMPLES
from hansard.model import (
    Agent,
    CompactionPart,
    DataPart,
    FilePart,
    Message,
    ModelRef,
    ReasoningPart,
    RetryPart,
    SourcePart,
    TextPart,
    Todo,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from hansard.workspace import Author, Workspace
from tests.server.live import ROOT, TOKEN, LiveServer
from tests.waiting import wait_until

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LONG = 10_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHROMIUM is not None:
        return
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="no Chromium on this machine: the viewer is not looked at"))


@pytest.fixture(scope="package")
def playwright() -> Iterator[Any]:
    """Ends with this folder: while it lives, an event loop runs in this thread, and other tests cannot run theirs."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def browser(playwright: Any) -> Iterator[Any]:
    opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    yield opened
    opened.close()


def every_part() -> list[Message]:
    """A conversation with a part of every kind."""
    edit = {"file_path": "src/tea.py", "old_string": "water = 80\nleaf = 1\n", "new_string": "water = 96\nleaf = 1\n"}
    words = "\n".join(
        [
            "# Tea",
            "Some **bold**, `code` and [a link](https://example.com/x).",
            "- one",
            "- two",
            "",
            "```python",
            "boil = 96  # hot",
            "```",
            "",
            "| leaf | °C |",
            "|---|---|",
            "| black | 96 |",
        ]
    )
    return [
        Message(id="p1", role="system", parts=[TextPart(text="You make tea.")]),
        Message(
            id="p2",
            role="user",
            parts=[TextPart(text="Which tea?"), FilePart(media_type="image/png", data=PICTURE, name="cup.png")],
        ),
        Message(
            id="p3",
            role="assistant",
            parts=[
                ReasoningPart(text="Black tea wants hot water."),
                TextPart(text=words),
                ToolCallPart(tool_call_id="e1", tool_name="Edit", input=edit),
                ToolCallPart(tool_call_id="e2", tool_name="brew", input={"leaf": "black"}),
            ],
            todos=[Todo(content="Boil water", status="completed"), Todo(content="Pour", status="in_progress")],
        ),
        Message(
            id="p4",
            role="tool",
            parts=[
                ToolResultPart(tool_call_id="e1", output="edited"),
                ToolResultPart(tool_call_id="e2", output={"cold": True}, is_error=True),
            ],
        ),
        Message(id="p5", role="event", parts=[DataPart(name="kettle.whistled", data={"loud": True})]),
        Message(
            id="p6",
            role="assistant",
            state="interrupted",
            parts=[
                SourcePart(url="https://example.com/tea", title="On tea"),
                RetryPart(content="again", tool_name="brew"),
                CompactionPart(text="Tea was spoken of."),
                TextPart(text="It is not re"),
            ],
        ),
    ]


def branches(ledger: hansard.Ledger) -> None:
    """A thread with a long run, an answer that was asked for again, and a sub-agent's words beside it."""
    ledger.create_thread("branches", title="Branches of every kind", agents=[Agent(id="w", name="Waiter")])
    said = [
        Message(id=f"b{i}", role=("user", "assistant")[i % 2], parts=[TextPart(text=f"Step {i}")]) for i in range(20)
    ]
    ledger.append("branches", said)
    for i, words in enumerate(("Assam is strong.", "Darjeeling is light.")):
        with ledger.begin_run("branches", agent_id="w", fork_from="b18") as run:
            run.stage(Message(id=f"again{i}", role="assistant", agent_id="w", parts=[TextPart(text=words)]))
            run.commit()
    side = [
        Message(id="s0", role="user", sidechain=True, parts=[TextPart(text="Look up teas")]),
        Message(id="s1", role="assistant", sidechain=True, parts=[TextPart(text="There are many teas")]),
    ]
    ledger.append("branches", side, parent="b4")
    ledger.checkout("branches", "again1")


def costs(ledger: hansard.Ledger) -> None:
    """Two turns: one whose price somebody recorded, one of which only tokens are known."""
    model = ModelRef(provider="anthropic", name="opus")
    usage = Usage(input_tokens=12_000, output_tokens=340, cache_read_tokens=9_000)
    ledger.create_thread("costs", title="What it took")
    call = ToolCallPart(tool_call_id="k1", tool_name="brew", input={"leaf": "black"})
    ledger.append(
        "costs",
        [
            Message(id="c1", role="user", parts=[TextPart(text="Brew some tea")]),
            Message(
                id="c2",
                role="assistant",
                model=model,
                usage=usage,
                parts=[call],
                extra={"claude-code": {"costUSD": 0.0231}},
            ),
            Message(id="c3", role="tool", parts=[ToolResultPart(tool_call_id="k1", output="hot")]),
            Message(
                id="c4",
                role="assistant",
                model=model,
                usage=usage,
                parts=[TextPart(text="It is hot.")],
                extra={"claude-code": {"costUSD": 0.0109}},
            ),
            Message(id="c5", role="user", parts=[TextPart(text="Thanks")]),
            Message(id="c6", role="assistant", model=model, usage=usage, parts=[TextPart(text="Enjoy.")]),
        ],
    )


def work(ledger: hansard.Ledger, project: Path) -> None:
    """A thread whose messages changed files in a folder: two turns, and a todo list."""
    project.mkdir()
    (project / "tea.py").write_text("water = 80\nleaf = 'black'\n\n\ndef brew():\n    return water, leaf\n")
    (project / "notes.md").write_text("# Tea\n\nTo be written.\n")
    ledger.create_thread("files", title="Better tea", agents=[Agent(id="waiter", name="Waiter")])
    turns: list[tuple[str, str, dict[str, str | None]]] = [
        (
            "The tea is too cold. Fix it.",
            "Black tea wants 96 °C; I changed `tea.py` and said so in the notes.",
            {
                "tea.py": "water = 96\nleaf = 'black'\n\n\ndef brew():\n    return water, leaf\n",
                "notes.md": "# Tea\n\nBlack tea is brewed at 96 °C.\n",
            },
        ),
        (
            "Add milk, and drop the notes.",
            "Done: there is milk now, and the notes are gone.",
            {
                "tea.py": "water = 96\nleaf = 'black'\nmilk = True\n\n\ndef brew():\n    return water, leaf, milk\n",
                "milk.py": "kind = 'oat'\n",
                "notes.md": None,
            },
        ),
    ]
    with Workspace(ledger, project) as files:
        files.snapshot()
        for i, (ask, done, wanted) in enumerate(turns):
            todos = [
                Todo(content="Hotter water", status="completed"),
                Todo(content="Milk", status="completed" if i else "pending"),
            ]
            ledger.append(
                "files",
                [
                    Message(id=f"f{i}u", role="user", parts=[TextPart(text=ask)]),
                    Message(id=f"f{i}a", role="assistant", agent_id="waiter", todos=todos, parts=[TextPart(text=done)]),
                ],
            )
            with files.tool(Author(thread_id="files", message_id=f"f{i}a", agent_id="waiter"), *wanted):
                for name, words in wanted.items():
                    if words is None:
                        (project / name).unlink()
                    else:
                        (project / name).write_text(words)


def fill(ledger: hansard.Ledger, project: Path | None = None) -> None:
    for name in SAMPLES:
        sample = formats.read((ROOT / "src" / "hansard" / "samples" / name).read_bytes())
        ledger.import_conversation(sample, None if sample.id else name.partition(".")[0])
    ledger.create_thread("parts", title="A part of every kind")
    ledger.append("parts", every_part())
    branches(ledger)
    costs(ledger)
    if project is not None:
        work(ledger, project)
    ledger.create_thread("long", title="A long one")
    said = ("user", "assistant")
    for start in range(0, LONG, 1000):
        ledger.append(
            "long",
            [
                Message(
                    id=f"l{i}",
                    role=said[i % 2],
                    parts=[TextPart(text=f"Message number {i}. " + "Some words. " * (i % 40))],
                )
                for i in range(start, start + 1000)
            ],
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    db = tmp_path_factory.mktemp("viewer") / "ledger.db"
    with hansard.open(str(db)) as ledger:
        fill(ledger, db.parent / "project")
    with LiveServer(db, delay=0.02) as running:
        yield running


@pytest.fixture
def page(browser: Any, server: LiveServer) -> Iterator[Any]:
    """A page that may ask nobody but the server; what it asked elsewhere, or did wrong, fails the test."""
    yield from opened(browser, server)


@pytest.fixture
def phone(browser: Any, server: LiveServer) -> Iterator[Any]:
    yield from opened(browser, server, viewport={"width": 390, "height": 780}, color_scheme="dark")


def opened(browser: Any, server: LiveServer, **how: Any) -> Iterator[Any]:
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 820}, **how})
    logged_in = context.request.post(f"{server.url}/api/login", data={"token": TOKEN})
    assert logged_in.status == 204, logged_in.text()
    page = context.new_page()
    page.set_default_timeout(40_000)
    outside: list[str] = []
    faults: list[str] = []
    page.on(
        "request",
        lambda asked: None if asked.url.startswith((server.url, "data:", "blob:")) else outside.append(asked.url),
    )
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
    page.goto(server.url)
    page.wait_for_selector("#threads .row")
    yield page
    context.close()
    assert outside == []
    assert faults == []


@pytest.fixture
def snap() -> Callable[[Any, str], None]:
    """Keeps what the page looks like."""
    folder = ROOT / "screenshots"
    folder.mkdir(exist_ok=True)
    return lambda page, name: page.screenshot(path=folder / f"{name}.png")


def show(page: Any, thread_id: str) -> None:
    """Opens a thread, and waits until it is there."""
    page.evaluate("id => { location.hash = `#/t/${encodeURIComponent(id)}` }", thread_id)
    page.wait_for_selector("#conversation .message")


def until(page: Any, expression: str) -> None:
    """Waits until it is so. Asked from outside: the page's own policy forbids what Playwright does inside for this."""
    wait_until(
        lambda: page.evaluate(expression), expression, pause=lambda seconds: page.wait_for_timeout(1000 * seconds)
    )
