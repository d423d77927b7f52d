"""The method of cells: public cells, noisy counts, a student."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mapl.data.encoding.choice import make_shared_encoder
from mapl.data.encoding.encoder import Encoder
from mapl.data.tables.constant_columns import constant_warning
from mapl.data.tables.rows import n_rows, take
from mapl.data.tables.table import PrivateTable
from mapl.pipeline.case import Case
from mapl.pipeline.counts.cells_plan import PlannedCells, plan_cells
from mapl.pipeline.counts.counting import count
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.method import Prepared, Results, count_public_units
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.watch import Watch
from mapl.release.statement.promise import Promise
from mapl.students.file.student_file import REHEARSED_ROWS, check_usable
from mapl.students.on_counts import CountStudent
from mapl.students.student import Student
from mapl.students.taught_by_counts import Round

CELLS = "cells"


@dataclass(frozen=True, slots=True)
class ReadyCells:
    """A plan with its public cells, and how a student learns from counts."""

    planned: PlannedCells
    student: CountStudent


@dataclass(frozen=True, slots=True)
class CellsMethod:
    """Count private records in public cells, and train a student on the noisy counts.

    Notes
    -----
    *Guarantee.* The plan's epsilon with delta 0, for the adjacency and unit in the statement. Proof:
    docs/proofs/cells.md.
    """

    learners: Learners
    why: str

    def plan(self, case: Case, request: Request) -> Prepared[ReadyCells]:
        given, rows = case.declared, case.public.rows
        encoder = make_shared_encoder(given.schema, rows, (self.learners.student,))
        student = self._student(case, encoder)
        rehearse_counts(case, student)
        plan = plan_cells(count_public_units(case, request), rows, given.schema, encoder, why=self.why)
        settings = {
            "method": CELLS,
            "partition": request.partition,
            "rounds": request.rounds,
            "per_unit": request.per_unit,
            **self.learners.names,
            "label": given.label,
        }
        words = constant_warning(rows, given.schema)
        return Prepared(plan.plan, settings, None, self.learners.student, ReadyCells(plan, student), (words,))

    def promise(self, prepared: Prepared[ReadyCells]) -> Promise:
        return prepared.ready.planned.promise

    def release(
        self, prepared: Prepared[ReadyCells], case: Case, table: PrivateTable, place: Workplace, watch: Watch
    ) -> Results:
        ready = prepared.ready
        with watch.progress("Counting in cells", len(prepared.plan.stages)) as on_progress:
            counted = count(
                table,
                case.public.rows,
                ready.planned,
                case.key,
                place,
                coins=case.coins,
                student=ready.student,
                on_progress=on_progress,
                cluster=self.learners.open_cluster(),
            )
        lesson = counted.rounds if counted.labelled.released.answered else None
        return Results(counted.labelled, lesson, counted, warnings=(counted.warning,))

    def train(self, prepared: Prepared[ReadyCells], case: Case, results: Results) -> Student:
        return prepared.ready.student.train(case.public.rows, results.lesson)

    def _student(self, case: Case, encoder: Encoder | None) -> CountStudent:
        return CountStudent(case.declared.classes, case.declared.schema, self.learners.student, encoder)


def rehearse_counts(case: Case, student: CountStudent) -> None:
    """Make sure, before anything is spent, that a student can learn from counts, be saved and be read again.

    A few public rows have made-up counts, which speak for two classes each as noisy ones may. Learners that take no
    weights, for one, are found here.
    """
    n_classes = len(case.declared.classes)
    some = np.arange(min(REHEARSED_ROWS, n_rows(case.public.rows)), dtype=np.int64)
    made_up = (some[:, None] + np.arange(n_classes)) % n_classes + 1
    rows = take(case.public.rows, some)
    check_usable(student.train(rows, (Round(some, made_up, 1.0),)), rows)
