"""The law of the ledger's commands: what was imported is exported as it came, for every golden file of every format."""

from __future__ import annotations

from pathlib import Path

import pytest

from hansard import cli, formats
from hansard.model import exact_json
from tests.corpus_files import corpus_documents
from tests.laws.test_formats import GOLDENS, NAMES, values


def run(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> tuple[int, bytes, bytes]:
    code = cli.run(list(arguments))
    said = capfdbinary.readouterr()
    return code, said.out, said.err


def assert_comes_back(name: str, path: Path, folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    db, out = str(folder / "ledger.db"), folder / "out"
    code, listed, problems = run(capfdbinary, "import", str(path), "--format", name, "--db", db, "--json")
    named = str(path).encode()
    assert code == 0
    assert all(line.startswith(b"hansard: " + named + b": line ") for line in problems.splitlines()), "bad records only"
    threads = [row["threadId"] for row in exact_json.decode(listed)]
    code, _, problems = run(capfdbinary, "export", *threads, "--to", name, "--strict", "-o", str(out), "--db", db)
    assert (code, problems) == (0, b"")
    raw = path.read_bytes()
    if formats.get(name).verbatim:
        assert out.read_bytes() == raw
    else:
        assert exact_json.same(values(out.read_bytes()), values(raw))
    code, listed, _ = run(capfdbinary, "import", str(path), "--format", name, "--db", db, "--json")
    assert [row["added"] for row in exact_json.decode(listed)] == [0] * len(threads)
    assert run(capfdbinary, "verify", "--db", db)[0] == 0


@pytest.mark.parametrize(("name", "path"), GOLDENS)
def test_what_was_imported_is_exported_as_it_came(
    name: str, path: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert_comes_back(name, path, tmp_path, capfdbinary)


@pytest.mark.parametrize("name", NAMES)
def test_so_is_a_sample_of_the_corpus(
    name: str, corpus: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for i, raw in enumerate(sorted(corpus_documents(corpus, name), key=len)[::-1][::7][:8]):
        folder = tmp_path / str(i)
        folder.mkdir()
        (folder / "document").write_bytes(raw)
        assert_comes_back(name, folder / "document", folder, capfdbinary)
