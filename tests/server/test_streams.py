"""Durable streams over HTTP, on every backend: streams of bytes, streams that a decoder reads, runs of agents."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar.testing import TestClient

import hansard
from hansard import Ledger
from hansard.agent import Agent, ScriptedModel
from hansard.server import create_app, streams
from tests.node_judge import Judge
from tests.server.live import BEARER, LiveServer
from tests.waiting import DEADLINE, wait_until_async

TEXT = {"content-type": "text/plain"}
SSE = {"content-type": "text/event-stream"}


def served(ledger: Ledger) -> TestClient[Any]:
    agent = Agent(ScriptedModel(["Assam."]), ledger=ledger, name="waiter")
    return TestClient(create_app(ledger, [agent]), base_url="http://127.0.0.1")


@pytest.fixture
def client(ledger: Ledger) -> Iterator[TestClient[Any]]:
    with served(ledger) as opened:
        yield opened


def said(answer: Any) -> tuple[int, bytes, str | None, bool]:
    """Status, body, next offset, and whether the stream is closed."""
    offset = answer.headers.get("stream-next-offset", "").rpartition("_")[2].lstrip("0") or None
    return answer.status_code, answer.content, offset, "stream-closed" in answer.headers


def test_bytes_are_created_appended_read_and_closed(client: TestClient[Any]) -> None:
    at = "/streams/a/b"
    assert said(client.put(at, content=b"one ", headers=TEXT)) == (201, b"", "1", False)
    assert said(client.put(at, headers=TEXT)) == (200, b"", "1", False)
    assert client.put(at, headers={"content-type": "text/html"}).status_code == 409
    assert said(client.post(at, content="zwei ", headers=TEXT)) == (204, b"", "2", False)
    assert said(client.post(at, content=b"\xff\x00", headers={**TEXT, "stream-closed": "true"})) == (
        204,
        b"",
        "3",
        True,
    )
    assert said(client.get(at)) == (200, b"one zwei \xff\x00", "3", True)
    assert said(client.get(at, params={"offset": f"{0:016d}_{1:016d}"}))[1] == b"zwei \xff\x00"
    refused = client.post(at, content=b"more", headers=TEXT)
    assert (refused.status_code, refused.headers["stream-closed"]) == (409, "true")
    assert client.get(at, headers={"if-none-match": client.get(at).headers["etag"]}).status_code == 304


def test_what_is_wrong_is_told(client: TestClient[Any]) -> None:
    client.put("/streams/j", content=b"[1]", headers={"content-type": "application/json"})
    assert client.get("/streams/none").status_code == 404
    for method, query, headers, content, place in (
        ("GET", "?offset=3", {}, b"", "?offset"),
        ("GET", "?live=sse", {}, b"", "?offset"),
        ("GET", "?offset=-1&live=soon", {}, b"", "?live"),
        ("PUT", "?thread=t", TEXT, b"", "?thread"),
        ("PUT", "", {"stream-ttl": "1.5"}, b"", "Stream-TTL"),
        ("POST", "", {"content-type": "application/json"}, b"{", "$"),
        ("POST", "", {"content-type": "application/json", "producer-id": "p"}, b"{}", "Producer-Id"),
    ):
        answer = client.request(method, f"/streams/j{query}", headers=headers, content=content)
        assert answer.status_code == 400, (method, query)
        assert answer.json().get("path", "").startswith(place), answer.text
    assert client.put("/streams/x?format=antropic", headers=SSE).status_code == 400
    assert client.get("/api/threads").json()["items"][0]["title"] == "stream j"


@pytest.mark.opened_twice
def test_a_producer_that_repeats_itself_on_another_process_is_heard_once(reopened: Callable[[], Ledger]) -> None:
    with reopened() as one, reopened() as two, served(one) as first, served(two) as second:
        first.put("/streams/p", headers=TEXT)
        statuses = []
        for seq in (0, 0, 1, 1, 3):
            for client in (first, second):
                producer = {"producer-id": "p", "producer-epoch": "0", "producer-seq": str(seq)}
                answer = client.post("/streams/p", content=f"{seq} ".encode(), headers={**TEXT, **producer})
                statuses.append(answer.status_code)
        assert statuses == [200, 204, 204, 204, 200, 204, 204, 204, 409, 409]
        assert second.get("/streams/p").text == "0 1 "


def test_who_waits_for_data_is_woken_by_the_append(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_SHORTEST", "_LONGEST", "_POLL"):
        monkeypatch.setattr(streams, name, 3600.0)  # it is not found by looking again

    async def go() -> tuple[int, bytes]:
        with hansard.open(":memory:") as ledger:
            app = create_app(ledger)
            here = app.tenants[""]
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                await client.put("/streams/a", headers=TEXT)
                waiting = asyncio.create_task(client.get("/streams/a", params={"offset": "-1", "live": "long-poll"}))
                await wait_until_async(
                    lambda: any(change._waiters for change in here.raw_streams._changes.values()), "the long-poll"
                )
                await client.post("/streams/a", content=b"here", headers=TEXT)
                answer = await asyncio.wait_for(waiting, DEADLINE)
                return answer.status_code, answer.content

    assert asyncio.run(go()) == (200, b"here")


def test_a_stream_is_not_shown_as_a_page_of_the_server(client: TestClient[Any]) -> None:
    client.put("/streams/page", content=b"<script>alert(1)</script>", headers={"content-type": "text/html"})
    answer = client.get("/streams/page")
    assert answer.headers["content-disposition"] == "attachment"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.opened_twice
def test_of_many_who_create_a_stream_one_does(reopened: Callable[[], Ledger]) -> None:
    with reopened() as one, reopened() as two, served(one) as first, served(two) as second:
        found: list[int] = []
        together = threading.Barrier(8)

        def create(client: TestClient[Any]) -> None:
            together.wait()
            found.append(client.put("/streams/same", headers=TEXT).status_code)

        threads = [threading.Thread(target=create, args=(client,)) for client in (first, second) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [200] * 7 + [201]
        assert len(one.threads().items) == 1


def test_a_fork_is_a_branch_of_the_thread_and_goes_its_own_way(client: TestClient[Any], ledger: Ledger) -> None:
    client.put("/streams/s", content=b"one ", headers=TEXT)
    client.post("/streams/s", content=b"two ", headers=TEXT)
    fork = {
        "stream-forked-from": "/streams/s",
        "stream-fork-offset": f"{0:016d}_{1:016d}",
        "stream-fork-sub-offset": "2",
    }
    assert client.put("/streams/f", headers=fork).status_code == 201
    client.post("/streams/f", content=b"!", headers=TEXT)
    client.post("/streams/s", content=b"three", headers=TEXT)
    assert (client.get("/streams/f").text, client.get("/streams/s").text) == ("one tw!", "one two three")
    (thread,) = ledger.threads().items
    assert {(run.id, run.status) for run in ledger.runs(thread.id)} == {("s", "stream"), ("f", "stream")}
    assert client.delete("/streams/s").status_code == 204
    assert (client.get("/streams/s").status_code, client.get("/streams/f").text) == (410, "one tw!")
    assert client.delete("/streams/f").status_code == 204
    assert (client.get("/streams/s").status_code, ledger.threads().items) == (404, [])


def test_a_stream_stays_whatever_else_its_thread_does(client: TestClient[Any], ledger: Ledger) -> None:
    client.put("/streams/s", content=b"kept", headers={**TEXT, "stream-closed": "true"})
    (thread,) = ledger.threads().items
    with ledger.begin_run(thread.id) as run:
        run.stage(hansard.Message.assistant("Hello."))
    ledger.prune()
    assert client.get("/streams/s").text == "kept"
    assert ledger.verify() == []


def test_what_is_deleted_is_not_in_the_file_any_more(tmp_path: Path) -> None:
    with hansard.open(str(tmp_path / "ledger.db")) as ledger, served(ledger) as client:
        secret = "swordfish-8412"
        client.put("/streams/s", content=secret.encode(), headers=TEXT)
        client.delete("/streams/s")
        assert not any(secret.encode() in file.read_bytes() for file in tmp_path.iterdir())
        assert client.put("/streams/s", headers=TEXT).status_code == 201


def events() -> bytes:
    """An answer of Anthropic as SSE."""
    told = [
        {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for word in WORDS),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in told)


WORDS = ("First ", "flush ", "Darjeeling.")


@pytest.mark.opened_twice
def test_a_stream_with_a_format_is_a_run_whose_message_is_found(reopened: Callable[[], Ledger]) -> None:
    """Pieces cut anywhere, written through two processes in turn; who resumes the chat gets the text as it comes."""
    data = events()
    with reopened() as one, reopened() as two, served(one) as first, served(two) as second:
        one.append("tea", hansard.Message.user("Which tea?")) if one.create_thread("tea") else None
        assert first.put("/streams/answer-1?format=anthropic&thread=tea", headers=SSE).status_code == 201
        half = data.index(b"flush") + 3
        for i, piece in enumerate((data[:7], data[7:half], data[half:-5], data[-5:])):
            producer = {"producer-id": "p", "producer-epoch": "0", "producer-seq": str(i)}
            writer, other = (first, second)[:: -1 if i % 2 else 1]
            for client in (writer, other) if i == 3 else (writer,):  # the last one is repeated
                client.post("/streams/answer-1", content=piece, headers={**SSE, **producer})
            if i == 1:
                (run,) = two.active_runs("tea")
                text = "".join(getattr(n.delta, "text", "") for n in two.journaled(run).deltas)
                assert text == "First "
        assert second.post("/streams/answer-1", headers={"stream-closed": "true"}).status_code == 204
        assert first.get("/streams/answer-1").content == data
        assert [message.text for message in one.transcript("tea")] == ["Which tea?", "".join(WORDS)]
        assert one.get_run("tea", "answer-1").status == "committed"
        assert [hit.thread_id for hit in two.search("Darjeeling").items] == ["tea"]
        chunks = first.get("/api/chat/answer-1/stream", params={"startIndex": "0"}).text
        assert '"delta":"Darjeeling."' in chunks
        assert '"finishReason":"stop"' in chunks


def test_json_messages_of_a_format_are_events(client: TestClient[Any], ledger: Ledger) -> None:
    told = [json.loads(line[6:]) for line in events().decode().split("\n") if line.startswith("data: ")]
    about = {"content-type": "application/json"}
    assert (
        client.put("/streams/j?format=anthropic&thread=t", content=json.dumps(told[:3]), headers=about).status_code
        == 201
    )
    client.post("/streams/j", content=json.dumps(told[3:]), headers={**about, "stream-closed": "true"})
    assert [message.text for message in ledger.transcript("t")] == ["".join(WORDS)]
    assert client.get("/streams/j").json() == told


def test_a_stream_that_is_closed_too_early_is_a_failed_run_with_its_partial_message(
    client: TestClient[Any], ledger: Ledger
) -> None:
    client.put(
        "/streams/cut?format=anthropic&thread=t", content=events()[:500], headers={**SSE, "stream-closed": "true"}
    )
    run = ledger.get_run("t", "cut")
    assert (run.status, ledger.transcript("t")) == ("failed", [])


def test_the_run_of_an_agent_is_a_json_stream_of_its_chunks(client: TestClient[Any]) -> None:
    question = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Which tea?"}]}
    answer = client.post("/api/chat", json={"id": "tea", "messages": [question]})
    sent = [json.loads(line.partition("data: ")[2]) for line in answer.text.split("\n\n")[:-2]]
    at = answer.headers["location"]
    assert at == f"/streams/{answer.headers['x-workflow-run-id']}"
    read = client.get(at)
    assert (read.json(), read.headers["content-type"], "stream-closed" in read.headers) == (
        sent,
        "application/json",
        True,
    )
    assert client.get(at, params={"offset": f"{0:016d}_{2:016d}"}).json() == sent[2:]
    assert client.head(at).headers["stream-next-offset"] == f"{0:016d}_{len(sent):016d}"
    assert client.get(at, params={"offset": "-1", "live": "sse"}).text.count("event: data") == 1
    assert client.post(at, content=b"{}", headers={"content-type": "application/json"}).status_code == 405
    assert client.delete(at).status_code == 405
    client.post("/api/chat", json={"id": "tea", "trigger": "regenerate-message"} | {"messages": [question]})
    assert client.get(at).status_code == 410, "the journal of a run is kept until the next one begins"


def test_the_durable_transport_of_the_ai_sdk_talks_to_the_chat_routes(tmp_path: Path) -> None:
    if reason := Judge.available():
        pytest.skip(reason)
    with LiveServer(tmp_path / "ledger.db") as server, Judge() as judge:
        found = judge.ask("cuts", transport="durable", url=server.url, chatId="c", text="slow 40", headers=BEARER)
        assert found["ok"], found
        text = "".join(chunk.get("delta", "") for chunk in found["chunks"])
        assert text == "".join(f"w{i} " for i in range(40))
        assert found["chunks"][-1]["type"] == "finish"
        assert "/streams/" in found["gets"][-1][0]
        found = judge.ask("cuts", transport="durable", url=server.url, chatId="c", headers=BEARER)
        assert (found["ok"], found["chunks"]) == (True, [])  # nothing runs
