"""Several labels of the same rows: every label is a stage of one plan, all of them share one budget."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from mapl.data.tables.rows import Rows, n_rows, take
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.errors import InvalidParameter
from mapl.mechanisms import AnyMechanism, Task, entry, make
from mapl.noise import Coins
from mapl.parameters import spell
from mapl.pipeline.case import Case
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.method import Prepared, Results
from mapl.pipeline.methods.soft import is_soft
from mapl.pipeline.methods.teachers import Teaching, check_student, for_teaching, try_out
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request, calibrate_mechanism
from mapl.pipeline.votes.labelling import (
    Effort,
    Labelled,
    assign_shards,
    collect_votes,
    identify_units,
    order_questions,
)
from mapl.pipeline.watch import Watch
from mapl.planning import Agreement
from mapl.planning.budgets.shared import Shared, proportions, share_budget
from mapl.planning.choosing.expectation import count_asked
from mapl.planning.plan import Plan, Stage
from mapl.planning.plan_maker import make_plan
from mapl.planning.rules.teachers import teachers_for
from mapl.release import Limits, Released, Statement, aggregate, statement_of
from mapl.release.loop import admit
from mapl.release.statement.promise import Promise
from mapl.release.statement.statement import StageSpend, in_plain_words
from mapl.students.probabilities.aim import Aim
from mapl.students.student import Student, train_student
from mapl.teachers import Learner
from mapl.teachers.learners.label_by_label import LabelByLabel, repeat_questions
from mapl.types import ABSTAIN, Adjacency, Budget, Labels, Tallies

TOGETHER = "together with all other labels of the plan"
"""How the mechanism of a stage was priced, as its parameters say."""

LABELS = "labels"
"""Where settings hold the names of the labels, where there are several."""

ALL = "all labels together"
"""What a statement calls the only thing that it has a price of."""

HOW = (
    "The labels of {n} kinds ({names}) were decided by votes of models (teachers), each trained once on its own "
    "part of the private data, and by random coins."
)


@dataclass(frozen=True, slots=True)
class PlannedLabels:
    """A plan with a stage for every label, and the mechanisms that were calibrated together."""

    request: Request
    plan: Plan
    labels: tuple[str, ...]
    parts: tuple[float, ...]
    tasks: tuple[Task, ...]
    shared: Shared

    @property
    def promise(self) -> Promise:
        """What is promised to whom, and what has to hold for that."""
        return self.request.promise_by_teachers


@dataclass(frozen=True, slots=True)
class LabelledAll(Labelled):
    """Public rows with the labels released for them, one column per label; everything here is public.

    ``released`` is what was released of the first label, ``further`` of the others.
    """

    further: tuple[Released, ...] = ()

    def each_label(self, names: Sequence[str]) -> tuple[tuple[Released, str | None], ...]:
        return tuple(zip((self.released, *self.further), names, strict=True))

    @property
    def labels(self) -> Labels:
        """For every public row and label a class number, ABSTAIN where there is none."""
        each = (self.released, *self.further)
        spread = np.full((self.n_questions, len(each)), ABSTAIN, dtype=np.int32)
        for j, one in enumerate(each):
            spread[self.asked[: len(one.labels)], j] = one.labels
        return spread


def plan_labels(
    request: Request, labels: Sequence[str], n_questions: int, *, weights: Sequence[float] | None = None
) -> PlannedLabels:
    """Fix everything before a private row is read; the budget is split over the labels by public weights.

    Parameters
    ----------
    labels
        The names of the labels, which all have the classes of the request.
    weights
        How much each label may cost, relative to the others; alike if None.
    """
    names = tuple(labels)
    if not names or len(set(names)) < len(names):
        raise InvalidParameter("There is no label, or two of one name; name each label once.")
    if weights is not None and len(weights) != len(names):
        raise InvalidParameter(f"There are {len(names)} labels and {len(weights)} weights; give one for each.")
    if request.error_share:
        raise InvalidParameter("An error estimate is for runs with one label; leave error_share away.")
    parts = proportions([1.0] * len(names) if weights is None else list(weights))
    usual = Budget(request.budget.epsilon / math.sqrt(len(names)), request.budget.delta / len(names))
    n_teachers, why = request.n_teachers, "as asked"
    if n_teachers is None:
        n_teachers, why = teachers_for(request.n_rows, usual, spectral=request.spectral)
    first = Task(usual, n_teachers, len(request.classes), request.asked(n_questions))
    choice, _ = calibrate_mechanism(request, first, request.agreement or Agreement.default())
    task = replace(first, n_queries=count_asked(choice.mechanism, first.n_queries))
    settings = _settings(choice.mechanism)
    shared = share_budget(
        request.budget, parts, lambda j, own: make(choice.mechanism.name, replace(task, budget=own), **settings)
    )
    tasks = tuple(replace(task, budget=own) for own in shared.alone)
    for one, its in zip(shared.mechanisms, tasks, strict=True):
        admit(one, its, promise=request.promise_by_teachers)
    stages = tuple(
        Stage(name, one.name, {**one.parameters, "priced": TOGETHER}, budget)
        for name, one, budget in zip(names, shared.mechanisms, _shares(request.budget, parts), strict=True)
    )
    plan = make_plan(
        request.terms,
        stages,
        (f"{len(names)} labels priced together", f"{n_teachers} teachers {why}", choice.why),
        classes=request.classes.names,
        n_queries=task.n_queries,
        n_teachers=n_teachers,
    )
    return PlannedLabels(request, plan, names, parts, tasks, shared)


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


def shards_of_labels(table: PrivateTable, key: ShardKey, n_teachers: int, adjacency: Adjacency) -> Sharded:
    """Assign every row to its teacher; the labels of a row are one of its properties, as a single label is."""
    own = [hashlib.blake2b(row.tobytes(), digest_size=4).digest() for row in table.labels.astype("<i4")]
    folded = replace(table, labels=np.frombuffer(b"".join(own), dtype="<i4").astype(np.int32))
    assign_shards(folded, key, n_teachers, adjacency)  # refuses a unit that is in two shards
    return Sharded(table.rows, table.labels, identify_units(folded, adjacency), Shards(key, n_teachers))


def release_all_labels(
    sharded: Sharded,
    questions: Rows,
    planned: PlannedLabels,
    learner: Learner,
    place: Workplace,
    *,
    coins: Coins,
    effort: Effort | None = None,
) -> LabelledAll:
    """Train every teacher once on all labels, and release the votes on each label in a stage of its own.

    Called again with the same arguments after a crash, it goes on, as `release_labels` does.

    Notes
    -----
    *Guarantee.* The plan's budget for all labels together, for the adjacency and unit in the statement. Proof:
    docs/proofs/multi-label.md.
    """
    plan = planned.plan
    place.ledger.open(plan.digest, Limits.of_plan(plan))
    asked = order_questions(n_rows(questions))[: plan.n_queries]
    n_labels, n_asked = len(planned.labels), len(asked)
    ballot = collect_votes(
        sharded,
        repeat_questions(take(questions, asked), n_labels),
        LabelByLabel(learner, n_labels),
        place,
        len(plan.classes),
        Effort() if effort is None else effort,
    )
    counts = ballot.tallies().counts
    released = tuple(
        aggregate(Tallies(counts[j * n_asked : (j + 1) * n_asked]), one, coins, ledger=place.ledger, stage=name)
        for j, (name, one) in enumerate(zip(planned.labels, planned.shared.mechanisms, strict=True))
    )
    said = _statement(planned, released, coins, place.ledger.head).recorded_by(place.ledger)
    mechanism, why = planned.shared.mechanisms[0], plan.why
    return LabelledAll(released[0], asked, n_rows(questions), mechanism, why, said, further=released[1:])


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


def _settings(mechanism: AnyMechanism) -> dict[str, Any]:
    """Return the settings that fix a mechanism's limits; its design order is left free for the budget found."""
    parameters = mechanism.parameters
    return {s: parameters[s] for s in entry(mechanism.name).settings if s in parameters and s != "order"}


def _shares(budget: Budget, parts: Sequence[float]) -> list[Budget]:
    """Return each label's share of the budget, rounded down so that they add up to no more."""
    epsilons = [part * budget.epsilon for part in parts]
    while sum(map(Fraction, epsilons)) > Fraction(budget.epsilon):
        epsilons = [math.nextafter(one, 0) for one in epsilons]
    delta = budget.delta / len(parts)
    while len(parts) * Fraction(delta) > Fraction(budget.delta):
        delta = math.nextafter(delta, 0)
    return [Budget(one, delta) for one in epsilons]


def _statement(planned: PlannedLabels, released: tuple[Released, ...], coins: Coins, head: str) -> Statement:
    """Describe all labels together: what they cost is the price of the sum of their losses."""
    budget, promise = planned.request.budget, planned.promise
    guaranteed = planned.shared.epsilon(None, budget.delta)
    spent = planned.shared.epsilon([one.state for one in released], budget.delta)
    # One entry: a label alone costs more than its share of what all of them cost together.
    stages = (StageSpend(ALL, planned.shared.mechanisms[0].name, guaranteed, budget.delta),)
    first = statement_of(
        planned.shared.mechanisms[0],
        planned.tasks[0],
        released[0],
        coins,
        promise=promise,
        plan_digest=planned.plan.digest,
        ledger_head=head,
    )
    how = HOW.format(n=len(planned.labels), names=", ".join(planned.labels))
    usage = {name: sum(getattr(one, name) for one in released) for name in ("answered", "abstained")}
    fallback = sum(0 if one.fallback is None else int(one.fallback.sum()) for one in released)
    return replace(
        first,
        epsilon=spent,
        guaranteed_epsilon=guaranteed,
        budget_epsilon=float(budget.epsilon),
        delta=budget.delta,
        queries=sum(one.n_questions for one in released),
        planned_queries=sum(task.n_queries for task in planned.tasks),
        answered=usage["answered"],
        abstained=usage["abstained"],
        halted=any(one.halted for one in released),
        not_asked=sum(one.not_asked for one in released),
        usage={**first.usage, **usage, "fallback": fallback},
        in_plain_words=in_plain_words(how, promise, (), budget.delta, guaranteed, spent)
        if first.private
        else first.in_plain_words,
        stages=stages,
    )
