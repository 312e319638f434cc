"""Reading the records of a Codex rollout, one by one.

Response items are what was said; events that repeat them are passed over. A run of the assistant's items is one
message, and so is a run of outputs; the end of a response (its token count), a new turn or anybody else's word ends
them. A rollback drops turns from the path, not from the tree: the next message follows the one before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from msgspec import UNSET, UnsetType

from hansard.formats.coding_agents.codex.records import NAME, SPOKEN, answered, identified, read_response_item
from hansard.formats.coding_agents.codex.told import TELLING
from hansard.formats.coding_agents.codex.usage import Totals, is_turn
from hansard.formats.coding_agents.identity import read_time
from hansard.formats.coding_agents.scanner import Record
from hansard.formats.coding_agents.session_file import Report
from hansard.formats.openai_responses.tools import Calls
from hansard.formats.residue import pack
from hansard.model.conversation import Context, Conversation, Message, ModelRef, Thinking, Usage
from hansard.model.parts import Binding, CompactionPart, DataPart, ReasoningPart, TextPart, ToolResultPart

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

    def message(self) -> Message:
        return Message(
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


class CodexReader:
    """A reader in the sense of `session_file.SessionReader`."""

    def __init__(self) -> None:
        self.repairs: list[Report] = []
        self.unsettled: set[str] = set()
        self._count = 0  # records so far: they number the messages
        self._items = False
        self._told: list[tuple[int, str, dict[str, Any]]] = []  # events of a file that has had no items yet
        self._meta: dict[str, Any] | None = None
        self._title: str | UnsetType = UNSET
        self._out: list[Message] = []
        self._held: list[_Draft] = []
        self._over = False  # the response that the last draft is of has ended
        self._tip: str | None = None
        self._before: str | None = None  # the tip before the last message
        self._last: str | None = None  # the last message in the list, which a message follows unless it says otherwise
        self._turns: list[str | None] = []  # for each turn on the path, what stood before it
        self._calls = Calls()
        self._ends: dict[str, Any] = {}  # what events told of results to come
        self._thoughts: list[str] = []  # of this turn
        self._shown: list[tuple[str, dict[str, Any]]] = []  # thoughts shown whose item has not come
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
                what = "a record is a JSON object"
                self.repairs.append(Report(line=record.line, byte=record.byte, what=what, kind="bad"))
            self._count += 1
        out, self._out = self._out, []
        return out

    def finish(self) -> list[Message]:
        if not self._items:
            self._tell(set())
        self._show()
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
        if not self._items and kind in TELLING:
            self._told.append((self._count, kind, record.value))

    def _session(self, meta: dict[str, Any], value: dict[str, Any]) -> None:
        """The first is the identity of the file; later ones were copied or written by a resume."""
        if self._meta is not None:
            return
        self._meta = meta
        self._provider = _text(meta.get("model_provider"))
        git, base = meta.get("git"), meta.get("base_instructions")
        branch = _text(git.get("branch")) if type(git) is dict else UNSET
        self._set_context(meta.get("cwd"), branch)
        words = base.get("text") if type(base) is dict else meta.get("instructions")
        if type(words) is str:
            draft = self._begin("system", value)
            draft.parts.append(TextPart(text=words))
            draft.context, draft.extra = UNSET, pack(NAME, {}, {"at": "session_meta"})
            self._settle()

    def _turn(self, turn: dict[str, Any], value: dict[str, Any]) -> None:
        self._show()
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
        words, sealed = _text(payload.get("message")), UNSET
        last: str | UnsetType = UNSET
        history = payload.get("replacement_history")
        for item in history if type(history) is list else ():
            if type(item) is dict and type(item.get("encrypted_content")) is str and item.get("type") != "reasoning":
                sealed = item["encrypted_content"]
            read = read_response_item(item, Calls(), UNSET)
            last = next((part.text for part in read[1] if isinstance(part, TextPart)), last) if read else last
        words = last if words is UNSET and sealed is UNSET else words  # the summary stands behind what was kept
        binding = UNSET if sealed is UNSET else Binding(provider="openai", model=self._name)
        self._show()
        self._settle()
        self._begin("user", value).parts.append(CompactionPart(text=words, encrypted=sealed, binding=binding))
        self._settle()

    def _between_agents(self, payload: dict[str, Any], value: dict[str, Any]) -> None:
        self._show()
        self._settle()
        self._begin("event", value).parts.append(DataPart(name="inter_agent_communication", data=payload))
        self._settle()

    # -- items -----------------------------------------------------------------------------------------------------

    def _item(self, item: dict[str, Any], value: dict[str, Any]) -> None:
        read = read_response_item(identified(item, self._count), self._calls, self._name)
        if read is None:
            return
        role, parts = read
        if not self._items:
            self._items = True
            self._tell({part.text for part in parts if isinstance(part, TextPart)})
        if role == "assistant" and parts and type(parts[0]) is ReasoningPart:
            self._shown = [shown for shown in self._shown if shown[0] not in parts[0].text]
            self._thoughts.append(parts[0].text)
        self._show()
        if role in SPOKEN or role == "event":
            self._settle()
            draft = self._begin(role, value)
            draft.parts += parts
            if role == "user" and is_turn(parts):
                self._turns.append(draft.parent if draft.parent is not UNSET else self._before)
                self._thoughts.clear()
            if role == "user":
                draft.thinking = self._effort
            self._settle()
            return
        if role == "tool" and self._ends:
            parts = [self._answered(part) for part in parts]
        self._draft(role, value).parts += parts

    def _answered(self, part: Any) -> Any:
        told = self._ends.pop(str(part.tool_call_id), None) if type(part) is ToolResultPart else None
        return answered(part, told) if told is not None else part

    def _draft(self, role: str, value: dict[str, Any]) -> _Draft:
        """The message at the end if it is of this role and not over, else a new one."""
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

    def _show(self) -> None:
        """Thoughts that were shown and never came as an item are said all the same."""
        shown, self._shown = self._shown, []
        for words, value in shown:
            if not any(words in thought for thought in self._thoughts):
                self._draft("assistant", value).parts.append(ReasoningPart(text=words))

    # -- events ----------------------------------------------------------------------------------------------------

    def _token_count(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        self._counted(self._totals.count(event.get("info")))

    def _token_usage(self, payload: dict[str, Any], value: dict[str, Any]) -> None:
        self._counted(self._totals.record(payload))

    def _counted(self, new: bool) -> None:
        draft = next((draft for draft in reversed(self._held) if draft.role == "assistant"), None)
        if new:
            self._over = True
            if draft is not None:
                draft.usage = self._totals.waiting(draft.usage)

    def _rolled_back(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        number = event.get("num_turns")
        self._show()
        self._settle()
        if type(number) is int and number > 0 and self._turns:
            cut = max(0, len(self._turns) - number)
            self._tip = self._turns[cut]
            del self._turns[cut:]

    def _aborted(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        self._show()
        if self._held and self._held[-1].role == "assistant":
            self._held[-1].state = "interrupted"

    def _named(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        self._title = _text(event.get("thread_name"))

    def _ended(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        if type(event.get("call_id")) is str:
            self._ends[event["call_id"]] = event

    def _thought(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        if type(event.get("text")) is str:
            self._shown.append((event["text"], value))

    def _started(self, event: dict[str, Any], value: dict[str, Any]) -> None:
        self._show()
        self._settle()
        self._thoughts.clear()

    def _tell(self, said: set[str]) -> None:
        """Events with no items beside them are what was said, but for those of the words that now come as an item."""
        told, self._told = self._told, []
        if not any(kind == "user_message" or kind == "item_completed" for _, kind, _ in told) and said:
            return
        self._shown.clear()
        count = self._count
        for self._count, kind, value in told:
            for item in TELLING[kind](value["payload"]):
                if item.get("content") not in said:
                    self._item(item, value)
        self._count = count

    _RECORDS: ClassVar[dict[str, Callable[..., None]]] = {
        "session_meta": _session,
        "turn_context": _turn,
        "compacted": _compacted,
        "inter_agent_communication": _between_agents,
        "token_usage_record": _token_usage,
    }
    _EVENTS: ClassVar[dict[str, Callable[..., None]]] = {
        "token_count": _token_count,
        "thread_rolled_back": _rolled_back,
        "turn_aborted": _aborted,
        "thread_name_updated": _named,
        "patch_apply_end": _ended,
        "mcp_tool_call_end": _ended,
        "agent_reasoning": _thought,
        "agent_reasoning_raw_content": _thought,
        "task_started": _started,
        "turn_started": _started,
    }


def _text(value: Any) -> str | UnsetType:
    return value if type(value) is str and value else UNSET


def _thread(meta: dict[str, Any]) -> str | UnsetType:
    """The thread's own id; one that a session begins with has the session's."""
    return _text(meta.get("id")) or _text(meta.get("session_id"))


def _parent_thread(meta: dict[str, Any]) -> str | UnsetType:
    """The thread it was forked from, whose history it goes on with, or whose agent started it."""
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
