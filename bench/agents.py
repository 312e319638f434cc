"""Agents that record while they stream: how late chunks come, what recording costs, how a step's cost grows.

The chunks carry the time when the model said them, so that a delay is what lies between a model and the bytes for a
client. Both sides are driven by the same model at the same pace, in as many processes as there are cores, without HTTP,
which would cost both the same and make the ratio smaller.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import hansard
from hansard.gc_pause import freeze_startup_objects

STREAMS, CHUNKS, PACE, SPREAD, ROUNDS = 200, 100, 0.05, 2.0, 1
Answer: TypeAlias = Callable[[str], AsyncIterator[bytes]]
_gate: Any = None
STEPS = [int(count) for count in os.environ.get("HANSARD_BENCH_STEPS", "25 100").split()]
_STAMP = re.compile(rb'"delta":"(\d+\.\d+) ')


def agents() -> None:
    """Everything about agents."""
    try:
        import pydantic_ai  # noqa: F401
    except ImportError as error:
        print(f"\nAgents: Pydantic AI could not be imported: {error}")
        return
    _streams()
    _steps()


def _loop(work: Any) -> None:
    """As a server does it: on uvloop where there is one."""
    try:
        from uvloop import run
    except ImportError:
        run = asyncio.run
    run(work)


# -- many streams at once --------------------------------------------------------------------------------------------


def _streams() -> None:
    cores = os.cpu_count() or 1
    print(f"\nAgents: {STREAMS} streams at once, {1 / PACE:.0f} chunks a second each, every chunk recorded (SQLite)")
    print(f"  {cores} processes, one ledger; the chunks counted are those said while all streams run")
    rounds = [(_measured(_recorded, cores), _measured(_unrecorded, cores)) for _ in range(ROUNDS)]
    for name, side in (("hansard, recorded", 0), ("pydantic-ai's adapter, unrecorded", 1)):
        late = sorted(delay * 1000 for each in rounds for delay in each[side][1])
        p50, p99 = (late[int(len(late) * share)] for share in (0.5, 0.99))
        goal = "goal: p99 at most 250 ms" if side == 0 else ""
        print(f"  {name:<40} late by {p50:6.1f} ms (p50) {p99:6.1f} ms (p99) {late[-1]:6.1f} ms (most)  {goal}")
    ours, theirs = (min(each[side][0] for each in rounds) for side in (0, 1))
    ratio = f"{ours:6.2f} s against {theirs:6.2f} s: {ours / theirs:.2f}x"
    print(f"  {'CPU of all chunks':<40} {ratio}   goal: at most 1.20x")


def _measured(serve: Callable[[Any], Answer], cores: int) -> tuple[float, list[float]]:
    """Seconds of CPU of all processes together, and how late each chunk came."""
    spawn = multiprocessing.get_context("spawn")
    gate = (spawn.Barrier(cores),)
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(cores, mp_context=spawn, initializer=_wait_at, initargs=gate) as pool,
    ):
        hansard.open(f"{folder}/ledger.db").close()
        parts = [range(i, STREAMS, cores) for i in range(cores)]
        done = list(pool.map(_served, [serve] * cores, [f"{folder}/ledger.db"] * cores, parts))
    return sum(used for used, _ in done), [delay for _, delays in done for delay in delays]


def _wait_at(gate: Any) -> None:
    global _gate
    _gate = gate


def _served(serve: Callable[[Any], Answer], path: str, numbers: range) -> tuple[float, list[float]]:
    """The part of one process."""
    with hansard.open(path) as ledger:
        answer = serve(ledger)
        came: list[tuple[float, float]] = []

        async def client(number: int) -> None:
            await asyncio.sleep(SPREAD * number / STREAMS)
            async for data in answer(f"chat-{number}"):
                now = time.perf_counter()
                came.extend((float(stamp), now) for stamp in _STAMP.findall(data))

        async def clients() -> None:
            await asyncio.gather(*(client(number) for number in numbers))

        async def once() -> None:
            async for _ in answer(f"warm-{numbers[0]}"):  # what is done once in a process is not measured
                break

        _loop(once())
        freeze_startup_objects()  # as `hansard serve` does
        _gate.wait()
        start, cpu = time.perf_counter(), time.process_time()
        _loop(clients())
        used = time.process_time() - cpu
    assert len(came) == len(numbers) * CHUNKS, f"{len(came)} chunks came of {len(numbers) * CHUNKS}"
    first, last = start + SPREAD, start + CHUNKS * PACE
    return used, [now - stamp for stamp, now in came if first <= stamp <= last]


async def _words(messages: Any, info: Any) -> AsyncIterator[str]:
    due = time.perf_counter()
    for _ in range(CHUNKS):
        due += PACE
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        yield f"{time.perf_counter():.6f} "


def _body(chat_id: str) -> dict[str, Any]:
    message = {"id": f"{chat_id}-u", "role": "user", "parts": [{"type": "text", "text": "Count."}]}
    return {"id": chat_id, "trigger": "submit-message", "messages": [message]}


def _recorded(ledger: Any) -> Answer:
    from pydantic_ai.models.function import FunctionModel

    from hansard.agent import Agent

    agent = Agent(FunctionModel(stream_function=_words), ledger=ledger, name="counter")
    return lambda chat_id: agent.sse(_body(chat_id))


def _unrecorded(ledger: Any) -> Answer:
    from pydantic_ai import Agent
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.ui.vercel_ai import VercelAIAdapter

    agent = Agent(FunctionModel(stream_function=_words), name="counter")

    async def answer(chat_id: str) -> AsyncIterator[bytes]:
        request = VercelAIAdapter.build_run_input(json.dumps(_body(chat_id)).encode())
        adapter = VercelAIAdapter(agent=agent, run_input=request)
        async for text in adapter.encode_stream(adapter.run_stream()):
            yield text.encode()

    return answer


# -- many steps in one run -------------------------------------------------------------------------------------------


def _steps() -> None:
    print("\nAgents: CPU that recording adds to a tool step, by the number of steps in the run (goal: flat to 400)")
    print(f"  {'':<40} " + " ".join(f"{count:>5} steps" for count in STEPS))
    for given in (None, _recorder):
        _run_of(2, given)  # what is done once in a process is not measured
    bare = {count: _run_of(count, None) for count in STEPS}
    for name, capability in (("hansard Recorder", _recorder), ("StepPersistence (pydantic-ai-harness)", _harness)):
        try:
            added = [(_run_of(count, capability) - bare[count]) / count * 1000 for count in STEPS]
        except ImportError as error:
            print(f"  {name:<40} not installed: {error}")
            continue
        print(f"  {name:<40} {' '.join(f'{each:>8.2f} ms' for each in added)}   {added[-1] / added[0]:.2f}x")
    if max(STEPS) < 400:
        print("  the whole curve takes minutes: HANSARD_BENCH_STEPS='25 100 400' make bench ARGS=agents")


def _run_of(count: int, capability: Callable[[Path], Any] | None) -> float:
    """Seconds of CPU of a run with so many tool steps, streamed."""
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    async def step(messages: Any, info: Any) -> AsyncIterator[Any]:
        said = sum(isinstance(message, ModelResponse) for message in messages)
        if said == count:
            yield "Done."
            return
        for piece in range(5):
            yield f"Looking at place {said}, piece {piece}. "
        yield {1: DeltaToolCall(name="look", json_args=json.dumps({"place": said}), tool_call_id=f"call-{said}")}

    with tempfile.TemporaryDirectory() as name:
        given = capability(Path(name)) if capability else None
        agent = Agent(FunctionModel(stream_function=step), name="looker", capabilities=[given] if given else [])

        @agent.tool_plain
        def look(place: int) -> str:
            return f"place {place}: " + "nothing to be seen here; " * 80

        async def run() -> None:
            async with agent.run_stream_events("Look.", usage_limits=UsageLimits(request_limit=None)) as events:
                async for _ in events:
                    pass

        start = time.process_time()
        _loop(run())
        used = time.process_time() - start
        if (ledger := getattr(given, "ledger", None)) is not None:
            ledger.close()
        return used


def _recorder(folder: Path) -> Any:
    from hansard.agent import Recorder

    return Recorder(hansard.open(str(folder / "ledger.db")), "looks")


def _harness(folder: Path) -> Any:
    from pydantic_ai_harness.step_persistence import SqliteStepStore, StepPersistence

    return StepPersistence(store=SqliteStepStore(database=folder / "steps.db"))
