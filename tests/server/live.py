"""A real `hansard serve` in a process of its own, that can be killed and started again on the same port and ledger."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

import apsw

ROOT = Path(__file__).parent.parent.parent
TOKEN = "the tests' own token"
BEARER = {"authorization": f"Bearer {TOKEN}"}


def expire_leases(db: Path) -> None:
    """As if the time had passed after which a run without a sign of life counts as dead."""
    with closing(apsw.Connection(str(db))) as connection:
        connection.set_busy_timeout(60_000)
        connection.execute("update run set lease_until = 1 where lease_until is not null and status = 'active'")


class LiveServer:
    """Use it as a context manager; `url` is its address, `link` logs one browser in."""

    def __init__(
        self,
        db: Path,
        *options: str,
        delay: float = 0.005,
        agent: str = "tests.server.scripted:make",
        environment: dict[str, str] | None = None,
        ledger: str | None = None,
    ) -> None:
        """`ledger` is an address in place of the file `db`."""
        self.port = 0  # any free one; the same when it is started again
        self.url, self.db, self.log = "", db, db.with_suffix(".said")
        self._command = [sys.executable, "-m", "hansard", "serve", "--db", ledger or str(db)]
        self._command += ["--agent", agent, *options]
        about = {"SCRIPTED_DELAY": str(delay), "SCRIPTED_LOG": str(self.log)}
        self._environment = {**os.environ, **about, **(environment or {"HANSARD_TOKEN": TOKEN})}
        self.link = ""
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            [*self._command, "--port", str(self.port)],
            cwd=ROOT,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"https?://127\.0\.0\.1:(\d+)", line)
        if found is None:
            raise RuntimeError(f"the server did not start: {self.process.communicate()[1]}")
        self.url, self.port = found[0], int(found[1])
        self.link = line.split()[2]

    def kill(self) -> None:
        """As a power cut would: no goodbye."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def let_go_on(self, tag: str) -> None:
        """Answers to "held COUNT TAG" are said to their end."""
        Path(f"{self.log}.{tag}").touch()

    def expire_leases(self) -> None:
        expire_leases(self.db)

    def interrupt(self) -> tuple[int, str]:
        """Ctrl-C: the exit code, and what was printed to stderr."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        errors = self.process.communicate(timeout=60)[1]
        return self.process.returncode, errors

    def __enter__(self) -> LiveServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            errors = self.process.communicate(timeout=60)[1]
            assert "Traceback" not in errors, errors

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """One request; its status and its JSON."""
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        given = {"content-type": "application/json", **BEARER, **headers}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=given)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                status, text = response.status, response.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        return status, json.loads(text) if text else None

    def exported(self, thread_id: str, target: str | None = None) -> list[dict[str, Any]]:
        """What the ledger writes as UIMessages."""
        path = f"/api/threads/{thread_id}/export?format=ai-sdk-ui" + (f"&target={target}" if target else "")
        status, answer = self.ask("GET", path)
        assert status == 200, answer
        document = answer["document"]
        return document["messages"] if isinstance(document, dict) else document
