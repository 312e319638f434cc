"""The FastAPI example as somebody would run it: uvicorn in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import httpx

from tests.waiting import wait_until

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


class ChatServer:
    """Use it as a context manager; `url` is its address."""

    def __init__(self, db: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url, self.db = f"http://127.0.0.1:{port}", db
        self._command = [sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES), "fastapi_chat:app"]
        self._command += ["--port", str(port), "--log-level", "warning"]

    def __enter__(self) -> ChatServer:
        environment = {key: value for key, value in os.environ.items() if key != "MODEL"}
        self._process = subprocess.Popen(self._command, env={**environment, "HANSARD_DB": str(self.db)})
        wait_until(self._answers, "uvicorn")
        return self

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError("uvicorn did not start; its output says why")
        try:
            httpx.get(f"{self.url}/api/chat/none")
        except httpx.TransportError:
            return False
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()
