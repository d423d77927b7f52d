"""Plans rehearsed on a public sample: forecasts of one kind, ranked by them; the rule where rows are too few."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.tables.classes import Classes
from mapl.pipeline.rehearsal.curve import TEACHERS_OF_A_PLAN, measure_votes
from mapl.pipeline.rehearsal.plans import PublicSample, rehearse_plans
from mapl.planning.planner.answer import Answer, answer_question, votes_alone
from mapl.planning.planner.question import Question
from mapl.teachers import as_learner


def quiet(what: str, total: int) -> Any:
    return nullcontext()


@pytest.fixture(scope="module")
def sample() -> PublicSample:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(600, 2))
    labels = np.where(rng.random(600) < 0.2, rng.random(600) < 0.5, rows[:, 0] > 0).astype(np.int32)
    classes = Classes(("no", "yes"))
    learner = as_learner(GaussianNB(), classes)
    measured = measure_votes(learner, rows, labels, n_classes=2, n_teachers=40)
    return PublicSample(learner, rows, labels, measured, classes, draft_schema(rows), "sick")


def found(sample: PublicSample, queries: int) -> Answer:
    question = Question(delta=1e-6, epsilon=1.0, rows=4000, queries=queries, teachers=100, measured=sample.measured)
    return answer_question(question, None, adjacency="one record is added or removed", unit="one record")


def test_plans_that_are_shown_are_forecast_again(sample: PublicSample) -> None:
    by_rule = found(sample, 100)
    assert {plan.student_forecast for plan in by_rule.proposals} == {"rule"}
    played = rehearse_plans(by_rule, sample, progress=quiet)
    assert {plan.student_forecast for plan in played.proposals} == {"rehearsed"}
    assert {plan.mechanism for plan in played.proposals} == {plan.mechanism for plan in by_rule.proposals}
    accuracies = [round(plan.student_accuracy or 0.0, 4) for plan in played.proposals]
    at_hand = [round(plan.student_accuracy or 0.0, 4) for plan in played.proposals if not votes_alone(plan)]
    assert at_hand == sorted(at_hand, reverse=True)
    assert at_hand == accuracies[: len(at_hand)]  # what `mapl learn` cannot carry out comes last
    assert 0.6 < accuracies[0] < 0.92  # nobody can do better than 0.9 with a tenth of the labels wrong
    assert all(any("rehearsed on the public sample" in words for words in p.assumes) for p in played.proposals)
    measured = played.question.measured
    assert measured is not None
    # Votes were counted anew at the very number of rows, by more teachers.
    nearest = measured.nearest(40)
    assert (nearest.rows, nearest.n_teachers) == (40, TEACHERS_OF_A_PLAN)
    assert played.to_dict()["proposals"][0]["student_forecast"] == "rehearsed"


def test_too_few_rows_leave_the_rule(sample: PublicSample) -> None:
    played = rehearse_plans(found(sample, 2000), sample, progress=quiet)
    asking = [plan for plan in played.proposals if plan.asked > 300]
    assert asking
    assert {plan.student_forecast for plan in asking} == {"rule"}


def test_a_student_with_few_labels_gains_less_than_its_teachers(sample: PublicSample) -> None:
    gain = sample.measured.gain(40, 100)
    assert 0 < gain < 0.2
    better = [sample.measured.student_gain(40, 100, accuracy) for accuracy in (0.6, 0.75, 0.88)]
    assert 0 <= better[0] <= better[1] <= better[2] <= gain + 1e-12
