"""A stored conversation as a client's stream: the client gets what a page that loads it shows."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from msgspec.structs import replace

import hansard
from hansard.agent import Agent, ScriptedModel
from hansard.agent.ui_turns import ui_messages
from hansard.errors import HansardError, UnknownFormat
from hansard.streams.accumulator import fold
from tests.streams.live import decode

SCRIPT: Any = [["Look. ", {"tool": "look", "input": {"x": 2}, "id": "c1"}], "Four."]


def look(x: int) -> int:
    return x * 2


@pytest.fixture
def talk() -> hansard.Conversation:
    with hansard.open(":memory:") as ledger:
        first = Agent(ScriptedModel(["Ask the eye."]), ledger=ledger, name="Host", id="h")
        eye = Agent(ScriptedModel([SCRIPT[0], SCRIPT[1]]), ledger=ledger, name="Eye", id="e", tools=[look])

        async def go() -> None:
            await first.run("t", "What is it?")
            await eye.run("t")

        eye.agent.model = ScriptedModel(lambda messages: SCRIPT[1] if len(messages) > 2 else SCRIPT[0])
        asyncio.run(go())
        return ledger.export_conversation("t")


def taken(data: bytes) -> Any:
    (answer,) = hansard.write(hansard.Conversation(messages=fold(decode("ai-sdk-ui", data))), "ai-sdk-ui").data
    return answer


@pytest.mark.parametrize("target", ["v5", "v6", "v7"])
def test_a_client_gets_what_a_loaded_page_shows(talk: hansard.Conversation, target: str) -> None:
    data = b"".join(hansard.emit(talk, "ai-sdk-ui", target=target))
    shown = ui_messages(talk, target)[-1]
    assert taken(data) == shown
    assert shown["parts"][0]["type"] == "data-agent.handoff"
    assert shown["metadata"]["agent"] == {"id": "e", "name": "Eye"}


def test_an_interrupted_answer_ends_with_abort() -> None:
    cut = hansard.Message.assistant("Half", id="m")
    talk = hansard.Conversation(messages=[hansard.Message.user("hi"), replace(cut, state="interrupted")])
    data = b"".join(hansard.emit(talk))
    assert b'"interrupted":true' in data
    assert data.endswith(b'data: {"type":"abort"}\n\ndata: [DONE]\n\n')


def test_the_command_writes_the_same_stream(talk: hansard.Conversation) -> None:
    given = hansard.write(talk, "hansard").json
    command = [sys.executable, "-m", "hansard", "stream", "--from", "hansard", "--to", "ai-sdk-ui", "--target", "v6"]
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"".join(hansard.emit(talk, target="v6")))
    none = subprocess.run(command, input=b'{"messages": []}', capture_output=True, check=False)
    assert (none.returncode, none.stdout) == (2, b"")
    assert b"no answer to emit" in none.stderr


def test_other_clients_get_their_stream_and_what_cannot_be_emitted_is_named(talk: hansard.Conversation) -> None:
    assert b"Four." in b"".join(hansard.emit(talk, "openai-chat"))
    assert b"Four." in b"".join(hansard.emit(talk, "ag-ui"))
    with pytest.raises(HansardError, match="no answer to emit"):
        hansard.emit(hansard.Conversation(messages=[hansard.Message.user("hi")]))
    with pytest.raises(UnknownFormat, match="unknown output stream 'sse'"):
        hansard.emit(talk, "sse")
