"""The FastAPI example over HTTP, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import hansard
from hansard.streams.accumulator import fold
from tests.examples.chat_server import ChatServer
from tests.streams.live import decode


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    with ChatServer(tmp_path_factory.mktemp("chat") / "chat.db") as running:
        yield running


@pytest.fixture
def chat(request: pytest.FixtureRequest) -> str:
    """Each test has a chat of its own."""
    return str(request.function.__name__)


def posted(chat_id: str) -> dict[str, Any]:
    part = {"type": "text", "text": "Tea, please."}
    message = {"id": f"{chat_id}-u", "role": "user", "parts": [part]}
    return {"id": chat_id, "trigger": "submit-message", "messages": [message]}


def text(data: bytes) -> str:
    return "".join(getattr(part, "text", "") for message in fold(decode("ai-sdk-ui", data)) for part in message.parts)


def test_an_answer_streams_and_is_there_afterwards(server: ChatServer, chat: str) -> None:
    answer = httpx.post(f"{server.url}/api/chat", json=posted(chat), timeout=30)
    assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert text(answer.content) == "Tea is served. " * 20
    asked, said = httpx.get(f"{server.url}/api/chat/{chat}").json()
    assert (asked["role"], said["role"]) == ("user", "assistant")
    assert [part["text"] for part in said["parts"] if part["type"] == "text"] == ["Tea is served. " * 20]
    assert httpx.get(f"{server.url}/api/chat/{chat}/stream").status_code == 204


def test_what_cannot_be_answered_is_refused_with_its_status_and_place(server: ChatServer, chat: str) -> None:
    words = posted(chat)
    for body, status, place in (
        ({**words, "messages": []}, 400, "$.messages: no messages"),
        ({**words, "messages": [{**words["messages"][0], "role": "king"}]}, 400, "$.messages[0].role"),
        ({**words, "trigger": "regenerate-message", "messageId": "gone"}, 404, "$.messageId"),
        ({**words, "messages": [{"id": "a", "role": "assistant", "parts": []}]}, 409, "not the last answer"),
    ):
        answer = httpx.post(f"{server.url}/api/chat", json=body, timeout=30)
        assert answer.status_code == status, answer.text
        assert place in answer.json()["error"]
    assert httpx.get(f"{server.url}/api/chat/{chat}").json() == []


def test_a_client_that_goes_away_comes_back_to_the_whole_answer(server: ChatServer, chat: str) -> None:
    with httpx.stream("POST", f"{server.url}/api/chat", json=posted(chat)) as answer:
        next(answer.iter_bytes())
    again = httpx.get(f"{server.url}/api/chat/{chat}/stream", timeout=30)
    assert again.status_code == 200
    assert text(again.content) == "Tea is served. " * 20


def test_an_answer_is_resumed_from_any_chunk(server: ChatServer, chat: str) -> None:
    with httpx.Client(base_url=f"{server.url}/api/chat", timeout=30) as client:
        first = client.post("", json=posted(chat))
        events = first.text.split("\n\n")[:-2]
        for n in range(len(events)):
            name = (chat, first.headers["x-workflow-run-id"])[n % 2]
            for query, header in (
                ({"startIndex": str(n)}, {}),
                ({"startIndex": str(n - len(events))}, {}),
                ({"starting_after": str(n - 1)}, {}),
                ({"startIndex": "0"}, {"last-event-id": str(n - 1)} if n else {}),
            ):
                rest = client.get(f"/{name}/stream", params=query, headers=header)
                assert rest.text.split("\n\n")[:-2] == events[n:], (query, header)


def test_stopping_keeps_what_was_said(server: ChatServer, chat: str) -> None:
    data = b""
    with httpx.stream("POST", f"{server.url}/api/chat", json=posted(chat)) as answer:
        for piece in answer.iter_bytes():
            if data.count(b"text-delta") < 10 <= (data + piece).count(b"text-delta"):
                assert httpx.post(f"{server.url}/api/chat/{chat}/stop").json() is True
            data += piece
    assert 0 < len(text(data)) < len("Tea is served. " * 20)
    _, said = httpx.get(f"{server.url}/api/chat/{chat}").json()
    kept = "".join(part["text"] for part in said["parts"] if part["type"] == "text")
    assert kept.startswith(text(data))  # nothing that was shown is lost
    assert httpx.post(f"{server.url}/api/chat/{chat}/stop").json() is False


def test_a_server_that_is_ended_has_ended_its_answers(server: ChatServer, chat: str) -> None:
    with httpx.stream("POST", f"{server.url}/api/chat", json=posted(chat)) as answer:
        next(piece for piece in answer.iter_bytes() if b"text-delta" in piece)
    server.end()
    with hansard.open(server.db) as ledger:
        assert [run.status for run in ledger.runs(chat)] == ["aborted"]
        assert [message.state for message in ledger.transcript(chat)[1:]] == ["interrupted"]
    server.start()
