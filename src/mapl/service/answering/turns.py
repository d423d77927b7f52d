"""Whose turn it is: one line per caller, and callers take turns, so that nobody waits behind thousands."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Turns(Generic[T]):
    """Things of some size that wait in the lines of their callers. Not for several threads at once.

    >>> turns = Turns[str]()
    >>> for caller, thing, size in (("ann", "a", 3), ("ann", "b", 3), ("bob", "c", 3), ("eve", "d", 9)):
    ...     turns.put(caller, thing, size)
    >>> turns.take(6), turns.take(6), turns.take(6)
    (['a', 'c'], ['d'], ['b'])
    """

    _lines: dict[str, deque[tuple[T, int]]] = field(default_factory=dict)
    _order: deque[str] = field(default_factory=deque)
    _waiting: int = 0

    def __len__(self) -> int:
        return self._waiting

    def put(self, caller: str, thing: T, size: int) -> None:
        """Let something wait at the end of its caller's line."""
        line = self._lines.get(caller)
        if line is None:
            line = self._lines[caller] = deque()
            self._order.append(caller)
        line.append((thing, size))
        self._waiting += 1

    def take(self, most: int) -> list[T]:
        """Take the next thing of one caller after the other, up to a size in all; the first one always fits.

        Whoever's next thing is too large for what is left comes first the next time.
        """
        taken: list[T] = []
        passed: list[str] = []
        size = 0
        while self._order and (size < most or not taken):
            caller = self._order.popleft()
            line = self._lines[caller]
            if taken and size + line[0][1] > most:
                passed.append(caller)
                continue
            thing, own = line.popleft()
            taken.append(thing)
            size += own
            if line:
                self._order.append(caller)
            else:
                del self._lines[caller]
        self._order.extendleft(reversed(passed))
        self._waiting -= len(taken)
        return taken
