"""The Gaussian supersolution: profiles, weights and the one-step inequality, each against direct evaluation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr

from mapl.accounting.hockey_stick import (
    ProfileGrid,
    VarianceGrowth,
    certified_growth,
    certify_growth,
    edge,
    envelopes,
    gaussian_delta,
    losses,
    supremum,
)

Floats = NDArray[np.float64]


def laws(seed: int, rows: int, outcomes: int, strength: float) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(outcomes), rows)
    p = q * np.exp(strength * rng.uniform(-1, 1, (rows, outcomes)))
    return p / p.sum(axis=1, keepdims=True), q


def grid_for(p: Floats, q: Floats) -> ProfileGrid:
    widest = float(np.abs(np.log(p / q)).max())
    return ProfileGrid.around(widest / 3, 1.1 * widest)


def profile(p: Floats, q: Floats, u: Floats) -> Floats:
    """k(u) by its definition, one row per law."""
    e = np.exp(u)
    below = np.maximum(e * p[..., None] - q[..., None], 0).sum(axis=-2)
    beyond = np.maximum(q[..., None] - e * p[..., None], 0).sum(axis=-2)
    return np.asarray(np.where(u < 0, below, beyond))


def time_value(ell: Floats, variance: float) -> Floats:
    """G_V(l) - (e^l - 1)_+, from the two-sided closed form, without cancellation."""
    s = math.sqrt(variance)
    call = np.exp(ell + log_ndtr(ell / s + s / 2)) - ndtr(ell / s - s / 2)
    put = ndtr(s / 2 - ell / s) - np.exp(ell + log_ndtr(-ell / s - s / 2))
    return np.asarray(np.where(ell < 0, call, put))


def excess(p: Floats, q: Floats, variance: float, v: float, ell: Floats) -> Floats:
    """Left side of (S) minus G_(V+v)(l), for one law."""
    left = profile(p, q, ell)
    for p_o, q_o in zip(p, q, strict=True):
        left = left + q_o * time_value(ell + math.log(p_o / q_o), variance)
    return left - time_value(ell, variance + v)


def worst_excess(p: Floats, q: Floats, variance: float, v: float, eta: float) -> float:
    ell = np.linspace(-1, 1, 6001) * (edge(eta) + 2) * math.sqrt(variance)
    both = [(a, b) for x, y in zip(p, q, strict=True) for a, b in ((x, y), (y, x))]
    return max(float(excess(a, b, variance, v, ell).max()) for a, b in both)


def test_time_value_is_the_expectation_in_its_name() -> None:
    for ell, variance in ((-0.3, 0.2), (0.0, 1.0), (0.7, 0.05), (2.0, 3.0)):
        s = math.sqrt(variance)

        def integrand(z: float, ell: float = ell, s: float = s) -> float:
            return max(math.exp(ell + z * s - s * s / 2) - 1, 0) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

        kink = s / 2 - ell / s
        whole = quad(integrand, kink, kink + 12, epsabs=1e-13)[0]
        expected = whole - max(math.exp(ell) - 1, 0)
        assert float(time_value(np.array(ell), variance)) == pytest.approx(expected, abs=1e-10)


class TestProfiles:
    @pytest.mark.parametrize("outcomes", [2, 3])
    @pytest.mark.parametrize("strength", [0.01, 0.3, 2.0])
    def test_tabulated_profiles_are_upper_bounds(self, outcomes: int, strength: float) -> None:
        p, q = laws(1, 700, outcomes, strength)
        grid = grid_for(p, q)
        table, exact = grid.profiles(p, q).astype(np.float64), profile(p, q, grid.points)
        assert table.dtype == np.float64
        assert grid.profiles(p, q).dtype == np.float32
        assert (table >= exact).all()
        assert float((table - exact).max()) <= 1e-5

    def test_chords_in_the_exponential_lie_above_between_the_points(self) -> None:
        p, q = laws(2, 60, 3, 0.5)
        grid = grid_for(p, q)
        table = grid.profiles(p, q).astype(np.float64)
        between = np.linspace(grid.points[0], grid.points[-1], 4001)
        exact = profile(p, q, between)
        for row, truth in zip(table, exact, strict=True):
            chord = np.interp(np.exp(between), np.exp(grid.points), row)
            assert (chord >= truth).all()

    def test_profiles_vanish_beyond_the_largest_ratio(self) -> None:
        p, q = laws(3, 50, 3, 0.5)
        table = grid_for(p, q).profiles(p, q)
        assert float(table[:, [0, -1]].max()) == 0

    @pytest.mark.parametrize("seed", range(3))
    def test_envelopes_dominate_every_law(self, seed: int) -> None:
        p, q = laws(seed, 400, 3, 0.2)
        grid = grid_for(p, q)
        chi = ((p - q) ** 2 / q).sum(axis=1)
        rows = envelopes(p, q, float(chi.max()), grid).astype(np.float64)
        assert len(rows) < len(p)
        exact = profile(p, q, grid.points)
        dominated = np.greater_equal(rows[None, :, :], exact[:, None, :]).all(axis=2)
        assert np.any(dominated, axis=1).all()


class TestWeights:
    @pytest.mark.parametrize("variance", [0.02, 0.3, 4.0])
    def test_weights_integrate_chords_against_the_tilted_gaussian(self, variance: float) -> None:
        p, q = laws(4, 3, 3, 0.4)
        grid = grid_for(p, q)
        table = grid.profiles(p, q).astype(np.float64)
        ell = np.array([-4.0, -1.0, 0.0, 0.5, 3.0]) * math.sqrt(variance)
        tilts = ell / variance - 0.5
        found = table @ grid.weights(variance, tilts)
        for row, values in zip(table, found, strict=True):
            for d, value in zip(tilts, values, strict=True):

                def integrand(u: float, row: Floats = row, d: float = d) -> float:
                    chord = np.interp(math.exp(u), np.exp(grid.points), row)
                    return float(chord) * math.exp(u * d - u * u / (2 * variance) - d * d * variance / 2)

                cells = zip(grid.points[:-1], grid.points[1:], strict=True)
                expected = sum(quad(integrand, a, b, epsrel=1e-10)[0] for a, b in cells)
                assert value == pytest.approx(expected, rel=1e-8)

    def test_the_integral_is_the_left_side_of_the_inequality(self) -> None:
        """A(d) n_V(-l) = sum_o q_o G_V(l + ln(p_o/q_o)) - G_V(l), up to the chords."""
        p, q = laws(5, 4, 3, 0.3)
        variance, eta = 0.4, 1e-9
        grid = grid_for(p, q)
        ell = losses(variance, eta)
        for i in range(len(p)):
            log_a = supremum(grid.profiles(p[i : i + 1], q[i : i + 1]), grid, variance, eta)
            left = np.exp(log_a) / math.sqrt(2 * math.pi * variance)
            exact = np.maximum(*(excess(a, b, variance, 0.0, ell) for a, b in ((p[i], q[i]), (q[i], p[i]))))
            near = np.abs(ell) < 4 * math.sqrt(variance)
            assert (left >= exact - 1e-15).all()
            assert left[near] == pytest.approx(exact[near], rel=0.02)

    def test_the_supremum_is_symmetric_in_the_direction(self) -> None:
        p, q = laws(6, 25, 3, 0.4)
        grid = grid_for(p, q)
        there = supremum(grid.profiles(p, q), grid, 0.5, 1e-9)
        back = supremum(grid.profiles(q, p), grid, 0.5, 1e-9)
        # The chords of k(u) and of e^u k(-u) are not the same chords: equal up to the grid.
        assert there == pytest.approx(back, abs=2e-3)

    def test_more_laws_never_lower_the_supremum(self) -> None:
        p, q = laws(7, 40, 3, 0.4)
        grid = grid_for(p, q)
        rows = grid.profiles(p, q)
        assert (supremum(rows, grid, 0.5, 1e-9) >= supremum(rows[:7], grid, 0.5, 1e-9)).all()


CASES = [
    (strength, variance, eta)
    for strength, variances in ((0.05, (0.0075, 0.05, 1.0)), (0.3, (0.27, 1.8, 4.0)))
    for variance in variances
    for eta in (1e-7, 1e-11)
]


class TestCertificate:
    @pytest.mark.parametrize(("strength", "variance", "eta"), CASES)
    def test_one_step_inequality_on_a_dense_grid(self, strength: float, variance: float, eta: float) -> None:
        """(S) holds for every law, both directions, all l, and a growth 2% smaller would break it."""
        p, q = laws(8, 12, 3, strength)
        grid = grid_for(p, q)
        rows = grid.profiles(p, q)
        v = certified_growth(variance, supremum(rows, grid, variance, eta), eta)
        assert worst_excess(p, q, variance, v, eta) <= eta
        assert worst_excess(p, q, variance, 0.98 * v, eta) > eta

    @pytest.mark.parametrize("outcomes", [2, 4])
    def test_one_step_inequality_for_other_outcome_counts(self, outcomes: int) -> None:
        p, q = laws(9, 15, outcomes, 0.2)
        grid, variance, eta = grid_for(p, q), 0.3, 1e-10
        v = certified_growth(variance, supremum(grid.profiles(p, q), grid, variance, eta), eta)
        assert worst_excess(p, q, variance, v, eta) <= eta

    def test_growth_certified_at_one_variance_holds_at_larger_ones(self) -> None:
        """What `VarianceGrowth` relies on between two nodes."""
        p, q = laws(10, 12, 3, 0.2)
        grid, eta = grid_for(p, q), 1e-10
        v = certified_growth(0.1, supremum(grid.profiles(p, q), grid, 0.1, eta), eta)
        for variance in (0.1, 0.11, 0.2, 1.0, 5.0):
            assert worst_excess(p, q, variance, v, eta) <= eta

    def test_a_stronger_law_raises_the_growth(self) -> None:
        p, q = laws(11, 12, 3, 0.2)
        strong_p, strong_q = np.array([[0.55, 0.25, 0.2]]), np.array([[0.35, 0.4, 0.25]])
        all_p, all_q = np.concatenate([p, strong_p]), np.concatenate([q, strong_q])
        grid, variance, eta = grid_for(all_p, all_q), 0.3, 1e-10
        weak = certified_growth(variance, supremum(grid.profiles(p, q), grid, variance, eta), eta)
        strong = certified_growth(variance, supremum(grid.profiles(all_p, all_q), grid, variance, eta), eta)
        assert strong > 2 * weak
        # The weaker figure would have been a lie about the stronger family.
        assert worst_excess(strong_p, strong_q, variance, weak, eta) > eta
        assert worst_excess(strong_p, strong_q, variance, strong, eta) <= eta

    def test_no_growth_is_certified_if_the_wings_are_not_covered(self) -> None:
        """Ratios far beyond the deviation leave mass past the edge that eta cannot pay."""
        p, q = np.array([[0.5, 0.5]]), np.array([[1e-5, 1 - 1e-5]])
        grid, variance, eta = grid_for(p, q), 0.01, 1e-10
        assert math.isinf(certified_growth(variance, supremum(grid.profiles(p, q), grid, variance, eta), eta))

    def test_laws_that_eta_covers_alone_need_no_growth(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The search for the least growth must end when no cell is left to certify."""
        from mapl.accounting import hockey_stick

        calls = 0
        real = hockey_stick._gaussian_room

        def counted(size: Floats, variance: float, v: float) -> Floats:
            nonlocal calls
            calls += 1
            assert calls < 3000, "the bisection does not end"
            return real(size, variance, v)

        monkeypatch.setattr(hockey_stick, "_gaussian_room", counted)
        p, q = np.array([[0.5, 0.5]]), np.array([[0.5 - 1e-9, 0.5 + 1e-9]])
        grid = ProfileGrid.around(0.1, 1.0)
        variance, eta = 0.3, 1e-4
        v = certified_growth(variance, supremum(grid.profiles(p, q), grid, variance, eta), eta)
        assert v >= 0
        assert worst_excess(p, q, variance, v, eta) <= eta


class TestCertifyGrowth:
    P, Q = laws(12, 12, 3, 0.2)

    def growth(self, eta: float, *, outside: float) -> VarianceGrowth:
        grid = grid_for(self.P, self.Q)
        return certify_growth(grid.profiles(self.P, self.Q), grid, 0.1, 0.5, eta, outside=outside)

    def test_every_node_satisfies_the_inequality(self) -> None:
        eta = 1e-10
        growth = self.growth(eta, outside=0.02 * eta)
        assert growth.variances[-1] >= 0.5
        for variance, v in zip(growth.variances, growth.growths, strict=True):
            assert worst_excess(self.P, self.Q, variance, v, eta) <= eta * 0.98

    @pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
    def test_the_certificate_reads_the_supremum_on_its_own_grid(self, share: float) -> None:
        """ln sup A must not be tabulated on the grid of eta and read on the (wider) grid of eta - outside."""
        eta = 1e-10
        grid = grid_for(self.P, self.Q)
        rows = grid.profiles(self.P, self.Q)
        room = eta * (1 - share)
        growth = certify_growth(rows, grid, 0.1, 0.1, eta, outside=share * eta)
        own = certified_growth(0.1, supremum(rows, grid, 0.1, room), room)
        assert growth.growths[0] == pytest.approx(own, rel=1e-4)
        assert worst_excess(self.P, self.Q, 0.1, 0.98 * growth.growths[0], room) > room

    def test_laws_outside_take_their_part_of_eta(self) -> None:
        assert math.isinf(self.growth(1e-10, outside=1e-10).growths[0])
        assert math.isinf(self.growth(1e-10, outside=1e-10).epsilon(5, 1e-5))


class TestVarianceGrowth:
    GROWTH = VarianceGrowth((0.1, 0.2, 0.5, 1.0), (0.03, 0.02, 0.015, 0.012), eta=1e-14)

    def test_steps_use_the_growth_of_the_node_on_their_left(self) -> None:
        variance, nodes = 0.1, list(zip(self.GROWTH.variances, self.GROWTH.growths, strict=True))
        for steps in range(200):
            assert self.GROWTH.after(steps) == pytest.approx(variance, rel=1e-12)
            variance += next(v for left, v in reversed(nodes) if variance >= left - 1e-12)

    def test_more_steps_need_more_variance_and_epsilon(self) -> None:
        variances = [self.GROWTH.after(n) for n in range(150)]
        assert np.diff(variances).min() > 0
        epsilons = [self.GROWTH.epsilon(n, 1e-5) for n in range(1, 60, 3)]
        assert np.diff(epsilons).min() > 0
        deltas = [self.GROWTH.epsilon(20, d) for d in (1e-8, 1e-6, 1e-4)]
        assert np.diff(deltas).max() < 0

    def test_epsilon_is_on_the_private_side(self) -> None:
        for steps, delta in ((10, 1e-5), (40, 1e-3)):
            epsilon = self.GROWTH.epsilon(steps, delta)
            deviation = math.sqrt(self.GROWTH.after(steps))
            total = gaussian_delta(deviation, epsilon) + steps * math.exp(epsilon) * self.GROWTH.eta
            assert 0.98 * delta <= total <= delta

    def test_a_node_without_growth_ends_the_range(self) -> None:
        growth = VarianceGrowth((0.1, 0.2), (0.05, math.inf), eta=1e-10)
        assert growth.after(2) == pytest.approx(0.2)
        assert math.isinf(growth.after(3))
        assert math.isinf(growth.epsilon(3, 1e-5))

    def test_an_eta_that_is_too_large_is_refused(self) -> None:
        """The part n e^epsilon eta of delta must be covered, too."""
        growth = VarianceGrowth((0.1,), (0.03,), eta=1e-8)
        assert math.isfinite(growth.epsilon(5, 1e-4))
        assert math.isinf(growth.epsilon(5, 1e-6))


def binomial_delta(n: int, p: float, q: float, epsilon: float) -> float:
    """The exact hockey-stick divergence of n repetitions of Bern(p) against Bern(q)."""
    k = np.arange(n + 1)
    choose = np.array([math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in k])
    logs = [choose + k * math.log(x) + (n - k) * math.log1p(-x) for x in (p, q)]
    return float(np.maximum(np.exp(logs[0]) - np.exp(epsilon + logs[1]), 0).sum())


@pytest.mark.parametrize(("gap", "n"), [(0.02, 10), (0.02, 100), (0.02, 1000), (0.1, 10), (0.1, 40)])
def test_claims_hold_against_exact_composition(gap: float, n: int) -> None:
    """Coins a fixed angle apart, n times: the exact delta of every attack keeps the claim, the best is near it."""
    angle = np.linspace(0.5, math.pi / 2 - 0.5 + gap, 60)
    p, q = (np.stack([np.sin(x) ** 2, np.cos(x) ** 2], axis=1) for x in (angle, angle - gap))
    grid, delta = grid_for(p, q), 1e-5
    step = float(((p - q) ** 2 / q).sum(axis=1).max())
    eta = 0.01 * delta / (n * math.exp(10))
    growth = certify_growth(grid.profiles(p, q), grid, 3 * step, (3 + n) * step, eta, outside=0.0)
    claim = growth.epsilon(n, delta)
    assert math.isfinite(claim)

    def worst(epsilon: float) -> float:
        both = [(a[0], b[0]) for x, y in zip(p, q, strict=True) for a, b in ((x, y), (y, x))]
        return max(binomial_delta(n, a, b, epsilon) for a, b in both)

    assert worst(claim) <= delta
    if n >= 40:  # the start V_0 weighs on few steps
        assert worst(0.85 * claim) > delta


class TestGaussianDelta:
    def test_closed_form(self) -> None:
        """GDP reference values mu(epsilon, 1e-5) of THEORY.md section 4."""
        for epsilon, mu in ((1, 0.26805), (2, 0.50155), (4, 0.92493)):
            assert gaussian_delta(mu, epsilon) == pytest.approx(1e-5, rel=2e-3)

    def test_limits(self) -> None:
        assert gaussian_delta(0.0, 1.0) == 0
        assert gaussian_delta(1.0, 0.0) == pytest.approx(float(ndtr(0.5) - ndtr(-0.5)), rel=1e-12)
        assert gaussian_delta(1e-3, 5.0) <= 1e-15

    def test_it_is_not_a_bound_for_one_discrete_shift(self) -> None:
        """The trap of THEORY.md note (12): the true delta of an integer shift by one is above the Gaussian one."""
        for sigma, surplus in ((2.0, 0.35), (40.0, 0.0007)):
            k = np.arange(-40 * int(sigma), 40 * int(sigma) + 1)
            mass = np.exp(-(k**2) / (2 * sigma**2)) / np.exp(-(k**2) / (2 * sigma**2)).sum()
            shifted = np.exp(-((k - 1) ** 2) / (2 * sigma**2)) / np.exp(-(k**2) / (2 * sigma**2)).sum()
            ratios = [
                float(np.maximum(mass - math.exp(e) * shifted, 0).sum()) / gaussian_delta(1 / sigma, e)
                for e in np.linspace(0, 10 / sigma, 2000)
                if gaussian_delta(1 / sigma, e) > 1e-9
            ]
            assert max(ratios) == pytest.approx(1 + surplus, abs=0.1 * surplus)
