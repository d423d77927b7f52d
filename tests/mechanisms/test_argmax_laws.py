"""The laws behind a noisy argmax: against enumeration of the noise, inside and outside the box; their prices."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray

from mapl.accounting import ORDERS
from mapl.accounting.hockey_stick import ProfileGrid
from mapl.mechanisms.tables.argmax_laws import (
    ROUNDING,
    TIE_ORDERS,
    Certain,
    GaussianLaw,
    LeadBox,
    Outside,
    one_bit_pairs,
    three_class_pairs,
    two_class_pairs,
)
from mapl.mechanisms.tables.argmax_price import argmax_loss, one_bit_loss
from mapl.mechanisms.tables.noise_law import law_of_argmax
from mapl.noise import discrete_gaussian

Floats = NDArray[np.float64]


def noise_masses(sigma: float, width: int) -> Floats:
    k = np.arange(-width, width + 1)
    mass: Floats = np.exp(-(k**2) / (2 * sigma**2))
    return np.asarray(mass / mass.sum())


def by_enumeration(sigma: float, x: int, y: int, order: tuple[str, ...], width: int = 15) -> Floats:
    """The law of (a, b, R's label) by summing over both noises; `order` lists the labels, lowest index first."""
    mass = noise_masses(sigma, width)
    w = np.arange(-width, width + 1)
    value = {"a": (x + w)[:, None] + 0 * w, "b": (y + w)[None, :] + 0 * w[:, None], "R": np.zeros((w.size, w.size))}
    # Ties go to the lowest index: rank by value, then by position.
    keys = {label: value[label] * 3 + (2 - order.index(label)) for label in "abR"}
    joint = np.outer(mass, mass)
    best = np.maximum(np.maximum(keys["a"], keys["b"]), keys["R"])
    return np.array([joint[keys[label] == best].sum() for label in "abR"])


def offsets(box: LeadBox) -> NDArray[np.int64]:
    """The (x, y) of each row of `three_class_pairs`, for one tie order: all differences, in rising x."""
    return np.array(
        [
            (x, x - d)
            for d in range(-box.span, box.span + 1)
            for x in range(max(-box.low, d - box.low), min(box.high, d + box.high) + 1)
        ]
    )


def all_pairs(sigma: float, box: LeadBox) -> tuple[Floats, Floats]:
    blocks = list(three_class_pairs(sigma, box))
    return np.concatenate([p for p, _ in blocks]), np.concatenate([q for _, q in blocks])


def divergences(p: Floats, q: Floats, order: float) -> Floats:
    """Both directions, in the log domain."""
    with np.errstate(divide="ignore"):
        p, q = (np.log(np.maximum(z, 1e-300)) for z in (p, q))
    both = [np.exp(order * first + (1 - order) * second).sum(axis=1) for first, second in ((p, q), (q, p))]
    return np.asarray(np.log(np.maximum(*both)) / (order - 1))


class TestLawsByEnumeration:
    BOX = LeadBox(4, 5)

    def test_three_tie_orders(self) -> None:
        p, q = all_pairs(1.5, self.BOX)
        rows = offsets(self.BOX)
        assert len(p) == 3 * len(rows) == 3 * 10 * 10
        orders = (("a", "b", "R"), ("a", "R", "b"), ("R", "a", "b"))
        for i, (ties, order) in enumerate(zip(TIE_ORDERS, orders, strict=True)):
            assert ties == tuple(order.index(label) < order.index("R") for label in "ab")
            for row, (x, y) in enumerate(rows, start=i * len(rows)):
                assert p[row] == pytest.approx(by_enumeration(1.5, x, y, order), abs=1e-13)
                assert q[row] == pytest.approx(by_enumeration(1.5, x - 1, y + 1, order), abs=1e-13)

    def test_they_cover_all_six_orders(self) -> None:
        """With b before a, exchange the names: the move (x, y) -> (x-1, y+1) is (y+1, x-1) -> (y, x) backwards."""
        p, q = all_pairs(1.5, LeadBox(8, 8))
        listed = {
            (i, x, y): n
            for n, (i, (x, y)) in enumerate(itertools.product(range(3), map(tuple, offsets(LeadBox(8, 8)))))
        }
        for order in itertools.permutations("abR"):
            swapped = order.index("b") < order.index("a")
            names = tuple({"a": "b", "b": "a", "R": "R"}[o] for o in order) if swapped else order
            tie = TIE_ORDERS.index(tuple(int(names.index(label) < names.index("R")) for label in "ab"))
            for x, y in itertools.product(range(-6, 7), repeat=2):
                before, after = (by_enumeration(1.5, *xy, order) for xy in ((x, y), (x - 1, y + 1)))
                n = listed[(tie, y + 1, x - 1)] if swapped else listed[(tie, x, y)]
                if swapped:  # the pair in the other direction, columns exchanged
                    assert q[n][[1, 0, 2]] == pytest.approx(before, abs=1e-13)
                    assert p[n][[1, 0, 2]] == pytest.approx(after, abs=1e-13)
                else:
                    assert p[n] == pytest.approx(before, abs=1e-13)
                    assert q[n] == pytest.approx(after, abs=1e-13)

    def test_two_classes(self) -> None:
        p, q = two_class_pairs(1.5, self.BOX)
        mass, w = noise_masses(1.5, 15), np.arange(-15, 16)
        difference = np.subtract.outer(w, w)
        joint = np.outer(mass, mass)
        row = 0
        for bar in (0, 1):
            for d in range(-self.BOX.span, self.BOX.span + 1):
                for law, offset in ((p[row], d), (q[row], d - 2)):
                    a_wins = joint[difference + offset >= bar].sum()
                    b_wins = joint[difference + offset < bar].sum()
                    assert law == pytest.approx([a_wins, b_wins], abs=1e-13)
                row += 1
        assert row == len(p)

    def test_one_bit(self) -> None:
        p, q = one_bit_pairs(1.5, self.BOX)
        mass, w = noise_masses(1.5, 15), np.arange(-15, 16)
        for row, k in enumerate(range(-self.BOX.span, self.BOX.span - 1)):
            for law, bar in ((p[row], k + 1), (q[row], k + 2)):
                assert law == pytest.approx([mass[w >= bar].sum(), mass[w < bar].sum()], abs=1e-13)

    @pytest.mark.parametrize("sigma", [1.5, 10.0])
    def test_laws_keep_their_digits_in_the_tails(self, sigma: float) -> None:
        """The floats of `GaussianLaw` against ball arithmetic, relatively, out to the ends that are read."""
        box = LeadBox.for_moments(sigma, 2 * sigma)
        law = GaussianLaw.beyond(sigma, box.span)
        with ctx.workprec(200):
            masses = [
                (-(arb(k) ** 2) / (2 * arb(sigma) ** 2)).exp() for k in range(20 * math.ceil(sigma) + box.span)
            ]
            total = masses[0] + 2 * sum(masses[1:], arb(0))
            tails = list(itertools.accumulate(reversed(masses)))[::-1]
            for k in range(1, box.span + 1, max(1, box.span // 17)):
                exact = float(tails[k] / total)
                assert float(law.at_most(np.array([-k]))[0]) == pytest.approx(exact, rel=1e-12)
                assert law.above(k) >= exact
                assert law.above(k) == pytest.approx(exact, rel=3 * ROUNDING)


class TestConditioning:
    """Neighbouring histograms themselves, from the exact law of the argmax, never exceed the price."""

    @pytest.mark.parametrize(("teachers", "classes"), [(10, 2), (9, 2), (7, 3), (5, 4)])
    @pytest.mark.parametrize("sigma", [2.0, 3.5, 5.0])
    def test_every_neighbouring_histogram(self, teachers: int, classes: int, sigma: float) -> None:
        every = np.array([n for n in itertools.product(range(teachers + 1), repeat=classes) if sum(n) == teachers])
        index = {tuple(n): i for i, n in enumerate(every)}
        laws = law_of_argmax(discrete_gaussian(sigma), every)
        pairs = [
            (i, index[tuple(n - np.eye(classes, dtype=int)[a] + np.eye(classes, dtype=int)[b])])
            for i, n in enumerate(every)
            for a, b in itertools.permutations(range(classes), 2)
            if n[a]
        ]
        p, q = laws[[i for i, _ in pairs]], laws[[j for _, j in pairs]]
        price = argmax_loss(sigma, classes)
        for order in (1.25, 2.0, 3.0, 4.0, 7.0, 10.0, 32.0):
            worst = float(divergences(p, q, order).max())
            assert worst <= price.at(order)
            if order <= 4 and classes < 4:  # and a tie of two comes within a few percent of it
                assert worst >= 0.9 * price.at(order)


class TestOutside:
    @pytest.mark.parametrize("sigma", [1.0, 2.0, 3.0, 5.0, 10.0])
    def test_no_pair_outside_the_box_exceeds_the_bound(self, sigma: float) -> None:
        """All pairs up to twelve deviations out, all tie orders, both directions."""
        most = min(32.0, 2 * sigma)
        box = LeadBox.for_moments(sigma, most)
        reach = max(math.ceil(12 * sigma), box.high + 12)
        rows = offsets(LeadBox(reach, reach))
        outside = np.tile(((rows < -box.low) | (rows > box.high)).any(axis=1), 3)
        p, q = (z[outside] for z in all_pairs(sigma, LeadBox(reach, reach)))
        bound = Outside(sigma, box)
        for order in (a for a in ORDERS if a <= most):
            assert float(divergences(p, q, order).max()) <= bound.at(order) * (1 + 1e-12) + 1e-14

    @pytest.mark.parametrize("sigma", [3.0, 5.0, 10.0])
    def test_the_bound_does_not_spoil_the_price(self, sigma: float) -> None:
        """Outside stays below the maximum inside, except for the last few percent of the orders."""
        for order in (2.0, 4.0, 6.0):
            inside = argmax_loss(sigma, 3).at(order)
            assert Outside(sigma, LeadBox.for_moments(sigma, min(32.0, 2 * sigma))).at(order) <= inside * (1 + 1e-9)

    @pytest.mark.parametrize("counts", [1, 2])
    @pytest.mark.parametrize("sigma", [1.0, 3.0, 10.0])
    def test_certain_bounds_what_two_outcomes_have_left(self, counts: int, sigma: float) -> None:
        most = min(32.0, 2 * sigma)
        box = LeadBox.for_moments(sigma, most)
        pairs = one_bit_pairs if counts == 1 else two_class_pairs
        p, q = pairs(sigma, LeadBox(box.low + math.ceil(4 * sigma), box.high + math.ceil(4 * sigma)))
        # Rows whose offset lies beyond the span: one of the outcomes is rarer than at the span on both sides.
        inner_p, inner_q = pairs(sigma, box)
        rarest = max(float(np.minimum(inner_p.min(axis=1), inner_q.min(axis=1)).min()), 1e-290)
        beyond = np.maximum(p.min(axis=1), q.min(axis=1)) < rarest
        assert beyond.sum() > 4
        bound = Certain(sigma, box, counts=counts)
        for order in (a for a in ORDERS if a <= most):
            assert float(divergences(p[beyond], q[beyond], order).max()) <= bound.at(order) + 1e-15

    @pytest.mark.parametrize("sigma", [3.0, 5.0, 8.0])
    @pytest.mark.parametrize("unseen", [2e-11, 2e-8])
    def test_profiles_outside_exceed_a_simpler_law_by_little(self, sigma: float, unseen: float) -> None:
        """Each pair outside the profile box, against its own one-bit or two-class pair, at all points u."""
        box = LeadBox.for_profiles(sigma, unseen)
        assert box.unseen(sigma) <= unseen
        big = LeadBox(box.low + math.ceil(2 * sigma), box.high + math.ceil(2 * sigma))
        rows = np.tile(offsets(big), (3, 1))
        ties = np.repeat(np.array(TIE_ORDERS), len(rows) // 3, axis=0)
        outside = ((rows < -box.low) | (rows > box.high)).any(axis=1)
        p, q = (z[outside] for z in all_pairs(sigma, big))
        (x, y), (a_ties, b_ties) = rows[outside].T, ties[outside].T
        law = GaussianLaw.beyond(sigma, big.span)
        lower, zero = law.difference(), 2 * law.width

        def against_r(offset: NDArray[np.int64], tie: NDArray[np.int64]) -> Floats:
            return np.stack([law.at_most(offset - 1 + tie), law.at_most(-tie - offset)], axis=1)

        def two_classes(d: NDArray[np.int64]) -> Floats:
            return np.stack([lower[zero + d], lower[zero - 1 - d]], axis=1)

        simpler = [
            (against_r(x, a_ties), against_r(x - 1, a_ties)),
            (against_r(y, b_ties), against_r(y + 1, b_ties)),
            (two_classes(x - y), two_classes(x - y - 2)),
        ]
        points = ProfileGrid.around(1 / sigma, 2.4 * box.high / sigma**2 + 4 / sigma).points
        surplus = np.full((3, len(p)), -1.0)
        for u in points:
            for i, (first, second) in enumerate(simpler):
                np.maximum(surplus[i], profile(p, q, u) - profile(first, second, u), out=surplus[i])
        assert float(surplus.min(axis=0).max()) <= box.unseen(sigma)


def profile(p: Floats, q: Floats, u: float) -> Floats:
    signed = math.exp(u) * p - q if u < 0 else q - math.exp(u) * p
    return np.asarray(np.maximum(signed, 0).sum(axis=1))


class TestPrices:
    @pytest.mark.parametrize(
        ("sigma", "constants"),
        [
            (10.0, {2.0: 0.64063, 4.0: 0.64293, 8.0: 0.65319}),
            (20.0, {2.0: 0.64013, 4.0: 0.64070, 8.0: 0.64314, 16.0: 0.65380}),
            (40.0, {2.0: 0.64001, 4.0: 0.64015, 8.0: 0.64076, 16.0: 0.64334}),
        ],
    )
    def test_reference_constants_of_three_classes(self, sigma: float, constants: dict[float, float]) -> None:
        """sup / (a / sigma^2), THEORY.md section 3."""
        price = argmax_loss(sigma, 3)
        for order, constant in constants.items():
            assert price.at(order) * sigma**2 / order == pytest.approx(constant, abs=6e-6)

    def test_two_classes_approach_two_over_pi(self) -> None:
        for sigma in (20.0, 40.0, 100.0):
            constant = argmax_loss(sigma, 2).at(2.0) * sigma**2 / 2
            assert 2 / math.pi <= constant <= 2 / math.pi * (1 + 0.5 / sigma)

    def test_two_classes_stay_exact_for_wide_noise(self) -> None:
        """If laws worth keeping were dropped, the chords' 1% would show in the price."""
        for order in (2.0, 4.0, 8.0, 16.0):
            assert argmax_loss(400.0, 2).at(order) * 400.0**2 / order == pytest.approx(2 / math.pi, rel=1e-3)

    def test_one_bit_reference(self) -> None:
        """onebit(1/50, a) of THEORY.md section 4 is the continuous value; the discrete one is a hair above."""
        price = one_bit_loss(50.0)
        for order, value in ((2.0, 2.5468e-4), (8.0, 1.0191e-3), (32.0, 4.104e-3)):
            assert price.at(order) == pytest.approx(value, rel=1e-3)

    @pytest.mark.parametrize("sigma", [0.3, 0.5, 1.0, 1.5, 4.0, 30.0])
    def test_no_price_exceeds_the_plain_gaussian_one(self, sigma: float) -> None:
        for price, plain in (
            (argmax_loss(sigma, 2), 1 / sigma**2),
            (argmax_loss(sigma, 3), 1 / sigma**2),
            (one_bit_loss(sigma), 1 / (2 * sigma**2)),
        ):
            assert [a for a, _ in price.divergences] == list(ORDERS)
            assert all(0 < r <= a * plain * (1 + 1e-12) for a, r in price.divergences)
            assert 0 < price.delta < 1e-17

    def test_prices_rise_with_the_order_and_fall_with_the_noise(self) -> None:
        for classes in (2, 3):
            curves = np.array([[r for _, r in argmax_loss(s, classes).divergences] for s in (3.0, 5.0, 8.0, 12.0)])
            assert np.diff(curves, axis=1).min() > 0
            assert np.diff(curves, axis=0).max() < 0

    def test_three_classes_cost_at_least_what_two_cost(self) -> None:
        for sigma in (2.0, 5.0, 20.0):
            for order in (1.5, 2.0, 4.0):
                ratio = argmax_loss(sigma, 3).at(order) / argmax_loss(sigma, 2).at(order)
                assert 1 - 1e-9 <= ratio <= 1.03

    def test_more_classes_than_three_cost_the_same(self) -> None:
        for order in (2.0, 8.0):
            assert argmax_loss(6.0, 3).at(order) == argmax_loss(6.0, 10).at(order)
        assert argmax_loss(6.0, 10).delta == pytest.approx(10 / 3 * argmax_loss(6.0, 3).delta)


@cache
def exact_one_bit(sigma: float) -> tuple[Floats, Floats]:
    width = math.ceil(14 * sigma)
    mass = noise_masses(sigma, width)
    below = np.cumsum(mass)[: width + math.ceil(6 * sigma)]
    below = below[below > 1e-12]
    chances = np.stack([below, 1 - below], axis=1)
    return chances[:-1], chances[1:]


@pytest.mark.parametrize("sigma", [1.0, 2.0, 7.0, 20.0])
def test_one_bit_price_is_the_maximum_over_all_bars(sigma: float) -> None:
    p, q = exact_one_bit(sigma)
    for order in (1.5, 2.0):
        assert one_bit_loss(sigma).at(order) == pytest.approx(
            float(divergences(p, q, order).max()), rel=1e-8, abs=30 * ROUNDING
        )
