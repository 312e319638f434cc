"""The chat stream resumed from a point, on another process: real transports, cut after every chunk.

The number of a chunk follows from the journal: `startIndex`, `starting_after` and `Last-Event-ID` mean the same one.
"""

from __future__ import annotations

import itertools
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.node_judge import Judge
from tests.server.live import BEARER, LiveServer

if reason := Judge.available():
    pytest.skip(reason, allow_module_level=True)

NUMBERS = itertools.count()


class Two:
    """Two processes on one ledger, and the transports that talk to them."""

    def __init__(self, server: LiveServer, other: LiveServer, judge: Judge) -> None:
        self.server, self.other, self.judge = server, other, judge

    def do(self, transport: str, **more: Any) -> dict[str, Any]:
        given = {"url": self.server.url, "other": self.other.url, "headers": BEARER, **more}
        answer = self.judge.ask("cuts", transport=transport, **given)
        assert answer["ok"], answer
        return answer

    def events(self, path: str, **headers: str) -> tuple[int, dict[str, str], list[tuple[str | None, Any]]]:
        """Status, headers and events (id and chunk) of a stream of the other process."""
        request = urllib.request.Request(self.other.url + path, headers={**BEARER, **headers})
        with urllib.request.urlopen(request, timeout=60) as response:
            text = response.read().decode()
            found = []
            for event in text.split("\n\n")[:-1]:
                lines = dict(line.split(": ", 1) for line in event.split("\n"))
                chunk = lines["data"] if lines["data"] == "[DONE]" else json.loads(lines["data"])
                found.append((lines.get("id"), chunk))
            return response.status, dict(response.headers), found


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    db = tmp_path_factory.mktemp("resume") / "ledger.db"
    with LiveServer(db) as server, LiveServer(db) as other, Judge() as judge:
        yield Two(server, other, judge)


def asked(two: Two, text: str) -> tuple[str, str, list[Any]]:
    """A chat with one whole answer: its id, the id of the run, the chunks."""
    chat = f"chat-{next(NUMBERS)}"
    two.do("workflow", chatId=chat, text=text, after=1000)
    (run,) = two.server.ask("GET", f"/api/threads/{chat}/runs")[1]
    status, headers, events = two.events(f"/api/chat/{run['id']}/stream")
    assert (status, headers["x-workflow-run-id"]) == (200, run["id"])
    assert [number for number, _ in events] == [*map(str, range(len(events) - 1)), None]
    assert events[-1][1] == "[DONE]"
    return chat, run["id"], [chunk for _, chunk in events[:-1]]


def without_ids(chunks: list[Any]) -> list[Any]:
    return [{**chunk, "messageId": ""} if "messageId" in chunk else chunk for chunk in chunks]


@pytest.mark.parametrize("text", ["weather", "think"])
def test_a_transport_that_is_cut_after_every_chunk_gets_each_chunk_once(two: Two, text: str) -> None:
    _, _, whole = asked(two, text)
    for after in range(len(whole)):
        found = two.do("workflow", chatId=f"chat-{next(NUMBERS)}", text=text, after=after)
        assert without_ids(found["chunks"]) == without_ids(whole), after
        assert [query for _, query, _ in found["gets"]] == [f"?startIndex={n}" for n in range(after, len(whole))]


def test_an_answer_still_running_is_resumed_at_each_chunk(two: Two) -> None:
    found = two.do("workflow", chatId=f"chat-{next(NUMBERS)}", text="slow 40", after=3)
    said = [chunk["delta"] for chunk in found["chunks"] if chunk["type"] == "text-delta"]
    assert "".join(said) == "".join(f"w{i} " for i in range(40))
    assert len(found["gets"]) == len(found["chunks"]) - 3


def test_all_three_parameters_mean_the_same_chunk(two: Two) -> None:
    chat, run, whole = asked(two, "weather")
    for n in range(len(whole)):
        for version in (5, 6, 7):
            query = {"starting_after": str(n - 1), "target": f"v{version}"}
            found = two.do("default", v=version, chatId=chat, query=query)["chunks"]
            _, _, events = two.events(f"/api/chat/{chat}/stream?startIndex={n}&target=v{version}")
            assert found == [chunk for _, chunk in events[:-1]]
            assert [number for number, _ in events[:-1]] == [str(i) for i in range(n, len(whole))]
        if n:
            _, _, events = two.events(f"/api/chat/{run}/stream?startIndex=0", **{"Last-Event-ID": str(n - 1)})
            assert [chunk for _, chunk in events[:-1]] == whole[n:]
        _, headers, events = two.events(f"/api/chat/{chat}/stream?startIndex=-{n + 1}")
        assert headers["x-workflow-stream-tail-index"] == str(len(whole) - 1)
        assert [chunk for _, chunk in events[:-1]] == whole[len(whole) - n - 1 :]
    assert two.events(f"/api/chat/{chat}/stream?startIndex={len(whole)}")[0] == 204


def test_an_event_source_that_is_cut_after_every_chunk_gets_each_chunk_once(two: Two) -> None:
    chat, _, whole = asked(two, "weather")
    found = two.do("eventsource", chatId=chat)
    assert found["chunks"] == whole
    assert [last for _, _, last in found["gets"]] == [None, *map(str, range(len(whole)))]


def test_the_workflow_transport_reconnects_from_the_end(two: Two) -> None:
    chat, _, whole = asked(two, "hello")
    found = two.do("workflow", chatId=chat, startIndex=-3)
    assert found["chunks"][-2:] == whole[-2:]
    assert [query for _, query, _ in found["gets"]] == [
        f"?startIndex={n}" for n in (-3, len(whole) - 2, len(whole) - 1)
    ]


def test_an_answer_that_continues_has_the_numbers_of_its_own_stream_by_its_run(two: Two) -> None:
    """By its thread it begins with the steps before it, as a page that is loaded again needs them."""
    chat, _, _ = asked(two, "delete slowly")
    (_, answer) = two.server.exported(chat, "v6")
    approval = answer["parts"][-1]["approval"]["id"]
    answer["parts"][-1] |= {"state": "approval-responded", "approval": {"id": approval, "approved": True}}
    request = urllib.request.Request(
        f"{two.server.url}/api/chat",
        data=json.dumps({"id": chat, "messages": [answer]}).encode(),
        headers={"content-type": "application/json", **BEARER},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        run, sent = response.headers["x-workflow-run-id"], response.read().decode()
    _, _, own = two.events(f"/api/chat/{run}/stream")
    lines = [line.partition("data: ")[2] for line in sent.split("\n\n")[:-2]]
    assert [chunk for _, chunk in own[:-1]] == [json.loads(line) for line in lines]
    _, _, rebuilt = two.events(f"/api/chat/{chat}/stream?startIndex=0")
    assert len(rebuilt) > len(own)
    assert [number for number, _ in rebuilt[:-1]] == [*map(str, range(len(rebuilt) - 1))]


@pytest.mark.parametrize(
    ("query", "headers", "place"),
    [
        ("startIndex=two", {}, "?startIndex"),
        ("starting_after=-2", {}, "?starting_after"),
        ("startIndex=1&starting_after=1", {}, "?startIndex"),
        ("", {"Last-Event-ID": "x"}, "Last-Event-ID"),
    ],
)
def test_a_point_that_is_not_a_number_is_refused(two: Two, query: str, headers: dict[str, str], place: str) -> None:
    status, fault = two.server.ask("GET", f"/api/chat/any/stream?{query}", **headers)
    assert (status, fault["path"]) == (400, place)


def test_a_stopped_answer_ends_with_abort_for_those_who_resume_it(two: Two) -> None:
    chat = f"chat-{next(NUMBERS)}"
    body = {"id": chat, "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "slow 4000"}]}]}
    request = urllib.request.Request(
        f"{two.server.url}/api/chat",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json", **BEARER},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        while b"w3" not in response.readline():
            pass
        assert two.other.ask("POST", f"/api/chat/{chat}/stop", {})[1] == {"stopped": True}
    _, _, events = two.events(f"/api/chat/{chat}/stream?startIndex=0")
    assert "abort" in [chunk["type"] for _, chunk in events[:-1]]
    assert not {"error", "finish"} & {chunk["type"] for _, chunk in events[:-1]}
