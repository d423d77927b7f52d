"""What several runs about the same units promise together, as the plan of the last of them records it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

from mapl.errors import GuaranteeBroken
from mapl.types import Budget


@dataclass(frozen=True, slots=True)
class Promised:
    """An earlier run by its public names, and the budget that it counts with.

    ``ledger_head`` is the last hash of its ledger, None for a run that had not finished. ``run_id`` is the random
    id in the first entry of that ledger; None for a run that had not finished, or whose mapl knew no ids.
    """

    run: str
    epsilon: float
    delta: float
    plan_digest: str
    ledger_head: str | None
    run_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; a run without an id is written, and hashed, as it was before there were any."""
        return {name: value for name, value in asdict(self).items() if (name, value) != ("run_id", None)}

    def same_run(self, other: Promised) -> bool:
        """Say whether both are surely one run. Without ids nobody can tell, and then both count."""
        return self.run_id is not None and self.run_id == other.run_id


@dataclass(frozen=True, slots=True)
class ContinuedBudget:
    """The earlier runs that a run goes on from, and the budget that was allowed for all of them and the new one.

    Examples
    --------
    >>> january = Promised("january", 1.0, 1e-6, "ab", "cd")
    >>> before = ContinuedBudget(Budget(3.0, 1e-5), "labels", "record", (january,))
    >>> before.with_new(Budget(0.5, 1e-6))
    Budget(epsilon=1.5, delta=2e-06)
    """

    allowed: Budget
    adjacency: str
    unit: str
    runs: tuple[Promised, ...]

    def admit(self, budget: Budget, *, adjacency: str, unit: str) -> None:
        """Refuse a new run under another promise, or with more than is left."""
        if (adjacency, unit) != (self.adjacency, self.unit):
            raise GuaranteeBroken(
                f"The new run has adjacency: {adjacency}; unit: {unit}, and the earlier ones have adjacency: "
                f"{self.adjacency}; unit: {self.unit}. Their epsilons do not add up to one promise; ask for the "
                "same adjacency and unit."
            )
        self.with_new(budget)

    def with_new(self, budget: Budget) -> Budget:
        """Return what all runs together promise with a new one, rounded up; refuse more than was allowed."""
        epsilon = sum((Fraction(run.epsilon) for run in self.runs), Fraction(budget.epsilon))
        delta = sum((Fraction(run.delta) for run in self.runs), Fraction(budget.delta))
        if epsilon > Fraction(self.allowed.epsilon) or delta > Fraction(self.allowed.delta):
            raise GuaranteeBroken(
                f"The run would take epsilon {budget.epsilon:.6g} and delta {budget.delta:.6g}, more than earlier "
                f"runs leave of epsilon {self.allowed.epsilon:g} and delta {self.allowed.delta:g} for all of them "
                f"(adjacency: {self.adjacency}; unit: {self.unit}); give it what is left."
            )
        return Budget(round_safely(epsilon, upwards=True), round_safely(delta, upwards=True))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as a plan stores them."""
        allowed = {"epsilon": float(self.allowed.epsilon), "delta": float(self.allowed.delta)}
        terms = {"adjacency": self.adjacency, "unit": self.unit}
        return {"allowed": allowed, **terms, "runs": [run.to_dict() for run in self.runs]}

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; KeyError or TypeError for anything else."""
        allowed = Budget(float(given["allowed"]["epsilon"]), float(given["allowed"]["delta"]))
        runs = tuple(_promised(one) for one in given["runs"])
        return cls(allowed, str(given["adjacency"]), str(given["unit"]), runs)


def round_safely(exact: Fraction | int, *, upwards: bool) -> float:
    """Return the nearest float that does not promise too much: a spend rounds up, a rest down."""
    near = float(exact)
    if upwards and near < exact:
        return math.nextafter(near, math.inf)
    return math.nextafter(near, 0.0) if not upwards and near > exact else near


def _promised(given: Mapping[str, Any]) -> Promised:
    Budget(float(given["epsilon"]), float(given["delta"]))  # which refuses what is no budget
    return Promised(
        str(given["run"]),
        float(given["epsilon"]),
        float(given["delta"]),
        str(given["plan_digest"]),
        None if given["ledger_head"] is None else str(given["ledger_head"]),
        None if given.get("run_id") is None else str(given["run_id"]),
    )
