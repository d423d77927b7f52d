"""How often a caller may call: a bucket that fills steadily and holds a burst."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Buckets:
    """One bucket per caller, full at first; callers are known API keys, so there are few.

    >>> buckets = Buckets(per_second=2.0, burst=1)
    >>> [buckets.take("ann", now) for now in (0.0, 0.1, 0.5)]
    [True, False, True]
    """

    per_second: float
    burst: int
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, caller: str, now: float) -> bool:
        """Take one call out of a caller's bucket, if it holds one."""
        level, then = self._levels.get(caller, (float(self.burst), now))
        level = min(float(self.burst), level + (now - then) * self.per_second)
        granted = level >= 1.0
        self._levels[caller] = (level - 1.0 if granted else level, now)
        return granted
