"""Search over HTTP takes the filters that the list of threads takes, and says so."""

from __future__ import annotations

from litestar.testing import TestClient

import hansard
from hansard.model import Context, Message, ModelRef, TextPart
from hansard.server import create_app

THREADS = 900  # as many as no address could name


def test_a_search_takes_the_filters_of_the_list_of_threads() -> None:
    with hansard.open(":memory:") as ledger:
        for i in range(THREADS):
            agent = "odd" if i % 2 else "even"
            ledger.create_thread(f"t{i}")
            ledger.append(f"t{i}", Message(role="assistant", agent_id=agent, parts=[TextPart(text="tea")]))
        with TestClient(create_app(ledger), base_url="http://127.0.0.1") as client:
            seen: list[str] = []
            sizes: list[int] = []
            given = {"q": "tea", "agent": "even", "limit": "100"}
            while True:
                page = client.get("/api/search", params=given).json()
                seen += [hit["threadId"] for hit in page["items"]]
                sizes.append(len(page["items"]))
                if page["next"] is None:
                    break
                given["after"] = page["next"]
            assert sorted(seen) == sorted(f"t{i}" for i in range(0, THREADS, 2))
            assert all(size == 100 for size in sizes[:-1]), sizes
            wrong = client.get("/api/search", params={"q": "tea", "since": "someday"})
            assert wrong.status_code == 400
            document = client.get("/schema/openapi.json").json()["paths"]
    listed, found = (
        {one["name"] for one in document[path]["get"]["parameters"]} for path in ("/api/threads", "/api/search")
    )
    assert listed - {"newest"} == found - {"q"}


def test_a_parameter_that_is_given_twice_is_refused_by_name() -> None:
    with hansard.open(":memory:") as ledger, TestClient(create_app(ledger), base_url="http://127.0.0.1") as client:
        for path in ("/api/threads?agent=a&limit=3&agent=b", "/api/search?q=tea&q=coffee", "/api/threads?x=1&x=1"):
            refused = client.get(path)
            assert refused.status_code == 400
            assert refused.json()["error"] == "parameter given twice"
            assert refused.json()["path"].startswith("?")
        assert client.get("/api/threads?agent=a&limit=3").status_code == 200


def test_every_filter_narrows_the_list_and_the_search_alike() -> None:
    """One that is not passed on shows one customer the threads of another."""
    told = {
        "resourceId": ("ann", "bob"),
        "agent": ("cook", "waiter"),
        "model": ("m1", "m2"),
        "project": ("/one", "/two"),
    }
    with hansard.open(":memory:") as ledger, TestClient(create_app(ledger), base_url="http://127.0.0.1") as client:
        for i in range(2):
            values = {name: pair[i] for name, pair in told.items()}
            ledger.create_thread(f"t{i}", resource_id=values["resourceId"])
            message = Message(
                role="assistant",
                agent_id=values["agent"],
                model=ModelRef(provider="p", name=values["model"]),
                context=Context(cwd=values["project"]),
                parts=[TextPart(text="tea")],
            )
            ledger.append(f"t{i}", message)
        for name, pair in told.items():
            for i, value in enumerate(pair):
                listed = client.get("/api/threads", params={name: value}).json()["items"]
                found = client.get("/api/search", params={"q": "tea", name: value}).json()["items"]
                assert [thread["id"] for thread in listed] == [hit["threadId"] for hit in found] == [f"t{i}"], name
        for name, value, wanted in (("since", "1999-01-01", 2), ("until", "1999-01-01", 0)):
            listed = client.get("/api/threads", params={name: value}).json()["items"]
            found = client.get("/api/search", params={"q": "tea", name: value}).json()["items"]
            assert len(listed) == len(found) == wanted
        assert client.get("/api/search", params={"q": "tea", "format": "codex"}).json()["items"] == []
