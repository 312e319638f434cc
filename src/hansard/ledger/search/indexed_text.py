"""The searchable text of a message, and its tokens in the search index.

The index records which words a message has, not where: that takes a third of the size, and phrases are checked in the
message itself. Besides words there are tokens that no word can equal, each with a prefix from Unicode's private area:

    SCOPE    thread, role, agent, tools and day of the message, so that filters are evaluated inside the index
    STEM     the first two and the first three letters of a word, for short prefixes
    OFTEN    words with a high weight in the message: bm25's share of a term, cut at two levels
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from msgspec import UNSET

from hansard.ledger.search.tokenizer import tally
from hansard.model import parts as p
from hansard.model.conversation import Message

SCOPE, STEM, OFTEN = "\ue000", "\ue001", ("\ue002", "\ue003")
STEMS = (2, 3)
OTHER_TENANT = SCOPE + "x"
FIRST_TENANT = 1
_LEVELS = (1.5, 4.0)  # tf over bm25's k1 * (1 - b + b * length / average): shares of 0.6 and 0.8
_AVERAGE = 300
_MOST = 900_000  # bytes of one message's tokens: PostgreSQL takes no more than 1 MB
_REPEATED = 4 << 20  # characters of texts and tokens that are cached
_ENCODED = re.compile(r"(?:data:[^,]{0,200},)?[A-Za-z0-9+/_-]{512,}={0,2}\s*")
_YEAR_1, _YEAR_9999 = -62_135_596_800_000, 253_402_300_799_999
_ONE_DAY = 86_400_000
_DAY = (1, 2, 3, 4, 6, 8)  # prefix lengths of 20261118 that are tokens: a time span is a few tokens


def text_of(message: Message) -> str:
    """Everything in a message that a user may search for, in order."""
    return "\n".join(_pieces(message.parts))


def _pieces(parts: Iterable[Any]) -> Iterator[str]:
    for part in parts:
        kind = type(part)
        if kind is p.TextPart or kind is p.ReasoningPart or kind is p.RefusalPart:
            yield part.text
        elif kind is p.ToolCallPart:
            yield from _leaves(part.tool_name)
            yield from _leaves(part.input_text if part.input is UNSET else part.input)
        elif kind is p.ToolResultPart:
            yield from _leaves(part.tool_name)
            yield from _leaves(part.output)
            if part.content is not UNSET:
                yield from _pieces(part.content)
        elif kind is p.FilePart or kind is p.SourcePart:
            yield from _leaves([part.name, part.url, part.title if kind is p.SourcePart else UNSET])
        elif kind is p.DataPart:
            yield part.name
            yield from _leaves(part.data)
        elif kind is p.RetryPart:
            yield from _leaves([part.tool_name, part.content])
        elif kind is p.CompactionPart:
            yield from _leaves(part.text)
        elif kind is p.RawPart:
            yield from _leaves(part.value)


def _leaves(value: Any) -> Iterator[str]:
    """The strings and numbers of some data, keys too, without base64-encoded files."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if type(item) is str:
            if len(item) < 512 or " " in item[:512] or not _ENCODED.fullmatch(item):
                yield item
        elif type(item) is dict:
            for key in reversed(item):
                waiting += (item[key], key)
        elif type(item) is list:
            waiting += reversed(item)
        elif item is not None and item is not UNSET and type(item) is not bool:
            yield str(item)


def tools_of(message: Message) -> tuple[set[str], set[str]]:
    """The tool names of a message's calls and results, and the ids of calls without a tool name."""
    names: set[str] = set()
    unnamed: set[str] = set()
    for part in message.parts:
        if isinstance(part, p.ToolCallPart | p.ToolResultPart | p.RetryPart):
            if isinstance(part.tool_name, str):
                names.add(part.tool_name)
            elif isinstance(part.tool_call_id, str):
                unnamed.add(part.tool_call_id)
    return names, unnamed


def tokens(
    message: Message,
    cache: TokenCache,
    *,
    tenant: int,
    thread: int,
    role: str,
    agent: str | None,
    created_at: int | None,
    tools: set[str],
) -> str:
    """The tokens of a message, separated by spaces."""
    date = None if created_at is None else created_at // _ONE_DAY
    joined = _scopes(tenant, thread, role, agent, frozenset(tools), date) + cache[text_of(message)]
    return joined if len(joined) * 4 < _MOST else _cut(joined)


@lru_cache(4096)
def _scopes(tenant: int, thread: int, role: str, agent: str | None, tools: frozenset[str], date: int | None) -> str:
    """The tokens that many messages share; the date is a number of days since 1970."""
    found = [in_thread(thread), scope("role", role)]
    if tenant != FIRST_TENANT:
        found += of_tenant(tenant)
    if agent is not None:
        found.append(scope("agent", agent))
    found += (scope("tool", name) for name in tools)
    if (day := _day(None if date is None else date * _ONE_DAY)) is not None:
        found += (SCOPE + "d" + day[:length] for length in _DAY)
    return " ".join(found)


def _words(text: str) -> str:
    """The tokens of a text, with a space before each."""
    counts, length = tally(text)
    joined = _marked("", counts) + _marked(STEM, _stems(counts))
    norm = 1.2 * (0.25 + 0.75 * length / _AVERAGE)
    heavy: Collection[str] = counts
    for mark, level in zip(OFTEN, _LEVELS, strict=True):
        if (least := norm * level) > 1:
            heavy = [word for word, count in counts.items() if count >= least]
        joined += _marked(mark, heavy)
    return joined


class TokenCache(dict[str, str]):
    """Tokens by text, a few megabytes cached while the index catches up: resumed and forked sessions repeat messages,
    and agents read the same files again."""

    left = _REPEATED

    def __missing__(self, text: str) -> str:
        found = _words(text)
        if len(text) <= _REPEATED // 16:
            if self.left < 0:
                self.clear()
                self.left = _REPEATED
            self.left -= len(text) + len(found)
            self[text] = found
        return found


def _stems(counts: Iterable[str]) -> set[str]:
    stems = {word[: STEMS[1]] for word in counts if len(word) > 1}
    return stems | {stem[: STEMS[0]] for stem in stems}


def _marked(mark: str, words: Collection[str]) -> str:
    """Words as tokens with a prefix, each after a space."""
    return f" {mark}" + f" {mark}".join(words) if words else ""


def _cut(joined: str) -> str:
    """As many whole tokens from the front as the database accepts."""
    data = joined.encode()
    return joined if len(data) <= _MOST else data[:_MOST].rpartition(b" ")[0].decode()


def _day(moment: int | None) -> str | None:
    if moment is None:
        return None
    time = datetime.fromtimestamp(min(max(moment, _YEAR_1), _YEAR_9999) // 1000, UTC)
    return f"{time.year:04d}{time.month:02d}{time.day:02d}"


@lru_cache(4096)
def scope(kind: str, value: str) -> str:
    """The token of a role, an agent or a tool, case-insensitive."""
    name = hashlib.blake2b(value.casefold().encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{SCOPE}{kind[0]}{name}"


def in_thread(thread: int) -> str:
    return f"{SCOPE}h{thread}"


def of_tenant(tenant: int) -> list[str]:
    """The tokens of a tenant. A database usually has one, the first, which needs none: others have two."""
    return [OTHER_TENANT, f"{SCOPE}n{tenant}"]


def days(low: int | None, high: int | None) -> list[str]:
    """Tokens of days: each message with low <= time < high (milliseconds) has at least one of them."""
    first = _day(low) or "00000000"
    last = "99999999" if high is None else _day(high - 1) or ""
    found: list[str] = []

    def cover(prefix: str, rest: tuple[int, ...]) -> None:
        if prefix.ljust(8, "9") < first or prefix.ljust(8, "0") > last:
            return
        if prefix and prefix.ljust(8, "0") >= first and prefix.ljust(8, "9") <= last:
            found.append(SCOPE + "d" + prefix)
            return
        if not rest:
            return
        width = rest[0] - len(prefix)
        for number in range(10**width):
            cover(f"{prefix}{number:0{width}d}", rest[1:])

    cover("", _DAY)
    return found
