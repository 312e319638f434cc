"""Bodies of requests and responses, except for values of the ledger itself."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hansard.errors import Unreadable
from hansard.formats.contract import Loss, Written, WrittenAll
from hansard.formats.native.messages import without_version
from hansard.model import native
from hansard.model.conversation import Agent, Message, Run, Todo
from hansard.model.parts import PART_TYPES, Node, RawPart, ToolResultPart, Unknown
from hansard.model.validate import Finding


class Body(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Base class."""


class Login(Body, frozen=True, kw_only=True):
    """The code of a login link, or a token."""

    code: str | UnsetType = UNSET
    token: str | UnsetType = UNSET


class NewThread(Body, frozen=True, kw_only=True):
    """A thread to create; the server chooses an id if it is omitted."""

    id: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    resource_id: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    agents: list[dict[str, Any]] | UnsetType = UNSET
    parent_thread_id: str | UnsetType = UNSET


class ThreadChange(Body, frozen=True, kw_only=True):
    """Changes to a thread: null removes the title or resource, agents are added, metadata is replaced."""

    title: str | UnsetType | None = UNSET
    resource_id: str | UnsetType | None = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    agents: list[dict[str, Any]] | UnsetType = UNSET


class NewMessages(Body, frozen=True, kw_only=True):
    """Native messages to append at the head, or after `parent` (null: at the root)."""

    messages: list[dict[str, Any]]
    parent: str | UnsetType | None = UNSET
    expected_head: str | UnsetType | None = UNSET


class Messages(Body, frozen=True, kw_only=True):
    """Stored messages."""

    messages: list[Message]


class Checkout(Body, frozen=True, kw_only=True):
    """The new head: a message (null: the root), or with `tip` the end of its branch."""

    message_id: str | None
    tip: bool = False


class Fork(Body, frozen=True, kw_only=True):
    """The message to continue from; null is the root."""

    message_id: str | None


class Results(Body, frozen=True, kw_only=True):
    """Tool results (native parts) for pending calls."""

    results: list[dict[str, Any]]


class RunShown(Body, frozen=True, kw_only=True):
    """A run with its messages; for an active or dead run, its staged or journaled messages."""

    run: Run
    messages: list[Message]


class Document(Body, frozen=True, kw_only=True):
    """A conversation in a format, as JSON (`document`), text (`text`) or bytes (`base64`); exactly one of them."""

    document: Any = UNSET
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET
    format: str | UnsetType = UNSET


class Import(Document, frozen=True, kw_only=True):
    """A document to import, into the thread `threadId` if it has one conversation."""

    thread_id: str | UnsetType = UNSET


class Imported(Body, frozen=True, kw_only=True):
    """Import result of one conversation: the numbers of known and of added messages."""

    thread_id: str
    known: int
    added: int
    head: str | None
    forked: bool = False


class Validate(Document, frozen=True, kw_only=True):
    """A document to validate, optionally also by the rules of a provider."""

    provider: str | UnsetType = UNSET


class Validated(Body, frozen=True, kw_only=True):
    """Findings; `valid` is false if one of them is an error."""

    valid: bool
    findings: list[Finding]


class Convert(Document, frozen=True, kw_only=True):
    """A document to write in the format `to`, for its profile `target`; `model` and `maxTokens` complete a request."""

    to: str
    target: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET


class Converted(Body, frozen=True, kw_only=True):
    """A written document (`document`, `text` or `base64`), its losses, and what is `missing` in a request."""

    format: str
    losses: list[Loss]
    missing: list[str] | UnsetType = UNSET
    document: Any = UNSET
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET


class FormatShown(Body, frozen=True, kw_only=True):
    """A format: name, title, profiles, whether it is text and whether it has branches."""

    name: str
    title: str
    profiles: list[str]
    text: bool
    trees: bool
    read: bool


class AgentShown(Body, frozen=True, kw_only=True):
    """An agent that `POST /api/chat` can name; the first one is the default."""

    name: str


class UIMessage(Body, frozen=True, kw_only=True):
    """A message for chat clients, without internal data. `metadata.interrupted`: the answer was not completed."""

    id: str
    role: str
    parts: list[dict[str, Any]]
    metadata: dict[str, Any] | UnsetType = UNSET


class ChatRequest(Struct, frozen=True, kw_only=True, rename="camel"):
    """Request of `DefaultChatTransport`: all messages, or the last one as `message`; other keys are allowed."""

    id: str
    messages: list[dict[str, Any]] | UnsetType = UNSET
    message: dict[str, Any] | UnsetType = UNSET
    trigger: str | UnsetType = UNSET
    message_id: str | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    prune: bool | UnsetType = UNSET


class WorkspaceShown(Body, frozen=True, kw_only=True):
    """A folder whose files a thread changed. `touchable`: this server may undo and redo there; if not, `why` not."""

    id: int
    root: str
    changes: int
    changed_at: str
    touchable: bool
    why: str | UnsetType = UNSET


class FileChange(Body, frozen=True, kw_only=True):
    """A path and its change: created, deleted or modified."""

    path: str
    what: str


class ChangeShown(Body, frozen=True, kw_only=True):
    """File changes of one message; `source` is their origin. `more`: number of paths not listed."""

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
    """The change of a path as a unified diff; a description for binary or long files."""

    path: str
    what: str
    diff: str


class PlannedFile(Body, frozen=True, kw_only=True):
    """The planned action for a path: write, delete, merge, or keep (a conflict, with `why`)."""

    path: str
    action: str
    why: str | UnsetType = UNSET
    diff: str | UnsetType = UNSET


class PlanShown(Body, frozen=True, kw_only=True):
    """Plan of an undo or redo: old and new head, files to change, and conflicting files that stay.

    `id` identifies exactly this plan; pass it to `apply`. `todos` is the resulting todo list.
    """

    id: str
    kind: str
    from_head: str | None
    to_head: str | None
    files: list[PlannedFile]
    conflicts: list[PlannedFile]
    todos: list[Todo]


class Apply(Body, frozen=True, kw_only=True):
    """The `id` of a plan and the parameters that it was requested with."""

    plan: str
    kind: Literal["undo", "redo"]
    turns: Annotated[int, Meta(ge=1, le=100_000)] | UnsetType = UNSET
    to: str | UnsetType = UNSET
    scope: Literal["both", "files", "conversation"] = "both"
    unverified: bool = False


class Applied(Body, frozen=True, kw_only=True):
    """Result of an undo or redo; `conflicts` are paths that others had changed and that stay."""

    kind: str
    from_head: str | None
    to_head: str | None
    files: list[PlannedFile]
    conflicts: list[PlannedFile]
    todos: list[Todo]


class Stopped(Body, frozen=True, kw_only=True):
    """Whether an active answer was stopped."""

    stopped: bool


def data_of(given: Document) -> Any:
    """The input for a format's reader."""
    told = [name for name in ("document", "text", "base64") if getattr(given, name) is not UNSET]
    if len(told) != 1:
        named = " and ".join(told) if told else "none of them"
        raise Unreadable(f"expected one of document, text and base64, not {named}", "$", "give one of the three")
    if isinstance(given.text, str):
        return given.text
    if isinstance(given.base64, str):
        try:
            return base64.b64decode(given.base64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise Unreadable(f"not base64: {error}", "$.base64") from None
    return given.document


def converted(written: Written | WrittenAll) -> Converted:
    """A written document as JSON; bytes that are not UTF-8 as base64."""
    fields: dict[str, Any] = {"document": written.document}
    if isinstance(written.document, bytes):
        try:
            fields = {"text": written.document.decode()}
        except UnicodeDecodeError:
            fields = {"base64": base64.b64encode(written.document).decode()}
    missing = written.missing or UNSET
    return Converted(format=written.format.name, losses=written.losses, missing=missing, **fields)


def messages_of(values: list[dict[str, Any]]) -> list[Message]:
    """Native messages from a client: a field of the wrong type is rejected, not kept as an unknown field."""
    found = [native.build(Message, value, f"$.messages[{i}]") for i, value in enumerate(values)]
    for i, message in enumerate(found):
        _refuse_mistakes(message, f"$.messages[{i}]")
    return list(map(without_version, found))


def agents_of(values: list[dict[str, Any]] | UnsetType) -> list[Agent] | UnsetType:
    """The agents of a thread."""
    if values is UNSET:
        return UNSET
    found = [native.build(Agent, value, f"$.agents[{i}]") for i, value in enumerate(values)]
    for i, agent in enumerate(found):
        _refuse_mistakes(agent, f"$.agents[{i}]")
    return found


def results_of(values: list[dict[str, Any]]) -> list[ToolResultPart]:
    """Tool results; their `type` is optional."""
    found: list[ToolResultPart] = []
    for i, value in enumerate(values):
        part = native.build(ToolResultPart, {**value, "type": "tool-result"}, f"$.results[{i}]")
        _refuse_mistakes(part, f"$.results[{i}]")
        if not isinstance(part.tool_call_id, str):
            raise Unreadable("no 'toolCallId'", f"$.results[{i}]", "GET pending lists the pending calls")
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
            raise Unreadable(f"not a {tag} part: a field is missing or of the wrong type", path, "see /schema")
        return
    known = native.names(type(node))
    for name in node.unknown.fields if isinstance(node.unknown, Unknown) else ():
        if name in known:
            raise Unreadable(f"{name!r} is of the wrong type", f"{path}.{name}", "see /schema")
    for name, attribute in known.items():
        _refuse_mistakes(getattr(node, attribute), f"{path}.{name}")
