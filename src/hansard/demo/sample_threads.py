"""The conversations of the demo: files in the formats they came in, read into a ledger as `hansard import` does it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from hansard import formats
from hansard.ledger.ledger import Ledger
from hansard.model import exact_json
from hansard.sessions.discovery import Session
from hansard.sessions.importer import import_session

# What each shows. The last one stands first in the viewer.
_SHELF = {
    "almanac.sage.jsonl": ("The moon in August", "todos, file snapshots"),
    "spanish_nouns.chatgpt-export.json": ("Thirty-four Spanish nouns", "a long one"),
    "library_loans.pydantic-ai.json": ("Which branches lend the most?", "a tool asked again"),
    "heating_bill.openai-chat.json": ("The heating bill that doubled", "a file"),
    "spotted_leaf.gemini.json": ("Spots on the roses", "image, signed call"),
    "night_train.thread-protocol.json": ("Night train to Vienna", "three agents, hand-offs"),
    "october_dip.openai-responses.json": ("What happened in October?", "image, sealed reasoning"),
    "login_limit.codex.jsonl": ("Five logins a minute", "a patch"),
    "cut_off.hansard.json": ("An answer that was cut off", "interrupted run"),
    "taglines.hansard.json": ("A tagline, three ways", "branches, regenerated"),
    "lease_clauses.anthropic.json": ("The bakery's lease", "thinking with signatures"),
    "flaky_test.claude-code.jsonl": ("The test that fails at night", "edits, todos, sub-agent"),
    "refund_desk.ai-sdk-ui.json": ("A refund that waits for a yes", "approvals"),
}


class Shelved(NamedTuple):
    """One of them: `same` is whether it was written back as it came."""

    thread_id: str
    title: str
    format: str
    messages: int
    shows: str
    same: bool


def fill(ledger: Ledger) -> list[Shelved]:
    """Read all of them into a ledger."""
    folder = Path(str(files("hansard.demo") / "samples"))
    return [_put(ledger, folder / name, title, shows) for name, (title, shows) in _SHELF.items()]


def _put(ledger: Ledger, path: Path, title: str, shows: str) -> Shelved:
    done = import_session(ledger, Session(path, path.name.split(".")[1]))
    thread = ledger.update_thread(done.thread_id, title=title)
    return Shelved(done.thread_id, title, done.format, thread.messages, shows, _same(path, done.format))


def _same(path: Path, name: str) -> bool:
    raw = path.read_bytes()
    again = formats.write_all(formats.read_all(raw, name), name).json
    return again == raw or exact_json.same(exact_json.decode(again), exact_json.decode(raw))
