"""Edits of the user's files as session files record them, replayed to the content before and after each.

    claude-code   toolUseResult: originalFile, oldString / newString, edits, content; file-history backups
    codex         patch_apply_end, FileChange: add and delete with their content, update as a unified diff
    gemini-cli    resultDisplay: originalContent and newContent
    cline         the texts of editor, and the patches of apply_patch
    continue      Write.content where it created a file; the diff in the result of any other write or edit
    pi            write.content; the diff in the result of edit
    copilot-cli   create and edit with their texts; images before and after are in the session's folder
    opencode, kilo  write.content, and whether there was a file; the diff in the result of edit; patches file by file
    openclaw      as pi, and the diff in the result of write
    qwen-code     as gemini-cli; of sub-agents the arguments of their calls

How an agent records edits is in its own `edits.py`, which its `SessionFile` names; here is what they share. Files are
rebuilt edit by edit. Where an edit found other content than the edits before it left, something outside the session
changed the file: the step is marked `outside`, and replay continues from what the edit found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hansard.model.conversation import Conversation, Message
from hansard.model.parts import ToolCallPart, ToolResultPart


class Unknown:
    """Content that no record describes."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unknown()
_AGENTS = (
    "claude-code",
    "codex",
    "gemini-cli",
    "continue",
    "cline",
    "pi",
    "copilot-cli",
    "opencode",
    "kilo",
    "qwen-code",
)  # those whose records hold the content of files
Content = bytes | None | Unknown  # None: the file does not exist
Calls = dict[str, ToolCallPart]  # by id


class Edit(Struct, frozen=True, kw_only=True):
    """One recorded edit of one path; `change` computes the content after it from the content before.

    `moved_from` is the path that the content had before a move. `whole` is a file written as a whole, where the record
    does not say whether there was one before; `unsure` if nothing else in the session says so either.
    """

    message_id: str
    path: str
    change: Callable[[Content], Content]
    before: Content = UNKNOWN
    moved_from: str | None = None
    whole: bool = False
    unsure: bool = False
    is_mark: bool = False  # stands for a message, and changes nothing
    is_backup: bool = False  # a copy of the file, not an edit
    otherwise: Content = UNKNOWN  # the content before, where no earlier edit determines it
    reverse: Callable[[Content], Content] | None = None  # computes the content before from the content after
    call_id: str | None = None
    modes: tuple[int | None, int | None] = (None, None)  # before and after, where the record says them


class Step(Struct, frozen=True, kw_only=True):
    """A replayed edit: `expected` is what the edits before it left; `outside` if it found something else."""

    message_id: str
    path: str
    expected: Content
    before: Content
    after: Content
    outside: bool
    compared: bool
    edit: Edit
    there: Content = None  # at the new path, before a move

    @property
    def is_backup(self) -> bool:
        return self.edit.is_backup


Reader = Callable[[Message, str, Calls], Iterator[Edit]]  # the edits of an agent's message, with its id


def edits_of(conversation: Conversation, backups: Iterable[Edit] = (), *, mark: bool = False) -> Iterator[Edit]:
    """All edits in message order; backups come before the edits of their message.

    With `mark`, each message with results gives a mark too, so that a caller can put in what belongs to it.
    """
    from hansard import formats  # the agents' modules import this one

    files = {name: formats.get(name).session for name in _AGENTS}
    readers = {name: file.edits for name, file in files.items() if file is not None and file.edits is not None}
    waiting: dict[str, list[Edit]] = {}
    for one in backups:
        waiting.setdefault(one.message_id, []).append(one)
    calls: Calls = {}
    seen = Seen()
    for message in conversation.messages:
        if isinstance(message.id, str):
            yield from waiting.pop(message.id, [])
        for part in message.parts:
            if isinstance(part, ToolCallPart) and isinstance(part.tool_call_id, str):
                calls[part.tool_call_id] = part
        if message.role == "tool" and isinstance(message.id, str):
            own = _named(message, readers)
            for read in own or readers.values():
                found = list(_edits_by_call(read, message, message.id, calls))
                yield from (seen.judged(edit) if edit.whole else edit for edit in found)
                if found and not own:
                    break  # agents share names of tools: an edit is read once
            seen.note(message, calls)
            if mark:
                yield Edit(message_id=message.id, path="", change=lambda text: text, is_mark=True)


def _named(message: Message, readers: dict[str, Reader]) -> list[Reader]:
    """The readers of the agents whose residue the message has."""
    named = {key for node in (message, *message.parts) for key in node.extra or ()}
    return [read for name, read in readers.items() if name in named]


def _edits_by_call(read: Reader, message: Message, key: str, calls: Calls) -> Iterator[Edit]:
    """The edits of a message, each with the call whose result records it."""
    results = [part for part in message.parts if isinstance(part, ToolResultPart)]
    if len(results) < 2 or any(read(replace(message, parts=[]), key, calls)):  # a record of the message as a whole
        call = results[0].call_id or None if len(results) == 1 else None
        for edit in read(message, key, calls):
            yield replace(edit, call_id=call)
        return
    for part in results:
        for edit in read(replace(message, parts=[part]), key, calls):
            yield replace(edit, call_id=part.call_id or None)


def replayed(given: Iterable[Edit]) -> Iterator[Step]:
    """The edits with the content of their path before and after."""
    state: dict[str, Content] = {}
    for one in given:
        expected = state.get(one.moved_from or one.path, UNKNOWN)
        before = expected if one.before is UNKNOWN else one.before
        before = one.otherwise if before is UNKNOWN else before
        compared = expected is not UNKNOWN and one.before is not UNKNOWN
        after = one.change(before)
        there = state.get(one.path) if one.moved_from is not None else None
        if one.moved_from is not None:
            state[one.moved_from] = None
        state[one.path] = after
        yield Step(
            message_id=one.message_id,
            path=one.path,
            expected=expected,
            before=before,
            after=after,
            outside=compared and expected != before,
            compared=compared,
            edit=one,
            there=None if isinstance(there, Unknown) else there,
        )


def infer_unknown(given: Iterable[Step], now: Callable[[str], Content]) -> list[Step]:
    """The steps, unknown contents inferred backwards from the files as they are now.

    A patch records only what it changes. Where it can be reverted on the current file and applied again with the same
    result, the contents before and after are known. A record may have line feeds where the file has other line ends:
    those are the file's own.
    """
    out: list[Step] = []
    later: dict[str, Content] = {}
    for step in reversed(list(given)):
        after = later[step.path] if step.path in later else now(step.path)
        if step.after is UNKNOWN and step.edit.reverse is not None:
            before = UNKNOWN if after is UNKNOWN or after is None else step.edit.reverse(after)
            if before is not UNKNOWN and step.edit.change(before) == after:
                step = replace(step, before=before, after=after)
        elif isinstance(after, bytes):
            step = _with_own_ends(step, after)
        later[step.path] = step.there if step.edit.moved_from is not None else step.before
        if step.edit.moved_from is not None:
            later[step.edit.moved_from] = step.before
        out.append(step)
    return out[::-1]


def _with_own_ends(step: Step, found: bytes) -> Step:
    """The step with the line ends of the file, whose content after it was `found`."""
    before, after = step.before, step.after
    if b"\r\n" not in found or not isinstance(after, bytes) or b"\r" in after or after == found:
        return step
    if isinstance(before, bytes) and b"\r" in before:
        return step
    if found.replace(b"\r\n", b"\n") == after:
        if isinstance(before, bytes):
            from hansard.formats.coding_agents.unified_diff import apply_diff, diff_of  # which uses this module

            before = apply_diff(found, diff_of(after, before))
        return replace(step, before=before, after=found)
    if found.count(b"\r\n") == found.count(b"\n"):  # changed since, with line ends of one kind
        both = (one.replace(b"\n", b"\r\n") if isinstance(one, bytes) else one for one in (before, after))
        return replace(step, before=next(both), after=next(both))
    return step


class Seen:
    """What results of a session say of which files exist: listings of folders, files read."""

    def __init__(self) -> None:
        self._read: set[str] = set()
        self._listed: list[tuple[str, set[str]]] = []  # a folder, and the names in it
        self._written: set[str] = set()

    def note(self, message: Message, calls: Calls) -> None:
        """Note the results of a message."""
        for part in message.parts:
            call = calls.get(str(part.tool_call_id)) if isinstance(part, ToolResultPart) else None
            if call is None or not isinstance(part, ToolResultPart) or not isinstance(call.input, dict):
                continue
            path, command = call.input.get("path"), call.input.get("command")
            if isinstance(path, str) and call.tool_name in ("read", "edit") and part.is_error is not True:
                self._read.add(path)
            elif isinstance(command, str) and command.strip() in ("ls", "ls -a", "ls -A") and part.is_error is not True:
                context = message.context
                folder = context.cwd if context is not UNSET and isinstance(context.cwd, str) else ""
                self._listed.append((folder, set(str(part.output).split("\n"))))

    def judged(self, edit: Edit) -> Edit:
        """An edit that wrote a whole file, with what was there before as far as the session says."""
        known = edit.path in self._written
        self._written.add(edit.path)
        if known or edit.path in self._read:
            return edit
        folder, _, name = edit.path.rpartition("/")
        listed = [names for below, names in self._listed if not folder or not below or folder == below]
        absent = bool(listed) and name not in listed[-1]
        return replace(edit, otherwise=None, unsure=not absent)


def content_of(value: Any) -> Content:
    """A recorded text as the bytes of a file; unknown if it is not a string."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else UNKNOWN


def of_diff(message_id: str, path: str, diff: str) -> Edit:
    """An edit of which a unified diff is known."""
    from hansard.formats.coding_agents.unified_diff import apply_diff, reverse_diff  # which uses this module

    return Edit(
        message_id=message_id,
        path=path,
        change=lambda text: apply_diff(text, diff),
        reverse=lambda text: apply_diff(text, reverse_diff(diff)),
    )


def replaced(text: Content, old: str, new: str) -> Content:
    """A text with the only occurrence of a string replaced; unknown if there is not exactly one."""
    was, becomes = (one.encode("utf-8", "surrogatepass") for one in (old, new))
    if text is None or isinstance(text, Unknown) or not was:
        return UNKNOWN
    if text.count(was) == 1:
        return text.replace(was, becomes)
    was, becomes = (one.replace(b"\n", b"\r\n") for one in (was, becomes))
    return text.replace(was, becomes) if text.count(was) == 1 else UNKNOWN
