"""Writing a conversation as the records of a Codex rollout.

A rollout that Codex lists and resumes has a session, and beside what is played back to the model the events that
its screen shows. Times, folders and models that are not known are left out, or empty where Codex asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from hansard.formats.coding_agents.codex.records import (
    AGENT_MESSAGE,
    NAME,
    SPOKEN,
    is_foreign,
    write_answer,
    write_said,
)
from hansard.formats.coding_agents.codex.usage import compacts, is_turn, steps, write_usage
from hansard.formats.coding_agents.identity import NO_TIME, is_uuid, session_uuid
from hansard.formats.openai_responses.tools import Calls
from hansard.formats.residue import put, unpack
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import CompactionPart, DataPart, TextPart, ToolCallPart


def records(conversation: Conversation, already: Conversation | None) -> Iterator[dict[str, Any]]:
    """The records that say what the conversation says and `already` does not; of all of it without one."""
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
    """What the records so far have said of model, folder and tokens."""

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
        times = (one.created_at for one in conversation.messages if one.created_at is not UNSET)
        time = conversation.created_at if conversation.created_at is not UNSET else next(times, NO_TIME)
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
        """Take note of a message that is written already."""
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
        time = message.created_at if message.created_at is not UNSET else NO_TIME
        if compacts(message):
            part: Any = message.parts[0]
            if type(part) is CompactionPart and (payload := _compacted(part)):
                yield {"timestamp": time, "type": "compacted", "payload": payload}
                return
        yield from self._turn(messages, i, time)
        if message.role in SPOKEN:
            item = write_said(message.role, message.parts)
            if item is not None:
                yield _response(time, item)
                if message.role == "user" and is_turn(message.parts):
                    words = "\n".join(part.text for part in message.parts if type(part) is TextPart)
                    lists: dict[str, Any] = {"images": [], "local_images": [], "text_elements": []}
                    yield _event(time, {"type": "user_message", "message": words, **lists})
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
        """The context of a turn, where it is not what it was."""
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
            payload = put({**context, "model": model or ""}, effort=effort)
            yield {"timestamp": time, "type": "turn_context", "payload": {**payload, "summary": "auto"}}

    def _answer(self, message: Message, time: str) -> Iterator[dict[str, Any]]:
        for item in write_answer(message.parts, message.role, self._calls):
            if "event" in item:
                yield _event(time, {"type": item["event"], "text": item["text"]})
                continue
            if item.get("type") == "message" and (words := _shown(item.get("content"))) is not None:
                yield _event(time, put({"type": "agent_message", "message": words}, phase=item.get("phase", UNSET)))
            yield _response(time, item)
        if message.usage is not UNSET and message.role == "assistant":
            yield _event(time, write_usage(message.usage, self._total))
        if message.state == "interrupted" and message.role == "assistant":
            yield _event(time, {"type": "turn_aborted", "reason": "interrupted"})


def _shown(content: Any) -> str | None:
    """What a person sees of an answer; one that was kept as it came may hold anything."""
    first = content[0] if type(content) is list and content else None
    words = first.get("text") if type(first) is dict else None
    return words if type(words) is str else None


_BETWEEN = "inter_agent_communication"
_PARENTS = {"forked_from_id", "parent_thread_id", "history_base", "source"}
_PROVIDERS = {"openai"}  # of another, Codex would not list the session


def _response(time: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": time, "type": "response_item", "payload": item}


def _compacted(part: CompactionPart) -> dict[str, Any]:
    out: dict[str, Any] = {} if part.text is UNSET else {"message": part.text}
    if part.encrypted is not UNSET and not is_foreign(part):
        sealed = {"type": "compaction", "encrypted_content": part.encrypted}
        out = {"message": part.text or "", "replacement_history": [sealed]}
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
    """Codex knows threads by UUIDs; what it has once taken as an id it has."""
    if type(conversation.id) is str and conversation.extra is not UNSET and NAME in conversation.extra:
        return conversation.id
    return session_uuid(conversation)
