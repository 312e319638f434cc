"""Every route and method of the OpenAPI document against everybody who may not come in, and another tenant's ids.

The table below says how each operation is asked rightly; an operation without a line fails. Two ledgers are the same
but for a second tenant: whatever is asked about that tenant's things must be answered as if they were not there.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from litestar.testing import TestClient

import hansard
from hansard import Ledger
from hansard.agent import Agent, ScriptedModel
from hansard.ledger.live import raw_streams
from hansard.model import FilePart, Message, TextPart, ToolCallPart
from hansard.model.conversation import PendingCall
from hansard.server import App, Grant, Served, create_app
from hansard.server.tokens import Attempts
from hansard.streams.deltas import Delta, Other
from hansard.workspace import Author, Workspace

BASE = "http://127.0.0.1:8484"
HOST = BASE.removeprefix("http://")
JSON = "application/json"
WRITES, READS, OTHER = "a's token, writes", "a's token, reads", "b's token, writes"
GRANTS = {
    WRITES: Grant(tenant="a", role="write"),
    READS: Grant(tenant="a"),
    OTHER: Grant(tenant="b", role="write"),
}
SAFE = ("GET", "HEAD", "OPTIONS")
OPENED = {"POST /api/login", "POST /api/logout"}  # what gives the cookie, or takes it, needs none
# Nothing there: an empty list, 204, nothing stopped, a stream of one's own.
SILENT = {
    "GET /api/chat/{thread_id}",
    "GET /api/chat/{thread_id}/stream",
    "POST /api/chat/{thread_id}/stop",
    "PUT /streams/{name}",
}
Json = dict[str, Any]


class Entry(msgspec.Struct):
    """How an operation is asked rightly, with the ids of tenant `of`: the answer is then `fine`."""

    body: Callable[[str], Json] | None = None
    query: Callable[[str], dict[str, str]] = lambda of: {}
    fine: int = 200


def native(of: str) -> Json:
    return {"id": f"{of}-new", "messages": [{"id": f"{of}-m", "role": "user", "parts": []}]}


def says(of: str) -> Json:
    message = {"id": f"{of}-u", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    return {"id": f"{of}-t", "messages": [message], "trigger": "submit-message"}


ONE = "/api/threads/{thread_id}"
STREAM = "/streams/{name}"  # takes bodies of any type
SPACE = ONE + "/workspaces/{workspace}"
MATRIX: dict[str, Entry] = {
    "POST /api/login": Entry(body=lambda of: {"token": WRITES}, fine=204),
    "POST /api/logout": Entry(fine=204),
    "GET /api/agents": Entry(),
    "GET /api/facts": Entry(),
    "GET /api/formats": Entry(),
    "GET /api/search": Entry(query=lambda of: {"q": f"thread:{of}-t leaf"}),
    "GET /api/threads": Entry(),
    "POST /api/threads": Entry(body=lambda of: {"id": f"{of}-t2", "parentThreadId": f"{of}-t"}, fine=201),
    f"GET {ONE}": Entry(),
    f"PATCH {ONE}": Entry(body=lambda of: {"title": "changed"}),
    f"GET {ONE}/messages": Entry(query=lambda of: {"before": f"{of}-m1"}),
    f"POST {ONE}/messages": Entry(
        body=lambda of: {"messages": [{"role": "user", "parts": [{"type": "file", "fileId": f"{of}-m"}]}]}, fine=201
    ),
    f"GET {ONE}/messages/{{message_id}}": Entry(),
    f"GET {ONE}/messages/{{message_id}}/files/{{number}}": Entry(),
    f"GET {ONE}/branches": Entry(),
    f"GET {ONE}/sub-agents": Entry(),
    f"GET {ONE}/tree": Entry(),
    f"GET {ONE}/runs": Entry(),
    f"GET {ONE}/runs/{{run_id}}": Entry(),
    f"GET {ONE}/pending": Entry(),
    f"GET {ONE}/export": Entry(query=lambda of: {"format": "hansard"}),
    f"POST {ONE}/pending": Entry(body=lambda of: {"results": [{"toolCallId": f"{of}-c", "output": 1}]}),
    f"GET {ONE}/workspaces": Entry(),
    f"GET {SPACE}/changes": Entry(),
    f"GET {SPACE}/changes/{{snapshot}}": Entry(),
    f"GET {SPACE}/plan": Entry(query=lambda of: {"to": f"{of}-m"}),
    f"POST {SPACE}/apply": Entry(body=lambda of: {"plan": "another", "kind": "undo", "to": f"{of}-m"}, fine=409),
    f"POST {ONE}/checkout": Entry(body=lambda of: {"messageId": f"{of}-m"}),
    f"POST {ONE}/fork": Entry(body=lambda of: {"messageId": f"{of}-m"}),
    "POST /api/convert": Entry(body=lambda of: {"document": native(of), "format": "hansard", "to": "openai-chat"}),
    "POST /api/validate": Entry(body=lambda of: {"document": native(of), "format": "hansard"}),
    "POST /api/import": Entry(body=lambda of: {"document": native(of), "format": "hansard", "threadId": f"{of}-i"}),
    "POST /api/chat": Entry(body=says),
    "GET /api/chat/{thread_id}": Entry(),
    "GET /api/chat/{thread_id}/stream": Entry(fine=204),
    "POST /api/chat/{thread_id}/stop": Entry(),
    f"HEAD {STREAM}": Entry(),
    f"GET {STREAM}": Entry(query=lambda of: {"offset": "-1"}),
    f"POST {STREAM}": Entry(body=lambda of: {"said": of}, fine=204),
    f"DELETE {STREAM}": Entry(fine=204),
    f"PUT {STREAM}": Entry(body=lambda of: {"said": of}, fine=201),
    f"DELETE {ONE}": Entry(),
}


# -- two ledgers -------------------------------------------------------------------------------------------------------


def fill(ledger: Ledger, of: str, project: Path) -> dict[str, str]:
    """Something of everything; the ids by the names they have in paths."""
    project.mkdir()
    (project / "tea.txt").write_text("Assam\n")
    ledger.create_thread(f"{of}-t", title=f"secret of {of}")
    file = FilePart(media_type="image/svg+xml", data="PHN2Zy8+", name=f"{of}.svg")
    ledger.append(
        f"{of}-t",
        [
            Message(id=f"{of}-m", role="user", parts=[TextPart(text=f"which leaf, {of}?"), file]),
            Message(id=f"{of}-m1", role="assistant", parts=[TextPart(text=f"leaf secret of {of}")]),
        ],
    )
    with Workspace(ledger, project) as files:
        files.snapshot()
        with files.tool(Author(thread_id=f"{of}-t", message_id=f"{of}-m1", agent_id="w"), "tea.txt"):
            (project / "tea.txt").write_text(f"secret of {of}\n")
    with ledger.begin_run(f"{of}-t", id=f"{of}-r") as run:
        call = ToolCallPart(tool_call_id=f"{of}-c", tool_name="brew")
        run.stage(Message(id=f"{of}-m2", role="assistant", parts=[call]))
        run.commit(pending=[PendingCall(tool_call_id=f"{of}-c", kind="external")])
    ledger.search("leaf")
    said: list[Delta] = [Other(format=raw_streams.RAW, value=f"secret of {of}")]
    stream = raw_streams.Config(content_type=JSON)
    ledger._write(lambda tx: raw_streams.create(tx, f"{of}-s", stream, said, 1, f"{of}-streams", None))
    return {"name": f"{of}-s", "thread_id": f"{of}-t", "message_id": f"{of}-m", "run_id": f"{of}-r", "number": "0"}


class World(msgspec.Struct):
    """The same ledger of tenant a twice; beside the second there is tenant b."""

    alone: TestClient[App]
    shared: TestClient[App]
    ids: dict[str, dict[str, str]]
    ledger_b: Ledger


def opened(path: Path, project: Path) -> tuple[App, dict[str, Ledger]]:
    ledgers = {name: hansard.open(str(path), tenant=name) for name in ("", "a", "b")}
    tenants = {
        name: Served(ledger, [Agent(ScriptedModel(["Hello."]), ledger=ledger, name="scripted")], workspaces=[project])
        for name, ledger in ledgers.items()
        if name
    }
    app = create_app(ledgers[""], tokens=GRANTS, tenants=tenants, hosts=["known.test"])
    app.access_control.attempts = Attempts(most=10**9)
    return app, ledgers


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with hansard.open(str(tmp_path / "alone.db"), tenant="a") as ledger:
        ids = {"a": fill(ledger, "a", tmp_path / "a")}
    with hansard.open(str(tmp_path / "alone.db"), tenant="b"):
        pass  # the tenant is there, and has nothing
    shutil.copy(tmp_path / "alone.db", tmp_path / "shared.db")
    with hansard.open(str(tmp_path / "shared.db"), tenant="b") as ledger:
        ids["b"] = fill(ledger, "b", tmp_path / "b")
        ledger.begin_run("b-t", id="b-live")  # an answer is being given there
    (alone, first), (shared, second) = (opened(tmp_path / f"{name}.db", tmp_path / "a") for name in ("alone", "shared"))
    with TestClient(alone, base_url=BASE) as one, TestClient(shared, base_url=BASE) as other:
        for of, token in (("a", WRITES), ("b", OTHER)):
            bearer = {"authorization": f"Bearer {token}"}
            (space,) = other.get(f"/api/threads/{of}-t/workspaces", headers=bearer).json()
            (change,) = other.get(f"/api/threads/{of}-t/workspaces/{space['id']}/changes", headers=bearer).json()[
                "items"
            ]
            ids[of] |= {"workspace": str(space["id"]), "snapshot": str(change["snapshot"])}
        yield World(one, other, ids, second["b"])
    for ledger in (*first.values(), *second.values()):
        ledger.close()


@pytest.fixture(scope="module")
def operations() -> dict[str, list[str]]:
    """Every operation of the document, and the names in its path."""
    with hansard.open(":memory:") as ledger:
        document = create_app(ledger, token="t").openapi_schema.to_schema()
    return {
        f"{method.upper()} {path}": re.findall(r"{(\w+)}", path)
        for path, methods in document["paths"].items()
        for method in methods
    }


def ask(
    client: TestClient[App], operation: str, ids: dict[str, str], of: str, headers: dict[str, str], **how: Any
) -> Any:
    method, _, path = operation.partition(" ")
    entry = MATRIX[operation]
    content = None if entry.body is None else json.dumps(entry.body(of)).encode()
    about = {"content-type": JSON} if content is not None else {}
    address = re.sub(r"{(\w+)}", lambda found: ids[found[1]], path)
    client.cookies.clear()
    return client.request(method, address, params=entry.query(of), content=content, headers={**about, **headers}, **how)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def told(answer: Any) -> tuple[int, bytes, list[tuple[str, str]]]:
    return answer.status_code, answer.content, sorted(answer.headers.items())


# -- the table ---------------------------------------------------------------------------------------------------------


def test_every_operation_has_a_line_and_every_route_is_an_operation_or_a_page(operations: dict[str, list[str]]) -> None:
    assert sorted(operations) == sorted(MATRIX)
    with hansard.open(":memory:") as ledger:
        routes = {re.sub(r":\w+}", "}", route.path) for route in create_app(ledger).routes}
    pages = {"/", "/login", "/viewer/{name}", "/schema", "/schema/openapi.json", "/schema/{path}"}
    assert routes == {operation.partition(" ")[2] for operation in operations} | pages


def test_what_needs_no_token_says_so_and_nothing_else_does(world: World) -> None:
    document = world.shared.get("/schema/openapi.json", headers=bearer(WRITES)).json()
    assert document["security"] == [{"token": []}, {"cookie": []}]
    for path, listed in document["paths"].items():
        for method, operation in listed.items():
            told = operation.get("security", document["security"])
            assert (told == []) is (f"{method.upper()} {path}" in OPENED), (method, path, told)


def test_asked_rightly_every_operation_is_fine(world: World) -> None:
    for operation, entry in MATRIX.items():
        answer = ask(world.shared, operation, world.ids["a"], "a", bearer(WRITES))
        assert answer.status_code == entry.fine, (operation, answer.text)
        assert "secret of b" not in answer.text, operation


def test_nobody_comes_in_who_may_not(world: World) -> None:
    before = everything(world.ledger_b)
    cookie = {"cookie": f"hansard-8484={world.shared.app.access_control.tokens.cookie_for_token(WRITES.encode())}"}
    known = {"http from a page": {**cookie, "origin": BASE, "sec-fetch-site": "same-origin"}, "bearer": bearer(WRITES)}
    strangers = [
        {"origin": "http://evil.test"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "http://known.test.evil.test:8484"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    ]
    hosts = ["evil.test", "evil.test:8484", "127.0.0.1.evil.test", "localhost.evil.test", "known.test.evil.test", ""]
    for operation, entry in MATRIX.items():
        method = operation.partition(" ")[0]

        def refused(wanted: int, headers: dict[str, str], operation: str = operation) -> None:
            answer = ask(world.shared, operation, world.ids["a"], "a", headers)
            assert answer.status_code == wanted, (operation, headers, answer.text)
            assert "access-control-allow-origin" not in answer.headers
            assert "secret of" not in answer.text

        if operation not in OPENED:
            refused(401, {})
            for wrong in ("Bearer wrong", f"Basic {WRITES}", "Bearer", WRITES, f"Bearer {WRITES}x"):
                refused(401, {"authorization": wrong})
            refused(401, {"cookie": f"hansard-8484={WRITES}"})
            refused(401, {"cookie": cookie["cookie"].replace("8484", "9999")})
            if method not in SAFE:
                refused(403, bearer(READS))
                refused(403, cookie)
        for headers in known.values():
            for stranger in strangers:
                refused(403, {**headers, **stranger})
            for host in hosts:
                refused(421, {**headers, "host": host})
        if entry.body is not None and STREAM not in operation:
            for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "text/json"):
                refused(415, {**bearer(WRITES), "content-type": kind})
    assert everything(world.ledger_b) == before
    read = ask(world.shared, f"GET {ONE}", world.ids["a"], "a", bearer(READS))
    assert (read.status_code, read.json()["title"]) == (200, "secret of a"), "nothing was changed by all this"


def test_a_read_token_reads_what_a_write_token_reads(world: World) -> None:
    for operation in MATRIX:
        if operation.startswith("GET"):
            answers = [told(ask(world.alone, operation, world.ids["a"], "a", bearer(t))) for t in (READS, WRITES)]
            assert answers[0] == answers[1], operation


# Times and new ids differ from one making to the next; in a refusal there are neither.
NEW = ("content-length", "x-workflow-run-id", "location")  # headers that differ between two answers
VARIES = re.compile(rb'"\d{4}-\d\d-\d\dT[^"]*"|\b[0-9A-HJKMNP-TV-Z]{26}\b')


def everything(ledger: Ledger) -> list[bytes]:
    return [hansard.write(ledger.export_conversation(thread.id), "hansard").json for thread in ledger.threads().items]


def test_what_is_another_tenants_is_not_there(world: World) -> None:
    """Each id of a path alone, then all of them and those in the body and query: as if they were nobody's."""
    before = everything(world.ledger_b)
    makes_last = sorted(MATRIX, key=lambda operation: "{" not in operation)
    for operation in makes_last:  # a thread may have the id of another tenant's, and is then there
        entry = MATRIX[operation]
        names = re.findall(r"{(\w+)}", operation)
        swaps = [{**world.ids["a"], name: world.ids["b"][name]} for name in names if name != "number"]
        asked = [(ids, "a") for ids in swaps] + [(world.ids["b"], "b")]
        if entry.query("a") != entry.query("b") or (entry.body is not None and entry.body("a") != entry.body("b")):
            asked.append((world.ids["a"], "b"))
        for ids, of in asked:
            answers = [ask(one, operation, ids, of, bearer(WRITES)) for one in (world.alone, world.shared)]
            missing, foreign = (told(answer) for answer in answers)
            assert b"secret of b" not in foreign[1], operation
            if foreign[0] < 400:
                missing, foreign = (
                    (status, VARIES.sub(b"?", body), [pair for pair in headers if pair[0] not in NEW])
                    for status, body, headers in (missing, foreign)
                )
            assert foreign == missing, (operation, ids)
            if names and ids["thread_id"] == "b-t" and operation not in SILENT:
                assert foreign[0] == 404, (operation, ids)
    assert everything(world.ledger_b) == before, "and nothing of theirs was changed"


ODD = {
    "sql": b"' OR 1=1--",
    "sql that ends": b"x'; DROP TABLE thread; --",
    "a megabyte": b"x" * 1_000_000,
    "not utf-8": b"\xff\xfe\x80",
    "nul": b"a\x00b",
    "a template": b"${7*7}{{7*7}}%s%n",
    "a path": b"../../etc/passwd",
    "json": b'{"token": true}',
    "two": b"x, Bearer " + WRITES.encode(),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_tokens_are_refused_like_any_other(world: World, name: str) -> None:
    for operation in MATRIX:
        if operation in OPENED:
            continue
        answer = ask(world.shared, operation, world.ids["a"], "a", {"authorization": b"Bearer " + ODD[name]})  # type: ignore[dict-item]
        assert answer.status_code in (400, 401, 431), (operation, answer.text)
        cookie = b"hansard-8484=" + ODD[name].replace(b"\x00", b"")
        answer = ask(world.shared, operation, world.ids["a"], "a", {"cookie": cookie})  # type: ignore[dict-item]
        assert answer.status_code in (400, 401, 431), (operation, answer.text)


def test_methods_that_no_route_has_tell_nothing(world: World) -> None:
    for path in {operation.partition(" ")[2] for operation in MATRIX}:
        address = re.sub(r"{(\w+)}", lambda found: world.ids["a"][found[1]], path)
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"):
            answer = world.shared.request(method, address)
            assert answer.status_code in (204, 400, 401, 403, 404, 405), (method, path, answer.status_code)
            assert "secret of" not in answer.text
