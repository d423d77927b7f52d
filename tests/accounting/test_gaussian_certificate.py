"""The certificate of normal noise: against another library, and on either side of what is allowed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.accounting.gaussian import certify_gaussian
from mapl.mechanisms.scores.noisy_mean import NoisyMean
from mapl.types import Budget


def delta_of(square: Fraction, epsilon: float) -> arb:
    """Integrate by how much one normal density exceeds e^epsilon times the other: no error functions."""
    mu, level = (arb(square.numerator) / arb(square.denominator)).sqrt(), arb(epsilon)
    root = (2 * arb.pi()).sqrt()
    first = level / mu + mu / 2

    def excess(x: acb, analytic: bool) -> acb:
        return ((-((x - mu) ** 2) / 2).exp() - (level - x**2 / 2).exp()) / root

    return acb.integral(excess, first, first + 20, abs_tol=arb(2) ** -150).real


@settings(max_examples=60, deadline=None)
@given(mu=st.floats(0.05, 6), epsilon=st.floats(0.01, 10))
def test_the_bound_is_the_exact_curve(mu: float, epsilon: float) -> None:
    square = Fraction(mu) ** 2
    with ctx.workprec(200):
        exact = float(delta_of(square, epsilon))
    if exact > 1e-25:
        assert certify_gaussian(square, epsilon=epsilon, delta=exact * (1 + 1e-9))
        assert not certify_gaussian(square, epsilon=epsilon, delta=exact * (1 - 1e-9))


def test_what_sampling_costs_is_added() -> None:
    square, epsilon = Fraction(1, 4), 1.0
    exact = float(delta_of(square, epsilon))
    assert certify_gaussian(square, epsilon=epsilon, delta=exact * 1.1, extra=exact * 0.09)
    assert not certify_gaussian(square, epsilon=epsilon, delta=exact * 1.1, extra=exact * 0.11)


@pytest.mark.parametrize("answers", [1, 40, 1000])
def test_noisy_means_have_the_same_figures_as_ever(answers: int) -> None:
    budget = Budget(1.0, 1e-6)
    mechanism = NoisyMean.for_budget(budget, 50, max_answers=answers)
    assert mechanism.certify(budget)
    square = Fraction(mechanism.grain) ** 2 * answers / Fraction(mechanism.sigma) ** 2
    assert np.isclose(float(delta_of(square, 1.0)), 1e-6, rtol=1e-4)
    assert not mechanism.certify(Budget(0.999, 1e-6))
