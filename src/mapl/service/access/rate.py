"""How many rows a caller may send: a bucket that fills steadily and holds a burst."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(slots=True)
class Buckets:
    """One bucket per caller, full at first; callers are known API keys, so there are few.

    >>> buckets = Buckets(per_second=2.0, burst=10)
    >>> [buckets.take("ann", rows, now) for rows, now in ((9, 0.0), (1, 0.0), (4, 0.5), (1, 0.5), (50, 5.5))]
    [0, 0, 2, 0, 0]
    """

    per_second: float
    burst: int
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, caller: str, rows: int, now: float) -> int:
        """Take rows out of a caller's bucket and return 0, or return after how many seconds they would be there.

        More than a burst is lent, and waited for afterwards.
        """
        level, then = self._levels.get(caller, (float(self.burst), now))
        level = min(float(self.burst), level + (now - then) * self.per_second)
        lacking = min(rows, self.burst) - level
        self._levels[caller] = (level if lacking > 0 else level - rows, now)
        return math.ceil(lacking / self.per_second) if lacking > 0 else 0
