"""The private error estimate: its exact law, a twin that the same check catches, and what is made of the figure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mapl.errors import GuaranteeBroken, InvalidParameter, PlanMismatch
from mapl.noise import Coins, NoiseTable, SeededCoins, SystemCoins, discrete_laplace
from mapl.release.error_estimate import ErrorEstimate, estimate_error, hard_questions
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger


def below_exp(epsilon: float) -> Fraction:
    """Return a fraction just below e^epsilon: a partial sum of the exponential series."""
    x, term, total = Fraction(epsilon), Fraction(1), Fraction(1)
    for k in range(1, 60):
        term = term * x / k
        total += term
    return total


def is_private(estimate: ErrorEstimate) -> bool:
    """Check the promise itself on the exact law: every outcome, every pair of neighbouring sums, both orders."""
    factor = below_exp(estimate.epsilon)
    laws = {total: estimate.law(total) for total in range(estimate.most + 1)}
    return all(
        p <= factor * q
        for total, law in laws.items()
        for other in range(max(0, total - estimate.grain), min(estimate.most, total + estimate.grain) + 1)
        for p, q in zip(law, laws[other], strict=True)
    )


def small(epsilon: float, n_teachers: int, grain: int) -> ErrorEstimate:
    scale = grain / epsilon
    while Fraction(grain) > Fraction(epsilon) * Fraction(scale):
        scale = math.nextafter(scale, math.inf)
    return ErrorEstimate(epsilon, n_teachers, grain, scale)


CASES = [(0.5, 6, 3), (2.0, 12, 2), (8.0, 25, 2), (5.0, 6, 4), (1.0, 3, 1), (0.01, 2, 2), (60.0, 3, 3)]


@pytest.mark.parametrize(("epsilon", "n_teachers", "grain"), CASES)
def test_the_exact_law_keeps_the_promise(epsilon: float, n_teachers: int, grain: int) -> None:
    estimate = small(epsilon, n_teachers, grain)
    assert is_private(estimate)
    assert all(sum(estimate.law(total)) == 1 for total in (0, 1, estimate.most))


@dataclass(frozen=True)
class SensitivityOne(ErrorEstimate):
    """The classic mistake: noise for a sum that one unit changes by one, while it changes by G."""

    @cached_property
    def noise(self) -> NoiseTable:
        return discrete_laplace(self.scale / self.grain)


@dataclass(frozen=True)
class TableOnly(ErrorEstimate):
    """No stray numbers: where the noise table ends, an outcome is possible for one of two neighbours only."""

    def law(self, total: int) -> list[Fraction]:
        stray = Fraction(1, (1 << 62) * (self.most + 1))
        return [(p - stray) * Fraction(1 << 62, (1 << 62) - 1) for p in super().law(total)]


@pytest.mark.parametrize(("epsilon", "n_teachers", "grain"), [c for c in CASES if c[2] > 1 and c[0] < 60])
def test_a_wrong_sensitivity_is_caught(epsilon: float, n_teachers: int, grain: int) -> None:
    right = small(epsilon, n_teachers, grain)
    assert not is_private(SensitivityOne(epsilon, n_teachers, grain, right.scale))


@pytest.mark.parametrize(("epsilon", "n_teachers", "grain"), [(8.0, 25, 2), (60.0, 3, 3), (5.0, 40, 1)])
def test_a_table_alone_is_not_pure_and_that_is_caught(epsilon: float, n_teachers: int, grain: int) -> None:
    right = small(epsilon, n_teachers, grain)
    assert is_private(right)
    assert not is_private(TableOnly(epsilon, n_teachers, grain, right.scale))


def test_noise_that_is_too_small_is_refused() -> None:
    right = small(1.0, 10, 5)
    with pytest.raises(GuaranteeBroken, match=r"scale 4\.9 does not hide a change by 5 at epsilon 1"):
        ErrorEstimate(1.0, 10, 5, 4.9)
    with pytest.raises(GuaranteeBroken):
        ErrorEstimate(1.0, 10, 5, math.nextafter(right.scale, 0))


@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(1e-3, 50), n_teachers=st.integers(1, 10**6))
def test_calibration_rounds_to_the_private_side(epsilon: float, n_teachers: int) -> None:
    estimate = ErrorEstimate.for_task(epsilon, n_teachers)
    assert Fraction(estimate.grain) <= Fraction(epsilon) * Fraction(estimate.scale)
    assert estimate.scale <= 2_001
    assert estimate.total.epsilon(0.0) <= epsilon * (1 + 1e-12)
    assert (estimate.parameters["max_answers"], estimate.parameters["max_abstentions"]) == (1, 0)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, 1e-4])
def test_senseless_shares_are_refused(epsilon: float) -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        ErrorEstimate.for_task(epsilon, 100)


def test_too_many_teachers_for_a_pure_promise_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="takes fewer"):
        ErrorEstimate.for_task(1e-3, 2**31 - 1)


@pytest.mark.parametrize(
    "parts",
    [
        np.array([0, 1]),
        np.array([0, 1, 101]),
        np.array([0, -1, 5]),
        np.array([0.0, 1, 2]),
        np.zeros((3, 1), dtype=int),
    ],
)
def test_parts_that_the_noise_does_not_cover_are_refused_unquoted(parts: NDArray[np.int64]) -> None:
    with pytest.raises(GuaranteeBroken) as caught:
        ErrorEstimate.for_task(1.0, 3).release(parts, SystemCoins())
    assert "101" not in str(caught.value)


@pytest.mark.statistical
def test_release_follows_its_law() -> None:
    """20,000 seeded draws against the exact law; a fresh seed fails with probability below 1e-6 (Hoeffding)."""
    estimate, parts = small(1.0, 5, 2), np.array([2, 0, 1, 1, 0])
    coins, n = SeededCoins(3), 20_000
    found = np.bincount([estimate.release(parts, coins) for _ in range(n)], minlength=11) / n
    law = np.array([float(p) for p in estimate.law(4)])
    assert np.abs(found - law).max() < math.sqrt(math.log(2 * 11 / 1e-6) / (2 * n))


def test_a_stray_number_can_be_anything() -> None:
    """Coins of zeros make the rarest event happen: whatever the noise, the uniform number is returned."""

    class Zeros(Coins):
        private = False

        def words(self, n: int) -> NDArray[np.uint64]:
            return np.zeros(n, dtype=np.uint64)

    assert ErrorEstimate.for_task(1.0, 10).release(np.full(10, 100), Zeros()) == 0


def test_the_rate_is_close_where_teachers_are_many() -> None:
    estimate = ErrorEstimate.for_task(0.5, 4000)
    parts = np.random.default_rng(0).binomial(100, 0.13, size=4000)
    rate = estimate.rate(estimate.release(parts, SystemCoins()))
    # Noise of standard deviation sqrt(2) / (epsilon K) = 0.0007; thirty of them leave a chance below 1e-12.
    assert abs(rate - parts.mean() / 100) < 0.021
    assert (estimate.rate(-5), estimate.rate(10**9)) == (0.0, 1.0)


def test_a_part_is_an_error_rate_in_steps() -> None:
    estimate = ErrorEstimate.for_task(1.0, 10)
    assert estimate.grain == 100
    assert [estimate.part(w, h) for w, h in ((0, 7), (7, 7), (1, 3), (2, 3), (1, 200), (0, 0))] == [
        0,
        100,
        33,
        67,
        1,
        100,
    ]


def test_an_estimate_is_released_once_and_then_only_read() -> None:
    estimate, parts = ErrorEstimate.for_task(0.1, 50), np.full(50, 30)
    ledger = MemoryLedger()
    ledger.open("p" * 64, Limits.of({"error": Limit.of(estimate.parameters, 900), "labels": Limit(1, 1)}))
    first = estimate_error(estimate, parts, SystemCoins(), ledger=ledger)
    assert [estimate_error(estimate, parts, SystemCoins(), ledger=ledger) for _ in range(5)] == [first] * 5
    assert [r.kind for r in ledger.entries()] == ["plan", "start", "halted"]
    assert ledger.export()[-1]["payload"] == {"released": first}
    with pytest.raises(PlanMismatch, match="parameters differ"):
        estimate_error(ErrorEstimate.for_task(0.2, 50), parts, SystemCoins(), ledger=ledger)


def test_hard_questions_is_the_cut_off_of_the_theorem() -> None:
    for rate, m, beta in ((0.02, 1000, 0.05), (0.1, 500, 0.01), (1e-4, 10, 0.1)):
        exact = 3 * (rate * m + math.sqrt(rate * m * math.log(m / beta) / 2))
        assert hard_questions(rate, m, beta) == min(m, math.ceil(exact))
    assert hard_questions(0.0, 1000) == 1
    assert hard_questions(0.9, 1000) == 1000
    cut_offs = [hard_questions(r, 5000) for r in np.linspace(0, 1, 50)]
    assert all(a <= b for a, b in pairwise(cut_offs))
    for rate, beta in ((-0.1, 0.1), (1.1, 0.1), (0.1, 0.0), (0.1, 1.0), (math.nan, 0.1)):
        with pytest.raises(InvalidParameter, match="error rate"):
            hard_questions(rate, 100, beta)


def test_the_cut_off_holds_for_teachers_of_that_mean_rate() -> None:
    """Lemma 3.3 by simulation, with teachers of very different quality: at most T questions are hard."""
    world = np.random.default_rng(4)
    quality = world.uniform(0, 0.2, size=100)
    wrong = world.random((2000, 100)) < quality * world.exponential(1, size=(2000, 1))
    hard = int((wrong.mean(axis=1) > 1 / 3).sum())
    assert hard <= hard_questions(float(wrong.mean()), 2000)
