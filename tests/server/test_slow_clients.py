"""Clients that send slowly, too much, or what takes long to read: a 4xx soon, and others are served meanwhile."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from litestar.exceptions import HTTPException

import hansard
from hansard.server import slow_clients as patience
from tests.server.live import TOKEN, LiveServer

AUTH = f"authorization: Bearer {TOKEN}\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    db = tmp_path_factory.mktemp("patience") / "ledger.db"
    with hansard.open(str(db)) as ledger:
        ledger.create_thread("t")
    with LiveServer(db) as running:
        yield running


def answered(server: LiveServer, head: str | bytes, body: bytes = b"") -> int:
    """The status of the answer to exactly these bytes; 0 when the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as wire:
        try:
            wire.sendall((head.encode() if isinstance(head, str) else head) + body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was let go before all of it was sent
        try:
            said = wire.recv(65536)
        except ConnectionResetError:
            said = b""
    return int(said.split(b" ")[1]) if said else 0


def request(method: str, path: str, *headers: str, length: int | None = None) -> str:
    about = "".join(f"{one}\r\n" for one in headers)
    size = "" if length is None else f"content-type: application/json\r\ncontent-length: {length}\r\n"
    return f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{{port}}\r\nconnection: close\r\n{AUTH}{about}{size}\r\n"


def ask(server: LiveServer, method: str, path: str, *headers: str, body: bytes | None = None) -> int:
    head = request(method, path, *headers, length=None if body is None else len(body))
    return answered(server, head.replace("{port}", str(server.port)), body or b"")


def deep(text: str, depth: int = 100_000) -> bytes:
    return (text * depth).encode()


BOMBS = {
    "arrays": deep("["),
    "objects": deep('{"a":'),
    "arrays in a title": b'{"title":' + deep("[") + deep("]") + b"}",
    "a long number": b'{"metadata":{"a":' + b"9" * 3_000_000 + b'},"x":1}',
    "a great exponent": b'{"metadata":{"a":1e999999999}, "x": 1}',
    "many keys": b'{"x":{' + b",".join(b'"%d":1' % i for i in range(200_000)) + b"}}",
    "one key often": b"{" + b",".join([b'"title":"a"'] * 100_000) + b"}",
    "half a string": b'{"title":"' + b"a" * 5_000_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_takes_long_to_read_is_refused(server: LiveServer, name: str) -> None:
    for path in ("/api/threads", "/api/import", "/api/chat", "/api/login"):
        assert ask(server, "POST", path, body=BOMBS[name]) in (400, 413), path


def test_documents_that_are_deep_inside_are_refused_too(server: LiveServer) -> None:
    for inside in (deep("["), deep("[", 20_000) + deep("]", 20_000), b"[" * 3000 + b"]" * 3000):
        for path, more in (("import", {}), ("convert", {"to": "gemini"}), ("validate", {})):
            body = json.dumps({"text": inside.decode(), **more}).encode()
            assert ask(server, "POST", f"/api/{path}", body=body) == 400


def test_ten_thousand_ranges_are_not_looked_at(server: LiveServer) -> None:
    ranges = "range: bytes=" + ",".join(f"{i}-" for i in range(10_000))
    assert ask(server, "GET", "/viewer/main.js", ranges[:60_000]) == 200
    assert ask(server, "GET", "/api/threads/t/messages/m/files/0", ranges[:60_000]) == 404
    assert ask(server, "GET", "/viewer/main.js", ranges) in (200, 431)


def test_headers_have_an_end(server: LiveServer) -> None:
    assert ask(server, "GET", "/api/threads", "x-a: " + "b" * 60_000) == 200
    assert ask(server, "GET", "/api/threads", "x-a: " + "b" * 70_000) == 431
    assert ask(server, "GET", "/api/threads", *(f"x-{i}: b" for i in range(20_000))) == 431
    assert ask(server, "GET", f"/api/threads?after={'x' * 200_000}") == 431
    assert ask(server, "GET", "/api/threads", f"cookie: {'x' * 50_000}") in (200, 431)
    assert answered(server, b"GET / HTTP/1.1\r\n" + b"x" * 1_000_000) in (400, 431)


def test_a_large_body_behind_small_headers_is_no_large_header(server: LiveServer) -> None:
    words = b'{"title":"' + b"x" * 3_000_000 + b'"}'
    assert ask(server, "POST", "/api/threads", body=words) == 201


@pytest.mark.parametrize("token", [b"' OR 1=1--", b"x" * 1_000_000, b"\xff\xfe", b"a\x00b", b"a\rb", b""])
def test_odd_tokens_on_the_wire_are_refused(server: LiveServer, token: bytes) -> None:
    head = f"GET /api/threads HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\nauthorization: Bearer ".encode()
    assert answered(server, head + token + b"\r\n\r\n") in (400, 401, 429, 431)


@pytest.mark.parametrize(
    "head",
    [
        "GET /api/threads HTTP/1.1\r\n\r\n",
        "GET /api/threads HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil.test\r\n\r\n",
        "GET http://evil.test/api/threads HTTP/1.1\r\nhost: evil.test\r\n\r\n",
        "POST /api/threads HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
        "POST /api/threads HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        "POST /api/threads HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00",
        "GET\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_not_quite_http_is_refused(server: LiveServer, head: str) -> None:
    with_token = head.replace("\r\n", f"\r\n{AUTH}", 1) if "HTTP/1.1" in head else head
    assert answered(server, with_token) in (400, 421)


class Slow:
    """A client whose body comes in pieces, so many seconds apart by its own clock."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    async def __call__(self) -> Any:
        if not self.pieces:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": self.pieces.pop(0), "more_body": True}


def test_a_body_that_stops_coming_is_given_up() -> None:
    async def wait() -> None:
        receive = patience.in_time(Slow([b"a", b"b"]), first=0.05)
        while True:
            await receive()

    with pytest.raises(HTTPException) as refused:
        asyncio.run(wait())
    assert refused.value.status_code == 408


def test_a_client_that_only_listens_is_not_hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the body is whole no limit holds any more, however late it is by the clock."""

    async def listen() -> str:
        waiting = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            if waiting:
                return waiting.pop()
            await asyncio.sleep(0)
            return {"type": "http.disconnect"}

        asked = patience.in_time(receive)
        await asked()
        monkeypatch.setattr(patience, "time", SimpleNamespace(monotonic=lambda: 1e12))
        return str((await asked())["type"])

    assert asyncio.run(listen()) == "http.disconnect"


def test_many_slow_clients_hold_nobody_up_and_are_let_go(tmp_path: Path) -> None:
    """Two hundred connections that never finish their headers; the server is told to wait a second for those."""
    program = tmp_path / "impatient.py"
    program.write_text(
        "from hansard.server import slow_clients\nslow_clients.HEAD_SECONDS = 1.0\n"
        "from tests.server.scripted import make\n"
    )
    environment = {"HANSARD_TOKEN": TOKEN, "PYTHONPATH": str(tmp_path)}
    with LiveServer(tmp_path / "l.db", agent="impatient:make", environment=environment) as server:
        slow = []
        for i in range(200):
            wire = socket.create_connection(("127.0.0.1", server.port), timeout=30)
            wire.sendall(b"" if i % 2 else b"GET /api/threads HTTP/1.1\r\nhost: 127")
            slow.append(wire)
        assert server.ask("GET", "/api/threads")[0] == 200
        limit = time.monotonic() + 60
        for wire in slow:
            wire.settimeout(max(limit - time.monotonic(), 0.1))
            assert wire.recv(100).split(b" ")[1] == b"408"
            wire.close()
