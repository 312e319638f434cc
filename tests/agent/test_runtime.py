"""Runs belong to the agent: they go on without their listener, can be stopped, and are heard again from their start."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from pydantic_ai import RunContext
from pydantic_ai.messages import CustomEvent

import hansard
from hansard.agent import Agent, ScriptedModel
from hansard.agent.scripted_model import ScriptedError
from hansard.errors import TooLarge
from hansard.ledger.live.tail import deltas_after
from hansard.model import Message, TextPart
from hansard.streams.accumulator import fold
from hansard.streams.deltas import End, Failure, MessageStart, PartDelta

SLOW = [[{"text": "One two three four five six"}]]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[hansard.Ledger]:
    with hansard.open(str(tmp_path / "ledger.db")) as opened:
        yield opened


def words(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, TextPart))


def said(ledger: hansard.Ledger) -> list[str]:
    return [words(message) for message in ledger.transcript("t")]


def slow(ledger: hansard.Ledger, **more: Any) -> Agent:
    return Agent(ScriptedModel(SLOW, delay=0.03), ledger=ledger, name="slow", **more)


def endless(ledger: hansard.Ledger) -> Agent:
    """Its first answer does not end by itself."""
    steps = iter([[{"text": "One two "}, {"text": "", "pieces": itertools.repeat("more ")}], *SLOW])
    return Agent(ScriptedModel(lambda messages: next(steps), delay=0.005), ledger=ledger, name="slow")


def test_every_delta_is_durable_before_it_is_given(ledger: hansard.Ledger, tmp_path: Path) -> None:
    async def listen() -> None:
        agent = slow(ledger)
        with hansard.open(str(tmp_path / "ledger.db")) as other:
            heard = 0
            async for _ in agent.stream("t", "count"):
                heard += 1
                (run,) = other.runs("t")
                assert len(other._read(lambda tx, run=run: deltas_after(tx, "t", run.id, 0))[0]) >= heard
        await agent.wait()

    asyncio.run(listen())
    assert said(ledger) == ["count", "One two three four five six"]


def test_a_thread_that_cannot_be_made_says_why(ledger: hansard.Ledger) -> None:
    with pytest.raises(TooLarge, match="longer than"):
        asyncio.run(slow(ledger).run("x" * 2000, "count"))


def test_what_is_streamed_folds_into_what_is_kept(ledger: hansard.Ledger) -> None:
    def look(x: int) -> int:
        return x * 2

    script = ["Hm. ", {"tool": "look", "input": {"x": 2}, "id": "c"}], [{"reasoning": "r", "signature": "s"}, "Four."]
    agent = Agent(ScriptedModel(list(script)), ledger=ledger, tools=[look])

    async def listen() -> list[Any]:
        return [delta async for delta in agent.stream("t", "what?")]

    folded = fold(asyncio.run(listen()))
    kept = ledger.transcript("t")[1:]
    assert (
        [message.role for message in folded] == [message.role for message in kept] == ["assistant", "tool", "assistant"]
    )
    assert folded[0].id == kept[0].id
    assert [words(message) for message in folded] == [words(message) for message in kept]


def test_a_listener_that_leaves_does_not_stop_the_run(ledger: hansard.Ledger) -> None:
    agent = slow(ledger)

    async def leave() -> None:
        stream = agent.stream("t", "count")
        async for delta in stream:
            if isinstance(delta, PartDelta):
                break
        await stream.aclose()  # type: ignore[attr-defined]
        await agent.wait()

    asyncio.run(leave())
    assert said(ledger) == ["count", "One two three four five six"]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_stopping_keeps_what_was_said(ledger: hansard.Ledger, tmp_path: Path, elsewhere: bool) -> None:
    agent = endless(ledger)

    async def stop() -> list[Any]:
        heard = []
        with hansard.open(str(tmp_path / "ledger.db")) as other:
            async for delta in agent.stream("t", "count"):
                heard.append(delta)
                if isinstance(delta, PartDelta) and delta.text.startswith("two"):
                    assert await (slow(other) if elsewhere else agent).stop("t")
        await agent.wait()
        return heard

    heard = asyncio.run(stop())
    asked, answer = ledger.transcript("t")
    assert words(answer).startswith("One two")
    assert answer.state == "interrupted"
    assert isinstance(heard[0], MessageStart)
    assert answer.id == heard[0].id
    assert asked.role == "user"
    (run,) = ledger.runs("t")
    assert run.status == "aborted"


def test_a_call_that_was_running_when_it_was_stopped_is_not_known(ledger: hansard.Ledger) -> None:
    begun = asyncio.Event()

    async def dig() -> str:
        begun.set()
        await asyncio.sleep(60)
        return "never"

    agent = Agent(ScriptedModel([[{"tool": "dig", "id": "d"}], "Done."]), ledger=ledger, tools=[dig])

    async def stop() -> None:
        _, task = await agent.start("t", "dig")
        await begun.wait()
        await agent.stop("t")
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(stop())
    _, answer, result = ledger.transcript("t")
    assert answer.parts[0].tool_call_id == "d"  # type: ignore[union-attr]
    assert result.parts[0].status == "interrupted"  # type: ignore[union-attr]
    again = asyncio.run(agent.run("t", "and now?"))
    assert words(again.messages[-1]) == "Done."


def test_a_second_question_interrupts_the_first_answer(ledger: hansard.Ledger) -> None:
    agent = endless(ledger)

    async def talk() -> None:
        first = agent.stream("t", "count")
        async for delta in first:
            if isinstance(delta, PartDelta):
                break
        await agent.run("t", "again")
        await agent.wait()

    asyncio.run(talk())
    count, partial, again, whole = ledger.transcript("t")
    assert (words(count), words(again), words(whole)) == ("count", "again", "One two three four five six")
    assert partial.state == "interrupted"


def test_a_run_is_heard_again_from_its_start_in_another_process(ledger: hansard.Ledger, tmp_path: Path) -> None:
    async def listen() -> tuple[bytes, bytes]:
        heard = asyncio.Event()

        async def wait() -> str:
            await heard.wait()
            return "heard elsewhere"

        agent = Agent(ScriptedModel([["One two ", {"tool": "wait"}], "three four"]), ledger=ledger, tools=[wait])
        body = {"id": "t", "message": {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "count"}]}}
        live, again = b"", asyncio.create_task(asyncio.sleep(0, b""))
        with hansard.open(str(tmp_path / "ledger.db")) as other:
            elsewhere = slow(other)
            assert await elsewhere.resume("t") is None

            async def replay() -> bytes:
                stream = await elsewhere.resume("t")
                heard.set()
                assert stream is not None
                return b"".join([data async for data in stream])

            async for data in agent.sse(body):
                if b"two" in data:
                    again = asyncio.create_task(replay())
                live += data
            replayed = await again
            await agent.wait()
            assert await elsewhere.resume("t") is None
        return live, replayed

    live, replayed = asyncio.run(listen())
    assert live == replayed
    assert live.startswith(b'id: 0\ndata: {"type":"start"')


def test_a_failure_is_told_and_kept(ledger: hansard.Ledger) -> None:
    agent = Agent(ScriptedModel([["Half ", {"error": "the line broke"}]]), ledger=ledger)

    async def listen() -> list[Any]:
        return [delta async for delta in agent.stream("t", "go")]

    heard = asyncio.run(listen())
    assert [type(delta) for delta in heard[-2:]] == [Failure, End]
    assert heard[-2].text == "the line broke"
    with pytest.raises(ScriptedError):
        asyncio.run(agent.run("t", "go on"))
    assert said(ledger) == ["go", "Half ", "go on", "Half "]
    assert [run.status for run in ledger.runs("t")] == ["failed", "failed"]


def test_agents_share_a_thread_and_see_each_other_by_name(ledger: hansard.Ledger) -> None:
    heard: list[list[Any]] = []

    def script(messages: list[Any]) -> Any:
        heard.append(messages)
        return [{"reasoning": "secret", "signature": "sig"}, f"I am number {len(heard)}."]

    cook = Agent(ScriptedModel(script, provider="one"), ledger=ledger, name="cook", id="a1")
    waiter = Agent(ScriptedModel(script, provider="two"), ledger=ledger, name="waiter", id="a2")
    asyncio.run(cook.run("t", "who?"))
    asyncio.run(waiter.run("t", "and you?"))
    asyncio.run(cook.run("t", "and again?"))
    roles = [(message.role, message.agent_id) for message in ledger.transcript("t") if message.role != "user"]
    assert roles == [("assistant", "a1"), ("event", "a2"), ("assistant", "a2"), ("event", "a1"), ("assistant", "a1")]
    (event,) = ledger.transcript("t")[3].parts
    assert (event.name, event.data) == ("agent.handoff", {"from": "a1", "to": "a2"})  # type: ignore[union-attr]
    assert ledger.transcript("t")[3].metadata == {"source_agent": "a1", "target_agents": ["a2"]}
    assert [[part.part_kind for part in message.parts] for message in heard[1]][1] == ["text"]
    assert heard[1][1].parts[0].content == "{agent:cook}: I am number 1."
    own = heard[2][1].parts
    assert (own[0].content, own[0].signature, own[1].content) == ("secret", "sig", "I am number 1.")
    assert heard[2][3].parts[0].content == "{agent:waiter}: I am number 2."
    assert set(ledger.thread("t").agents) == {"a1", "a2"}


def test_a_prompt_may_be_a_message_with_files(ledger: hansard.Ledger) -> None:
    from hansard.model import FilePart

    agent = Agent(ScriptedModel([[{"file": "aGk=", "mediaType": "image/png"}, "Seen."]]), ledger=ledger)
    asked = Message(role="user", id="u1", parts=[TextPart(text="look"), FilePart(media_type="image/png", data="aGk=")])
    result = asyncio.run(agent.run("t", asked))
    assert ledger.transcript("t")[0].parts == asked.parts
    assert isinstance(result.messages[0].parts[0], FilePart)
    assert result.output == "Seen."


@dataclass(kw_only=True)
class Progress(CustomEvent):
    name: str = "progress"
    percent: int = 0


async def dig(ctx: RunContext[Any]) -> str:
    await ctx.emit(Progress(percent=50))
    return "dug"


def test_an_application_s_own_events_are_data_for_the_client(ledger: hansard.Ledger) -> None:
    agent = Agent(
        ScriptedModel([[{"tool": "dig", "id": "d"}], [{"reasoning": "r", "signature": "s"}, "Done."]]),
        ledger=ledger,
        tools=[dig],
    )

    async def listen() -> bytes:
        body = {"id": "t", "message": {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "dig"}]}}
        return b"".join([data async for data in agent.sse(body)])

    assert b'{"type":"data-progress","data":{"percent":50}}' in asyncio.run(listen())
    shown = hansard.write(ledger.export_conversation("t"), "ai-sdk-ui").data[1]["parts"]
    assert [part["type"] for part in shown] == [
        "step-start",
        "tool-dig",
        "data-progress",
        "step-start",
        "reasoning",
        "text",
    ]
    written = hansard.write(ledger.export_conversation("t"), "pydantic-ai").data
    assert written[3]["parts"][0]["signature"] == "s"  # it still stands behind the words it was made for


@pytest.mark.parametrize("later", [False, True])
def test_a_system_prompt_comes_back_from_where_the_agent_is_configured(ledger: hansard.Ledger, later: bool) -> None:
    heard: list[list[str]] = []

    def script(messages: list[Any]) -> Any:
        parts = [f"{part.part_kind}:{part.content}" for message in messages for part in message.parts]
        heard.append([part for part in parts if "Mid-conversation" not in part])  # a hint of Pydantic AI's own
        return ["Fine."]

    async def prompt(ref: str) -> str:
        return f"You follow {ref}."

    find: Any = prompt if later else (lambda ref: f"You follow {ref}.")
    agent = Agent(ScriptedModel(script), ledger=ledger, name="fred", config_ref="configs/fred@2", system_prompt=find)
    asyncio.run(agent.run("t", "hi"))
    again = Agent(ScriptedModel(script), ledger=ledger, name="fred", system_prompt=find)
    asyncio.run(again.run("t", "more"))
    assert heard[0] == ["system-prompt:You follow configs/fred@2.", "user-prompt:hi"]
    assert heard[1] == [*heard[0], "text:Fine.", "user-prompt:more"]
    assert [message.role for message in ledger.transcript("t")] == ["user", "assistant", "user", "assistant"]
    assert ledger.thread("t").agents["fred"].config_ref == "configs/fred@2"
    exported: Any = ledger.export_conversation("t").agents
    assert (exported["fred"].unknown, exported["fred"].created_at) == (UNSET, UNSET)  # the second run added nothing
