"""Search: the best estimates are calibrated, ranked, and never far from what was estimated."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms import Task, make
from mapl.planning import Agreement
from mapl.planning.planner.cells_offer import cells_offer
from mapl.planning.planner.proposal import Proposal, keeps_floor
from mapl.planning.planner.question import MOST, Question, Wish
from mapl.planning.planner.search import (
    best_by_family,
    by_merit,
    calibrate_estimate,
    crowd_of,
    estimates,
    forecast_of,
    numbers_between,
    search,
)
from mapl.planning.planner.sweep import OURS, sweeps
from mapl.planning.votes.learning_curve import LearningCurve

CURVE = LearningCurve.parse("100:0.20,1000:0.16")
EASY = LearningCurve.parse("100:0.05,1000:0.02")


def question(**changes: Any) -> Question:
    usual: dict[str, Any] = {"delta": 1e-6, "epsilon": 2.0, "rows": 20_000, "queries": 1000, "curve": CURVE}
    return Question(**usual | changes)


@pytest.fixture(scope="module")
def proposals() -> list[Proposal]:
    return search(question())


def test_proposals_are_ranked_and_each_mechanism_occurs_once(proposals: list[Proposal]) -> None:
    merit = by_merit(question())
    assert [merit(one) for one in proposals] == sorted(map(merit, proposals), reverse=True)
    names = [one.mechanism for one in proposals]
    assert len(set(names)) == len(names) >= 3
    assert "ladder" in names


def test_a_proposal_keeps_the_budget_and_says_what_it_assumes(proposals: list[Proposal]) -> None:
    for one in proposals:
        assert one.calibrated
        assert 0 <= one.winners <= one.answered + 1e-6
        assert one.answered + one.abstained <= 1000 + 1e-6
        assert 0.5 <= one.label_accuracy <= 1
        assert one.student_accuracy is not None
        assert 0.5 <= one.student_accuracy <= 1 - CURVE.floor + 0.01
        assert any("rows" in words for words in one.assumes)


def test_calibrated_settings_make_the_same_mechanism_within_the_budget(proposals: list[Proposal]) -> None:
    ladder = next(one for one in proposals if one.mechanism == "ladder")
    task = Task(question().budget, ladder.n_teachers, 2, ladder.asked)
    again = make("ladder", task, max_abstentions=ladder.max_abstentions)
    assert dict(again.parameters) == ladder.parameters
    assert again.epsilon(None, 1e-6) <= 2.0


@pytest.mark.parametrize(
    "asked",
    [
        question(),
        question(epsilon=0.5, rows=60_000, curve=EASY),
        question(epsilon=6.0, queries=300),
        question(must_answer=True, rows=5000),
        question(curve=None, agreement=Agreement.default(), teachers=400),
    ],
)
def test_estimates_are_close_to_exact_forecasts(asked: Question) -> None:
    for found in best_by_family(estimates(asked), by_merit(asked)):
        for exact in calibrate_estimate(found, asked):
            if exact.mechanism == "threshold-ladder":
                continue
            assert exact.answered == pytest.approx(found.answered, rel=0.08, abs=5)
            assert exact.label_accuracy == pytest.approx(found.label_accuracy, abs=0.02)


def test_the_best_plan_beats_other_teachers_and_limits_by_exact_forecast(proposals: list[Proposal]) -> None:
    asked = question()
    ladder = next(one for one in proposals if one.mechanism == "ladder")
    assert ladder.max_abstentions is not None
    for factor in (0.3, 3.0):
        limit = max(1, round(ladder.max_abstentions * factor))
        task = Task(asked.budget, ladder.n_teachers, 2, ladder.asked)
        other = forecast_of(
            make("ladder", task, max_abstentions=limit), task, crowd_of(asked, ladder.n_teachers), asked
        )
        assert (other.student_accuracy or 0) <= (ladder.student_accuracy or 0) + 0.004
    few = search(replace(asked, teachers=20))[0]
    assert (few.student_accuracy or 0) < (proposals[0].student_accuracy or 0)


def test_fixed_teachers_and_limits_are_kept() -> None:
    found = search(question(teachers=150, max_abstentions=40))
    assert {one.n_teachers for one in found} == {150}
    assert all(one.max_abstentions == 40 for one in found if one.mechanism != "threshold-ladder")
    assert {one.mechanism for one in found} <= {"ladder", "threshold-ladder", "ladder-then-link"}


def test_who_must_answer_gets_no_plan_that_abstains() -> None:
    found = search(question(must_answer=True))
    assert all(one.abstained == 0 for one in found)
    assert {one.mechanism for one in found} <= {"link", "ladder-then-link"}


def test_without_a_curve_plans_that_keep_the_accuracy_come_first() -> None:
    found = search(question(curve=None, agreement=Agreement.default(), teachers=500))
    kept = [keeps_floor(one) for one in found]
    assert kept == sorted(kept, reverse=True)
    assert kept[0]
    assert found[0].student_accuracy is None
    assert any("declared" in words for words in found[0].assumes)


def test_many_classes_are_planned_too() -> None:
    curve = LearningCurve.parse("100:0.35,1000:0.12", n_classes=10)
    found = search(question(n_classes=10, curve=curve, rows=30_000))
    assert found[0].student_accuracy is not None
    assert found[0].student_accuracy > 0.5
    assert {"ladder"} <= {one.mechanism for one in found}


def test_delta_zero_leaves_pure_answers() -> None:
    (only,) = search(question(delta=0.0, queries=20))
    assert only.mechanism == "permute-and-flip"


def test_nothing_to_be_had_is_said_with_all_terms() -> None:
    with pytest.raises(CannotCalibrate, match=r"single question within epsilon 0.01 at delta 1e-06, adjacency"):
        search(question(epsilon=0.01, rows=300, queries=50))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rows": 0}, "rows is 0; give a whole number"),
        ({"rows": 10**12}, "rows is 1000000000000"),
        ({"queries": 0}, "queries is 0"),
        ({"queries": MOST + 1}, "queries is"),
        ({"teachers": 0}, "teachers is 0"),
        ({"teachers": 30_000}, "30000 teachers cannot learn from 20000 rows"),
        ({"max_abstentions": 2000}, "cannot abstain more often"),
        ({"epsilon": 40.0}, "plans are made up to 27"),
        ({"epsilon": -1.0}, "epsilon is -1"),
        ({"delta": 1.0}, "delta is 1"),
        ({"n_classes": 1}, "There are 1 classes"),
        ({"n_classes": 101}, "plans are made for 2 to 100"),
        ({"agreement": Agreement.default()}, "one of them only"),
    ],
)
def test_senseless_questions_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        question(**changes)


@pytest.mark.parametrize(
    "wish",
    [{}, {"answered": 0.5, "accuracy": 0.8}, {"answered": 0.0}, {"answered": float("nan")}, {"accuracy": 1.0}],
)
def test_senseless_wishes_are_refused(wish: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        Wish(**wish)


@given(fewest=st.integers(1, 5000), factor=st.floats(1, 1e4), n=st.integers(2, 30))
def test_numbers_between_begin_and_end_where_they_should(fewest: int, factor: float, n: int) -> None:
    most = max(fewest, int(fewest * factor))
    numbers = numbers_between(fewest, most, n)
    assert (numbers[0], numbers[-1]) == (fewest, most)
    assert numbers == sorted(set(numbers))
    assert len(numbers) <= max(n, 2)


@settings(max_examples=8, deadline=None)
@given(
    epsilon=st.floats(0.02, 20),
    rows=st.integers(1, 10**6),
    queries=st.integers(1, 10**5),
    n_classes=st.integers(2, 3),
    must_answer=st.booleans(),
)
def test_any_sensible_question_has_proposals_or_a_clear_refusal(
    epsilon: float, rows: int, queries: int, n_classes: int, must_answer: bool
) -> None:
    curve = LearningCurve.parse("50:0.3,500:0.2", n_classes=n_classes)
    asked = question(
        epsilon=epsilon, rows=rows, queries=queries, n_classes=n_classes, must_answer=must_answer, curve=curve
    )
    with suppress(CannotCalibrate):
        found = search(asked)
        assert found[0].answered >= 1
        assert all(one.answered + one.abstained <= queries * (1 + 1e-9) for one in found)


def test_cells_are_offered_where_public_facts_allow_it() -> None:
    offer = cells_offer(question())
    assert offer is not None
    assert offer.n_cells == 1000
    assert any("a hope" in words for words in offer.assumes)
    assert cells_offer(question(queries=20)) is None
    assert cells_offer(question(teachers=100)) is None


def test_sweeps_hold_mapl_and_the_papers_and_more_budget_never_hurts(proposals: list[Proposal]) -> None:
    by_epsilon, by_teachers, by_queries = sweeps(question(), proposals[0])
    assert [s.quantity for s in (by_epsilon, by_teachers, by_queries)] == ["epsilon", "teachers", "queries"]
    ours, *papers = by_epsilon.lines
    assert ours.name == OURS
    assert len(papers) == 3
    answered = [point.answered for point in ours.points]
    assert all(later >= earlier * 0.97 for earlier, later in pairwise(answered))
    # At the same budget mapl answers no less than the papers' constants do.
    for paper in papers:
        for mine, theirs in zip(ours.points, paper.points, strict=True):
            assert mine.answered >= theirs.answered * 0.97 - 1


def test_a_curve_of_one_size_ranks_by_answers_and_says_so() -> None:
    found = search(question(rows=50_000, epsilon=1.0, curve=LearningCurve.parse("1000:0.16")))
    assert all(one.student_accuracy is None for one in found)
    assert keeps_floor(found[0])
    assert any("second number of rows" in words for words in found[0].assumes)


def test_who_must_answer_gets_no_plan_that_halts_early() -> None:
    curve = LearningCurve.parse("100:0.35,1000:0.12", n_classes=10)
    found = search(question(must_answer=True, n_classes=10, curve=curve, rows=50_000, queries=2000))
    assert all(one.answered >= 0.99 * one.asked for one in found)
    with pytest.raises(CannotCalibrate, match="No plan is expected to answer every question"):
        search(question(must_answer=True, epsilon=1.0, max_abstentions=5))


@pytest.mark.parametrize("curve", ["100:0.5", "100:0.6,1000:0.2"])
def test_a_learner_no_better_than_guessing_is_refused(curve: str) -> None:
    with pytest.raises(InvalidParameter, match="no better than guessing"):
        question(curve=LearningCurve.parse(curve))


def test_a_tiny_budget_is_refused_without_a_warning() -> None:
    with pytest.raises(CannotCalibrate, match="the budget is too small"):
        search(question(epsilon=0.001))
