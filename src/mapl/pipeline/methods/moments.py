"""The method of moments: a public map, noisy sums of short vectors, a linear student."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from mapl.data.tables.classes import Classes
from mapl.data.tables.constant_columns import constant_warning
from mapl.data.tables.rows import n_rows, take
from mapl.data.tables.table import PrivateTable
from mapl.pipeline.case import Case, Declared
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.method import Prepared, Results, count_public_units
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.sums.moments_plan import PlannedMoments, plan_moments
from mapl.pipeline.sums.summing import sum_up
from mapl.pipeline.watch import Watch
from mapl.release.statement.promise import Promise
from mapl.students.file.student_file import REHEARSED_ROWS, check_usable
from mapl.students.moments.strengths import Strengths
from mapl.students.moments.student import MomentsLesson, MomentsStudent
from mapl.students.student import Student

MOMENTS = "moments"
WEIGHTS = "weights.parquet"
NUMBER_RANGE = "number_range"
"""Where the settings of a run tell the range of labels that are numbers."""


@dataclass(frozen=True, slots=True)
class ReadyMoments:
    """A plan with its public map, and how a student is made of the sums."""

    planned: PlannedMoments
    student: MomentsStudent


@dataclass(frozen=True, slots=True)
class MomentsMethod:
    """Add up short vectors of private records, and make a linear student of the noisy sums.

    Notes
    -----
    *Guarantee.* The plan's budget, for the adjacency and unit in the statement. Proof: docs/proofs/moments.md.
    """

    learners: Learners
    why: str

    def plan(self, case: Case, request: Request) -> Prepared[ReadyMoments]:
        given, rows = case.declared, case.public.rows
        plan = plan_moments(
            count_public_units(case, request), rows, given.schema, why=self.why, made_up=case.public.made_up
        )
        student = MomentsStudent(given.classes, given.schema, self.learners.student, given.number_range)
        rehearse_moments(case, plan, student)
        settings = {"method": MOMENTS, **self.learners.names, "label": given.label, **range_of(given)}
        words = constant_warning(rows, given.schema)
        return Prepared(plan.plan, settings, None, self.learners.student, ReadyMoments(plan, student), (words,))

    def promise(self, prepared: Prepared[ReadyMoments]) -> Promise:
        return prepared.ready.planned.promise

    def release(
        self, prepared: Prepared[ReadyMoments], case: Case, table: PrivateTable, place: Workplace, watch: Watch
    ) -> Results:
        planned = prepared.ready.planned
        with watch.progress("Adding up", len(planned.stage.mechanism.entries)) as on_progress:
            summed = sum_up(
                table,
                case.public.rows,
                planned,
                place,
                coins=case.coins,
                key=case.key,
                on_progress=on_progress,
                cluster=self.learners.open_cluster(),
            )
        files = {WEIGHTS: weights_file(summed.strengths, case.declared.classes)}
        return Results(summed.labelled, summed.lesson, files=files)

    def train(self, prepared: Prepared[ReadyMoments], case: Case, results: Results) -> Student:
        return prepared.ready.student.train(case.public.rows, results.lesson)


def range_of(given: Declared) -> dict[str, object]:
    """Return where labels go from and to, if they are numbers, for whoever reads the results."""
    known = given.number_range
    return {} if known is None else {NUMBER_RANGE: [known.low, known.high]}


def weights_file(strengths: Strengths, classes: Classes) -> bytes:
    """Return the public file of what a student goes by."""
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(strengths.to_table(classes), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def rehearse_moments(case: Case, planned: PlannedMoments, student: MomentsStudent) -> None:
    """Make sure, before anything is spent, that a student can be made of sums, saved and read again."""
    n_classes, n_columns = len(case.declared.classes), planned.maker.target.n_columns
    words = planned.maker.words
    made_up_words = None if words is None else np.eye(n_classes)[np.arange(words.shape[0]) % n_classes]
    vectors = planned.maker.draw(made_up_words).vectors
    some = np.arange(min(REHEARSED_ROWS, n_rows(case.public.rows)), dtype=np.int64)
    rows = take(case.public.rows, some)
    width = vectors.features.width
    made_up = np.cos(np.arange(width * n_columns, dtype=np.float64)).reshape(width, n_columns)
    check_usable(student.train(rows, MomentsLesson(vectors, made_up)), rows)
