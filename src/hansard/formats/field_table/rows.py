"""A row of a field table: a native key and the canonical field it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import UNSET, Struct

from hansard.formats.residue import SchemaMismatch

if TYPE_CHECKING:
    from hansard.formats.field_table.blocks import Block
    from hansard.formats.field_table.complete import CompleteBlock

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


def check(block: Block | CompleteBlock, others: Sequence[str]) -> None:
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


def is_checked(row: Row) -> bool:
    """Whether the typed decoder itself refuses a block without this value."""
    return row.required and row.kind is str


def unchanged(value: Any, context: Any, hints: dict[str, Any]) -> Any:
    """The `read` of a row whose values need logic only when they are written."""
    return value


def refused(value: Any, context: Any, hints: dict[str, Any]) -> NoReturn:
    """The `read` of a row whose other kinds of values do not fit the block."""
    raise SchemaMismatch("a value of another kind")
