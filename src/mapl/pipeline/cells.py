"""From a private table and public rows to noisy counts: one record per unit, one charge for the whole table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.cells import Cells, OnProgress
from mapl.data.encoder import Encoder
from mapl.data.rows import Rows, n_rows
from mapl.data.schema import Schema
from mapl.data.shards import ShardKey
from mapl.data.table import PrivateTable
from mapl.noise import Coins
from mapl.pipeline.label import Labelled, Workplace
from mapl.pipeline.one_each import one_each
from mapl.pipeline.planned_cells import SECOND, PlannedCells
from mapl.pipeline.request import Request
from mapl.release import Limits, Released
from mapl.release.cell_counts import CellCounts, release_counts
from mapl.release.cell_promise import cells_promise
from mapl.release.cell_statement import Spent, cell_statement
from mapl.students.on_counts import Round, Taught, train_on_counts
from mapl.students.student import Student
from mapl.types import ABSTAIN, State

STEPS = 100
"""Of a bar that shows how far counting is: how many rows there are to count is private."""

FAR_SHARE = 0.05
SURELY = 6.0
"""A noisy count says something if it is this many standard deviations above zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Noisy counts and what they say about the public rows; everything here is public."""

    labelled: Labelled
    rounds: tuple[Round, ...]
    cells: Cells
    warning: str | None


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
