"""What a format is, and how to add one.

A format is pure mapping: no I/O, no clock, no ids made. To add one:

1. Write `formats/NAME/__init__.py`: a docstring (spec, version, a table canonical/native, what is lost), the row
   `FORMAT = Format(name=..., title=..., module=__name__, sniff=sniff, ...)` and `sniff`, which returns how surely
   parsed data (of a `text` format also bytes) is of this format: 0 no, 1 possible, 2 likely, 3 certain. Import only
   this module there: all rows are loaded to look a name up, and detection loads no reader. `keys` and `item_keys`
   are hints that spare most calls of `sniff`.
2. Write `formats/NAME/messages.py` with `read(document) -> Conversation`, which may take the document apart, and
   `write(conversation, target)`, whose result may hold structs in place of objects. Losses are not reported: they
   are found by reading back. Keep what no canonical field says with `residue.pack`. A small format is one module
   that holds the row too; a coding agent's session files stand in `session.py` and define `SESSION` besides.
3. Add one line to `_MODULES` in `formats/registry.py`, or, in another package, an entry point of the group
   `hansard.formats`: `NAME = "package.module:FORMAT"`. Everything else is the same.
4. Put at least five documents into `tests/golden/NAME/` and run the laws: `pytest tests/laws -k NAME`.

Found by name when defined beside `read`: `split` and `join` (a document holds many conversations), `kept` (a
`write_only` format: what its document shows), `repair` (messages as its consumers accept them), `migrated` (messages of
an older generation of it), `decode_typed`, `SESSION`; in `rules.py`: `RULES` of a provider, `check(document)` of a
specification.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message

if TYPE_CHECKING:
    from hansard.formats.coding_agents.session_file import SessionFile
    from hansard.formats.requests import Dialect
    from hansard.formats.rules.conform import Rules
    from hansard.model.diff import Difference
    from hansard.model.validate import Finding
else:
    Dialect = Difference = Finding = Rules = SessionFile = (
        Any  # `typing.get_type_hints` resolves them without loading a reader
    )


class Target(Struct, frozen=True, kw_only=True):
    """For whom a document is written: a profile of the format, and who will read opaque reasoning in it.

    `at` is the time to write where a format requires one and the source knows none.

    >>> import hansard
    >>> hello = hansard.Conversation(messages=[hansard.Message.assistant("hi")])
    >>> hansard.write(hello, "ai-sdk-ui", target=Target(profile="v5")).data[0]["parts"][1]
    {'type': 'text', 'text': 'hi', 'state': 'done'}
    """

    profile: str | None = None
    provider: str | None = None
    transport: str | None = None
    model: str | None = None
    at: str | None = None


Kind: TypeAlias = Literal["text", "files", "calls", "instructions", "settings", "metadata", "spelling", "repair"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Loss(Struct, frozen=True, kw_only=True, order=True):
    """One place where the written document reads back otherwise: where, what, why.

    `path` goes down to the leaf in the source; of what was added it is the place in what reads back. `kind` says what
    is concerned: `text`, `files`, `calls` (and their results), `instructions` (system prompts), `settings` (and tools
    of a request), `metadata` (usage, model, times, ids, signatures), `spelling` (nulls, defaults, another way to write
    the same) or `repair` (changed or added because the target's rules ask for it).

    >>> import hansard
    >>> said = hansard.Message.assistant("hi", usage=hansard.Usage(output_tokens=1))
    >>> lost = hansard.write(hansard.Conversation(messages=[said]), "anthropic").losses
    >>> [(loss.kind, loss.path) for loss in lost if loss.kind != "spelling"]
    [('metadata', '$.messages[0].usage')]
    """

    path: str
    what: str
    why: str
    kind: Kind = "metadata"


class Losses(list[Loss]):
    """A list of losses that shows itself grouped, what matters first.

    >>> losses = Losses([Loss(path="$.id", what='"t1"', why="there is no place for it")])
    >>> losses.counts
    {'metadata': 1}
    >>> losses
    1 loss: 1 metadata
      metadata      1  there is no place for it
                       $.id: "t1"
    """

    @property
    def counts(self) -> dict[Kind, int]:
        """How many there are of each kind."""
        found = Counter(loss.kind for loss in self)
        return {kind: found[kind] for kind in KINDS if found[kind]}

    def of(self, *kinds: Kind) -> Losses:
        """Those of some kinds."""
        return Losses(loss for loss in self if loss.kind in kinds)

    @property
    def title(self) -> str:
        """Their number, and that of each kind, in one line."""
        if not self:
            return "no losses"
        counts = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
        return f"{len(self)} {'loss' if len(self) == 1 else 'losses'}: {counts}"

    def summary(self) -> str:
        """A table: for each kind and reason the number, and the first place."""
        return "\n".join([self.title, *self.groups()])

    def groups(self) -> Iterator[str]:
        """The lines of the table."""
        found: dict[tuple[Kind, str], list[Loss]] = {}
        for loss in self:
            found.setdefault((loss.kind, loss.why), []).append(loss)
        for kind, why in sorted(found, key=lambda group: (KINDS.index(group[0]), -len(found[group]))):
            first, *others = found[kind, why]
            more = f", and {len(others)} more" if others else ""
            yield f"  {kind:<12}{len(others) + 1:>3}  {why}"
            yield f"{'':<19}{first.path}: {first.what}{more}"

    def __repr__(self) -> str:
        return self.summary() if self else "[]"


class Reader(Protocol):
    def __call__(self, document: Any, /) -> Conversation: ...


class Writer(Protocol):
    def __call__(self, conversation: Conversation, target: Target, /) -> Any: ...


class Repairer(Protocol):
    def __call__(
        self, messages: list[Message], target: Target, notes: list[Loss], path: list[int], /
    ) -> list[Message]: ...


def _never(document: Any, /) -> int:
    return 0


class Format(Struct, frozen=True, kw_only=True, dict=True):
    """One row of the registry: what is known of a format without loading its reader.

    `module` is where the row stands (`__name__`); the code is found there by name when it is first asked for.
    `sniff` says how surely parsed data is of this format: 0 no, 1 possible, 2 likely, 3 certain; a format without it
    has to be named. `keys` are hints: an object without any of them is not of this format; `item_keys` the same for
    the first object of a list (the empty set: it never is a list).
    `text` formats are given bytes and give bytes (files of lines); the others parsed JSON. A `verbatim` one gives
    back every byte.
    `trees` formats carry every branch; the others are given the active path.
    `active_runs`: besides that path the messages of runs that are still active, after it.
    `write_only` formats are documents for people, which no reader reads.
    `coding_agent`: what is written for it names that agent's own tools.
    `binds`: its signatures are bound to the messages before them; `own_provider` is the provider that made them.
    `strict_unicode`: its consumers reject lone surrogates, as the servers of all providers do.
    `why` gives the reason for a loss by the field that is lost; `explain(difference)` the reason and the kind, where
    the field alone does not say them.

    >>> from hansard import formats
    >>> formats.get("anthropic").title, formats.get("anthropic").own_provider
    ('Anthropic Messages API', 'anthropic')
    """

    name: str
    title: str
    module: str
    sniff: Callable[[Any], int] = _never
    keys: frozenset[str] | None = None
    item_keys: frozenset[str] | None = None
    profiles: tuple[str, ...] = ()
    text: bool = False
    verbatim: bool = False
    trees: bool = False
    active_runs: bool = False
    write_only: bool = False
    coding_agent: bool = False
    binds: bool = False
    own_provider: str | None = None
    suffix: str = "json"
    strict_unicode: bool = False
    why: dict[str, str] = {}
    explain: Callable[[Difference], tuple[str, Kind] | None] | None = None

    @cached_property
    def confidence(self) -> Callable[[Any], int]:
        """`sniff`; an error in that of a plug-in names the plug-in."""
        sniff: Callable[[Any], int] = self._guarded(self.sniff, int)
        return sniff

    def _guarded(self, function: Any, result: type | None = None) -> Any:
        """A function of the format; of a plug-in, one whose errors name it."""
        if function is None or self.module.startswith("hansard."):
            return function
        from hansard.formats.plugin_errors import guarded

        return guarded(self, function, result)

    @cached_property
    def code(self) -> ModuleType:
        """The module of `read` and `write`: `messages` (or `session`) of the format's package, or its only module."""
        home = import_module(self.module)
        if not hasattr(home, "__path__"):
            return home
        return _submodule(self.module, "messages") or import_module(f"{self.module}.session")

    @cached_property
    def read(self) -> Reader:
        """Maps a parsed document of one conversation; it may take the document apart."""
        return _refusing(self.name) if self.write_only else self._guarded(self.code.read, Conversation)

    @cached_property
    def write(self) -> Writer:
        """Maps a conversation to a document."""
        write: Writer = self._guarded(self.code.write)
        return write

    @cached_property
    def split(self) -> Callable[[Any], list[Any]] | None:
        """Cuts a document of many conversations into documents of one, which `read` and `write` know alone."""
        split: Callable[[Any], list[Any]] | None = self._guarded(getattr(self.code, "split", None), list)
        return split

    @cached_property
    def join(self) -> Callable[[list[Any]], Any] | None:
        """Puts documents of one conversation together again."""
        join: Callable[[list[Any]], Any] | None = self._guarded(getattr(self.code, "join", None))
        return join

    @cached_property
    def kept(self) -> Callable[[Conversation], Conversation] | None:
        """What the document of a `write_only` format shows of a conversation; `write` writes nothing else."""
        kept: Callable[[Conversation], Conversation] | None = self._guarded(
            getattr(self.code, "kept", None), Conversation
        )
        return kept

    @cached_property
    def repair(self) -> Repairer | None:
        """The messages as the format's consumers accept them; notes say what was changed, by the index in the path."""
        return getattr(self.code, "repair", None)

    @cached_property
    def migrated(self) -> Callable[[Conversation], Conversation] | None:
        """Brings messages of an older generation of the format to the current one; `write` alone keeps them."""
        return getattr(self.code, "migrated", None)

    @cached_property
    def decode_typed(self) -> Callable[[bytes], Any] | None:
        """Decodes the text of a usual document to typed records, which `read` knows too; gives None for any other."""
        return getattr(self.code, "decode_typed", None)

    @cached_property
    def session(self) -> SessionFile | None:
        """Reads files as they grow; None for other formats than session files."""
        return getattr(self.code, "SESSION", None)

    @cached_property
    def rules(self) -> Rules | None:
        """What the provider accepts in a request; None for formats without a provider."""
        return None if self.own_provider is None else getattr(self._beside, "RULES", None)

    @cached_property
    def dialect(self) -> Dialect | None:
        """How requests of the provider say tools and settings; None for formats without a provider."""
        if self.own_provider is None:
            return None
        return getattr(_submodule(self.module, "settings"), "DIALECT", None)

    @cached_property
    def check(self) -> Callable[[Any], list[Finding]] | None:
        """The checks of a document by the rules of its specification, in place of those of every conversation."""
        return getattr(self._beside, "check", None)

    @cached_property
    def _beside(self) -> ModuleType:
        home = import_module(self.module)
        return (_submodule(self.module, "rules") if hasattr(home, "__path__") else None) or self.code


def _submodule(package: str, name: str) -> ModuleType | None:
    full = f"{package}.{name}"
    return import_module(full) if find_spec(full) is not None else None


def _refusing(name: str) -> Reader:
    def refuse(document: Any) -> Conversation:
        raise Unreadable(f"{name} is only written, never read", "$", "read the document it was made from")

    return refuse


class Written:
    """A written document: `data` as Python values (or bytes), `json` as bytes, and `losses`, found by reading back.

    >>> import hansard
    >>> written = hansard.write(hansard.Conversation(messages=[hansard.Message.user("hi")]), "anthropic")
    >>> written.data, written.losses
    ({'messages': [{'role': 'user', 'content': 'hi'}]}, [])
    """

    def __init__(
        self,
        format: Format,
        target: Target,
        source: Conversation,
        data: Any,
        losses: Callable[[Written], Losses],
        text: bytes | None = None,
    ) -> None:
        self.format, self.target, self.source = format, target, source
        self._made, self._losses, self._text = data, losses, text

    @cached_property
    def data(self) -> Any:
        """The document as JSON data; bytes where the format is not one JSON document: session files, lines, pages."""
        return _as_data(self.format, self._made)

    @cached_property
    def document(self) -> Any:
        """The document as its reader takes it: `data`, or bytes where the format is one of text."""
        return self._made if isinstance(self._made, bytes) else self.data

    @cached_property
    def losses(self) -> Losses:
        """What the document does not say of the source; empty if and only if it reads back as the same."""
        return self._losses(self)

    def summary(self) -> str:
        """The losses as a table by kind and reason, what matters first; then what is missing in a request."""
        return _summary(self)

    @cached_property
    def missing(self) -> list[str]:
        """What the provider requires of a request and the conversation does not say, such as `maxTokens`."""
        if self.format.dialect is None:
            return []
        from hansard.formats.requests import missing

        return missing(self.format.dialect, self.data)

    @cached_property
    def json(self) -> bytes:
        """The document as bytes, ready for a file or a socket."""
        if isinstance(self._made, bytes):
            return self._made
        return self._text if self._text is not None else exact_json.encode(self._made)

    def __repr__(self) -> str:
        return f"<Written {self.format.name}, {len(self.source.messages)} messages; {self.losses.title}>"


def losses_of(each: list[Written]) -> Losses:
    """The losses of several, each path after the number of its conversation."""
    found = enumerate(each)
    return Losses(replace(loss, path=f"$[{i}]{loss.path[1:]}") for i, written in found for loss in written.losses)


def _summary(written: Written | WrittenAll) -> str:
    missing = ", ".join(written.missing)
    return written.losses.summary() + (f"\nmissing: {missing}" if missing else "")


def _as_data(format: Format, document: Any) -> Any:
    if not isinstance(document, bytes):
        return exact_json.plain(document)
    if format.suffix != "json" or format.verbatim:
        return document
    try:
        return exact_json.plain(exact_json.decode(document))
    except Unreadable:  # a plug-in's text that does not name its suffix
        return document


class WrittenAll:
    """Many conversations in one document: the same `data`, `json` and `losses`, whose paths begin with `$[i]`.

    >>> import hansard
    >>> hello = hansard.Conversation(messages=[hansard.Message.user("hi")])
    >>> len(hansard.write_all([hello, hello], "openai-finetune").json.splitlines())
    2
    """

    def __init__(self, each: list[Written], format: Format, document: Any) -> None:
        self.each, self.format, self.document = each, format, document

    @cached_property
    def data(self) -> Any:
        """The document as JSON data, or as bytes where the format is not one JSON document."""
        return _as_data(self.format, self.document)

    @cached_property
    def losses(self) -> Losses:
        """What the document does not say of its conversations, each read back from the whole."""
        if self.each and self.format.split is not None:
            for written, document in zip(self.each, self.format.split(self.document), strict=True):
                written.document = document
        return losses_of(self.each)

    def summary(self) -> str:
        """The losses as a table by kind and reason, what matters first; then what is missing in the requests."""
        return _summary(self)

    @cached_property
    def missing(self) -> list[str]:
        """What the provider requires of some of the requests and their conversations do not say."""
        return list(dict.fromkeys(name for written in self.each for name in written.missing))

    @cached_property
    def json(self) -> bytes:
        """The document as bytes."""
        return self.document if isinstance(self.document, bytes) else exact_json.encode(self.document)

    def __repr__(self) -> str:
        return f"<WrittenAll {self.format.name}, {len(self.each)} conversations; {self.losses.title}>"


__all__ = ["KINDS", "Format", "Kind", "Loss", "Losses", "Target", "Written", "WrittenAll"]
