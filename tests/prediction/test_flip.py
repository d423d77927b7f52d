import math
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.prediction.predictors.flip import flip_for, inner_for, pure_epsilon, stability, up

INNER = st.floats(0.01, 4.0)
ETA = st.floats(0.0, 0.9)
FLIP = st.floats(0.001, 0.49)


def largest(inner, *, odds):
    """The largest chance that goes with a neighbour's chance t, for records outside the subset."""
    grown = math.exp(inner)
    if odds:
        return lambda t: grown * t / (1 + (grown - 1) * t)
    return lambda t: min(grown * t, 1 - (1 - t) / grown)


def searched(inner, eta, flip, *, odds, steps=4000):
    """The largest log-ratio of flipped chances, by walking along the border of the region."""
    most = largest(inner, odds=odds)
    corner = 1 / (math.exp(inner) + 1)
    places = [corner, *(k / steps for k in range(steps + 1))]
    signal = 1 - 2 * flip
    return max(
        math.log((signal * ((1 - eta) * most(t) + eta) + flip) / (signal * (1 - eta) * t + flip)) for t in places
    )


@given(INNER, ETA, FLIP, st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_formula_is_the_largest_ratio_on_the_border(inner, eta, flip, odds):
    found = searched(inner, eta, flip, odds=odds)
    claimed = pure_epsilon(inner, eta, flip, odds=odds)
    assert found - 1e-12 <= claimed <= found + 1e-3


@given(INNER, ETA, FLIP)
@settings(max_examples=60, deadline=None)
def test_odds_never_cost_more_and_the_noted_formula_is_not_tight(inner, eta, flip):
    tight = pure_epsilon(inner, eta, flip)
    noted = max(
        math.log1p((1 - 2 * flip) * eta / flip),
        math.log((1 - flip) / ((1 - 2 * flip) * (1 - eta) * math.exp(-inner) + flip)),
    )
    assert pure_epsilon(inner, eta, flip, odds=True) <= tight <= noted + 1e-12


def test_the_noted_formula_counts_a_pair_of_chances_that_no_private_prediction_has():
    inner, eta, flip = 1.5, 0.1, 0.1
    noted = math.log((1 - flip) / ((1 - 2 * flip) * (1 - eta) * math.exp(-inner) + flip))
    assert pure_epsilon(inner, eta, flip) < noted - 0.02
    low, high = (1 - eta) * math.exp(-inner), 1.0
    assert high <= math.exp(inner) * low + eta + 1e-12, "it is allowed for the answer 1"
    assert 1 - low > math.exp(inner) * (1 - high) + eta, "and not for the answer 0"


@given(st.floats(0.05, 3.0), st.floats(0.001, 0.5), st.floats(1.0, 3.0), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_inverse_gives_back_what_was_asked(epsilon, eta, wider, odds):
    flip = min(0.49, wider * flip_for(epsilon, eta))
    inner = inner_for(epsilon, eta, flip, odds=odds)
    assert inner >= epsilon - 1e-9
    if inner < 50:
        assert pure_epsilon(inner, eta, flip, odds=odds) == pytest.approx(epsilon, abs=1e-6)


def test_too_rare_flips_have_no_inverse_and_many_need_none():
    assert inner_for(1.0, 0.2, 0.5 * flip_for(1.0, 0.2)) == 0
    assert inner_for(1.0, 0.2, 0.45) == inner_for(1.0, 0.2, 0.45, odds=True) > 100


@given(INNER, ETA, st.booleans(), st.sampled_from(["add-remove", "replace-one"]))
@settings(max_examples=60, deadline=None)
def test_stability_is_the_largest_difference_on_the_border(inner, eta, odds, adjacency):
    most = largest(inner, odds=odds)
    lost = 1 - eta if adjacency == "replace-one" else 1
    places = [1 / (math.exp(inner) + 1), *(k / 4000 for k in range(4001))]
    found = max((1 - eta) * most(t) + eta - lost * t for t in places)
    claimed = stability(inner, eta, odds=odds, adjacency=adjacency)
    assert found - 1e-12 <= claimed <= found + 1e-3


def test_closed_forms_in_fractions():
    # e^inner = 8/3 and eta = 1/3: the root of (1 - eta) e^inner is 4/3.
    inner = math.log(8 / 3)
    assert stability(inner, Fraction(1, 3), odds=True, adjacency="add-remove") == pytest.approx(2 / 5)
    assert stability(inner, Fraction(1, 3), adjacency="add-remove") == pytest.approx(1 / 3 + (7 / 9) / (11 / 3))
    assert stability(0.0, 0.25) == pytest.approx(0.25)
    assert stability(1e-3, 0.25, adjacency="add-remove") == pytest.approx(0.25), "less than eta hides the draw"


def test_without_flips_only_eta_zero_is_pure():
    assert pure_epsilon(0.7, 0.0, 0.0) == 0.7
    assert pure_epsilon(0.7, 0.1, 0.0) == math.inf


@pytest.mark.parametrize(
    ("given", "said"), [((-1, 0, 0), "inner is"), ((1, 2, 0), "eta is"), ((1, 0, 0.5), "flip is")]
)
def test_bad_numbers_are_refused(given, said):
    with pytest.raises(InvalidParameter, match=said):
        pure_epsilon(*given)


def test_a_lost_bound_is_refused_and_never_0():
    with pytest.raises(CannotCalibrate, match="could not be computed"):
        up(arb("nan"))
    assert pure_epsilon(0.0, 0.0, 0.1, odds=True) < 1e-30
    assert 0 < pure_epsilon(1e-60, 0, Fraction(1, 3), odds=True) < 1e-30
