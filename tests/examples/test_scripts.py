"""The examples that are run once and print; all examples are typed, for mypy (`make check`) and for pyright."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hansard
from tests.examples.chat_server import EXAMPLES

ROOT = Path(__file__).parents[2]
PYRIGHT = ROOT / "tests" / "node" / "node_modules" / ".bin" / "pyright"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


def run(script: str, db: Path | str) -> str:
    keys = ("MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY")
    environment = {key: value for key, value in os.environ.items() if key not in keys}
    command = [sys.executable, str(EXAMPLES / script), str(db)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_an_example_needs_no_way_around_the_types(script: Path) -> None:
    assert not re.findall(r"(?<!\.)\bcast\(|\bAny\b|type: ?ignore|pyright: ?ignore", script.read_text())


def test_pyright_finds_nothing_in_the_examples() -> None:
    if not PYRIGHT.exists():
        pytest.skip("pyright is not installed in tests/node")
    command = [str(PYRIGHT), "-p", str(Path(__file__).with_name("pyrightconfig.json")), "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("script", "prints"),
    [
        ("analyse.py", "tool weather, ok: 1"),
        ("prompts_and_tokens.py", "model claude-opus-4-6: 15"),
        ("move_between_providers.py", "{'role': 'assistant', 'content': 'Eleven degrees again.'}"),
        ("raw_openai_call.py", "assistant At ten to four. 16"),
        ("raw_sdk_calls.py", "[{'high': '15:50'}]"),
        ("agents_in_one_thread.py", "below call-1: ['Write about rivers', 'Rivers: Po, Rhine.']"),
        ("format_plugin.py", "True []"),
        ("pydantic_ai_recorder.py", "It is 21 degrees in Ghent."),
    ],
)
def test_a_script_prints(script: str, prints: str, tmp_path: Path) -> None:
    assert prints in run(script, tmp_path / "ledger.db")


def test_a_recorded_agent_leaves_its_conversation_in_the_ledger(tmp_path: Path) -> None:
    run("pydantic_ai_recorder.py", tmp_path / "ledger.db")
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
    first, *rows = run("query_content.py", database).splitlines()
    assert first == "Projected(threads=2, messages=8, removed=0, escaped=0)"
    assert rows == ["weather-rome: 21 degrees", "assistant: 4", "tool: 2", "user: 2"]
