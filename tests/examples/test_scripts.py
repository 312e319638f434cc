"""The examples that are run once and print."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hansard
from tests.examples.chat_server import EXAMPLES


def run(script: str, db: Path) -> str:
    keys = ("MODEL", "ANTHROPIC_API_KEY")
    environment = {key: value for key, value in os.environ.items() if key not in keys}
    command = [sys.executable, str(EXAMPLES / script), str(db)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_recorded_agent_leaves_its_conversation_in_the_ledger(tmp_path: Path) -> None:
    printed = run("pydantic_ai_recorder.py", tmp_path / "ledger.db")
    assert "It is 21 degrees in Ghent." in printed
    with hansard.open(tmp_path / "ledger.db") as ledger:
        roles = [message.role for message in ledger.transcript("terrace")]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]


def test_a_raw_stream_is_recorded_without_a_key(tmp_path: Path) -> None:
    printed = run("raw_anthropic.py", tmp_path / "ledger.db")
    assert printed.startswith("message_start\n")
    recording = (Path(hansard.__file__).parent / "samples" / "anthropic_stream.sse").read_bytes()
    from tests.agent.test_replay_server import visible
    from tests.streams.live import decode, fold

    with hansard.open(tmp_path / "ledger.db") as ledger:
        _, answer = ledger.transcript("harbour")
    assert visible(answer) == visible(fold(decode("anthropic", recording))[0])


def test_content_is_queried_from_sqlalchemy(database: str) -> None:
    script = [sys.executable, str(EXAMPLES / "query_content.py"), database]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, *rows = done.stdout.splitlines()
    assert first == "Projected(threads=2, messages=8, removed=0, escaped=0)"
    assert rows == ["weather-rome: 21 degrees", "assistant: 4", "tool: 2", "user: 2"]
