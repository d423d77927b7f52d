"""Solving: the answer reaches the wish by exact forecast, a good deal less of it does not, and refusals help."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.planning import Agreement
from mapl.planning.planner.answer import answer_question
from mapl.planning.planner.boundary import boundary
from mapl.planning.planner.question import Question, Unknown, Wish
from mapl.planning.planner.search import search
from mapl.planning.planner.solve import open_quantity, result, solve
from mapl.planning.votes.learning_curve import LearningCurve

CURVE = LearningCurve.parse("100:0.20,1000:0.16")
ALL: dict[str, Any] = {"delta": 1e-6, "epsilon": 1.0, "rows": 20_000, "queries": 1000, "curve": CURVE}


def asked(*without: str, **changes: Any) -> Question:
    return Question(**{name: value for name, value in (ALL | changes).items() if name not in without})


@pytest.mark.parametrize(
    ("question", "wish", "unknown"),
    [
        (asked("epsilon"), Wish(accuracy=0.83), "epsilon"),
        (asked("epsilon"), Wish(answered=0.6), "epsilon"),
        (asked("rows"), Wish(accuracy=0.83), "rows"),
        (asked("queries", rows=100_000), Wish(accuracy=0.83), "queries"),
        (asked("queries", rows=100_000), Wish(answered=300), "queries"),
        (asked(rows=100_000), Wish(accuracy=0.83), "teachers"),
        (asked(rows=100_000, teachers=900), Wish(accuracy=0.83), "max_abstentions"),
        (asked("epsilon", curve=None, agreement=Agreement.default()), Wish(answered=0.8), "epsilon"),
    ],
)
def test_the_least_that_reaches_a_wish(question: Question, wish: Wish, unknown: Unknown) -> None:
    solution = solve(question, wish)
    assert solution.unknown == unknown
    assert not solution.is_most
    goal = wish.accuracy or wish.answered or 0
    reached = max(result(plan, solution.question, wish) for plan in solution.proposals)
    assert reached >= goal * (1 - 1e-6)
    if unknown in ("epsilon", "rows"):
        less = solution.value * 0.85
        smaller = solution.question.having(unknown, less if unknown == "epsilon" else round(less))
        assert max(result(plan, smaller, wish) for plan in search(smaller, wish)) < goal


def test_of_questions_the_most_is_found_for_a_share() -> None:
    wish = Wish(answered=0.9)
    solution = solve(asked("queries", rows=50_000, epsilon=2.0), wish)
    assert solution.is_most
    assert max(result(p, solution.question, wish) for p in solution.proposals) >= 0.9 * (1 - 1e-6)
    more = solution.question.having("queries", round(solution.value * 1.4))
    assert max(result(p, more, wish) for p in search(more, wish)) < 0.9


def test_a_larger_wish_takes_more_epsilon() -> None:
    values = [solve(asked("epsilon"), Wish(accuracy=wish)).value for wish in (0.82, 0.84)]
    assert values == sorted(values)
    assert values[0] < values[-1]


def test_what_cannot_be_reached_says_what_would_have_to_grow() -> None:
    with pytest.raises(
        CannotCalibrate, match=r"No number of teachers reaches .*number of rows would have to grow to about \d"
    ):
        solve(asked(rows=4000), Wish(accuracy=0.835))


def test_an_accuracy_beyond_the_learner_is_said_to_be_so() -> None:
    with pytest.raises(CannotCalibrate, match=r"the learner itself comes to an accuracy of 0\.8\d+ at most"):
        solve(asked("epsilon"), Wish(accuracy=0.95))


def test_a_plan_that_answers_nothing_says_what_would_have_to_grow() -> None:
    with pytest.raises(CannotCalibrate, match="number of rows would have to grow to about"):
        answer_question(asked(epsilon=0.5, rows=40, queries=10), None, adjacency="a", unit="u")


def test_open_quantities_are_found_and_two_or_none_refused() -> None:
    assert open_quantity(asked("rows")) == "rows"
    assert open_quantity(asked()) == "teachers"
    assert open_quantity(asked(teachers=10)) == "max_abstentions"
    assert open_quantity(asked("rows", curve=None, agreement=Agreement.default())) == "teachers"
    with pytest.raises(InvalidParameter, match="epsilon and rows are not given"):
        open_quantity(asked("epsilon", "rows"))
    with pytest.raises(InvalidParameter, match="Nothing is left to solve for"):
        open_quantity(asked(teachers=10, max_abstentions=5))


def test_an_accuracy_needs_a_curve_and_solving_a_delta() -> None:
    with pytest.raises(InvalidParameter, match="needs a learning curve"):
        solve(asked("epsilon", curve=None), Wish(accuracy=0.8))
    with pytest.raises(InvalidParameter, match="needs a positive delta"):
        solve(replace(asked("epsilon"), delta=0.0), Wish(accuracy=0.8))


@pytest.mark.parametrize("start", [0.02, 1.0, 90.0])
@pytest.mark.parametrize("root", [0.013, 2.0, 55.0])
def test_a_boundary_is_found_from_anywhere(start: float, root: float) -> None:
    trials: list[float] = []

    def holds(value: float) -> bool:
        trials.append(value)
        return value >= root

    found = boundary(holds, 0.01, 100.0, start=start)
    assert found is not None
    below, value = found
    assert below is not None
    assert below < root <= value <= 1.011 * root
    assert len(trials) < 30


def test_a_boundary_may_lie_outside() -> None:
    assert boundary(lambda _: False, 1.0, 9.0, start=3.0) is None
    assert boundary(lambda _: True, 1.0, 9.0, start=3.0) == (None, 1.0)
    assert boundary(lambda v: v >= 9.0, 1.0, 9.0, start=math.inf) is not None


def test_solving_knows_every_mechanism_that_a_plan_shows() -> None:
    question = asked(
        "epsilon", rows=50_000, queries=2000, curve=None, agreement=Agreement.parse("0.95:0.6,0.7:0.4")
    )
    wish = Wish(answered=0.9)
    at_one = question.having("epsilon", 1.0)
    assert result(search(at_one)[0], at_one, wish) >= 0.9
    assert solve(question, wish).value <= 1.0


def test_planning_with_the_solved_epsilon_shows_the_wished_accuracy() -> None:
    solution = solve(asked("epsilon", rows=50_000, queries=2000), Wish(accuracy=0.84))
    assert float(f"{solution.value:g}") == solution.value
    assert (search(solution.question)[0].student_accuracy or 0) >= 0.84 * (1 - 1e-6)


@pytest.mark.parametrize("wish", [Wish(answered=0.002), Wish(accuracy=0.5)])
def test_a_wish_that_hardly_anything_meets_is_no_impossible_one(wish: Wish) -> None:
    assert solve(asked("epsilon", rows=5000), wish).value < 1.0


def test_a_fixed_quantity_that_is_in_the_way_is_named() -> None:
    with pytest.raises(CannotCalibrate, match="It would do to leave the number of teachers open"):
        solve(asked(rows=50_000, epsilon=5.0, teachers=20), Wish(answered=0.8))


@pytest.mark.parametrize("curve", ["1000:0.16", "100:0.16,1000:0.16"])
def test_a_flat_curve_allows_no_wish_for_accuracy(curve: str) -> None:
    with pytest.raises(InvalidParameter, match="give the error at a second number of rows"):
        solve(asked("epsilon", curve=LearningCurve.parse(curve)), Wish(accuracy=0.8))
