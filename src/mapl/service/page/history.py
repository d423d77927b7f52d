"""How a run came to where it is: counters along the public chain, thinned out as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mapl.release.ledger.chain import KEYS, PLAN, Record

MOST_POINTS = 400
AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class SpentPoint:
    """All that was published up to an entry of the chain."""

    entry: int
    answered: int
    abstained: int


@dataclass(slots=True)
class History:
    """Points along the chain of one stage; the first and the newest one are always among them."""

    points: list[SpentPoint] = field(default_factory=lambda: [SpentPoint(0, 0, 0)])
    seen: int = -1

    def take(self, records: Sequence[Record]) -> None:
        """Go on with the entries that follow the last one seen; where points become many, every other one goes."""
        for record in records:
            if record.number > self.seen:
                self.seen = record.number
                if record.kind not in (PLAN, KEYS):  # which count no answers
                    self.points.append(SpentPoint(record.number, record.all_answered, record.all_abstained))
        while len(self.points) > MOST_POINTS:
            self.points = [*self.points[:-1:2], self.points[-1]]
