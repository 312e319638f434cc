"""Nothing in the data steers a terminal: every command, on a ledger, files and a workspace that try it in every field.

A command that is not in the table fails. What a command prints for programs (JSON, documents, diffs into a pipe) is the
data itself; the table says how each is asked for people.
"""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hansard
from hansard import cli
from hansard.cli import COMMANDS
from hansard.model import (
    Agent,
    Conversation,
    DataPart,
    FilePart,
    Message,
    ModelRef,
    RawPart,
    ReasoningPart,
    TextPart,
    Todo,
    ToolCallPart,
    ToolResultPart,
)
from hansard.workspace import Author, Workspace

TRICKS = [
    "\x1b[31mred\x1b[0m\x1b[2J\x1b[1;1H",
    "\x1b]0;title\x07\x1b]2;title\x1b\\",
    "\x1b]8;;http://outside.test\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]52;c;cHduZWQ=\x07",
    "\x1bP+q544e\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\",
    "\x9b2J\x9d0;t\x9c\x90q\x9c\x85",
    "\x1b[?1049h\x1b[?25l\x1bc\x1b(0",
    "\x08\x08\x08\x7f\x07\x0e\x0f\x05",
    "safe\rhidden \x0b \x0c",
    "\u202eexe.txt\u202c\u2066a\u2069\u200e\u061c",
    "zero\u200bwidth\u2060\ufeff\u00ad",
    "tags\U000e0041\U000e007f \ufe00\U000e0100",
    "\u2028one\u2029two",
]
ALL = " ".join(TRICKS)
STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0e\ufeff\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
NAME = ALL.replace("/", "_")[:80]


def conversation() -> Conversation:
    messages = []
    for i, trick in enumerate([*TRICKS, ALL]):
        parts = [
            TextPart(text=f"needle {trick}"),
            ReasoningPart(text=trick),
            ToolCallPart(tool_call_id=f"c{i}", tool_name=trick, input={trick: trick}),
            ToolResultPart(tool_call_id=f"c{i}", tool_name=trick, output=trick, status=trick),
            FilePart(name=trick, media_type=trick, url=trick),
            DataPart(name=trick, data=trick),
            RawPart(format=trick, value=trick),
        ]
        messages.append(
            Message(
                id=f"m{i}{trick}",
                role=trick if i % 2 else "user",
                parts=parts,
                agent_id=trick,
                model=ModelRef(provider=trick, name=trick),
                finish_reason=trick,
                created_at=trick,
                state=trick,
                todos=[Todo(content=trick, status=trick)],
            )
        )
    agents = {trick: Agent(id=trick, name=trick) for trick in TRICKS}
    return Conversation(id=f"t{ALL}", title=ALL, agents=agents, messages=messages)


class Place:
    """A folder with a ledger, a workspace and files that try it."""

    def __init__(self, folder: Path) -> None:
        self.db, self.root = str(folder / "ledger.db"), folder / "project"
        self.root.mkdir()
        (self.root / NAME).write_text("before\n")
        with hansard.open(self.db) as ledger:
            ledger.import_conversation(conversation())
            thread = ledger.threads().items[0]
            with Workspace(ledger, self.root) as files:
                files.snapshot()
                by = Author(thread_id=thread.id, message_id=thread.head, agent_id=ALL)
                with files.tool(by, NAME, f"new {NAME}"):
                    (self.root / NAME).write_text(f"{ALL}\n")
                    (self.root / f"new {NAME}").write_text(ALL)
        self.bad = str(folder / f"bad {NAME}.json")
        Path(self.bad).write_text('{"messages": [{"role": ')
        self.odd = str(folder / f"odd {NAME}.json")
        calls = [{"id": ALL, "type": "function", "function": {"name": ALL, "arguments": ALL}}]
        body = {
            "model": ALL,
            "messages": [{"role": "assistant", "content": ALL, "tool_calls": calls}, {"role": "tool"}],
        }
        Path(self.odd).write_text(json.dumps(body))
        self.lines = str(folder / f"lines {NAME}.jsonl")
        Path(self.lines).write_text(json.dumps({"type": ALL, "sessionId": ALL}) + "\n{half\n")
        self.stream = str(folder / "stream.txt")
        error = {"type": "error", "error": {"type": ALL, "message": ALL}}
        Path(self.stream).write_text(f"event: error\ndata: {json.dumps(error)}\n\n")

    def commands(self) -> dict[str, list[list[str]]]:
        """Each command as people use it."""
        ledger, here = ["--db", self.db], ["--db", self.db, "--root", str(self.root)]
        return {
            "backup": [[f"{self.db}.{NAME}", *ledger], [self.db, *ledger]],
            "checkout": [["t", "m1", *ledger], ["t", ALL, *ledger], ["t", "m", *ledger]],
            "completion": [[ALL]],
            "convert": [
                [self.odd, "--to", "gemini", "-o", os.devnull],
                [self.bad, "--to", "gemini"],
                [self.odd, "--to", ALL],
            ],
            "copy": [[f"{self.db}.copy", *ledger], [ALL.replace("/", "_"), *ledger]],
            "diff": [["m13", *here], [ALL, *here]],
            "doctor": [ledger],
            "export": [
                ["t", "--to", "anthropic", "-o", os.devnull, *ledger],
                ["t", "--to", ALL, *ledger],
                ["no such thread", "--to", ALL, *ledger],
                ["t", "--to", "sage", *ledger],
            ],
            "fork": [["t", "m1", *ledger], ["t", ALL, *ledger]],
            "formats": [[]],
            "handover": [["t", "--to", "codex", "--root", str(self.root), *ledger], ["t", "--to", ALL, *ledger]],
            "history": [here],
            "import": [[self.bad, *ledger], [self.odd, *ledger], [self.lines, *ledger], [str(self.root), *ledger]],
            "migrate": [ledger],
            "restore": [[NAME, "--at", "m1", "--thread", "t", *here], [ALL, "--at", ALL, *here]],
            "schema": [[ALL]],
            "search": [["needle", *ledger], [ALL, *ledger], [f"role:{TRICKS[0]}", *ledger], ["since:" + ALL, *ledger]],
            "serve": [
                ["--agent", ALL, "--port", "0", *ledger],
                ["--host", ALL, "--token", "x" * 20, *ledger],
                ["--tokens", self.bad, *ledger],
            ],
            "show": [["t", *ledger], ["t", "--full", *ledger], [ALL, *ledger], ["t", "--branch", ALL, *ledger]],
            "snapshot": [["--thread", "t", *here], ["--thread", ALL, *here]],
            "stats": [ledger, ["--by", "model", *ledger], ["--by", "project", *ledger]],
            "stream": [["--from", "anthropic", "--to", "message", self.stream], ["--from", ALL, "--to", "message"]],
            "threads": [ledger, ["--ids", *ledger], ["--agent", ALL, *ledger], ["--after", ALL, *ledger]],
            "track": [[NAME, "--thread", "t", *here], [ALL, "--thread", ALL, *here]],
            "tree": [["t", *ledger]],
            "undo": [["--dry-run", "--thread", "t", *here], ["--yes", "--thread", "t", *here]],
            "redo": [["--thread", "t", *here]],
            "validate": [[self.odd], [self.bad], [self.odd, "--for", "anthropic"], [self.odd, "--for", "openai-chat"]],
            "verify": [ledger],
            "watch": [["--times", "1", "--thread", "t", *here]],
            "project": [ledger],
            "prune": [ledger],
            "forget": [["t", "--yes", *ledger]],
        }


DATA = {"diff", "export", "--ids"}  # into a pipe they go as they are; a terminal gets them spelled out


def test_every_command_is_in_the_table(tmp_path: Path) -> None:
    assert set(Place(tmp_path).commands()) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_passes_tricks_on(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # `serve` creates its token there
    for words in Place(tmp_path).commands()[command]:
        arguments = [word.encode("utf-8", "replace").decode() for word in words]
        assert cli.run([command, *arguments]) in (0, 1, 2)
        said = capfd.readouterr()
        piped = DATA & {command, *words}
        assert not STEERS.search(said.err + ("" if piped else said.out)), (words, said)
        assert "Traceback" not in said.err
        assert "internal error" not in said.err


def test_on_a_terminal_nothing_passes_either(tmp_path: Path) -> None:
    """All commands in turn, one process, on a terminal of its own."""
    table = Place(tmp_path).commands()
    orders = [[command, *words] for command, every in table.items() if command != "serve" for words in every]
    program = "import json, sys; from hansard import cli\nfor order in json.load(open(sys.argv[1])): cli.run(order)"
    (tmp_path / "orders.json").write_text(json.dumps(orders))
    ours, theirs = pty.openpty()
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "XDG_DATA_HOME": str(tmp_path)}
    command = [sys.executable, "-c", program, str(tmp_path / "orders.json")]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as child:
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            said += piece
        child.wait(timeout=60)
    text = said.decode().replace("\r\n", "\n")
    assert "needle" in text
    found = STEERS.search(text)
    assert found is None, text[max(found.start() - 300, 0) : found.start() + 100]
