"""A request becomes a plan whose parts never cost more than the budget."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.data.tables.classes import Classes
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.pipeline.request import Request
from mapl.pipeline.votes.teachers_plan import plan_teachers
from mapl.release.statement.promise import promise_of
from mapl.types import Adjacency, Budget

YES_NO = Classes(("no", "yes"))


def request(**named: Any) -> Request:
    return Request(**{"budget": Budget(2.0, 1e-5), "classes": YES_NO, "n_teachers": 100, **named})


@given(st.floats(0.01, 50), st.floats(0.001, 0.9))
def test_the_shares_never_add_up_to_more_than_the_budget(epsilon: float, share: float) -> None:
    asked = request(budget=Budget(epsilon, 1e-5), error_share=share)
    parts = Fraction(asked.error_epsilon) + Fraction(asked.label_budget.epsilon)
    assert parts <= Fraction(epsilon)
    assert float(parts) == pytest.approx(epsilon)


def test_without_an_estimate_the_labels_get_everything() -> None:
    assert request().label_budget == Budget(2.0, 1e-5)
    assert [stage.name for stage in plan_teachers(request(), 100).plan.stages] == ["labels"]


def test_an_estimate_is_a_stage_of_its_own() -> None:
    made = plan_teachers(request(error_share=0.25, mechanism="btt18"), 100)
    error, labels = made.plan.stages
    assert (error.name, error.budget) == ("error", Budget(0.5, 0.0))
    assert labels.budget.epsilon <= 1.5
    assert made.choice is None  # what the labels take is set by the estimate


@pytest.mark.parametrize(("n_queries", "asked"), [(None, 40), (10, 10), (100, 40)])
def test_no_more_questions_than_rows(n_queries: int | None, asked: int) -> None:
    assert plan_teachers(request(n_queries=n_queries), 40).plan.n_queries == asked


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": Budget(float("inf"), 1e-5)}, "promises nothing"),
        ({"mechanism": "magic"}, "magic"),
        ({"n_teachers": 0}, "teachers"),
        ({"n_rows": -1}, "rows"),
        ({"n_queries": 0}, "queries"),
        ({"adjacency": "friends"}, "add-remove"),
        ({"adjacency": "replace-one"}, "give it with unit, or"),
        ({"error_share": -0.1}, "between 0"),
        ({"error_share": 0.95}, "between 0"),
        ({"error_share": float("nan")}, "between 0"),
    ],
)
def test_senseless_requests(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        request(**wrong)


def test_labels_that_could_not_be_released_are_refused_before_the_estimate() -> None:
    many = Classes(tuple(map(str, range(10))))
    with pytest.raises(InvalidParameter, match="unanimous vote"):
        plan_teachers(request(classes=many, budget=Budget(0.2, 1e-5), error_share=0.5, n_teachers=50), 1000)


@pytest.mark.parametrize(
    ("named", "kind"),
    [
        ({"n_teachers": 20, "mechanism": "ladder"}, InvalidParameter),
        ({"mechanism": "noisy-max", "settings": {"sigma": 0.5, "max_answers": 100}}, CannotCalibrate),
    ],
    ids=["too few teachers", "too little noise"],
)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one", "labels"])
def test_a_refused_mechanism_names_what_the_run_would_have_promised(
    named: dict[str, Any], kind: type[Exception], adjacency: Adjacency
) -> None:
    with pytest.raises(kind) as refused:
        plan_teachers(request(budget=Budget(0.5, 1e-5), adjacency=adjacency, unit="patient_id", **named), 100)
    promise = promise_of(adjacency, "patient_id")
    assert "epsilon 0.5" in str(refused.value)
    assert f"adjacency: {promise.adjacency}; unit: {promise.unit}" in str(refused.value)
    assert "one teacher" not in str(refused.value)
