"""The release as somebody gets it: sdist and wheel are built, and installed into a clean environment.

The wheel is installed with its core dependencies only, by pip as it is configured here; what an extra needs besides is
borrowed, for the tests of extras alone, from the environment that runs the tests.
"""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CORE = {"apsw", "click", "hansard", "markdown-it-py", "mdurl", "msgspec", "pathspec", "Pygments", "python-ulid", "rich"}
CORE |= {"zstandard", "typing_extensions"}  # the last one is asked for by others of them
EXTRAS = {
    "agent": "from hansard.agent import Agent, Recorder, ScriptedModel; import pydantic_ai",
    "postgres": "from hansard.ledger.backends.postgres import PostgresDriver",
    "server": "from hansard.server import create_app",
}


def run(*command: str | Path, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HANSARD"))}
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**environment, **more},
        check=False,
    )


def pip(*arguments: str | Path) -> str:
    """The pip of the tests' own environment, also for others: an environment without pip is made in no time."""
    with tempfile.TemporaryDirectory() as home:  # pip asks for Rust's release, and rustup writes its settings
        done = run(sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, HOME=home)
    if done.returncode:
        pytest.skip(f"packages cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that is made from it, as `python -m build` does."""
    folder = tmp_path_factory.mktemp("built")
    pip("install", "-q", "--target", folder / "tools", "build", "hatchling>=1.27", "-c", ROOT / "constraints.txt")
    command = [sys.executable, "-m", "build", "--no-isolation", "-o", folder / "dist", ROOT]
    done = run(*command, PYTHONPATH=str(folder / "tools"))
    assert done.returncode == 0, done.stderr or done.stdout
    return folder / "dist"


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="session")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheel and what it asks for, and nothing else."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder)
    python = folder / "bin" / "python"
    pip("--python", python, "install", "-q", "-c", ROOT / "constraints.txt", wheel)
    return python


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("hansard/")}
    tracked = run("git", "ls-files", "src/hansard", cwd=ROOT).stdout.split() if shutil.which("git") else []
    if not tracked:
        pytest.skip("no git, or no checkout: which files belong to the package is not known")
    there = {name.removeprefix("src/") for name in tracked if (ROOT / name).exists()}
    assert there <= inside
    for name in ("py.typed", "server/viewer/viewer.html", "ledger/sql/sqlite/0001_ledger.sql", "samples/forked.json"):
        assert f"hansard/{name}" in inside
    assert not [name for name in inside if "__pycache__" in name or name.endswith(".pyc")]


def test_the_sdist_can_be_built_and_tested_from(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in (
        "pyproject.toml",
        "Makefile",
        "constraints.txt",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    ):
        assert name in names
    assert {"tests/conftest.py", "docs/ledger.md", "examples/fastapi_chat.py", "scripts/fresh", "mkdocs.yml"} <= names


def test_core_asks_for_little_and_says_who_may_use_it(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    said = email.message_from_bytes(archive.read(next(n for n in archive.namelist() if n.endswith("METADATA"))))
    asked = [line for line in said.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert {line.split(">=")[0] for line in asked} <= CORE
    assert said["License-Expression"] == "MIT"
    assert said["Description-Content-Type"] == "text/markdown"


def test_nothing_but_core_is_installed(clean: Path) -> None:
    listed = pip("--python", clean, "list", "--format=freeze").split()
    assert {line.partition("==")[0] for line in listed} <= CORE


def test_it_runs_in_a_clean_environment(clean: Path, tmp_path: Path) -> None:
    for command in ([clean, "-m", "hansard"], [clean.parent / "hansard"]):
        assert run(*command, "--version", cwd=tmp_path).stdout.startswith("hansard 0.")
    samples = run(clean, "-c", "import hansard; print(hansard.__path__[0])", cwd=tmp_path).stdout.strip() + "/samples"
    hansard = str(clean.parent / "hansard")
    where = {"HOME": str(tmp_path), "HANSARD_DB": str(tmp_path / "talks.db")}
    for arguments in (
        ["import", f"{samples}/forked.json", f"{samples}/claude_session.jsonl"],
        ["threads"],
        ["search", "danube"],
        ["verify"],
        ["doctor"],
        ["convert", f"{samples}/anthropic_thinking.json", "--to", "html", "-o", "page.html"],
        ["copy", "other.db"],
    ):
        done = run(hansard, *arguments, cwd=tmp_path, **where)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [(["serve"], "server"), (["threads", "--db", "postgresql://localhost/none"], "postgres")],
)
def test_a_command_without_its_extra_names_it_in_one_line(
    clean: Path, tmp_path: Path, arguments: list[str], extra: str
) -> None:
    done = run(clean, "-m", "hansard", *arguments, cwd=tmp_path, HOME=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"pip install 'hansard[{extra}]'" in done.stderr


def test_importing_the_core_imports_nothing_but_its_own_dependencies(clean: Path, tmp_path: Path) -> None:
    code = "import sys; before = set(sys.modules); import hansard; hansard.read, hansard.open, hansard.write; "
    code += "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    found = set(run(clean, "-c", code, cwd=tmp_path).stdout.split())
    assert found <= {"hansard", "msgspec", "typing_extensions", "zstandard"}, found


@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_works_alone(clean: Path, wheel: Path, tmp_path: Path, extra: str) -> None:
    """Only the packages of this extra are to be seen beside the core: all others are refused."""
    wanted = run(sys.executable, "-c", _CLOSURE, extra, cwd=ROOT)
    assert wanted.returncode == 0, wanted.stderr
    folder = tmp_path / "extra"
    folder.mkdir()
    for line in wanted.stdout.splitlines():
        source = Path(line)
        target = folder / source.name
        if not target.exists():
            target.symlink_to(source)
    done = run(clean, "-c", EXTRAS[extra], cwd=tmp_path)
    assert done.returncode != 0, "it is there without its extra"
    code = f"import sys; sys.path.append({str(folder)!r}); {EXTRAS[extra]}"
    done = run(clean, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


# The top level files and folders of every package that an extra of ours asks for, as it is installed here.
_CLOSURE = """
import sys
from importlib import metadata
from packaging.requirements import Requirement

seen = set()

def visit(name, extras):
    if (name, extras) in seen:
        return
    seen.add((name, extras))
    package = metadata.distribution(name)
    for file in package.files or ():
        top = file.parts[0]
        if top not in ('..', '__pycache__'):
            print(package.locate_file(top))
    for line in package.requires or ():
        asked = Requirement(line)
        if any(asked.marker is None or asked.marker.evaluate({'extra': extra}) for extra in (extras or ('',))):
            visit(asked.name, tuple(asked.extras))

for line in metadata.requires('hansard'):
    asked = Requirement(line)
    if asked.marker and asked.marker.evaluate({'extra': sys.argv[1]}) and not asked.marker.evaluate({'extra': ''}):
        visit(asked.name, tuple(asked.extras))
"""
