"""LZCW21's Gaussian mechanism: the printed sigma, the closed form, exact laws and their divergences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from mapl.errors import CannotCalibrate, InvalidData, InvalidParameter
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.papers.lzcw21_gaussian import LZCW21Gaussian
from mapl.noise import SeededCoins, SystemCoins
from mapl.types import Budget, State, Tallies

SETTINGS = list(itertools.product((0.1, 1.0, 3.0), (1e-6, 1e-3), (1, 1000)))


def gaussian(epsilon: float, delta: float, n_queries: int, n_classes: int = 2) -> LZCW21Gaussian:
    return LZCW21Gaussian.for_task(Task(Budget(epsilon, delta), 250, n_classes, n_queries))


@pytest.mark.parametrize(("epsilon", "delta", "questions"), SETTINGS)
@pytest.mark.parametrize("n_classes", [2, 10])
def test_the_printed_sigma_solves_the_papers_equation(
    epsilon: float, delta: float, questions: int, n_classes: int
) -> None:
    found = gaussian(epsilon, delta, questions, n_classes)
    sigma = found.sigma
    printed = math.sqrt(2 * questions * math.log(1 / delta) / sigma**2) + questions / (2 * sigma**2)
    assert printed == pytest.approx(epsilon, rel=1e-8)
    assert epsilon * (1 - 1e-8) < found.epsilon(None, delta) <= epsilon
    # The same noise is priced lower by the Renyi orders of mapl's own accounting.
    assert found.total.epsilon(delta) < epsilon
    assert found.noise_scale == pytest.approx(sigma * math.sqrt(1 if n_classes == 2 else 2))


def test_half_of_the_votes_elect_the_second_class_as_in_the_paper() -> None:
    found = gaussian(30.0, 0.5, 1)
    beyond = found.noise.half_width + 1
    labels = found.decide(Tallies(np.array([[3 * beyond, beyond], [beyond, 3 * beyond]])), SystemCoins())
    assert labels.tolist() == [0, 1]
    # At c_1 = K/2 zero noise elects class 1, at c_1 = (K-1)/2 it takes noise of at least one half, hence one.
    tie, below = (found.law(Tallies(np.array([row])))[0, 1] for row in ([7, 7], [8, 7]))
    no_noise = tie - below
    assert tie == pytest.approx(0.5 * (1 + no_noise), abs=1e-15)
    assert tie > 0.5 > below


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_answer_stays_below_rho_at_every_order(n_classes: int) -> None:
    """All neighbouring histograms of 9 teachers, from `chances`; half the noise must be caught."""
    found = gaussian(3.0, 1e-3, 4, n_classes)
    narrow = LZCW21Gaussian(found.sigma / 2, n_classes, 4, found.promised)
    for order in (1.5, 2.0, 8.0):
        assert worst_divergence(found, 9, order) <= found.rho * order
    assert worst_divergence(narrow, 9, 2.0) > found.rho * 2


def worst_divergence(mechanism: LZCW21Gaussian, n_teachers: int, order: float) -> float:
    classes = mechanism.n_classes
    every = [n for n in itertools.product(range(n_teachers + 1), repeat=classes) if sum(n) == n_teachers]
    laws = dict(zip(every, mechanism.chances(Tallies(np.array(every)), State()), strict=True))
    worst = 0.0
    for n, law in laws.items():
        for a, b in itertools.permutations(range(classes), 2):
            if n[a]:
                other = laws[tuple(x - (y == a) + (y == b) for y, x in enumerate(n))]
                moment = float((law[:classes] ** order * other[:classes] ** (1 - order)).sum())
                worst = max(worst, math.log(moment) / (order - 1))
    return worst


def test_laws_sum_to_one_and_never_abstain() -> None:
    counts = np.random.default_rng(1).multinomial(50, np.ones(5) / 5, size=20)
    law = gaussian(1.0, 1e-5, 10, 5).chances(Tallies(counts), State())
    assert law.sum(axis=1) == pytest.approx(np.ones(20), abs=1e-12)
    assert (law[:, 5] == 0).all()


@pytest.mark.statistical
@pytest.mark.parametrize("counts", [[24, 26], [25, 25], [10, 22, 18], [17, 16, 17]])
def test_frequencies_match_the_chances(counts: list[int]) -> None:
    """40,000 draws of each law; false alarm 5e-7 for all ten frequencies (5.5 deviations)."""
    n = 40_000
    found = gaussian(2.0, 1e-3, n, len(counts))
    found = LZCW21Gaussian(6.0, len(counts), n, found.promised)
    block = Tallies(np.tile(counts, (n, 1)))
    labels = found.release(State(), block, SeededCoins(2)).labels
    chances = found.chances(block.first(1), State())[0, : len(counts)]
    seen = np.bincount(labels, minlength=len(counts))
    assert (np.abs(seen - n * chances) <= 5.5 * np.sqrt(n * chances * (1 - chances))).all()


def test_halts_exactly_at_the_limit_in_batch_and_online() -> None:
    found = gaussian(1.0, 1e-5, 5)
    block = Tallies(np.tile([3, 4], (8, 1)))
    batch = found.release(State(), block, SystemCoins())
    assert len(batch.labels) == 5
    state = State()
    published = 0
    for _ in range(8):
        outcome = found.release(state, block.first(1), SystemCoins())
        state, published = outcome.state, published + len(outcome.labels)
    assert published == 5
    assert state == batch.state == State(answered=5, halted=True)


def test_the_closed_form_grows_with_the_answers() -> None:
    found = gaussian(1.0, 1e-5, 100)
    spent = [found.epsilon(State(answered=n), 1e-5) for n in (0, 1, 50, 100)]
    assert spent[0] == 0
    assert spent == sorted(spent)
    assert spent[-1] == found.epsilon(None, 1e-5)
    assert found.epsilon(None, 0.0) == math.inf


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="delta is 0"):
        gaussian(1.0, 0.0, 10)
    with pytest.raises(CannotCalibrate, match="tables reach"):
        gaussian(0.01, 1e-6, 10**8)
    with pytest.raises(InvalidData, match="calibrated for 2"):
        gaussian(1.0, 1e-6, 10).release(State(), Tallies(np.array([[1, 2, 3]])), SystemCoins())
