"""The table `conversation_message` on PostgreSQL: the transcripts as rows, kept up to date by `project` alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hansard
from hansard import Ledger, cli, formats
from hansard.errors import HansardError, NotFound
from hansard.ledger.maintenance import projection
from hansard.model import Conversation, Message, TextPart, ToolCallPart, ToolResultPart
from tests.ledger.said import said
from tests.strategies import json_values, maybe, parts

COLUMNS = {
    "id": "text",
    "thread_id": "text",
    "role": "text",
    "type": "text",
    "content": "jsonb",
    "created_at": "timestamp with time zone",
    "resource_id": "text",
}


def rows(database: str, thread_id: str = "t") -> list[tuple[Any, ...]]:
    with psycopg.connect(database) as connection:
        text = "select id, role, type, content from conversation_message where thread_id = %s order by position"
        return connection.execute(text, (thread_id,)).fetchall()


def expected(ledger: Ledger, thread_id: str = "t") -> list[tuple[Any, ...]]:
    found = []
    for message in ledger.transcript(thread_id):
        (record,) = formats.write(Conversation(messages=[message]), "agent-store").data
        content, escaped = projection.escape(record["content"])
        found.append((message.id, record["role"], record["type"], {**content, "escaped": True} if escaped else content))
    return found


@pytest.fixture
def held(database: str) -> Any:
    with hansard.open(database, connections=2) as ledger:
        ledger.create_thread("t", resource_id="ann")
        yield ledger


def test_the_table_has_the_columns_of_the_document(held: Ledger, database: str) -> None:
    text = "select column_name, data_type from information_schema.columns where table_name = 'conversation_message'"
    with psycopg.connect(database) as connection:
        found = dict(connection.execute(f"{text} order by ordinal_position".encode()).fetchall())
    assert {name: found[name] for name in COLUMNS} == COLUMNS
    assert list(found)[:7] == list(COLUMNS)


def test_it_is_empty_until_it_is_asked_for_and_then_incremental(held: Ledger, database: str) -> None:
    held.append("t", [said("one"), said("two")])
    assert rows(database) == []
    done = held.project()
    assert (done.threads, done.messages, done.removed, done.escaped) == (1, 2, 0, 0)
    assert rows(database) == expected(held)
    held.append("t", said("three"))
    assert held.project().messages == 1
    assert held.project().messages == held.project("t").messages == 0
    assert rows(database) == expected(held)


def test_each_column_is_what_the_message_says(held: Ledger, database: str) -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="weather", input={"city": "Oslo"})
    result = ToolResultPart(tool_call_id="c1", tool_name="weather", output={"celsius": 7})
    at = "2026-01-02T03:04:05.678Z"
    held.append("t", Message(id="m1", role="assistant", parts=[TextPart(text="Let me look."), call], created_at=at))
    held.append("t", Message(id="m2", role="tool", parts=[result], created_at=at))
    held.project()
    with psycopg.connect(database) as connection:
        text = """select id, thread_id, role, type, content->'parts'->1->>'state', resource_id,
                  to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
                  from conversation_message order by position"""
        first, second = connection.execute(text.encode()).fetchall()
        warm = """select (part->'result'->>'celsius')::int from conversation_message,
                  jsonb_array_elements(content->'parts') part where part->>'toolName' = 'weather' and part ? 'result'"""
        assert connection.execute(warm.encode()).fetchall() == [(7,)]
    assert first == ("m1", "t", "assistant", "tool", "call", "ann", at)
    assert second[:4] == ("m2", "t", "tool", "tool")
    held.update_thread("t", resource_id="bob")
    held.project()
    with psycopg.connect(database) as connection:
        assert connection.execute(b"select distinct resource_id from conversation_message").fetchall() == [("bob",)]


def test_a_fork_replaces_the_rows_behind_it(held: Ledger, database: str) -> None:
    held.append("t", [said(str(n), id=f"m{n}") for n in range(4)])
    held.project()
    held.fork("t", "m1")
    held.append("t", said("other", id="n2"))
    done = held.project()
    assert (done.messages, done.removed) == (1, 2)
    assert [row[0] for row in rows(database)] == ["m0", "m1", "n2"]
    held.checkout("t", "m3")
    held.project()
    assert [row[0] for row in rows(database)] == ["m0", "m1", "m2", "m3"]
    held.checkout("t", None)
    assert held.project().removed == 4
    assert rows(database) == []


def test_long_threads_come_in_batches(held: Ledger, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "BATCH", 7)
    held.append("t", [said(str(n)) for n in range(40)])
    assert held.project().messages == 40
    assert rows(database) == expected(held)


def test_forget_and_prune_delete_rows_in_their_own_transaction(held: Ledger, database: str) -> None:
    held.append("t", [said(str(n), id=f"m{n}") for n in range(3)])
    held.project()
    run = held.begin_run("t", fork_from="m0")
    run.stage(said("again", id="r1"))
    held.commit("t", run.id, prune=True)  # nothing is projected in between
    assert [row[0] for row in rows(database)] == ["m0"]
    held.project()
    assert [row[0] for row in rows(database)] == ["m0", "r1"]
    other = held.begin_run("t", fork_from="m0")
    other.stage(said("once more", id="r2"))
    other.commit()
    held.prune("t")
    assert [row[0] for row in rows(database)] == ["m0"]
    held.forget("t")
    assert rows(database) == []
    with psycopg.connect(database) as connection:
        assert connection.execute(b"select count(*) from projection").fetchone() == (0,)
    assert held.project().messages == 0
    with pytest.raises(NotFound, match="forgotten"):
        held.project("t")


def test_a_message_in_the_place_of_a_deleted_one_is_projected(held: Ledger, database: str) -> None:
    held.append("t", [said(str(n), id=f"m{n}") for n in range(3)])
    held.project()
    held.fork("t", "m0", prune=True)
    held.append("t", [said("new", id="n1"), said("newer", id="n2")])
    assert held.project().messages == 3  # the place is another message's now: from the start
    assert rows(database) == expected(held)


def test_what_jsonb_cannot_hold_is_escaped_and_marked(held: Ledger, database: str) -> None:
    odd = "a\x00b\ud83d"
    held.append("t", Message(id="i\x00d", role="user", parts=[TextPart(text=odd)]))
    held.append("t", said("plain \\u0000", id="m2"))
    assert held.project().escaped == 1
    found = rows(database)
    assert found[0][3] == {"format": 2, "parts": [{"type": "text", "text": "a\\u0000b\\ud83d"}], "escaped": True}
    assert found[1][3] == {"format": 2, "parts": [{"type": "text", "text": "plain \\u0000"}]}
    assert held.transcript("t")[0].parts[0] == TextPart(text=odd)


def test_tenants_do_not_see_one_another(database: str) -> None:
    with hansard.open(database, tenant="a") as a, hansard.open(database, tenant="b") as b:
        for ledger in (a, b):
            ledger.create_thread("t")
            ledger.append("t", said(f"of {ledger._driver.tenant}", id="m"))
            ledger.project()
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("create role reader login")
            connection.execute("grant select on conversation_message, projection to reader")
            connection.execute("set role reader")
            for table in ("conversation_message", "projection"):
                assert connection.execute(f"select count(*) from {table}".encode()).fetchone() == (0,)
            connection.execute("select set_config('hansard.tenant', %s, false)", (str(b._driver.tenant),))
            seen = connection.execute("select content->'parts'->0->>'text' from conversation_message").fetchall()
            assert seen == [(f"of {b._driver.tenant}",)]
            connection.execute("reset role")
            connection.execute("drop owned by reader")
            connection.execute("drop role reader")


def test_two_at_once_write_each_row_once(held: Ledger, database: str) -> None:
    held.append("t", [said(str(n)) for n in range(60)])
    threads = [threading.Thread(target=held.project) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows(database) == expected(held)


def test_the_command_says_what_it_did(held: Ledger, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    held.append("t", [said("one"), said("tw\x00")])
    assert cli.run(["project", "--db", database]) == 0
    assert capsys.readouterr().out == "2 messages added, 0 removed, in 1 thread, 1 message with escaped content\n"
    assert cli.run(["project", "t", "--db", database, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"threads": 0, "messages": 0, "removed": 0, "escaped": 0}
    assert cli.run(["project", "nowhere", "--db", database]) == 2


def test_sqlite_says_that_the_table_is_on_postgresql() -> None:
    with hansard.open(":memory:") as ledger, pytest.raises(HansardError, match="on PostgreSQL only; copy the ledger"):
        ledger.project()


@given(value=json_values)
def test_escaping_changes_only_what_jsonb_refuses(value: Any) -> None:
    made, escaped = projection.escape(value)
    assert escaped == (made != value)
    assert projection.escape(made) == (made, False)


messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool", "system", "event"]),
    parts=st.lists(parts, max_size=3),
    created_at=maybe(st.sampled_from(["2026-01-02T03:04:05Z", "yesterday"])),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), messages),
        st.tuples(st.just("fork"), st.integers(0, 8)),
        st.tuples(st.just("cut"), st.integers(0, 8)),
        st.tuples(st.just("run"), st.booleans()),
        st.tuples(st.just("prune"), st.none()),
        st.tuples(st.just("project"), st.none()),
    ),
    max_size=14,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(script=steps)
def test_after_any_history_the_table_is_the_transcript(held: Ledger, database: str, script: list[Any]) -> None:
    acts: dict[str, Callable[[str, Any], Any]] = {
        "append": lambda thread, message: held.append(thread, message),
        "fork": lambda thread, n: held.fork(thread, place(held, thread, n)),
        "cut": lambda thread, n: held.fork(thread, place(held, thread, n), prune=True),
        "run": lambda thread, prune: run_again(held, thread, prune),
        "prune": lambda thread, _: held.prune(thread),
        "project": lambda thread, _: held.project(thread),
    }
    thread = held.create_thread().id
    for name, value in script:
        acts[name](thread, value)
    held.project()
    assert rows(database, thread) == expected(held, thread)


def place(ledger: Ledger, thread: str, n: int) -> str | None:
    ids = [None, *(node.id for node in ledger.tree(thread))]
    return ids[n % len(ids)]


def run_again(ledger: Ledger, thread: str, prune: bool) -> None:
    path = ledger.transcript(thread)
    fork = path[len(path) // 2].id if path else None
    run = ledger.begin_run(thread, fork_from=fork)
    run.stage(said("from a run"))
    ledger.commit(thread, run.id, prune=prune)
