"""Agents that ask each other from within a tool, in one thread: each run inside a run has a sub-thread on the call."""

from __future__ import annotations

import asyncio
from typing import Any

import pydantic_ai
import pytest

import hansard
from hansard import Ledger
from hansard.agent import Agent, Recorder, ScriptedModel
from hansard.agent.scripted_model import ScriptedError

ASK = {"tool": "ask", "input": {"what": "rivers"}, "id": "c1"}
AGAIN = {"tool": "ask", "input": {"what": "lakes"}, "id": "c2"}


def recorded(ledger: Ledger, name: str, script: Any, *tools: Any) -> Any:
    """An agent of Pydantic AI with a recorder; what it says in the thread `talk`."""
    agent: Any = pydantic_ai.Agent(
        ScriptedModel(script), name=name, tools=list(tools), capabilities=[Recorder(ledger, "talk")]
    )

    async def run(prompt: str) -> str:
        return str((await agent.run(prompt)).output)

    return run


def owned(ledger: Ledger, name: str, script: Any, *tools: Any) -> Any:
    """The same with an agent of Hansard."""
    agent = Agent(ScriptedModel(script), ledger=ledger, name=name, tools=list(tools))

    async def run(prompt: str) -> str:
        return str((await agent.run("talk", prompt)).output)

    return run


@pytest.fixture(params=[recorded, owned], ids=["Recorder", "Agent"])
def made(request: pytest.FixtureRequest) -> Any:
    return request.param


def said(ledger: Ledger, thread_id: str) -> list[tuple[str, str]]:
    return [(message.agent_id or message.role, message.text) for message in ledger.transcript(thread_id)]


def test_a_run_inside_a_run_is_a_sub_thread_on_its_call(ledger: Ledger, made: Any) -> None:
    asked = made(ledger, "writer", ["Rivers: a, b."])

    async def ask(what: str) -> str:
        return str(await asked(f"Write about {what}"))

    chief = made(ledger, "chief", [["Let me ask. ", ASK], "It wrote: Rivers."], ask)
    assert asyncio.run(chief("Write")) == "It wrote: Rivers."
    texts = [("user", "Write"), ("chief", "Let me ask. "), ("chief", ""), ("chief", "It wrote: Rivers.")]
    assert said(ledger, "talk") == texts
    assert [run.status for run in ledger.runs("talk")] == ["committed"]
    (sub,) = ledger.sub_threads("talk", "c1")
    assert (sub.parent_thread_id, sub.title) == ("talk", "Write about rivers")
    assert said(ledger, sub.id) == [("user", "Write about rivers"), ("writer", "Rivers: a, b.")]
    call = sub.metadata["call"]
    assert call["toolCallId"] == "c1"
    assert [part.call_id for part in ledger.get("talk", call["messageId"]).calls] == ["c1"]
    assert call["runId"] == ledger.runs("talk")[0].id
    assert [run.status for run in ledger.runs(sub.id)] == ["committed"]
    assert ledger.verify() == []


def test_nested_twice_and_in_parallel(ledger: Ledger, made: Any) -> None:
    seen = asyncio.Event()
    waiting = 0
    third = made(ledger, "third", ["Deep."])

    async def dig(what: str) -> str:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            seen.set()
        await seen.wait()  # both calls run at once
        return str(await third(f"Dig for {what}"))

    dig.__name__ = "ask"
    second = made(ledger, "second", [[ASK], "Found."], dig)

    async def ask(what: str) -> str:
        return str(await second(f"Find {what}"))

    first = made(ledger, "first", [[ASK, AGAIN], "Both."], ask)
    assert asyncio.run(first("Go")) == "Both."
    below = {call: ledger.sub_threads("talk", call) for call in ("c1", "c2")}
    for call, what in (("c1", "rivers"), ("c2", "lakes")):
        (sub,) = below[call]
        assert [text for _, text in said(ledger, sub.id)][::3] == [f"Find {what}", "Found."]
        (deep,) = ledger.sub_threads(sub.id)
        assert said(ledger, deep.id) == [("user", "Dig for rivers"), ("third", "Deep.")]
    assert len(ledger.threads().items) == 5
    assert {run.status for thread in ledger.threads().items for run in ledger.runs(thread.id)} == {"committed"}


def test_an_agent_asked_twice_in_one_call_goes_on_and_two_at_once_have_a_thread_each(ledger: Ledger) -> None:
    writer = Agent(ScriptedModel(["One.", "Two."]), ledger=ledger, name="writer")
    critic = Agent(ScriptedModel(["Good."]), ledger=ledger, name="critic")

    async def ask(what: str) -> str:
        first = await writer.run("talk", what)
        second = await writer.run("talk", "again")
        assert first.thread_id == second.thread_id != "talk"
        told = await asyncio.gather(writer.run("talk", "x"), writer.run("talk", "y"), critic.run("talk", "z"))
        assert len({result.thread_id for result in told}) == 3
        return str(second.output)

    chief = Agent(ScriptedModel([[ASK], "Done."]), ledger=ledger, name="chief", tools=[ask])
    result = asyncio.run(chief.run("talk", "Go", resource_id="ann"))
    assert result.messages[1].results[0].output == "Two."
    assert {sub.resource_id for sub in ledger.sub_threads("talk")} == {"ann"}
    assert len(ledger.sub_threads("talk", "c1")) == 3


def test_another_thread_stays_what_it_is_and_a_new_one_is_linked(ledger: Ledger) -> None:
    ledger.create_thread("old")
    other = Agent(ScriptedModel(["Noted."]), ledger=ledger, name="other")

    async def ask(what: str) -> str:
        assert (await other.run("old", what)).thread_id == "old"
        return str((await other.run("new", what)).thread_id)

    chief = Agent(ScriptedModel([[ASK], "Done."]), ledger=ledger, name="chief", tools=[ask])
    asyncio.run(chief.run("talk", "Go"))
    assert [sub.id for sub in ledger.sub_threads("talk")] == ["new"]
    assert ledger.thread("old").parent_thread_id is None


def test_stopping_the_caller_stops_the_run_it_waits_for(ledger: Ledger) -> None:
    begun = asyncio.Event()

    async def wait(what: str) -> str:
        begun.set()
        await asyncio.Event().wait()
        return what

    wait.__name__ = "ask"
    writer = Agent(ScriptedModel([["Hm. ", ASK], "never"]), ledger=ledger, name="writer", tools=[wait])

    async def ask(what: str) -> str:
        return str((await writer.run("talk", what)).output)

    chief = Agent(ScriptedModel([["Ask. ", ASK], "never"]), ledger=ledger, name="chief", tools=[ask])

    async def go() -> None:
        _, task = await chief.start("talk", "Go")
        await begun.wait()
        assert await chief.stop("talk")
        await asyncio.gather(task, return_exceptions=True)
        await writer.wait()

    asyncio.run(go())
    (sub,) = ledger.sub_threads("talk")
    assert not [run for key in ("talk", sub.id) for run in ledger.active_runs(key)]


def test_stopping_the_inner_run_is_an_error_of_the_tool(ledger: Ledger) -> None:
    begun = asyncio.Event()

    async def wait(what: str) -> str:
        begun.set()
        await asyncio.Event().wait()
        return what

    wait.__name__ = "ask"
    writer = Agent(ScriptedModel([[ASK], "never"]), ledger=ledger, name="writer", tools=[wait])

    async def ask(what: str) -> str:
        try:
            return str((await writer.run("talk", what)).output)
        except hansard.HansardError as error:
            return str(error)

    chief = Agent(ScriptedModel([[ASK], "It was stopped."]), ledger=ledger, name="chief", tools=[ask])

    async def go() -> Any:
        _, task = await chief.start("talk", "Go")
        await begun.wait()
        (sub,) = await ledger.aio.sub_threads("talk")
        assert await writer.stop(sub.id)
        return await task

    result = asyncio.run(go())
    assert result.output == "It was stopped."
    assert result.messages[1].results[0].output == "the run of agent 'writer' was stopped"


def test_a_failure_inside_reaches_the_tool_and_both_runs_are_failed(ledger: Ledger, made: Any) -> None:
    asked = made(ledger, "writer", [[{"error": "no ink"}]])

    async def ask(what: str) -> str:
        return str(await asked(what))

    chief = made(ledger, "chief", [[ASK], "never"], ask)
    with pytest.raises(ScriptedError, match="no ink"):
        asyncio.run(chief("Go"))
    (sub,) = ledger.sub_threads("talk")
    assert [run.status for key in ("talk", sub.id) for run in ledger.runs(key)] == ["failed", "failed"]


# -- handing over ------------------------------------------------------------------------------------------------------


def test_the_next_agent_answers_what_the_other_said(ledger: Ledger) -> None:
    heard: list[Any] = []

    def script(messages: list[Any]) -> Any:
        heard.append(messages)
        return "Rivers run."

    researcher = Agent(ScriptedModel(["Rivers: a, b."]), ledger=ledger, name="Researcher", id="r")
    writer = Agent(ScriptedModel(script), ledger=ledger, name="Writer", id="w")

    async def go() -> Any:
        await researcher.run("talk", "Write about rivers")
        return await writer.run("talk")

    result = asyncio.run(go())
    assert result.output == "Rivers run."
    ((given,),) = heard
    assert [part.content for part in given.parts] == ["Write about rivers", "{agent:Researcher}: Rivers: a, b."]
    assert [(one.role, one.agent_id, one.text) for one in ledger.transcript("talk")] == [
        ("user", None, "Write about rivers"),
        ("assistant", "r", "Rivers: a, b."),
        ("event", "w", ""),
        ("assistant", "w", "Rivers run."),
    ]


def test_nothing_to_answer_is_an_error_and_begins_nothing(ledger: Ledger) -> None:
    agent = Agent(ScriptedModel(["One."]), ledger=ledger, name="one")
    asyncio.run(agent.run("talk", "Go"))
    with pytest.raises(hansard.HansardError, match="nothing to answer: the last message is an answer of 'one'"):
        asyncio.run(agent.run("talk"))
    assert len(ledger.runs("talk")) == 1
