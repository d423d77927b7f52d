"""What earlier runs on the same data have promised already, and what that leaves of a budget for all of them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Self

from mapl.errors import CannotCalibrate, InvalidData, InvalidParameter, MaplError
from mapl.planning.budgets.several_runs import ContinuedBudget, Promised, round_safely
from mapl.planning.plan import Plan
from mapl.types import RECORD, Budget

NOTHING = Fraction(1, 10**6)
"""A rest below this part of the total is nothing: it is what decimals leave, and pays for no answer."""

RUN_ID = re.compile("[0-9a-f]{32}")

WITH_IDS = "with one value of"
"""Words of a statement about a unit with ids."""


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run by its public files: what it may have cost at most, whom it compares and whom it protects.

    ``head`` is the last hash of its ledger, and ``run_id`` the random id that the ledger began with, by which runs
    are told apart; both are None where a run has not finished. ``place`` is the folder it lies in, whatever it was
    called by.
    """

    name: str
    epsilon: float
    delta: float
    adjacency: str
    unit: str
    head: str | None = None
    place: str | None = None
    digest: str = ""
    before: tuple[Promised, ...] = ()
    """The runs that it went on from, by its own plan: they count, too."""
    told_by: str | None = None
    """The run whose plan told of this one; None for a run that was given."""
    run_id: str | None = None

    @classmethod
    def of(cls, name: str, *, plan: str, statement: str | None, place: str | None = None) -> Self:
        """Read the texts of plan.json and statement.json.

        The budget of the plan counts whole, finished or not: whatever was released stayed within it. A statement
        may say that less was guaranteed, but nothing here could tell that from a statement that was edited.
        """
        planned = _plan(name, plan)
        budget = planned.budget
        known = planned.digest, () if planned.together is None else planned.together.runs
        if statement is None:
            return cls(name, budget.epsilon, budget.delta, planned.adjacency, planned.unit, None, place, *known)
        said = _statement(name, statement)
        if said.get("plan_digest") != planned.digest:
            raise InvalidData(
                f"The statement of {name} belongs to another plan than the plan.json beside it; restore the public "
                "half of the run."
            )
        if planned.unit == RECORD and WITH_IDS in str(said.get("unit")):
            raise InvalidParameter(
                f"The unit of {name} is a column called {RECORD!r}, and plans call single records that; its "
                "promise would be mistaken for another one. Count it by hand, and call the column something else "
                "next time."
            )
        epsilon, delta = _finite(said.get("guaranteed_epsilon")), _finite(said.get("delta"))
        if said.get("private") is not True or epsilon is None or delta is None:
            raise InvalidParameter(
                f"{name} was not private: it has no finite epsilon, and no budget covers it together with anything "
                "else. Leave it out only if nothing of it was or will be published."
            )
        epsilon, delta = max(epsilon, budget.epsilon), max(delta, budget.delta)
        head, run_id = said.get("ledger_head"), _run_id(said.get("run_id"))
        return cls(name, epsilon, delta, planned.adjacency, planned.unit, head, place, *known, run_id=run_id)

    @property
    def terms(self) -> str:
        """What its epsilon is about, in the words of its plan."""
        return f"adjacency: {self.adjacency}; unit: {self.unit}"

    def promised(self) -> Promised:
        """Return what a later plan publishes about it: the name of its folder, not where that lies."""
        name = self.name if self.place is None else self.place.rstrip("/").rsplit("/", 1)[-1]
        return Promised(name, self.epsilon, self.delta, self.digest, self.head, self.run_id)


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """Runs about the same units, composed in the plainest way: their epsilons and deltas add up.

    Examples
    --------
    >>> first = EarlierRun("run-1", 1.0, 1e-6, "add-remove", "record", head="ab")
    >>> second = EarlierRun("run-2", 0.5, 0.0, "add-remove", "record", head="cd")
    >>> EarlierRuns((first, second)).rest(epsilon=2.0, delta=3e-6)
    Budget(epsilon=0.5, delta=2e-06)
    """

    runs: tuple[EarlierRun, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise InvalidParameter("There are no earlier runs; name at least one, or ask without them.")
        first = self.runs[0]
        for other in self.runs[1:]:
            if (other.adjacency, other.unit) != (first.adjacency, first.unit):
                raise InvalidParameter(
                    f"{first.name} ({first.terms}) and {other.name} ({other.terms}) promise different things, and "
                    "their epsilons do not add up to one promise; compose runs of one adjacency and one unit."
                )
        for one, other in combinations(self.runs, 2):
            same_place = one.place is not None and one.place == other.place
            if same_place or one.promised().same_run(other.promised()):
                also = "" if one.name == other.name else f" (also as {other.name})"
                raise InvalidParameter(f"{one.name} is given twice{also}; name every run once.")

    @property
    def adjacency(self) -> str:
        return self.runs[0].adjacency

    @property
    def unit(self) -> str:
        return self.runs[0].unit

    @property
    def epsilon(self) -> float:
        """What all of them guarantee together, rounded up."""
        return round_safely(sum(Fraction(run.epsilon) for run in self.runs), upwards=True)

    @property
    def delta(self) -> float:
        return round_safely(sum(Fraction(run.delta) for run in self.runs), upwards=True)

    def refuse_other(self, *, adjacency: str | None, unit: str | None) -> None:
        """Refuse to go on under another promise than that of the runs."""
        given = (adjacency or self.adjacency, unit or self.unit)
        if given != (self.adjacency, self.unit):
            first = self.runs[0]
            raise InvalidParameter(
                f"The new run would have adjacency: {given[0]}; unit: {given[1]}, and {first.name} has "
                f"{first.terms}. Their epsilons do not add up to one promise; ask for the same adjacency and unit."
            )

    def rest(self, *, epsilon: float, delta: float) -> Budget:
        """Return what a budget for everything leaves for one more run, rounded down."""
        total = Budget(epsilon, delta)
        left = Fraction(total.epsilon) - sum(Fraction(run.epsilon) for run in self.runs)
        left_delta = Fraction(total.delta) - sum(Fraction(run.delta) for run in self.runs)
        spent = left <= NOTHING * Fraction(total.epsilon)
        if spent or left_delta < 0:
            what = "epsilon" if spent else "delta"
            raise CannotCalibrate(
                f"The budget is exhausted: {self.describe()}, and epsilon {epsilon:g} with delta {delta:g} is "
                f"allowed in all ({self.runs[0].terms}). Nothing is left of {what}; a further run needs a larger "
                "total, which has to be allowed by whoever answers for the data."
            )
        if left_delta <= NOTHING * Fraction(total.delta):
            left_delta = Fraction(0)
        return Budget(round_safely(left, upwards=False), round_safely(left_delta, upwards=False))

    def together_with(self, new: Budget) -> Budget:
        """Return what has to be allowed in all for a new run with a budget of its own, rounded up."""
        epsilon = sum((Fraction(run.epsilon) for run in self.runs), Fraction(new.epsilon))
        delta = sum((Fraction(run.delta) for run in self.runs), Fraction(new.delta))
        return Budget(round_safely(epsilon, upwards=True), round_safely(delta, upwards=True))

    def going_on(self, allowed: Budget) -> ContinuedBudget:
        """Return what the plan of one more run records about them."""
        return ContinuedBudget(allowed, self.adjacency, self.unit, tuple(run.promised() for run in self.runs))

    def describe(self) -> str:
        """Say what they have promised together."""
        names = ", ".join(run.name for run in self.runs)
        verb = "has" if len(self.runs) == 1 else "have together"
        return f"{names} {verb} promised epsilon {self.epsilon:.6g} and delta {self.delta:.6g}"


def compose_runs(runs: Sequence[EarlierRun]) -> EarlierRuns | None:
    """Compose runs, and those that they went on from themselves; None where there are none.

    A run that was given and is told of by another's plan counts once if both have the same id. One that had not
    finished when the other began, or whose mapl knew no ids, has none, and counts twice: too much is on the safe
    side. Names and heads tell nothing: folders are called alike, and runs that published the same may end alike.
    """
    found = list(runs)
    for run in runs:
        for old in run.before:
            if not any(old.same_run(one.promised()) for one in found):
                known = replace(run, name=old.run, epsilon=old.epsilon, delta=old.delta, run_id=old.run_id)
                known = replace(known, digest=old.plan_digest, head=old.ledger_head, place=None, before=())
                found.append(replace(known, told_by=run.name))
    return EarlierRuns(tuple(found)) if found else None


def _plan(name: str, text: str) -> Plan:
    try:
        plan = Plan.from_json(text)
        words = isinstance(plan.adjacency, str) and isinstance(plan.unit, str)
        epsilon, delta = _finite(plan.budget.epsilon), _finite(plan.budget.delta)
        plan.digest  # noqa: B018 – what cannot be hashed was not written by mapl
    except (MaplError, ValueError, TypeError, OverflowError, RecursionError):
        words, epsilon, delta = False, None, None
    if not words or epsilon is None or delta is None:
        raise InvalidData(
            f"The plan.json of {name} is damaged, or another mapl wrote it; restore the public half of the run, or "
            "use the mapl that wrote it."
        )
    return plan


def _statement(name: str, text: str) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise InvalidData(f"The statement of {name} is damaged; restore the public half of the run.")
    return said


def _finite(value: Any) -> float | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # A whole number of hundreds of digits is finite, but no float.
    return float(value) if number and 0 <= value <= sys.float_info.max else None


def _run_id(value: Any) -> str | None:
    """Return an id that mapl drew; anything else tells nothing, and the run counts as one without an id."""
    return value if isinstance(value, str) and RUN_ID.fullmatch(value) else None
