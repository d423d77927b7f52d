"""Predictors audited by name: their claims hold on every small sample, and every broken twin is caught."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from mapl.audit import Verdict
from mapl.audit.predictions.audits import AUDITS, above, examine_predictor, fall_of
from mapl.audit.predictions.release import RELEASE_TWINS, law_of_draw
from mapl.audit.predictions.samples import ADJACENCY
from mapl.errors import InvalidParameter

TWINS = [(name, twin) for name, audit in AUDITS.items() for twin in audit.twins]


@pytest.mark.parametrize("name", AUDITS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 3.0, 20.0])
def test_the_claim_is_what_was_asked_for_and_holds(name: str, adjacency: str, epsilon: float) -> None:
    found = examine_predictor(name, epsilon, adjacency=adjacency)
    assert (found.verdict, found.certified, found.delta) == (Verdict.within, True, 0.0)
    assert found.adjacency == ADJACENCY[adjacency]
    slack = 1e-5 + 4e-6 / epsilon  # for small epsilons rounding counts
    assert (1 - slack) * epsilon <= found.epsilon <= epsilon
    assert found.epsilon / 3 < found.renyi_found <= found.epsilon  # type: ignore[operator]


@pytest.mark.parametrize(("name", "twin"), TWINS)
def test_every_twin_is_caught(name: str, twin: str) -> None:
    found = examine_predictor(name, 2.0, adjacency="add-remove", twin=twin)
    assert found.violated
    assert found.certified is False
    assert found.details["exceeded"]
    one, other = found.details["witness"][:2]
    assert abs(len(one) - len(other)) == 1
    assert found.epsilon <= 2.0


@pytest.mark.parametrize("twin", [*AUDITS["stable"].twins])
def test_so_are_those_of_the_stable_predictor_if_records_are_replaced(twin: str) -> None:
    assert examine_predictor("stable", 2.0, adjacency="replace-one", twin=twin).violated


@pytest.mark.parametrize("twin", RELEASE_TWINS)
def test_so_are_those_of_the_release(twin: str) -> None:
    found = examine_predictor("semi-private", 0.1, adjacency="replace-one", twin=twin)
    assert found.violated
    assert (found.renyi_found == math.inf) == (twin == "private-points")


def test_the_released_rule_has_a_law() -> None:
    law = law_of_draw(Fraction(1, 2))((((0.0,), 0), ((2.0,), 1)))
    assert sum(law.values()) == 1
    # The rule "1 from 1 on" or "from 2 on" errs nowhere; "never 1" errs once, and "always 1" is not on the list.
    assert law[(0, 0, 0)] == Fraction(1, 5)
    assert len(law) == 3


def test_fractions_are_rounded_up_by_little() -> None:
    for value in (1e-13, 0.25, 0.3, 0.9999):
        assert value < above(value) < value * (1 + 3e-6)
    assert fall_of(1e-4) < 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"twin": "softmax"}, "stable has no twin softmax; it has: no-flips, same-subset"),
        ({"adjacency": "labels"}, "The adjacency is 'labels'; choose add-remove or replace-one"),
        ({"epsilon": 1e9}, "it must be between 0.0001"),
        ({"epsilon": 29.0}, "at most about 25"),
    ],
)
def test_bad_input(settings: dict[str, object], words: str) -> None:
    given = {"epsilon": 1.0, "adjacency": "add-remove", **settings}
    with pytest.raises(InvalidParameter, match=words):
        examine_predictor("stable", **given)  # type: ignore[arg-type]
