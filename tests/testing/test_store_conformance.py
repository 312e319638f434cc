"""The contract of a store: the ledger's keeps it on every backend, and so does a plain one; broken ones are caught."""

from __future__ import annotations

import asyncio
import copy
import itertools
from typing import Any

import psycopg
import psycopg.rows
import psycopg.types.json
import pytest

import hansard
from hansard import Ledger
from hansard.agent import LedgerMemoryStore, MemoryStore
from hansard.testing import run_store_conformance


class PlainStore:
    """The shortest store that is right: lists in memory."""

    def __init__(self) -> None:
        self.messages: dict[str, dict[str, Any]] = {}
        self.threads: dict[str, dict[str, Any]] = {}

    async def list_messages(self, *, thread_id: str, limit: int | None = None, order_by: str = "asc") -> list[Any]:
        found = [one for one in self.messages.values() if one["threadId"] == thread_id]
        return (found if order_by == "asc" else found[::-1])[:limit]

    async def save_messages(self, *, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            self.messages.setdefault(message["id"], message)

    async def get_thread_by_id(self, *, thread_id: str) -> dict[str, Any] | None:
        return self.threads.get(thread_id)

    async def save_thread(self, *, thread: dict[str, Any]) -> None:
        self.threads[thread["id"]] = thread


class Repeating(PlainStore):
    """Keeps a message again when it is saved again."""

    async def save_messages(self, *, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            self.messages[f"{message['id']}-{len(self.messages)}"] = message


class OldestOnly(PlainStore):
    """Cuts before it turns the order round."""

    async def list_messages(self, *, thread_id: str, limit: int | None = None, order_by: str = "asc") -> list[Any]:
        found = (await super().list_messages(thread_id=thread_id))[:limit]
        return found if order_by == "asc" else found[::-1]


class Mixing(PlainStore):
    """Takes all messages of a call for those of one thread."""

    async def save_messages(self, *, messages: list[dict[str, Any]]) -> None:
        await super().save_messages(messages=[{**one, "threadId": messages[0]["threadId"]} for one in messages])


class TextOnly(PlainStore):
    """Forgets the parts that it does not know."""

    async def save_messages(self, *, messages: list[dict[str, Any]]) -> None:
        messages = copy.deepcopy(messages)
        for message in messages:
            content = message["content"]
            content["parts"] = [part for part in content["parts"] if part["type"] in ("text", "tool-invocation")]
        await super().save_messages(messages=messages)


class Raising(PlainStore):
    """Raises for a thread that it does not have."""

    async def get_thread_by_id(self, *, thread_id: str) -> dict[str, Any] | None:
        return self.threads[thread_id]


class Merging(PlainStore):
    """Adds to what it knows of a thread."""

    async def save_thread(self, *, thread: dict[str, Any]) -> None:
        old = self.threads.get(thread["id"], {})
        metadata = {**old.get("metadata", {}), **thread.get("metadata", {})}
        self.threads[thread["id"]] = {**old, **thread, **({"metadata": metadata} if metadata else {})}


class Forgetful(PlainStore):
    """Loses what others save meanwhile."""

    async def save_messages(self, *, messages: list[dict[str, Any]]) -> None:
        before = dict(self.messages)
        await asyncio.sleep(0)
        self.messages = {**before, **{one["id"]: one for one in messages}}


BROKEN = {
    Repeating: {"Saving the same message again"},
    OldestOnly: {"limit gives"},
    Mixing: {"Each message goes"},
    TextOnly: {"A message is returned"},
    Raising: {"A thread that was never saved"},
    Merging: {"Saving a thread again"},
    Forgetful: {"Calls at the same time"},
}


def test_a_plain_store_keeps_the_contract() -> None:
    report = asyncio.run(run_store_conformance(PlainStore))
    assert isinstance(PlainStore(), MemoryStore)
    assert report.passed, report
    assert str(report).endswith(f"{len(report.results)} of {len(report.results)} statements hold")
    assert [result.number for result in report.results] == list(range(1, len(report.results) + 1))


@pytest.mark.parametrize("store", BROKEN)
def test_a_broken_store_is_caught(store: type[PlainStore]) -> None:
    report = asyncio.run(run_store_conformance(store))
    assert not report
    found = {result.statement for result in report.failures}
    assert all(any(one.startswith(start) for one in found) for start in BROKEN[store]), report
    assert all(f"FAIL {result.number}. {result.statement}" in str(report) for result in report.failures)


def test_the_ledgers_store_keeps_the_contract(ledger: Ledger, url: str) -> None:
    names = itertools.count()
    opened: list[Ledger] = []

    async def make_store() -> LedgerMemoryStore:
        name = f"store-{next(names)}"
        if ledger.dialect == "postgres":
            one = hansard.open(url, tenant=name, connections=2)
        else:
            one = hansard.open(url if url == ":memory:" else f"{url}.{name}")
        opened.append(one)
        return LedgerMemoryStore(one)

    try:
        report = asyncio.run(run_store_conformance(make_store))
    finally:
        for one in opened:
            one.close()
    assert report.passed, report


class DocumentStore:
    """The specification's own table, as somebody else would write its adapter: UUIDs, jsonb, moments."""

    COLUMNS = {"threadId": "thread_id", "createdAt": "created_at", "resourceId": "resource_id"}

    def __init__(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        self.connection = connection
        connection.execute("DROP TABLE IF EXISTS conversation_message, thread")
        connection.execute(
            "CREATE TABLE conversation_message (id uuid PRIMARY KEY, thread_id uuid NOT NULL, role text NOT NULL,"
            " type text NOT NULL, content jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),"
            " resource_id text, place bigserial)"
        )
        connection.execute("CREATE TABLE thread (id uuid PRIMARY KEY, told jsonb NOT NULL)")

    async def list_messages(self, *, thread_id: str, limit: int | None = None, order_by: str = "asc") -> list[Any]:
        order = "ASC" if order_by == "asc" else "DESC"
        rows = self.connection.execute(
            f"SELECT id, thread_id, role, type, content, created_at, resource_id FROM conversation_message"
            f" WHERE thread_id = %s ORDER BY place {order} LIMIT %s",
            (thread_id, limit),
        )
        return [self._record(row) for row in rows]

    def _record(self, row: dict[str, Any]) -> dict[str, Any]:
        names = {column: key for key, column in self.COLUMNS.items()}
        told = {names.get(column, column): value for column, value in row.items() if value is not None}
        return {**told, "id": str(told["id"]), "threadId": str(told["threadId"])}

    async def save_messages(self, *, messages: list[dict[str, Any]]) -> None:
        with self.connection.transaction():
            for one in messages:
                row = {self.COLUMNS.get(key, key): value for key, value in one.items()}
                row["content"] = psycopg.types.json.Jsonb(row["content"])
                columns, values = ", ".join(row), ", ".join(f"%({column})s" for column in row)
                self.connection.execute(
                    f"INSERT INTO conversation_message ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING",
                    row,
                )

    async def get_thread_by_id(self, *, thread_id: str) -> dict[str, Any] | None:
        row = self.connection.execute("SELECT told FROM thread WHERE id = %s", (thread_id,)).fetchone()
        return None if row is None else row["told"]

    async def save_thread(self, *, thread: dict[str, Any]) -> None:
        self.connection.execute(
            "INSERT INTO thread VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET told = excluded.told",
            (thread["id"], psycopg.types.json.Jsonb(thread)),
        )


def test_an_adapter_of_the_specifications_own_table_keeps_all_but_nul_and_other_ids(database: str) -> None:
    with psycopg.connect(database, autocommit=True, row_factory=psycopg.rows.dict_row) as connection:
        report = asyncio.run(run_store_conformance(lambda: DocumentStore(connection)))
    assert [result.statement[:7] for result in report.failures] == ["A NUL i", "Ids are"], report


def test_what_differs_is_named() -> None:
    class Shouting(PlainStore):
        async def save_messages(self, *, messages: list[dict[str, Any]]) -> None:
            await super().save_messages(messages=[{**one, "role": one["role"].upper()} for one in messages])

    report = asyncio.run(run_store_conformance(Shouting))
    (again,) = [result for result in report.failures if result.statement.startswith("Saving the same message")]
    assert again.problem == "the messages, number 1, the field role: expected 'user', found 'USER'"


def test_a_store_that_cannot_be_made_fails_every_statement() -> None:
    def make_store() -> Any:
        raise RuntimeError("no database")

    report = asyncio.run(run_store_conformance(make_store))
    assert {result.problem for result in report.failures} == {"RuntimeError: no database"}
    assert len(report.failures) == len(report.results)
