"""What was spent in this process, by public facts alone: a fit, its budget, and the people that its caller named.

Whether two tables hold the same people is private; a warning that compared them would tell. So nothing is compared:
fits count as fits on the same people until their caller says otherwise, by a ledger or by a name (`people`).
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from math import fsum
from threading import Lock

from mapl.errors import PrivacyWarning
from mapl.estimators.guard.people import named_people
from mapl.release.statement.plain_words import at_most
from mapl.types import Budget


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """What one fit may spend, and on whom: public facts."""

    budget: Budget
    adjacency: str
    unit: str


class EarlierFits:
    """Remembers the fits of a process, by the name of their people."""

    def __init__(self) -> None:
        self._known: dict[str | None, list[Fit]] = {}
        self._lock = Lock()

    def so_far(self) -> list[Fit]:
        """Return the fits so far on the people who are named now, or on nobody in particular, in their order."""
        with self._lock:
            return list(self._known.get(named_people(), ()))

    def add(self, fit: Fit) -> None:
        """Remember a fit."""
        with self._lock:
            self._known.setdefault(named_people(), []).append(fit)


def warn_of_sum(before: list[Fit], now: Fit) -> None:
    """Say what fits on the same people add up to, by basic composition; nothing is spent yet."""
    if not before:
        return
    sums: dict[tuple[str, str], list[Budget]] = {}
    for one in (*before, now):
        sums.setdefault((one.adjacency, one.unit), []).append(one.budget)
    added_up = " and ".join(
        f"epsilon {at_most(fsum(one.epsilon for one in budgets))} at delta "
        f"{at_most(fsum(one.delta for one in budgets))} (adjacency {adjacency}, unit {unit})"
        for (adjacency, unit), budgets in sums.items()
    )
    name = named_people()
    whom = "" if name is None else f" on {name!r}"
    warnings.warn(
        f"This is fit {len(before) + 1} in this process{whom}, and every fit spends anew: if they are about the "
        f"same people, they add up to {added_up}. mapl compares no rows, which are private. If these are other "
        "people, say so: with mapl.people('clinic A'): fit(...); to keep books give every fit a ledger of its own, "
        "ledger=mapl.SqliteLedger(path). To choose among methods and learners within one budget take "
        'PrivateClassifier(method="select:..."). Nothing was spent by this fit yet.',
        PrivacyWarning,
        stacklevel=levels_to_caller(),
    )


def levels_to_caller() -> int:
    """Count the frames up to the line that called mapl, which is what a warning should show."""
    frame, levels = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("mapl", "contextlib"):
        frame, levels = frame.f_back, levels + 1
    return levels
