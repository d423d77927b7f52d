"""Ladders that are traced without certificate lie close to those that are built and certified."""

from __future__ import annotations

import numpy as np
import pytest

from mapl.errors import CannotCalibrate
from mapl.mechanisms import Task, make
from mapl.planning.choosing.quick_ladders import QuickLadders
from mapl.types import Budget

LIMITS = (1, 10, 100, 1000)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-6), (1.0, 1e-5), (4.0, 1e-6), (12.0, 1e-5)])
def test_distances_agree_with_those_of_certified_tables(epsilon: float, delta: float) -> None:
    budget = Budget(epsilon, delta)
    quick = QuickLadders.of(budget, LIMITS)
    for row, limit in enumerate(LIMITS):
        rungs = make("ladder", Task(budget, 6000, 2, 1000), max_abstentions=limit).rungs
        for share in (0.5, 0.9, 0.99):
            exact = rungs.distance_for(share)
            assert exact is not None
            near = float(np.interp(-np.log((1 - share) / share), -quick.odds[row], quick.distances[row]))
            # Within a twentieth, or one and a half votes where distances are small.
            assert abs(near - exact) <= max(0.06 * exact, 1.6), (limit, share, exact, near)


def test_farther_is_never_less_likely_to_pass_and_larger_limits_never_more() -> None:
    quick = QuickLadders.of(Budget(1.0, 1e-5), LIMITS)
    chances = quick.abstaining(np.arange(0.0, 900.0))
    assert (np.diff(chances, axis=1) <= 0).all()
    assert (np.diff(chances, axis=0) >= -1e-9).all()
    assert (chances[:, 0] > 0.999).all()


def test_a_budget_that_pays_for_no_abstention_is_refused() -> None:
    with pytest.raises(CannotCalibrate, match="raise the budget"):
        QuickLadders.of(Budget(1e-7, 1e-5), (5,))
