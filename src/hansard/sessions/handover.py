"""Hand a thread over to another coding agent: write a native session directory that agent looks for its own."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.atomic_file import make_folders, write_whole
from hansard.errors import CannotWrite
from hansard.formats.coding_agents.identity import session_uuid
from hansard.formats.contract import Written
from hansard.ledger import sources
from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Context, Conversation, Message
from hansard.model.parts import TextPart
from hansard.model.times import iso_time
from hansard.model.tree import active_path
from hansard.sessions.discovery import AGENTS, walk


class HandedOver(NamedTuple):
    """A written session: its path, the command that resumes it, and the losses."""

    path: Path
    resume: str
    written: Written
    messages: list[Message]  # on the path that was handed over


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


_PLACES: dict[str, tuple[Callable[[Path, str, str, str], Path], str]] = {
    "claude-code": (_claude, "cd {cwd} && claude --resume {session}"),
    "codex": (_codex, "cd {cwd} && codex resume {session}"),
    "gemini-cli": (_gemini, "cd {cwd} && gemini --resume"),
    "sage": (_sage, "cd {cwd} && sage --resume {session}"),
    "pi": (_pi, "cd {cwd} && pi --session {path}"),
}
TARGETS = tuple(_PLACES)


def handover(conversation: Conversation, to: str, *, cwd: str | None = None, now: int) -> HandedOver:
    """Write a conversation as a session of that agent, in its own folder; an existing file is not replaced."""
    if to not in _PLACES:
        raise CannotWrite(f"cannot hand over to {to!r} (choose from {', '.join(TARGETS)})")
    place, command = _PLACES[to]
    folder = next(agent.folder() for agent in AGENTS if agent.format == to)
    directory = cwd or _cwd(conversation) or os.getcwd()
    conversation = _with_cwd(_without_usage(conversation), directory)
    session = session_uuid(conversation)
    conversation = replace(conversation, id=session)
    written = formats.write(conversation, to)
    path = place(folder, session, directory, iso_time(now))
    before = next((one for one in walk(folder, ".jsonl") if one == path or _is_of(one, session)), None)
    if before is not None:
        raise CannotWrite(f"this thread was handed over before: {before}; continue that session, or move the file away")
    make_folders(str(path.parent), 0o700)
    write_whole(str(path), written.json, mode=0o600, replace=False)
    given = [conversation.messages[i] for i in active_path(conversation)]
    resume = command.format(cwd=shlex.quote(directory), session=session, path=shlex.quote(str(path)))
    return HandedOver(path, resume, written, given)


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
    head = done.messages[-1].id if done.messages else None
    told = {"ids": [one.id for one in back], "head": head, "at": at}
    uri = os.path.realpath(done.path)
    number = ledger._write(lambda tx: sources.start(tx, thread_id, uri, format_, main=False))
    proof = hashlib.sha256(data).digest()
    details = {"archived": False, "handover": told}
    ledger._write(lambda tx: sources.finish(tx, thread_id, number, len(data), stat.st_mtime_ns, proof, details))


def _text(message: Message) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, TextPart))


def _without_usage(conversation: Conversation) -> Conversation:
    """The conversation without token counts: they were spent by the agent that it comes from."""
    messages = [one if one.usage is UNSET else replace(one, usage=UNSET) for one in conversation.messages]
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
    if _cwd(conversation) is not None or not conversation.messages:
        return conversation
    first = conversation.messages[0]
    return replace(conversation, messages=[_with_context(first, cwd), *conversation.messages[1:]])


def _with_context(message: Message, cwd: str) -> Message:
    context = message.context if isinstance(message.context, Context) else Context()
    return replace(message, context=replace(context, cwd=cwd))
