"""The real `ai` npm packages as a judge: a Node process that is started once and asked by JSON lines.

    with Judge() as judge:
        judge.ask("validate", v=6, messages=[...])  # {"ok": True, "messages": [...], "lost": [], ...}

The commands and what they answer are listed at the top of `node/judge.mjs`. A refusal by the package is an
answer (`ok` is false, `error` says why); a question that makes no sense raises, so that no test takes it for
a refusal.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

_FOLDER = Path(__file__).with_name("node")


class Judge:
    """Starts `node judge.mjs` at once; close it, or use it as a context manager."""

    @staticmethod
    def available() -> str | None:
        """None when a judge can be started, otherwise the reason why not (to be printed with the skip)."""
        if shutil.which("node") is None:
            return "node is not installed: the real ai packages cannot be asked"
        if not (_FOLDER / "node_modules" / "ai7").is_dir():
            return "tests/node/node_modules is missing: run `make setup`"
        return None

    def __init__(self) -> None:
        if reason := self.available():
            raise RuntimeError(reason)
        self._ids = count(1)
        self._process = subprocess.Popen(
            ["node", "judge.mjs"], cwd=_FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, cmd: str, **args: Any) -> dict[str, Any]:
        """One question, one answer."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        request = {"id": next(self._ids), "cmd": cmd, **args}
        # ASCII only: lone surrogates and U+2028 then travel as escapes, and a line stays a line.
        stdin.write(json.dumps(request, allow_nan=False).encode("ascii") + b"\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError(f"judge.mjs ended with status {self._process.wait()} while asked {cmd!r}")
        answer: dict[str, Any] = json.loads(line)
        if answer["id"] != request["id"]:
            raise RuntimeError(f"judge.mjs answered {answer['id']!r}, asked was {request['id']!r}")
        if answer.get("misuse"):
            raise ValueError(answer["error"])
        return answer

    def close(self) -> None:
        """End the Node process; closing twice is fine."""
        self._process.communicate()

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
