"""Edits of the user's files in Cline sessions: the arguments of `editor`, and the patches of `apply_patch`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hansard.formats.coding_agents.documents import fields_of
from hansard.formats.coding_agents.edits import UNKNOWN, Calls, Content, Edit, content_of, replaced
from hansard.model.conversation import Message
from hansard.model.parts import ToolResultPart

_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_MOVE = re.compile(r"\A\*\*\* Move to: (.+)\n")


def edits_of(message: Message, key: str, calls: Calls) -> Iterator[Edit]:
    """The edits that the results of a message record."""
    for part in message.parts:
        call = calls.get(str(part.tool_call_id)) if type(part) is ToolResultPart else None
        if call is None or type(part) is not ToolResultPart or part.is_error is True:
            continue
        given = fields_of(call.input)
        path, old, new = given.get("path"), given.get("old_text"), given.get("new_text")
        if call.tool_name == "apply_patch":
            patch = given.get("input") if type(call.input) is dict else None  # a text: Codex's tool of that name
            yield from _of_patch(patch, key) if type(patch) is str else ()
        elif call.tool_name != "editor" or type(path) is not str or type(new) is not str:
            continue
        elif type(old) is str and old and given.get("insert_line") is None:
            yield _replacing(key, path, [(old, new)])
        elif given.get("insert_line") is None:
            created = str(part.output).startswith("File created")
            yield _written(key, path, content_of(new), created=created)
        else:
            yield Edit(message_id=key, path=path, change=lambda _: UNKNOWN, whole=True)


def _written(key: str, path: str, content: Content, *, created: bool) -> Edit:
    return Edit(
        message_id=key, path=path, before=None if created else UNKNOWN, whole=not created, change=lambda _: content
    )


def _replacing(key: str, path: str, pairs: list[tuple[str, str]], moved_from: str | None = None) -> Edit:
    """An edit that replaces texts one after the other."""

    def change(text: Content) -> Content:
        for old, new in pairs:
            text = replaced(text, old, new)
        return text

    def reverse(text: Content) -> Content:
        for old, new in reversed(pairs):
            text = replaced(text, new, old)
        return text

    return Edit(message_id=key, path=path, change=change, reverse=reverse, moved_from=moved_from)


def _of_patch(patch: str, key: str) -> Iterator[Edit]:
    """The files of a patch; the content of one that it deletes is not in it."""
    _, *found = _FILE.split(patch)
    for kind, path, body in zip(found[::3], found[1::3], found[2::3], strict=True):
        body = body.partition("\n*** End Patch")[0].removeprefix("\n") + "\n"
        if kind == "Add":
            lines = [line[1:] for line in body.splitlines() if line.startswith("+")]
            yield _written(key, path, content_of("".join(f"{line}\n" for line in lines)), created=True)
        elif kind == "Delete":
            yield Edit(message_id=key, path=path, change=lambda _: None)
        else:
            moved = _MOVE.match(body)
            hunks = re.split(r"^@@.*\n", body[moved.end() :] if moved is not None else body, flags=re.MULTILINE)
            pairs = [pair for hunk in hunks if (pair := _pair(hunk)) != ("", "")]
            yield _replacing(key, path if moved is None else moved[1], pairs, None if moved is None else path)


def _pair(hunk: str) -> tuple[str, str]:
    """What a hunk replaces, and by what."""
    lines = [line for line in hunk.split("\n") if line and not line.startswith("***")]
    old = [line[1:] for line in lines if line[0] in " -"]
    new = [line[1:] for line in lines if line[0] in " +"]
    return "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
