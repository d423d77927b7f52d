"""The promise of a run as a report shows it, and what it hides in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mapl.errors import InvalidData
from mapl.planning.plan import ROUNDING
from mapl.release.statement.plain_words import why_not_private
from mapl.report.risk import Risk
from mapl.types import ADJACENCY, Budget

KINDS = ("add-remove", "replace-one", "labels", "teacher")


@dataclass(frozen=True, slots=True)
class InAll:
    """What a run promises together with the earlier runs that it went on from, of the same adjacency and unit."""

    epsilon: float
    delta: float
    runs: tuple[str, ...]

    @classmethod
    def of(cls, statement: Mapping[str, Any]) -> Self | None:
        """Read it off a statement, None where the run stands alone."""
        said = statement.get("together")
        if not isinstance(said, Mapping):
            return None
        earlier = [one for one in said.get("earlier_runs") or () if isinstance(one, Mapping)]
        names = tuple(str(one.get("run")) for one in earlier)
        return cls(number(said, "epsilon"), number(said, "delta"), names)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """How much was promised, planned and used, for which unit and which neighbouring data sets.

    ``epsilon`` is the promise; ``used`` is the price of what was published, ``budget`` what was allowed. All of
    them are at ``delta``. ``holds`` is False where nothing is promised at all.
    """

    holds: bool
    epsilon: float
    used: float
    budget: float
    delta: float
    unit: str
    adjacency: str
    kind: str
    words: str
    noise: str
    risk: Risk | None
    in_all: InAll | None = None

    @classmethod
    def of(cls, statement: Mapping[str, Any], plan: Mapping[str, Any] | None) -> Self:
        """Read the promise off a statement; whatever does not say that it is private is not."""
        epsilon = number(statement, "guaranteed_epsilon")
        delta = number(statement, "delta")
        holds = statement.get("private") is True and math.isfinite(epsilon) and epsilon > 0 and 0 <= delta < 1
        return cls(
            holds=holds,
            epsilon=epsilon,
            used=number(statement, "epsilon"),
            budget=number(statement, "budget_epsilon"),
            delta=delta,
            unit=str(statement.get("unit") or "not stated"),
            adjacency=str(statement.get("adjacency") or "not stated"),
            kind=_kind(statement, plan or {}),
            words=str(statement.get("in_plain_words") or ""),
            noise=str(statement.get("noise") or "not stated"),
            risk=Risk.of(Budget(epsilon, delta)) if holds else None,
            in_all=InAll.of(statement) if holds else None,
        )

    @property
    def why_not(self) -> str:
        """Why nothing is promised, where that is so: in the statement's own words if they admit it."""
        admitted = why_not_private(self.words)
        return (
            admitted or "The statement promises no privacy. Use this result for tests only and do not publish it."
        )

    @property
    def within_budget(self) -> bool:
        # Stages are added up in floating point, whose last digit is no overspending.
        return max(self.used, self.epsilon) <= self.budget * (1 + ROUNDING)


def number(record: Mapping[str, Any], name: str) -> float:
    """Read a number that JSON may have had to write as text, such as infinity."""
    try:
        return float(record[name])
    except (KeyError, TypeError, ValueError):
        raise InvalidData(f"The statement has no number {name!r}; give a statement.json that mapl wrote.") from None


def _kind(statement: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """Return the short name of the neighbouring relation: the plan's, or the statement's where no plan has it."""
    known = [name for name in (plan.get("adjacency"), statement.get("adjacency_kind")) if name in KINDS]
    if not known and statement.get("adjacency") == ADJACENCY:
        return "teacher"  # votes from outside have no plan, and statements of mapl 0.1 no short names
    return str(known[0]) if known else "other"
