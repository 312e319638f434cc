"""The HTTP API inside this process: requests whose every byte may be odd get only the answers it documents.

An input is a request as text: `METHOD /path?query`, then headers, an empty line, the body.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import urllib.parse
from typing import Any

import hansard
from hansard.model import Message, TextPart, ToolCallPart
from hansard.model.conversation import PendingCall
from hansard.server import create_app
from tests.faults.fuzz.engine import Surface, Target

_RENEWED = 4000
_LINE = '{"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"hi"}}\n'
_SAID = {"id": "m9", "role": "user", "parts": [{"type": "text", "text": "Which tea?"}]}
_DOCUMENT = {
    "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
    ]
}
_CHAT = {
    "id": "t",
    "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}],
    "trigger": "submit-message",
}
BODIES: list[tuple[str, str, Any]] = [
    ("POST", "/api/threads", {"id": "n", "title": "Tea", "metadata": {"a": 1}, "agents": [{"id": "x"}]}),
    ("POST", "/api/threads", {"parentThreadId": "t", "resourceId": "r"}),
    ("PATCH", "/api/threads/t", {"title": None, "resourceId": "r", "metadata": {"a": [1]}, "agents": [{"id": "y"}]}),
    ("POST", "/api/threads/t/messages", {"messages": [_SAID], "parent": "m", "expectedHead": "a"}),
    ("POST", "/api/threads/t/messages", {"messages": [_SAID, {**_SAID, "id": "m10", "parentMessageId": "m9"}]}),
    ("POST", "/api/threads/t/checkout", {"messageId": "m", "tip": True}),
    ("POST", "/api/threads/t/checkout", {"messageId": None}),
    ("POST", "/api/threads/t/fork", {"messageId": "m"}),
    ("POST", "/api/threads/t/pending", {"results": [{"toolCallId": "c", "output": {"ok": True}}]}),
    ("POST", "/api/import", {"format": "anthropic", "document": _DOCUMENT, "threadId": "i"}),
    ("POST", "/api/import", {"format": "claude-code", "text": _LINE}),
    ("POST", "/api/import", {"base64": "e30="}),
    ("POST", "/api/convert", {"format": "anthropic", "to": "gemini", "document": _DOCUMENT, "target": "x"}),
    ("POST", "/api/convert", {"to": "openai-chat", "document": _DOCUMENT}),
    ("POST", "/api/validate", {"format": "anthropic", "document": _DOCUMENT, "provider": "gemini"}),
    ("POST", "/api/chat", _CHAT),
    ("POST", "/api/chat/t/stop", {}),
    ("POST", "/api/login", {"code": "x"}),
    ("POST", "/api/threads/t/workspaces/1/apply", {"kind": "undo", "turns": 1, "seen": "x", "scope": "thread"}),
]
PATHS = (
    "/api/threads?limit=2&newest=true&resourceId=r&format=pi&agent=x&model=m&project=p&since=7d&until=2026-11",
    "/api/threads?limit=2&after=x",
    "/api/threads/t",
    "/api/threads/t/messages?limit=2&newest=true",
    "/api/threads/t/messages?before=m&head=a",
    "/api/threads/t/messages/m",
    "/api/threads/t/branches",
    "/api/threads/t/tree",
    "/api/threads/t/runs",
    "/api/threads/t/runs/r",
    "/api/threads/t/pending",
    "/api/search?q=tea%20-coffee%20role:user&limit=3",
    "/api/search?q=tea&after=x",
    "/api/threads/t/messages/m/files/0",
    "/api/formats",
    "/api/agents",
    "/api/threads/t/export?format=anthropic",
    "/api/threads/t/export?format=ai-sdk-ui&target=v5",
    "/api/threads/t/workspaces",
    "/api/threads/t/workspaces/1/changes?limit=1",
    "/api/threads/t/workspaces/1/plan?kind=undo&turns=1&scope=thread",
    "/api/chat/t",
    "/api/facts",
    "/schema/openapi.json",
    "/",
)
REQUESTS = [*BODIES, *(("GET", path, None) for path in PATHS), ("DELETE", "/api/threads/gone", None)]


def seeds() -> list[bytes]:
    head = "{} {}\nhost: 127.0.0.1\ncontent-type: application/json\n\n{}"
    return [
        head.format(method, path, "" if body is None else json.dumps(body, separators=(",", ":"))).encode()
        for method, path, body in REQUESTS
    ]


def parsed(data: bytes) -> tuple[dict[str, Any], bytes]:
    """An ASGI scope and the body."""
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, target = first.partition(b" ")
    path, _, query = target.partition(b"?")
    headers = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method.decode("latin-1") or "GET",
        "scheme": "http",
        "path": urllib.parse.unquote_to_bytes(path or b"/").decode("utf-8", "replace"),
        "raw_path": path or b"/",
        "query_string": query,
        "headers": [*headers, (b"content-length", str(len(body)).encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "root_path": "",
    }
    return scope, body


def asking() -> Target:
    """One request after the other to one application, whose ledger is renewed at times."""
    loop = asyncio.new_event_loop()
    state: dict[str, Any] = {"uses": _RENEWED}
    faults: list[BaseException] = []
    log = logging.getLogger("hansard.server")
    log.addHandler(_Faults(faults))
    log.propagate = False

    def target(data: bytes, rng: random.Random) -> bool:
        if state["uses"] >= _RENEWED:
            if "ledger" in state:
                state["ledger"].close()
            state.update(uses=0, ledger=_ledger())
            state["app"] = create_app(state["ledger"])
        state["uses"] += 1
        scope, body = parsed(data)
        status = loop.run_until_complete(asyncio.wait_for(_ask(state["app"], scope, body), 20))
        if status >= 500 and status != 503:
            raise faults.pop() if faults else AssertionError(f"status {status}")
        return status < 400

    return target


class _Faults(logging.Handler):
    """What the server logs as its own fault."""

    def __init__(self, faults: list[BaseException]) -> None:
        super().__init__()
        self._faults = faults

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self._faults.append(record.exc_info[1])


async def _ask(app: Any, scope: dict[str, Any], body: bytes) -> int:
    told: list[int] = []
    given = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        return next(given, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    await app(scope, receive, send)
    return told[0]


def _ledger() -> hansard.Ledger:
    ledger = hansard.open(":memory:")
    fill(ledger)
    return ledger


def fill(ledger: hansard.Ledger) -> None:
    """Something of everything."""
    for key in ("t", "gone"):
        ledger.create_thread(key, title="Tea")
        ledger.append(key, Message(id="m", role="user", parts=[TextPart(text="Which tea?")]))
    with ledger.begin_run("t", id="r") as run:
        run.stage(Message(id="a", role="assistant", parts=[ToolCallPart(tool_call_id="c", tool_name="brew")]))
        run.commit(pending=[PendingCall(tool_call_id="c", kind="external")])


SURFACES = [Surface("requests", seeds, asking)]
