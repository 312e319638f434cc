"""Every answer of a ledger with token counts, once, whichever files, forks and copies brought it.

An answer is known by the id that the provider gave it, otherwise by its content with everything before it, or by its
own id if that is a UUID. Of several versions of one answer the longest counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import UNSET

from hansard.ledger import tree
from hansard.ledger.backends.driver import Driver, Tx, unsafe
from hansard.ledger.results import TokenSum
from hansard.ledger.summary import token_sum
from hansard.model.conversation import Message, Usage

_BATCH = 2000
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


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
    found: dict[int, Answer] = {}
    numbers: dict[Any, int] = {}  # of the answer that a key identifies
    for number, (answer, keys) in enumerate(_with_usage(driver, thread)):
        same = sorted({numbers[key] for key in keys if key in numbers})
        first = same[0] if same else number
        for other in same[1:]:  # it joins answers that seemed to be two
            numbers.update({key: first for key, value in numbers.items() if value == other})
            answer = max(answer, found.pop(other), key=_length)
        numbers.update(dict.fromkeys(keys, first))
        found[first] = max(found.get(first, answer), answer, key=_length)
    yield from found.values()


def _length(answer: Answer) -> int:
    return answer.tokens.output_tokens


def _with_usage(driver: Driver, thread: int | None) -> Iterator[tuple[Answer, list[Any]]]:
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
                yield answer, _identities(message, bytes(row[3]))
        if not batch:
            return
        after = batch[-1][0][0]


def _identities(message: Message, said: bytes) -> list[Any]:
    """What identifies an answer: the provider's id with that of the request; otherwise all that was said so far, and
    its own id if that is a UUID."""
    model = message.model
    if model is not UNSET and isinstance(model.response_id, str) and model.response_id:
        told = message.extra.values() if message.extra is not UNSET else ()
        requests = (one.get("requestId") for one in told if isinstance(one, dict))
        return [(model.response_id, next((one for one in requests if isinstance(one, str)), None))]
    usage = message.usage
    assert isinstance(usage, Usage)
    own = message.id if isinstance(message.id, str) and _UUID.fullmatch(message.id) else None
    return [(said, token_sum(usage)), *([own] if own is not None else [])]


def model_of(message: Message) -> str | None:
    """The name of the model that made a message, as far as it says so."""
    model = message.model
    return model.name or None if model is not UNSET and isinstance(model.name, str) else None


def project_of(message: Message) -> str | None:
    """The working directory of a message, as far as it says so."""
    context = message.context
    return context.cwd or None if context is not UNSET and isinstance(context.cwd, str) else None
