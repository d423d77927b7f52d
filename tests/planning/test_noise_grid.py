"""The quick laws of a search are close to the exact ones that decide."""

from __future__ import annotations

import numpy as np
import pytest

from mapl.accounting import Loss
from mapl.mechanisms import Task
from mapl.mechanisms.tables.noise_law import above, law_of_argmax
from mapl.noise import discrete_gaussian
from mapl.planning import Agreement
from mapl.planning.choosing.noise_grid import NoiseGrid, affordable_zcdp, price
from mapl.planning.votes.sample import VoteSample
from mapl.types import Budget

TASK = Task(Budget(2.0, 1e-5), 100, 4, 1000)


def test_chances_of_the_truth_are_those_of_the_exact_law() -> None:
    rng = np.random.default_rng(6)
    counts = rng.multinomial(100, rng.dirichlet(np.full(4, 0.5), 300))
    truth = np.argsort(-counts, axis=1, kind="stable")[np.arange(300), rng.integers(2, size=300)]
    sample = VoteSample.of(counts, truth=truth)
    grid = NoiseGrid.of(TASK, sample)
    law = sample.truth(100, 4)
    assert law is not None
    for row, sigma in enumerate((8.0, 30.0)):
        exact = (law_of_argmax(discrete_gaussian(sigma), sample.tallies(100, 4).counts) * law).sum(axis=1)
        # Discrete noise breaks ties by index, which continuous noise has none of.
        assert np.abs(grid.right(np.array([8.0, 30.0]))[row] - exact).max() < 0.04
        assert grid.right(np.array([sigma]))[0] @ grid.weights == pytest.approx(exact @ grid.weights, abs=0.003)


def test_chances_to_pass_are_those_of_the_exact_law() -> None:
    grid = NoiseGrid.of(TASK, Agreement.parse("0.9:1,0.6:1"))
    quick = grid.passing(np.array([70.0]), np.array([25.0]))[0]
    exact = above(discrete_gaussian(25.0), 70 - np.array([90, 60]) - 1)
    assert np.abs(quick - exact).max() < 0.01


def test_the_price_of_a_budget_is_all_that_it_pays_for() -> None:
    zcdp = affordable_zcdp(Budget(2.0, 1e-5))
    assert Loss.zcdp(zcdp).epsilon(1e-5) <= 2 < Loss.zcdp(1.01 * zcdp).epsilon(1e-5)
    assert price(np.array([200.0]), 2)[0] < price(np.array([200.0]), 3)[0]
