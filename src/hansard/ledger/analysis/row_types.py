"""The rows of `Ledger.rows`: plain dicts, one type for each table.

Times are ISO 8601 in UTC. `project` is the working directory, `agent` and `model` are those of the message; where a
message has none, they are the first of its thread. So a prompt has the agent and the model that were asked.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

Table: TypeAlias = Literal["threads", "messages", "prompts", "calls", "usage", "files"]


class Row(TypedDict):
    """The columns that every table has: `thread` is its id, `at` the time."""

    thread: str
    title: str | None
    project: str | None
    at: str
    agent: str | None
    model: str | None


class ThreadsRow(Row):
    """A thread: `at` is when it began, `messages` counts all branches, `head` is the last message of the active one.

    >>> import hansard
    >>> with hansard.open(":memory:") as ledger:
    ...     thread = ledger.create_thread().id
    ...     asked = ledger.append(thread, hansard.Message.user("Which tea?"))
    ...     tokens = hansard.Usage(input_tokens=12, output_tokens=3)
    ...     answer = ledger.append(thread, hansard.Message.assistant("Assam.", model="claude-opus-5", usage=tokens))
    ...     [row["messages"] for row in ledger.rows("threads")]
    [2]
    """

    messages: int
    head: str | None


class MessagesRow(Row):
    """A message of any branch: its id, role and text.

    >>> import hansard
    >>> with hansard.open(":memory:") as ledger:
    ...     thread = ledger.create_thread().id
    ...     asked = ledger.append(thread, hansard.Message.user("Which tea?"))
    ...     tokens = hansard.Usage(input_tokens=12, output_tokens=3)
    ...     answer = ledger.append(thread, hansard.Message.assistant("Assam.", model="claude-opus-5", usage=tokens))
    ...     [(row["role"], row["text"]) for row in ledger.rows("messages")]
    [('user', 'Which tea?'), ('assistant', 'Assam.')]
    """

    message: str
    role: str
    text: str


class PromptsRow(Row):
    """What a person typed. `origin` is `person`: what agents and tools put into the user's turns is not here.

    >>> import hansard
    >>> with hansard.open(":memory:") as ledger:
    ...     thread = ledger.create_thread().id
    ...     asked = ledger.append(thread, hansard.Message.user("Which tea?"))
    ...     tokens = hansard.Usage(input_tokens=12, output_tokens=3)
    ...     answer = ledger.append(thread, hansard.Message.assistant("Assam.", model="claude-opus-5", usage=tokens))
    ...     [(row["text"], row["origin"]) for row in ledger.rows("prompts")]
    [('Which tea?', 'person')]
    """

    message: str
    text: str
    origin: str


class CallsRow(Row):
    """A tool call: `input` is JSON, `output` is text or JSON, None without a result.

    `status` is `ok`, `error`, what the result says instead (`denied`, `interrupted`, `retried`), or `unanswered`.
    `seconds` passed between the messages of the call and of its result; None if a time is missing.

    >>> import hansard
    >>> from hansard import Message, ToolCallPart, ToolResultPart
    >>> with hansard.open(":memory:") as ledger:
    ...     thread = ledger.create_thread().id
    ...     call = ToolCallPart(tool_call_id="c1", tool_name="weather", input={"city": "Leith"})
    ...     asked = ledger.append(thread, Message.assistant(call))
    ...     answered = ledger.append(thread, Message.tool(ToolResultPart(tool_call_id="c1", output="11 degrees")))
    ...     [(row["tool"], row["input"], row["output"], row["status"]) for row in ledger.rows("calls")]
    [('weather', '{"city":"Leith"}', '11 degrees', 'ok')]
    """

    call: str | None
    tool: str
    input: str
    output: str | None
    status: str
    seconds: float | None


class UsageRow(Row):
    """The tokens of an answer, which counts once, whichever files, forks and copies brought it.

    `inputTokens` are those outside the cache; `outputTokens` include reasoning.

    >>> import hansard
    >>> with hansard.open(":memory:") as ledger:
    ...     thread = ledger.create_thread().id
    ...     asked = ledger.append(thread, hansard.Message.user("Which tea?"))
    ...     tokens = hansard.Usage(input_tokens=12, output_tokens=3)
    ...     answer = ledger.append(thread, hansard.Message.assistant("Assam.", model="claude-opus-5", usage=tokens))
    ...     [(row["model"], row["outputTokens"]) for row in ledger.rows("usage")]
    [('claude-opus-5', 3)]
    """

    inputTokens: int
    cacheReadTokens: int
    cacheWriteTokens: int
    outputTokens: int
    reasoningTokens: int


class FilesRow(Row):
    """A change of a file: its path as recorded, `created`, `changed`, `deleted` or `moved`, and the call's id.

    >>> import hansard
    >>> with hansard.open(":memory:") as ledger:
    ...     [(row["path"], row["change"]) for row in ledger.rows("files")]
    []
    """

    path: str
    change: str
    call: str | None


TABLES: dict[str, type[Row]] = {
    "threads": ThreadsRow,
    "messages": MessagesRow,
    "prompts": PromptsRow,
    "calls": CallsRow,
    "usage": UsageRow,
    "files": FilesRow,
}


def columns(table: str) -> list[str]:
    """The names of a table's columns.

    >>> columns("prompts")
    ['thread', 'title', 'project', 'at', 'agent', 'model', 'message', 'text', 'origin']
    """
    kinds = [kind for kind in reversed(TABLES[table].__mro__) if hasattr(kind, "__annotations__")]
    return list(dict.fromkeys(name for kind in kinds for name in kind.__annotations__))
