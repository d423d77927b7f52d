"""The one function that learns, whatever method and face it was asked for by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mapl.data.tables.rows import n_rows
from mapl.data.tables.schema import Schema
from mapl.data.units.id_columns import ask_about
from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.pipeline.case import Case, Declared, PublicRows
from mapl.pipeline.choice.short_list import SELECT
from mapl.pipeline.counts.cells_plan import affordable_cells
from mapl.pipeline.counts.counting import Counted
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.active import ActiveMethod
from mapl.pipeline.methods.cells import CellsMethod
from mapl.pipeline.methods.method import Method, Results
from mapl.pipeline.methods.moments import MomentsMethod
from mapl.pipeline.methods.multi_label import MultiLabelMethod, refuse_for_several
from mapl.pipeline.methods.selection import SelectionMethod
from mapl.pipeline.methods.soft import SoftMethod, is_soft
from mapl.pipeline.methods.teachers import TeachersMethod
from mapl.pipeline.place import KeptStudent, Place
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import Labelled, refuse_too_many
from mapl.pipeline.watch import Watch
from mapl.planning.plan import Plan
from mapl.planning.rules.method import ChosenWay, Facts, caution, method_for
from mapl.release.statement.earlier import add_earlier_runs
from mapl.students.student import Student
from mapl.students.threads import one_thread
from mapl.types import ABSTAIN

ALONE = ("auto", "moments")
"""Methods that do without public rows."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A finished run; everything here is public. Without a released label there is no student."""

    plan: Plan
    results: Results
    student: Student | None
    declared: Declared
    questions: PublicRows
    further_students: tuple[Student | None, ...] = ()
    """Those of the other labels, where there are several; ``student`` is that of the first."""

    @property
    def labelled(self) -> Labelled:
        return self.results.labelled

    @property
    def students(self) -> tuple[Student, ...]:
        """All students; most runs have one, and none where no label was released."""
        return tuple(one for one in (self.student, *self.further_students) if one is not None)

    @property
    def counted(self) -> Counted | None:
        return self.results.counted

    @property
    def label_accuracy(self) -> float | None:
        """The share of released labels that are right, where the public rows came with labels of their own."""
        truth, labels = self.questions.truth, self.labelled.labels
        if self.labelled.numbers is not None:
            return None
        given = labels != ABSTAIN
        return None if truth is None or not given.any() else float((labels == truth)[given].mean())


@one_thread()
def learn(
    case: Case,
    request: Request,
    learners: Learners,
    place: Place,
    watch: Watch | None = None,
    *,
    method: Method[Any] | None = None,
) -> Learned:
    """Carry out a run, or go on with it after a crash, where its place outlives one.

    Parameters
    ----------
    place
        Where spending, releases and the student are kept: in a folder, or in memory.
    watch
        Who is told how it goes.
    method
        How to learn, where a face has one way only; what the request asks for if None.
    """
    watch = Watch() if watch is None else watch
    ask_about_ids(case, watch)
    request.aim.check(case.declared.classes)
    if method is None:
        method, request = choose_method(case, request, learners, watch)
    prepared = method.plan(case, request)
    watch.warn(*prepared.warnings)
    learners.open_cluster()  # one that is not there is told before private rows are read
    table = case.private()
    if prepared.plan.n_teachers:  # told before a folder is begun, so that nobody has to choose another one
        refuse_too_many(table, case.key, prepared.plan.n_teachers, prepared.plan.adjacency)
    with place.opened(prepared, case, table) as workplace:
        results = method.release(prepared, case, table, workplace, watch)
        del table  # all that follows is made of public things; private rows need not wait for it
        results = _with_total(results, prepared.plan)
        place.publish(prepared, case, results, workplace)
        kept: KeptStudent | None = None
        if results.lesson is not None:
            kept = place.find_student(results)
            if kept is None:
                trained = method.train(prepared, case, results)
                kept = place.keep_student(request.aim.decided(trained, case.public.rows), results)
    watch.warn(*results.warnings)  # last, for a caller to whom warnings are errors
    student, *further = kept if isinstance(kept, tuple) else (kept,)  # of several labels each has one
    return Learned(prepared.plan, results, student, case.declared, case.public, tuple(further))


def ask_about_ids(case: Case, watch: Watch) -> None:
    """Ask whose a row is where public columns look like ids, and say how doubtful columns were drafted."""
    given = case.declared
    watch.warn(ask_about(given.suspects if given.unit is None else None, no_unit=given.no_unit), *given.notices)


def choose_method(case: Case, request: Request, learners: Learners, watch: Watch) -> tuple[Method[Any], Request]:
    """Return the method that was asked for, or that public facts speak for, and what is asked of it."""
    if case.declared.further:
        refuse_for_several(request, learners)
        return MultiLabelMethod(learners, case.declared.labels), request
    named = learners.wants_teachers
    request.refuse_mixture(request.wants_teachers or named)
    request.refuse_for_numbers(named or ("a learner of the student" if learners.student is not None else None))
    if request.number_range is not None:
        why = f"moments, as the label is a number, cut to {request.number_range}"
        return MomentsMethod(learners, why), request
    facts = facts_of(request, case.declared.schema, n_rows(case.public.rows), named, made_up=case.public.made_up)
    if case.public.made_up and (facts.wants_teachers or facts.wants_cells or request.method not in ALONE):
        raise InvalidParameter(
            f"There are no public rows, and {facts.wants_teachers or facts.wants_cells or request.method} needs "
            f"some: give them with {spell('public')}, or take {spell('method', 'moments')}, which does without."
        )
    if request.method == "auto" and not (facts.wants_teachers or facts.wants_cells):
        refuse_lost_delta(request)
    way = method_for(facts) if request.method == "auto" else ChosenWay(request.method, f"{request.method} as asked")
    watch.warn(caution(facts, way.method))
    if is_soft(learners.strategy):
        return SoftMethod(learners, str(learners.strategy)), request
    if learners.active is not None:
        return ActiveMethod(learners, learners.active), request
    if request.candidates:
        return SelectionMethod(learners), request
    if way.method.startswith(SELECT):
        return SelectionMethod(learners), replace(request, method=way.method, why=way.why, weights=way.weights)
    if way.method == "moments":
        return MomentsMethod(learners, way.why), request
    return (CellsMethod if way.method == "cells" else TeachersMethod)(learners, way.why), request


def refuse_lost_delta(request: Request) -> None:
    """Refuse to fall back on a worse way where earlier runs have left nothing of the delta that was asked for."""
    if request.together is None or request.budget.delta > 0 or request.together.allowed.delta == 0:
        return
    delta = request.together.allowed.delta
    raise InvalidParameter(
        f"Earlier runs leave nothing of delta {delta:g}, and moments, which would be taken here, need some. Allow "
        f"more for all runs together, such as {spell('delta', f'{2 * delta:g}')}; or name a way that does without: "
        f"{spell('method', 'cells')} or {spell('method', 'teachers')}. Nothing was spent."
    )


def facts_of(
    request: Request, schema: Schema, n_public: int, named: str | None = None, *, made_up: bool = False
) -> Facts:
    """Gather what everybody may know: public rows, declared columns and settings.

    Parameters
    ----------
    named
        What else was asked for that only teachers have, such as a learner.
    made_up
        Whether there are no public rows but such as were made up.
    """
    return Facts(
        n_cells=affordable_cells(request, n_public)[0],
        kinds={column.kind for column in schema.columns},
        texts=tuple(column.name for column in schema.columns if column.kind == "text"),
        epsilon=request.budget.epsilon,
        delta=request.budget.delta,
        n_units=request.n_rows,
        wants_teachers=request.wants_teachers or named,
        wants_cells=request.wants_cells,
        made_up=made_up,
    )


def _with_total(results: Results, plan: Plan) -> Results:
    """Let the statement name what all runs promise together, where this one went on from earlier ones."""
    labelled = results.labelled
    return replace(results, labelled=replace(labelled, statement=add_earlier_runs(labelled.statement, plan)))
