"""Two requests in one thread, streams that are stopped or silent, and answers that were cut: what a client gets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from hansard import Ledger
from hansard.agent import Agent, ScriptedModel
from hansard.agent.sse_response import KEEP_ALIVE, with_keep_alives
from hansard.errors import Busy, HansardError

SLOW = [["One ", {"delay": 60}, "two."]]


def body(text: str, id: str, **more: Any) -> dict[str, Any]:
    said = {"id": id, "role": "user", "parts": [{"type": "text", "text": text}]}
    return {"id": "t", "trigger": "submit-message", "messages": [said], **more}


def chunks(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in data.splitlines() if line.startswith(b"data: {")]


async def until(stream: AsyncIterator[bytes], text: bytes) -> bytes:
    out = b""
    async for data in stream:
        out += data
        if text in out:
            return out
    raise AssertionError(out)


async def rest(stream: AsyncIterator[bytes]) -> bytes:
    return b"".join([data async for data in stream])


def texts(ledger: Ledger) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in ledger.transcript("t")]


# `elsewhere` is another agent on a handle of its own, as another process has it.


@pytest.mark.opened_twice
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_second_request_stops_the_first_which_ends_with_abort(
    ledger: Ledger, reopened: Callable[[], Ledger], elsewhere: bool
) -> None:
    async def go() -> bytes:
        with reopened() as other:
            first = Agent(ScriptedModel(SLOW), ledger=ledger)
            second = Agent(ScriptedModel(["Whole."]), ledger=other if elsewhere else ledger)
            stream = await first.sse(body("one", "u1"))
            out = await until(stream, b"One")
            await rest(await second.sse(body("two", "u2"), on_busy="stop"))
            await first.close()
            await second.wait()
            return out + await rest(stream)

    told = chunks(asyncio.run(go()))
    assert [chunk["type"] for chunk in told[-2:]] == ["message-metadata", "abort"]
    assert told[-2]["messageMetadata"] == {"interrupted": True}
    assert texts(ledger)[:3] == [("user", "one"), ("assistant", "One "), ("user", "two")]
    assert ledger.transcript("t")[1].state == "interrupted"


@pytest.mark.opened_twice
def test_a_second_request_is_refused_in_every_process_and_changes_nothing(
    ledger: Ledger, reopened: Callable[[], Ledger]
) -> None:
    async def go() -> None:
        first = Agent(ScriptedModel(SLOW), ledger=ledger)
        await until(await first.sse(body("one", "u1")), b"One")
        with reopened() as other:
            for agent in (first, Agent(ScriptedModel(["No."]), ledger=other, on_busy="refuse")):
                with pytest.raises(Busy, match="a run is active in thread 't'") as caught:
                    await agent.sse(body("two", "u2"), on_busy="refuse")
                assert caught.value.status == 409
                with pytest.raises(Busy):
                    await agent.run("t", "two", on_busy="refuse")
        await first.close()

    asyncio.run(go())
    assert [role for role, _ in texts(ledger)] == ["user", "assistant"]
    assert len(ledger.runs("t")) == 1


@pytest.mark.opened_twice
def test_requests_that_queue_are_answered_one_after_the_other(ledger: Ledger, reopened: Callable[[], Ledger]) -> None:
    async def go() -> None:
        with reopened() as other:
            agents = [
                Agent(ScriptedModel(["Yes."], delay=0.01), ledger=one, on_busy="queue") for one in (ledger, other)
            ]
            await asyncio.gather(*(agents[i % 2].run("t", f"{i}") for i in range(6)))

    asyncio.run(go())
    assert {run.status for run in ledger.runs("t")} == {"committed"}
    assert [role for role, _ in texts(ledger)] == ["user", "assistant"] * 6
    assert sorted(text for role, text in texts(ledger) if role == "user") == [f"{i}" for i in range(6)]


def test_who_queues_waits_no_longer_than_told(ledger: Ledger) -> None:
    async def go() -> None:
        agent = Agent(ScriptedModel(SLOW), ledger=ledger)
        await until(await agent.sse(body("one", "u1")), b"One")
        with pytest.raises(Busy, match=r"still active in thread 't' after 0\.1 seconds"):
            await agent.sse(body("two", "u2"), on_busy="queue", queue_timeout=0.1)
        await agent.close()

    asyncio.run(go())
    assert [role for role, _ in texts(ledger)] == ["user", "assistant"]


def test_an_unknown_rule_is_named(ledger: Ledger) -> None:
    agent = Agent(ScriptedModel(["One."]), ledger=ledger)
    with pytest.raises(HansardError, match="unknown on_busy 'wait'"):
        agent.sse(body("one", "u1"), on_busy="wait")


@pytest.mark.opened_twice
def test_a_resumed_stream_ends_with_abort_when_the_run_is_stopped(
    ledger: Ledger, reopened: Callable[[], Ledger]
) -> None:
    async def go() -> bytes:
        agent = Agent(ScriptedModel(SLOW), ledger=ledger)
        await until(await agent.sse(body("one", "u1")), b"One")
        with reopened() as other:
            elsewhere = Agent(ScriptedModel(SLOW), ledger=other)
            stream: Any = await elsewhere.resume("t")
            out = await until(stream, b"One")
            assert await elsewhere.stop("t")
            out += await rest(stream)
        await agent.close()
        return out

    told = chunks(asyncio.run(go()))
    assert told[-1]["type"] == "abort"
    assert "error" not in [chunk["type"] for chunk in told]


def test_regenerating_a_cut_answer_replaces_it(ledger: Ledger) -> None:
    """Also while its run still counts as alive, and by the id of an answer that is not in the transcript yet."""

    async def go() -> list[Any]:
        agent = Agent(ScriptedModel([["Half", {"delay": 60}], "Whole."]), ledger=ledger)
        out = await until(await agent.sse(body("one", "u1")), b"Half")
        agent = Agent(ScriptedModel(["Whole."]), ledger=ledger)
        cut_id = chunks(out)[0]["messageId"]
        shown = [*body("one", "u1")["messages"], {"id": cut_id, "role": "assistant", "parts": []}]
        again = {"id": "t", "trigger": "regenerate-message", "messageId": cut_id, "messages": shown}
        await rest(await agent.sse(again))
        return await agent.ui_messages("t")

    messages = asyncio.run(go())
    assert texts(ledger) == [("user", "one"), ("assistant", "Whole.")]
    assert messages[0]["id"] == "u1"
    assert "interrupted" not in messages[1]["metadata"]
    assert len(ledger.branches("t")) == 2


def test_a_page_is_told_of_an_interruption_also_between_two_steps(ledger: Ledger) -> None:
    async def dig() -> str:
        return "dug"

    script = [["Let me dig. ", {"tool": "dig", "id": "d"}], [{"error": "tired"}]]
    agent = Agent(ScriptedModel(script), ledger=ledger, tools=[dig])

    async def go() -> tuple[bytes, list[Any]]:
        return await rest(await agent.sse(body("one", "u1"))), await agent.ui_messages("t")

    out, (_, answer) = asyncio.run(go())
    assert {"type": "message-metadata", "messageMetadata": {"interrupted": True}} in chunks(out)
    assert answer["metadata"] == {"agent": {"id": "assistant", "name": "assistant"}, "interrupted": True}
    assert [part.get("state") for part in answer["parts"]][1:3] == ["done", "output-available"]


def test_a_silent_stream_is_kept_alive() -> None:
    go_on = asyncio.Event

    async def go() -> list[bytes]:
        gate = go_on()

        async def pieces() -> AsyncIterator[bytes]:
            yield b"one"
            await gate.wait()
            yield b"two"

        found = []
        async for data in with_keep_alives(pieces(), lambda data: data, 0.01):
            found.append(data)
            if found.count(KEEP_ALIVE) == 2:
                gate.set()
        return found

    found = asyncio.run(go())
    assert [data for data in found if data != KEEP_ALIVE] == [b"one", b"two"]
    assert found[0] == b"one"
    assert found.count(KEEP_ALIVE) >= 2


def test_clients_skip_the_comment_that_keeps_a_stream_alive() -> None:
    from hansard.streams.accumulator import fold
    from tests.streams.live import decode

    data = b'data: {"type":"start","messageId":"m"}\n\ndata: {"type":"text-start","id":"1"}\n\n'
    data += KEEP_ALIVE + b'data: {"type":"text-delta","id":"1","delta":"Hi"}\n\n' + KEEP_ALIVE
    data += b'data: {"type":"text-end","id":"1"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n'
    assert [message.text for message in fold(decode("ai-sdk-ui", data))] == ["Hi"]
