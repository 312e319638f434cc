"""What a format is, and what writing to one gives back.

A format is pure mapping: `read` takes a parsed document apart (it may change it), `write` builds one, in which
structs may stand for objects: they are quicker to make and to encode than dicts. Neither
does I/O, reads a clock, makes ids or reports losses: `Written.losses` reads the result back and compares.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.model import exact_json
from hansard.model.conversation import Conversation

if TYPE_CHECKING:
    from hansard.formats.coding_agents.session_file import SessionFile
    from hansard.formats.rules.conform import Law


class Target(Struct, frozen=True, kw_only=True):
    """For whom a document is written: a profile of the format, and who will read opaque reasoning in it."""

    profile: str | None = None
    provider: str | None = None
    transport: str | None = None
    model: str | None = None


class Loss(Struct, frozen=True, kw_only=True, order=True):
    """One thing the written document does not say: where it stood, what it was, why it could not be carried.

    `kind` is content (what somebody said), identity (ids, times, names), settings (of a request), spelling
    (two ways to write the same) or repair (changed because the target's rules ask for it).
    """

    path: str
    what: str
    why: str
    kind: str = "content"


class Reader(Protocol):
    def __call__(self, document: Any, /) -> Conversation: ...


class Writer(Protocol):
    def __call__(self, conversation: Conversation, target: Target, /) -> Any: ...


class Format(Struct, frozen=True, kw_only=True):
    """One row of the registry.

    `fits` says how surely parsed data is of this format: 0 no, 1 possible, 2 likely, 3 certain.
    `text` formats are given bytes and give bytes (files of lines); the others parsed JSON. A `verbatim` one gives
    back every byte.
    `trees` formats carry every branch; the others are given the active path.
    A document of some formats holds many conversations: `split` cuts it into documents of one, `join` puts such
    documents together again; `read` and `write` only ever see one conversation.
    A format that is only written says with `kept` what its document shows of a conversation, and writes nothing else.
    `usual` decodes the text of a usual document to typed records that `read` knows too; None when it is not usual.
    `session` reads files as they grow (`session_file`).
    `law` holds a provider's rules; `own_provider` is whose signatures a document of this format holds.
    `whole_letters`: who reads it refuses half a surrogate pair, as all providers do.
    """

    name: str
    title: str
    read: Reader
    write: Writer
    fits: Callable[[Any], int]
    profiles: tuple[str, ...] = ()
    text: bool = False
    verbatim: bool = False
    trees: bool = False
    binds: bool = False
    own_provider: str | None = None
    split: Callable[[Any], list[Any]] | None = None
    join: Callable[[list[Any]], Any] | None = None
    kept: Callable[[Conversation], Conversation] | None = None
    suffix: str = "json"
    law: Law | None = None
    whole_letters: bool = False
    usual: Callable[[bytes], Any] | None = None
    session: SessionFile | None = None
    why: dict[str, str] = {}


class Written:
    """A written document: `data` as Python values (or bytes), `json` as bytes, and the proven `losses`."""

    def __init__(
        self,
        format: Format,
        target: Target,
        source: Conversation,
        data: Any,
        losses: Callable[[Written], list[Loss]],
        text: bytes | None = None,
    ) -> None:
        self.format, self.target, self.source = format, target, source
        self._made, self._losses, self._text = data, losses, text

    @cached_property
    def data(self) -> Any:
        """The document as plain values, or as bytes where the format is one of text."""
        return self._made if isinstance(self._made, bytes) else exact_json.plain(self._made)

    @cached_property
    def losses(self) -> list[Loss]:
        """What the document does not say of the source; empty if and only if it reads back as the same."""
        return self._losses(self)

    @cached_property
    def json(self) -> bytes:
        """The document as bytes, ready for a file or a socket."""
        if isinstance(self._made, bytes):
            return self._made
        return self._text if self._text is not None else exact_json.encode(self._made)

    def __repr__(self) -> str:
        return f"<Written {self.format.name}, {len(self.source.messages)} messages>"


def losses_of(each: list[Written]) -> list[Loss]:
    """The losses of several, each path behind the number of its conversation."""
    found = enumerate(each)
    return [replace(loss, path=f"$[{i}]{loss.path[1:]}") for i, written in found for loss in written.losses]


class WrittenAll:
    """Many conversations in one document: the same `data`, `json` and `losses`, whose paths begin with `$[i]`."""

    def __init__(self, each: list[Written], format: Format, data: Any) -> None:
        self.each, self.format, self.data = each, format, data

    @cached_property
    def losses(self) -> list[Loss]:
        """What the document does not say of its conversations, each read back from the whole."""
        if self.each and self.format.split is not None:
            for written, document in zip(self.each, self.format.split(self.data), strict=True):
                written.data = document
        return losses_of(self.each)

    @cached_property
    def json(self) -> bytes:
        """The document as bytes."""
        return self.data if isinstance(self.data, bytes) else exact_json.encode(self.data)

    def __repr__(self) -> str:
        return f"<WrittenAll {self.format.name}, {len(self.each)} conversations>"


def only_written(name: str) -> Reader:
    """The reader of a format that is only written: it says so."""

    def refuse(document: Any) -> Conversation:
        raise Unreadable(f"{name} is only written, never read", "$", "read the document it was made from")

    return refuse


__all__ = ["Format", "Loss", "Target", "Written", "WrittenAll"]
