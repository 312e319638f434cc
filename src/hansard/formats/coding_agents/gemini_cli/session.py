"""Gemini CLI sessions: `session-*.jsonl`, and JSON documents of older releases.  As of Gemini CLI 0.24 and its source.

    canonical                         native
    conversation                      the header: sessionId, startTime, lastUpdated, summary (its title)
    message, and its tool message     a record: what was said, and the results of its calls
    a branch that is not followed     what `$rewindTo`, `$set.messages` or a record of the same id took away

What a record holds is told in `gemini_cli_messages`, which records count in `gemini_cli_reader`. The text of the file
is kept.
Lost, and reported: system and developer messages (the agent has its own), signatures, the folder, ids of tool
messages, calls that stand before text, data and sources.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.coding_agents.gemini_cli.reader import GeminiCliReader
from hansard.formats.coding_agents.gemini_cli.records import EVENTS, NAME, PROVIDER, is_message
from hansard.formats.coding_agents.gemini_cli.versions import DocumentScanner, behind
from hansard.formats.coding_agents.gemini_cli.writer import records
from hansard.formats.coding_agents.scanner import Record
from hansard.formats.coding_agents.session_file import SessionFile

_LOOK = 64 * 1024


def is_record(value: Any) -> bool:
    """Is it a record, not an object inside one?"""
    return _sure(value) > 0


def _sure(value: Any) -> int:
    if type(value) is not dict:
        return 0
    if type(value.get("sessionId")) is str and ("projectHash" in value or type(value.get("startTime")) is str):
        return 3
    if "$rewindTo" in value or type(value.get("$set")) is dict:
        return 3
    if not is_message(value) or "content" not in value or "timestamp" not in value:
        return 0
    return 3 if value["type"] == "gemini" else 2 if value["type"] in ("user", *EVENTS) else 0


def fits(document: Any) -> int:
    """Nobody else has a project's hash, these two commands, or messages of the type gemini."""
    if type(document) is bytes:
        scanner = DocumentScanner(SESSION.decode, is_record)
        found = [*scanner.feed(document[:_LOOK]), *scanner.finish()][:20]
        return max((_sure(one.value) for one in found if type(one) is Record), default=0)
    return _sure(document)


SESSION = SessionFile(
    name=NAME, reader=GeminiCliReader, records=records, whole=is_record, scanner=DocumentScanner, join=behind
)
FORMAT = SESSION.format(
    "Gemini CLI sessions",
    fits,
    own_provider=PROVIDER,
)
