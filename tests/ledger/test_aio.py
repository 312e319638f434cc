"""`ledger.aio`: many tasks on one SQLite file share its commits."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import Ledger
from tests.ledger.said import said, transcript, words


def test_tasks_that_write_at_once_share_commits(tmp_path: Path) -> None:
    commits = 0

    def committed() -> bool:
        nonlocal commits
        commits += 1
        return False

    async def main() -> None:
        with hansard.open(str(tmp_path / "ledger.db")) as ledger:
            driver: Any = ledger._driver
            driver._writer.set_commit_hook(committed)
            threads = [(await ledger.aio.create_thread()).id for _ in range(20)]
            before = commits

            async def talk(thread: str) -> None:
                for i in range(10):
                    await ledger.aio.append(thread, said(f"{i}"))

            await asyncio.gather(*map(talk, threads))
            assert commits - before == 10
            assert all(transcript(ledger, thread) == [f"{i}" for i in range(10)] for thread in threads)

    asyncio.run(main())


def test_an_event_loop_that_ended_leaves_the_ledger_to_the_next(tmp_path: Path) -> None:
    with hansard.open(str(tmp_path / "ledger.db")) as ledger:
        thread = ledger.create_thread().id

        async def leave() -> None:
            task = asyncio.create_task(ledger.aio.append(thread, said("left", id="left")))
            await asyncio.sleep(0)
            assert not task.done()

        asyncio.run(leave())
        for i in range(3):
            asyncio.run(asyncio.wait_for(ledger.aio.append(thread, said(f"{i}", id=f"{i}")), 60))
        assert [word for word in transcript(ledger, thread) if word != "left"] == ["0", "1", "2"]


def test_what_is_more_than_one_job_is_awaited_too(tmp_path: Path) -> None:
    answer = (
        b'data: {"choices": [{"index": 0, "delta": {"content": "green"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    )

    async def main() -> None:
        others = set(threading.enumerate())
        async with hansard.open(tmp_path / "ledger.db").aio as ledger:
            await ledger.create_thread("t")
            await ledger.append("t", [said("one"), said("two")])
            recording = await ledger.record([answer], format="openai-chat", thread="t")
            assert list(recording) == [answer]
            run = (await ledger.runs("t"))[0]
            assert [one.seq async for one in ledger.follow(run)]
            assert words([one async for one in ledger.iter_transcript("t")]) == ["one", "two", "green"]
            assert words([one async for one in ledger.iter_transcript("t", batch=1)]) == ["one", "two", "green"]
        assert not [one for one in threading.enumerate() if one not in others and one.name == "hansard-journal"]
        with pytest.raises(hansard.HansardError, match="closed"):
            await ledger.thread("t")

    asyncio.run(main())


def test_a_cancelled_call_is_done_or_not_done_and_repeating_it_tells(ledger: Ledger) -> None:
    async def main() -> None:
        thread = (await ledger.aio.create_thread()).id
        for i in range(20):
            message = said(f"{i}", id=f"m{i}")
            call = asyncio.create_task(ledger.aio.append(thread, message))
            for _ in range(i % 4):
                await asyncio.sleep(0)
            call.cancel()
            with suppress(asyncio.CancelledError):
                await call
            again = await ledger.aio.append(thread, message)
            assert again.text == f"{i}"
        assert transcript(ledger, thread) == [f"{i}" for i in range(20)]

    asyncio.run(main())


def test_one_ledger_is_used_by_many_threads_each_with_its_loop(ledger: Ledger) -> None:
    ids = [ledger.create_thread().id for _ in range(4)]

    def work(thread: str) -> list[str]:
        async def main() -> list[str]:
            for i in range(10):
                await ledger.aio.append(thread, said(f"{i}"))
                ledger.append(thread, said(f"{i}, at once"))
            return [message.text for message in await ledger.aio.transcript(thread)]

        return asyncio.run(main())

    with ThreadPoolExecutor(4) as pool:
        for words_said in pool.map(work, ids):
            assert words_said == [text for i in range(10) for text in (f"{i}", f"{i}, at once")]
