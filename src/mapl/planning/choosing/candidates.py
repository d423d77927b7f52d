"""The best settings of each mechanism for votes like those declared, found with quick prices and quick laws.

Each function returns a mechanism whose limits fix how many questions it takes, or None if it has nothing to offer.
Noise for three or more classes is set by the price of two classes and a margin here, because the exact price takes
seconds; `exactly` prices what is chosen.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from mapl.accounting import Loss, largest_integer
from mapl.accounting.hockey_stick import gaussian_delta
from mapl.errors import CannotCalibrate
from mapl.mechanisms import AnyMechanism, Task, make
from mapl.mechanisms.tables.argmax_price import (
    MOST_SIGMA_EXACT,
    MOST_SIGMA_PROFILED,
    MOST_SIGMA_TWO_CLASSES,
    argmax_loss,
    one_bit_loss,
)
from mapl.mechanisms.votes.confident_max import ConfidentMax
from mapl.mechanisms.votes.noisy_max import NoisyMax, estimate_sigma
from mapl.planning.choosing.expectation import Expected, expect, fidelity
from mapl.planning.choosing.limits import USEFUL
from mapl.planning.choosing.noise_grid import TEST_PRICE, NoiseGrid, affordable_zcdp, price
from mapl.types import Budget, Floats

MARGIN = 1.006
"""What three or more classes cost more than two."""


def find_answerer_of_all(task: Task) -> AnyMechanism:
    """Return the simplest mechanism that answers every question."""
    if task.n_classes <= 3:
        return link_for(task.budget, task.n_teachers, task.n_classes, task.n_queries)
    sigma = _noise_for(task.budget, task.n_classes, task.n_queries)
    return NoisyMax(sigma, task.n_queries, task.n_classes, task.budget.delta, task.budget.epsilon)


def noisy_max(task: Task, agreement: Expected, floor: float) -> NoisyMax:
    """Return noisy max with the most noise that keeps the floor, and as many questions as that affords."""
    grid = NoiseGrid.of(task, agreement)
    sigma = _widest(grid, floor)
    if task.n_classes > 2 and sigma > MOST_SIGMA_EXACT:
        # Beyond, only a looser price is proved; a little less noise can afford more.
        sigma = max(sigma, MOST_SIGMA_EXACT, key=lambda s: _answers(task, s))
    n = _answers(task, sigma)
    if not 1 <= n < task.n_queries:
        # So little noise pays for no answer at all, or so much for all of them: take what their number asks for.
        n = min(max(n, 1), task.n_queries)
        sigma = _noise_for(task.budget, task.n_classes, n)
    return NoisyMax(sigma, n, task.n_classes, task.budget.delta, task.budget.epsilon)


def _widest(grid: NoiseGrid, floor: float) -> float:
    """Return the most noise at which the labels of all questions together keep the floor."""
    low, high = math.log(0.3), math.log(10.0 * grid.n_teachers)
    for _ in range(18):
        middle = (low + high) / 2
        right = float(grid.right(np.array([math.exp(middle)]))[0] @ grid.weights)
        low, high = (middle, high) if grid.plurality - right <= 1 - floor else (low, middle)
    return math.exp(low)


def _answers(task: Task, sigma: float) -> int:
    """Return about how many noisy argmaxes the budget affords at this noise."""
    n = affordable_zcdp(task.budget) / float(price(np.array([sigma]), task.n_classes)[0])
    if 3 <= sigma <= (MOST_SIGMA_TWO_CLASSES if task.n_classes == 2 else MOST_SIGMA_PROFILED):
        # Hockey-stick accounting comes close to the limit of a Gaussian, less what its start costs.
        n = max(n, gaussian_variance(task.budget) * sigma**2 * math.pi / 4 / MARGIN - 10)
    return int(min(n, 1e12))


@lru_cache(maxsize=64)
def gaussian_variance(budget: Budget) -> float:
    """Return the variance of the privacy loss that Gaussian noise may have within a budget."""
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, budget.epsilon) <= budget.delta else (low, middle)
    return low**2


@lru_cache(maxsize=256)
def _noise_for(budget: Budget, n_classes: int, n_queries: int) -> float:
    """Return about the least noise that affords so many answers."""
    sigma = estimate_sigma(Task(budget, 1, n_classes, n_queries), n_queries)
    return sigma if n_classes == 2 or sigma <= MOST_SIGMA_EXACT else 1.26 * sigma


def link(task: Task, agreement: Expected, floor: float) -> AnyMechanism:
    """Return the link for as many questions as keep the floor: errors grow with the number of questions."""
    try:
        mechanism = link_for(task.budget, task.n_teachers, task.n_classes, task.n_queries)
        if _kept(mechanism, task, agreement) >= floor or task.n_queries == 1:
            return mechanism
    except CannotCalibrate:
        if task.n_queries == 1:
            raise
    low, high = 0.0, math.log(task.n_queries)
    found = link_for(task.budget, task.n_teachers, task.n_classes, 1)
    guess = math.log(max(1, min(task.n_queries, 1.4 * noisy_max(task, agreement, floor).max_answers)))
    for _ in range(12):
        n = round(math.exp(min(max(guess, low), high)))
        mechanism = link_for(task.budget, task.n_teachers, task.n_classes, n)
        if _kept(mechanism, task, agreement) >= floor:
            low, found = math.log(n), mechanism
            guess = min(low + 0.3, (low + high) / 2) if high - low > 0.6 else (low + high) / 2
        else:
            high = math.log(n)
            guess = max(high - 0.3, (low + high) / 2) if high - low > 0.6 else (low + high) / 2
        if high - low < 0.015 or math.exp(high) - math.exp(low) < 1.5:
            break
    return found


@lru_cache(maxsize=256)
def link_for(budget: Budget, n_teachers: int, n_classes: int, n_queries: int) -> AnyMechanism:
    """Build and certify a link, kept for the next time."""
    return make("link", Task(budget, n_teachers, n_classes, n_queries))


def _kept(mechanism: AnyMechanism, task: Task, agreement: Expected) -> float:
    return fidelity(expect(mechanism, task, agreement), task, agreement)


def confident_max(task: Task, agreement: Expected, floor: float) -> ConfidentMax | None:
    """Return the consensus test and noise that are expected to answer most at the floor, by a grid search.

    Questions and answers are paid for in advance; answers get a deviation more than expected.
    """
    grid, k, zcdp = NoiseGrid.of(task, agreement), task.n_teachers, affordable_zcdp(task.budget)
    sigmas, tests, bars = _around(k / 6, 6.0, 36), _around(k / 2, 6.0, 24), np.unique(np.round(_bars(grid)))
    best = (0.0, 0.0, 0.0, 0.0, 0.0)
    for _ in range(2):
        passing = grid.passing(bars, tests) * grid.weights  # bars x tests in rows
        rate = passing.sum(axis=1)
        label = grid.right(sigmas)
        accuracy = passing @ label.T / np.maximum(rate, 1e-300)[:, None]
        test = np.tile(TEST_PRICE / tests**2, len(bars))[:, None]
        answer = price(sigmas, task.n_classes)[None, :]
        asked = np.minimum(task.n_queries, zcdp / (test + rate[:, None] * answer))
        spread = np.sqrt(asked * (rate * (1 - rate))[:, None])
        asked = np.clip(np.minimum(asked, (zcdp - spread * answer) / (test + rate[:, None] * answer)), 0, None)
        sound = (grid.plurality - accuracy <= 1 - floor) & (unanimous(grid, bars, tests)[:, None] >= USEFUL + 0.02)
        answers = np.where(sound, asked * rate[:, None], 0.0)
        row, column = np.unravel_index(int(answers.argmax()), answers.shape)
        if answers[row, column] < 1:
            return None
        bar, tester = bars[row // len(tests)], tests[row % len(tests)]
        best = (float(sigmas[column]), float(tester), float(bar), float(asked[row, column]), float(rate[row]))
        # Once more, finer, around the best.
        sigmas, tests = _around(best[0], 1.15, 15), _around(best[1], 1.3, 15)
        bars = np.unique(np.round(np.clip(bar + np.linspace(-0.04, 0.04, 9) * k, 0, k)))
    return _paid(task, *best)


def unanimous(grid: NoiseGrid, bars: Floats, tests: Floats) -> Floats:
    """Return the chance that a unanimous vote passes, one row for each pair of a bar and a test's noise."""
    everybody = replace(grid, ranked=np.array([[float(grid.n_teachers)]]))
    return everybody.passing(bars, tests)[:, 0]


def _bars(grid: NoiseGrid) -> Floats:
    return np.linspace(0.1, 1.0, 31) * grid.n_teachers


def _around(middle: float, factor: float, n: int) -> Floats:
    return np.asarray(np.geomspace(max(0.3, middle / factor), max(0.5, middle * factor), n))


def _paid(task: Task, sigma: float, tester: float, bar: float, asked: float, rate: float) -> ConfidentMax | None:
    """Count the answers that are left after the tests, by the quick price."""
    questions, budget, classes = max(1, int(asked)), task.budget, task.n_classes
    each = argmax_loss(sigma, 2)
    scale = 1.0 if classes == 2 else MARGIN if sigma <= MOST_SIGMA_EXACT else 1.6
    each = Loss.of({a: r * scale for a, r in each.divergences}, each.delta * classes / 2)
    while questions:
        tests = one_bit_loss(tester) * questions
        answers = largest_integer(partial(_affordable, tests, each, budget), most=questions)
        # The search priced roughly; a few questions less leave enough for the answers that are expected.
        if answers and answers >= rate * questions:
            return ConfidentMax(tester, int(bar), sigma, questions, answers, classes)
        questions = questions * 49 // 50
    return None


def _affordable(tests: Loss, each: Loss, budget: Budget, answers: int) -> bool:
    return (tests + each * answers).epsilon(budget.delta) <= budget.epsilon


def exactly(mechanism: AnyMechanism, task: Task) -> AnyMechanism:
    """Calibrate what a search found by its exact price: the same noise, and the answers that it really affords."""
    if isinstance(mechanism, NoisyMax):
        if mechanism.max_answers in (1, task.n_queries):
            return make("noisy-max", task, max_answers=mechanism.max_answers)
        return make("noisy-max", task, sigma=mechanism.sigma)
    if isinstance(mechanism, ConfidentMax):
        found = {name: getattr(mechanism, name) for name in ("sigma", "sigma_test", "threshold")}
        return make("confident-max", replace(task, n_queries=mechanism.max_questions), **found)
    return mechanism
