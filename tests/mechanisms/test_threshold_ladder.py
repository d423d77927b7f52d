"""Threshold-ladder: reference values, the certificate and its broken twins, adaptive adversaries, the secret."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidParameter, MaplError
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.tables.rungs import Rungs, certify_rungs
from mapl.mechanisms.votes.threshold_ladder import ONE_WAY, ThresholdLadder, _build, _Design
from mapl.noise import DEVIATION, ONE, SeededCoins, discrete_gaussian
from mapl.types import ABSTAIN, Budget, Secret, StableAnswers, State, Tallies

Floats = NDArray[np.float64]


@cache
def made(epsilon: float, delta: float, limit: int, order: float | None = None) -> ThresholdLadder:
    return ThresholdLadder.for_task(Task(Budget(epsilon, delta), 250, 3, 1000), max_abstentions=limit, order=order)


class TestReferences:
    def test_table_of_the_notes(self) -> None:
        """THEORY.md section 4: order 10.79, price 2.633."""
        y = _build(_Design(10.79, 2.633, 1.0, 0), 1e-9).abstaining()
        expected = {0: 1.0, 1: 0.7642, 2: 0.7642, 3: 0.5682, 5: 0.4107, 9: 0.2000, 17: 4.066e-2, 25: 7.730e-3}
        for height, value in expected.items():
            assert y[height] == pytest.approx(value, rel=3e-4)
        assert y[1] == pytest.approx(math.exp(-2.633 / 9.79), rel=1e-6)
        assert (y[1::2] == y[2::2]).all()  # values come in pairs

    @pytest.mark.parametrize(
        ("epsilon", "delta", "limit", "distance"),
        [(1.0, 1e-6, 1, 63), (1.0, 1e-6, 3, 93), (1.0, 1e-6, 10, 167), (2.0, 1e-5, 1, 29), (2.0, 1e-5, 10, 77)],
    )
    def test_distances_of_the_notes(self, epsilon: float, delta: float, limit: int, distance: int) -> None:
        """d99 of THEORY.md section 2; finding a shorter one is allowed (note 7: 167 becomes 161, 93 becomes 92)."""
        found = made(epsilon, delta, limit).required_distance(0.99)
        assert found is not None
        assert 0.96 * distance - 1 <= found <= distance + max(1, 0.02 * distance)

    def test_required_distance_is_the_average_over_thresholds(self) -> None:
        found = made(2.0, 1e-5, 3)
        for probability in (0.5, 0.9, 0.99, 0.999):
            d = found.required_distance(probability)
            assert d is not None
            chances = [float(found.chances(Tallies(np.array([[2 * x, 0]])), State())[0, 0]) for x in (d - 1, d)]
            assert chances[0] < probability <= chances[1] + 1e-12

    def test_the_first_rung_is_free_and_the_rest_is_tight(self) -> None:
        """(L) holds with equality up to the rounding: the greedy table wastes nothing."""
        found = made(1.0, 1e-6, 3)
        y, a, c = found.rungs.abstaining(), found.order, found.price
        moments = (1 - y[:-2]) ** a * (1 - y[2:]) ** (1 - a) + math.exp(-c) * y[:-2] ** a * y[2:] ** (1 - a)
        assert moments[:40] == pytest.approx(np.ones(40), abs=1e-6)


class TestCertificate:
    CASES = ((1.0, 1e-6, 1), (2.0, 1e-5, 3), (0.5, 1e-9, 7), (4.0, 1e-2, 1), (8.0, 1e-6, 2))

    @pytest.mark.parametrize(("epsilon", "delta", "limit"), CASES)
    def test_designs_are_certified_and_broken_twins_are_not(self, epsilon: float, delta: float, limit: int) -> None:
        found, budget = made(epsilon, delta, limit), Budget(epsilon, delta)
        assert found.certify(budget)
        assert found.epsilon(None, delta) <= epsilon
        numerators = found.rungs.numerators
        lifted, steep = numerators.copy(), np.concatenate([numerators[:1], numerators[1::2]])
        lifted[0] = 1
        sooner = numerators.copy()
        sooner[3:5] += 1 << 40
        twins = {
            "negative thresholds too likely": replace(found, centre=found.centre - 2),
            "half the noise": replace(found, sigma=found.sigma / 2),
            "steps of two not covered": replace(found, rungs=Rungs(steep)),
            "a price below what the table costs": replace(found, price=0.99 * found.price),
            "one abstention more": replace(found, max_abstentions=limit + 1),
            "height zero may pass": replace(found, rungs=Rungs(lifted)),
            "a rung too high": replace(found, rungs=Rungs(sooner)),
        }
        for name, twin in twins.items():
            assert not twin.certify(budget), name
        # The centre is whole, so a little of delta, hence of epsilon, is left over at small noise.
        assert not found.certify(Budget(epsilon * 0.95, delta))
        assert not found.certify(Budget(epsilon, delta * 0.5))

    def test_the_twin_without_steps_of_two_passes_the_weaker_check(self) -> None:
        """It is the second step that it breaks, not the first: the certificate must look at both."""
        found = made(2.0, 1e-5, 3)
        steep = np.concatenate([found.rungs.numerators[:1], found.rungs.numerators[1::2]])
        ones = [(i, i + 1) for i in range(len(steep) - 1)]
        twos = [(i, i + 2) for i in range(len(steep) - 2)]
        assert certify_rungs(steep, ones, found.order, found.price)
        assert not certify_rungs(steep, twos, found.order, found.price)

    @pytest.mark.parametrize("limit", [1, 2, 10])
    @pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
    @pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0, 15.0])
    def test_usual_budgets_all_get_a_certified_table(self, epsilon: float, delta: float, limit: int) -> None:
        found = made(epsilon, delta, limit)
        assert found.certify(Budget(epsilon, delta))
        assert found.epsilon(None, delta) <= epsilon

    def test_a_given_order_is_used(self) -> None:
        found = made(1.0, 1e-6, 2, 30.0)
        assert found.order == 30.0
        assert found.certify(Budget(1.0, 1e-6))

    def test_settings_are_refused_by_name(self) -> None:
        for order in (1.0, 0.5, math.nan, math.inf):
            with pytest.raises(InvalidParameter, match="order is"):
                ThresholdLadder.for_task(Task(Budget(1.0, 1e-6), 10, 2, 10), max_abstentions=1, order=order)
        with pytest.raises(InvalidParameter, match="delta is 0"):
            made(1.0, 0.0, 1)
        with pytest.raises(InvalidParameter, match="at most 200"):
            made(1.0, 1e-6, 201)
        with pytest.raises(InvalidParameter, match="max_abstentions is 0"):
            made(1.0, 1e-6, 0)
        with pytest.raises(CannotCalibrate, match="cannot pay for 1 abstentions"):
            made(1.0, 1e-6, 1, 1.5)


class TestLosses:
    def test_total_is_threshold_plus_abstentions(self) -> None:
        found = made(2.0, 1e-5, 3)
        a = found.order
        assert found.per_abstention.at(a) == pytest.approx(found.price / (a - 1), rel=1e-12)
        assert found.threshold_loss.at(a) == pytest.approx(a / (2 * found.sigma**2), rel=1e-12)
        assert found.total.at(a) == pytest.approx(3 * found.price / (a - 1) + a / (2 * found.sigma**2), rel=1e-12)
        k = np.arange(found.centre + 1, found.centre + 200)
        total = np.exp(-(np.arange(-400, 401) ** 2) / (2 * found.sigma**2)).sum()
        negative = float(np.exp(-(k**2) / (2 * found.sigma**2)).sum() / total)
        assert negative <= found.total.delta == pytest.approx(negative, rel=1e-6)

    def test_the_state_is_charged_for_its_abstentions_only(self) -> None:
        found = made(2.0, 1e-5, 3)
        epsilons = [found.epsilon(State(answered=50, abstained=t), 1e-5) for t in range(4)]
        assert np.diff(epsilons).min() > 0
        assert epsilons[3] == found.epsilon(None, 1e-5)
        assert found.spent(State(abstained=1)).delta == pytest.approx(found.total.delta)

    def test_other_orders_are_priced_by_the_same_inequality(self) -> None:
        """At every order that the loss names, (L) holds with that order's price, one way, steps of one and two."""
        found = made(2.0, 1e-5, 3)
        assert len(found.per_abstention.divergences) > 20
        for a, r in found.per_abstention.divergences:
            steps = [(i, i + j) for _, j in ONE_WAY for i in range(len(found.rungs) - j)]
            assert certify_rungs(found.rungs.numerators, steps, a, (a - 1) * r)


class Adversary:
    """A random adaptive adversary: each history gets its own neighbouring pair (d, d'), or a bad question."""

    def __init__(self, found: ThresholdLadder, seed: int, *, questions: int) -> None:
        self.found, self.questions = found, questions
        self.rng = np.random.default_rng(seed)
        reach = math.ceil(9 * found.sigma)
        self.rho = np.arange(-reach, reach + 1)
        mass = np.exp(-(self.rho**2) / (2 * found.sigma**2))
        self.mass = mass / mass.sum()
        self.taste = self.rng.integers(4)

    def question(self) -> tuple[int, int, bool]:
        top = self.found.centre + 6
        if self.taste == 0 and self.rng.random() < 0.5:
            return 0, 0, True
        d = int(self.rng.integers(0, top)) if self.taste < 2 else int(self.rng.integers(max(top - 9, 0), top))
        step = int(self.rng.integers(-1, 2)) if self.taste < 3 else 1
        return d, max(d + step, 0), False

    def passing(self, d: int) -> Floats:
        heights = np.maximum(d - self.found.centre - self.rho, 0)
        return self.found.rungs.at(heights) / ONE

    def transcripts(self) -> list[tuple[Floats, Floats]]:
        """Return for every transcript its joint probability with each threshold, under both data sets."""
        leaves: list[tuple[Floats, Floats]] = []

        def ask(p: Floats, q: Floats, asked: int, abstained: int) -> None:
            if asked == self.questions or abstained == self.found.max_abstentions:
                leaves.append((p, q))
                return
            d, other, bad = self.question()
            p_pass, q_pass = self.passing(d), self.passing(other)
            if bad:  # the two data sets publish different labels
                leaves.append((p * p_pass, 0 * q))
                leaves.append((0 * p, q * q_pass))
            else:
                ask(p * p_pass, q * q_pass, asked + 1, abstained)
            ask(p * (1 - p_pass), q * (1 - q_pass), asked + 1, abstained + 1)

        ask(self.mass, self.mass, 0, 0)
        return leaves


@pytest.mark.parametrize(
    ("epsilon", "delta", "limit"), [(4.0, 1e-2, 1), (8.0, 1e-3, 2), (2.0, 1e-2, 2), (3.0, 0.05, 3)]
)
def test_no_adaptive_adversary_exceeds_the_claim(epsilon: float, delta: float, limit: int) -> None:
    """Exact moments on the event of no negative threshold, and exact deltas, for 60 adversaries of 6 questions."""
    found = made(epsilon, delta, limit)
    a = found.order
    claim = math.exp(a * (a - 1) / (2 * found.sigma**2) + limit * found.price)
    nearest = 0.0
    for seed in range(60):
        adversary = Adversary(found, seed, questions=6)
        leaves = adversary.transcripts()
        assert sum(p.sum() for p, _ in leaves) == pytest.approx(1)
        assert sum(q.sum() for _, q in leaves) == pytest.approx(1)
        good = adversary.rho >= -found.centre
        for forward in (True, False):
            moment = failing = 0.0
            for leaf in leaves:
                p, q = leaf if forward else leaf[::-1]
                on_good, other = float(p[good].sum()), float(q.sum())
                if on_good > 0:
                    assert other > 0  # on G nothing is published that the neighbour never publishes
                    moment += on_good**a * other ** (1 - a)
                failing += max(float(p.sum()) - math.exp(epsilon) * other, 0.0)
            assert moment <= claim
            assert failing <= delta
            nearest = max(nearest, math.log(moment) / math.log(claim))
    assert nearest > 0.1  # the adversaries do learn something


class TestRelease:
    def block(self, distances: list[int]) -> StableAnswers:
        return StableAnswers(np.arange(len(distances), dtype=np.int32) % 3, np.array(distances))

    def test_the_secret_is_redacted_and_survives(self) -> None:
        found = made(2.0, 1e-5, 3)
        state = found.start(SeededCoins(1))
        assert state.secret is not None
        threshold = state.secret.value
        assert repr(state) == "State(answered=0, abstained=0, halted=False, secret=Secret(...))"
        assert str(state.secret) == "Secret(...)"
        for distances in ([threshold + 500] * 4, [0], [threshold + 500]):
            state = found.release(state, self.block(distances), SeededCoins(2)).state
            assert state.secret == Secret(threshold)
        assert (state.answered, state.abstained, state.halted) == (5, 1, False)

    def test_the_threshold_is_the_centre_plus_the_table_s_noise(self) -> None:
        found = made(2.0, 1e-5, 3)
        drawn = SeededCoins(7).draw(discrete_gaussian(found.sigma), (1,))
        state = found.start(SeededCoins(7))
        assert state.secret == Secret(found.centre + int(drawn[0]))

    def test_heights_at_or_below_zero_never_pass_and_great_ones_do(self) -> None:
        found = made(2.0, 1e-5, 3)
        state = State(secret=Secret(10))
        low = found.release(state, self.block([10, 9]), SeededCoins(0))
        assert low.labels.tolist() == [ABSTAIN, ABSTAIN]
        high = found.release(state, self.block([10**6, 10**9]), SeededCoins(0))
        assert high.labels.tolist() == [0, 1]

    @pytest.mark.parametrize("sizes", [[9], [3, 3, 3], [1] * 9])
    def test_it_halts_right_after_the_last_abstention(self, sizes: list[int]) -> None:
        found = made(2.0, 1e-5, 3)
        distances = [10**6, 0, 10**6, 0, 10**6, 0, 10**6, 10**6, 0]
        state, labels, start, coins = State(secret=Secret(5)), [], 0, SeededCoins(0)
        for size in sizes:
            outcome = found.release(state, self.block(distances[start : start + size]), coins)
            labels += [int(x != ABSTAIN) for x in outcome.labels]
            state, start = outcome.state, start + size
        assert labels == [1, 0, 1, 0, 1, 0]
        assert (state.answered, state.abstained, state.halted) == (3, 3, True)
        assert state.secret == Secret(5)

    def test_a_run_without_a_threshold_is_refused(self) -> None:
        with pytest.raises(GuaranteeBroken, match="no threshold") as caught:
            made(2.0, 1e-5, 3).release(State(), self.block([5]), SeededCoins(0))
        assert isinstance(caught.value, MaplError)

    @pytest.mark.statistical
    def test_frequencies_match_the_chances(self) -> None:
        """Given thresholds, 20,000 questions at each of 12 heights; false alarm below 12 x 4e-8."""
        found, n, coins = replace(made(2.0, 1e-5, 3), max_abstentions=10**9), 20_000, SeededCoins(3)
        for d in range(12, 36, 2):
            state = State(secret=Secret(14))
            counts = np.tile(np.array([[2 * d, 0, 0]]), (n, 1))
            chance = float(found.chances(Tallies(counts[:1]), state)[0, 0])
            passed = found.release(state, Tallies(counts), coins).state.answered
            assert abs(passed - n * chance) <= 5.5 * math.sqrt(n * chance * (1 - chance))

    @pytest.mark.statistical
    def test_frequencies_over_fresh_thresholds_match_the_average(self) -> None:
        """4,000 runs of one question at each of 4 distances; false alarm below 4 x 4e-8."""
        found, n, coins = made(2.0, 1e-5, 3), 4000, SeededCoins(4)
        for d in (15, 20, 25, 30):
            block = Tallies(np.array([[2 * d, 0, 0]]))
            chance = float(found.chances(block, State())[0, 0])
            passed = sum(found.release(found.start(coins), block, coins).state.answered for _ in range(n))
            assert abs(passed - n * chance) <= 5.5 * math.sqrt(n * chance * (1 - chance))

    def test_starts_are_the_law_of_the_threshold(self) -> None:
        found = made(2.0, 1e-5, 3)
        starts = found.starts()
        assert sum(w for w, _ in starts) == pytest.approx(1, abs=1e-14)
        mean = sum(w * s.secret.value for w, s in starts if s.secret)
        assert mean == pytest.approx(found.centre, abs=1e-9)
        weighted = sum(w * found.chances(Tallies(np.array([[50, 0, 0]])), s) for w, s in starts)
        assert weighted == pytest.approx(found.chances(Tallies(np.array([[50, 0, 0]])), State()))

    def test_chance_if_unanimous_is_that_of_a_class_without_luck(self) -> None:
        """Even teachers: the last class has the shorter distance, K/2 - 1."""
        found = made(2.0, 1e-5, 3)
        for teachers in (40, 41, 60):
            counts = Tallies(np.array([[0, 0, teachers]]))
            assert found.chance_if_unanimous(teachers, 3) == pytest.approx(found.chances(counts, State())[0, 2])


def test_the_failure_probability_is_read_off_the_table_that_is_drawn_from() -> None:
    found = made(2.0, 1e-5, 3)
    table = discrete_gaussian(found.sigma)
    drawn_below = sum(
        b - a
        for k, a, b in zip(range(-table.half_width, 0), [0, *table.numerators()], table.numerators(), strict=False)
        if found.centre + k < 0
    )
    assert drawn_below / 2**128 <= found.total.delta <= drawn_below / 2**128 * (1 + 1e-6) + 1e13 * DEVIATION
