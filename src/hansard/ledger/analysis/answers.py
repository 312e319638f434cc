"""Every answer of a ledger with token counts, once, whichever files, forks and copies brought it.

An answer is known by the id that the provider gave it, otherwise by its content with everything before it. Of several
versions of one answer the longest counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import UNSET

from hansard.ledger import tree
from hansard.ledger.backends.driver import Driver, Tx, unsafe
from hansard.ledger.results import TokenSum
from hansard.ledger.summary import token_sum
from hansard.model.conversation import Message, Usage

_BATCH = 2000


class Answer(NamedTuple):
    """An answer: the number of its thread, its time in milliseconds, agent, model and folder as it names them."""

    thread: int
    at: int | None
    agent: str | None
    model: str | None
    project: str | None
    tokens: TokenSum


def answers(driver: Driver, thread: int | None = None) -> Iterator[Answer]:
    """The answers of all threads or of one, in the order they were first written."""
    found: dict[Any, Answer] = {}
    for answer, key in _with_usage(driver, thread):
        if key not in found or answer.tokens.output_tokens > found[key].tokens.output_tokens:
            found[key] = answer
    yield from found.values()


def _with_usage(driver: Driver, thread: int | None) -> Iterator[tuple[Answer, Any]]:
    """Every message with token counts and what identifies it, a batch at a time."""
    after = 0
    while True:

        def job(tx: Tx, after: int = after) -> list[tuple[Any, Message]]:
            if thread is None:
                rows = tx.all("answers_after", n=after, limit=_BATCH)
            else:
                rows = tx.all("answers_of_after", n=after, limit=_BATCH, thread=thread)
            messages = tree.messages_of(tx, [(row[1], row[2]) for row in rows])
            return list(zip(rows, messages, strict=True))

        batch = driver.read(job)
        for row, message in batch:
            if message.usage is not UNSET:
                answer = Answer(
                    row[4], row[6], unsafe(row[5]), model_of(message), project_of(message), token_sum(message.usage)
                )
                yield answer, _identity(message, bytes(row[3]))
        if not batch:
            return
        after = batch[-1][0][0]


def _identity(message: Message, said: bytes) -> Any:
    """What identifies an answer: the provider's id with that of the request; otherwise all that was said so far."""
    model = message.model
    if model is not UNSET and isinstance(model.response_id, str) and model.response_id:
        told = message.extra.values() if message.extra is not UNSET else ()
        requests = (one.get("requestId") for one in told if isinstance(one, dict))
        return model.response_id, next((one for one in requests if isinstance(one, str)), None)
    usage = message.usage
    assert isinstance(usage, Usage)
    return said, token_sum(usage)


def model_of(message: Message) -> str | None:
    """The name of the model that made a message, as far as it says so."""
    model = message.model
    return model.name or None if model is not UNSET and isinstance(model.name, str) else None


def project_of(message: Message) -> str | None:
    """The working directory of a message, as far as it says so."""
    context = message.context
    return context.cwd or None if context is not UNSET and isinstance(context.cwd, str) else None
