"""The tree behind the lines of a session file whose records name their parents.

Lines are no messages: an answer is spread over several, progress reports stand between them, results of parallel
calls hang side by side, an interrupt leaves a marker beside the answer. Followed word for word they fork where nobody
forked. Here only *turns* fork (a prompt, an answer). Everything else is put behind its turn, in the order of the
file; if the conversation went on meanwhile, behind its end. Parents always come before their children.
"""

from __future__ import annotations

from array import array

from hansard.formats.coding_agents.compact_ids import Numbers, Uuids


class Tree:
    """Turns, numbered as they come: the first and the last message of each, and the turn that follows it.

    `sides` has the side chain of every turn, None for the main chain: a side chain is never followed by the main one.
    """

    def __init__(self) -> None:
        self.turns = Numbers()  # of every line
        self.sides: list[str | None] = []
        self._first, self._last = Uuids(), Uuids()
        self._follower = array("q")

    def root(self, message: str | None, side: str | None) -> int:
        """A new turn that follows no other."""
        self.sides.append(side)
        self._first.append(message)
        self._last.append(message)
        self._follower.append(-1)
        return len(self._last) - 1

    def turn(self, before: int, message: str) -> tuple[int, str | None]:
        """A new turn behind another, begun by this message; and the message it answers."""
        parent = self._last[before]
        number = self.root(message, self.sides[before])
        self._follower[before] = number
        return number, parent

    def aside(self, before: int, message: str, side: str | None) -> tuple[int, str | None]:
        """A side chain begun by this message; and the message that called for it."""
        return self.root(message, side), self._first[before]

    def beside(self, turn: int, message: str) -> tuple[int, str | None]:
        """Where a message is put that makes no turn; and the message it stands behind."""
        turn = self._end(turn)
        parent = self._last[turn]
        self._last[turn] = message
        return turn, parent

    def is_last(self, turn: int) -> bool:
        """Has nothing followed this turn?"""
        return self._follower[turn] < 0

    def _end(self, turn: int) -> int:
        """The turn a conversation has come to from this one."""
        passed = []
        while (follower := self._follower[turn]) >= 0:
            passed.append(turn)
            turn = follower
        for one in passed:  # the next look is short
            self._follower[one] = turn
        return turn
