"""Requests of AI SDK clients as prompts of a thread.

A client sends its complete history each time. Only new user messages, outputs of pending client-side tools, and
approvals are used. Everything else is loaded by id from the ledger.

    submit, last message from the user       it is appended after the last message that the ledger has
    submit, messageId of a user message      the message is edited: a new branch
    submit, last message is an answer        outputs and approvals for its pending calls; the answer continues
    regenerate, id of an answer              the prompt before it is answered again: a new branch
    regenerate, messageId of a user message  this prompt is answered again
    regenerate                               the last prompt is answered again

An edited message keeps its id in the protocol; in the ledger it is a new message that stores that id in its residue.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import DeferredToolResults, ToolDenied

from hansard import formats
from hansard.agent.ui_turns import Turn, turns_of, with_wire_id
from hansard.errors import Conflict, NotFound, Unreadable
from hansard.ledger.ids import new_id
from hansard.ledger.ledger import Ledger
from hansard.ledger.results import Pending
from hansard.model.conversation import Message
from hansard.model.display import failed, shown_error, shown_output
from hansard.model.parts import DataPart, FilePart, RawPart, SourcePart, TextPart, ToolCallPart, ToolResultPart
from hansard.model.stored import plain_messages

_SUBMIT, _AGAIN = "submit-message", "regenerate-message"
_MAY_SAY = (TextPart, FilePart, DataPart, SourcePart, RawPart)


class Asked(NamedTuple):
    """`shown_id`: the client's id of an answer that continues; absent for a new answer."""

    thread_id: str
    prompts: list[Message] = []
    fork_from: Any = UNSET
    shown_id: str | None = None
    results: DeferredToolResults | None = None


async def ask(ledger: Ledger, request: Request) -> Asked:
    """Resolve a request to a prompt."""
    try:
        path = plain_messages(await ledger.aio.transcript(request.thread_id))
    except NotFound:
        path = []
    asking = _Asking(ledger, request, path)
    return await (asking.again() if request.trigger == _AGAIN else asking.submitted())


class Request:
    """Check the envelope of a body; `ask` checks its messages."""

    def __init__(self, body: Any) -> None:
        if type(body) is not dict:
            raise Unreadable("an object expected")
        self.thread_id = _text(body, "id", "the id of the chat")
        self.whole = "messages" in body
        sent = body["messages"] if self.whole else [body["message"]] if "message" in body else None
        where = "$.messages[{}]" if self.whole else "$.message"
        if type(sent) is not list or not all(type(one) is dict for one in sent):
            raise Unreadable("a list of messages expected", "$.messages")
        trigger = body.get("trigger", _SUBMIT)
        if trigger not in (_SUBMIT, _AGAIN):
            raise Unreadable(f"unknown trigger {trigger!r}", "$.trigger", f"use {_SUBMIT} or {_AGAIN}")
        if not sent and trigger == _SUBMIT:
            raise Unreadable("no messages", "$.messages")
        given = body.get("messageId")
        if given is not None and type(given) is not str:
            raise Unreadable("the id of a message expected", "$.messageId")
        self.trigger, self.message_id, self.sent, self._where = trigger, given, sent, where
        self.prune = body.get("prune", False)
        if type(self.prune) is not bool:
            raise Unreadable("true or false expected", "$.prune")

    def place(self, i: int) -> str:
        return self._where.format(i)

    def id(self, i: int) -> str | None:
        given = self.sent[i].get("id")
        return given if type(given) is str and given else None

    def role(self, i: int) -> Any:
        return self.sent[i].get("role")

    def read(self, i: int) -> list[Message]:
        """One of the messages, as a canonical message."""
        try:
            return formats.read([self.sent[i]], "ai-sdk-ui").messages
        except Unreadable as error:
            path = error.path.removeprefix("$").removeprefix("[0]")
            raise Unreadable(error.problem, self.place(i) + path, error.way_out) from None


class _Asking:
    def __init__(self, ledger: Ledger, request: Request, path: list[Message]) -> None:
        self.ledger, self.request, self.path = ledger, request, path
        self.turns = turns_of(path)
        self.known = {turn.id: turn for turn in self.turns}

    # -- again -----------------------------------------------------------------------------------------------------

    async def again(self) -> Asked:
        request = self.request
        turn = self.known.get(request.message_id or "")
        if turn is None:
            i = next((i for i in reversed(range(len(request.sent))) if request.role(i) == "user"), None)
            if i is not None:
                turn = self.known.get(request.id(i) or "")
                if turn is None and request.message_id in (None, request.id(i)):
                    return await self.submitted()  # a message that never arrived
            elif request.message_id is None:
                turn = next((turn for turn in reversed(self.turns) if turn.role == "user"), None)
        if turn is None:
            raise NotFound(f"$.messageId: thread {request.thread_id!r} has no message {request.message_id!r} here")
        if turn.role == "user":
            return self._behind(turn.start)
        if turn.start == 0:
            raise Unreadable("no user message before this answer", "$.messageId")
        return self._behind(turn.start - 1)

    def _behind(self, i: int) -> Asked:
        return Asked(self.request.thread_id, fork_from=self.path[i].id)  # also at the head: it may move until then

    def _fork(self, i: int) -> Any:
        """The fork point after a message of the path; UNSET is the head."""
        return UNSET if i == len(self.path) - 1 else None if i < 0 else self.path[i].id

    # -- something new ---------------------------------------------------------------------------------------------

    async def submitted(self) -> Asked:
        request = self.request
        last = len(request.sent) - 1
        if request.role(last) == "assistant":
            return await self._answered(last)
        if request.role(last) != "user":
            raise Unreadable("the last message must be from the user or the assistant", f"{request.place(last)}.role")
        edited = self.known.get(request.message_id or "") or self.known.get(request.id(last) or "")
        if edited is not None and edited.role == "user":
            said = self._words(last)
            if [*said.parts] == [*self.path[edited.start].parts]:
                return self._behind(edited.start)
            return await self._new([said], self._fork(edited.start - 1))
        first = last
        while first > 0 and request.role(first - 1) == "user" and (request.id(first - 1) or "") not in self.known:
            first -= 1
        before = next((turn for i in reversed(range(first)) if (turn := self.known.get(request.id(i) or ""))), None)
        fork = self._fork(before.end - 1) if before is not None else UNSET
        return await self._new([self._words(i) for i in range(first, last + 1)], fork)

    def _words(self, i: int) -> Message:
        """The user's parts, without fields that only the server may set."""
        (said,) = self.request.read(i)[:1]
        for j, part in enumerate(said.parts):
            if type(part) not in _MAY_SAY:
                raise Unreadable("not allowed in a user message", f"{self.request.place(i)}.parts[{j}]")
        return Message(role="user", parts=said.parts, id=said.id, metadata=said.metadata, extra=said.extra)

    async def _new(self, said: list[Message], fork: Any) -> Asked:
        prompts = []
        for message in said:
            if type(message.id) is str and await self._taken(message.id):
                message = with_wire_id(replace(message, id=new_id()), message.id)
            prompts.append(message)
        return Asked(self.request.thread_id, prompts, fork)

    async def _taken(self, message_id: str) -> bool:
        try:
            await self.ledger.aio.get(self.request.thread_id, message_id)
        except NotFound:
            return False
        return True

    # -- answers to calls ------------------------------------------------------------------------------------------

    async def _answered(self, i: int) -> Asked:
        request = self.request
        turn = self.known.get(request.id(i) or "")
        if turn is None or turn is not self.turns[-1]:
            place = f"{request.place(i)}.id"
            raise Conflict(f"{place}: {request.id(i)!r} is not the last answer of the thread; load the thread again")
        waiting: dict[str, Pending] = {
            call.tool_call_id: call for call in await self.ledger.aio.pending(request.thread_id)
        }
        results = DeferredToolResults()
        for part in [part for message in request.read(i) for part in message.parts]:
            call = waiting.get(part.tool_call_id) if isinstance(part, (ToolCallPart, ToolResultPart)) else None  # type: ignore[arg-type]
            if call is None:
                continue
            if isinstance(part, ToolCallPart) and call.kind == "approval":
                _decide(part, call, results)
            elif isinstance(part, ToolResultPart) and call.kind != "approval" and part.preliminary is not True:
                results.calls[call.tool_call_id] = ToolFailed(shown_error(part)) if failed(part) else shown_output(part)
        left = [call_id for call_id in waiting if call_id not in results.calls and call_id not in results.approvals]
        if left or not waiting:
            what = f"the call {left[0]!r} is still pending" if left else "no pending call"
            raise Unreadable(what, f"{request.place(i)}.parts", "answer all pending calls, or send a new message")
        return Asked(request.thread_id, shown_id=turn.id, results=results)


def _decide(part: ToolCallPart, call: Pending, results: DeferredToolResults) -> None:
    """An approval or denial, if the call asked for one."""
    told: Any = part.approval
    if type(told) is not dict or type(told.get("approved")) is not bool:
        return
    if told.get("id") != call.metadata.get("approvalId"):
        return
    reason = told.get("reason")
    if told["approved"]:
        results.approvals[call.tool_call_id] = True
        if type(reason) is str and reason:  # for the tool and the ledger
            approval = {"id": told["id"], "approved": True, "reason": reason}
            results.metadata[call.tool_call_id] = {"approval": approval}
    else:
        results.approvals[call.tool_call_id] = ToolDenied(reason) if type(reason) is str and reason else ToolDenied()


def _text(body: dict[str, Any], key: str, what: str) -> str:
    value = body.get(key)
    if type(value) is not str or not value:
        raise Unreadable(f"{what} is missing", f"$.{key}")
    return value


__all__ = ["Asked", "Request", "Turn", "ask"]
