"""What a user asks of a private table, and the plan that follows from it and from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mapl.data.cells.partition import PartitionKind
from mapl.data.tables.classes import Classes
from mapl.data.tables.number_range import NumberRange
from mapl.data.units.one_per_unit import KEYED, latest_column
from mapl.errors import InvalidParameter
from mapl.mechanisms import Task, entry
from mapl.misspelled_names import did_you_mean
from mapl.parameters import spell
from mapl.pipeline.choice.short_list import SELECT, MethodCandidate, candidates_of
from mapl.planning import Agreement
from mapl.planning.budgets.several_runs import ContinuedBudget
from mapl.planning.plan_maker import Terms
from mapl.planning.rules.method import METHODS
from mapl.release.loop import refuse_senseless
from mapl.release.statement.promise import Promise, promise_of
from mapl.students.probabilities.aim import Aim
from mapl.types import RECORD, Adjacency, Budget, positive_integer

ADJACENCIES: tuple[Adjacency, ...] = ("add-remove", "replace-one", "labels")

MOST_ERROR_SHARE = 0.9
MOST_ROUNDS = 2
FOR_NUMBERS = ("auto", "moments")
"""Methods that learn labels that are numbers."""

NO_PLACE = {
    "cells": "Cells have no teachers",
    "teachers": "Teachers count in no cells",
    "moments": "Moments have neither teachers nor cells",
}
"""What a method lacks that only another one has."""


@dataclass(frozen=True, slots=True)
class Request:
    """A budget and the settings of a run; everything here is declared by the user and public."""

    budget: Budget
    classes: Classes
    n_teachers: int | None = None
    n_rows: int | None = None
    mechanism: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)
    n_queries: int | None = None
    agreement: Agreement | None = None
    may_abstain: bool = False
    adjacency: Adjacency = "add-remove"
    unit: str | None = None
    error_share: float = 0.0
    spectral: bool = False
    method: str = "teachers"
    why: str = ""
    weights: tuple[int, ...] = ()
    """How much of epsilon each method of a short list gets, in proportion; the same if empty."""
    n_cells: int | None = None
    partition: PartitionKind = "points"
    rounds: int = 1
    per_unit: str = KEYED
    aim: Aim = field(default_factory=Aim)
    """What the student is to be good at."""
    number_range: NumberRange | None = None
    """Where labels go from and to, if they are numbers; the classes are its ends then."""
    together: ContinuedBudget | None = None
    """Earlier runs on the same people, whose promises count; the budget is what they leave for this one."""

    def __post_init__(self) -> None:
        refuse_senseless(self.mechanism, self.budget)
        if self.mechanism != "auto":
            entry(self.mechanism)
        given = {
            "teachers": self.n_teachers,
            "rows": self.n_rows,
            "queries": self.n_queries,
            "cells": self.n_cells,
            "rounds": self.rounds,
        }
        positive_integer(**{spell(name): value for name, value in given.items() if value is not None})
        if not self.candidates and self.method not in METHODS:
            raise InvalidParameter(
                f"The method is {self.method!r}; choose one of {', '.join(METHODS)}, or a private selection "
                f"such as {SELECT}teachers,cells.{did_you_mean(self.method, METHODS)}"
            )
        if self.n_teachers is not None and self.n_rows is not None and self.n_teachers > self.n_rows:
            raise InvalidParameter(
                f"There are {self.n_teachers} teachers and, as you say, about {self.n_rows} rows; most teachers "
                f"would have nothing to learn from. Ask for fewer with {spell('teachers')}, or correct "
                f"{spell('rows')}. Nothing was read."
            )
        if self.weights and (len(self.weights) != len(self.candidates) or min(self.weights) < 1):
            raise InvalidParameter(
                "The weights of a short list must be whole numbers above 0, one for each method."
            )
        self.refuse_mixture(self.wants_teachers)
        self.refuse_for_numbers(self.wants_teachers)
        latest_column(self.per_unit)
        if self.per_unit != KEYED and self.unit is None:
            raise InvalidParameter(
                f"The record of a unit that counts is {self.per_unit!r}, and there is no column of ids: give it "
                f"with {spell('unit')}, or leave {spell('per_unit')} away; without ids every record is a unit and "
                "counts."
            )
        if self.rounds > MOST_ROUNDS:
            raise InvalidParameter(f"There are {self.rounds} rounds; cells are counted once or twice.")
        if self.adjacency not in ADJACENCIES:
            raise InvalidParameter(f"The adjacency is {self.adjacency!r}; choose one of {', '.join(ADJACENCIES)}.")
        if self.adjacency == "replace-one" and self.unit is None:
            raise InvalidParameter(
                "Replace-one compares tables in which one unit's records change under the same public id, so it "
                f"needs a column of ids: give it with {spell('unit')}, or take the add-remove adjacency."
            )
        if self.together is not None and self.unit == RECORD:
            raise InvalidParameter(
                f"The column of ids is called {RECORD!r}, which is what plans call single records, and earlier "
                "runs could be mistaken for runs about other units; call the column something else."
            )
        if self.together is not None:
            self.together.admit(self.budget, adjacency=self.adjacency, unit=self.unit_name)
        if not 0 <= self.error_share <= MOST_ERROR_SHARE:
            raise InvalidParameter(
                f"The share of the budget for the error estimate is {self.error_share:g}; it must lie between 0 "
                f"(no estimate) and {MOST_ERROR_SHARE:g}."
            )

    @property
    def wants_teachers(self) -> str | None:
        """What was asked for that only teachers have, if anything."""
        asked = {
            "a number of teachers": self.n_teachers is not None,
            "a mechanism": self.mechanism != "auto",
            "a limit on abstentions": bool(self.settings),
            "a number of queries": self.n_queries is not None,
            "an agreement": self.agreement is not None,
            "an estimate of the teachers' error": self.error_share > 0,
            "leave to abstain": self.may_abstain,
        }
        return next((what for what, is_so in asked.items() if is_so), None)

    @property
    def wants_cells(self) -> str | None:
        """What was asked for that only cells have, if anything."""
        asked = {
            "a number of cells": self.n_cells is not None,
            "a partition": self.partition != "points",
            "a second round": self.rounds > 1,
            "a choice among a unit's records": self.per_unit != KEYED,
        }
        return next((what for what, is_so in asked.items() if is_so), None)

    def refuse_mixture(self, wants_teachers: str | None) -> None:
        """Refuse what a method has no place for, rather than leave it out silently.

        Parameters
        ----------
        wants_teachers
            What was asked for that only teachers have, here or elsewhere.
        """
        methods: set[str] = {one.method for one in self.candidates} or {self.method}
        only = {"teachers": wants_teachers, "cells": self.wants_cells}
        for owner, what in only.items():
            if what is not None and not methods & {owner, "auto"}:
                only_one = next(iter(methods)) if len(methods) == 1 else self.method
                lacking = NO_PLACE.get(only_one, f"{self.method} has no {owner}")
                raise InvalidParameter(
                    f"{lacking}, and {what} was asked for; leave it away, or take {spell('method', owner)}."
                )
        if methods == {"auto"} and all(only.values()):
            raise InvalidParameter(
                f"Only teachers have {wants_teachers}, and only cells {self.wants_cells}; leave one of them away."
            )

    def refuse_for_numbers(self, asked_for: str | None) -> None:
        """Refuse what has a meaning for classes only, where labels are numbers.

        Parameters
        ----------
        asked_for
            What was asked for that only teachers have, or else only classes, here or elsewhere.
        """
        if self.number_range is None:
            return
        asked_for = asked_for or self.wants_cells
        if self.aim != Aim():
            asked_for = asked_for or ("a weight of classes" if self.aim.class_weight else "a metric of classes")
        if asked_for is None and self.method not in FOR_NUMBERS:
            asked_for = f"the method {self.method}"
        if asked_for is not None:
            raise InvalidParameter(
                f"The label is a number, {self.number_range}, and {asked_for} was asked for, which has a meaning "
                "for classes only: numbers are learned by moments. Leave it away, or declare classes with "
                f"{spell('classes')} instead of {spell('regression')}."
            )

    @property
    def candidates(self) -> tuple[MethodCandidate, ...]:
        """The methods to choose among privately, none where the method is settled otherwise."""
        return candidates_of(self.method) if self.method.startswith(SELECT) else ()

    @property
    def unit_name(self) -> str:
        return RECORD if self.unit is None else self.unit

    @property
    def promise_by_teachers(self) -> Promise:
        """What is promised to whom where teachers learn from disjoint shards and vote."""
        return promise_of(self.adjacency, self.unit)

    @property
    def terms(self) -> Terms:
        """What the plan of the run says of it whatever the method."""
        return Terms(self.budget, self.adjacency, self.unit_name, self.together)

    def task(self, n_teachers: int, n_questions: int) -> Task:
        """Return the public facts that the release of labels is calibrated for."""
        return Task(self.label_budget, n_teachers, len(self.classes), self.asked(n_questions))

    def asked(self, n_questions: int) -> int:
        """Return how many of the public rows are asked."""
        return n_questions if self.n_queries is None else min(self.n_queries, n_questions)

    @property
    def error_epsilon(self) -> float:
        """The pure epsilon of the error estimate, 0 without one."""
        return self.error_share * self.budget.epsilon

    @property
    def label_budget(self) -> Budget:
        """What the error estimate leaves for the labels, rounded down: the two epsilons add up to the budget's."""
        if not self.error_share:
            return self.budget
        return Budget(math.nextafter(self.budget.epsilon - self.error_epsilon, 0), self.budget.delta)
