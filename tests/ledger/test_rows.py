"""`Ledger.rows`: flat rows of what a ledger holds; the numbers are those of every other view."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import typing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace

import hansard
from hansard import Ledger, Message, ToolCallPart, ToolResultPart, Usage
from hansard.cli import run
from hansard.ledger.analysis.row_types import TABLES, Table, columns
from hansard.model import Context, ModelRef
from hansard.sessions.costs import token_counts

NAMES: list[Table] = list(typing.get_args(Table))
USAGE = Usage(input_tokens=100, cache_read_tokens=60, cache_write_tokens=10, output_tokens=7, reasoning_tokens=2)


def at(second: int) -> str:
    return f"2026-03-01T10:00:{second:02d}Z"


def weather(ledger: Ledger) -> None:
    """Two threads: one with calls, machinery, a fork and a failed run; one on another day without anything of it."""
    ledger.create_thread("w", agents=[])
    call = ToolCallPart(tool_call_id="c1", tool_name="weather", input={"city": "Leith"})
    lost = ToolCallPart(tool_call_id="c2", tool_name="weather", input={"city": "Rome"})
    answer = ModelRef(name="opus", response_id="r1")
    said = [
        Message.user("<system-reminder>Be brief.</system-reminder>", "How warm?", id="m1", created_at=at(0)),
        Message(role="assistant", parts=[call, lost], id="m2", created_at=at(1), agent_id="chief", model=answer),
        Message.tool(
            ToolResultPart(tool_call_id="c1", output={"celsius": 11}, is_error=True), id="m3", created_at=at(4)
        ),
        Message.assistant("Eleven.", id="m4", created_at=at(5), model=answer, usage=USAGE),
        Message.assistant("Eleven!", id="m5", created_at=at(6), model=answer, usage=USAGE),  # a version of it
        Message(role="user", parts=[hansard.TextPart(text="to a sub-agent")], sidechain=True, created_at=at(7)),
    ]
    said[0] = replace(said[0], context=Context(cwd="/tea"))
    ledger.append("w", said[:4])
    ledger.append("w", said[4], parent="m3")
    ledger.append("w", said[5], parent="m5")
    failing = ledger.begin_run("w")
    failing.stage(Message.user("never committed", created_at=at(8)))
    failing.fail("broken")
    ledger.create_thread("v", title="Later")
    ledger.append("v", Message.user("Hello", created_at="2026-03-02T09:00:00Z"))


def test_every_table_has_the_columns_of_its_type(ledger: Ledger) -> None:
    weather(ledger)
    for table in NAMES:
        found: list[Any] = list(ledger.rows(table))
        assert found or table == "files"
        hints = typing.get_type_hints(TABLES[table])
        for row in found:
            assert list(row) == columns(table) == list(hints)
            for name, value in row.items():
                kinds = tuple(typing.get_args(hints[name])) or (hints[name],)
                assert type(value) in kinds, (table, name, value)


def test_rows_say_what_is_there(ledger: Ledger) -> None:
    weather(ledger)
    first = {"thread": "w", "title": "How warm?", "project": "/tea", "agent": "chief", "model": "opus"}
    threads = list(ledger.rows("threads"))
    assert [row["thread"] for row in threads] == ["w", "v"]
    assert threads[0] == {**first, "at": threads[0]["at"], "messages": 7, "head": ledger.thread("w").head}
    assert list(ledger.rows("prompts", thread="w")) == [
        {**first, "at": "2026-03-01T10:00:00.000Z", "message": "m1", "text": "How warm?", "origin": "person"}
    ]
    assert [row["text"] for row in ledger.rows("messages", thread="w") if row["role"] == "assistant"] == [
        "",
        "Eleven.",
        "Eleven!",
    ]
    answered, lost = ledger.rows("calls")
    moment = {**first, "at": "2026-03-01T10:00:01.000Z", "tool": "weather"}
    result = {"output": '{"celsius":11}', "status": "error", "seconds": 3.0}
    assert answered == {**moment, "call": "c1", "input": '{"city":"Leith"}', **result}
    assert lost == {
        **moment,
        "call": "c2",
        "input": '{"city":"Rome"}',
        "output": None,
        "status": "unanswered",
        "seconds": None,
    }


def test_an_answer_counts_once_and_every_view_says_the_same(ledger: Ledger) -> None:
    weather(ledger)
    ledger.create_thread("copy")
    ledger.append("copy", replace(ledger.get("w", "m4").plain(), parent_message_id=UNSET))
    names = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"]
    counts = [[row[name] for name in names] for row in ledger.rows("usage")]  # type: ignore[literal-required]
    assert counts == [[30, 60, 10, 7, 2]]
    usage = ledger.stats().usage
    (by_model,) = token_counts(ledger, "model", {})
    thread = ledger.thread("copy").usage
    for view in (usage, by_model, thread):
        shown = msgspec.to_builtins(view)
        assert [[shown[name] for name in names]] == counts
    assert usage.total == 107


@pytest.mark.parametrize(
    ("given", "threads"),
    [
        ({"since": "2026-03-02"}, ["v"]),
        ({"until": "2026-03-01"}, ["w"]),
        ({"since": datetime(2026, 3, 1, 10, tzinfo=UTC), "until": datetime(2026, 3, 1, 10, 0, 1, tzinfo=UTC)}, ["w"]),
        ({"project": "/tea"}, ["w"]),
        ({"model": "opus", "agent": "chief"}, ["w"]),
        ({"agent": "nobody"}, []),
        ({"thread": "v"}, ["v"]),
    ],
)
def test_rows_are_selected_by_their_columns(ledger: Ledger, given: Any, threads: list[str]) -> None:
    weather(ledger)
    assert sorted({row["thread"] for row in ledger.rows("prompts", **given)}) == threads


@pytest.mark.parametrize(
    ("table", "given", "problem"),
    [
        ("prompt", {}, "unknown table 'prompt' .choose from threads, messages"),
        ("calls", {"thread": "x"}, "no thread 'x'"),
        ("calls", {"since": "soon"}, "since:soon is not a valid time"),
    ],
)
def test_what_cannot_be_read_is_said_at_once(ledger: Ledger, table: Any, given: Any, problem: str) -> None:
    with pytest.raises(hansard.HansardError, match=problem):
        ledger.rows(table, **given)


def test_the_async_rows_are_the_same(ledger: Ledger) -> None:
    weather(ledger)

    async def read(table: Table) -> list[Any]:
        return [row async for row in ledger.aio.rows(table)]

    for table in NAMES:
        assert asyncio.run(read(table)) == list(ledger.rows(table))


def test_rows_are_exported(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    db = str(tmp_path / "l.db")
    with hansard.open(db) as ledger:
        weather(ledger)
        calls, prompts = list(ledger.rows("calls")), list(ledger.rows("prompts", thread="v"))
    assert run(["export", "--all", "--rows", "calls", "--to", "csv", "--db", db]) == 0
    read = list(csv.DictReader(io.StringIO(capsysbinary.readouterr().out.decode())))
    assert read == [{name: "" if value is None else str(value) for name, value in row.items()} for row in calls]
    assert run(["export", "v", "--rows", "prompts", "--to", "jsonl", "--db", db]) == 0
    assert [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()] == prompts
    assert run(["export", "--all", "--rows", "files", "--to", "csv", "--db", db]) == 0
    assert capsysbinary.readouterr().out.decode().strip() == ",".join(columns("files"))
    assert run(["export", "--all", "--rows", "calls", "--to", "anthropic", "--db", db]) == 2


def test_threads_and_messages_are_iterated_without_pages(ledger: Ledger) -> None:
    for i in range(5):
        ledger.create_thread(f"t{i}", resource_id="ann" if i % 2 else "bob")
    ledger.append("t0", [Message.user(f"{i}") for i in range(5)])
    ledger.append("t0", Message.assistant("!", model="opus"))
    assert {thread.id for thread in ledger.iter_threads(batch=2)} == {f"t{i}" for i in range(5)}
    assert {thread.id for thread in ledger.iter_threads(batch=2, resource_id="ann")} == {"t1", "t3"}
    assert [thread.id for thread in ledger.iter_threads(model="opus")] == ["t0"]
    assert [message.text for message in ledger.iter_messages("t0", batch=2)] == ["0", "1", "2", "3", "4", "!"]


def test_a_thread_knows_project_agent_and_models(ledger: Ledger) -> None:
    ledger.create_thread("t")
    ledger.append("t", Message(role="user", parts=[hansard.TextPart(text="Which tea?\nGreen?")]))
    for model, agent, folder in (("opus", "a", "/x"), ("sonnet", "b", "/y"), ("opus", None, None)):
        ledger.append(
            "t",
            Message(
                role="assistant",
                parts=[],
                agent_id=agent or UNSET,
                model=ModelRef(name=model),
                context=Context(cwd=folder) if folder else UNSET,
            ),
        )
    thread = ledger.thread("t")
    assert (thread.title, thread.project, thread.agent, thread.models) == (
        "Which tea? Green?",
        "/x",
        "a",
        ["opus", "sonnet"],
    )
    assert ledger.threads().items == [thread]


def test_files_that_an_imported_session_changed(tmp_path: Path) -> None:
    write = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {"file_path": "/tea/a.txt", "content": "x"}}
    base = {"sessionId": "s1", "cwd": "/tea", "version": "2.0.0", "isSidechain": False, "userType": "external"}
    done = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "File created successfully"}
    records = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "Write a.txt"}},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": {"role": "assistant", "content": [write]}},
        {
            "type": "user",
            "uuid": "u3",
            "parentUuid": "u2",
            "message": {"role": "user", "content": [done]},
            "toolUseResult": {"type": "create", "filePath": "/tea/a.txt", "content": "x"},
        },
    ]
    lines = [json.dumps({**base, "timestamp": f"2026-03-01T10:00:0{i}.000Z", **one}) for i, one in enumerate(records)]
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join(lines) + "\n")
    db = str(tmp_path / "l.db")
    assert run(["import", str(path), "--db", db]) == 0
    with hansard.open(db) as ledger:
        (row,) = ledger.rows("files")
        assert (row["path"], row["change"], row["call"], row["project"]) == ("/tea/a.txt", "created", "toolu_1", "/tea")
        assert [one["text"] for one in ledger.rows("prompts")] == ["Write a.txt"]
