"""A kind of block and all blocks of a format, with the functions generated from their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from operator import or_
from typing import Any, NoReturn

import msgspec
from msgspec import UNSET, UnsetType

from hansard.formats.field_table.records import NeedsPlainDecode, Record, Written, plain
from hansard.formats.field_table.rows import Row, check, is_checked
from hansard.formats.field_table.source import SOURCES, compiled
from hansard.formats.residue import SchemaMismatch, pack
from hansard.model.parts import Part, RawPart


class Block:
    """A kind of block: its rows, and what is generated from them.

    `names` are further native names of the same block and what they fix:
    `{"server_tool_use": {"provider_executed": True}}`; which one it was is a spelling hint under the key of the tag.
    `fixed` fields have the same value in every part; `derived` ones are made from another field and the context:
    `{"tool_name": ("tool_call_id", lookup)}`. `then(part, context)` sees every part that was read.
    A block with logic has `reader(block, context)` instead; typed records are read by it as plain values.
    """

    def __init__(
        self,
        format: str,
        name: str,
        part: type[Part],
        rows: Sequence[Row],
        *,
        tag: str = "type",
        names: dict[str, dict[str, Any]] | None = None,
        fixed: dict[str, Any] | None = None,
        derived: dict[str, tuple[str, Callable[[Any, Any], Any]]] | None = None,
        then: Callable[[Any, Any], None] | None = None,
        reader: Callable[[dict[str, Any], Any], Any] | None = None,
    ) -> None:
        self.format, self.name, self.part, self.tag = format, name, part, tag
        self.rows, self.names = tuple(rows), {name: {}, **(names or {})}
        self.by_name = list(dict.fromkeys(field for fields in self.names.values() for field in fields))
        self.fixed, self.derived, self.then, self.reader = fixed or {}, derived or {}, then, reader
        self.by_key = {row.native: row for row in self.rows}
        self.fields = [row for row in self.rows if row.field is not None]
        taken = {row.native: None if row.read else row.kind for row in self.fields}
        self.known = {self.tag, *(key for key, kind in taken.items() if kind is None)}
        self.kinds = {key: kind for key, kind in taken.items() if kind is not None}
        check(self, (*self.by_name, *self.fixed, *self.derived))

    def __repr__(self) -> str:
        return f"<Block {self.format}: {self.name}>"

    def place(self, key: str) -> str:
        """How errors and tracebacks name a row."""
        return f"{self.format} {self.name}: {key}"

    # -- what is generated -----------------------------------------------------------------------------------------

    @cached_property
    def read(self) -> Callable[[dict[str, Any], Any], Any]:
        """The reader of plain values: `read(block, context)` gives a part or raises SchemaMismatch."""
        return self.reader or compiled(self, "read")

    @cached_property
    def write(self) -> Callable[[Any], dict[str, Any]]:
        """The writer: `write(part)` gives a dict, the residue after the fields."""
        return compiled(self, "write")

    @cached_property
    def write_record(self) -> Callable[[Any], Any]:
        """The typed writer: a `Written` for a part without residue, a dict for any other."""
        return compiled(self, "write_record")

    @cached_property
    def read_record(self) -> Callable[[Any, Any], Any]:
        """The reader of typed records; raises NeedsPlainDecode for one that does not fit its rows."""
        return self.read_plain_record if self.reader else compiled(self, "read_record")

    @cached_property
    def records(self) -> tuple[type[Record], ...]:
        """The structs that a typed document is decoded to, one for each native name."""
        rows: list[Any] = [(row.native, str) if is_checked(row) else (row.native, Any, UNSET) for row in self.rows]
        config: dict[str, Any] = {"bases": (Record,), "tag_field": self.tag, "kw_only": True, "gc": False}
        return tuple(msgspec.defstruct(f"Record_{name}", rows, tag=name, **config) for name in self.names)  # type: ignore[misc]

    @cached_property
    def written(self) -> type[Written]:
        """The struct that a part without residue is written as."""
        rows = [(self.tag, str), *((row.native, Any) for row in self.fields)]
        return msgspec.defstruct(f"Written_{self.name}", rows, bases=(Written,), gc=False)  # type: ignore[return-value]

    def source(self) -> str:
        """The generated code."""
        return "\n\n".join(SOURCES[name](self) for name in ("read", "write", "read_record", "write_record"))

    # -- what the generated code calls off its usual way -----------------------------------------------------------

    def mismatch(self, key: str, value: Any) -> NoReturn:
        row = self.by_key[key]
        found = "is missing" if value is UNSET else f"must be {row.kind.__name__ if row.kind else 'there'}"
        raise SchemaMismatch(f"{self.place(key)} {found}")

    def residue(self, block: dict[str, Any], hints: dict[str, Any] | None = None) -> dict[str, Any] | UnsetType:
        """`extra` of a part: the values that no row takes, and the spelling hints."""
        known, kinds = self.known, self.kinds
        rest = {key: block[key] for key in block if key not in known and type(block[key]) is not kinds.get(key)}
        return pack(self.format, rest, hints)

    def read_plain_record(self, record: Record, context: Any) -> Any:
        """A record that says more than its rows can is read as plain values."""
        try:
            part = self.read(plain(record), context)
        except SchemaMismatch:
            raise NeedsPlainDecode from None
        if type(part) is RawPart:
            raise NeedsPlainDecode
        return part


class Blocks:
    """The blocks of a format by their native names. `other(name)` finds a block for a name that no table lists."""

    def __init__(self, *blocks: Block, other: Callable[[str], Block | None] | None = None) -> None:
        self.format, self.tag = blocks[0].format, blocks[0].tag
        self.blocks = {name: block for block in blocks for name in block.names}
        self.readers = _Lazily(lambda name: found.read if (found := self._find(name)) else None)
        self.record_readers = _Lazily(lambda record: self.blocks[record.__struct_config__.tag].read_record)
        self._other = other

    def _find(self, name: Any) -> Block | None:
        return self.blocks.get(name) or (self._other(name) if self._other else None)

    def read(self, block: Any, context: Any) -> Any:
        """A block as a part; one that is unknown or does not fit its table is kept raw."""
        if type(block) is dict:
            name = block.get(self.tag)
            if type(name) is str and (reader := self.readers[name]) is not None:
                try:
                    return reader(block, context)
                except SchemaMismatch:
                    pass
        return RawPart(format=self.format, value=block)

    def read_all(self, blocks: list[Any], context: Any) -> list[Any]:
        """The parts of a list of blocks."""
        readers, tag = self.readers, self.tag
        parts: list[Any] = []
        for block in blocks:
            if type(block) is dict and type(name := block.get(tag)) is str and (reader := readers[name]) is not None:
                try:
                    parts.append(reader(block, context))
                    continue
                except SchemaMismatch:
                    pass
            parts.append(RawPart(format=self.format, value=block))
        return parts

    def read_records(self, records: list[Any], context: Any) -> list[Any]:
        """The parts of a list of typed records; raises NeedsPlainDecode when one has to be kept raw."""
        readers = self.record_readers
        try:
            if len(records) == 1:  # spares the call of a comprehension
                (record,) = records
                return [readers[type(record)](record, context)]
            return [readers[type(record)](record, context) for record in records]
        except SchemaMismatch:
            raise NeedsPlainDecode from None

    @cached_property
    def record(self) -> Any:
        """The type of a typed block: any of the structs of all tables."""
        records = (record for block in dict.fromkeys(self.blocks.values()) for record in block.records)
        return reduce(or_, records)


class _Lazily(dict[Any, Any]):
    """Functions made when they are first asked for."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.make = make

    def __missing__(self, key: Any) -> Any:
        found = self.make(key)
        if found is not None:  # unknown names come from documents: they are not kept
            self[key] = found
        return found
