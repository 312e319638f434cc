"""Edits of the user's files in Claude Code sessions: `toolUseResult` of results, and `file-history` backups."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import UNSET

from hansard.formats.coding_agents.claude_code.content import NAME
from hansard.formats.coding_agents.edits import UNKNOWN, Calls, Content, Edit, Unknown, content_of
from hansard.formats.residue import unpack
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import ToolResultPart


def edits_of(message: Message, key: str, calls: Calls) -> Iterator[Edit]:
    """The edits that the result of a tool records."""
    result = unpack(NAME, message.extra)[0].get("toolUseResult")
    if result is None:
        yield from _edits_of_calls(message, key, calls)
    if type(result) is not dict or not isinstance(result.get("filePath"), str):
        return
    path, before = result["filePath"], content_of(result.get("originalFile", result.get("originalFileContents")))
    if isinstance(result.get("content"), str) and result.get("type") in ("create", "update"):
        if result["type"] == "create" and before is UNKNOWN:
            before = None
        after = content_of(result["content"])
        yield Edit(message_id=key, path=path, before=before, change=lambda _: after)
    elif isinstance(result.get("oldString"), str) and isinstance(result.get("newString"), str):
        pairs = [(result["oldString"], result["newString"], result.get("replaceAll") is True)]
        if before is UNKNOWN and result["oldString"] == "":
            before = None
        yield Edit(
            message_id=key,
            path=path,
            before=before,
            change=lambda text: _replaced(text, pairs),
            reverse=lambda text: _reverted(text, pairs[0]),
        )
    elif isinstance(result.get("edits"), list):
        many = [
            (one.get("old_string", ""), one.get("new_string", ""), one.get("replace_all") is True)
            for one in result["edits"]
            if type(one) is dict
        ]
        yield Edit(message_id=key, path=path, before=before, change=lambda text: _replaced(text, many))


def _edits_of_calls(message: Message, key: str, calls: Calls) -> Iterator[Edit]:
    """The edits of a sub-agent, whose records have no `toolUseResult`: from the arguments of its calls."""
    for part in message.parts:
        call = calls.get(str(part.tool_call_id)) if isinstance(part, ToolResultPart) else None
        if call is None or not isinstance(part, ToolResultPart) or part.is_error is True:
            continue
        given = call.input if isinstance(call.input, dict) else {}
        path, old, new = given.get("file_path"), given.get("old_string"), given.get("new_string")
        if not isinstance(path, str):
            continue
        if call.tool_name == "Write" and isinstance(given.get("content"), str):
            text = str(part.output) if part.content is UNSET else str(part.content)
            after = content_of(given["content"])
            if text.lstrip("[").find("File created successfully") >= 0:
                yield Edit(message_id=key, path=path, otherwise=None, change=lambda _, after=after: after)  # type: ignore[misc]
            else:
                yield Edit(message_id=key, path=path, change=lambda _, after=after: after)  # type: ignore[misc]
        elif call.tool_name == "Edit" and isinstance(old, str) and isinstance(new, str):
            pair = (old, new, given.get("replace_all") is True)
            yield Edit(
                message_id=key,
                path=path,
                change=lambda text, pair=pair: _replaced(text, [pair]),  # type: ignore[misc]
                reverse=lambda text, pair=pair: _reverted(text, pair),  # type: ignore[misc]
            )


def _replaced(text: Content, pairs: list[tuple[str, str, bool]]) -> Content:
    """A text after Claude Code's replacements; a deletion takes the line feed after it along."""
    if isinstance(text, Unknown):
        return UNKNOWN
    found = text or b""
    for old, new, everywhere in pairs:
        was, becomes = old.encode("utf-8", "surrogatepass"), new.encode("utf-8", "surrogatepass")
        if not was:
            found = becomes + found if not found else becomes
            continue
        if was not in found:
            return UNKNOWN
        if not becomes and not was.endswith(b"\n") and was + b"\n" in found:
            was += b"\n"
        found = found.replace(was, becomes) if everywhere else found.replace(was, becomes, 1)
    return found


def _reverted(text: Content, pair: tuple[str, str, bool]) -> Content:
    """The text before a replacement; unknown unless the replacement occurs exactly once."""
    if text is None or isinstance(text, Unknown):
        return UNKNOWN
    new = pair[1].encode("utf-8", "surrogatepass")
    if not new or text.count(new) != 1:
        return UNKNOWN
    return text.replace(new, pair[0].encode("utf-8", "surrogatepass"))


def backups_of(conversation: Conversation, read: Callable[[str], bytes | None]) -> Iterator[Edit]:
    """The backups in Claude Code's `file-history` folder; `read` returns one by its name, None if it is absent."""
    seen: set[tuple[str, str]] = set()
    for snapshot in [] if conversation.snapshots is UNSET else conversation.snapshots:
        tracked = snapshot.backups if isinstance(snapshot.backups, dict) else {}
        for path, result in tracked.items():
            if type(result) is not dict or not isinstance(snapshot.message_id, str):
                continue
            name = result.get("backupFileName")
            if (path, str(name)) in seen:
                continue
            seen.add((path, str(name)))
            data = read(name) if isinstance(name, str) else None
            if name is None or data is not None:
                yield Edit(
                    message_id=snapshot.message_id,
                    path=path,
                    before=data,
                    change=lambda text: text,
                    is_backup=True,
                )
