"""The generated code of a block: its lines, and the functions compiled from them.

The locals of a generated function are the canonical fields; its other names end with an underscore, as no field does.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from hansard.formats.field_table.rows import Row, is_checked
from hansard.formats.residue import HINTS, unpack
from hansard.model.parts import Part

if TYPE_CHECKING:
    from hansard.formats.field_table.blocks import Block
    from hansard.formats.field_table.complete import CompleteBlock


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


def _read_row(row: Row, get: str, *, record: bool) -> list[str]:
    """The lines that take one value into its canonical fields."""
    if row.read is not None:
        lines = _read_with_logic(row, get, record=record)
    else:
        (name,) = row.targets
        kind = row.kind.__name__ if row.kind else ""
        refuse = f"        return {_AS_PLAIN}" if record else f"        mismatch_({row.native!r}, {name})"
        lines = [f"    {name} = {get}"]
        if row.required and not (record and is_checked(row)):
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


SOURCES = {
    "read": _read_source,
    "write": _write_source,
    "read_record": _read_record_source,
    "write_record": _write_record_source,
}
_NOTHING: tuple[dict[str, Any], dict[str, Any]] = ({}, {})


def compiled(block: Block, name: str) -> Callable[..., Any]:
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
    return function(block, name, SOURCES[name](block), scope)


def function(block: Block | CompleteBlock, name: str, source: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function of that name in the generated source, whose lines tracebacks find."""
    file = f"<field table {block.format}: {block.name}> {name}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"UNSET": UNSET, **scope}
    exec(compile(source, file, "exec"), names)
    return names[name]  # type: ignore[no-any-return]
