"""Who may come in, and what a bad request is told: a 4xx with the place of the fault, never a trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from litestar.testing import TestClient

import hansard
from hansard import Ledger
from hansard.errors import StorageError
from hansard.model import Message, TextPart
from hansard.server import create_app

BASE = "http://127.0.0.1"
JSON = {"content-type": "application/json"}


@pytest.fixture
def book() -> Iterator[Ledger]:
    with hansard.open(":memory:") as ledger:
        ledger.create_thread("t")
        ledger.append("t", Message(id="m", role="user", parts=[TextPart(text="hi")]))
        yield ledger


@pytest.fixture
def client(book: Ledger) -> Iterator[TestClient[Any]]:
    with TestClient(create_app(book), base_url=BASE) as opened:
        yield opened


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:8484", 200),
        ("LOCALHOST", 200),
        ("[::1]:8484", 200),
        ("127.0.0.1:1", 200),
        ("192.168.1.7", 200),
        ("evil.test", 421),
        ("127.0.0.1.evil.test", 421),
        ("localhost.evil.test:8484", 421),
        ("", 421),
        ("é", 421),
    ],
)
def test_a_name_that_is_pointed_at_us_is_turned_away(client: TestClient[Any], host: str, status: int) -> None:
    for path in ("/api/threads", "/api/chat/t/stream", "/schema", "/nowhere"):
        got = client.get(path, headers={"host": host.encode("utf-8")}).status_code
        assert (got == 421) == (status == 421), path


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"origin": BASE}, 201),
        ({"sec-fetch-site": "same-origin"}, 201),
        ({"origin": "http://evil.test"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"{BASE}:9"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "application/json; charset=utf-8"}, 201),
    ],
)
def test_pages_of_other_sites_change_nothing(client: TestClient[Any], headers: dict[str, str], status: int) -> None:
    answer = client.post("/api/threads", content=b"{}", headers={**JSON, **headers})
    assert answer.status_code == status
    assert status != 415 or headers["content-type"] in answer.text  # what was sent is named
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert len(client.get("/api/threads").json()["items"]) == (2 if status == 201 else 1)


def test_a_site_that_was_allowed_may_ask(book: Ledger) -> None:
    with TestClient(create_app(book, origins=["http://app.test"]), base_url=BASE) as client:
        asked = {"origin": "http://app.test", "sec-fetch-site": "cross-site"}
        answer = client.post("/api/threads", json={}, headers=asked)
        assert answer.status_code == 201
        assert answer.headers["access-control-allow-origin"] == "http://app.test"
        assert client.post("/api/threads", json={}, headers={"origin": "http://evil.test"}).status_code == 403
        preflight = client.options("/api/threads", headers={**asked, "access-control-request-method": "POST"})
        assert preflight.headers["access-control-allow-origin"] == "http://app.test"


def _deep(levels: int) -> Any:
    return [_deep(levels - 1)] if levels else []


BAD: list[tuple[str, str, Any, int, str | None]] = [
    ("POST", "/api/threads", b"", 400, "$"),
    ("POST", "/api/threads", b"{", 400, "$"),
    ("POST", "/api/threads", b"[]", 400, "$"),
    ("POST", "/api/threads", b'{"a": NaN}', 400, "$"),
    ("POST", "/api/threads", b'{"title": "a", "title": "b"}', 400, "$"),
    ("POST", "/api/threads", b"\xff\xfe", 400, "$"),
    ("POST", "/api/threads", b"[" * 100_000, 400, "$"),
    ("POST", "/api/threads", {"title": 5}, 400, "$.title"),
    ("POST", "/api/threads", {"agents": [{"id": 1}]}, 400, "$.agents[0].id"),
    ("POST", "/api/threads", {"titel": "x"}, 400, "$"),
    ("POST", "/api/threads", {"id": "t", "title": "other"}, 409, None),
    ("PATCH", "/api/threads/none", {"title": "x"}, 404, None),
    ("PATCH", "/api/threads/t", {"metadata": []}, 400, "$.metadata"),
    ("PATCH", "/api/threads/t", {"metadata": "\udc00"}, 400, "$"),
    ("POST", "/api/threads/t/messages", {"messages": [{"role": "user"}]}, 400, "$.messages[0]"),
    ("POST", "/api/threads/t/messages", {"messages": [{"role": 1, "parts": []}]}, 400, "$.messages[0].role"),
    ("POST", "/api/threads/t/messages", {"messages": ["hi"]}, 400, "$.messages[0]"),
    (
        "POST",
        "/api/threads/t/messages",
        {"messages": [{"role": "user", "parts": [{"type": "text", "text": "a"}, {"type": "text"}]}]},
        400,
        "$.messages[0].parts[1]",
    ),
    (
        "POST",
        "/api/threads/t/messages",
        {"messages": [{"role": "user", "parts": ["hi"]}]},
        400,
        "$.messages[0].parts[0]",
    ),
    ("POST", "/api/threads/t/messages", {"messages": [{"id": "m", "role": "user", "parts": []}]}, 409, None),
    ("POST", "/api/threads/t/messages", {"messages": [], "parent": "none"}, 404, None),
    ("POST", "/api/threads/t/messages", {"messages": [], "expectedHead": "x"}, 409, None),
    ("POST", "/api/threads/t/checkout", {"messageId": "none"}, 404, None),
    ("POST", "/api/threads/t/checkout", {}, 400, "$"),
    ("POST", "/api/threads/t/fork", {"messageId": 5}, 400, "$.messageId"),
    ("POST", "/api/threads/t/pending", {"results": [{"toolCallId": "none"}]}, 404, None),
    ("POST", "/api/threads/t/pending", {"results": [{}]}, 400, "$.results[0]"),
    ("GET", "/api/threads?limit=x", None, 400, "?limit"),
    ("GET", "/api/threads?after=x", None, 400, None),
    ("GET", "/api/threads/t/messages?before=none", None, 404, None),
    ("GET", "/api/threads/t/export?format=none", None, 400, None),
    ("GET", "/api/threads/t/export?format=ai-sdk-ui&target=v9", None, 400, None),
    ("POST", "/api/convert", {"document": {"messages": 5}, "format": "anthropic", "to": "gemini"}, 400, "$.messages"),
    ("POST", "/api/convert", {"document": {}, "to": "none"}, 400, None),
    ("POST", "/api/convert", {"to": "gemini"}, 400, "$"),
    ("POST", "/api/convert", {"base64": "!", "to": "gemini"}, 400, "$.base64"),
    ("POST", "/api/import", {"document": {"nothing": "known"}}, 400, None),
    ("POST", "/api/validate", {"text": "not json"}, 400, "$"),
    ("POST", "/api/chat", {"messages": []}, 400, "$"),
    ("POST", "/api/chat", {"id": 5, "messages": []}, 400, "$.id"),
    ("POST", "/api/chat", {"id": "c", "messages": [5]}, 400, "$.messages[0]"),
    ("POST", "/api/threads", {"id": "x" * 2000}, 413, None),
    ("POST", "/api/threads", {"resourceId": "x" * 2000}, 413, None),
    ("PATCH", "/api/threads/t", {"metadata": {"deep": _deep(600)}}, 413, None),
    ("POST", "/api/threads/t/messages", {"messages": [{"id": "x" * 2000, "role": "user", "parts": []}]}, 413, None),
    ("PUT", "/api/threads", {}, 405, None),
    ("GET", "/nowhere", None, 404, None),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "place"), BAD)
def test_a_bad_request_is_told_its_place(
    client: TestClient[Any], method: str, path: str, body: Any, status: int, place: str | None
) -> None:
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    answer = client.request(method, path, content=data, headers=JSON)
    told = answer.json()
    assert (answer.status_code, told.get("path")) == (status, place), told
    assert told["error"]
    assert "Traceback" not in answer.text


def test_a_body_that_is_too_large_is_refused(book: Ledger) -> None:
    with TestClient(create_app(book, max_body=1000), base_url=BASE) as client:
        assert client.post("/api/threads", json={"title": "x" * 2000}).status_code == 413


def test_a_disk_that_says_no_is_a_503_and_our_own_fault_a_500(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[Exception] = [StorageError("the disk is full"), ZeroDivisionError("secret words")]

    def fail(*_: Any, **__: Any) -> Any:
        raise faults.pop(0)

    monkeypatch.setattr(Ledger, "branches", fail)
    with TestClient(create_app(book), base_url=BASE, raise_server_exceptions=False) as client:
        for status in (503, 500):
            answer = client.get("/api/threads/t/branches")
            assert answer.status_code == status
            assert "secret words" not in answer.text


def test_words_come_back_exactly_as_they_were_said(client: TestClient[Any]) -> None:
    """Half surrogate pairs, numbers of any length, fields nobody knows."""
    data = r'[1E+400,0.10000000000000000001,"\ud800"]'
    part = f'{{"type":"data","name":"n","data":{data}}}'
    body = f'{{"messages":[{{"role":"user","id":"x","parts":[{part}],"new":{{}}}}]}}'
    assert client.post("/api/threads/t/messages", content=body, headers=JSON).status_code == 201
    for path in ("/api/threads/t/messages/x", "/api/threads/t/messages?limit=1"):
        text = client.get(path).text
        assert f'"data":{data}' in text
        assert '"new":{}' in text


def test_a_thread_may_be_called_anything(client: TestClient[Any]) -> None:
    for name in ("a/b", "stream", "é", "a b", "%2F", "?", "a%20b"):
        assert client.post("/api/threads", json={"id": name}).status_code == 201
        quoted = "".join(f"%{byte:02X}" for byte in name.encode())
        assert client.get(f"/api/threads/{quoted}").json()["id"] == name
        assert client.get(f"/api/threads/{quoted}/messages").status_code == 200
        assert client.get(f"/api/chat/{quoted}/stream").status_code == 204


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("$.messages[0].parts[0].id", {"parts": [{"type": "text", "text": "x", "id": 5}]}),
        ("$.messages[0].finishReason", {"finishReason": 5}),
        ("$.messages[0].createdAt", {"createdAt": ["2026"]}),
        ("$.messages[0].usage.inputTokens", {"usage": {"inputTokens": "many"}}),
    ],
)
def test_a_field_of_a_wrong_type_is_named_and_nothing_is_stored(
    client: TestClient[Any], path: str, more: dict[str, Any]
) -> None:
    thread = client.post("/api/threads", json={}, headers=JSON).json()["id"]
    message = {"role": "user", "parts": [{"type": "text", "text": "x"}], **more}
    answer = client.post(f"/api/threads/{thread}/messages", json={"messages": [message]}, headers=JSON)
    assert answer.status_code == 400
    assert path in answer.text
    assert client.get(f"/api/threads/{thread}/messages").json()["items"] == []


def test_a_checkout_goes_to_a_message_or_to_the_end_of_its_branch(client: TestClient[Any]) -> None:
    thread = client.post("/api/threads", json={}, headers=JSON).json()["id"]
    for text in "abc":
        new = {"messages": [{"role": "user", "parts": [{"type": "text", "text": text}]}]}
        client.post(f"/api/threads/{thread}/messages", json=new, headers=JSON)
    ids = [item["id"] for item in client.get(f"/api/threads/{thread}/messages").json()["items"]]
    for tip, wanted in ((False, min(ids)), (True, max(ids))):
        order = {"messageId": min(ids), "tip": tip}
        assert client.post(f"/api/threads/{thread}/checkout", json=order, headers=JSON).status_code in (200, 201)
        assert client.get(f"/api/threads/{thread}").json()["head"] == wanted


def test_a_body_that_means_nothing_may_be_of_any_type(client: TestClient[Any]) -> None:
    """Some clients send one with every request; only what changes something must be JSON."""
    for method in ("GET", "DELETE"):
        answer = client.request(method, "/api/threads/none", content=b"x", headers={"content-type": "text/plain"})
        assert answer.status_code == 404


@pytest.mark.parametrize(
    ("path", "status"), [("/api/threads", 200), ("/api/threads/none", 404), ("/api/threads?limit=x", 400)]
)
def test_every_answer_of_the_api_says_that_it_is_json(client: TestClient[Any], path: str, status: int) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (status, "application/json")
