"""Several labels of the same rows: teachers learn them together, each has a student, all share one budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mapl.data.tables.rows import n_rows
from mapl.data.tables.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.pipeline.case import Case
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.method import Prepared, Results
from mapl.pipeline.methods.soft import is_soft
from mapl.pipeline.methods.teachers import Teaching, check_student, for_teaching, try_out
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import Effort
from mapl.pipeline.votes.multi_label_plan import PlannedLabels, plan_labels
from mapl.pipeline.votes.multi_labelling import release_all_labels, shards_of_labels
from mapl.pipeline.watch import Watch
from mapl.release.statement.promise import Promise
from mapl.students.probabilities.aim import Aim
from mapl.students.student import Student, train_student
from mapl.types import ABSTAIN, Labels

LABELS = "labels"
"""Where settings hold the names of the labels, where there are several."""


def refuse_for_several(request: Request, learners: Learners) -> None:
    """Refuse what has a meaning for one label only, rather than leave it out silently."""
    asked = {
        f"the method {request.method}": request.method not in ("auto", "teachers"),
        "a range of numbers": request.number_range is not None,
        str(request.wants_cells): request.wants_cells is not None,
        "an estimate of the teachers' error": request.error_share > 0,
        "a metric or a weight of classes": request.aim != Aim(),
        "an active student": learners.active is not None,
        f"the strategy {learners.strategy}": is_soft(learners.strategy),
    }
    found = next((what for what, is_so in asked.items() if is_so), None)
    if found is not None:
        raise InvalidParameter(
            f"There are several labels, which teachers learn together by votes, and {found} was asked for, which "
            f"is for runs with one label; leave it away, or name one label with {spell('label')}."
        )


@dataclass(frozen=True, slots=True)
class ReadyLabels:
    """A plan with the mechanisms of all labels, and who teaches."""

    planned: PlannedLabels
    teaching: Teaching


@dataclass(frozen=True, slots=True)
class MultiLabelMethod:
    """Train every teacher once on all labels, release each in a stage of its own, train a student for each.

    Notes
    -----
    *Guarantee.* The plan's budget for all labels together, for the adjacency and unit in the statement. Proof:
    docs/proofs/multi-label.md.
    """

    learners: Learners
    labels: tuple[str, ...]
    weights: Sequence[float] | None = None

    def plan(self, case: Case, request: Request) -> Prepared[ReadyLabels]:
        teaching = try_out(case, self.learners)
        check_student(case, self.learners, teaching.encoder, self.learners.strategy)
        request = for_teaching(case, request, teaching)
        plan = plan_labels(request, self.labels, n_rows(case.public.rows), weights=self.weights)
        settings = {"learner": teaching.learner.name, **self.learners.names, LABELS: list(self.labels)}
        return Prepared(plan.plan, settings, teaching.teacher, self.learners.student, ReadyLabels(plan, teaching))

    def promise(self, prepared: Prepared[ReadyLabels]) -> Promise:
        return prepared.ready.planned.promise

    def release(
        self, prepared: Prepared[ReadyLabels], case: Case, table: PrivateTable, place: Workplace, watch: Watch
    ) -> Results:
        plan, learner = prepared.ready.planned, prepared.ready.teaching.learner
        sharded = shards_of_labels(table, case.key, prepared.plan.n_teachers, plan.request.adjacency)
        with watch.progress("Training teachers", prepared.plan.n_teachers) as on_progress:
            effort = Effort(self.learners.n_jobs, self.learners.time_limit, on_progress, self.learners.engine)
            labelled = release_all_labels(
                sharded, case.public.rows, plan, learner, place, coins=case.coins, effort=effort
            )
        lesson = labelled.labels
        mute = [
            name for name, taught in zip(self.labels, (lesson != ABSTAIN).any(axis=0), strict=True) if not taught
        ]
        warning = f"no label was released of {', '.join(map(repr, mute))}, so there is no student for it"
        return Results(
            labelled, lesson if len(mute) < len(self.labels) else None, warnings=(warning if mute else None,)
        )

    def train(self, prepared: Prepared[ReadyLabels], case: Case, results: Results) -> Any:
        """Train a student for every label of which something was released; other methods have one student."""
        return tuple(
            self._student(prepared, case, np.ascontiguousarray(results.lesson[:, j]), j)
            if (results.lesson[:, j] != ABSTAIN).any()
            else None
            for j in range(len(self.labels))
        )

    def _student(self, prepared: Prepared[ReadyLabels], case: Case, lesson: Labels, j: int) -> Student:
        schema, names = case.declared.schema, case.declared.labels
        if case.declared.further:  # where columns have names, the student knows which label is its own
            schema = replace(schema, label=names[j], further=(*names[:j], *names[j + 1 :]))
        return train_student(
            case.public.rows,
            lesson,
            classes=case.declared.classes,
            learner=self.learners.student,
            strategy=self.learners.strategy,
            schema=schema,
            encoder=prepared.ready.teaching.encoder,
        )
