"""From a private table and public rows to noisy counts: one record per unit, one charge for the whole table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.cell_space import CellSpace
from mapl.data.cells import Cells
from mapl.data.encoder import Encoder
from mapl.data.one_per_unit import one_per_unit, refuse_repeated
from mapl.data.rows import Rows, digests, n_rows, take
from mapl.data.schema import Schema
from mapl.data.shards import ShardKey, unit_bytes
from mapl.data.table import PrivateTable
from mapl.noise import Coins
from mapl.pipeline.label import Labelled, Workplace
from mapl.pipeline.request import Adjacency, Request
from mapl.planning.cells_rule import cells_for
from mapl.planning.plan import Plan, Stage
from mapl.release import Limits, Released
from mapl.release.cell_counts import SENSITIVITY, CellCounts, release_counts
from mapl.release.cell_statement import Spent, cell_statement
from mapl.release.promise import cells_promise
from mapl.students.on_counts import Round, Taught, train_on_counts
from mapl.students.student import Student
from mapl.types import ABSTAIN, Budget, State

FIRST, SECOND = "counts", "counts again"
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
    space = CellSpace.fit(questions, schema, encoder)
    epsilons = _epsilons(request)
    n_cells, because = cells_for(request.n_rows, n_rows(questions), epsilons[0] / SENSITIVITY[request.adjacency])
    if request.n_cells is not None:
        n_cells, because = request.n_cells, "as asked"
    cells = Cells.of_public(questions, space, n_cells, kind=request.partition)
    n_classes = len(request.classes)
    facts = {"cells": cells.n_cells, "classes": n_classes, "partition": request.partition}
    stages = [_stage(FIRST, epsilons[0], {**facts, "entries": cells.n_cells * n_classes}, request.adjacency)]
    if request.rounds == 2:
        # How many cells the second map has is known once the first counts are; it has no more than these.
        most = {"entries": (n_cells + 1) * n_classes, "set by": "the first counts"}
        stages.append(_stage(SECOND, epsilons[1], most, request.adjacency))
    plan = Plan(
        classes=request.classes.names,
        n_teachers=0,
        adjacency=request.adjacency,
        unit=request.unit_name,
        n_queries=n_rows(questions),
        budget=request.budget,
        stages=tuple(stages),
        why=f"{why}; {cells.n_cells} cells {because}",
    )
    return PlannedCells(request, plan, cells, space)


def count(
    table: PrivateTable,
    questions: Rows,
    planned: PlannedCells,
    key: ShardKey,
    place: Workplace,
    *,
    coins: Coins,
    student_of: Callable[[tuple[Round, ...]], Student] | None = None,
) -> Counted:
    """Count the private records in public cells and release the counts with noise.

    Called again with the same arguments after a crash, it only reads what was released.

    Parameters
    ----------
    student_of
        Trains the student whose scores draw the second map, where there are two rounds.

    Notes
    -----
    *Guarantee.* The plan's epsilon, with delta 0, for the adjacency and unit in the returned statement. Proof:
    docs/proofs/cells.md.
    """
    request, plan = planned.request, planned.plan
    place.ledger.open(plan.digest, Limits.of_plan(plan))
    kept = _kept(table, key, request.adjacency)
    rows, labels = (table.rows, table.labels) if kept is None else (take(table.rows, kept), table.labels[kept])
    n_classes = len(request.classes)
    cells = planned.cells
    rounds: tuple[Round, ...] = ()
    spent: tuple[Spent, ...] = ()
    for stage in plan.stages:
        if stage.name == SECOND:
            assert student_of is not None
            cells = _drawn_again(planned, questions, student_of(rounds))
        mechanism = planned.mechanism(stage.name, cells.n_cells)
        counts = cells.counts(rows, labels, n_classes)
        noisy = release_counts(mechanism, counts, coins, ledger=place.ledger, stage=stage.name)
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
        promise=cells_promise(request.adjacency, request.unit),
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


def _kept(table: PrivateTable, key: ShardKey, adjacency: Adjacency) -> NDArray[np.int64] | None:
    """Return the one record of each unit that counts, None where every record is a unit of its own."""
    if table.unit_ids is None:
        return None
    ids = unit_bytes(table.unit_ids)
    labels = None if adjacency == "labels" else table.labels
    contents = [one for block in digests(table.rows, labels) for one in block]
    kept = one_per_unit(ids, contents, key)
    refuse_repeated(ids, kept)
    return kept


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


def _stage(name: str, epsilon: float, facts: dict[str, Any], adjacency: Adjacency) -> Stage:
    parameters = {**facts, "epsilon": epsilon, "sensitivity": SENSITIVITY[adjacency]}
    return Stage(name, CellCounts.name, parameters, Budget(epsilon, 0.0))


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
