"""Everything in a ledger is somebody else's words: whatever they say, in whatever field, nothing of it runs, nothing
outside is asked for, and the page keeps its shape. What looks for that is tried on pages with the defect.

Several of the words share a thread, as many as the page draws at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.model import Agent, Conversation, Message, ModelRef, Todo, Usage
from hansard.model.conversation import Context, Thinking
from hansard.model.parts import (
    CompactionPart,
    DataPart,
    FilePart,
    RawPart,
    ReasoningPart,
    RefusalPart,
    RetryPart,
    SourcePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hansard.workspace import Author, Workspace
from tests.server.live import TOKEN, LiveServer
from tests.viewer.conftest import until
from tests.viewer.payloads import FAR, PAYLOADS, RUN, SCRIPTS
from tests.viewer.watch import Watch

Snap = Callable[[Any, str], None]
TOGETHER = 6
BATCHES = [list(PAYLOADS)[i : i + TOGETHER] for i in range(0, len(PAYLOADS), TOGETHER)]
WIDE, NARROW = {"width": 1500, "height": 800}, {"width": 390, "height": 780}


def said(name: str, evil: str) -> list[Message]:
    """The words in every field of every kind of part."""
    data: dict[str, Any] = {evil: evil, "__proto__": {"polluted": evil}, "list": [evil], "command": evil, "todos": 1}
    edit = {"file_path": evil, "old_string": evil, "new_string": evil + "x"}
    todo = {"todos": [{"content": evil, "status": evil}, evil]}
    parts = [
        TextPart(text=evil, id=evil),
        ReasoningPart(text=evil, signature=evil),
        RefusalPart(text=evil),
        SourcePart(url=evil, title=evil, source_id=evil),
        SourcePart(url=f"javascript:{RUN}", title=evil),
        FilePart(media_type="image/svg+xml", data="PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+", name=evil),
        FilePart(media_type=evil, data=evil, name=evil),
        FilePart(media_type="image/png", data=evil, name=evil),
        FilePart(media_type="image/png", url=f"{FAR}/pixel.png", name=evil),
        FilePart(url=evil, name=evil),
        FilePart(url=f"data:text/html;base64,{evil}", name=evil),
        FilePart(file_id=evil),
        DataPart(name=evil, data=data),
        RetryPart(content=evil, tool_name=evil),
        CompactionPart(text=evil),
        RawPart(format=evil, value={"type": evil, "html": evil}),
        ToolCallPart(tool_call_id=evil, tool_name=evil, input=data),
        ToolCallPart(tool_call_id="edit", tool_name="Edit", input=edit),
        ToolCallPart(tool_call_id="todo", tool_name="TodoWrite", input=todo),
        ToolCallPart(tool_call_id="words", tool_name="x", input_text=evil),
    ]
    results = [
        ToolResultPart(tool_call_id=evil, tool_name=evil, output=data, status=evil),
        ToolResultPart(tool_call_id="edit", content=[TextPart(text=evil), FilePart(media_type="image/gif", data=evil)]),
        ToolResultPart(tool_call_id="words", output=evil, is_error=True),
        ToolResultPart(tool_call_id="stray", tool_name=evil, output=evil),
    ]
    key = re.sub(r"\W", "-", name)
    return [
        Message(id=f"{key} {evil[:200]}", role="system", parts=[TextPart(text=f"needle {evil}")]),
        Message(id=f"{key}-u", role="user", parts=[TextPart(text=evil)], created_at=evil),
        Message(
            id=f"{key}-a",
            role="assistant",
            parts=parts,
            agent_id=evil,
            model=ModelRef(provider=evil, name=evil),
            usage=Usage(input_tokens=10**15),
            finish_reason=evil,
            context=Context(cwd=evil, git_branch=evil, platform=evil),
            thinking=Thinking(level=evil, triggers=[evil]),
            todos=[Todo(content=evil, status=evil)],
            state=evil,
            created_at=evil,
            metadata={evil: evil, "__proto__": {"polluted": evil}},
        ),
        Message(id=f"{key}-t", role="tool", parts=results),
        Message(id=f"{key}-e", role="event", parts=[DataPart(name=evil, data=evil)]),
        Message(id=f"{key}-o", role=evil, parts=[TextPart(text=evil)]),
    ]


def whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def conversation(number: int) -> Conversation:
    """The words of one batch, in a thread that is called by all of them."""
    words = {name: PAYLOADS[name] for name in BATCHES[number]}
    end = Message(id="end", role="user", parts=[TextPart(text="the end")])
    return Conversation(
        id=thread_id(number),
        title=" ".join(words.values())[:100_000],
        agents={evil: Agent(id=evil, name=evil, model=evil, provider=evil) for evil in words.values()},
        messages=[*(message for name, evil in words.items() for message in said(name, evil)), end],
        metadata={evil: evil for evil in words.values()},
    )


def thread_id(number: int) -> str:
    return whole(f"hostile {number} " + " ".join(PAYLOADS[name][:40] for name in BATCHES[number]))


def changed_files(ledger: hansard.Ledger, folder: Path) -> None:
    """A thread whose tools changed files with such names and such words in them."""
    folder.mkdir()
    ledger.create_thread("files")
    ledger.append("files", Message(id="f", role="user", parts=[TextPart(text="change them")]))
    names = {re.sub(r"[/\x00]", "_", whole(evil))[:60].strip() or "x": evil for evil in PAYLOADS.values()}
    with Workspace(ledger, folder) as files:
        files.snapshot()
        with files.tool(Author(thread_id="files", message_id="f", agent_id=PAYLOADS["img onerror"]), *names):
            for name, evil in names.items():
                (folder / name).write_text(whole(evil)[:5000])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("hostile")
    with hansard.open(str(folder / "ledger.db")) as ledger:
        for number in range(len(BATCHES)):
            ledger.import_conversation(conversation(number))
        changed_files(ledger, folder / PAYLOADS["img onerror"].replace("/", "_"))
    with LiveServer(folder / "ledger.db", delay=0.02) as running:
        yield running


def entered(browser: Any, server: LiveServer, **how: Any) -> Watch:
    context = browser.new_context(viewport=WIDE, **how)
    assert context.request.post(f"{server.url}/api/login", data={"token": TOKEN}).status == 204
    page = context.new_page()
    page.set_default_timeout(40_000)
    return Watch(page, server.url)


@pytest.fixture(scope="module")
def watch(browser: Any, server: LiveServer) -> Iterator[Watch]:
    """One page for all of them."""
    watching = entered(browser, server)
    watching.page.goto(server.url)
    watching.page.wait_for_selector("#threads .row")
    watching.page.evaluate("location.hash = '#/t/files'")
    watching.page.wait_for_selector("#conversation .message")
    press(watching.page, "#show-tree")
    yield watching
    watching.page.context.close()


def go(page: Any, thread: str) -> None:
    page.evaluate("id => { location.hash = '#/t/' + encodeURIComponent(id) }", thread)


def press(page: Any, button: str) -> None:
    """Not by the mouse: panels may lie over it."""
    page.evaluate("button => document.querySelector(button).click()", button)


def test_there_are_enough_of_them() -> None:
    assert len(set(PAYLOADS.values())) >= 150


@pytest.mark.parametrize("number", range(len(BATCHES)), ids=[batch[0].replace(" ", "-") for batch in BATCHES])
def test_nothing_runs_and_nothing_is_loaded(number: int, watch: Watch, snap: Snap) -> None:
    page = watch.page
    go(page, thread_id(number))
    last = re.sub(r"\W", "-", BATCHES[number][-1])
    for marker in ("end", f"{last}-u"):
        page.wait_for_selector(f"#conversation .message[data-id='{marker}']", state="attached")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert watch.wrong() == []
    if number in (0, len(BATCHES) - 4):
        snap(page, f"hostile-{number}")
    page.set_viewport_size(NARROW)
    assert watch.wrong() == []
    page.set_viewport_size(WIDE)


def test_a_page_that_is_led_to_what_is_not_there_says_so_in_words(watch: Watch) -> None:
    for evil in list(PAYLOADS.values())[::12]:
        go(watch.page, whole(f"nowhere {evil[:300]}"))
        until(watch.page, "document.body.innerText.includes('nowhere')")
        assert watch.wrong() == []


def test_what_is_found_is_words(watch: Watch) -> None:
    page = watch.page
    for word in ("needle", '"<script>window"', "<img src=x onerror=alert(1)>"):
        with page.expect_response(lambda answer: "/api/search" in answer.url):
            page.fill("#search", word)
        until(page, "document.getElementById('threads').ariaBusy === 'false'")
        assert watch.wrong() == []
    page.fill("#search", "needle")
    page.wait_for_selector("#threads mark")
    page.fill("#search", "")
    page.wait_for_selector("#threads .row")
    assert watch.wrong() == []


def test_a_loss_report_is_words(watch: Watch) -> None:
    page = watch.page
    for number in (0, len(BATCHES) // 2):
        go(page, thread_id(number))
        page.wait_for_selector("#conversation .message[data-id='end']", state="attached")
        press(page, "#show-export")
        page.wait_for_selector("dialog .report p")
        assert watch.wrong() == []
        page.keyboard.press("Escape")


def test_paths_and_words_of_files_are_words(watch: Watch, snap: Snap) -> None:
    page = watch.page
    go(page, "files")
    page.wait_for_selector("#conversation .message[data-id='f']", state="attached")
    press(page, "#show-files")
    until(page, "document.getElementById('files').innerText.includes('＜script＞')")
    page.evaluate("document.querySelectorAll('#files details').forEach((one) => { one.open = true })")
    until(page, "[...document.querySelectorAll('#files .changed-file')].every((one) => one.childElementCount > 1)")
    assert watch.wrong() == []
    snap(page, "hostile-files")
    press(page, "#show-files")


def test_a_tool_result_of_five_megabytes_does_not_hang_the_page(watch: Watch, server: LiveServer) -> None:
    tab = watch.page
    call = ToolCallPart(tool_call_id="c", tool_name="dump", input={})
    much = [ToolResultPart(tool_call_id="c", output="<b>spam</b> " * 450_000)]
    said = [Message(id="a", role="assistant", parts=[call]), Message(id="t", role="tool", parts=much)]
    written = hansard.write(Conversation(id="much", messages=said), "hansard").json
    assert server.ask("POST", "/api/import", b'{"format":"hansard","document":' + written + b"}")[0] == 200
    tab.evaluate("location.hash = '#/t/much'")
    tab.wait_for_selector("text=Show all 5,400,000 characters")
    assert tab.evaluate("document.querySelector('#conversation').textContent.length") < 60_000
    tab.click("text=Show all 5,400,000 characters")
    tab.wait_for_selector(".long pre.piece")
    assert tab.evaluate("document.querySelector('.long').textContent.length") == 5_400_000
    assert watch.wrong() == []


# -- the defects that this must catch ----------------------------------------------------------------------------------

_SINK = """(text) => {
  const box = document.querySelector('#conversation');
  box.replaceChildren(document.createRange().createContextualFragment(text));
}"""
_PLAIN = "<!doctype html><body><div id=conversation></div>"


def test_a_page_that_makes_markup_of_words_is_caught(browser: Any, server: LiveServer) -> None:
    """Each of the words alone, in a page without a policy that parses them: what runs, loads or is made is seen."""
    from playwright.sync_api import Error

    context = browser.new_context(viewport=WIDE)
    context.route("http://outside.test/**", lambda route: route.fulfill(status=204))  # and the page stays
    caught: dict[str, list[str]] = {}
    page = context.new_page()
    page.route(f"{server.url}/", lambda route: route.fulfill(body=_PLAIN, content_type="text/html"))
    watch = Watch(page, server.url)
    fresh = False
    for name, evil in PAYLOADS.items():
        if not fresh:
            page.goto(f"{server.url}/")
        try:
            page.evaluate("window.ran = undefined")
            page.evaluate(_SINK, whole(evil))
            caught[name] = watch.wrong() if page.url == f"{server.url}/" else [page.url]
            fresh = True
        except Error as error:  # the page's own functions are no longer its own, or it has gone elsewhere
            caught[name], fresh = [str(error)], False
    context.close()
    seen = {kind: sum(kind in " ".join(found) for found in caught.values()) for kind in KINDS}
    assert all(seen.values()), seen
    missed = [name for name in SCRIPTS if not caught[name] and name not in HARMLESS]
    assert not missed, missed


KINDS = ("a script ran", "asked for", "markup", "a handler", "a link", "too wide", "hidden")
# Text, comments or nothing to a parser of fragments.
HARMLESS = {
    *("wide letters", "overlong", "entities", "entities twice", "utf-7", "escapes of javascript"),
    *("script split", "body onload", "body onpageshow", "xml processing", "conditional comment", "cdata"),
}


def test_the_viewer_without_its_two_defences_is_caught(browser: Any, server: LiveServer) -> None:
    """Its policy taken away, and `append` made to parse: then the words run, and it is seen."""
    watch = entered(browser, server)
    page = watch.page

    def without_policy(route: Any) -> None:
        answer = route.fetch()
        headers = {name: value for name, value in answer.headers.items() if name != "content-security-policy"}
        route.fulfill(response=answer, headers=headers)

    page.route(f"{server.url}/", without_policy)
    page.route("http://outside.test/**", lambda route: route.fulfill(status=204))
    page.add_init_script(
        """const append = Element.prototype.append;
        const parsed = (one) => document.createRange().createContextualFragment(one);
        Element.prototype.append = function (...given) {
          append.apply(this, given.map((one) => typeof one === 'string' ? parsed(one) : one));
        };"""
    )
    page.goto(server.url)
    until(page, "window.ran > 0")  # the titles alone do it
    assert any("a script ran" in one for one in watch.wrong())
    page.context.close()
