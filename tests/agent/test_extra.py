"""Agents are an extra: without Pydantic AI the rest works, and what does not says what to install."""

from __future__ import annotations

import subprocess
import sys

import hansard.agent

WITHOUT = """
import sys
sys.modules["pydantic_ai"] = None
sys.modules["pydantic"] = None
import hansard, hansard.agent
from hansard.agent import MemoryStore
try:
    hansard.Agent
except hansard.HansardError as error:
    print(error)
"""


def test_without_pydantic_ai_one_line_says_the_way_out() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Agent needs Pydantic AI")
    assert "pip install 'hansard[agent]'" in done.stdout


def test_importing_hansard_does_not_import_pydantic_ai() -> None:
    code = "import sys, hansard, hansard.agent; print('pydantic_ai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_every_name_of_the_package_is_there() -> None:
    for name in hansard.agent.__all__:
        assert getattr(hansard.agent, name) is not None
