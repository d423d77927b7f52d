"""Plans that were found by rule, forecast again on the public sample: votes at their n/K, rehearsed students."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, n_rows
from mapl.data.tables.schema import Schema
from mapl.errors import MaplError
from mapl.pipeline.rehearsal.curve import votes_wanted, with_votes_at
from mapl.pipeline.rehearsal.student import rehearse_run
from mapl.planning.planner.answer import Answer, runnable_first
from mapl.planning.planner.proposal import Proposal, assumptions, calibrate_again, forecast_of
from mapl.planning.planner.question import Question
from mapl.planning.planner.search import by_merit, crowd_of
from mapl.planning.votes.measured import MeasuredVotes
from mapl.teachers.learners.learner import Learner
from mapl.types import Labels, ShowProgress

MOST_PLANS = 8


@dataclass(frozen=True, slots=True, eq=False)
class PublicSample:
    """Public labelled rows, what is declared about them, the learner that was measured, and what was measured."""

    learner: Learner
    rows: Rows
    labels: Labels
    measured: MeasuredVotes
    classes: Classes
    schema: Schema
    label: str


def rehearse_plans(found: Answer, sample: PublicSample, *, progress: ShowProgress) -> Answer:
    """Return the answer with its plans forecast again, where the sample has rows enough to play them through.

    The rule that the search ranks thousands of plans by is too hopeful where labels are few or noisy. So votes are
    counted at the very n/K of each plan, and a student is trained on what the plan's mechanism releases of them.
    Plans are ranked anew if all could be rehearsed; forecasts of two kinds are not compared.
    """
    plans, question = found.proposals[:MOST_PLANS], found.question
    if not plans:
        return found
    assert question.rows is not None
    sizes = [question.rows / plan.n_teachers for plan in plans]
    missing = sum(one.repeats for one in votes_wanted(sample.measured, n_rows(sample.rows), sizes))
    with progress("Counting votes for the plans", missing) as on_progress:
        measured = with_votes_at(
            sample.measured, sample.learner, sample.rows, sample.labels, sizes, on_progress=on_progress
        )
    known, played = replace(question, measured=measured), []
    with progress("Rehearsing the plans", len(plans)) as on_progress:
        for done, plan in enumerate(plans, start=1):
            played.append(_rehearsed(plan, known, sample))
            if on_progress is not None:
                on_progress(done)
    wish = None if found.solution is None else found.solution.wish
    if all(plan.rehearsed for plan in played):
        played.sort(key=by_merit(known, wish), reverse=True)
    return replace(found, question=known, proposals=runnable_first(played, known, wish))


def _rehearsed(plan: Proposal, question: Question, sample: PublicSample) -> Proposal:
    """Forecast a plan with the votes of its own number of rows, and its student by playing runs through."""
    assert question.rows is not None
    assert question.measured is not None
    try:
        mechanism, task = calibrate_again(plan, question)
    except MaplError:  # an estimate that does not survive its exact price stays what it is
        return plan
    again = forecast_of(mechanism, task, crowd_of(question, task.n_teachers), question)
    made = rehearse_run(
        sample.learner,
        sample.rows,
        sample.labels,
        question.measured,
        mechanism,
        task,
        question.rows / task.n_teachers,
    )
    if made is None:
        return again
    assumes = assumptions(question, task.n_teachers, rehearsed=True)
    return replace(again, student_accuracy=made.student_accuracy, rehearsed=True, assumes=assumes)
