"""Documents read, written and converted: what callers use, over the formats of the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import CannotWrite, Unreadable
from hansard.formats.contract import Format, Loss, Losses, Target, Written, WrittenAll
from hansard.formats.detection import TEXTS, as_bytes, recognized
from hansard.formats.field_table.records import NeedsPlainDecode, Typed
from hansard.formats.registry import get, names
from hansard.formats.requests import completed, names_of, own_model, renamed
from hansard.formats.residue import unpack
from hansard.gc_pause import gc_pause
from hansard.model import exact_json
from hansard.model.conversation import Conversation
from hansard.model.hashing import bind
from hansard.model.machinery import all_as_seen
from hansard.model.tree import active_path

if TYPE_CHECKING:
    from hansard.formats.rules.conform import Outline


def read(data: Any, format: str | Format | None = None) -> Conversation:
    """A conversation from a document of any format; without a name the format is detected.

    `data` is bytes, text, parsed JSON, or an object of a provider's SDK (also inside lists and dicts).

    >>> read({"messages": [{"role": "user", "content": "hi"}]}, "anthropic").messages[0].parts[0].text
    'hi'
    """
    with gc_pause():
        source = _Source(data, format)
        if len(source.documents) != 1:
            way_out = "read them with hansard.read_all; `hansard convert` writes them all"
            raise Unreadable(f"{len(source.documents)} conversations in one document", "$", way_out)
        return source.read(0)[0]


def read_all(data: Any, format: str | Format | None = None) -> list[Conversation]:
    """Every conversation of a document: of an export or a training file there may be many, of others there is one.

    >>> dataset = [{"conversations": [{"from": "human", "value": text}]} for text in ("hi", "bye")]
    >>> [conversation.messages[0].parts[0].text for conversation in read_all(dataset)]
    ['hi', 'bye']
    """
    with gc_pause():
        return _Source(data, format).read_all()


def convert(
    data: Any,
    to: str | Format,
    from_: str | Format | None = None,
    *,
    target: Target | str | None = None,
    model: str | None = None,
    max_tokens: int | None = None,
) -> Written | WrittenAll:
    """Read one format, write another; of a document of many conversations, all of them.

    `model` and `max_tokens` complete a request, as in `write`. Messages of an older generation of the format that is
    written are migrated to the current one.

    >>> convert({"messages": [{"role": "user", "content": "hi"}]}, to="gemini", from_="anthropic").data
    {'contents': [{'role': 'user', 'parts': [{'text': 'hi'}]}]}
    """
    with gc_pause():
        source = _Source(data, from_)
        if len(source.documents) == 1:
            conversation, seen = source.read(0)
            current = migrated(conversation, to)
            return _write(current, seen if current is conversation else None, to, target, model, max_tokens)
        each = [migrated(one, to) for one in source.read_all()]
        return write_all(each, to, target=target, model=model, max_tokens=max_tokens)


def migrated(conversation: Conversation, format: str | Format) -> Conversation:
    """The conversation with messages of an older generation of a format in the current one."""
    step = _row(format).migrated
    return conversation if step is None else step(conversation)


def write(
    conversation: Conversation,
    format: str | Format,
    *,
    target: Target | str | None = None,
    model: str | None = None,
    max_tokens: int | None = None,
) -> Written:
    """The conversation as a document of another format, with the list of what it could not carry.

    A request for a provider has the tools and settings of the conversation; `model` and `max_tokens` complete it, and
    `Written.missing` names what is still required. A model is never written for another provider.

    >>> from hansard.model import Message, TextPart
    >>> hello = Conversation(messages=[Message(role="user", parts=[TextPart(text="hi")])])
    >>> write(hello, "anthropic").data, write(hello, "anthropic").losses
    ({'messages': [{'role': 'user', 'content': 'hi'}]}, [])
    """
    with gc_pause():
        return _write(conversation, None, format, target, model, max_tokens)


def write_all(
    conversations: list[Conversation],
    format: str | Format,
    *,
    target: Target | str | None = None,
    model: str | None = None,
    max_tokens: int | None = None,
) -> Written | WrittenAll:
    """Many conversations as one document of a format that holds many; one alone as `write` would.

    >>> hello = read({"messages": [{"role": "user", "content": "hi"}]}, "openai-chat")
    >>> write_all([hello, hello], "openai-finetune").json.count(b"\\n")
    2
    """
    each = [write(one, format, target=target, model=model, max_tokens=max_tokens) for one in conversations]
    if len(each) == 1:
        return each[0]
    chosen = _row(format)
    if chosen.join is None:
        many = ", ".join(name for name in names() if get(name).join is not None and not get(name).coding_agent)
        way_out = f"write them to {many}, or each into a file (`hansard convert -o FOLDER`)"
        raise CannotWrite(f"{len(each)} conversations do not fit into one document of {chosen.name}; {way_out}")
    return WrittenAll(each, chosen, chosen.join([written.document for written in each]))


def _row(format: str | Format) -> Format:
    return format if isinstance(format, Format) else get(format)


# -- reading -------------------------------------------------------------------------------------------------------


class _Source:
    """What a caller gave to read: its format, and the documents of one conversation each in it."""

    def __init__(self, data: Any, name: str | Format | None) -> None:
        self.surrogates = False  # may a string in it hold a lone surrogate?
        raw = as_bytes(data) if isinstance(data, TEXTS) else None
        if name is not None and raw is not None:
            self.format = _row(name)
            if self._typed(raw):
                return
            document, self.surrogates = (raw, True) if self.format.text else exact_json.decode_noting(raw)
        elif name is not None:
            self.format, document = _row(name), exact_json.copied(data)
            self.surrogates = exact_json.may_hold_surrogates(document)
        else:
            given = exact_json.copied(data) if raw is None else raw
            self.format, document, self.surrogates = recognized(given)
            if raw is None:
                self.surrogates = exact_json.may_hold_surrogates(document)
            elif self._typed(raw):
                return
        if self.format.text and not isinstance(document, bytes):
            document = exact_json.encode(document) if raw is None else raw
        self.documents = [document] if self.format.split is None else self.format.split(document)

    def _typed(self, raw: bytes) -> bool:
        """Decode to typed records, where the format has them and knows all that the text says."""
        decode = self.format.decode_typed
        document = decode(raw) if decode is not None else None
        if document is None:
            return False
        self.documents, self.surrogates = [Typed(document, raw)], False
        return True

    def read_all(self) -> list[Conversation]:
        found: list[Conversation] = []
        for i in range(len(self.documents)):
            try:
                found.append(self.read(i)[0])
            except Unreadable as error:
                if len(self.documents) == 1:
                    raise
                raise Unreadable(error.problem, self._place(i, error.path), error.way_out) from None
        return found

    def read(self, i: int) -> tuple[Conversation, Outline | None]:
        return _read(self.format, self.documents[i], self.surrogates)

    def _place(self, i: int, path: str) -> str:
        """The place in the whole document: the line of a file of lines, else the number of the conversation."""
        one = self.documents[i]
        if type(one) is not bytes or one.lstrip().startswith(b"["):
            return f"$[{i}]{path[1:]}"
        before = b"".join([*self.documents[:i], one[: len(one) - len(one.lstrip())]])
        return "line {}, {}".format(before.count(b"\n") + 1, path)


def _read(chosen: Format, document: Any, surrogates: bool) -> tuple[Conversation, Outline | None]:
    met = exact_json.LoneSurrogates.count
    try:
        conversation = chosen.read(document.document if type(document) is Typed else document)
    except NeedsPlainDecode:
        return _read(chosen, exact_json.decode(document.text), surrogates)
    except RecursionError:
        raise Unreadable("nested too deeply to be a conversation") from None
    except Unreadable as error:
        if error.way_out:
            raise
        way_out = f"is it really {chosen.name}? `hansard formats` lists the others"
        raise Unreadable(error.problem, error.path, way_out) from None
    messages = conversation.messages
    if chosen.rules is None:
        if chosen.binds:
            bind(messages, chosen.own_provider, _model_of(chosen, conversation))
        if chosen.strict_unicode and (surrogates or exact_json.LoneSurrogates.count != met):
            from hansard.formats.rules.unicode import mark_surrogates

            mark_surrogates(messages, chosen.name)
        if chosen.repair is not None:
            from hansard.formats.rules.tool_pairing import mark_repaired

            mark_repaired(messages, chosen.name, chosen.repair)
        return conversation, None
    from hansard.formats.rules.conform import is_plain, mark_nonconforming, outline

    seen = outline(messages)
    if seen is None or seen.signed:
        bind(messages, chosen.own_provider, _model_of(chosen, conversation))
    surrogates = surrogates or exact_json.LoneSurrogates.count != met
    if surrogates or not is_plain(seen, chosen.rules):
        answer = unpack(chosen.name, conversation.extra)[1].get("shape") == "response"
        mark_nonconforming(messages, chosen.rules, chosen.name, surrogates=surrogates, answer=answer)
    return conversation, seen


def _model_of(chosen: Format, conversation: Conversation) -> str | None:
    settings, dialect = conversation.settings, chosen.dialect
    if settings is UNSET or dialect is None:
        return None
    return own_model(settings, dialect.provider) or None


# -- writing -------------------------------------------------------------------------------------------------------


def _write(
    conversation: Conversation,
    seen: Outline | None,
    format: str | Format,
    target: Target | str | None,
    model: str | None = None,
    max_tokens: int | None = None,
) -> Written:
    chosen = _row(format)
    if model is not None or max_tokens is not None:
        if chosen.dialect is None:
            raise CannotWrite(f"{chosen.name} is not a request of a provider; leave out model and max_tokens")
        conversation = completed(conversation, chosen.dialect.provider, model, max_tokens)
    aim = Target(profile=target) if isinstance(target, str) else target or Target()
    if aim.profile is not None and aim.profile not in chosen.profiles:
        there = ", ".join(chosen.profiles) or "none"
        raise CannotWrite(f"{chosen.name} has no target {aim.profile!r}; there are: {there}")
    if chosen.rules is not None:
        messages = all_as_seen(conversation.messages)
        if messages is not conversation.messages:
            conversation, seen = replace(conversation, messages=messages), None
    shown, path = conversation, list(range(len(conversation.messages)))
    if not chosen.trees:
        path = active_path(conversation)
        if chosen.active_runs:
            path += _active(conversation, set(path))
        if len(path) != len(conversation.messages):
            shown, seen = replace(conversation, messages=[conversation.messages[i] for i in path]), None
    return _write_path(chosen, aim, conversation, shown, path, seen)


def _active(conversation: Conversation, path: set[int]) -> list[int]:
    """The messages of active runs that are not on the path."""
    active = {run.id for run in conversation.runs or () if run.status == "active"}
    found = enumerate(conversation.messages)
    return [i for i, message in found if i not in path and message.run_id in active] if active else []


def _write_path(
    chosen: Format, aim: Target, source: Conversation, shown: Conversation, path: list[int], seen: Outline | None
) -> Written:
    notes: list[Loss] = []
    if chosen.rules is None:
        if chosen.coding_agent:
            from hansard.formats.coding_agents.handover import handed_over

            shown = handed_over(shown, chosen.name, notes, path)
        messages = shown.messages
        if chosen.repair is not None:
            messages = chosen.repair(messages, aim, notes, path)
            shown = replace(shown, messages=messages)
        if not chosen.strict_unicode:
            data = chosen.write(shown, aim)
            return Written(chosen, aim, source, data, lambda written: _losses(written, notes, path))
    else:
        from hansard.formats.rules.conform import conform

        if aim.model is None:
            aim = replace(aim, model=_model_of(chosen, source))
        named = names_of(shown.tools)
        messages = conform(shown.messages, chosen.rules, aim, chosen.name, notes, path, seen, named)
        if named and chosen.dialect is not None:
            shown = renamed(shown, chosen.dialect, shown.messages)
    met = exact_json.LoneSurrogates.count
    data = chosen.write(replace(shown, messages=messages), aim)
    text = exact_json.encode_utf8(data) if type(data) is not bytes else b""
    if text is None or exact_json.LoneSurrogates.count != met:
        from hansard.formats.rules.unicode import without_surrogates

        without_surrogates(shown.messages, chosen.name, notes, path)
        whole = without_surrogates(messages, chosen.name, [], list(range(len(messages))))
        if whole is not messages:
            data, text = chosen.write(replace(shown, messages=whole), aim), None
    return Written(chosen, aim, source, data, lambda written: _losses(written, notes, path), text)


def _losses(written: Written, notes: list[Loss], path: list[int]) -> Losses:
    from hansard.formats.losses import proven_losses

    left_out = {*range(len(written.source.messages))}.difference(path)
    if written.format.kept is not None:
        return proven_losses(written, written.format.kept(written.source), notes, left_out)
    document = written.document if written.format.text else exact_json.copied(written.document)
    back = _read(written.format, document, surrogates=True)[0]
    if written.format.coding_agent:
        from hansard.formats.coding_agents.session_file import evidence, without_evidence

        if evidence(written.source, written.format.name) is None:
            back = without_evidence(back, written.format.name)  # what was just written says nothing more
    return proven_losses(written, back, notes, left_out)
