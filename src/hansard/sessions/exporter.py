"""Export a thread as the session file it came from: the old bytes, then new records for later messages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from hansard import formats
from hansard.formats.coding_agents.session_file import SessionFile, with_evidence
from hansard.formats.contract import Target
from hansard.ledger import sources
from hansard.ledger.ledger import Ledger
from hansard.ledger.results import Source
from hansard.model.conversation import Message
from hansard.sessions.forks import is_copied


def session_files(ledger: Ledger, thread_id: str, format_: str) -> dict[str, bytes] | None:
    """The files of a thread's session by name, the main one first; None if it was not imported from this format."""
    session = formats.get(format_).session
    found = ledger._read(lambda tx: sources.of_thread(tx, thread_id))
    kept = [one for one in found if one.format == format_ and one.told.get("archived")]
    if session is None or not any(one.main for one in kept):
        return None
    main = max((one for one in kept if one.main), key=lambda one: (one.size, one.number))
    parts = [one for one in kept if not one.main and "beside" not in one.told]
    text = _bytes(ledger, main)
    files = {os.path.basename(main.uri): text}
    below = os.path.dirname(main.uri)
    for part in parts:
        files[os.path.relpath(part.uri, below)] = _bytes(ledger, part)
    if ledger.thread(thread_id).version != max(one.version for one in kept):
        others = [one for one in found if one.format != format_ and one.told.get("archived")]
        files[os.path.basename(main.uri)] = _with_new(ledger, thread_id, session, files, others)
    for one in kept:
        if "beside" in one.told and one.uri.startswith(below + os.sep):
            files[os.path.relpath(one.uri, below)] = _bytes(ledger, one)
    return files


def every_file(ledger: Ledger) -> Iterator[tuple[str, bytes | None]]:
    """Every imported file as it is now, by its path relative to their common folder; None if its bytes are not kept."""
    listed = ledger._read(sources.every)
    listed = [
        one for one in listed if "handover" not in one.told or one.told.get("archived")
    ]  # others were written here
    common = os.path.commonpath([os.path.dirname(one.uri) for one in listed]) if listed else ""
    longest: dict[str, Source] = {}
    for one in listed:
        if one.main and one.told.get("archived"):
            known = longest.get(one.thread_id, one)
            longest[one.thread_id] = max(known, one, key=lambda source: (source.size, source.number))
    for one in listed:
        name = os.path.relpath(one.uri, common)
        if not one.told.get("archived"):
            yield name, None
        elif one is longest.get(one.thread_id):
            files = session_files(ledger, one.thread_id, one.format)
            yield name, _bytes(ledger, one) if files is None else files[os.path.basename(one.uri)]
        else:
            yield name, _bytes(ledger, one)


def _bytes(ledger: Ledger, source: Source) -> bytes:
    return b"".join(sources.content(ledger._driver, source))


def _with_new(
    ledger: Ledger, thread_id: str, session: SessionFile, files: dict[str, bytes], others: list[Source]
) -> bytes:
    """The session's main file with the messages that came since the import, but for those that other files brought."""
    text, *parts = files.values()
    imported = session.read(text).messages
    known: set[Any] = {message.id for message in imported}
    for part in parts:
        known |= {message.id for message in session.read(part).messages}
    imported_ids = set(known)
    for other in others:  # where another agent continued
        reader = formats.get(other.format).session
        known |= (
            {message.id for message in reader.read(_bytes(ledger, other)).messages} if reader is not None else set()
        )
    conversation = ledger.export_conversation(thread_id)
    new = [message for message in conversation.messages if _is_new(message, known)]
    if not new and conversation.head not in imported_ids:
        return text
    whole = replace(conversation, messages=[*imported, *new])
    return session.write(with_evidence(whole, session.name, text), Target())


def _is_new(message: Message, known: set[Any]) -> bool:
    return message.id not in known and not is_copied(message)
