"""Field tables: what a block of a format is, as rows; its reader and writer are generated from them.

A `Block` lists one `Row` for each native key: the canonical field, the kind of its values, whether it is required.

    CALL = Block("anthropic", "tool_use", ToolCallPart, [
        #   native key    canonical        kind   required
        Row("id",         "tool_call_id",  str,   True),
        Row("name",       "tool_name",     str,   True),
        Row("input",      "input"),
        Row("cache_control"),
    ])

    CALL.read({"type": "tool_use", "id": "c1", "name": "f", "x": 1}, {})
        ToolCallPart(tool_call_id="c1", tool_name="f", extra={"anthropic": {"x": 1}})
    CALL.write(part)         the same dict, residue put back after the fields
    CALL.write_record(part)  a struct for a part without residue: quicker to make and to encode than a dict

Residue needs no line: a key without a row, a row without a canonical field, and a value of another kind stay in
`extra[format]`. A required field that is missing or of another kind raises `SchemaMismatch`; the block is kept raw.
Where a value needs logic its row has `read` and `write`; where the whole block does, the block has them.

**Typed documents.** `Block.record` is a msgspec struct of all rows. `decode` decodes a text that holds no other key to
such records in one go, without a dict for each object, and `Blocks.read_record` maps them by the same rows. A text
with one unknown key anywhere is decoded to plain values as a whole, so what is read is the same either way.

**Generated code** is straight-line Python, compiled when a block is first met. Its file is called
`<field table anthropic: tool_use>`, its lines end with the native key of their row, and tracebacks show them;
`print(CALL.source())` shows all of it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from functools import cache, cached_property, reduce
from operator import itemgetter, or_
from typing import Any, NoReturn

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import astuple

from hansard.formats.residue import HINTS, SchemaMismatch, pack, unpack
from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.model.parts import Part, RawPart

# -- typed documents -----------------------------------------------------------------------------------------------


class Record(Struct, forbid_unknown_fields=True, gc=False):
    """An object as it is decoded, whose keys are all known; an absent one is UNSET."""


class Written(Struct, gc=False):
    """An object as it is written, its fields in that order; one that is UNSET is left out."""


class Typed(Struct, gc=False, frozen=True):
    """A document of typed records, and the text it was decoded from."""

    document: Any
    text: bytes


class NeedsPlainDecode(Exception):
    """A part has to be kept raw, with its keys in the order they came: only plain values have that order."""


def check(messages: list[Message], start: int = 0) -> None:
    """Raise NeedsPlainDecode if one of the messages, read from typed records, holds a part that is kept raw."""
    for message in messages[start:]:
        for part in message.parts:
            if type(part) is RawPart:
                raise NeedsPlainDecode


def plain(record: Struct) -> dict[str, Any]:
    """The record as the dict it would have been."""
    return exact_json.plain(record)  # type: ignore[no-any-return]


def fields(record: Record) -> dict[str, Any]:
    """The fields that are set, their values as they are."""
    found = ((name, getattr(record, name)) for name in record.__struct_fields__)
    return {name: value for name, value in found if value is not UNSET}


def decode(raw: bytes, record: Any, body: type[Record]) -> Any:
    """A list of records or a body around them; None when the text has to be decoded to plain values."""
    listed = raw[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    found = exact_json.decode_as(_decoder(list[record] if listed else body), raw)
    return fields(found) if isinstance(found, Record) else found


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, float_hook=exact_json.exact_float)


# -- the table -----------------------------------------------------------------------------------------------------

ReadValue = Callable[[Any, Any, dict[str, Any]], Any]
WriteValue = Callable[[Any, dict[str, Any]], Any]


class Row(Struct, frozen=True):
    """A native key: the canonical field it is, the kind its values have, whether a block must have it.

    Without `field` the key is only known to the typed decoder; its value is residue. `absent` is the canonical value
    of a key that is not there; `test` narrows the values of a complete block. With `read` and `write` a row takes every
    value:

    - `read(value, context, hints)` gives the value of `field` (a tuple, where that names several), and sets the
      spelling hints that `write(part, hints)` needs to give the native value again, or UNSET to leave the key out.
    - A value of `kind` needs neither: it is the canonical value of the (first) field, the other fields are UNSET.
    """

    native: str
    field: str | tuple[str, ...] | None = None
    kind: type | None = None
    required: bool = False
    test: Callable[[Any], bool] | None = None
    absent: Any = UNSET
    read: ReadValue | None = None
    write: WriteValue | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """The canonical fields that the row fills."""
        return self.field if isinstance(self.field, tuple) else () if self.field is None else (self.field,)


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
        _check(self, (*self.by_name, *self.fixed, *self.derived))

    def __repr__(self) -> str:
        return f"<Block {self.format}: {self.name}>"

    def place(self, key: str) -> str:
        """How errors and tracebacks name a row."""
        return f"{self.format} {self.name}: {key}"

    # -- what is generated -----------------------------------------------------------------------------------------

    @cached_property
    def read(self) -> Callable[[dict[str, Any], Any], Any]:
        """The reader of plain values: `read(block, context)` gives a part or raises SchemaMismatch."""
        return self.reader or _compile(self, "read")

    @cached_property
    def write(self) -> Callable[[Any], dict[str, Any]]:
        """The writer: `write(part)` gives a dict, the residue after the fields."""
        return _compile(self, "write")

    @cached_property
    def write_record(self) -> Callable[[Any], Any]:
        """The typed writer: a `Written` for a part without residue, a dict for any other."""
        return _compile(self, "write_record")

    @cached_property
    def read_record(self) -> Callable[[Any, Any], Any]:
        """The reader of typed records; raises NeedsPlainDecode for one that does not fit its rows."""
        return self.read_plain_record if self.reader else _compile(self, "read_record")

    @cached_property
    def records(self) -> tuple[type[Record], ...]:
        """The structs that a typed document is decoded to, one for each native name."""
        rows: list[Any] = [(row.native, str) if _is_checked(row) else (row.native, Any, UNSET) for row in self.rows]
        config: dict[str, Any] = {"bases": (Record,), "tag_field": self.tag, "kw_only": True, "gc": False}
        return tuple(msgspec.defstruct(f"Record_{name}", rows, tag=name, **config) for name in self.names)  # type: ignore[misc]

    @cached_property
    def written(self) -> type[Written]:
        """The struct that a part without residue is written as."""
        rows = [(self.tag, str), *((row.native, Any) for row in self.fields)]
        return msgspec.defstruct(f"Written_{self.name}", rows, bases=(Written,), gc=False)  # type: ignore[return-value]

    def source(self) -> str:
        """The generated code."""
        return "\n\n".join(_SOURCES[name](self) for name in ("read", "write", "read_record", "write_record"))

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


def _check(block: Block | CompleteBlock, others: Sequence[str]) -> None:
    """Refuse a wrong row where the table is made, not where a document meets it."""
    place, known = f"{block.format} {block.name}", {*block.part.__struct_fields__} - {"extra", "unknown"}
    for row in block.rows:
        if not row.native.isidentifier():
            raise TypeError(f"{place}: {row.native}: a native key must be an identifier")
        if (row.read is None) != (row.write is None) or (len(row.targets) > 1 and row.read is None):
            raise TypeError(f"{place}: {row.native}: a row with logic needs both read and write")
        for field in row.targets:
            if field not in known:
                raise TypeError(f"{place}: {row.native}: {block.part.__name__} has no field {field!r}")
    for field in others:
        if field not in known:
            raise TypeError(f"{place}: {block.part.__name__} has no field {field!r}")


def body(name: str, key: str, message: Any, settings: Sequence[str]) -> type[Record]:
    """The record of a request: the key of its list of messages, and the settings around them."""
    rows: list[Any] = [(key, list[message]), *((setting, Any, UNSET) for setting in settings)]
    return msgspec.defstruct(name, rows, bases=(Record,), kw_only=True, gc=False)  # type: ignore[return-value]


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


class CompleteBlock:
    """A block that is always written with all its keys: those of its rows, and others whose `defaults` say nothing.

    Nearly all are so: `read`, `read_record` and `write` are generated for them and give None for any other block.
    `varying` keys have the value of an attribute of the context, or what a function makes of a field of the part, and
    are absent where that is UNSET: `{"timestamp": "at", "digests": ("output", digests_of)}`. A part is written so when
    the fields in `unset` are UNSET and those in `not_true` are not True.
    All kinds of blocks of a document are decoded to one `complete_record`, where the kind is the last key and a tagged
    union would be read twice.
    """

    def __init__(
        self,
        format: str,
        name: str,
        part: type[Part],
        rows: Sequence[Row],
        defaults: dict[str, Any],
        *,
        tag: str,
        fixed: dict[str, Any] | None = None,
        varying: dict[str, str | tuple[str, Callable[[Any], Any]]] | None = None,
        unset: Sequence[str] = (),
        not_true: Sequence[str] = (),
    ) -> None:
        self.format, self.name, self.part, self.tag = format, name, part, tag
        self.rows, self.defaults, self.fixed, self.varying = tuple(rows), defaults, fixed or {}, varying or {}
        self.unset, self.not_true = unset, not_true
        self.own = (*(row.native for row in self.rows), *self.varying)
        _check(self, (*self.fixed, *unset, *not_true))
        own = dict.fromkeys(row.native for row in self.rows)
        self.written = written_with({**own, **defaults, tag: name, **dict.fromkeys(self.varying, UNSET)})

    def __repr__(self) -> str:
        return f"<CompleteBlock {self.format}: {self.name}>"

    @cached_property
    def read(self) -> Callable[[dict[str, Any], Any], Any]:
        """`read(block, context)` for plain values: a part, or None."""
        return _compile_complete(self, "read", _read_complete(self))

    def read_record(self, record: type[Record]) -> Callable[[Any, Any], Any]:
        """`read_record(record, context)` for the record of all kinds: a part, or None."""
        keys = record.__struct_fields__
        end = max(map(keys.index, self.own)) + 1
        said = {**self.defaults, self.tag: self.name}
        source = _read_complete_record(self, [key for key in keys[:end] if key not in self.own], end)
        rest = tuple(said.get(key, UNSET) for key in keys[end:])
        return _compile_complete(self, "read_record", source, expected_=rest)

    @cached_property
    def write(self) -> Callable[[Any, Any], Any]:
        """`write(part, context)`: a struct, or None."""
        return _compile_complete(self, "write", _write_complete(self))


def written_with(values: dict[str, Any]) -> Any:
    """A struct to write, with these values as defaults."""
    named = [(name, Any, value) for name, value in values.items()]
    return msgspec.defstruct("Complete", named, bases=(Written,), gc=False)


def complete_record(blocks: Sequence[CompleteBlock], keys: Sequence[str]) -> type[Record]:
    """One record for all kinds of blocks: the keys of their rows stand first, since most reads look at them alone."""
    tag, own = blocks[0].tag, [key for block in blocks for key in block.own]
    rows: list[Any] = [(key, Any, UNSET) for key in dict.fromkeys((*own, *keys)) if key != tag]
    config: dict[str, Any] = {"bases": (Record,), "kw_only": True, "gc": False}
    return msgspec.defstruct("Block", [*rows, (tag, str)], **config)  # type: ignore[return-value]


# -- the generator -------------------------------------------------------------------------------------------------
#
# The locals of a generated function are the canonical fields; its other names end with an underscore, as no field does.


def _read_source(block: Block) -> str:
    """The reader of plain values. `known_` counts the keys that are not residue."""
    lines = ["def read(block_, context_):", f"    known_ = {1 + sum(row.required for row in block.fields)}"]
    lines += ["    hints_ = {}"] * _has_hints(block)
    for row in block.fields:
        lines += _read_row(row, f"block_.get({row.native!r}, UNSET)", record=False)
    lines += _read_name(block, f"block_[{block.tag!r}] == {block.name!r}", f"block_[{block.tag!r}]")
    if _has_hints(block):
        lines.append("    extra_ = residue_(block_, hints_) if hints_ or len(block_) != known_ else UNSET")
    else:
        lines.append("    extra_ = residue_(block_) if len(block_) != known_ else UNSET")
    return "\n".join([*lines, *_make_part(block)])


def _read_record_source(block: Block) -> str:
    """The reader of typed records; one that leaves residue is read as plain values."""
    lines = ["def read_record(record_, context_):"]
    if foreign := [f"record_.{row.native} is not UNSET" for row in block.rows if row.field is None]:
        lines += [f"    if {' or '.join(foreign)}:", f"        return {_AS_PLAIN}"]
    lines += ["    hints_ = {}"] * _has_hints(block)
    for row in block.fields:
        lines += _read_row(row, f"record_.{row.native}", record=True)
    lines += _read_name(block, "type(record_) is Record_", "record_.__struct_config__.tag")
    if _has_hints(block):
        lines.append(f"    extra_ = {{{block.format!r}: {{{HINTS!r}: hints_}}}} if hints_ else UNSET")
    return "\n".join([*lines, *_make_part(block, extra=_has_hints(block))])


_AS_PLAIN = "read_plain_record_(record_, context_)"


def _has_hints(block: Block) -> bool:
    return len(block.names) > 1 or any(row.read is not None for row in block.rows)


def _read_name(block: Block, is_first: str, name: str) -> list[str]:
    """The lines for a block of several names: a spelling hint for all but the first, and what each name fixes."""
    if len(block.names) == 1:
        return []
    lines = [
        f"    if {is_first}:",
        *(f"        {field} = UNSET" for field in block.by_name),
        *["        pass"] * (not block.by_name),
        "    else:",
    ]
    lines += [f"        name_ = hints_[{block.tag!r}] = {name}"]
    return [*lines, *(f"        {field} = names_[name_].get({field!r}, UNSET)" for field in block.by_name)]


def _is_checked(row: Row) -> bool:
    """Whether the typed decoder itself refuses a block without this value."""
    return row.required and row.kind is str


def _read_row(row: Row, get: str, *, record: bool) -> list[str]:
    """The lines that take one value into its canonical fields."""
    if row.read is not None:
        lines = _read_with_logic(row, get, record=record)
    else:
        (name,) = row.targets
        kind = row.kind.__name__ if row.kind else ""
        refuse = f"        return {_AS_PLAIN}" if record else f"        mismatch_({row.native!r}, {name})"
        lines = [f"    {name} = {get}"]
        if row.required and not (record and _is_checked(row)):
            lines += [f"    if type({name}) is not {kind}:" if kind else f"    if {name} is UNSET:", refuse]
        elif not row.required and record and kind:
            lines += [f"    if {name} is not UNSET and type({name}) is not {kind}:", refuse]
        elif not row.required and not record and kind:
            lines += [f"    if type({name}) is {kind}:", "        known_ += 1", "    else:", f"        {name} = UNSET"]
        elif not row.required and not record:
            lines += [f"    if {name} is not UNSET:", "        known_ += 1"]
    return [f"{line}  # {row.native}" for line in lines]


def _read_with_logic(row: Row, get: str, *, record: bool) -> list[str]:
    first, *others = row.targets
    rest = "".join(f"; {name} = UNSET" for name in others)
    count = [] if record or row.required else ["        known_ += 1"]
    lines = [f"    value_ = {get}"]
    if row.kind is not None:
        lines += [f"    if type(value_) is {row.kind.__name__}:", f"        {first} = value_{rest}", *count]
    lines.append(f"    {'if' if row.kind is None else 'elif'} value_ is UNSET:")
    if row.required:
        lines.append(f"        return {_AS_PLAIN}" if record else f"        mismatch_({row.native!r}, value_)")
    else:
        lines.append(f"        {first} = absent_{row.native}_{rest}")
    return [
        *lines,
        "    else:",
        f"        {', '.join(row.targets)} = read_{row.native}_(value_, context_, hints_)",
        *count,
    ]


def _make_part(block: Block, *, extra: bool = True) -> list[str]:
    lines = [f"    {name} = derive_{name}_({of}, context_)" for name, (of, _) in block.derived.items()]
    names = [name for row in block.fields for name in row.targets]
    names += [*block.by_name, *block.derived]
    values = [*(f"{name}={name}" for name in names), *(f"{name}=fixed_{name}_" for name in block.fixed)]
    made = f"Part_({', '.join([*values, *['extra=extra_'] * extra])})"
    if block.then is None:
        return [*lines, f"    return {made}"]
    return [*lines, f"    part_ = {made}", "    then_(part_, context_)", "    return part_"]


def _write_source(block: Block) -> str:
    """The writer of dicts."""
    always = [row for row in block.fields if row.write is None and row.targets[0] in _always_set(block.part)]
    held = "".join(f", {row.native!r}: part_.{row.targets[0]}" for row in always)
    lines = [
        "def write(part_):",
        f"    rest_, hints_ = unpack_({block.format!r}, part_.extra) if part_.extra is not UNSET else NOTHING_",
        f"    out_ = {{{block.tag!r}: {_written_name(block)}{held}}}",
    ]
    for row in block.fields:
        if row in always:
            continue
        lines += _write_row(row)
        lines += [f"    if value_ is not UNSET:  # {row.native}", f"        out_[{row.native!r}] = value_"]
    return "\n".join([*lines, "    if rest_:", "        out_.update(rest_)", "    return out_"])


def _write_record_source(block: Block) -> str:
    """The writer of structs, for a part without residue."""
    lines = ["def write_record(part_):", "    if part_.extra is not UNSET:", "        return write_(part_)"]
    values = []
    if any(row.write is not None for row in block.fields):
        lines.append("    hints_ = {}")
    for row in block.fields:
        if row.write is None:
            values.append(f"part_.{row.field}")
        else:
            lines += [*_write_row(row), f"    {row.native}_ = value_"]
            values.append(f"{row.native}_")
    return "\n".join([*lines, f"    return Written_({', '.join([repr(block.name), *values])})"])


def _always_set(part: type[Part]) -> set[str]:
    return {field.name for field in msgspec.structs.fields(part) if field.required}


def _written_name(block: Block) -> str:
    hinted = len(block.names) > 1 or block.reader is not None
    return f"hints_.get({block.tag!r}, {block.name!r})" if hinted else repr(block.name)


def _write_row(row: Row) -> list[str]:
    """The lines that put the native value of a row into `value_`."""
    first, *others = row.targets
    lines = [f"    value_ = part_.{first}"]
    if row.write is not None:
        call = f"value_ = write_{row.native}_(part_, hints_)"
        more = "".join(f" or part_.{name} is not UNSET" for name in others)
        if row.kind is not None:
            lines += [f"    if type(value_) is not {row.kind.__name__}{more}:", f"        {call}"]
        elif row.absent is not UNSET:
            lines += [f"    if value_ is absent_{row.native}_ and not hints_:", "        value_ = UNSET"]
            lines += ["    else:", f"        {call}"]
        else:
            lines = [f"    {call}"]
    return [f"{line}  # {row.native}" for line in lines]


_SOURCES = {
    "read": _read_source,
    "write": _write_source,
    "read_record": _read_record_source,
    "write_record": _write_record_source,
}
_NOTHING: tuple[dict[str, Any], dict[str, Any]] = ({}, {})


def _compile(block: Block, name: str) -> Callable[..., Any]:
    """The generated function of that name; tracebacks find its lines."""
    scope: dict[str, Any] = {
        "NOTHING_": _NOTHING,
        "Part_": block.part,
        "then_": block.then,
        "names_": block.names,
        "mismatch_": block.mismatch,
        "residue_": block.residue,
        "unpack_": unpack,
        "read_plain_record_": block.read_plain_record,
        **{f"fixed_{field}_": value for field, value in block.fixed.items()},
        **{f"derive_{field}_": derive for field, (_, derive) in block.derived.items()},
        **{f"read_{row.native}_": row.read for row in block.rows},
        **{f"write_{row.native}_": row.write for row in block.rows},
        **{f"absent_{row.native}_": row.absent for row in block.rows},
    }
    if name == "read_record":
        scope["Record_"] = block.records[0]
    elif name == "write_record":
        scope.update(Written_=block.written, write_=block.write)
    return _function(block, name, _SOURCES[name](block), scope)


def _function(block: Block | CompleteBlock, name: str, source: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function of that name in the generated source, whose lines tracebacks find."""
    file = f"<field table {block.format}: {block.name}> {name}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"UNSET": UNSET, **scope}
    exec(compile(source, file, "exec"), names)
    return names[name]  # type: ignore[no-any-return]


# -- the generator of complete blocks ------------------------------------------------------------------------------


def _tests(block: CompleteBlock) -> str:
    """What holds of a value that is not as the rows say."""
    tests = []
    for row in block.rows:
        if row.kind is not None:
            tests.append(f"type({row.field}) is not {row.kind.__name__}")
        if row.test is not None:
            tests.append(f"not test_{row.native}_({row.field})")
    return " or ".join(tests)


def _vary(block: CompleteBlock, key: str, part: str = "") -> str:
    """The value of a varying key."""
    how = block.varying[key]
    return f"context_.{how}" if isinstance(how, str) else f"vary_{key}_({part}{how[0]})"


def _make_complete(block: CompleteBlock) -> str:
    values = [*(f"{row.field}={row.field}" for row in block.rows), *(f"{name}=fixed_{name}_" for name in block.fixed)]
    return f"    return Part_({', '.join(values)})"


def _read_complete(block: CompleteBlock) -> str:
    lines = ["def read(block_, context_):", "    try:"]
    lines += [f"        {row.field} = block_[{row.native!r}]  # {row.native}" for row in block.rows]
    others = " or defaults_(block_) != expected_" if block.defaults else ""
    lines += [
        f"        if {_tests(block)}{others}:",
        "            return None",
        "    except KeyError:",
        "        return None",
    ]
    count = f"{len(block.rows) + len(block.defaults) + 1}"
    for key in block.varying:
        lines += [f"    if block_.get({key!r}, UNSET) != {_vary(block, key)}:  # {key}", "        return None"]
        count += f" + ({key!r} in block_)"
    return "\n".join([*lines, f"    if len(block_) != {count}:", "        return None", _make_complete(block)])


def _read_complete_record(block: CompleteBlock, foreign: Sequence[str], end: int) -> str:
    """All from the key at `end` on is compared at once, the few foreign keys before it one by one."""
    lines = ["def read_record(record_, context_):"]
    lines += [f"    {row.field} = record_.{row.native}  # {row.native}" for row in block.rows]
    tests = [
        _tests(block),
        *(f"record_.{key} is not UNSET" for key in foreign),
        f"astuple_(record_)[{end}:] != expected_",
    ]
    lines += [f"    if {' or '.join(tests)}:", "        return None"]
    for key in block.varying:
        lines += [f"    if record_.{key} != {_vary(block, key)}:  # {key}", "        return None"]
    return "\n".join([*lines, _make_complete(block)])


def _write_complete(block: CompleteBlock) -> str:
    tests = [f"part_.extra is not UNSET and {block.format!r} in part_.extra"]
    for row in block.rows:
        tests.append(
            f"type(part_.{row.field}) is not {row.kind.__name__}" if row.kind else f"part_.{row.field} is UNSET"
        )
    tests += [f"part_.{field} is not UNSET" for field in block.unset]
    tests += [f"part_.{field} is True" for field in block.not_true]
    values = [f"{row.native}=part_.{row.field}" for row in block.rows]
    values += [f"{key}={_vary(block, key, 'part_.')}" for key in block.varying]
    lines = ["def write(part_, context_):", f"    if {' or '.join(tests)}:", "        return None"]
    return "\n".join([*lines, f"    return Written_({', '.join(values)})"])


def _compile_complete(block: CompleteBlock, name: str, source: str, **more: Any) -> Callable[..., Any]:
    scope: dict[str, Any] = {
        "Part_": block.part,
        "Written_": block.written,
        "astuple_": astuple,
        **{f"fixed_{field}_": value for field, value in block.fixed.items()},
        **{f"test_{row.native}_": row.test for row in block.rows},
        **{f"vary_{key}_": how[1] for key, how in block.varying.items() if not isinstance(how, str)},
    }
    if defaults := block.defaults:
        scope["defaults_"] = itemgetter(*defaults)
        scope["expected_"] = tuple(defaults.values()) if len(defaults) > 1 else next(iter(defaults.values()))
    return _function(block, name, source, {**scope, **more})
