"""The public cells of a run and its plan: noise, stages and limits, fixed before a private row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mapl.data.cells.partition import Cells
from mapl.data.cells.space import CellSpace
from mapl.data.encoding.encoder import Encoder
from mapl.data.tables.rows import Rows, n_rows
from mapl.data.tables.schema import Schema
from mapl.data.units.one_per_unit import refuse_unordered
from mapl.errors import InvalidParameter
from mapl.mechanisms.mechanism import Parameters
from mapl.parameters import spell
from mapl.pipeline.request import Request
from mapl.planning.plan import Plan, Stage
from mapl.planning.plan_maker import make_plan
from mapl.planning.rules.cells import cells_for
from mapl.release.cell_counts import SENSITIVITY, CellCounts
from mapl.release.statement.cell_promise import cells_promise
from mapl.release.statement.promise import Promise
from mapl.types import Budget

FIRST, SECOND = "counts", "counts again"

FIRST_SHARE = 0.4
"""Of the budget, for the first of two rounds: its student only has to draw a better map."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedCells:
    """A plan and the public cells of its first round, fixed before a private row is read."""

    request: Request
    plan: Plan
    cells: Cells
    space: CellSpace

    @property
    def promise(self) -> Promise:
        """What is promised to whom, and what has to hold for that."""
        return cells_promise(self.request.adjacency, self.request.unit, self.request.per_unit)

    def mechanism(self, stage: str, n_cells: int) -> CellCounts:
        """Return what releases the counts of a stage, for as many cells as it turned out to have."""
        budget = self.plan.stage(stage).budget
        sensitivity = SENSITIVITY[self.request.adjacency]
        return CellCounts(budget.epsilon, n_cells, len(self.request.classes), sensitivity)


def plan_cells(
    request: Request, questions: Rows, schema: Schema, encoder: Encoder | None, *, why: str
) -> PlannedCells:
    """Fix cells, noise and stages from public rows and settings alone."""
    refuse_unordered(request.per_unit, schema)
    space = CellSpace.fit(questions, schema, encoder)
    epsilons = _epsilons(request)
    n_cells, because = affordable_cells(request, n_rows(questions))
    cells = Cells.of_public(questions, space, n_cells, kind=request.partition)
    if (cells.public == cells.public[0]).all():
        raise InvalidParameter(
            "There would be one cell, and a student that knows nothing but the commonest class: the public rows "
            "are alike, or one cell was asked for. Give public rows that differ, or ask for more with "
            f"{spell('cells')}."
        )
    n_classes, sensitivity = len(request.classes), SENSITIVITY[request.adjacency]
    facts: dict[str, Any] = {"partition": request.partition}
    facts |= {} if request.unit is None else {"per unit": request.per_unit}
    first = CellCounts(epsilons[0], cells.n_cells, n_classes, sensitivity)  # which refuses what is too large
    stages = [_stage(FIRST, first, first.parameters, facts)]
    if request.rounds == 2:
        # How many cells the second map has is known once the first counts are; it has no more than these.
        most = CellCounts(epsilons[1], n_cells + 1, n_classes, sensitivity)
        known = {name: most.parameters[name] for name in ("entries", "epsilon", "sensitivity")}
        stages.append(_stage(SECOND, most, known, {"set by": "the first counts"}))
    plan = make_plan(
        request.terms,
        stages,
        (why, f"{cells.n_cells - (cells.partition.far is not None)} cells {because}"),
        classes=request.classes.names,
        n_queries=n_rows(questions),
    )
    return PlannedCells(request, plan, cells, space)


def affordable_cells(request: Request, n_public: int) -> tuple[int, str]:
    """Return how many cells the first round has, and why; the first of two rounds and larger changes have fewer."""
    if request.n_cells is not None:
        return request.n_cells, "as asked"
    return cells_for(request.n_rows, n_public, _epsilons(request)[0] / SENSITIVITY[request.adjacency])


def _epsilons(request: Request) -> tuple[float, ...]:
    epsilon = request.budget.epsilon
    if request.rounds == 1:
        return (epsilon,)
    first = FIRST_SHARE * epsilon
    return first, math.nextafter(epsilon - first, 0)


def _stage(name: str, mechanism: CellCounts, known: Parameters, facts: dict[str, Any]) -> Stage:
    return Stage(name, mechanism.name, {**known, **facts}, Budget(mechanism.epsilon, 0.0))
