"""The bodies of requests and answers that are not values of the ledger itself."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hansard.errors import Unreadable
from hansard.formats.contract import Loss, Written, WrittenAll
from hansard.model import native
from hansard.model.conversation import Agent, Message, Run, Todo
from hansard.model.parts import PART_TYPES, Node, RawPart, ToolResultPart, Unknown
from hansard.model.validate import Finding


class Body(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """The base of all of them."""


class Login(Body, frozen=True, kw_only=True):
    """The code of a login link, or a token: one of the two."""

    code: str | UnsetType = UNSET
    token: str | UnsetType = UNSET


class NewThread(Body, frozen=True, kw_only=True):
    """A thread to be made; without an id it gets one."""

    id: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    resource_id: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    agents: list[dict[str, Any]] | UnsetType = UNSET
    parent_thread_id: str | UnsetType = UNSET


class ThreadChange(Body, frozen=True, kw_only=True):
    """What a thread is to say of itself: null takes a title or resource away, agents are added, metadata replaced."""

    title: str | UnsetType | None = UNSET
    resource_id: str | UnsetType | None = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    agents: list[dict[str, Any]] | UnsetType = UNSET


class NewMessages(Body, frozen=True, kw_only=True):
    """Native messages to be said at the head, or behind `parent` (null: before everything)."""

    messages: list[dict[str, Any]]
    parent: str | UnsetType | None = UNSET
    expected_head: str | UnsetType | None = UNSET


class Messages(Body, frozen=True, kw_only=True):
    """Messages as they are stored."""

    messages: list[Message]


class Checkout(Body, frozen=True, kw_only=True):
    """Where the head is to be: at a message (null: before everything), or with `tip` at the end of its branch."""

    message_id: str | None
    tip: bool = False


class Fork(Body, frozen=True, kw_only=True):
    """The message to go on from; null is the beginning."""

    message_id: str | None


class Results(Body, frozen=True, kw_only=True):
    """Tool results (native parts) for calls that wait."""

    results: list[dict[str, Any]]


class RunShown(Body, frozen=True, kw_only=True):
    """A run and what it has said; of one that is going on or died, what is staged or was saved."""

    run: Run
    messages: list[Message]


class Document(Body, frozen=True, kw_only=True):
    """A conversation in a format, as JSON (`document`), text (`text`) or bytes (`base64`): one of the three."""

    document: Any = UNSET
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET
    format: str | UnsetType = UNSET


class Import(Document, frozen=True, kw_only=True):
    """A document to be put into the ledger, into the thread `threadId` if it holds one conversation."""

    thread_id: str | UnsetType = UNSET


class Imported(Body, frozen=True, kw_only=True):
    """What became of one conversation of a document: so many messages were known, so many are new."""

    thread_id: str
    known: int
    added: int
    head: str | None
    forked: bool = False


class Validate(Document, frozen=True, kw_only=True):
    """A document to be checked, and the provider format whose rules it is checked by too."""

    provider: str | UnsetType = UNSET


class Validated(Body, frozen=True, kw_only=True):
    """The findings; `valid` is false when one of them is an error."""

    valid: bool
    findings: list[Finding]


class Convert(Document, frozen=True, kw_only=True):
    """A document to be written in the format `to`, for the profile `target` of it."""

    to: str
    target: str | UnsetType = UNSET


class Converted(Body, frozen=True, kw_only=True):
    """A written document (`document`, `text` or `base64`), and exactly what it could not carry."""

    format: str
    losses: list[Loss]
    document: Any = UNSET
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET


class FormatShown(Body, frozen=True, kw_only=True):
    """A format: what it is called, the profiles it is written for, whether it is lines of text, has branches."""

    name: str
    title: str
    profiles: list[str]
    text: bool
    trees: bool
    read: bool


class AgentShown(Body, frozen=True, kw_only=True):
    """An agent that `POST /api/chat` may be sent to by its name; the first one answers when none is named."""

    name: str


class ChatShown(Body, frozen=True, kw_only=True):
    """A thread as a chat client has it: UIMessages without what a client may not see. `active`: an answer streams."""

    id: str
    messages: list[dict[str, Any]]
    active: bool


class ChatRequest(Struct, frozen=True, kw_only=True, rename="camel"):
    """What `DefaultChatTransport` posts: all messages, or the last as `message`; other keys are allowed."""

    id: str
    messages: list[dict[str, Any]] | UnsetType = UNSET
    message: dict[str, Any] | UnsetType = UNSET
    trigger: str | UnsetType = UNSET
    message_id: str | UnsetType = UNSET
    agent: str | UnsetType = UNSET


class WorkspaceShown(Body, frozen=True, kw_only=True):
    """A folder whose files a thread changed. `touchable`: this server may undo and redo there; if not, `why`."""

    id: int
    root: str
    changes: int
    changed_at: str
    touchable: bool
    why: str | UnsetType = UNSET


class FileChange(Body, frozen=True, kw_only=True):
    """A path and what became of it: created, deleted, modified."""

    path: str
    what: str


class ChangeShown(Body, frozen=True, kw_only=True):
    """What was done to files with one message; `source` says how it is known. `more`: so many paths are not listed."""

    snapshot: int
    at: str
    source: str
    files: list[FileChange]
    message_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    undone: bool = False
    partial: bool = False
    more: int = 0


class FileDiff(Body, frozen=True, kw_only=True):
    """What became of a path as a unified diff; of what is not text, or is too long, only words."""

    path: str
    what: str
    diff: str


class PlannedFile(Body, frozen=True, kw_only=True):
    """What would become of a path: write, delete, merge, or keep, which is a conflict and says `why`."""

    path: str
    action: str
    why: str | UnsetType = UNSET
    diff: str | UnsetType = UNSET


class PlanShown(Body, frozen=True, kw_only=True):
    """What an undo or redo would do: from which head to which, to which files, which stay because others changed them.

    `id` stands for exactly this: it is what `apply` is given. `todos` is the todo list as it would be.
    """

    id: str
    kind: str
    from_head: str | None
    to_head: str | None
    files: list[PlannedFile]
    conflicts: list[PlannedFile]
    todos: list[Todo]


class Apply(Body, frozen=True, kw_only=True):
    """The plan that was shown and is to be carried out, and what it was asked for with."""

    plan: str
    kind: Literal["undo", "redo"]
    turns: Annotated[int, Meta(ge=1, le=100_000)] | UnsetType = UNSET
    to: str | UnsetType = UNSET
    scope: Literal["both", "files", "conversation"] = "both"


class Applied(Body, frozen=True, kw_only=True):
    """What was done; `conflicts` are paths that somebody else had changed and that were left alone."""

    kind: str
    from_head: str | None
    to_head: str | None
    files: list[PlannedFile]
    conflicts: list[PlannedFile]
    todos: list[Todo]


class Stopped(Body, frozen=True, kw_only=True):
    """Whether an answer was being given and is now stopped."""

    stopped: bool


def data_of(given: Document) -> Any:
    """What a format is given to read."""
    told = [name for name in ("document", "text", "base64") if getattr(given, name) is not UNSET]
    if len(told) != 1:
        named = " and ".join(told) if told else "none of them"
        raise Unreadable(f"document, text or base64 belongs here, not {named}", "$", "give one of the three")
    if isinstance(given.text, str):
        return given.text
    if isinstance(given.base64, str):
        try:
            return base64.b64decode(given.base64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise Unreadable(f"not base64: {error}", "$.base64") from None
    return given.document


def converted(written: Written | WrittenAll) -> Converted:
    """A written document for the wire; bytes that are no text go as base64."""
    fields: dict[str, Any] = {"document": written.data}
    if isinstance(written.data, bytes):
        try:
            fields = {"text": written.data.decode()}
        except UnicodeDecodeError:
            fields = {"base64": base64.b64encode(written.data).decode()}
    return Converted(format=written.format.name, losses=written.losses, **fields)


def messages_of(values: list[dict[str, Any]]) -> list[Message]:
    """Native messages that somebody wrote by hand: a field of the wrong kind is refused here, not set aside."""
    found = [native.build(Message, value, f"$.messages[{i}]") for i, value in enumerate(values)]
    for i, message in enumerate(found):
        _refuse_mistakes(message, f"$.messages[{i}]")
    return found


def agents_of(values: list[dict[str, Any]] | UnsetType) -> list[Agent] | UnsetType:
    """The agents of a thread's registry."""
    if values is UNSET:
        return UNSET
    found = [native.build(Agent, value, f"$.agents[{i}]") for i, value in enumerate(values)]
    for i, agent in enumerate(found):
        _refuse_mistakes(agent, f"$.agents[{i}]")
    return found


def results_of(values: list[dict[str, Any]]) -> list[ToolResultPart]:
    """Tool results; their `type` may be left out."""
    found: list[ToolResultPart] = []
    for i, value in enumerate(values):
        part = native.build(ToolResultPart, {**value, "type": "tool-result"}, f"$.results[{i}]")
        _refuse_mistakes(part, f"$.results[{i}]")
        if not isinstance(part.tool_call_id, str):
            raise Unreadable("no 'toolCallId'", f"$.results[{i}]", "GET pending names the calls that wait")
        found.append(part)
    if not found:
        raise Unreadable("no results", "$.results", "give at least one")
    return found


_TAGS = {str(kind.__struct_config__.tag) for kind in PART_TYPES}


def _refuse_mistakes(node: Any, path: str) -> None:
    if isinstance(node, list):
        for i, item in enumerate(node):
            _refuse_mistakes(item, f"{path}[{i}]")
    if not isinstance(node, Node):
        return
    if isinstance(node, RawPart) and node.format == native.NATIVE and isinstance(node.unknown, Unknown):
        tag = node.value.get("type") if type(node.value) is dict else None
        if type(tag) is not str:
            raise Unreadable("a part with a type expected", path, "see /schema")
        if tag in _TAGS:
            raise Unreadable(f"not a {tag} part: a field is missing or of the wrong kind", path, "see /schema")
        return
    known = native.names(type(node))
    for name in node.unknown.fields if isinstance(node.unknown, Unknown) else ():
        if name in known:
            raise Unreadable(f"the {name!r} is of the wrong kind", f"{path}.{name}", "see /schema")
    for name, attribute in known.items():
        _refuse_mistakes(getattr(node, attribute), f"{path}.{name}")
