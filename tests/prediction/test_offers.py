"""Offers keep the budget whatever the method, and say what is out of reach."""

from __future__ import annotations

import re

import pytest

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.prediction.class_names import BY_NAME, hypotheses_of
from mapl.prediction.hypotheses import Halfspaces, Stumps, Thresholds
from mapl.prediction.prices.offers import NAMES, Wanted, best_offer
from mapl.types import Budget

METHODS = sorted(set(NAMES) - {"two-stage"})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_all_answers_together_stay_within_the_budget(method: str, delta: float, adjacency: str) -> None:
    wanted = Wanted(Budget(2.0, delta), 50, Thresholds(), adjacency, 500, realizable=True)
    offer = best_offer(wanted, method)
    assert (offer.per_answer * 50).epsilon(delta) <= 2.0
    assert offer.epsilon_each >= 0.04 * (1 - 1e-6)
    if delta == 0:
        assert offer.epsilon_each <= 0.04


def test_a_delta_buys_larger_epsilons_for_many_questions() -> None:
    each = {
        delta: best_offer(Wanted(Budget(1.0, delta), 400, Stumps(3), "add-remove", 5000)).epsilon_each
        for delta in (0.0, 1e-6)
    }
    # Bounded range: 400 answers at e cost about e sqrt(400 * 2 ln(1e6) / 4), not 400 e.
    assert each[1e-6] > 5 * each[0.0]


def test_auto_takes_the_least_bound() -> None:
    wanted = Wanted(Budget(1.0, 0.0), 1, Thresholds(), "replace-one", 2000)
    bounds = {}
    for method in ("padded-stumps", "stable", "gibbs"):
        bound = best_offer(wanted, method).bound
        assert bound is not None
        bounds[method] = float(bound)
    assert best_offer(wanted).method == min(bounds, key=bounds.__getitem__) == "padded-stumps"
    assert best_offer(Wanted(Budget(1.0, 0.0), 1, Halfspaces(2), "replace-one", 2000)).method == "stable"


def test_too_few_records_are_told_how_many_would_do() -> None:
    wanted = Wanted(Budget(1.0, 0.0), 1, Thresholds(), "add-remove", 500, alpha=0.1)
    with pytest.raises(
        CannotCalibrate, match=r"500 records are too few .* epsilon 1, delta 0 .* unit: one record"
    ) as told:
        best_offer(wanted)
    needed = int(re.search(r"about ([\d,]+) records", str(told.value))[1].replace(",", ""))  # type: ignore[index]
    enough = best_offer(Wanted(Budget(1.0, 0.0), 1, Thresholds(), "add-remove", needed, alpha=0.1))
    assert enough.bound is not None
    assert float(enough.bound) <= 0.1
    with pytest.raises(CannotCalibrate):
        best_offer(Wanted(Budget(1.0, 0.0), 1, Thresholds(), "add-remove", needed * 9 // 10, alpha=0.1))


def test_a_private_number_of_records_has_to_be_declared() -> None:
    unknown = Wanted(Budget(1.0, 0.0), 1, Halfspaces(2), "add-remove", None)
    with pytest.raises(InvalidParameter, match="their number is private"):
        best_offer(unknown)
    offer = best_offer(Wanted(Budget(1.0, 0.0), 1, Stumps(2), "add-remove", None))
    assert (offer.method, offer.bound) == ("padded-stumps", None)


def test_too_many_questions_and_wrong_settings_are_refused() -> None:
    with pytest.raises(CannotCalibrate, match="ask at most 10,000"):
        best_offer(Wanted(Budget(1.0, 0.0), 20_000, Stumps(2), "replace-one", 1000), "padded-stumps")
    with pytest.raises(InvalidParameter, match="'magic'; choose auto"):
        best_offer(Wanted(Budget(1.0, 0.0), 1, Stumps(2), "replace-one", 1000), "magic")
    with pytest.raises(CannotCalibrate, match="Padded stumps cannot answer for halfspaces"):
        best_offer(Wanted(Budget(1.0, 0.0), 1, Halfspaces(2), "replace-one", 1000), "padded-stumps")
    with pytest.raises(InvalidParameter, match="infinite, which promises nothing"):
        Wanted(Budget(float("inf"), 0.0), 1, Stumps(2), "replace-one", 1000)
    with pytest.raises(InvalidParameter, match="alpha is 2"):
        Wanted(Budget(1.0, 0.0), 1, Stumps(2), "replace-one", 1000, alpha=2)


def test_every_class_has_a_name() -> None:
    for name in BY_NAME:
        width = 1 if name in ("thresholds", "intervals", "unions") else 2
        assert hypotheses_of(name, width).vc >= 1
    own = Thresholds()
    assert hypotheses_of(own, 3) is own
    for wrong in ("trees", "stumps:2", "unions:0", "unions:x", None):
        with pytest.raises(InvalidParameter, match="choose one of thresholds, stumps"):
            hypotheses_of(wrong, 1)
    with pytest.raises(InvalidParameter, match="Intervals look at one feature and there are 2"):
        hypotheses_of("intervals", 2)
