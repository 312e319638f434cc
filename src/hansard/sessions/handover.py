"""Hand a thread over to another coding agent: write a native session directory that agent looks for its own."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.atomic_file import make_folders, write_whole
from hansard.errors import CannotWrite
from hansard.formats.coding_agents.identity import derived_uuid, session_uuid
from hansard.formats.coding_agents.opencode.session import dated, first_milliseconds, placed, session_id
from hansard.formats.coding_agents.rows import database
from hansard.formats.contract import Written
from hansard.ledger import sources
from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Context, Conversation, Message
from hansard.model.default_title import chat_title
from hansard.model.machinery import is_machinery
from hansard.model.parts import TextPart
from hansard.model.times import iso_time
from hansard.model.tree import active_path
from hansard.sessions import databases
from hansard.sessions.discovery import AGENTS, walk


class HandedOver(NamedTuple):
    """A written session: its path and id, the command that resumes it, and the losses."""

    path: Path
    session: str
    resume: str
    written: Written
    messages: list[Message]  # on the path that was handed over
    head: str | None  # the message that what comes after follows


def _claude(folder: Path, session: str, cwd: str, time: str) -> Path:
    """Claude Code replaces all but ASCII letters and digits; in JavaScript a character beyond U+FFFF is two."""
    name = re.sub("[^a-zA-Z0-9]", lambda found: "--" if found[0] > "\uffff" else "-", cwd)
    return folder / name / f"{session}.jsonl"


def _codex(folder: Path, session: str, cwd: str, time: str) -> Path:
    day, clock = time[:10], time[:19].replace(":", "-")
    return folder.joinpath(*day.split("-"), f"rollout-{clock}-{session}.jsonl")


def _gemini(folder: Path, session: str, cwd: str, time: str) -> Path:
    project = hashlib.sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()
    return folder / project / "chats" / f"session-{time[:16].replace(':', '-')}-{session[:8]}.jsonl"


def _sage(folder: Path, session: str, cwd: str, time: str) -> Path:
    return folder / session / "messages.jsonl"


def _pi(folder: Path, session: str, cwd: str, time: str) -> Path:
    name = f"--{cwd.strip('/').replace('/', '-')}--"
    return folder / name / f"{time.replace(':', '-').replace('.', '-')}_{session}.jsonl"


def _copilot(folder: Path, session: str, cwd: str, time: str) -> Path:
    return folder / session / "events.jsonl"


_PLACES: dict[str, tuple[Callable[[Path, str, str, str], Path], str]] = {
    "claude-code": (_claude, "cd {cwd} && claude --resume {session}"),
    "codex": (_codex, "cd {cwd} && codex resume {session}"),
    "copilot-cli": (_copilot, "cd {cwd} && copilot --resume={session}"),
    "gemini-cli": (_gemini, "cd {cwd} && gemini --resume {session}"),
    "pi": (_pi, "cd {cwd} && pi --session {path}"),
    "sage": (_sage, "cd {cwd} && sage --resume {session}"),
}
_DATABASES = {name: f"cd {{cwd}} && {name} --session {{session}}" for name in ("opencode", "kilo")}
TARGETS = tuple(sorted([*_PLACES, *_DATABASES]))


def handover(
    conversation: Conversation, to: str, *, cwd: str | None = None, at: str | None = None, dry: bool = False, now: int
) -> HandedOver:
    """Write a conversation as a session of that agent, in its own folder; an existing file is not replaced.

    The session has the messages up to the head, or up to the message `at` of any branch; with `dry` it is not written.
    """
    if to not in TARGETS:
        raise CannotWrite(f"cannot hand over to {to!r} (choose from {', '.join(TARGETS)})")
    directory = os.path.abspath(cwd or _cwd(conversation) or os.getcwd())
    session = _session_id(conversation, at)
    conversation = conversation if at is None else replace(conversation, head=at)
    path = [conversation.messages[i] for i in active_path(conversation)]
    head = path[-1].id if path else None
    conversation = _as_seen(conversation, path)
    conversation = replace(_with_cwd(_unspent(conversation, to), directory), id=session)
    if to in _DATABASES:
        return _into_database(conversation, to, directory, head if isinstance(head, str) else None, dry, now)
    place, command = _PLACES[to]
    folder = next(agent.folder() for agent in AGENTS if agent.format == to)
    written = formats.write(conversation, to)
    file = place(folder, session, directory, iso_time(now))
    before = next((one for one in walk(folder, ".jsonl") if one == file or _is_of(one, session)), None)
    if before is not None:
        raise CannotWrite(f"this thread was handed over before: {before}; continue that session, or move the file away")
    data = written.json
    if not dry:
        make_folders(str(file.parent), 0o700)
        write_whole(str(file), data, mode=0o600, replace=False)
    resume = command.format(cwd=shlex.quote(directory), session=session, path=shlex.quote(str(file)))
    return HandedOver(file, session, resume, written, conversation.messages, head if isinstance(head, str) else None)


def _into_database(
    conversation: Conversation, to: str, directory: str, head: str | None, dry: bool, now: int
) -> HandedOver:
    """Add a conversation to the database of an agent, or make the database if the agent never ran here."""
    agent = next(one for one in AGENTS if one.format == to)
    session = session_id(first_milliseconds(conversation), str(conversation.id))
    title = conversation.title or chat_title(conversation.messages) or UNSET  # by which the agent lists it
    conversation = replace(dated(conversation, now), id=session, parent_thread_id=UNSET, title=title)
    written = formats.write(conversation, to)
    found = next((one.path for one in agent.find(agent.folder()) if one.path.is_file()), None)
    path = found or agent.folder() / f"{to}.db"
    text = placed(written.json, *_project_of(directory), directory)
    if not dry and found is None:
        make_folders(str(path.parent), 0o700)
        write_whole(str(path), database([text]), mode=0o600, replace=False)
    elif not dry and not databases.add(path, text, "session", session):
        raise CannotWrite(f"this thread was handed over before: session {session} in {path}; continue that session")
    resume = _DATABASES[to].format(cwd=shlex.quote(directory), session=session)
    return HandedOver(path, session, resume, written, conversation.messages, head)


def _project_of(directory: str) -> tuple[str, str]:
    """The project that OpenCode takes a folder for, and its root: a git repository is named by its first commit."""
    root = next((one for one in [Path(directory), *Path(directory).parents] if (one / ".git").exists()), None)
    if root is None:
        return "global", "/"
    try:
        command = ["git", "-C", str(root), "rev-list", "--max-parents=0", "HEAD"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        found = []
    return (min(found), str(root)) if found else ("global", "/")


def _session_id(conversation: Conversation, at: str | None) -> str:
    """The id of the new session: that of the thread, or for an earlier message one of its own."""
    whole = session_uuid(conversation)
    if at is None or at == conversation.head:
        return whole
    return derived_uuid("handover", whole, at)


def _as_seen(conversation: Conversation, path: list[Message]) -> Conversation:
    """What a model saw of a path: no other branches, no sub-agents, no notes of the agent."""
    seen = [one for one in path if one.role != "event" or any(map(is_machinery, one.parts))]
    known = {one.id for one in seen}
    snapshots = conversation.snapshots
    if snapshots is not UNSET:
        snapshots = [one for one in snapshots if one.message_id in known] or UNSET
    messages = [replace(one, parent_message_id=UNSET) for one in seen]
    return replace(conversation, messages=messages, head=UNSET, runs=UNSET, snapshots=snapshots)


def note_handover(ledger: Ledger, thread_id: str, done: HandedOver) -> None:
    """Record what was written, so that an import recognises it when the session comes back."""
    data, stat = done.written.json, os.stat(done.path)
    format_ = done.written.format.name
    back = formats.read(data, format_).messages
    said: dict[Any, str] = {}
    for message in done.messages:
        if message.role == "user" and isinstance(message.id, str):
            said.setdefault(_text(message), message.id)
    at = {
        one.id: said[_text(one)]
        for one in back
        if isinstance(one.id, str) and one.role == "user" and _text(one) in said
    }
    told = {"ids": [one.id for one in back], "head": done.head, "at": at}
    uri = uri_of(format_, done.session)
    number = ledger._write(lambda tx: sources.start(tx, thread_id, uri, format_, main=False))
    proof = hashlib.sha256(data).digest()
    details = {"archived": False, "handover": told}
    ledger._write(lambda tx: sources.finish(tx, thread_id, number, len(data), stat.st_mtime_ns, proof, details))


def uri_of(format_: str, session: str) -> str:
    """Where a ledger keeps what was handed over as a session: agents move files, but keep ids."""
    return f"handover:{format_}:{session}"


def _text(message: Message) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, TextPart))


def _unspent(conversation: Conversation, to: str) -> Conversation:
    """The conversation without token counts, which were spent by the agent that it comes from; for Codex also without
    models, since it warns at length when a session was recorded with another one than its own."""
    messages = [replace(one, usage=UNSET, model=UNSET if to == "codex" else one.model) for one in conversation.messages]
    return replace(conversation, messages=messages)


def _is_of(path: Path, session: str) -> bool:
    """Whether a file belongs to a session. Gemini CLI names it by a prefix of the id, which others may share."""
    if session in str(path) or not path.name.endswith(f"-{session[:8]}.jsonl"):
        return session in str(path)
    with open(path, "rb") as file:
        return session.encode() in file.read(1 << 12)


def _cwd(conversation: Conversation) -> str | None:
    """The last working directory of the conversation."""
    for message in reversed(conversation.messages):
        if message.context is not UNSET and isinstance(message.context.cwd, str) and message.context.cwd:
            return message.context.cwd
    return None


def _with_cwd(conversation: Conversation, cwd: str) -> Conversation:
    """The conversation with a working directory on its first message, if it had none."""
    if _cwd(conversation) is not None:
        return conversation
    messages = list(conversation.messages)
    first = next((i for i, one in enumerate(messages) if one.role not in ("system", "developer")), None)
    if first is not None:  # agents have instructions of their own: those are not written
        messages[first] = _with_context(messages[first], cwd)
    return replace(conversation, messages=messages)


def _with_context(message: Message, cwd: str) -> Message:
    context = message.context if isinstance(message.context, Context) else Context()
    return replace(message, context=replace(context, cwd=cwd))
