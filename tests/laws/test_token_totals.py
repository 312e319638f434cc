"""Token totals of any set of session files, imported in any order, any number of times, whole or growing, are what a
counter says that shares no code with the readers: it knows only JSON lines."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hansard
from hansard.sessions import discovery
from hansard.sessions.costs import token_counts
from hansard.sessions.importer import import_session
from tests.conftest import GOLDEN

Counts = tuple[int, int, int, int, int]  # input outside the cache, cache read, cache write, output, reasoning
LAB = sorted(path.parent for path in (GOLDEN / "lab").glob("*/manifest.json"))
COUNTED = ("claude", "codex", "gemini", "pi", "copilot")


def records(files: dict[str, bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in sorted(files):
        if name.endswith(".jsonl"):
            yield from ((name, json.loads(line)) for line in files[name].splitlines() if line.strip())


def count_claude(files: dict[str, bytes]) -> dict[Any, Counts]:
    found: dict[Any, Counts] = {}
    for _, one in records(files):
        message = one.get("message") if one.get("type") == "assistant" else None
        if message and "usage" in message:
            usage = message["usage"]
            row = (
                usage.get("input_tokens", 0),
                usage.get("cache_read_input_tokens", 0),
                usage.get("cache_creation_input_tokens", 0),
                usage.get("output_tokens", 0),
                0,
            )
            key = message["id"], one.get("requestId")
            found[key] = max(found.get(key, row), row, key=lambda row: row[3])
    return found


def count_codex(files: dict[str, bytes]) -> dict[Any, Counts]:
    """By the provider's answer; in older rollouts by the totals so far, which a fork repeats from its parent."""
    found: dict[Any, Counts] = {}
    family: dict[str, str] = {}
    newer = {name for name, one in records(files) if one["type"] == "token_usage_record"}
    for name, one in records(files):
        told = one.get("payload") or {}
        if one["type"] == "session_meta":
            family.setdefault(name, told.get("forked_from_id") or told["id"])
        elif one["type"] == "token_usage_record":
            found[told["response_id"]] = of_codex(told["usage"])
        elif told.get("type") == "token_count" and told.get("info") and name not in newer:
            info = told["info"]
            found[family[name], tuple(info["total_token_usage"].values())] = of_codex(info["last_token_usage"])
    return found


def of_codex(usage: dict[str, int]) -> Counts:
    read, wrote = usage.get("cached_input_tokens", 0), usage.get("cache_write_input_tokens", 0)
    given, reasoning = usage["input_tokens"] - read - wrote, usage.get("reasoning_output_tokens", 0)
    return given, read, wrote, usage["output_tokens"], reasoning


def count_gemini(files: dict[str, bytes]) -> dict[Any, Counts]:
    found = {}
    for _, one in records(files):
        if tokens := one.get("tokens"):
            given, out = tokens["input"] - tokens["cached"], tokens["output"] + tokens["thoughts"]
            found[one["id"]] = (given, tokens["cached"], 0, out, tokens["thoughts"])
    return found


def count_pi(files: dict[str, bytes]) -> dict[Any, Counts]:
    found = {}
    for _, one in records(files):
        if one["type"] == "message" and (usage := one["message"].get("usage")):
            row = usage["input"], usage["cacheRead"], usage["cacheWrite"], usage["output"], 0
            found[one["id"], one["timestamp"]] = row
    return found


def count_copilot(files: dict[str, bytes]) -> dict[Any, Counts]:
    found = {}
    for _, one in records(files):
        if one["type"] == "session.usage_record":
            usage = one["data"]["usage"]
            read, wrote = usage["cacheReadTokens"], usage["cacheWriteTokens"]
            row = usage["inputTokens"] - read - wrote, read, wrote, usage["outputTokens"], usage["reasoningTokens"]
            found[usage["apiCallId"]] = row
    return found


COUNTERS = {"claude": count_claude, "codex": count_codex, "gemini": count_gemini, "pi": count_pi}
COUNTERS |= {"copilot": count_copilot}


def said_codex(role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return {
        "type": "response_item",
        "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": text}]},
    }


def spent_codex(total: int, last: int) -> dict[str, Any]:
    usage = [
        {"input_tokens": n - 100, "cached_input_tokens": 0, "output_tokens": 100, "total_tokens": n}
        for n in (total, last)
    ]
    info = {"total_token_usage": usage[0], "last_token_usage": usage[1]}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def lines(*rows: dict[str, Any], hour: int) -> bytes:
    stamped = [{"timestamp": f"2026-01-01T{hour:02}:00:{i:02}.000Z", **row} for i, row in enumerate(rows)]
    return b"".join(json.dumps(row).encode() + b"\n" for row in stamped)


def older_fork() -> dict[str, bytes]:
    """A fork of an older Codex: its file repeats the parent's history and token counts, with new times."""
    parent, child = "01a1f15e-0000-7000-8000-000000000001", "01a1f15e-0000-7000-8000-000000000002"
    past = [
        said_codex("user", "Go."),
        said_codex("assistant", "Gone."),
        spent_codex(3300, 3300),
        spent_codex(3300, 3300),
    ]
    new = [said_codex("user", "On."), said_codex("assistant", "Went on."), spent_codex(3800, 500)]
    first = {"type": "session_meta", "payload": {"id": parent, "cwd": "/w"}}
    forked = {"type": "session_meta", "payload": {"id": child, "cwd": "/w", "forked_from_id": parent}}
    folder = ".codex/sessions/2026/01/01/rollout-2026-01-01T1"
    return {
        f"{folder}0-00-00-{parent}.jsonl": lines(first, *past, hour=10),
        f"{folder}1-00-00-{child}.jsonl": lines(forked, *past, *new, hour=11),
    }


def resume_copy() -> dict[str, bytes]:
    """Two files of an older Claude Code that share answers: a resume copied them under another session id."""

    def row(session: str, uuid: str, parent: str | None, role: str, text: str, out: int = 0) -> dict[str, Any]:
        message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}]}
        if out:
            message |= {"id": f"msg_{out}", "model": "m", "usage": {"input_tokens": 3, "output_tokens": out}}
        more = {"requestId": f"req_{out}"} if out else {}
        return {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": session, "message": message, **more}

    sessions = ["5e551000-0000-4000-8000-00000000000a", "5e551000-0000-4000-8000-00000000000b"]
    files = {}
    for i, session in enumerate(sessions):
        past = [row(session, f"u{i}", None, "user", "Go."), row(session, f"a{i}", f"u{i}", "assistant", "Gone.", 159)]
        more = (
            [row(session, "u2", "a1", "user", "On."), row(session, "a2", "u2", "assistant", "Went.", 41)] if i else []
        )
        files[f".claude/projects/-w/{session}.jsonl"] = lines(*past, *more, hour=10 + i)
    return files


def recorded(folder: Path) -> dict[str, bytes]:
    home = folder / "home"
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


SETS: dict[str, tuple[str, dict[str, bytes]]] = {
    **{path.name: (path.name.partition("@")[0], recorded(path)) for path in LAB if path.name.startswith(COUNTED)},
    "codex: older fork": ("codex", older_fork()),
    "claude: resume copy": ("claude", resume_copy()),
}


def test_the_counter_knows_the_numbers() -> None:
    """What the provider gave, and what the reports of users name as true."""
    assert sum(row[0] + row[3] for row in count_codex(older_fork()).values()) == 3800
    assert sum(row[3] for row in count_claude(resume_copy()).values()) == 200
    for path in LAB:
        if path.name.startswith(COUNTED):
            given = json.loads((path / "manifest.json").read_text("utf-8"))["usage"].values()
            found = COUNTERS[path.name.partition("@")[0]](recorded(path)).values()
            assert sum(row[3] for row in found) == sum(row["output"] for row in given)


@pytest.mark.parametrize("name", SETS)
@settings(max_examples=6)
@given(data=st.data())
def test_any_imports_of_any_files_give_the_totals_of_the_counter(name: str, data: st.DataObject) -> None:
    agent, files = SETS[name]
    texts = sorted(path for path in files if path.endswith(".jsonl"))
    steps = data.draw(st.lists(st.tuples(st.sampled_from(texts), st.integers(0, 100)), max_size=5))
    with tempfile.TemporaryDirectory() as folder, hansard.open(":memory:") as ledger:
        home = Path(folder)
        for path, content in files.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            if path not in texts:
                (home / path).write_bytes(content)
        grown = dict.fromkeys(texts, 0)
        last = data.draw(st.permutations(texts))
        for path, percent in [*steps, *((path, 100) for path in last)]:
            rows = files[path].splitlines(keepends=True)
            grown[path] = max(grown[path], len(rows) * percent // 100)
            if grown[path]:
                (home / path).write_bytes(b"".join(rows[: grown[path]]))
                import_all(ledger, home)
        found = token_counts(ledger, "model", {})
        sums = tuple(
            sum(values)
            for values in zip(
                *(
                    (
                        row.input_tokens,
                        row.cache_read_tokens,
                        row.cache_write_tokens,
                        row.output_tokens,
                        row.reasoning_tokens,
                    )
                    for row in found
                ),
                strict=True,
            )
        )
        assert sums == tuple(sum(values) for values in zip(*COUNTERS[agent](files).values(), strict=True))


def import_all(ledger: hansard.Ledger, home: Path) -> None:
    """Import what discovery finds, as if the folder were a home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "home", lambda: home)
        for agent in discovery.AGENTS:
            if agent.folder().is_dir():
                for session in agent.find(agent.folder()):
                    import_session(ledger, session)
