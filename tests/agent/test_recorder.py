"""What a recorder keeps is what Pydantic AI says of the run, however it is driven."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, NativeOutput
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessagesTypeAdapter

import hansard
from hansard.agent import Recorder, ScriptedModel
from hansard.agent.scripted_model import ScriptedError
from hansard.model import ReasoningPart

LOOK = [
    ["Let me look. ", {"reasoning": "hm hm", "signature": "s1"}, {"tool": "look", "input": {"x": 2}, "id": "c1"}],
    [{"reasoning": "It is four.", "signature": "s2"}, "It is 4."],
]


@pytest.fixture
def ledger() -> Any:
    with hansard.open(":memory:") as opened:
        yield opened


def recorded(ledger: hansard.Ledger, thread_id: str) -> Any:
    """The thread as Pydantic AI's JSON."""
    return hansard.write(ledger.export_conversation(thread_id), "pydantic-ai").data


def told(result: Any) -> Any:
    return json.loads(result.all_messages_json())


def looking(ledger: hansard.Ledger, **more: Any) -> tuple[Agent[Any, Any], Recorder]:
    recorder = Recorder(ledger, "t")
    agent: Agent[Any, Any] = Agent(
        ScriptedModel(more.pop("script", LOOK)), capabilities=[*more.pop("before", []), recorder], name="eye", **more
    )

    @agent.tool_plain
    def look(x: int) -> dict[str, int]:
        return {"seen": x * 2}

    return agent, recorder


async def by_run(agent: Agent[Any, Any]) -> Any:
    return await agent.run("what is it?")


async def by_events(agent: Agent[Any, Any]) -> Any:
    async with agent.run_stream_events("what is it?") as stream:
        async for event in stream:
            last = event
    return last.result


async def by_iter(agent: Agent[Any, Any]) -> Any:
    async with agent.iter("what is it?") as run:
        async for _ in run:
            pass
    return run.result


async def by_node_stream(agent: Agent[Any, Any]) -> Any:
    async with agent.iter("what is it?") as run:
        async for node in run:
            if Agent.is_model_request_node(node) or Agent.is_call_tools_node(node):
                async with node.stream(run.ctx) as stream:
                    async for _ in stream:
                        pass
    return run.result


async def by_run_sync(agent: Agent[Any, Any]) -> Any:
    return await asyncio.to_thread(agent.run_sync, "what is it?")


MODES = [by_run, by_events, by_iter, by_node_stream, by_run_sync]


@pytest.mark.parametrize("drive", MODES)
@pytest.mark.parametrize("instructions", [None, "Be kind."])
def test_the_thread_is_what_the_run_says(
    ledger: hansard.Ledger, drive: Callable[[Any], Awaitable[Any]], instructions: str | None
) -> None:
    agent, _ = looking(ledger, instructions=instructions, system_prompt="You see." if instructions else ())
    result: Any = asyncio.run(drive(agent))  # type: ignore[arg-type]
    assert recorded(ledger, "t") == told(result)
    assert [run.status for run in ledger.runs("t")] == ["committed"]


def test_signatures_are_bound_to_the_words_before_them(ledger: hansard.Ledger) -> None:
    """As they are when the format reads the whole."""
    agent, _ = looking(ledger)

    async def talk() -> Any:
        first = await agent.run("what is it?")
        return await agent.run("and now?", message_history=first.all_messages())

    whole = hansard.read(json.loads(asyncio.run(talk()).all_messages_json()), "pydantic-ai")

    def bindings(messages: list[hansard.Message]) -> list[Any]:
        return [part.binding for message in messages for part in message.parts if isinstance(part, ReasoningPart)]

    assert bindings(ledger.transcript("t")) == bindings(whole.messages)
    assert len({binding.prefix for binding in bindings(whole.messages)}) == 4


def test_a_run_that_goes_on_from_a_history_adds_only_what_is_new(ledger: hansard.Ledger) -> None:
    agent, _ = looking(ledger)

    async def talk() -> Any:
        first = await agent.run("what is it?")
        history = ModelMessagesTypeAdapter.validate_json(first.all_messages_json())
        return await agent.run("and now?", message_history=history)

    result = asyncio.run(talk())
    assert recorded(ledger, "t") == told(result)
    assert len(ledger.branches("t")) == 1


def test_a_history_that_was_recorded_nowhere_is_kept_with_the_run(ledger: hansard.Ledger) -> None:
    elsewhere: Agent[Any, Any] = Agent(ScriptedModel(["Hello."]))
    agent, _ = looking(ledger)

    async def talk() -> Any:
        first = await elsewhere.run("hi")
        return await agent.run("what is it?", message_history=first.all_messages())

    result = asyncio.run(talk())
    assert recorded(ledger, "t") == told(result)


def test_a_run_that_answers_the_last_request_of_a_history(ledger: hansard.Ledger) -> None:
    elsewhere: Agent[Any, Any] = Agent(ScriptedModel(["Hello."]))
    agent, _ = looking(ledger, instructions="Be kind.")

    async def talk() -> Any:
        first = await elsewhere.run("hi")
        return await agent.run(message_history=first.all_messages()[:1])

    result = asyncio.run(talk())
    assert recorded(ledger, "t") == told(result)


def test_a_history_that_differs_is_a_branch(ledger: hansard.Ledger) -> None:
    agent, _ = looking(ledger)

    async def talk() -> Any:
        first = await agent.run("what is it?")
        await agent.run("and now?", message_history=first.all_messages())
        return await agent.run("and then?", message_history=first.all_messages())

    result = asyncio.run(talk())
    assert recorded(ledger, "t") == told(result)
    assert len(ledger.branches("t")) == 2


def test_what_a_history_processor_cuts_is_kept(ledger: hansard.Ledger) -> None:
    agent, _ = looking(ledger, before=[ProcessHistory(lambda messages: messages[-3:])])

    async def talk() -> Any:
        first = await agent.run("what is it?")
        return await agent.run("and now?", message_history=first.all_messages())

    result = asyncio.run(talk())
    assert (len(recorded(ledger, "t")), len(told(result))) == (6, 4)
    assert recorded(ledger, "t")[-3:] == told(result)[-3:]


def test_what_a_history_processor_changes_is_kept_as_it_was(ledger: hansard.Ledger) -> None:
    from dataclasses import replace

    agent, _ = looking(ledger, before=[ProcessHistory(lambda messages: [replace(one) for one in messages])])
    result = asyncio.run(by_run(agent))
    assert len(recorded(ledger, "t")) == len(told(result)) == 4
    assert recorded(ledger, "t")[-1] == told(result)[-1]


def test_calls_that_wait_for_a_yes_are_pending_until_somebody_says_it(ledger: hansard.Ledger) -> None:
    script = [[{"tool": "pay", "input": {"x": 2}, "id": "p1"}, {"tool": "ask", "input": {}, "id": "p2"}], "Paid."]
    agent, _ = looking(ledger, script=script, output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def pay(x: int) -> str:
        return f"paid {x}"

    @agent.tool_plain
    def ask() -> str:
        from pydantic_ai import CallDeferred

        raise CallDeferred(metadata={"to": "Ann"})

    first = asyncio.run(agent.run("pay"))
    assert recorded(ledger, "t") == told(first)
    assert [(call.tool_call_id, call.kind) for call in ledger.pending("t")] == [("p1", "approval"), ("p2", "external")]
    assert ledger.pending("t")[1].metadata == {"to": "Ann"}
    results = DeferredToolResults(approvals={"p1": True}, calls={"p2": "yes"})
    second = asyncio.run(agent.run(message_history=first.all_messages(), deferred_tool_results=results))
    assert recorded(ledger, "t") == told(second)
    assert ledger.pending("t") == []


def test_an_output_tool_that_is_called_wrongly_first(ledger: hansard.Ledger) -> None:
    class Answer(BaseModel):
        number: int

    script = [
        [{"tool": "final_result", "input": {"number": "none"}, "id": "o1"}],
        [{"tool": "final_result", "input": {"number": 4}, "id": "o2"}],
    ]
    agent, _ = looking(ledger, script=script, output_type=Answer)
    result = asyncio.run(by_run(agent))
    assert result.output == Answer(number=4)
    assert recorded(ledger, "t") == told(result)


def test_a_tool_that_asks_to_be_called_again(ledger: hansard.Ledger) -> None:
    script = [[{"tool": "flaky", "input": {}, "id": "f1"}], [{"tool": "flaky", "input": {}, "id": "f2"}], "Done."]
    agent, _ = looking(ledger, script=script)
    tries: list[int] = []

    @agent.tool_plain
    def flaky() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ModelRetry("once more")
        return "fine"

    result = asyncio.run(by_run(agent))
    assert recorded(ledger, "t") == told(result)


def test_twenty_runs_at_once_are_twenty_threads(ledger: hansard.Ledger) -> None:
    agent: Agent[Any, Any] = Agent(ScriptedModel(LOOK), capabilities=[Recorder(ledger)], name="eye")

    @agent.tool_plain
    async def look(x: int) -> dict[str, int]:
        await asyncio.sleep(0)
        return {"seen": x * 2}

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(agent.run(f"number {i}", conversation_id=f"t{i}") for i in range(20)))

    for i, result in enumerate(asyncio.run(all_at_once())):
        assert recorded(ledger, f"t{i}") == told(result)


@pytest.mark.parametrize("strategy", ["graceful", "exhaustive", "early"])
def test_run_stream_with_a_tool_behind_its_text(ledger: hansard.Ledger, strategy: Any) -> None:
    agent, recorder = looking(ledger, end_strategy=strategy)

    async def talk() -> Any:
        async with agent.run_stream("what is it?") as result:
            async for _ in result.stream_text():
                pass
        kept = [part for message in ledger.transcript("t") if message.role == "tool" for part in message.parts]
        if strategy != "early":
            assert [part.output for part in kept] == [{"seen": 4}]  # type: ignore[union-attr]
        await recorder.sync_tail(result)
        return result

    result = asyncio.run(talk())
    assert recorded(ledger, "t") == told(result)


def test_a_model_that_fails_leaves_what_it_said(ledger: hansard.Ledger) -> None:
    agent, _ = looking(ledger, script=[["Half an ", {"error": "the line broke"}]])
    with pytest.raises(ScriptedError):
        asyncio.run(by_run(agent))
    (run,) = ledger.runs("t")
    assert run.status == "failed"
    assert run.error == {"type": "ScriptedError", "message": "the line broke"}
    asked, partial = ledger.run_messages("t", run.id)
    assert asked.role == "user"
    assert (partial.state, partial.parts[0].text) == ("interrupted", "Half an ")  # type: ignore[union-attr]
    assert [message.id for message in ledger.transcript("t")] == [asked.id, partial.id]


def test_a_run_that_is_cancelled_leaves_what_it_said(ledger: hansard.Ledger) -> None:
    half_said = asyncio.Event()

    def pieces() -> Iterator[str]:
        yield "Half an "
        half_said.set()

    agent, _ = looking(ledger, script=[[{"text": "", "pieces": pieces()}, {"delay": 60}, "answer."]])

    async def cut() -> None:
        task = asyncio.create_task(agent.run("what is it?"))
        await half_said.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cut())
    (run,) = ledger.runs("t")
    assert run.status == "aborted"
    assert ledger.run_messages("t", run.id)[1].state == "interrupted"


def test_tools_and_settings_of_the_requests_are_the_runs(ledger: hansard.Ledger) -> None:
    agent, _ = looking(ledger, model_settings={"max_tokens": 9, "stop_sequences": ["."], "thinking": "low"})
    asyncio.run(by_run(agent))
    (run,) = ledger.runs("t")
    (tool,) = run.tools or []
    assert (tool.name, tool.input_schema["required"]) == ("look", ["x"])  # type: ignore[index]
    asked = hansard.Settings(max_tokens=9, stop=["."], effort="low", model=run.settings.model)  # type: ignore[union-attr]
    assert run.settings == asked
    request = hansard.write(ledger.export_conversation("t"), "openai-chat", model="gpt-5")
    assert (request.missing, request.data["max_completion_tokens"]) == ([], 9)
    assert request.data["tools"][0]["function"]["name"] == "look"


def test_output_of_a_schema_is_a_setting_of_the_run(ledger: hansard.Ledger) -> None:
    class City(BaseModel):
        name: str

    agent: Agent[Any, Any] = Agent(
        ScriptedModel([['{"name": "Basel"}']]), capabilities=[Recorder(ledger, "t")], output_type=NativeOutput(City)
    )
    asyncio.run(agent.run("Where?"))
    (run,) = ledger.runs("t")
    assert run.settings.output.name == "City"  # type: ignore[union-attr]
    assert run.settings.output.schema["required"] == ["name"]  # type: ignore[union-attr, index]
