"""Blocks of formats that write every key with a default, and their generated code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import astuple

from hansard.formats.field_table.records import Record, written_with
from hansard.formats.field_table.rows import Row, check
from hansard.formats.field_table.source import function
from hansard.model.parts import Part


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
        check(self, (*self.fixed, *unset, *not_true))
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


def complete_record(blocks: Sequence[CompleteBlock], keys: Sequence[str]) -> type[Record]:
    """One record for all kinds of blocks: the keys of their rows stand first, since most reads look at them alone."""
    tag, own = blocks[0].tag, [key for block in blocks for key in block.own]
    rows: list[Any] = [(key, Any, UNSET) for key in dict.fromkeys((*own, *keys)) if key != tag]
    config: dict[str, Any] = {"bases": (Record,), "kw_only": True, "gc": False}
    return msgspec.defstruct("Block", [*rows, (tag, str)], **config)  # type: ignore[return-value]


# -- generated code --------------------------------------------------------------------------------------------------


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
    return function(block, name, source, {**scope, **more})
