"""Undo over HTTP: what is recorded is shown, the plan that was shown is the plan that is carried out, or nothing is."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

import hansard
from hansard import Ledger
from hansard.model import Conversation, Message, TextPart, Todo
from hansard.server import create_app
from hansard.workspace import Author, Workspace, rooted_fs
from hansard.workspace.sage.snapshots import read_snapshots
from tests.workspace.sage_project import SESSION, Project

BASE = "http://127.0.0.1"
ONE = "/api/threads/t/workspaces/1"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "tea.txt").write_text("Assam\nmilk\n")
    return made


@pytest.fixture
def book(project: Path) -> Iterator[Ledger]:
    with hansard.open(":memory:") as ledger:
        talk(ledger, project, "t")
        yield ledger


def talk(ledger: Ledger, project: Path, thread_id: str) -> None:
    """Two turns, each of which changes files."""
    ledger.create_thread(thread_id)
    with Workspace(ledger, project) as files:
        files.snapshot()
        for i, words in enumerate(("Darjeeling", "Ceylon")):
            ask = Message(id=f"{thread_id}u{i}", role="user", parts=[TextPart(text=f"{words}, please")])
            todo = [Todo(content=f"Brew {words}", status="completed")]
            done = Message(id=f"{thread_id}a{i}", role="assistant", parts=[TextPart(text="Done.")], todos=todo)
            ledger.append(thread_id, [ask, done])
            by = Author(thread_id=thread_id, message_id=f"{thread_id}a{i}", agent_id="waiter")
            with files.tool(by, "tea.txt", f"{words}.txt"):
                (project / "tea.txt").write_text(f"{words}\nmilk\n")
                (project / f"{words}.txt").write_text("new\n")


@pytest.fixture
def client(book: Ledger, project: Path) -> Iterator[TestClient[Any]]:
    with TestClient(create_app(book, workspaces=[project]), base_url=BASE) as opened:
        yield opened


def test_what_each_message_did_is_listed_and_shown_as_diffs(client: TestClient[Any], project: Path) -> None:
    (told,) = client.get("/api/threads/t/workspaces").json()
    assert (told["id"], told["root"], told["changes"], told["touchable"]) == (1, str(project), 2, True)
    page = client.get(f"{ONE}/changes").json()
    assert [(one["messageId"], one["agentId"], one["source"]) for one in page["items"]] == [
        ("ta1", "waiter", "tool"),
        ("ta0", "waiter", "tool"),
    ]
    assert page["items"][0]["files"] == [
        {"path": "Ceylon.txt", "what": "created"},
        {"path": "tea.txt", "what": "modified"},
    ]
    first = client.get(f"{ONE}/changes", params={"limit": 1}).json()
    rest = client.get(f"{ONE}/changes", params={"limit": 1, "after": first["next"]}).json()
    assert [*first["items"], *rest["items"]] == page["items"]
    assert rest["next"] is None
    for odd in ("x", "²", "9" * 5000):
        answer = client.get(f"{ONE}/changes", params={"after": odd})
        assert (answer.status_code, answer.json()["path"]) == (400, "?after")
    diffs = client.get(f"{ONE}/changes/{page['items'][0]['snapshot']}").json()
    assert "-Darjeeling\n+Ceylon\n milk\n" in diffs[1]["diff"]


def test_a_plan_is_shown_and_then_carried_out_and_back(client: TestClient[Any], book: Ledger, project: Path) -> None:
    plan = client.get(f"{ONE}/plan").json()
    assert [(one["action"], one["path"]) for one in plan["files"]] == [("delete", "Ceylon.txt"), ("write", "tea.txt")]
    assert "-Ceylon\n+Darjeeling\n" in plan["files"][1]["diff"]
    assert (plan["fromHead"], plan["toHead"], plan["conflicts"]) == ("ta1", "ta0", [])
    assert plan["todos"][0]["content"] == "Brew Darjeeling"
    assert (project / "tea.txt").read_text() == "Ceylon\nmilk\n"  # nothing is touched by looking
    done = client.post(f"{ONE}/apply", json={"plan": plan["id"], "kind": "undo"})
    assert done.status_code == 200, done.text
    assert (project / "tea.txt").read_text() == "Darjeeling\nmilk\n"
    assert not (project / "Ceylon.txt").exists()
    assert book.thread("t").head == "ta0"
    again = client.get(f"{ONE}/plan", params={"kind": "redo"}).json()
    assert client.post(f"{ONE}/apply", json={"plan": again["id"], "kind": "redo"}).status_code == 200
    assert (project / "tea.txt").read_text() == "Ceylon\nmilk\n"
    assert book.thread("t").head == "ta1"


@pytest.mark.parametrize("scope", ["files", "conversation"])
def test_the_scope_is_kept_to(client: TestClient[Any], book: Ledger, project: Path, scope: str) -> None:
    plan = client.get(f"{ONE}/plan", params={"scope": scope}).json()
    assert client.post(f"{ONE}/apply", json={"plan": plan["id"], "kind": "undo", "scope": scope}).status_code == 200
    assert (project / "tea.txt").read_text().startswith("Darjeeling" if scope == "files" else "Ceylon")
    assert book.thread("t").head == ("ta1" if scope == "files" else "ta0")


@pytest.mark.parametrize("meanwhile", ["a file", "the conversation", "another order"])
def test_a_plan_that_is_no_longer_so_is_not_carried_out(
    client: TestClient[Any], book: Ledger, project: Path, meanwhile: str
) -> None:
    order = {"plan": client.get(f"{ONE}/plan").json()["id"], "kind": "undo"}
    if meanwhile == "a file":
        (project / "tea.txt").write_text("Ceylon\nmilk\nsugar\n")
    elif meanwhile == "the conversation":
        book.append("t", Message(id="more", role="user", parts=[TextPart(text="And sugar")]))
    else:
        order["turns"] = 2
    before = {one.name: one.read_bytes() for one in project.iterdir() if one.is_file()}
    head = book.thread("t").head
    refused = client.post(f"{ONE}/apply", json=order)
    assert refused.status_code == 409
    assert refused.json()["expected"] == order["plan"]
    assert {one.name: one.read_bytes() for one in project.iterdir() if one.is_file()} == before
    assert book.thread("t").head == head
    new = client.get(f"{ONE}/plan", params={"turns": order.get("turns", 1)}).json()["id"]
    assert new == refused.json()["found"]
    assert client.post(f"{ONE}/apply", json={**order, "plan": new}).status_code == 200


def test_what_others_changed_is_kept_and_named(client: TestClient[Any], project: Path) -> None:
    (project / "tea.txt").write_text("Rooibos\nmilk\n")
    plan = client.get(f"{ONE}/plan").json()
    assert [one["path"] for one in plan["conflicts"]] == ["tea.txt"]
    assert "changed since" in plan["conflicts"][0]["why"]
    done = client.post(f"{ONE}/apply", json={"plan": plan["id"], "kind": "undo"}).json()
    assert [one["path"] for one in done["conflicts"]] == ["tea.txt"]
    assert (project / "tea.txt").read_text() == "Rooibos\nmilk\n"


def test_a_folder_the_server_was_not_started_for_is_never_touched(book: Ledger, project: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for allowed in ((), [tmp_path / "other"], [tmp_path], [f"{project}x"]):
        with TestClient(create_app(book, workspaces=allowed), base_url=BASE) as client:
            (told,) = client.get("/api/threads/t/workspaces").json()
            assert told["touchable"] is False
            assert "--workspace" in told["why"]
            assert client.get(f"{ONE}/changes").status_code == 200
            for kind in ("undo", "redo"):
                assert client.get(f"{ONE}/plan", params={"kind": kind}).status_code == 403
                assert client.post(f"{ONE}/apply", json={"plan": "x", "kind": kind}).status_code == 403
    assert (project / "tea.txt").read_text() == "Ceylon\nmilk\n"
    with TestClient(create_app(book, workspaces=None), base_url=BASE) as client:  # all that the ledger tracks
        assert client.get(f"{ONE}/plan").status_code == 200


def test_a_thread_reaches_only_what_it_changed(client: TestClient[Any], book: Ledger, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "tea.txt").write_text("x\n")
    talk(book, other, "o")
    for path in (f"{ONE[:-1]}2", "/api/threads/o/workspaces/1", "/api/threads/none/workspaces/1", f"{ONE[:-1]}99"):
        for end in ("/changes", "/changes/2", "/plan"):
            assert client.get(path + end).status_code == 404, path + end
        assert client.post(f"{path}/apply", json={"plan": "x", "kind": "undo"}).status_code == 404
    assert client.get(f"{ONE}/changes/999").status_code == 404


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"kind": "redo"}, 400),  # there is nothing to redo
        ({"kind": "sideways"}, 400),
        ({"turns": 0}, 400),
        ({"turns": 99}, 400),
        ({"scope": "all"}, 400),
        ({"to": "nowhere"}, 404),
    ],
)
def test_a_bad_order_is_refused_with_the_reason(client: TestClient[Any], params: dict[str, Any], status: int) -> None:
    got = client.get(f"{ONE}/plan", params=params)
    assert (got.status_code, bool(got.json()["error"])) == (status, True)
    order = {"plan": "x", "kind": "undo", **params}
    assert client.post(f"{ONE}/apply", json=order).status_code == status


def test_a_folder_that_is_gone_is_named(client: TestClient[Any], project: Path) -> None:
    os.rename(project, f"{project}-moved")
    (told,) = client.get("/api/threads/t/workspaces").json()
    assert told["touchable"] is False
    assert "not on this machine" in told["why"]
    assert client.get(f"{ONE}/plan").status_code == 403


def test_names_that_are_no_text_come_through(client: TestClient[Any], book: Ledger, project: Path) -> None:
    name = os.fsencode(project) + b"/caf\xe9.txt"
    with Workspace(book, project) as files, files.tool(Author(thread_id="t", message_id="ta1"), name):
        Path(os.fsdecode(name)).write_text("x")
    plan = client.get(f"{ONE}/plan").json()
    assert "caf\udce9.txt" in [one["path"] for one in plan["files"]]
    assert client.post(f"{ONE}/apply", json={"plan": plan["id"], "kind": "undo"}).status_code == 200
    assert not os.path.exists(name)


def test_an_id_with_half_a_surrogate_pair_or_a_slash_is_found(client: TestClient[Any], book: Ledger) -> None:
    for key, path in (("half\ud83d", "half%ED%A0%BD"), ("a/b", "a%2Fb"), ("\udc2f/-\udc2f", "%ED%B0%AF%2F-%ED%B0%AF")):
        book.create_thread(key)
        book.append(key, Message(id=key, role="user", parts=[TextPart(text="hi")]))
        assert client.get(f"/api/threads/{path}").json()["id"] == key
        assert client.get(f"/api/threads/{path}/messages/{path}").json()["id"] == key
    assert client.get("/api/threads/%FF%FE").status_code == 404


def test_threads_are_narrowed(client: TestClient[Any], book: Ledger) -> None:
    book.create_thread("w")
    book.append("w", Message(role="assistant", agent_id="waiter", parts=[TextPart(text="hi")]))
    assert [one["id"] for one in client.get("/api/threads", params={"agent": "waiter"}).json()["items"]] == ["w"]
    assert client.get("/api/threads", params={"agent": "nobody"}).json()["items"] == []
    assert client.get("/api/threads", params={"since": "soon"}).status_code == 400
    assert client.get("/api/facts").json() == [{"kind": "agent", "value": "waiter", "threads": 1}]


def test_a_file_that_cannot_be_read_is_named_with_the_way_out(
    client: TestClient[Any], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = client.get(f"{ONE}/plan").json()
    whole = rooted_fs.read

    def read(fd: int, name: Any) -> Any:
        if name == b"tea.txt":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        return whole(fd, name)

    monkeypatch.setattr(rooted_fs, "read", read)
    for reply in (client.get(f"{ONE}/plan"), client.post(f"{ONE}/apply", json={"plan": plan["id"], "kind": "undo"})):
        assert reply.status_code == 409
        assert reply.json()["error"].startswith("tea.txt: Permission denied; nothing was changed; ")
    monkeypatch.undo()
    assert client.post(f"{ONE}/apply", json={"plan": plan["id"], "kind": "undo"}).status_code == 200


def test_an_imported_session_is_verified_over_http_too(tmp_path: Path) -> None:
    project = Project(tmp_path).created("a", contentHash="abc123").write()
    with hansard.open(":memory:") as ledger:
        ledger.sync(SESSION, hansard.read((project.session / "messages.jsonl").read_bytes(), "sage"))
        snapshots = hansard.read((project.session / "snapshots.jsonl").read_bytes(), "sage")
        ledger.sync(SESSION, Conversation(messages=ledger.transcript(SESSION), snapshots=snapshots.snapshots))
        with Workspace(ledger, tmp_path) as files:
            read_snapshots(files, SESSION)
        with TestClient(create_app(ledger, workspaces=[tmp_path]), base_url=BASE) as client:
            one = f"/api/threads/{SESSION}/workspaces/1"
            plan = client.get(f"{one}/plan").json()
            assert "cannot be verified" in plan["conflicts"][0]["why"]
            refused = client.post(f"{one}/apply", json={"plan": plan["id"], "kind": "undo"})
            assert refused.status_code == 409
            assert project.content() == {"a": b"<html>\n"}
            plan = client.get(f"{one}/plan", params={"unverified": True}).json()
            order = {"plan": plan["id"], "kind": "undo", "unverified": True}
            assert client.post(f"{one}/apply", json=order).json()["conflicts"] == []
            assert project.content() == {}
