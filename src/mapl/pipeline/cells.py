"""From a private table and public rows to noisy counts: one record per unit, one charge for the whole table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.cell_space import CellSpace
from mapl.data.cells import Cells, OnProgress
from mapl.data.encoder import Encoder
from mapl.data.one_per_unit import refuse_unordered
from mapl.data.rows import Rows, n_rows
from mapl.data.schema import Schema
from mapl.data.shards import ShardKey
from mapl.data.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.mechanisms.mechanism import Parameters
from mapl.noise import Coins
from mapl.pipeline.label import Labelled, Workplace
from mapl.pipeline.one_each import one_each
from mapl.pipeline.request import Request
from mapl.planning.cells_rule import cells_for
from mapl.planning.plan import Plan, Stage
from mapl.release import Limits, Released
from mapl.release.cell_counts import SENSITIVITY, CellCounts, release_counts
from mapl.release.cell_promise import cells_promise
from mapl.release.cell_statement import Spent, cell_statement
from mapl.students.on_counts import Round, Taught, train_on_counts
from mapl.students.student import Student
from mapl.types import ABSTAIN, Budget, State

FIRST, SECOND = "counts", "counts again"
STEPS = 100
"""Of a bar that shows how far counting is: how many rows there are to count is private."""

FIRST_SHARE = 0.4
"""Of the budget, for the first of two rounds: its student only has to draw a better map."""

FAR_SHARE = 0.05
SURELY = 6.0
"""A noisy count says something if it is this many standard deviations above zero."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedCells:
    """A plan and the public cells of its first round, fixed before a private row is read."""

    request: Request
    plan: Plan
    cells: Cells
    space: CellSpace

    def mechanism(self, stage: str, n_cells: int) -> CellCounts:
        """Return what releases the counts of a stage, for as many cells as it turned out to have."""
        budget = self.plan.stage(stage).budget
        sensitivity = SENSITIVITY[self.request.adjacency]
        return CellCounts(budget.epsilon, n_cells, len(self.request.classes), sensitivity)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Noisy counts and what they say about the public rows; everything here is public."""

    labelled: Labelled
    rounds: tuple[Round, ...]
    cells: Cells
    warning: str | None


def planned_cells(
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
            "are alike, or one cell was asked for. Give public rows that differ, or ask for more with --cells."
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
    plan = Plan(
        classes=request.classes.names,
        n_teachers=0,
        adjacency=request.adjacency,
        unit=request.unit_name,
        n_queries=n_rows(questions),
        budget=request.budget,
        stages=tuple(stages),
        why=f"{why}; {cells.n_cells - (cells.partition.far is not None)} cells {because}",
    )
    return PlannedCells(request, plan, cells, space)


def affordable_cells(request: Request, n_public: int) -> tuple[int, str]:
    """Return how many cells the first round has, and why; the first of two rounds and larger changes have fewer."""
    if request.n_cells is not None:
        return request.n_cells, "as asked"
    return cells_for(request.n_rows, n_public, _epsilons(request)[0] / SENSITIVITY[request.adjacency])


def count(
    table: PrivateTable,
    questions: Rows,
    planned: PlannedCells,
    key: ShardKey,
    place: Workplace,
    *,
    coins: Coins,
    student_of: Callable[[tuple[Round, ...]], Student] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Counted:
    """Count the private records in public cells and release the counts with noise.

    Called again with the same arguments after a crash, it only reads what was released.

    Parameters
    ----------
    student_of
        Trains the student whose scores draw the second map, where there are two rounds.
    on_progress
        Called with how many of `STEPS` are done.

    Notes
    -----
    *Guarantee.* The plan's epsilon, with delta 0, for the adjacency and unit in the returned statement. Proof:
    docs/proofs/cells.md.
    """
    request, plan = planned.request, planned.plan
    place.ledger.open(plan.digest, Limits.of_plan(plan))
    records = one_each(table, request, key)
    cells = planned.cells
    rounds: tuple[Round, ...] = ()
    spent: tuple[Spent, ...] = ()
    for number, stage in enumerate(plan.stages):
        if stage.name == SECOND and (Taught(questions, rounds).labels != ABSTAIN).any():
            assert student_of is not None
            cells = _drawn_again(planned, questions, student_of(rounds))
        mechanism = planned.mechanism(stage.name, cells.n_cells)
        counts = cells.counts(
            records.rows,
            records.labels,
            len(request.classes),
            on_progress=_steps(on_progress, number, len(plan.stages)),
        )
        noisy = release_counts(mechanism, counts, coins, ledger=place.ledger, stage=stage.name, of=cells.digest)
        rounds = (*rounds, Round(cells.public, noisy, stage.budget.epsilon))
        spent = (*spent, Spent(stage.name, mechanism))
    codes = Taught(questions, rounds).labels
    answered = int(np.count_nonzero(codes != ABSTAIN))
    released = Released(codes, None, State(answered, len(codes) - answered, True), len(codes))
    statement = cell_statement(
        spent,
        released,
        request.budget,
        coins,
        promise=cells_promise(request.adjacency, request.unit, request.per_unit),
        plan_digest=plan.digest,
        ledger_head=place.ledger.head,
    )
    labelled = Labelled(
        released, np.arange(len(codes), dtype=np.int64), len(codes), spent[-1].mechanism, plan.why, statement
    )
    return Counted(labelled, rounds, cells, far_away(cells, rounds[-1].counts, spent[-1].mechanism))


def far_away(cells: Cells, counts: NDArray[np.int64], mechanism: CellCounts) -> str | None:
    """Warn where noisy counts say that private records lie far from all public rows."""
    far = cells.partition.far
    if far is None:
        return None
    mass, everything = int(counts[far].sum()), int(counts.sum())
    deviation = mechanism.deviation * math.sqrt(mechanism.n_classes)
    if mass <= max(SURELY * deviation, FAR_SHARE * everything):
        return None
    return (
        f"About {mass / max(1, everything):.0%} of the private records (by noisy counts) lie far from all public "
        "rows, where no cell is: the student learned nothing from them and will guess there. Look for public "
        "rows that resemble the private ones more."
    )


def _steps(on_progress: Callable[[int], None] | None, number: int, n_rounds: int) -> OnProgress | None:
    """Return what to call with the share of a round that is done; rows are not counted aloud."""
    return None if on_progress is None else lambda share: on_progress(int(STEPS * (number + share) / n_rounds))


def _drawn_again(planned: PlannedCells, questions: Rows, student: Student) -> Cells:
    """Draw the second map by what the first student thinks of the public rows, which is post-processing."""
    if hasattr(student.model, "predict_proba"):
        targets = student.predict_proba(questions)
    else:
        targets = np.eye(len(student.classes))[student.predict_codes(questions)]
    n_cells = min(planned.cells.n_cells, n_rows(questions))
    return Cells.of_public(questions, planned.space, n_cells, kind="leaves", targets=targets)


def _epsilons(request: Request) -> tuple[float, ...]:
    epsilon = request.budget.epsilon
    if request.rounds == 1:
        return (epsilon,)
    first = FIRST_SHARE * epsilon
    return first, math.nextafter(epsilon - first, 0)


def _stage(name: str, mechanism: CellCounts, known: Parameters, facts: dict[str, Any]) -> Stage:
    return Stage(name, mechanism.name, {**known, **facts}, Budget(mechanism.epsilon, 0.0))


def train(
    rounds: tuple[Round, ...],
    questions: Rows,
    request: Request,
    schema: Schema,
    *,
    learner: Any,
    encoder: Encoder | None,
) -> Student:
    """Train the student of noisy counts, which is post-processing."""
    return train_on_counts(
        Taught(questions, rounds), classes=request.classes, schema=schema, learner=learner, encoder=encoder
    )
