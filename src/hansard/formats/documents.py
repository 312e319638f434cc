"""The registry of formats, and reading, writing and telling them apart.

Modules are imported when their format is first asked for. Others add theirs through the entry-point group
`hansard.formats`: each entry names a `Format`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import AmbiguousFormat, CannotWrite, UnknownFormat, Unreadable
from hansard.formats.contract import Format, Loss, Target, Written, WrittenAll
from hansard.formats.field_table import NeedsPlainDecode, Typed
from hansard.formats.residue import unpack
from hansard.gc_pause import quiet_collector
from hansard.model import exact_json
from hansard.model.conversation import Conversation
from hansard.model.hashing import bind
from hansard.model.tree import active_path

if TYPE_CHECKING:
    from hansard.formats.rules.conform import Outline

_MODULES = {
    "hansard": "native.messages",
    "agent-store": "agent_store.messages",
    "thread-protocol": "thread_protocol.messages",
    "sage": "coding_agents.sage.session",
    "claude-code": "coding_agents.claude_code.session",
    "pi": "coding_agents.pi.session",
    "copilot-cli": "coding_agents.copilot_cli.session",
    "codex": "coding_agents.codex.session",
    "gemini-cli": "coding_agents.gemini_cli.session",
    "provider-message": "provider_message.messages",
    "openai-chat": "openai_chat.messages",
    "openai-responses": "openai_responses.messages",
    "anthropic": "anthropic.messages",
    "gemini": "gemini.messages",
    "pydantic-ai": "pydantic_ai.messages.documents",
    "ai-sdk-ui": "ai_sdk.ui.messages",
    "ai-sdk-model": "ai_sdk.model.messages",
    "langchain": "langchain.messages",
    "atif": "exchange.atif.messages",
    "otel-genai": "exchange.otel_genai.messages",
    "openai-finetune": "exchange.openai_finetune",
    "sharegpt": "exchange.sharegpt",
    "chatgpt-export": "exchange.chatgpt_export.messages",
    "markdown": "pages.markdown",
    "html": "pages.html",
}

# An object without any of these keys is not of that format: its modules need not be imported to know.
_KEYS: dict[str, frozenset[str]] = {
    "thread-protocol": frozenset({"turns"}),
    "sage": frozenset({"uuid", "messageId"}),
    "claude-code": frozenset({"sessionId", "session_id", "leafUuid", "snapshot"}),
    "pi": frozenset({"timestamp"}),
    "copilot-cli": frozenset({"parentId"}),
    "codex": frozenset({"payload", "instructions"}),
    "gemini-cli": frozenset({"sessionId", "timestamp", "$set", "$rewindTo"}),
    "openai-responses": frozenset({"input", "output"}),
    "gemini": frozenset({"contents", "candidates", "promptFeedback", "usageMetadata", "modelVersion"}),
    "pydantic-ai": frozenset(),
    "langchain": frozenset({"messages", "data", "kwargs", "content"}),
    "atif": frozenset({"schema_version"}),
    "otel-genai": frozenset({"resourceSpans", "resourceLogs", "attributes", "spans", "logRecords"}),
    "openai-finetune": frozenset({"preferred_output"}),
    "sharegpt": frozenset({"conversations", "items"}),
    "chatgpt-export": frozenset({"mapping", "raw_provider_payload"}),
    "markdown": frozenset(),
    "html": frozenset(),
}
# The same of a list by its first object, and of these formats none is a file of lines.
_ITEM_KEYS: dict[str, frozenset[str]] = {
    **{name: _KEYS[name] for name in ("chatgpt-export", "markdown", "html")},
    "otel-genai": _KEYS["otel-genai"] | {"parts"},
    "atif": frozenset(),
}

# Coding agents: what one is handed is said in the words of its own tools.
_AGENTS = frozenset({"claude-code", "codex", "gemini-cli", "sage", "pi"})


def _may_fit(name: str, document: Any) -> bool:
    keys = _KEYS.get(name)
    if type(document) is not dict:
        keys = _ITEM_KEYS.get(name)
        document = document[0] if type(document) is list and document else {}
    return keys is None or (type(document) is dict and not keys.isdisjoint(document))


def names() -> list[str]:
    """The names of all formats, our own first."""
    return [*_MODULES, *sorted(set(_plugins()) - set(_MODULES))]


@cache
def get(name: str) -> Format:
    """The format of that name."""
    if module := _MODULES.get(name):
        return import_module(f"hansard.formats.{module}").FORMAT  # type: ignore[no-any-return]
    if plugin := _plugins().get(name):
        return plugin.load()  # type: ignore[no-any-return]
    import difflib

    near = difflib.get_close_matches(name, names(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "there are " + ", ".join(names())
    raise UnknownFormat(f"no format {name!r}; {hint}")


@cache
def _plugins() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group="hansard.formats")}


def detect(document: Any) -> str:
    """The one format that parsed data (or the bytes of a session file) is of; refuses to guess between two.

    >>> detect({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})
    'gemini'
    """
    sure = {name: get(name).fits(document) if _may_fit(name, document) else 0 for name in _MODULES}
    if max(sure.values()) < 3:  # looking for plug-ins takes time: only when our own leave a doubt
        sure |= {name: get(name).fits(document) for name in _plugins()}
    best = max(sure.values())
    found = [name for name, how in sure.items() if how == best]
    if best == 0:
        raise UnknownFormat("the data fits no format; name it with --from (`hansard formats` lists them)")
    if len(found) > 1:
        raise AmbiguousFormat(f"the data fits {' and '.join(found)}; name the right one with --from")
    return found[0]


def parse(data: Any, format: str | None = None) -> Any:
    """What a format is given to read: its own copy of the values, or the bytes of a format of lines."""
    return _parse(data, format)[0]


def _parse(data: Any, format: str | None) -> tuple[Any, bool]:
    """The same, and whether a string in it may hold half a surrogate pair."""
    if not isinstance(data, _TEXTS):
        return exact_json.copied(data), True
    raw = _bytes(data)
    if format is not None and get(format).text:
        return raw, True
    try:
        return exact_json.decode_noting(raw)
    except Unreadable:
        if format is None and any(_may_fit(name, raw) and get(name).text and get(name).fits(raw) for name in _MODULES):
            return raw, True
        raise


_TEXTS = (str, bytes, bytearray, memoryview)


def _bytes(data: Any) -> bytes:
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)


def read(data: Any, format: str | None = None) -> Conversation:
    """A conversation from bytes, text or parsed JSON of any format; without a name the format is detected.

    >>> read({"messages": [{"role": "user", "content": "hi"}]}, "anthropic").messages[0].parts[0].text
    'hi'
    """
    with quiet_collector():
        chosen, documents, halves = _documents(data, format)
        if len(documents) != 1:
            way_out = "read them with hansard.read_all; `hansard convert` writes them all"
            raise Unreadable(f"{len(documents)} conversations in one document", "$", way_out)
        return _read(chosen, documents[0], halves)[0]


def read_plain(document: Any, format: str) -> Conversation:
    """The same for parsed JSON of one conversation."""
    with quiet_collector():
        return _read(get(format), exact_json.copied(document), exact_json.may_hold_halves(document))[0]


def read_all(data: Any, format: str | None = None) -> list[Conversation]:
    """Every conversation of a document: of an export or a training file there may be many, of others there is one.

    >>> said = [{"conversations": [{"from": "human", "value": word}]} for word in ("hi", "bye")]
    >>> [conversation.messages[0].parts[0].text for conversation in read_all(said)]
    ['hi', 'bye']
    """
    with quiet_collector():
        return _read_each(*_documents(data, format))


def _read_each(chosen: Format, documents: list[Any], halves: bool) -> list[Conversation]:
    found: list[Conversation] = []
    for i, document in enumerate(documents):
        try:
            found.append(_read(chosen, document, halves)[0])
        except Unreadable as error:
            if len(documents) == 1:
                raise
            raise Unreadable(error.problem, _place(documents, i, error.path), error.way_out) from None
    return found


def _place(documents: list[Any], i: int, path: str) -> str:
    """The place in the whole document: the line of a file of lines, else the number of the conversation."""
    one = documents[i]
    if type(one) is not bytes or one.lstrip().startswith(b"["):
        return f"$[{i}]{path[1:]}"
    before = b"".join([*documents[:i], one[: len(one) - len(one.lstrip())]])
    return "line {}, {}".format(before.count(b"\n") + 1, path)


def _documents(data: Any, format: str | None) -> tuple[Format, list[Any], bool]:
    """The format, the documents of one conversation each, and whether a string may hold half a surrogate pair."""
    if format is not None and isinstance(data, _TEXTS) and (usual := get(format).usual) is not None:
        data = _bytes(data)
        if (typed := usual(data)) is not None:
            return get(format), [Typed(typed, data)], False
    document, halves = _parse(data, format)
    chosen = get(format or detect(document))
    if chosen.text and not isinstance(document, bytes):
        document = _bytes(data) if isinstance(data, _TEXTS) else exact_json.encode(document)
    return chosen, [document] if chosen.split is None else chosen.split(document), halves


def _read(chosen: Format, document: Any, halves: bool) -> tuple[Conversation, Outline | None]:
    met = exact_json.Halves.count
    try:
        conversation = chosen.read(document.document if type(document) is Typed else document)
    except NeedsPlainDecode:
        return _read(chosen, exact_json.decode(document.text), halves)
    except RecursionError:
        raise Unreadable("nested too deeply to be a conversation") from None
    except Unreadable as error:
        if error.way_out:
            raise
        way_out = f"is it really {chosen.name}? `hansard formats` lists the others"
        raise Unreadable(error.problem, error.path, way_out) from None
    messages = conversation.messages
    if chosen.law is None:
        if chosen.binds:
            bind(messages, chosen.own_provider, _model_of(chosen, conversation))
        if chosen.whole_letters and (halves or exact_json.Halves.count != met):
            from hansard.formats.rules.unicode import mark_halves

            mark_halves(messages, chosen.name)
        return conversation, None
    from hansard.formats.rules.conform import is_plain, mark_unlawful, outline

    seen = outline(messages)
    if seen is None or seen.signed:
        bind(messages, chosen.own_provider, _model_of(chosen, conversation))
    halves = halves or exact_json.Halves.count != met
    if halves or not is_plain(seen, chosen.law):
        answer = unpack(chosen.name, conversation.extra)[1].get("shape") == "response"
        mark_unlawful(messages, chosen.law, chosen.name, halves=halves, answer=answer)
    return conversation, seen


def _model_of(chosen: Format, conversation: Conversation) -> str | None:
    kept = conversation.extra.get(chosen.name) if conversation.extra is not UNSET else None
    model = kept.get("model") if type(kept) is dict else None
    return model if type(model) is str else None


def write(conversation: Conversation, format: str, *, target: Target | str | None = None) -> Written:
    """The conversation as a document of another format, with the list of what it could not carry.

    >>> from hansard.model import Message, TextPart
    >>> hello = Conversation(messages=[Message(role="user", parts=[TextPart(text="hi")])])
    >>> write(hello, "anthropic").data, write(hello, "anthropic").losses
    ({'messages': [{'role': 'user', 'content': 'hi'}]}, [])
    """
    return _write_any(conversation, format, target, None)


def _write_any(conversation: Conversation, format: str, target: Target | str | None, seen: Outline | None) -> Written:
    chosen = get(format)
    aim = Target(profile=target) if isinstance(target, str) else target or Target()
    if aim.profile is not None and aim.profile not in chosen.profiles:
        there = ", ".join(chosen.profiles) or "none"
        raise CannotWrite(f"{format} has no target {aim.profile!r}; there are: {there}")
    shown, path = conversation, list(range(len(conversation.messages)))
    if not chosen.trees:
        path = active_path(conversation)
        if len(path) != len(conversation.messages):
            shown, seen = replace(conversation, messages=[conversation.messages[i] for i in path]), None
    with quiet_collector():
        return _write(chosen, aim, conversation, shown, path, seen)


def _write(
    chosen: Format, aim: Target, source: Conversation, shown: Conversation, path: list[int], seen: Outline | None
) -> Written:
    notes: list[Loss] = []
    if chosen.law is None:
        if chosen.name in _AGENTS:
            from hansard.formats.coding_agents.handover import handed_over

            shown = handed_over(shown, chosen.name, notes, path)
        messages = shown.messages
        if not chosen.whole_letters:
            data = chosen.write(shown, aim)
            return Written(chosen, aim, source, data, lambda written: _losses(written, notes))
    else:
        from hansard.formats.rules.conform import lawful

        if aim.model is None:
            aim = replace(aim, model=_model_of(chosen, source))
        messages = lawful(shown.messages, chosen.law, aim, chosen.name, notes, path, seen)
    met = exact_json.Halves.count
    data = chosen.write(replace(shown, messages=messages), aim)
    text = exact_json.encode_utf8(data) if type(data) is not bytes else b""
    if text is None or exact_json.Halves.count != met:
        from hansard.formats.rules.unicode import without_halves

        without_halves(shown.messages, chosen.name, notes, path)
        whole = without_halves(messages, chosen.name, [], list(range(len(messages))))
        if whole is not messages:
            data, text = chosen.write(replace(shown, messages=whole), aim), None
    return Written(chosen, aim, source, data, lambda written: _losses(written, notes), text)


def write_all(
    conversations: list[Conversation], format: str, *, target: Target | str | None = None
) -> Written | WrittenAll:
    """Many conversations as one document of a format that holds many; one alone as `write` would."""
    each = [write(conversation, format, target=target) for conversation in conversations]
    if len(each) == 1:
        return each[0]
    chosen = get(format)
    if chosen.join is None:
        many = ", ".join(name for name in names() if get(name).join is not None)
        way_out = f"write them to {many}, or each into a file (`hansard convert -o FOLDER`)"
        raise CannotWrite(f"{len(each)} conversations do not fit into one document of {format}; {way_out}")
    return WrittenAll(each, chosen, chosen.join([written.data for written in each]))


def convert(
    data: Any, to: str, from_: str | None = None, *, target: Target | str | None = None
) -> Written | WrittenAll:
    """Read one format, write another; of a document of many conversations, all of them."""
    with quiet_collector():
        chosen, documents, halves = _documents(data, from_)
        if len(documents) == 1:
            conversation, seen = _read(chosen, documents[0], halves)
            return _write_any(conversation, to, target, seen)
        return write_all(_read_each(chosen, documents, halves), to, target=target)


def _losses(written: Written, notes: list[Loss]) -> list[Loss]:
    from hansard.formats.losses import proven_losses

    if written.format.kept is not None:
        return proven_losses(written, written.format.kept(written.source), notes)
    document = written.data if written.format.text else exact_json.copied(written.data)
    return proven_losses(written, _read(written.format, document, halves=True)[0], notes)
