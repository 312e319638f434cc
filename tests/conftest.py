"""Shared fixtures: hypothesis profiles, a HOME of the run's own, the corpus folder and its printed reason when absent.

`make test` is deterministic: hypothesis draws the same examples in every run and keeps no database. `make prove` runs
the same laws with `HANSARD_HYPOTHESIS=explore`: many more examples, at random, with the seed printed.
"""

from __future__ import annotations

import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.ledgers import database, ledger, postgres, pytest_generate_tests, reopened, url

__all__ = ["database", "ledger", "postgres", "pytest_generate_tests", "reopened", "url"]

settings.register_profile(
    "default",
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "explore", settings.get_profile("default"), derandomize=False, max_examples=2000, print_blob=True
)
settings.load_profile(os.environ.get("HANSARD_HYPOTHESIS", "default"))

ROOT = Path(__file__).parent.parent
CORPUS = Path(os.environ["HANSARD_CORPUS"]) if os.environ.get("HANSARD_CORPUS") else None
GOLDEN = Path(__file__).parent / "golden"
REAL_HOME = Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
_ELSEWHERE = (str(ROOT) + os.sep, str(Path(tempfile.gettempdir()).resolve()) + os.sep, str(Path(sys.prefix)) + os.sep)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate", "sqlite3.connect"}
_written: list[str] = []


def _note_write(path: object) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return
    name = os.path.abspath(os.fsdecode(path))
    if name.startswith(str(REAL_HOME) + os.sep) and not name.startswith(_ELSEWHERE) and not name.endswith(".pyc"):
        _written.append(name)


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & _WRITES:
            _note_write(path)
    elif event in _CHANGES:
        for path in arguments[:2]:
            _note_write(path)


@pytest.fixture(scope="session")
def _home() -> Iterator[Path]:
    """An empty HOME for this process and all it starts; what a test leaves in it, it would leave in the user's."""
    sys.addaudithook(_audit)
    with tempfile.TemporaryDirectory(prefix="hansard-home-") as folder, pytest.MonkeyPatch.context() as patch:
        for name in ("PIP_CONFIG_FILE", "NPM_CONFIG_USERCONFIG", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HANSARD_DB"):
            patch.delenv(name, raising=False)
        for variable, file in (
            ("PIP_CONFIG_FILE", ".config/pip/pip.conf"),
            ("PIP_CONFIG_FILE", ".pip/pip.conf"),
            ("NPM_CONFIG_USERCONFIG", ".npmrc"),
        ):
            if (REAL_HOME / file).is_file():
                patch.setenv(variable, str(REAL_HOME / file))
        patch.setenv("HOME", folder)
        patch.setenv("XDG_CACHE_HOME", str(Path(folder) / ".cache"))
        yield Path(folder)


_CACHES = {".cache", ".npm", ".config", ".pki", ".local", ".dbus", ".fontconfig"}  # of npm, pip and Chromium


@pytest.fixture(autouse=True)
def nothing_is_written_to_home(_home: Path) -> Iterator[None]:
    """Fails the test that writes below the real HOME, or that lets Hansard write below the one in $HOME."""
    _written.clear()
    yield
    assert _written == [], "a test writes below the real HOME"
    left = [name for name in os.listdir(_home) if name not in _CACHES or (_home / name / "share/hansard").exists()]
    found = [str(path) for name in left for path in (_home / name).rglob("*")]
    for name in left:
        shutil.rmtree(_home / name, ignore_errors=True)
    assert left == [], f"a test leaves files in HOME; give it a HOME of its own (tmp_path): {found}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A file's tests run on one worker; those that drive a browser share one, so that one Chromium is open."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        browses = "viewer" in item.path.parts or "browser" in getattr(item, "fixturenames", ())
        item.add_marker(pytest.mark.xdist_group("chromium" if browses else str(item.path.relative_to(ROOT))))


@pytest.fixture
def corpus() -> Path:
    if CORPUS is None:
        pytest.skip("HANSARD_CORPUS is not set: recorded data is not read")
    return CORPUS
