"""The agent that the tests' server runs: what it says depends on the last words of the user.

slow N       N words, a few milliseconds apart
think        reasoning, then text
weather      a tool that runs here
ask          a tool that the client runs
delete       a tool that needs approval
progress     a tool that tells of its progress by data parts
fail         some words, then the model fails
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_ai import CustomEvent, RunContext, Tool
from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart, UserPromptPart

from hansard import Ledger
from hansard import open as open_ledger
from hansard.agent import Agent, ScriptedModel

DELAY = float(os.environ.get("SCRIPTED_DELAY", "0.005"))


@dataclass(kw_only=True)
class Progress(CustomEvent, name="progress"):
    done: int
    of: int


def weather(city: str) -> dict[str, Any]:
    """The weather."""
    return {"city": city, "degrees": 21}


def ask_user(question: str) -> str:
    """Something only the client can answer."""
    raise CallDeferred


def delete_file(path: str) -> str:
    """Something that needs a yes."""
    return f"deleted {path}"


async def work(context: RunContext[Any]) -> str:
    """Something that takes its time."""
    for done in (1, 2):
        await context.emit(Progress(done=done, of=2))
    return "worked"


def counted(count: int, tag: str) -> Iterator[str]:
    """Words with their number; with a tag, each is logged with the time it is said."""
    log = os.open(os.environ["SCRIPTED_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT) if tag else None
    for i in range(count):
        if log is not None:
            os.write(log, f"{tag} {i} {time.time() + DELAY}\n".encode())
        yield f"w{i} "


def held(count: int, tag: str) -> Iterator[str]:
    """Words with their number; in the middle it waits until the test lets this tag go on."""
    for i in range(count):
        while i == count // 2 and not os.path.exists(f"{os.environ['SCRIPTED_LOG']}.{tag}"):
            yield ""
        yield f"w{i} "


def words(messages: list[ModelMessage]) -> Any:
    """What the model says next."""
    said = [part for message in messages for part in message.parts]
    prompts = [i for i, part in enumerate(said) if isinstance(part, UserPromptPart)]
    text = str(said[prompts[-1]].content if prompts else "")
    if isinstance(said[prompts[-1]].content, (list, tuple)):
        text = " ".join(part for part in said[prompts[-1]].content if isinstance(part, str))
    returned = [part for part in said[prompts[-1] :] if isinstance(part, ToolReturnPart)]
    if returned and text.endswith("slowly"):
        return [{"text": "", "pieces": counted(150, "")}]
    if returned:
        return f"The tool said {returned[-1].content}."
    turn = sum(isinstance(message, ModelResponse) for message in messages)
    command, _, rest = text.partition(" ")
    if command in ("slow", "held"):
        count, _, tag = rest.partition(" ")
        return [{"text": "", "pieces": (held if command == "held" else counted)(int(count), tag)}]
    calls = {
        "weather": {"tool": "weather", "input": {"city": "Ghent"}, "id": f"call-{turn}"},
        "ask": {"tool": "ask_user", "input": {"question": "Why?"}, "id": f"call-{turn}"},
        "delete": {"tool": "delete_file", "input": {"path": "a.txt"}, "id": f"call-{turn}"},
        "progress": {"tool": "work", "id": f"call-{turn}"},
    }
    if command in calls:
        return ["One moment. ", calls[command]]
    if command == "think":
        return [{"reasoning": "Let me see.", "signature": "secret"}, "I thought."]
    if command == "fail":
        return ["Some words. ", {"error": "the model is tired"}]
    return f"You said {text!r}, answer {turn}."


def make(ledger: Ledger) -> Agent:
    """What `hansard serve --agent` is given."""
    tools = [weather, ask_user, work, Tool(delete_file, requires_approval=True)]
    return Agent(ScriptedModel(words, delay=DELAY), ledger=ledger, name="scripted", tools=tools)


def __getattr__(name: str) -> Agent:
    """`shared` is an agent with a ledger of its own, as tenants may not have it."""
    if name != "shared":
        raise AttributeError(name)
    return make(open_ledger(":memory:"))
