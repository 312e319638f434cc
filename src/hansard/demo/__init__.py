"""The demo: a ledger of conversations in many formats, an agent that works on real files, and the viewer.

Everything is in one temporary folder, which is removed when the demo ends. It needs no API key and no network. `--once`
shows it without serving it, `--port` sets the port. `agents` has the scripted agents, `samples/` the conversations,
`teahouse_project/` the files. May import every package. Free to change: everything; `tests/demo` runs it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from hansard.errors import HansardError

# The small samples that the documentation of the commands is run on.
SAMPLES = {
    "anthropic_thinking.json": "anthropic",
    "openai_chat_support.json": "openai-chat",
    "gemini_signed_call.json": "gemini",
    "thread_protocol_handoff.json": "thread-protocol",
    "ai_sdk_approval.json": "ai-sdk-ui",
    "sage_session.jsonl": "sage",
    "claude_session.jsonl": "claude-code",
    "forked.json": "hansard",
}
_PATIENCE = 5.0


def main(arguments: list[str]) -> int:
    """Show the demo until Ctrl-C."""
    wanted = _options().parse_args(arguments)
    signal.signal(signal.SIGINT, _leave)
    signal.signal(signal.SIGTERM, _leave)
    for name in ("SIGHUP", "SIGALRM"):  # the terminal was closed
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, frame: os.kill(os.getpid(), signal.SIGTERM))
    try:
        with tempfile.TemporaryDirectory(prefix="hansard-demo-", ignore_cleanup_errors=True) as place:
            try:
                _show(Path(os.path.realpath(place)), wanted)
            finally:
                _again(0)
    except KeyboardInterrupt:
        print()
    except (HansardError, click.ClickException) as error:
        print(f"hansard: {error}", file=sys.stderr)
        return 2
    return 0


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser("hansard.demo", description="See it work; Ctrl-C ends it and leaves nothing.")
    options.add_argument("--once", action="store_true", help="show it without serving it")
    options.add_argument("--port", type=int, help="where it is served; else the first free one from 8484 on")
    return options


def _leave(number: int, frame: Any) -> None:
    """Leave as if it was over, so that the folder goes."""
    _again(_PATIENCE)  # what is raised while an object is being let go, Python only prints
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(0)


def _again(seconds: float) -> None:
    """Repeat the signal to end after so many seconds; 0 disables it."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _show(place: Path, wanted: argparse.Namespace) -> None:
    from hansard.demo import agents as teahouse
    from hansard.demo import sample_threads as shelf
    from hansard.demo import terminal as telling
    from hansard.ledger import open as open_ledger

    url, project = str(place / "ledger.db"), place / "teahouse"
    with open_ledger(url) as ledger:
        with teahouse.at_work(url, project) as working:  # a process of its own, while this one reads and imports
            telling.shelf(shelf.fill(ledger))
            if not wanted.once:
                teahouse.get_ready()
            worked = working()
        telling.work(worked, project)
        telling.count(ledger)
    if worked and not wanted.once:
        telling.suggestions(url, project)
        teahouse.serve(url, project, wanted.port)


__all__ = ["SAMPLES", "main"]
