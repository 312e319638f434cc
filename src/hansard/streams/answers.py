"""Assigns events to answers in streams whose events carry an answer id.

Usually there is one answer. A new id after the end of the last answer starts another one. Before its end there are two
cases: some gateways give every event a new id, and all events are one answer; or the events of two answers are mixed,
which shows when an id repeats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from hansard.model.conversation import Message
from hansard.streams.decoder_base import EventDecoder
from hansard.streams.deltas import MessageDelta, StepStart


class Answer(Protocol):
    """One answer; `ended`: it is complete; `told`: its usage and finish reason as last emitted."""

    told: Any

    @property
    def ended(self) -> bool: ...
    def native(self) -> dict[str, Any]: ...


T = TypeVar("T", bound=Answer)


class Answers(Generic[T]):
    """The answers of a stream in order of their start; `now` is the one of the last event."""

    def __init__(self, make: Callable[[int], T]) -> None:
        self._make = make
        self.now = make(0)
        self.all = [self.now]
        self.mixed = False
        self._ids: dict[str, T] = {}
        self._last, self._since = "", 0

    def turn_to(self, given: object, number: int, speaks: bool) -> bool:
        """Select the answer of the `number`th event; True if it starts a new one.

        Only an event with content starts an answer. Events without an id belong to the current one.
        """
        if type(given) is not str or not given or given == self._last:
            return False
        known, stays = self._ids.get(given), self.mixed or number - self._since > 1
        begins = False
        if known is not None:
            self.mixed = self.mixed or not self.now.ended
            if known is self.now:  # content under other ids can no longer be separated
                self._ids = {name: answer for name, answer in self._ids.items() if answer is not known}
            self.now = known
        elif self._last and speaks and (self.now.ended or stays):
            begins, self.mixed = True, self.mixed or not self.now.ended
            self.now = self._make(len(self.all))
            self.all.append(self.now)
        self._ids[given], self._last, self._since = self.now, given, number
        return begins


class AnswersDecoder(EventDecoder, Generic[T]):
    """A decoder of such a stream; `_now` is the answer of the current event."""

    def __init__(self, make: Callable[[int], T]) -> None:
        super().__init__()
        self._answers = Answers(make)
        self._now = self._answers.now

    def turn_to(self, given: object, speaks: bool) -> None:
        """Select the answer of an event with this id."""
        mixed = self._answers.mixed
        begins = self._answers.turn_to(given, self._events, speaks)
        self._now = self._answers.now
        if self._answers.mixed and not mixed:
            self.fail("another answer started before the last one ended")
        if begins:
            self.emit(StepStart())

    def tell(self, message: Message) -> None:
        """Emit usage and finish reason, if they are new."""
        told = (message.usage, message.finish_reason)
        if told != self._now.told:
            self._now.told = told
            self.emit(MessageDelta(usage=message.usage, finish_reason=message.finish_reason))

    def body(self) -> dict[str, Any]:
        """The provider's answer as a complete document."""
        return self._now.native()

    def complete(self) -> bool:
        return all(answer.ended for answer in self._answers.all)
