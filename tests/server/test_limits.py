"""The limits of the server, and that each holds at its edge. Who changes one changes a promise to clients: see here."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from typing import Any

import pytest
from litestar.testing import TestClient

import hansard
from hansard import Ledger
from hansard.model import FilePart, Message, TextPart, ToolResultPart
from hansard.server import access_control, app, chat, create_app, tokens, workspaces
from hansard.server import downloads as files
from hansard.server import slow_clients as patience

BASE = "http://127.0.0.1"
LIMITS = {
    (patience, "_FIRST"): 30.0,
    (patience, "_SLOWEST"): 10_000,
    (patience, "HEAD_SECONDS"): 15.0,
    (patience, "HEAD_BYTES"): 65_536,
    (access_control, "_LONGEST"): 4096,
    (access_control, "_SAFE"): ("GET", "HEAD", "OPTIONS"),
    (tokens, "COOKIE_DAYS"): 30,
    (tokens, "_MOST"): 10,
    (tokens, "_WINDOW"): 60.0,
    (tokens, "_REMEMBERED"): 10_000,
    (app, "_LARGEST"): 67_108_864,
    (app, "_WATCH"): 5.0,
    (chat, "_MOST"): 1_048_576,
    (files, "_LONGEST"): 200,
    (workspaces, "_PATHS"): 500,
    (workspaces, "_TEXT"): 300_000,
    (workspaces, "_SHOWN"): 60_000,
    (workspaces, "_TOTAL"): 1_000_000,
}


def test_every_limit_is_what_was_decided() -> None:
    assert {(module.__name__, name): getattr(module, name) for module, name in LIMITS} == {
        (module.__name__, name): limit for (module, name), limit in LIMITS.items()
    }


# Fetch metadata and type by themselves: a page of anybody that is framed, sniffed or cached would be ours.
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}


@pytest.fixture
def book() -> Iterator[Ledger]:
    with hansard.open(":memory:") as ledger:
        ledger.create_thread("t")
        yield ledger


@pytest.fixture
def client(book: Ledger) -> Iterator[TestClient[Any]]:
    with TestClient(create_app(book, token="secret"), base_url=BASE) as opened:
        yield opened


@pytest.mark.parametrize(("given", "status"), [("secret", 200), ("wrong", 401)])
def test_every_answer_says_that_it_is_nobodys_page(client: TestClient[Any], given: str, status: int) -> None:
    answer = client.get("/api/threads", headers={"authorization": f"Bearer {given}"})
    assert answer.status_code == status
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert answer.headers.get("www-authenticate") == ("Bearer" if status == 401 else None)


@pytest.mark.parametrize(
    ("name", "longest"), [("authorization", 4096), ("cookie", 8192)], ids=["authorization", "cookie"]
)
def test_a_token_or_cookies_beyond_their_limit_are_not_looked_at(
    client: TestClient[Any], name: str, longest: int
) -> None:
    begin = "Bearer " if name == "authorization" else "a="
    for length, status in ((longest, 401), (longest + 1, 431)):
        value = begin + "x" * (length - len(begin))
        assert client.get("/api/threads", headers={name: value}).status_code == status, length


def test_a_body_beyond_the_limit_is_refused(book: Ledger) -> None:
    with TestClient(create_app(book, max_body=100), base_url=BASE) as client:
        fits = b'{"title":"' + b"x" * 88 + b'"}'
        assert len(fits) == 100
        headers = {"content-type": "application/json"}
        assert client.post("/api/threads", content=fits, headers=headers).status_code == 201
        assert client.post("/api/threads", content=fits + b" ", headers=headers).status_code == 413


PNG = b"\x89PNG\r\n\x1a\n"
KINDS = [
    (PNG + b"x", "image/png"),
    (b"\xff\xd8\xff\xe0", "image/jpeg"),
    (b"GIF89a", "image/gif"),
    (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    (b"RIFF\0\0\0\0WAVEfmt ", "application/octet-stream"),
    (b"OggS\0\0\0\0WEBP", "application/octet-stream"),
    (PNG[:-1], "application/octet-stream"),
    (b"<html>" + PNG, "application/octet-stream"),
    (b"\xff\xd8", "application/octet-stream"),
    (b"<svg onload=alert(1)>", "application/octet-stream"),
    (b"", "application/octet-stream"),
]


@pytest.mark.parametrize(("data", "kind"), KINDS)
def test_a_file_is_a_picture_only_by_its_first_bytes(book: Ledger, data: bytes, kind: str) -> None:
    """Whatever type it says it has: a page of somebody's would run as ours."""
    held = FilePart(media_type="text/html", data=base64.b64encode(data).decode(), name="../a<b>.html")
    book.append("t", Message(id="m", role="user", parts=[TextPart(text="see"), held]))
    with TestClient(create_app(book), base_url=BASE) as client:
        answer = client.get("/api/threads/t/messages/m/files/0")
        assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, data, kind)
        assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''_a_b_.html"
        assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'; frame-ancestors 'none'"
        assert client.get("/api/threads/t/messages/m/files/1").status_code == 404


@pytest.mark.parametrize(
    ("file", "data"),
    [
        (FilePart(data="aGk"), b"hi"),
        (FilePart(data="_-8 ="), b"\xff\xef"),  # the other alphabet, and spaces
        (FilePart(data="not base64!"), b"not base64!"),
        (FilePart(url="data:text/plain;base64,aGk="), b"hi"),
        (FilePart(url="DATA:text/plain,a%20b"), b"a b"),
        (FilePart(url="https://example.org/a"), None),
        (FilePart(file_id="f"), None),
    ],
)
def test_a_file_has_the_bytes_the_ledger_has(book: Ledger, file: FilePart, data: bytes | None) -> None:
    first = FilePart(data="Zmlyc3Q=")
    inner = ToolResultPart(tool_call_id="c", content=[TextPart(text="x"), first, file])
    book.append("t", Message(id="m", role="tool", parts=[inner]))
    with TestClient(create_app(book), base_url=BASE) as client:
        assert client.get("/api/threads/t/messages/m/files/0").content == b"first"
        answer = client.get("/api/threads/t/messages/m/files/1")
        assert (answer.status_code, answer.content if data is not None else None) == (200 if data else 404, data)
        assert answer.headers["content-disposition" if data else "content-type"].startswith(
            "attachment; filename*=UTF-8''file" if data else "application/json"
        )


def test_the_more_of_a_body_came_the_longer_it_may_take() -> None:
    """A large upload over a slow line is not given up while it moves."""

    async def upload(size: int) -> int:
        pieces = [{"type": "http.request", "body": b"x" * size, "more_body": True}]

        async def receive() -> Any:
            if pieces:
                return pieces.pop()
            soon = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_later(0.05, soon.set_result, None)
            await soon
            return {"type": "http.request", "body": b"y", "more_body": False}

        received = patience.in_time(receive, first=-60.0)  # begun a minute too late
        return sum([len((await received())["body"]) for _ in range(2)])

    assert asyncio.run(upload(2_000_000)) == 2_000_001
    with pytest.raises(patience.HTTPException) as refused:
        asyncio.run(upload(100_000))
    assert refused.value.status_code == 408
