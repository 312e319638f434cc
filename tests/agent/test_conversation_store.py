"""Pydantic AI's store of conversations: what its own store in memory does, the ledger does too, and keeps it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

store_module = pytest.importorskip("pydantic_ai.conversation_store", reason="Pydantic AI before 2.66 has no such store")

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool  # noqa: E402
from pydantic_ai.conversation import Conversation  # noqa: E402
from pydantic_ai.exceptions import UserError  # noqa: E402
from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: E402

import hansard  # noqa: E402
from hansard.agent import HansardConversationStore, Recorder, ScriptedModel  # noqa: E402


@pytest.fixture(params=["ledger", "memory"])
def store(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Ours, and theirs as the measure."""
    if request.param == "memory":
        yield store_module.InMemoryConversationStore()
    else:
        with hansard.open(":memory:") as ledger:
            yield HansardConversationStore(ledger)


def as_json(messages: Any) -> Any:
    return json.loads(ModelMessagesTypeAdapter.dump_json(list(messages)))


def look(x: int) -> int:
    return x * 2


def agent(**more: Any) -> Agent[Any, Any]:
    script = [["Hm. ", {"tool": "look", "input": {"x": 2}}], "Four.", "Five.", "Six."]
    return Agent(ScriptedModel(script), tools=[look], system_prompt="Be kind.", instructions="Now.", **more)


Go = Callable[[], Any]


async def turn(store: Any, words: str, *, scope: str | None = None) -> Any:
    conversation = await store.load("c") or Conversation(conversation_id="c")
    result = await agent().run(words, conversation=conversation)
    await store.save(result, scope=scope)
    return result


def test_what_was_saved_is_loaded(store: Any) -> None:
    async def go() -> None:
        await turn(store, "what?")
        result = await turn(store, "and?")
        loaded = await store.load("c")
        assert as_json(loaded.messages) == as_json(result.all_messages())
        assert loaded.usage == result.usage
        assert as_json((await store.load("c", limit=2)).messages) == as_json(result.all_messages())[-2:]
        assert await store.load("other") is None

    asyncio.run(go())


def test_entries_keep_their_ids(store: Any) -> None:
    async def go() -> None:
        result = await agent().run("what?", conversation=Conversation(conversation_id="c"))
        saved = await store.save(result)
        loaded = await store.load_entries("c")
        assert [(entry.id, entry.parent_id) for entry in loaded] == [(entry.id, entry.parent_id) for entry in saved]
        assert as_json(entry.message for entry in loaded) == as_json(result.all_messages())
        assert as_json([(await store.read_entry(saved[1].id)).message]) == as_json(result.all_messages())[1:2]

    asyncio.run(go())


def test_an_entry_is_found_by_a_store_that_did_not_write_it() -> None:
    async def go(ledger: hansard.Ledger) -> None:
        await turn(HansardConversationStore(ledger), "what?")
        entries = await HansardConversationStore(ledger).load_entries("c")
        for i in range(120):  # more threads than one page, all newer
            ledger.create_thread(f"other {i}")
        after_a_restart = HansardConversationStore(ledger)
        assert await after_a_restart.read_entry(entries[1].id) == entries[1]
        assert await after_a_restart.read_history(entries[-1].id) == entries
        assert await after_a_restart.read_history(entries[-1].id, limit=2) == entries[-2:]
        assert await after_a_restart.read_history(entries[-1].id, limit=99) == entries
        with pytest.raises(LookupError, match="unknown"):
            await after_a_restart.read_entry("unknown")

    with hansard.open(":memory:") as ledger:
        asyncio.run(go(ledger))


def test_branching_leaves_the_old_branch_to_be_found(store: Any) -> None:
    async def go() -> None:
        await turn(store, "what?")
        before = await turn(store, "and?")
        record = await store.read_record("c")
        entries = await store.load_entries("c")
        left = await store.branch("c", at=4, expected_revision=record.revision)
        assert len(left.messages) == 4
        record = await store.read_record("c")
        assert (record.head_id, record.branches) == (entries[3].id, [entries[-1].id])
        result = await agent().run("other", conversation=left)
        await store.save(result)
        assert as_json((await store.load("c")).messages) == as_json(result.all_messages())
        record = await store.read_record("c")
        back = await store.branch("c", from_entry=entries[-1].id, expected_revision=record.revision)
        assert as_json(back.messages) == as_json(before.all_messages())

    asyncio.run(go())


def test_a_fork_goes_its_own_way(store: Any) -> None:
    async def go() -> None:
        first = await turn(store, "what?")
        fork = await store.fork("c", new_conversation_id="d", scope="ann")
        result = await agent().run("and?", conversation=fork)
        await store.save(result)
        assert as_json((await store.load("c")).messages) == as_json(first.all_messages())
        assert as_json((await store.load("d")).messages) == as_json(result.all_messages())
        record = await store.read_record("d")
        assert (record.forked_from, record.scope) == ("c", "ann")
        await store.delete("c")
        assert await store.load("c") is None
        assert as_json((await store.load("d")).messages) == as_json(result.all_messages())
        part = await store.fork("d", at=1, new_conversation_id="e")
        assert len(part.messages) == 1

    asyncio.run(go())


def test_two_writers_do_not_overwrite_each_other(store: Any) -> None:
    async def go() -> None:
        await turn(store, "what?")
        one, other = await store.load("c"), await store.load("c")
        await store.save(await agent().run("one", conversation=one))
        with pytest.raises(store_module.ConversationConflict):
            await store.save(await agent().run("other", conversation=other))
        with pytest.raises(store_module.ConversationConflict):
            await store.save(Conversation(conversation_id="c"))

    asyncio.run(go())


def test_scopes_keep_conversations_apart(store: Any) -> None:
    async def go() -> None:
        await turn(store, "what?", scope="ann")
        assert await store.load("c", scope="bob") is None
        assert [record.conversation_id for record in await store.list_conversations(scope="ann")] == ["c"]
        assert await store.list_conversations(scope="bob") == []
        assert len(await store.list_conversations(limit=1)) == 1

    asyncio.run(go())


def test_what_was_deleted_can_be_begun_again(store: Any) -> None:
    async def go() -> None:
        await turn(store, "what?")
        old = await store.load("c")
        await store.delete("c")
        assert await store.load("c") is None
        assert await store.list_conversations() == []
        with pytest.raises(store_module.ConversationConflict):
            await store.save(old)
        result = await turn(store, "anew")
        assert as_json((await store.load("c")).messages) == as_json(result.all_messages())
        with pytest.raises(UserError):
            await store.branch("nothing", at=0, expected_revision="x")

    asyncio.run(go())


def test_calls_that_wait_are_kept(store: Any) -> None:
    paying: Agent[Any, Any] = Agent(
        ScriptedModel([[{"tool": "look", "input": {"x": 2}, "id": "p"}], "Paid."]),
        tools=[Tool(look, requires_approval=True)],
        output_type=[str, DeferredToolRequests],
    )

    async def go() -> None:
        first = await paying.run("pay", conversation=Conversation(conversation_id="c"))
        await store.save(first)
        loaded = await store.load("c")
        assert [call.tool_call_id for call in loaded.deferred_tool_requests.approvals] == ["p"]
        second = await paying.run(conversation=loaded, deferred_tool_results=DeferredToolResults(approvals={"p": True}))
        await store.save(second)
        loaded = await store.load("c")
        assert loaded.deferred_tool_requests is None
        assert as_json(loaded.messages) == as_json(second.all_messages())

    asyncio.run(go())


def test_what_a_recorder_wrote_is_loaded() -> None:
    async def go() -> None:
        with hansard.open(":memory:") as ledger:
            store = HansardConversationStore(ledger)
            recorded = agent(capabilities=[Recorder(ledger)])
            first = await recorded.run("what?", conversation_id="c")
            loaded = await store.load("c")
            assert loaded is not None
            assert as_json(loaded.messages) == as_json(first.all_messages())
            second = await recorded.run("and?", conversation=loaded)
            again = await store.load("c")
            assert again is not None
            assert as_json(again.messages) == as_json(second.all_messages())
            assert again.revision != loaded.revision

    asyncio.run(go())
