"""Codex rollouts as a whole: reader and writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.formats.coding_agents.codex import is_record
from hansard.formats.coding_agents.codex.edits import edits_of
from hansard.formats.coding_agents.codex.records import (
    AGENT_MESSAGE,
    EVENT_ITEMS,
    INPUT_ROLES,
    NAME,
    is_foreign,
    kind_of_item,
    read_response_item,
    with_end_event,
    with_id,
    write_answer,
    write_input,
)
from hansard.formats.coding_agents.codex.turns import compacts, is_turn, steps
from hansard.formats.coding_agents.codex.usage import Totals, write_usage
from hansard.formats.coding_agents.identity import NO_TIME, first_time, is_uuid, read_time, session_uuid, write_time
from hansard.formats.coding_agents.records import RecordReader
from hansard.formats.coding_agents.scanner import Record
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.formats.coding_agents.zstd import ZstdScanner, append_frame
from hansard.formats.openai_responses.tools import Calls
from hansard.formats.residue import pack, set_present, unpack
from hansard.model.conversation import Context, Conversation, Message, ModelRef, Thinking, Usage
from hansard.model.machinery import as_events
from hansard.model.parts import Binding, CompactionPart, DataPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

META_KEYS = ("id", "timestamp", "cwd", "model_provider", "base_instructions", "git", "instructions")


class _Draft:
    """A message that more records may add to."""

    def __init__(self, role: str, id: str, parent: Any, at: Any, model: Any, context: Any) -> None:
        self.role, self.id, self.parent, self.at = role, id, parent, at
        self.model, self.context = model, context
        self.parts: list[Any] = []
        self.usage: Usage | UnsetType = UNSET
        self.state: str | UnsetType = UNSET
        self.thinking: Thinking | UnsetType = UNSET
        self.extra: Any = UNSET
        self.kind: str | None = None  # of what no person typed; "" for a prompt

    def message(self) -> Message:
        message = Message(
            role=self.role,
            parts=self.parts,
            id=self.id,
            parent_message_id=self.parent,
            created_at=self.at,
            model=self.model if self.role == "assistant" else UNSET,
            usage=self.usage,
            context=self.context,
            state=self.state,
            thinking=self.thinking,
            extra=self.extra,
        )
        return as_events(message, self.kind)


class Reader(RecordReader):
    """Messages out of records; holds those that more records may add to."""

    names_machinery = True

    def __init__(self) -> None:
        super().__init__()
        self._count = 0  # records so far: they number the messages
        self._items = False
        self._events: list[tuple[int, str, dict[str, Any]]] = []  # events of a file that had no items so far
        self._meta: dict[str, Any] | None = None
        self._title: str | UnsetType = UNSET
        self._out: list[Message] = []
        self._held: list[_Draft] = []
        self._over = False  # whether the response of the last draft has ended
        self._tip: str | None = None
        self._before: str | None = None  # the tip before the last message
        self._last: str | None = None  # the last message in the list: the default parent
        self._turns: list[str | None] = []  # for each turn on the path, the message before it
        self._calls = Calls()
        self._ends: dict[str, Any] = {}  # end events of calls whose results have not come
        self._thoughts: list[str] = []  # of this turn
        self._shown: list[tuple[str, dict[str, Any]]] = []  # reasoning shown whose item has not come
        self._totals = Totals()
        self._name: str | UnsetType = UNSET
        self._provider: str | UnsetType = UNSET
        self._model: ModelRef | UnsetType = UNSET
        self._context: Context | UnsetType = UNSET
        self._effort: Thinking | UnsetType = UNSET

    # -- the reader's three methods --------------------------------------------------------------------------------

    def feed(self, records: Iterable[Record]) -> list[Message]:
        for record in records:
            if type(record.value) is dict:
                self._record(record)
            else:
                self.report(record, "a record is a JSON object", "bad")
            self._count += 1
        out, self._out = self._out, []
        return out

    def finish(self) -> list[Message]:
        if not self._items:
            self._read_events(set())
        self._flush_shown()
        self.unsettled = {draft.id for draft in self._held}
        self._settle()
        out, self._out = self._out, []
        return out

    def conversation(self, messages: list[Message]) -> Conversation:
        meta = self._meta or {}
        rest = {key: value for key, value in meta.items() if key not in META_KEYS and value is not None}
        if rest == {"cli_version": "0.0.0", "originator": "hansard", "source": "cli"}:
            rest = {}
        return Conversation(
            messages=messages,
            id=_thread(meta),
            title=self._title,
            head=self._tip if self._tip != self._last else UNSET,
            parent_thread_id=_parent_thread(meta),
            created_at=read_time(meta.get("timestamp")),
            extra=pack(NAME, rest),
        )

    # -- records ---------------------------------------------------------------------------------------------------

    def _record(self, record: Record) -> None:
        value = record.value
        payload, kind = value.get("payload"), value.get("type")
        if type(payload) is dict:
            if kind == "response_item":
                self._item(payload, value)
            elif kind == "event_msg":
                self._event(payload, record)
            elif type(kind) is str and (handler := self._RECORDS.get(kind)) is not None:
                handler(self, payload, value)
        elif type(kind) is str or type(value.get("role")) is str:  # releases before 0.30 wrote items without envelope
            self._item(value, value)
        elif self._meta is None and type(value.get("id")) is str and "timestamp" in value:
            self._session(value, value)

    def _event(self, event: dict[str, Any], record: Record) -> None:
        kind = event.get("type")
        if type(kind) is not str:
            return
        if (handler := self._EVENTS.get(kind)) is not None:
            handler(self, event, record.value)
        if not self._items and kind in EVENT_ITEMS:
            self._events.append((self._count, kind, record.value))

    def _session(self, meta: dict[str, Any], value: dict[str, Any]) -> None:
        """The first one identifies the file; later ones are copies, or written by a resume."""
        if self._meta is not None:
            return
        self._meta = meta
        self._provider = _text(meta.get("model_provider"))
        git, base = meta.get("git"), meta.get("base_instructions")
        branch = _text(git.get("branch")) if type(git) is dict else UNSET
        self._set_context(meta.get("cwd"), branch)
        text = base.get("text") if type(base) is dict else meta.get("instructions")
        if type(text) is str:
            draft = self._begin("system", value)
            draft.parts.append(TextPart(text=text))
            draft.context, draft.extra = UNSET, pack(NAME, {}, {"at": "session_meta"})
            self._settle()

    def _turn(self, turn: dict[str, Any], value: dict[str, Any]) -> None:
        self._flush_shown()
        self._settle()
        self._thoughts.clear()
        self._name = _text(turn.get("model"))
        self._model = UNSET if self._name is UNSET else ModelRef(provider=self._provider, name=self._name)
        branch = self._context.git_branch if self._context is not UNSET else UNSET
        self._set_context(turn.get("cwd"), branch)
        effort = turn.get("effort")
        self._effort = Thinking(level=effort) if type(effort) is str else UNSET

    def _set_context(self, cwd: Any, branch: Any) -> None:
        cwd = _text(cwd)
        self._context = UNSET if cwd is UNSET and branch is UNSET else Context(cwd=cwd, git_branch=branch)

    def _compacted(self, payload: dict[str, Any], value: dict[str, Any]) -> None:
        text, encrypted = _text(payload.get("message")), UNSET
        last: str | UnsetType = UNSET
        history = payload.get("replacement_history")
        for item in history if type(history) is list else ():
            if type(item) is dict and type(item.get("encrypted_content")) is str and item.get("type") != "reasoning":
                encrypted = item["encrypted_content"]
            read = read_response_item(item, Calls(), UNSET)
            last = next((part.text for part in read[1] if isinstance(part, TextPart)), last) if read else last
        text = last if text is UNSET and encrypted is UNSET else text  # the summary is the last of the kept messages
        binding = UNSET if encrypted is UNSET else Binding(provider="openai", model=self._name)
        self._flush_shown()
        self._settle()
        self._begin("user", value).parts.append(CompactionPart(text=text, encrypted=encrypted, binding=binding))
        self._settle()

    def _inter_agent(self, payload: dict[str, Any], value: dict[str, Any]) -> None:
        self._flush_shown()
        self._settle()
        self._begin("event", value).parts.append(DataPart(name="inter_agent_communication", data=payload))
        self._settle()

    # -- items -----------------------------------------------------------------------------------------------------

    def _item(self, item: dict[str, Any], value: dict[str, Any]) -> None:
        read = read_response_item(with_id(item, self._count), self._calls, self._name)
        if read is None:
            return
        role, parts = read
        if not self._items:
            self._items = True
            self._read_events({part.text for part in parts if isinstance(part, TextPart)})
        if role == "assistant" and parts and type(parts[0]) is ReasoningPart:
            self._shown = [shown for shown in self._shown if shown[0] not in parts[0].text]
            self._thoughts.append(parts[0].text)
        self._flush_shown()
        if role in INPUT_ROLES or role == "event":
            self._settle()
            draft = self._begin(role, value)
            draft.parts += parts
            draft.kind = kind_of_item(item)
            if role == "user" and (draft.kind == "" or (draft.kind is None and is_turn(parts))):
                self._turns.append(draft.parent if draft.parent is not UNSET else self._before)
                self._thoughts.clear()
            if role == "user":
                draft.thinking = self._effort
            self._settle()
            return
        if role == "tool" and self._ends:
            parts = [self._with_end(part) for part in parts]
        self._draft(role, value).parts += parts

    def _with_end(self, part: Any) -> Any:
        end = self._ends.pop(str(part.tool_call_id), None) if type(part) is ToolResultPart else None
        return with_end_event(part, end) if end is not None else part

    def _draft(self, role: str, value: dict[str, Any]) -> _Draft:
        """The last message if it has this role and is not ended, else a new one."""
        if self._held and self._held[-1].role == role and not (role == "assistant" and self._over):
            return self._held[-1]
        if role == "assistant":
            self._settle()
        return self._begin(role, value)

    def _begin(self, role: str, value: dict[str, Any]) -> _Draft:
        id = f"{_thread(self._meta or {}) or NAME}:{self._count}"
        while id == self._last:  # one record, two messages
            id += "+"
        parent = UNSET if self._tip == self._last else self._tip
        self._before = self._tip
        draft = _Draft(role, id, parent, read_time(value.get("timestamp")), self._model, self._context)
        self._held.append(draft)
        self._tip = self._last = id
        self._over = False
        if role == "assistant":
            draft.usage = self._totals.waiting()
        return draft

    def _settle(self) -> None:
        self._out += [draft.message() for draft in self._held]
        self._held.clear()

    def _flush_shown(self) -> None:
        """Reasoning that was shown but never came as an item becomes a part too."""
        shown, self._shown = self._shown, []
        for text, value in shown:
            if not any(text in thought for thought in self._thoughts):
                self._draft("assistant", value).parts.append(ReasoningPart(text=text))

    # -- events ----------------------------------------------------------------------------------------------------

    def _token_count(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        self._counted(self._totals.count(event.get("info")))

    def _token_usage(self, payload: dict[str, Any], value: dict[str, Any]) -> None:
        self._counted(self._totals.record(payload), payload.get("response_id"))

    def _counted(self, new: bool, response: Any = None) -> None:
        draft = next((draft for draft in reversed(self._held) if draft.role == "assistant"), None)
        if new:
            self._over = True
            if draft is not None:
                draft.usage = self._totals.waiting(draft.usage)
                if type(response) is str:
                    model = ModelRef() if draft.model is UNSET else draft.model
                    draft.model = replace(model, response_id=response)

    def _rollback(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        number = event.get("num_turns")
        self._flush_shown()
        self._settle()
        if type(number) is int and number > 0 and self._turns:
            cut = max(0, len(self._turns) - number)
            self._tip = self._turns[cut]
            del self._turns[cut:]

    def _aborted(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        self._flush_shown()
        if self._held and self._held[-1].role == "assistant":
            self._held[-1].state = "interrupted"

    def _renamed(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        self._title = _text(event.get("thread_name"))

    def _end_event(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        if type(event.get("call_id")) is str:
            self._ends[event["call_id"]] = event

    def _completed(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        """An item of newer releases; a change of files says what `patch_apply_end` said before."""
        item = event.get("item")
        if type(item) is dict and item.get("type") == "FileChange" and type(item.get("id")) is str:
            self._ends[item["id"]] = item

    def _reasoning_shown(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        if type(event.get("text")) is str:
            self._shown.append((event["text"], value))

    def _turn_started(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        self._flush_shown()
        self._settle()
        self._thoughts.clear()

    def _read_events(self, known_texts: set[str]) -> None:
        """Read the events of a file without items, except those that repeat the text of the first item."""
        events, self._events = self._events, []
        if not any(kind == "user_message" or kind == "item_completed" for _, kind, _ in events) and known_texts:
            return
        self._shown.clear()
        count = self._count
        for self._count, kind, value in events:
            for item in EVENT_ITEMS[kind](value["payload"]):
                if item.get("content") not in known_texts:
                    self._item(item, value)
        self._count = count

    _RECORDS: ClassVar[dict[str, Callable[..., None]]] = {
        "session_meta": _session,
        "turn_context": _turn,
        "compacted": _compacted,
        "inter_agent_communication": _inter_agent,
        "token_usage_record": _token_usage,
    }
    _EVENTS: ClassVar[dict[str, Callable[..., None]]] = {
        "token_count": _token_count,
        "thread_rolled_back": _rollback,
        "turn_aborted": _aborted,
        "thread_name_updated": _renamed,
        "patch_apply_end": _end_event,
        "item_completed": _completed,
        "mcp_tool_call_end": _end_event,
        "agent_reasoning": _reasoning_shown,
        "agent_reasoning_raw_content": _reasoning_shown,
        "task_started": _turn_started,
        "turn_started": _turn_started,
    }


def _text(value: Any) -> str | UnsetType:
    return value if type(value) is str and value else UNSET


def _thread(meta: dict[str, Any]) -> str | UnsetType:
    """The id of the thread; that of the session for its first thread."""
    return _text(meta.get("id")) or _text(meta.get("session_id"))


def _parent_thread(meta: dict[str, Any]) -> str | UnsetType:
    """The thread it was forked from, continues, or was started by."""
    for key in ("forked_from_id", "parent_thread_id"):
        if type(meta.get(key)) is str:
            return meta[key]  # type: ignore[no-any-return]
    found: Any = meta.get("history_base")
    if type(found) is not dict:
        found = meta.get("source")
        for key in ("subagent", "thread_spawn"):
            found = found.get(key) if type(found) is dict else None
        return _text(found.get("parent_thread_id")) if type(found) is dict else UNSET
    return _text(found.get("thread_id"))


def records(conversation: Conversation, already: Conversation | None) -> Iterator[dict[str, Any]]:
    """The records for what a conversation has and `already` has not."""
    messages = conversation.messages
    writing = _Writing(conversation)
    known = 0 if already is None else len(already.messages)
    if already is None or (messages and not known and already.id is UNSET):
        yield from writing.session()
    elif conversation.title is not UNSET and conversation.title != already.title:
        yield from writing.title()
    for i in range(known):
        writing.pass_over(messages[i])
    plan = steps(conversation)
    ended = bool(plan) and plan[-1][1] is None and (already is None or conversation.head != already.head)
    rest = (k for k, (_, i) in enumerate(plan) if i is not None and i >= known)
    for number, at in plan[next(rest, len(plan) - ended) :]:
        if number:
            yield _event(NO_TIME, {"type": "thread_rolled_back", "num_turns": number})
        if at is not None and at >= known:
            yield from writing.message(messages, at)


def _event(time: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": time, "type": "event_msg", "payload": payload}


class _Writing:
    """State of writing: model, folder and tokens as of the records so far."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._cwd: Any = next((cwd for one in conversation.messages if (cwd := _cwd(one)) is not UNSET), UNSET)
        self._model: Any = UNSET
        self._effort: Any = UNSET
        self._total: dict[str, int] = {}
        self._calls = Calls()

    def session(self) -> Iterator[dict[str, Any]]:
        conversation = self._conversation
        own = unpack(NAME, conversation.extra)[0]
        time = first_time(conversation)
        meta: dict[str, Any] = {"id": thread_id(conversation), "timestamp": time, "cwd": self._cwd or ""}
        meta |= own if own else {"originator": "hansard", "cli_version": "0.0.0", "source": "cli"}
        parent = conversation.parent_thread_id
        if type(parent) is str and is_uuid(parent) and not _PARENTS & own.keys():
            meta["forked_from_id"] = parent
        models = [one.model for one in conversation.messages if one.model is not UNSET]
        providers = {model.provider for model in models}
        if len(providers) == 1 and type(provider := providers.pop()) is str and provider in _PROVIDERS:
            meta["model_provider"] = provider
        first = conversation.messages[0] if conversation.messages else None
        if first is not None and _is_base(first):
            meta["base_instructions"] = {"text": first.parts[0].text}  # type: ignore[union-attr]
        branch = next((b for one in conversation.messages if (b := _branch(one)) is not UNSET), UNSET)
        if branch is not UNSET:
            meta["git"] = {"branch": branch}
        yield {"timestamp": time, "type": "session_meta", "payload": meta}
        if conversation.title is not UNSET:
            yield from self.title()

    def title(self) -> Iterator[dict[str, Any]]:
        named = {"type": "thread_name_updated", "thread_id": thread_id(self._conversation)}
        yield _event(NO_TIME, {**named, "thread_name": self._conversation.title})

    def pass_over(self, message: Message) -> None:
        """Track the state of a message that is written already."""
        if (cwd := _cwd(message)) is not UNSET:
            self._cwd = cwd
        if message.model is not UNSET:
            self._model = message.model.name
        if message.role == "user":
            self._effort = _effort(message)
        if message.usage is not UNSET:
            write_usage(message.usage, self._total)
        if any(type(part) is ToolCallPart for part in message.parts):
            write_answer(message.parts, message.role, self._calls)

    def message(self, messages: list[Message], i: int) -> Iterator[dict[str, Any]]:
        message = messages[i]
        if i == 0 and _is_base(message):
            return
        time = write_time(message.created_at)
        if compacts(message):
            part: Any = message.parts[0]
            if type(part) is CompactionPart and (payload := _compacted(part)):
                yield {"timestamp": time, "type": "compacted", "payload": payload}
                return
        yield from self._turn(messages, i, time)
        if message.role in INPUT_ROLES:
            item = write_input(message.role, message.parts)
            if item is not None:
                yield _response(time, item)
                if message.role == "user" and is_turn(message.parts):
                    text = "\n".join(part.text for part in message.parts if type(part) is TextPart)
                    lists: dict[str, Any] = {"images": [], "local_images": [], "text_elements": []}
                    yield _event(time, {"type": "user_message", "message": text, **lists})
        elif message.role in ("assistant", "tool"):
            yield from self._answer(message, time)
        elif message.role == "event":
            for part in message.parts:
                if type(part) is DataPart and type(part.data) is dict:
                    if part.name == _BETWEEN:
                        yield {"timestamp": time, "type": _BETWEEN, "payload": part.data}
                    elif part.name == AGENT_MESSAGE:
                        yield _response(time, {"type": AGENT_MESSAGE, **part.data})

    def _turn(self, messages: list[Message], i: int, time: str) -> Iterator[dict[str, Any]]:
        """The context of a turn, if it changed."""
        message = messages[i]
        cwd = self._cwd if _cwd(message) is UNSET else _cwd(message)
        model, effort = self._model, self._effort
        if message.role == "assistant":
            model = message.model.name if message.model is not UNSET else UNSET
        elif message.role == "user":
            model = next((one.model.name for one in messages[i:] if one.model is not UNSET), model)
            effort = _effort(message) if model is not UNSET else effort
        if (cwd, model, effort) != (self._cwd, self._model, self._effort):
            self._cwd, self._model, self._effort = cwd, model, effort
            context = {"cwd": cwd or "", "approval_policy": "on-request", "sandbox_policy": {"type": "read-only"}}
            payload = set_present({**context, "model": model or ""}, effort=effort)
            yield {"timestamp": time, "type": "turn_context", "payload": {**payload, "summary": "auto"}}

    def _answer(self, message: Message, time: str) -> Iterator[dict[str, Any]]:
        for item in write_answer(message.parts, message.role, self._calls):
            if "event" in item:
                yield _event(time, {"type": item["event"], "text": item["text"]})
                continue
            if item.get("type") == "message" and (text := _shown(item.get("content"))) is not None:
                yield _event(
                    time, set_present({"type": "agent_message", "message": text}, phase=item.get("phase", UNSET))
                )
            yield _response(time, item)
        if message.usage is not UNSET and message.role == "assistant":
            yield _event(time, write_usage(message.usage, self._total))
        if message.state == "interrupted" and message.role == "assistant":
            yield _event(time, {"type": "turn_aborted", "reason": "interrupted"})


def _shown(content: Any) -> str | None:
    """The text of an answer that Codex's screen shows; a raw item may hold any content."""
    first = content[0] if type(content) is list and content else None
    text = first.get("text") if type(first) is dict else None
    return text if type(text) is str else None


_BETWEEN = "inter_agent_communication"
_PARENTS = {"forked_from_id", "parent_thread_id", "history_base", "source"}
_PROVIDERS = {"openai"}  # Codex does not list sessions of other providers


def _response(time: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": time, "type": "response_item", "payload": item}


def _compacted(part: CompactionPart) -> dict[str, Any]:
    out: dict[str, Any] = {} if part.text is UNSET else {"message": part.text}
    if part.encrypted is not UNSET and not is_foreign(part):
        encrypted = {"type": "compaction", "encrypted_content": part.encrypted}
        out = {"message": part.text or "", "replacement_history": [encrypted]}
    return out


def _is_base(message: Message) -> bool:
    plain = len(message.parts) == 1 and type(message.parts[0]) is TextPart
    return plain and message.role == "system" and "at" in unpack(NAME, message.extra)[1]


def _cwd(message: Message) -> Any:
    return message.context.cwd if message.context is not UNSET else UNSET


def _branch(message: Message) -> Any:
    return message.context.git_branch if message.context is not UNSET else UNSET


def _effort(message: Message) -> Any:
    return message.thinking.level if message.thinking is not UNSET else UNSET


def thread_id(conversation: Conversation) -> str:
    """The id of the thread: Codex requires a UUID, except for ids that it gave itself."""
    if type(conversation.id) is str and conversation.extra is not UNSET and NAME in conversation.extra:
        return conversation.id
    return session_uuid(conversation)


SESSION = SessionFile(
    name=NAME, reader=Reader, records=records, whole=is_record, scanner=ZstdScanner, join=append_frame, edits=edits_of
)
read, write = SESSION.read, SESSION.write
