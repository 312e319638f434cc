"""Export a thread as the session file it came from: the old bytes, then new records for later messages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from hansard import formats
from hansard.formats.coding_agents.rows import Kept, Tables, database
from hansard.formats.coding_agents.session_file import SessionFile, with_evidence
from hansard.formats.contract import Loss, Target
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
    if _has_more(ledger, thread_id, kept):
        others = [one for one in found if one.format != format_ and one.told.get("archived")]
        files[os.path.basename(main.uri)] = _with_new(ledger, thread_id, session, files, others)
    for one in kept:
        if "beside" in one.told and one.uri.startswith(below + os.sep):
            files[os.path.relpath(one.uri, below)] = _bytes(ledger, one)
    return files if session.tables is None else _unpacked(main, files[os.path.basename(main.uri)])


def session_text(ledger: Ledger, thread_id: str, format_: str) -> bytes | None:
    """The lines of a session that was imported from a database, with later messages; None if it was not."""
    session = formats.get(format_).session
    found = ledger._read(lambda tx: sources.of_thread(tx, thread_id))
    kept = [one for one in found if one.format == format_ and one.main and one.told.get("archived")]
    if session is None or not kept:
        return None
    main = max(kept, key=lambda one: (one.size, one.number))
    text = _bytes(ledger, main)
    if not _has_more(ledger, thread_id, kept):
        return text
    others = [one for one in found if one.format != format_ and one.told.get("archived")]
    return _with_new(ledger, thread_id, session, {"": text}, others)


def as_database(
    ledger: Ledger, ids: list[str], format_: str, target: Target
) -> tuple[bytes | None, dict[str, bytes], list[Loss]]:
    """One database with the sessions of these threads; files of those that were files; what was lost of the others."""
    texts: list[bytes] = []
    files: dict[str, bytes] = {}
    losses: list[Loss] = []
    for key in ids:
        text = session_text(ledger, key, format_)
        if text is None:
            written = formats.write(ledger.export_conversation(key), format_, target=target)
            losses += written.losses
            text = written.json
        kept = Kept.of(text)
        if kept.files and not kept.rows:
            files |= kept.content()
        else:
            texts.append(text)
    return database(texts) if texts else None, files, losses


def came_as_lines(ledger: Ledger, thread_id: str, format_: str) -> bool:
    """Whether a session was imported from a file of lines, not from a database."""
    found = ledger._read(lambda tx: sources.of_thread(tx, thread_id))
    return any(one.told.get("lines") is True for one in found if one.format == format_ and one.main)


def _unpacked(source: Source, text: bytes) -> dict[str, bytes]:
    """The files that lines of a session stand for: a database with its rows, or the files of an older release."""
    kept = Kept.of(text)
    if source.told.get("lines") is True:
        return {os.path.basename(_file(source)): text}
    if kept.rows or not kept.files:
        return {os.path.basename(_file(source)): database([text])}
    return kept.content()


def _file(source: Source) -> str:
    """The path of the file that a source was read from; a session in a database is named after it."""
    if isinstance(document := source.told.get("document"), str):
        return document
    tables = _tables(source)
    return source.uri if tables is None else source.uri.rpartition("#")[0]


def _tables(source: Source) -> Tables | None:
    session = formats.get(source.format).session
    return session.tables if session is not None else None


def every_file(ledger: Ledger) -> Iterator[tuple[str, bytes | None]]:
    """Every imported file as it is now, by its path relative to their common folder; None if its bytes are not kept.

    Documents, whose bytes are never kept, are written again in their format.
    """
    listed = [one for one in ledger._read(sources.every) if one.told.get("archived") or "handover" not in one.told]
    common = os.path.commonpath([os.path.dirname(_file(one)) for one in listed]) if listed else ""
    in_databases: dict[str, list[bytes]] = {}
    in_documents: dict[tuple[str, str], list[str]] = {}
    longest: dict[str, Source] = {}
    for one in listed:
        if one.main and one.told.get("archived"):
            known = longest.get(one.thread_id, one)
            longest[one.thread_id] = max(known, one, key=lambda source: (source.size, source.number))
    for one in listed:
        name = os.path.relpath(_file(one), common)
        if one.told.get("archived") and _tables(one) is not None:
            if one is longest.get(one.thread_id) and (text := session_text(ledger, one.thread_id, one.format)):
                if one.told.get("lines") is True:
                    yield name, text
                elif (parts := Kept.of(text).content()) and not Kept.of(text).rows:
                    yield from ((os.path.join(name, inner), data) for inner, data in parts.items())
                else:
                    in_databases.setdefault(name, []).append(text)
        elif "document" in one.told:
            in_documents.setdefault((name, one.format), []).append(one.thread_id)
        elif not one.told.get("archived"):
            yield name, None
        elif one is longest.get(one.thread_id):
            files = session_files(ledger, one.thread_id, one.format)
            yield name, _bytes(ledger, one) if files is None else files[os.path.basename(one.uri)]
        else:
            yield name, _bytes(ledger, one)
    for name, texts in in_databases.items():
        yield name, database(texts)
    for (name, format_), keys in in_documents.items():
        yield name, formats.write_all([ledger.export_conversation(key) for key in keys], format_).json


def _bytes(ledger: Ledger, source: Source) -> bytes:
    return b"".join(sources.content(ledger._driver, source))


def _has_more(ledger: Ledger, thread_id: str, kept: list[Source]) -> bool:
    """Whether a thread may have more than its files: not only imports have changed it."""
    version = ledger.thread(thread_id).version
    return version != max(one.version for one in kept) or any(one.told.get("changed") for one in kept)


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
