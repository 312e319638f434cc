"""The query language: words (all required), "phrases", prefixes*, -exclusions and filters.

    role: tool: agent: thread:   author, tool, thread; the same filter twice matches either value
    since: until:                2026-11-18, 2026-11, 2026-11-18T10:00Z, 12h, 7d, 2w, 3mo, 1y, today, yesterday

User input is never passed to a database as query syntax: words are extracted from it and quoted as tokens.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from hansard.errors import HansardError
from hansard.ledger.search.indexed_text import STEM, STEMS
from hansard.ledger.search.tokenizer import TermPattern, folded, words
from hansard.model.times import milliseconds

NAMES = ("role", "tool", "agent", "thread")
_TYPED = re.compile(
    r"""(?P<minus>-(?!-))?
    (?: (?P<name>role|tool|agent|thread|since|until) : (?: "(?P<quoted>[^"]*)"? | (?P<value>\S*) )
      | "(?P<phrase>[^"]*)"?(?P<star>\*)?
      | (?P<word>[^\s"]+) )""",
    re.VERBOSE | re.IGNORECASE,
)
_MOST_WORDS = 256
_MOST_WEIGHED = 4
_AGO = re.compile(r"(\d{1,6})(min|h|d|w|mo|y)")
_HOURS = {"min": 1 / 60, "h": 1, "d": 24, "w": 24 * 7, "mo": 24 * 30, "y": 24 * 365}
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")


class Term(NamedTuple):
    """Consecutive words; with `prefix` the last one matches as a prefix."""

    words: tuple[str, ...]
    prefix: bool = False


class Atom(NamedTuple):
    """A token of the index, or a prefix of tokens."""

    token: str
    prefix: bool = False


class Query:
    """A parsed query; `since` (inclusive) and `until` (exclusive) are milliseconds."""

    def __init__(self, text: str, now: int) -> None:
        self.wanted: list[Term] = []
        self.unwanted: list[Term] = []
        self.filters: dict[str, list[str]] = {}
        self.without: dict[str, list[str]] = {}
        self.since: int | None = None
        self.until: int | None = None
        for found in _TYPED.finditer(text):
            if found["name"]:
                self._filter(found, now)
            else:
                self._term(found)
        if sum(len(term.words) for term in (*self.wanted, *self.unwanted)) > _MOST_WORDS:
            raise HansardError(f"a query has at most {_MOST_WORDS} words; remove some")
        if not (self.wanted or self.filters or self.since is not None or self.until is not None):
            typed = text if len(text) < 80 else text[:80] + "..."
            raise HansardError(
                f'nothing to search for in {typed!r}; enter a word, a "phrase" or a filter like role:user'
            )

    def _term(self, found: re.Match[str]) -> None:
        typed = found["word"] if found["phrase"] is None else found["phrase"]
        prefix = bool(found["star"]) or (found["phrase"] is None and typed.endswith("*"))
        if taken := tuple(words(folded(typed))):
            (self.unwanted if found["minus"] else self.wanted).append(Term(taken, prefix))

    def _filter(self, found: re.Match[str], now: int) -> None:
        name = found["name"].lower()
        value = found["value"] if found["quoted"] is None else found["quoted"]
        if not value:
            raise HansardError(f"{name}: needs a value, like {name}:{_EXAMPLES[name]}")
        if name in NAMES:
            (self.without if found["minus"] else self.filters).setdefault(name, []).append(value)
            return
        if found["minus"]:
            other = "until" if name == "since" else "since"
            raise HansardError(f"filter {name}: cannot be negated; use {other}:{value}")
        first, end = span(name, value, now)
        if name == "since":
            self.since = first if self.since is None else max(first, self.since)
        else:
            self.until = end if self.until is None else min(end, self.until)

    @cached_property
    def phrases(self) -> list[TermPattern]:
        """Phrases that a message's folded text must contain."""
        return [TermPattern([term]) for term in self.wanted if len(term.words) > 1]

    @cached_property
    def no_phrases(self) -> list[TermPattern]:
        """Phrases that it must not contain."""
        return [TermPattern([term]) for term in self.unwanted if len(term.words) > 1]

    @cached_property
    def highlighted(self) -> TermPattern | None:
        """The pattern of what is highlighted in a snippet."""
        return TermPattern(list(self.wanted)) if self.wanted else None

    @cached_property
    def heaviest(self) -> list[str]:
        """The words whose weight ranks messages: the longest of each term, which tends to be the rarest."""
        whole = [term.words[:-1] if term.prefix else term.words for term in self.wanted]
        return list(dict.fromkeys(max(words, key=len) for words in whole if words))[:_MOST_WEIGHED]


_EXAMPLES = {"role": "user", "tool": "Bash", "agent": "assistant", "thread": "ID", "since": "7d", "until": "2026-01-31"}


def atoms(term: Term) -> list[list[Atom]]:
    """For each word of a term, the tokens of which a matching message has at least one."""
    found = [[Atom(word)] for word in (term.words[:-1] if term.prefix else term.words)]
    if term.prefix:
        word = term.words[-1]
        if len(word) in STEMS:
            found.append([Atom(STEM + word)])
        elif len(word) == 1:
            found.append([Atom(word), Atom(STEM + word, True)])
        else:
            found.append([Atom(word, True)])
    return found


def fts5(wanted: list[list[Atom]], unwanted: list[Atom]) -> str:
    """The query for SQLite: at least one of each wanted list and none of the unwanted."""

    def either(items: list[Atom]) -> str:
        return "(" + " OR ".join(_quoted(item.token) + ("*" if item.prefix else "") for item in items) + ")"

    text = " AND ".join(map(either, wanted))
    return f"({text}) NOT {either(unwanted)}" if unwanted else text


def tsquery(wanted: list[list[Atom]], unwanted: list[Atom]) -> str:
    """The same for PostgreSQL."""

    def either(items: list[Atom]) -> str:
        return "(" + " | ".join(_lexeme(item.token) + (":*" if item.prefix else "") for item in items) + ")"

    text = " & ".join(map(either, wanted))
    return f"{text} & !{either(unwanted)}" if unwanted else text


def _quoted(token: str) -> str:
    return '"' + token.replace('"', '""') + '"'


def _lexeme(token: str) -> str:
    return "'" + token.replace("\\", "\\\\").replace("'", "''") + "'"


def span(name: str, value: str, now: int) -> tuple[int, int]:
    """The first millisecond of a time, and the one after its last."""
    text = value.strip().lower()
    if (ago := _AGO.fullmatch(text)) is not None:
        moment = now - round(int(ago[1]) * _HOURS[ago[2]] * 3_600_000)
        return moment, moment
    if text in ("today", "yesterday"):
        text = f"{datetime.fromtimestamp(now // 1000, UTC) - timedelta(days=text == 'yesterday'):%Y-%m-%d}"
    try:
        if (date := _DATE.fullmatch(text)) is not None:
            first = datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1), tzinfo=UTC)
            return _ms(first), _ms(_after(first, day=date[3] is not None, month=date[2] is not None))
    except (ValueError, OverflowError):
        pass
    else:
        if (exact := milliseconds(value.strip())) is not None:
            return exact, exact + 1
    raise HansardError(f"{name}:{value} is not a valid time; use {name}:2026-11-18, an ISO 8601 time, or {name}:7d")


def _after(first: datetime, *, day: bool, month: bool) -> datetime:
    if day:
        return first + timedelta(days=1)
    if month:
        return (first + timedelta(days=32)).replace(day=1)
    return first.replace(year=first.year + 1)


def _ms(moment: datetime) -> int:
    return int(moment.timestamp()) * 1000
