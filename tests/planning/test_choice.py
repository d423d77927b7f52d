"""Choices are made from public facts: budget, K, C, number of questions and a declared agreement."""

from __future__ import annotations

import numpy as np
import pytest

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms import Task
from mapl.planning import Agreement, choose
from mapl.planning.choosing.expectation import apportion, expect
from mapl.types import Budget

CONSENSUS = Agreement.parse("0.98:0.95,0.6:0.05")
DISCORD = Agreement.parse("0.9:0.5,0.55:0.5")


def task(epsilon: float = 2.0, teachers: int = 250, classes: int = 2, queries: int = 500) -> Task:
    return Task(Budget(epsilon, 1e-5), teachers, classes, queries)


def auto(facts: Task, agreement: Agreement, *, must_answer: bool = False, **settings: object) -> object:
    return choose("auto", facts, agreement=agreement, must_answer=must_answer, settings=settings).mechanism


def test_a_named_mechanism_is_taken_as_asked() -> None:
    choice = choose(
        "ladder", task(), agreement=DISCORD, must_answer=False, settings={"max_abstentions": 7, "sigma": None}
    )
    assert choice.mechanism.name == "ladder"
    assert choice.mechanism.parameters["max_abstentions"] == 7
    assert choice.why == "as asked"


def test_a_limit_left_open_is_set_by_forecast_and_explained() -> None:
    choice = choose("ladder", task(), agreement=DISCORD, must_answer=False, settings={})
    best = expect(choice.mechanism, task(), DISCORD).answered
    for limit in (1, 5, 400):
        other = choose(
            "ladder", task(), agreement=DISCORD, must_answer=False, settings={"max_abstentions": limit}
        ).mechanism
        assert expect(other, task(), DISCORD).answered <= best * 1.05
    assert str(DISCORD) in choice.why


def test_auto_may_abstain_and_takes_a_ladder_where_votes_disagree() -> None:
    assert auto(task(), DISCORD).name in ("ladder", "threshold-ladder")  # type: ignore[attr-defined]


def test_auto_answers_everything_where_noise_hardly_matters() -> None:
    facts = task(epsilon=4.0, teachers=2000, queries=50)
    assert auto(facts, CONSENSUS).name in ("link", "ladder-then-link")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("classes", "names"), [(2, ("link", "ladder-then-link")), (3, ("link", "ladder-then-max"))]
)
def test_must_answer_never_takes_a_mechanism_that_abstains(classes: int, names: tuple[str, ...]) -> None:
    chosen = auto(task(classes=classes), DISCORD, must_answer=True)
    assert chosen.name in names  # type: ignore[attr-defined]
    assert expect(chosen, task(classes=classes), DISCORD).abstained == pytest.approx(0, abs=1e-9)  # type: ignore[arg-type]


def test_auto_refuses_settings_it_would_ignore() -> None:
    with pytest.raises(InvalidParameter, match="name a mechanism to fix them"):
        auto(task(), DISCORD, sigma=40.0)


def test_auto_keeps_a_limit_on_abstentions() -> None:
    chosen = auto(task(), DISCORD, max_abstentions=20)
    assert chosen.parameters["max_abstentions"] == 20  # type: ignore[attr-defined]


def test_every_choice_keeps_the_budget() -> None:
    for agreement in (CONSENSUS, DISCORD):
        for must_answer in (False, True):
            chosen = auto(task(epsilon=0.7), agreement, must_answer=must_answer)
            assert chosen.epsilon(None, 1e-5) <= 0.7  # type: ignore[attr-defined]


def test_a_hopeless_budget_is_refused_or_left_to_the_gate() -> None:
    hopeless = task(epsilon=0.01, teachers=5, queries=10)
    try:
        chosen = auto(hopeless, DISCORD)
    except CannotCalibrate as refusal:
        assert "raise" in str(refusal)  # noqa: PT017 - either way is fine
    else:
        assert chosen.chance_if_unanimous(5, 2) < 0.5  # type: ignore[attr-defined]


def test_forecast_on_few_questions_is_whole() -> None:
    shares = apportion(Agreement.parse("0.9:1,0.8:1,0.7:1"), 100)
    assert shares.sum() == 100
    assert np.abs(shares - 33).max() <= 1
