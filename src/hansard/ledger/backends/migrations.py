"""Migrations: numbered SQL files, each applied once, in order; a ledger of a newer release is rejected unchanged.

The files and their text are frozen (their checksums are stored): change the schema with a new number only.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import NamedTuple

from hansard.errors import SchemaTooNew, StorageError


class Migration(NamedTuple):
    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def migrations(dialect: str) -> list[Migration]:
    """All migrations of a dialect, in order."""
    folder = files("hansard.ledger") / "sql" / dialect
    found = sorted(item.name for item in folder.iterdir() if item.name[:4].isdigit() and item.name.endswith(".sql"))
    return [Migration(int(name[:4]), name, (folder / name).read_text("utf-8")) for name in found]


def missing(dialect: str, applied: list[tuple[int, str]], where: str) -> list[Migration]:
    """The migrations that a ledger with these (number, checksum) lacks."""
    known = migrations(dialect)
    if any(type(number) is not int or type(text) is not str for number, text in applied):
        raise StorageError(f"{where}: its table of migrations is damaged; restore a backup")
    newest = max((number for number, _ in applied), default=0)
    if newest > known[-1].number:
        raise SchemaTooNew(
            f"{where}: its schema is version {newest}, this hansard knows {known[-1].number}; "
            "nothing was changed; run pip install --upgrade hansard"
        )
    sums = dict(applied)
    for migration in known:
        if migration.number in sums and sums[migration.number] != migration.checksum:
            raise StorageError(
                f"{where}: migration {migration.name} is not the one this ledger was created with; "
                "nothing was changed; install the release that wrote it and export"
            )
    return [migration for migration in known if migration.number not in sums]
