"""`ledger.aio`: many tasks on one SQLite file share its commits."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import hansard
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
            asyncio.run(asyncio.wait_for(ledger.aio.append(thread, said(f"{i}", id=f"{i}")), 20))
        assert [word for word in transcript(ledger, thread) if word != "left"] == ["0", "1", "2"]


def test_what_is_more_than_one_job_is_awaited_too(tmp_path: Path) -> None:
    answer = (
        b'data: {"choices": [{"index": 0, "delta": {"content": "green"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    )

    async def main() -> None:
        others = set(threading.enumerate())
        ledger = hansard.open(str(tmp_path / "ledger.db"))
        await ledger.aio.create_thread("t")
        await ledger.aio.append("t", [said("one"), said("two")])
        recording = await ledger.aio.record([answer], format="openai-chat", thread="t")
        assert list(recording) == [answer]
        run = (await ledger.aio.runs("t"))[0]
        assert [one.seq for one in await ledger.aio.follow(run)]
        assert words(await ledger.aio.iter_transcript("t")) == ["one", "two", "green"]
        await ledger.aio.close()
        assert not [one for one in threading.enumerate() if one not in others and one.name == "hansard-journal"]

    asyncio.run(main())
