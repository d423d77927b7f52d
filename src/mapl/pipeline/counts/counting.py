"""From a private table and public rows to noisy counts: one record per unit, one charge for the whole table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapl.data.cells.partition import Cells
from mapl.data.tables.rows import Rows, n_rows
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey
from mapl.engines.cluster import Cluster
from mapl.noise import Coins
from mapl.pipeline.counts.cells_plan import SECOND, PlannedCells
from mapl.pipeline.counts.counting_afar import count_afar
from mapl.pipeline.counts.one_record import keep_one_record
from mapl.pipeline.place import Workplace
from mapl.pipeline.votes.labelling import Labelled
from mapl.release import Limits, Released
from mapl.release.cell_counts import CellCounts, release_counts
from mapl.release.statement.cell_statement import Spent, state_counts
from mapl.students.on_counts import CountStudent
from mapl.students.student import Student
from mapl.students.taught_by_counts import Round, TaughtByCounts
from mapl.types import ABSTAIN, Integers, State

ROWS_AT_ONCE = 1 << 17
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
    student: CountStudent | None = None,
    on_progress: Callable[[int], None] | None = None,
    cluster: Cluster | None = None,
) -> Counted:
    """Count the private records in public cells and release the counts with noise.

    Called again with the same arguments after a crash, it only reads what was released.

    Parameters
    ----------
    student
        Whose scores draw the second map, where there are two rounds.
    on_progress
        Called with how many rounds are done. Rows are not counted aloud: how many there are is private.
    cluster
        Whose workers count, in place of this process.

    Notes
    -----
    *Guarantee.* The plan's epsilon, with delta 0, for the adjacency and unit in the returned statement. Proof:
    docs/proofs/cells.md.
    """
    request, plan = planned.request, planned.plan
    place.ledger.open(plan.digest, Limits.of_plan(plan))
    records = keep_one_record(table, request, key)
    cells = planned.cells
    rounds: tuple[Round, ...] = ()
    spent: tuple[Spent, ...] = ()
    for number, stage in enumerate(plan.stages, start=1):
        if stage.name == SECOND and (TaughtByCounts(questions, rounds).labels != ABSTAIN).any():
            assert student is not None
            cells = _drawn_again(planned, questions, student.train(questions, rounds))
        mechanism = planned.mechanism(stage.name, cells.n_cells)
        if cluster is None:
            counts = count_in_blocks(cells, records, len(request.classes))
        else:
            counts = count_afar(cluster, cells, records, len(request.classes), place.scratch)
        noisy = release_counts(mechanism, counts, coins, ledger=place.ledger, stage=stage.name, of=cells.digest)
        rounds = (*rounds, Round(cells.public, noisy, stage.budget.epsilon, mechanism.deviation))
        spent = (*spent, Spent(stage.name, mechanism))
        if on_progress is not None:
            on_progress(number)
    codes = TaughtByCounts(questions, rounds).labels
    answered = int(np.count_nonzero(codes != ABSTAIN))
    released = Released(codes, None, State(answered, len(codes) - answered, True), len(codes))
    statement = state_counts(
        spent,
        released,
        request.budget,
        coins,
        promise=planned.promise,
        plan_digest=plan.digest,
        ledger_head=place.ledger.head,
    ).recorded_by(place.ledger)
    labelled = Labelled(
        released, np.arange(len(codes), dtype=np.int64), len(codes), spent[-1].mechanism, plan.why, statement
    )
    return Counted(labelled, rounds, cells, far_away(cells, rounds[-1].counts, spent[-1].mechanism))


def count_in_blocks(cells: Cells, records: PrivateTable, n_classes: int) -> Integers:
    """Return how many records of each class fall into each cell. PRIVATE, as `Cells.counts` is.

    Memory is bounded by a block: of more rows, cells are not kept, and what lies in files is let go.
    """
    if len(records.labels) <= ROWS_AT_ONCE:  # one block, or none at all
        return cells.counts(records.rows.open(), records.labels, n_classes)
    counts = np.zeros((cells.n_cells, n_classes), dtype=np.int64)
    for start, block in records.rows.open_blocks(ROWS_AT_ONCE):
        counts += cells.counts(block, records.labels[start : start + n_rows(block)], n_classes)
    return counts


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


def _drawn_again(planned: PlannedCells, questions: Rows, student: Student) -> Cells:
    """Draw the second map by what the first student thinks of the public rows, which is post-processing."""
    if hasattr(student.model, "predict_proba"):
        targets = student.predict_proba(questions)
    else:
        targets = np.eye(len(student.classes))[student.predict_codes(questions)]
    n_cells = min(planned.cells.n_cells, n_rows(questions))
    return Cells.of_public(questions, planned.space, n_cells, kind="leaves", targets=targets)
