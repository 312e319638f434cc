"""The real `ai` and `@ai-sdk/react` clients of versions 5, 6 and 7 against a live server.

Whatever a client does, the messages it ends with are those that the ledger exports.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.node_judge import Judge
from tests.server.live import BEARER, LiveServer

Chat = Callable[..., dict[str, Any]]
NUMBERS = itertools.count()

if reason := Judge.available():
    pytest.skip(reason, allow_module_level=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with LiveServer(tmp_path_factory.mktemp("server") / "ledger.db") as live:
        yield live


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge() as asked:
        yield asked


@pytest.fixture(params=[5, 6, 7], ids=["v5", "v6", "v7"])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


class Client:
    """One chat of one client."""

    def __init__(self, judge: Judge, server: LiveServer, version: int, **options: Any) -> None:
        self.id = options.pop("id", None) or f"chat-{next(NUMBERS)}"
        self.name, self.server, self.version, self.judge = f"{self.id}-{next(NUMBERS)}", server, version, judge
        url = f"{server.url}/api/chat?target=v{version}"
        self.options = {"v": version, "url": url, "chatId": self.id, "headers": BEARER, **options}

    def do(self, *script: dict[str, Any], ok: bool = True) -> dict[str, Any]:
        state = self.judge.ask("chat", chat=self.name, script=list(script), **self.options)
        assert state["ok"], state
        if ok:
            assert state["status"] == "ready", state.get("error")
            assert state.get("error") is None
        self.messages = state["messages"]
        return state

    def holds(self) -> None:
        """A page that is loaded now gets what the client has."""
        status, found = self.server.ask("GET", f"/api/chat/{self.id}?target=v{self.version}")
        assert (status, found) == (200, [without_block_ids(one) for one in self.messages])


def without_block_ids(message: dict[str, Any]) -> dict[str, Any]:
    """A client keeps the number that a block of reasoning had in its stream; it says nothing."""
    parts = [{k: v for k, v in p.items() if (p["type"], k) != ("reasoning", "id")} for p in message["parts"]]
    return {**message, "parts": parts}


@pytest.fixture
def client(judge: Judge, server: LiveServer, version: int) -> Client:
    return Client(judge, server, version)


def send(text: str, **more: Any) -> dict[str, Any]:
    return {"op": "send", "text": text, **more}


def said(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def test_two_turns(client: Client) -> None:
    client.do(send("hello", metadata={"lang": "en"}), send("again"))
    assert [message["role"] for message in client.messages] == ["user", "assistant"] * 2
    assert said(client.messages[3]) == "You said 'again', answer 1."
    client.holds()


def test_only_the_last_message_is_sent(judge: Judge, server: LiveServer, version: int) -> None:
    client = Client(judge, server, version, lastOnly=True, body={"session": "x"})
    client.do(send("hello"), send("again"))
    assert said(client.messages[3]) == "You said 'again', answer 1."
    client.holds()


def test_reasoning_and_a_tool_that_runs_here(client: Client) -> None:
    state = client.do(send("think"), send("weather"))
    client.holds()
    assert "secret" not in str(state["chunks"]) + str(client.messages)
    tool = next(part for part in client.messages[3]["parts"] if part["type"] == "tool-weather")
    assert tool["output"] == {"city": "Ghent", "degrees": 21}


def test_regenerating_the_last_answer_and_one_by_its_id(client: Client) -> None:
    client.do(send("one"), send("two"), {"op": "regenerate"})
    client.holds()
    assert len(client.messages) == 4
    first = client.messages[1]["id"]
    client.do({"op": "regenerate", "messageId": first})
    assert [said(message) for message in client.messages] == ["one", "You said 'one', answer 0."]
    assert client.messages[1]["id"] != first
    client.holds()
    branches = client.server.ask("GET", f"/api/threads/{client.id}/branches")[1]
    assert len(branches) >= 3  # nothing was deleted


def test_regenerating_by_the_id_of_what_was_asked(client: Client) -> None:
    client.do(send("one"), send("two"), {"op": "regenerate", "messageId": "client-1"})
    assert len(client.messages) == 2
    client.holds()


def test_an_edited_message_keeps_its_id_and_makes_a_branch(client: Client) -> None:
    client.do(send("one"), send("two"))
    second = client.messages[2]["id"]
    client.do(send("three", messageId=second))
    assert [said(message) for message in client.messages[2:]] == ["three", "You said 'three', answer 1."]
    if client.version < 7:
        assert client.messages[2]["id"] == second
    client.holds()
    status, found = client.server.ask("GET", f"/api/search?q=two%20thread:{client.id}")
    assert status == 200
    assert found["items"]  # what was edited away is still on the record


def test_a_client_that_closes_the_stream_does_not_stop_the_answer(client: Client) -> None:
    client.do(send(f"held 200 {client.id}", wait=False), {"op": "until", "chars": 20}, {"op": "stop"})
    assert len(said(client.messages[1])) < 800
    server = client.server
    fresh = Client(client.judge, server, client.version, id=client.id, messages=client.messages[:1])
    state = fresh.do({"op": "resume", "wait": False}, {"op": "until", "chars": 20}, ok=False)
    server.let_go_on(client.id)
    fresh.do({"op": "idle"})
    assert said(fresh.messages[1]) == "".join(f"w{i} " for i in range(200))
    assert state["chunks"][0]["type"] == "start"
    fresh.holds()


def test_an_answer_that_is_stopped_keeps_what_was_said(client: Client) -> None:
    client.do(send("slow 100000", wait=False), {"op": "until", "chars": 20}, ok=False)
    assert client.server.ask("POST", f"/api/chat/{client.id}/stop", {})[1] == {"stopped": True}
    client.do({"op": "idle"}, ok=False)
    assert said(client.messages[1]).startswith("w0 w1 ")
    runs = client.server.ask("GET", f"/api/threads/{client.id}/runs")[1]
    assert [run["status"] for run in runs] != ["active"]
    assert client.server.ask("POST", f"/api/chat/{client.id}/stop", {})[1] == {"stopped": False}
    client.do(send("hello"))
    assert said(client.messages[-1]).startswith("You said 'hello'")


def test_two_clients_see_the_same_answer(client: Client) -> None:
    client.do(send(f"held 200 {client.id}", wait=False), {"op": "until", "chars": 20}, ok=False)
    other = Client(client.judge, client.server, client.version, id=client.id, messages=client.messages[:1])
    other.do({"op": "resume", "wait": False}, {"op": "until", "chars": 20}, ok=False)
    client.server.let_go_on(client.id)
    other.do({"op": "idle"})
    client.do({"op": "idle"})
    assert other.messages == client.messages
    client.holds()


def test_there_is_nothing_to_resume(client: Client) -> None:
    state = client.do({"op": "resume"})
    assert [request["status"] for request in state["requests"]] == [204]
    client.do(send("hello"), {"op": "resume"})
    assert len(client.messages) == 2


def test_a_tool_that_the_client_runs(judge: Judge, server: LiveServer, version: int) -> None:
    client = Client(judge, server, version, autoSend="tools")
    client.do(send("ask"))
    part = next(part for part in client.messages[1]["parts"] if part["type"] == "tool-ask_user")
    assert part["state"] == "input-available"
    waiting = server.ask("GET", f"/api/threads/{client.id}/pending")[1]
    assert [call["toolCallId"] for call in waiting] == [part["toolCallId"]]
    client.do({"op": "toolOutput", "tool": "ask_user", "toolCallId": part["toolCallId"], "output": "Because."})
    assert len(client.messages) == 2
    assert "The tool said Because.." in said(client.messages[1])
    client.holds()
    client.do(send("hello"))
    client.holds()


@pytest.mark.parametrize("approved", [True, False], ids=["approved", "denied"])
@pytest.mark.parametrize("version", [6, 7], ids=["v6", "v7"])
def test_an_approval(judge: Judge, server: LiveServer, version: int, approved: bool) -> None:
    client = Client(judge, server, version, autoSend="approvals")
    client.do(send("delete"))
    part = client.messages[1]["parts"][-1]
    assert part["state"] == "approval-requested"
    why = {} if approved else {"reason": "said so"}
    client.do({"op": "approve", "id": part["approval"]["id"], "approved": approved, **why})
    assert len(client.messages) == 2
    part = next(part for part in client.messages[1]["parts"] if part["type"] == "tool-delete_file")
    assert part["state"] == ("output-available" if approved else "output-denied")
    client.holds()
    client.do(send("hello"))
    client.holds()


@pytest.mark.parametrize("version", [6, 7], ids=["v6", "v7"])
def test_an_answer_that_goes_on_is_resumed_whole(judge: Judge, server: LiveServer, version: int) -> None:
    """A client that was not there gets the steps before the approval too."""
    client = Client(judge, server, version, autoSend="approvals")
    client.do(send("delete slowly"))
    begun = client.messages
    approval = begun[1]["parts"][-1]["approval"]["id"]
    client.do(
        {"op": "approve", "id": approval, "approved": True, "wait": False}, {"op": "until", "chars": 60}, ok=False
    )
    other = Client(judge, server, version, id=client.id, messages=begun)
    other.do({"op": "resume"})
    client.do({"op": "idle"})
    tool = other.messages[1]["parts"][2]
    tool["approval"] = {**tool["approval"], "approved": True}  # no chunk of version 6 says that it was
    assert other.messages == client.messages
    assert len(said(client.messages[1]).split()) == 152
    client.holds()


def test_data_parts(client: Client) -> None:
    state = client.do(send("progress"))
    assert [part["data"]["done"] for part in state["data"] if part["type"] == "data-progress"] == [1, 2]
    client.holds()


def test_a_model_that_fails(client: Client) -> None:
    state = client.do(send("fail"), ok=False)
    assert state["status"] == "error"
    assert "tired" in state["error"]
    assert said(client.messages[1]) == "Some words. "
    runs = client.server.ask("GET", f"/api/threads/{client.id}/runs")[1]
    assert [run["status"] for run in runs] == ["failed"]


def test_a_refusal_is_told(judge: Judge, server: LiveServer, version: int) -> None:
    client = Client(judge, server, version, body={"agent": "nobody"})
    state = client.do(send("hello"), ok=False)
    assert state["requests"][0]["status"] == 400
    assert "no agent 'nobody'" in state["error"]


HELLO = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hello"}]}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"id": "bad"}, "$.messages"),
        ({"id": "bad", "messages": []}, "$.messages"),
        ({"id": "", "messages": [HELLO]}, "$.id"),
        ({"id": "bad", "messages": [HELLO], "trigger": "dance"}, "$.trigger"),
        ({"id": "bad", "messages": [HELLO], "trigger": 7}, "$.trigger"),
        ({"id": "bad", "messages": [{"id": "u", "role": "user"}]}, "$.messages[0].parts"),
        ({"id": "bad", "messages": [{**HELLO, "role": "system"}]}, "$.messages[0].role"),
    ],
)
def test_a_bad_chat_is_told_its_place(server: LiveServer, body: dict[str, Any], place: str) -> None:
    status, told = server.ask("POST", "/api/chat", body)
    assert (status, told["path"]) == (400, place)
    assert server.ask("GET", "/api/threads/bad")[0] == 404  # nothing was begun


def test_a_chat_begins_with_what_is_there(client: Client) -> None:
    client.do(send("hello"))
    status, found = client.server.ask("GET", f"/api/chat/{client.id}?target=v{client.version}")
    assert (status, found) == (200, client.messages)
    assert found[1]["metadata"] == {"agent": {"id": "scripted", "name": "scripted"}}
    assert client.server.ask("GET", "/api/chat/new") == (200, [])


def test_an_answer_goes_on_over_a_killed_server(judge: Judge, tmp_path: Path) -> None:
    """The clients resume what was said before, whole and once, and regenerating replaces it."""
    with LiveServer(tmp_path / "ledger.db", delay=0.01) as server:
        clients = [Client(judge, server, version) for version in (5, 6, 7)]
        for client in clients:
            client.do(send("hello"), send("held 200 killed", wait=False), {"op": "until", "chars": 60}, ok=False)
        server.kill()
        for client in clients:
            client.do({"op": "idle"}, ok=False)
        server.start()
        seen = [said(client.messages[-1]) for client in clients]
        fresh = [
            Client(judge, server, client.version, id=client.id, messages=client.messages[:-1]) for client in clients
        ]
        for client in fresh:
            client.do({"op": "resume", "wait": False}, {"op": "until", "chars": 60}, ok=False)
        server.expire_leases()
        server.let_go_on("killed")
        for client, before in zip(fresh, seen, strict=True):
            client.do({"op": "idle"}, ok=False)
            text = said(client.messages[-1])
            assert text.startswith(before)
            assert text == "".join(f"w{i} " for i in range(len(text.split())))
            assert said(server.exported(client.id)[3]) == text
            client.do({"op": "regenerate"}, ok=False)
