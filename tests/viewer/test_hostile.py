"""Everything in a ledger is somebody else's words: whatever they say, in whatever field, nothing of it runs, nothing
outside is asked for, and the page keeps its shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hansard import formats
from hansard.model import Agent, Conversation, Message, ModelRef, Todo, Usage
from hansard.model.conversation import Context
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
from tests.server.live import LiveServer
from tests.viewer.conftest import opened

Snap = Callable[[Any, str], None]
RUN = "window.ran=(window.ran||0)+1"
FAR = "http://outside.test"
PAYLOADS = {
    "script": f"<script>{RUN}</script>",
    "script src": f"<script src={FAR}/x.js></script>",
    "img onerror": f"<img src=x onerror='{RUN}'>",
    "img src": f'<img src="{FAR}/pixel.png">',
    "svg onload": f"<svg onload='{RUN}'></svg>",
    "svg script": f"<svg><script>{RUN}</script></svg>",
    "svg use": f'<svg><use href="{FAR}/x.svg#a"/></svg>',
    "math": f"<math><mtext><img src=x onerror='{RUN}'></mtext></math>",
    "iframe": f'<iframe src="{FAR}"></iframe>',
    "iframe srcdoc": f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    "object": f'<object data="{FAR}/x.swf"></object>',
    "embed": f'<embed src="{FAR}/x">',
    "link css": f'<link rel=stylesheet href="{FAR}/x.css">',
    "style": f"<style>@import '{FAR}/x.css'; body {{ display: none }}</style>",
    "base": f'<base href="{FAR}/">',
    "meta refresh": f'<meta http-equiv="refresh" content="0;url={FAR}">',
    "form": f'<form action="{FAR}"><button autofocus>x</button></form>',
    "video": f'<video src="{FAR}/v.mp4" autoplay onerror="{RUN}"></video>',
    "details": f"<details open ontoggle='{RUN}'>x</details>",
    "broken out of an attribute": f'" onmouseover="{RUN}" x="',
    "broken out of a title": f"</title></textarea></style><script>{RUN}</script>",
    "comment": f"<!--><script>{RUN}</script>-->",
    "cdata": f"<![CDATA[<script>{RUN}</script>]]>",
    "template": f"<template><script>{RUN}</script></template>${{{RUN}}}{{{{{RUN}}}}}",
    "javascript link": f"[click](javascript:{RUN})",
    "javascript link in capitals": f"[click](JaVaScRiPt:{RUN})",
    "javascript link with a tab": f"[click](java\tscript:{RUN}) [b](\x01javascript:{RUN})",
    "javascript entity link": f"[click](&#106;avascript:{RUN})",
    "data link": f"[click](data:text/html,<script>{RUN}</script>)",
    "vbscript link": "[click](vbscript:msgbox)",
    "blob link": "[click](blob:null/1) [f](file:///etc/passwd)",
    "markdown image": f"![x]({FAR}/pixel.png)",
    "markdown image javascript": f"![x](javascript:{RUN})",
    "markdown link broken out": f'[x]({FAR}/"onmouseover="{RUN})',
    "reference image": f"![x][1]\n\n[1]: {FAR}/pixel.png",
    "autolink": f"<javascript:{RUN}> <{FAR}/x>",
    "html in code": f"```html\n<script>{RUN}</script>\n```\n`<img src=x onerror={RUN}>`",
    "fence never closed": f'```"><script>{RUN}</script>',
    "table": f"|<script>{RUN}</script>|b|\n|---|---|\n|<img src=x onerror='{RUN}'>|{FAR}|",
    "bidi override": "user\u202etxt.exe\u202c \u2066isolated",
    "zero width": "pass\u200bword \ufeff\u2060x\u200f",
    "ansi": "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J",
    "nul and controls": "a\x00b\x07c\x08d\r\n\x7f",
    "half a pair": "\ud83d alone",
    "zalgo": "Z\u0351\u036b\u0343\u036a\u0302\u0351\u036b\u0343" * 40,
    "a huge word": "W" * 30_000,
    "nested quotes": "> " * 3000 + "deep",
    "nested lists": "\n".join(" " * i + "- x" for i in range(300)),
    "stars": "**" * 4000 + "_" * 4000 + "[" * 4000,
    "ticks": "`" * 3001 + "x",
    "prototype": "__proto__ constructor toString",
    "css": f"background:url({FAR}/x);expression({RUN})",
    "import map": f'<script type="importmap">{{"imports":{{"/viewer/main.js":"{FAR}/x.js"}}}}</script>',
    "data svg": f"data:image/svg+xml,<svg onload='{RUN}' xmlns='http://www.w3.org/2000/svg'/>",
    "patch": f"--- a\n+++ <script>{RUN}</script>\n@@ -1 +1 @@\n-<img src=x onerror={RUN}>\n+x",
}


def hostile(name: str, evil: str) -> Conversation:
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
    return Conversation(
        id=f"hostile {name} {evil[:300]}".encode("utf-8", "replace").decode(),
        title=evil,
        agents={evil: Agent(id=evil, name=evil, model=evil)},
        messages=[
            Message(id=f"s{evil[:500]}", role="system", parts=[TextPart(text=evil)]),
            Message(id="u", role="user", parts=[TextPart(text=evil)], created_at=evil),
            Message(
                id="a",
                role="assistant",
                parts=parts,
                agent_id=evil,
                model=ModelRef(provider=evil, name=evil),
                usage=Usage(input_tokens=10**15),
                finish_reason=evil,
                context=Context(cwd=evil, git_branch=evil),
                todos=[Todo(content=evil, status=evil)],
                state=evil,
                created_at=evil,
            ),
            Message(id="t", role="tool", parts=results),
            Message(id="e", role="event", parts=[DataPart(name=evil, data=evil)]),
            Message(id=f"o {name}", role=evil, parts=[TextPart(text=evil)]),
        ],
    )


@pytest.fixture(scope="module")
def ids(server: LiveServer) -> dict[str, str]:
    found = {}
    for name, evil in PAYLOADS.items():
        written = formats.write(hostile(name, evil), "hansard").json
        status, made = server.ask("POST", "/api/import", b'{"format":"hansard","document":' + written + b"}")
        assert status == 200, (name, made)
        found[name] = made[0]["threadId"]
    return found


@pytest.fixture(scope="module")
def tab(browser: Any, server: LiveServer) -> Any:
    """One page for all of them; it fails at its end if anything outside was asked for."""
    yield from opened(browser, server, viewport={"width": 1000, "height": 800})


@pytest.mark.parametrize("name", PAYLOADS)
def test_nothing_runs_and_nothing_is_loaded(name: str, tab: Any, ids: dict[str, str], snap: Snap) -> None:
    tab.evaluate("id => { location.hash = '#/t/' + encodeURIComponent(id.toWellFormed()) }", ids[name])
    tab.wait_for_selector(f"#conversation .message[data-id='o {name}']", state="attached")
    tab.evaluate("document.getElementById('tree').hidden && document.getElementById('show-tree').click()")
    tab.wait_for_selector("#tree .knot")
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    tab.evaluate(
        "document.querySelectorAll('#conversation *').forEach((one) => one.dispatchEvent(new MouseEvent('mouseover')))"
    )
    tab.wait_for_timeout(30)
    assert tab.evaluate("window.ran") is None
    assert tab.evaluate("({}).polluted") is None
    bad = "#main :is(script, iframe, object, embed, form, style, link, base, meta, template, video, svg)"
    assert tab.locator(bad).count() == 0
    targets = tab.evaluate("[...document.querySelectorAll('a[href]')].map((one) => one.protocol)")
    assert set(targets) <= {"http:", "https:", "mailto:"}
    pictures = tab.evaluate("[...document.images].map((one) => one.src.slice(0, 11))")
    assert all(one.startswith("data:image/") for one in pictures)
    wide = "const box = document.getElementById('conversation'); box.scrollWidth - box.clientWidth"
    assert tab.evaluate(wide) <= 1
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1000
    assert not set("\u202e\u200b\x1b\ufeff") & set(tab.evaluate("document.body.innerText"))
    if name in ("script", "a huge word", "bidi override"):
        snap(tab, f"hostile-{name.replace(' ', '-')}")


def test_a_tool_result_of_five_megabytes_does_not_hang_the_page(tab: Any, server: LiveServer) -> None:
    call = ToolCallPart(tool_call_id="c", tool_name="dump", input={})
    much = [ToolResultPart(tool_call_id="c", output="<b>spam</b> " * 450_000)]
    said = [Message(id="a", role="assistant", parts=[call]), Message(id="t", role="tool", parts=much)]
    written = formats.write(Conversation(id="much", messages=said), "hansard").json
    assert server.ask("POST", "/api/import", b'{"format":"hansard","document":' + written + b"}")[0] == 200
    tab.evaluate("location.hash = '#/t/much'")
    tab.evaluate("document.getElementById('tree').hidden || document.getElementById('show-tree').click()")
    tab.wait_for_selector("text=Show all 5,400,000 characters")
    assert tab.evaluate("document.querySelector('#conversation').textContent.length") < 60_000
    tab.click("text=Show all 5,400,000 characters")
    tab.wait_for_selector(".long pre.piece")
    assert tab.evaluate("document.querySelector('.long').textContent.length") == 5_400_000
