"""The two back ends of the React page as somebody would run them, each in processes of its own.

`ChatServer` is the FastAPI example under uvicorn, which serves the page itself. `ServedPage` is `hansard serve` below
the page: `vite preview` serves the page, and forwards `/api` with the token.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from hansard import Ledger
from hansard.agent import Agent, ScriptedModel
from tests.server.live import TOKEN, LiveServer, expire_leases
from tests.waiting import wait_until

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
ROOT = EXAMPLES.parent
PAGE = EXAMPLES / "react_chat"
ANSWER = "Tea is served. " * 20


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def waiter(ledger: Ledger) -> Agent:
    """The agent of `fastapi_chat.py`, for `hansard serve --agent`."""
    return Agent(ScriptedModel([ANSWER], delay=0.05), ledger=ledger, name="waiter", instructions="Be kind.")


class ChatServer:
    """Use it as a context manager; `url` is its address."""

    def __init__(self, db: Path, app: str = "fastapi_chat:app") -> None:
        port = free_port()
        self.url, self.db = f"http://127.0.0.1:{port}", db
        self._command = [sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES), app]
        self._command += ["--port", str(port), "--log-level", "warning"]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "MODEL"}
        self._process = subprocess.Popen(self._command, env={**environment, "HANSARD_DB": str(self.db)}, cwd=ROOT)
        wait_until(self._answers, "uvicorn")

    def kill(self) -> None:
        """As a power cut would: no goodbye."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        """As a deployment does."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait()

    def expire_leases(self) -> None:
        expire_leases(self.db)

    def __enter__(self) -> ChatServer:
        self.start()
        return self

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise RuntimeError("uvicorn did not start; its output says why")
        try:
            httpx.get(f"{self.url}/api/chat/none")
        except httpx.TransportError:
            return False
        return True

    def messages(self, chat: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = httpx.get(f"{self.url}/api/chat/{chat}").json()
        return found

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.end()


class ServedPage:
    """The same interface; the page stays when the server is killed."""

    def __init__(self, db: Path, agent: str = "tests.examples.chat_server:waiter") -> None:
        self.db = db
        self._server = LiveServer(db, agent=agent)
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._front: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._server.start()

    def kill(self) -> None:
        self._server.kill()

    def expire_leases(self) -> None:
        expire_leases(self.db)

    def __enter__(self) -> ServedPage:
        self.start()
        node = shutil.which("node")
        assert node is not None
        command = [node, "node_modules/vite/bin/vite.js", "preview", "--host", "127.0.0.1", "--strictPort"]
        environment = {**os.environ, "HANSARD_URL": self._server.url, "HANSARD_TOKEN": TOKEN}
        self._front = subprocess.Popen(
            [*command, "--port", str(self._port)], cwd=PAGE, env=environment, stdout=subprocess.DEVNULL
        )
        wait_until(self._answers, "vite preview")
        return self

    def _answers(self) -> bool:
        try:
            return httpx.get(self.url).status_code == 200
        except httpx.TransportError:
            return False

    def messages(self, chat: str) -> list[dict[str, Any]]:
        status, found = self._server.ask("GET", f"/api/chat/{chat}")
        assert status == 200, found
        return found  # type: ignore[no-any-return]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._front is not None:
            self._front.terminate()
            self._front.wait()
        self._server.__exit__(kind, error, trace)
