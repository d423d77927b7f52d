"""Noisy max: calibration to the private side, exact law, limits, and both accountings against exact attacks."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from numpy.typing import NDArray

from mapl.accounting.hockey_stick import gaussian_delta
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.tables import argmax_price
from mapl.mechanisms.tables.argmax_laws import LeadBox, three_class_pairs, two_class_pairs
from mapl.mechanisms.tables.argmax_price import SAMPLING, argmax_growth
from mapl.mechanisms.votes.noisy_max import NoisyMax
from mapl.noise import DEVIATION, SeededCoins
from mapl.types import ABSTAIN, Budget, State, Tallies


def task(epsilon: float = 2.0, delta: float = 1e-5, *, classes: int = 2, queries: int = 1000) -> Task:
    return Task(Budget(epsilon, delta), 250, classes, queries)


def made(sigma: float, answers: int, classes: int = 2, epsilon: float = 2.0, delta: float = 1e-5) -> NoisyMax:
    return NoisyMax(sigma, answers, classes, delta, epsilon)


@pytest.mark.parametrize(("queries", "least"), [(1000, 162.3), (30_000, 888.9), (40_000, 1286.4)])
def test_the_noise_grows_with_the_root_of_the_questions_up_to_the_widest_exact_price(
    queries: int, least: float
) -> None:
    found = NoisyMax.for_task(task(1.0, 1e-6, queries=queries))
    assert least < found.sigma < 1.001 * least
    assert found.total.epsilon(1e-6) <= 1.0  # and it is certified, whatever the search did


def repeated_attack(sigma: float, n: int, epsilon: float) -> float:
    """The exact delta of asking one tied question n times, for two classes: binomials, both directions."""
    p, q = two_class_pairs(sigma, LeadBox(3, 3))
    worst = 0.0
    k = np.arange(n + 1)
    choose = np.array([math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in k])
    for (first, _), (second, _) in itertools.chain(zip(p, q, strict=True), zip(q, p, strict=True)):
        log_p, log_q = (choose + k * math.log(x) + (n - k) * math.log1p(-x) for x in (first, second))
        worst = max(worst, float(np.maximum(np.exp(log_p) - np.exp(epsilon + log_q), 0).sum()))
    return worst


def three_class_attack(sigma: float, n: int, epsilon: float, pairs: int) -> float:
    """The exact delta of repeating one of the strongest three-class pairs n times: trinomials, both directions."""
    blocks = list(three_class_pairs(sigma, LeadBox(math.ceil(2 * sigma), math.ceil(2 * sigma))))
    p, q = (np.concatenate([b[side] for b in blocks]) for side in (0, 1))
    chosen = np.argsort(((p - q) ** 2 / q).sum(axis=1))[-pairs:]
    i, j = (k[np.add.outer(np.arange(n + 1), np.arange(n + 1)) <= n] for k in np.indices((n + 1, n + 1)))
    counts = np.stack([i, j, n - i - j], axis=1)
    log_factorial = np.array([math.lgamma(k + 1) for k in range(n + 1)])
    choose = log_factorial[n] - log_factorial[counts].sum(axis=1)
    worst = 0.0
    for a, b in itertools.chain(zip(p[chosen], q[chosen], strict=True), zip(q[chosen], p[chosen], strict=True)):
        log_p, log_q = (choose + counts @ np.log(law) for law in (a, b))
        worst = max(worst, float(np.maximum(np.exp(log_p) - np.exp(epsilon + log_q), 0).sum()))
    return worst


class TestCalibration:
    @pytest.mark.parametrize(
        ("epsilon", "delta", "classes", "answers"),
        [(0.5, 1e-6, 2, 1), (2.0, 1e-5, 2, 30), (1.0, 1e-9, 2, 1000), (8.0, 1e-3, 2, 5), (4.0, 1e-5, 3, 120)],
    )
    def test_it_ends_on_the_private_side(self, epsilon: float, delta: float, classes: int, answers: int) -> None:
        calibrated = NoisyMax.for_task(task(epsilon, delta, classes=classes, queries=answers))
        assert calibrated.max_answers == answers
        assert calibrated.fits()
        assert calibrated.epsilon(None, delta) <= epsilon
        assert calibrated.total.epsilon(delta) <= epsilon
        less = made(calibrated.sigma * 0.98, answers, classes, epsilon, delta)
        assert less.total.epsilon(delta) > epsilon

    @pytest.mark.parametrize(("epsilon", "answers"), [(2.0, 1), (8.0, 5), (4.0, 20)])
    def test_three_classes_get_no_more_noise_than_needed(self, epsilon: float, answers: int) -> None:
        """A margin on whole answers would make two of one: up to 30% too much noise."""
        sigma = NoisyMax.for_task(task(epsilon, classes=3, queries=answers)).sigma
        assert made(0.98 * sigma, answers, 3, epsilon).total.epsilon(1e-5) > epsilon

    def test_sigma_alone_counts_the_affordable_answers(self) -> None:
        calibrated = NoisyMax.for_task(task(queries=5000), sigma=20.0)
        n = calibrated.max_answers
        assert 0 < n < 5000
        assert calibrated.epsilon(None, 1e-5) <= 2
        assert not made(20.0, n + 1).fits()
        assert NoisyMax.for_task(task(queries=n - 3), sigma=20.0).max_answers == n - 3

    def test_given_answers_and_noise_must_fit(self) -> None:
        affordable = NoisyMax.for_task(task(queries=5000), sigma=20.0).max_answers
        assert NoisyMax.for_task(task(), sigma=20.0, max_answers=affordable).max_answers == affordable
        with pytest.raises(
            CannotCalibrate, match=f"affords {affordable} answers .* and {affordable + 1} were asked"
        ):
            NoisyMax.for_task(task(), sigma=20.0, max_answers=affordable + 1)

    def test_noise_that_affords_nothing_is_refused(self) -> None:
        with pytest.raises(CannotCalibrate, match="affords 0 answers"):
            NoisyMax.for_task(task(0.1, 1e-6), sigma=1.0)

    def test_settings_are_refused_by_name(self) -> None:
        with pytest.raises(InvalidParameter, match="delta is 0"):
            NoisyMax.for_task(task(2.0, 0.0))
        with pytest.raises(InvalidParameter, match="max_answers is 0"):
            NoisyMax.for_task(task(), max_answers=0)
        for sigma in (0.0, -1.0, math.nan, math.inf):
            with pytest.raises(InvalidParameter, match="sigma is"):
                NoisyMax.for_task(task(), sigma=sigma)

    @pytest.mark.parametrize("sigma", [0.01, 0.1])
    def test_hardly_any_noise_is_refused_without_a_warning(self, sigma: float) -> None:
        """Tails that underflow to zero must not be reached."""
        with pytest.raises((InvalidParameter, CannotCalibrate)):
            NoisyMax.for_task(task(), sigma=sigma)

    @pytest.mark.parametrize(("epsilon", "delta", "queries"), [(0.1, 1e-6, 10_000), (1.0, 1e-17, 1000)])
    def test_calibration_never_tabulates_enormous_laws(
        self, epsilon: float, delta: float, queries: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Wide noise is priced by the plain bound, and a delta that the samplers exceed is refused at once."""
        real = two_class_pairs

        def small(sigma: float, box: LeadBox) -> object:
            assert sigma <= argmax_price.MOST_SIGMA_TWO_CLASSES, f"tabulates the laws of sigma {sigma:g}"
            return real(sigma, box)

        monkeypatch.setattr(argmax_price, "two_class_pairs", small)
        argmax_price.argmax_loss.cache_clear()
        try:
            found = NoisyMax.for_task(task(epsilon, delta, queries=queries))
        except InvalidParameter as refusal:
            assert "noise draws need a delta above" in str(refusal)  # noqa: PT017
            return
        assert found.epsilon(None, delta) <= epsilon


class TestRelease:
    BLOCK = Tallies(np.tile(np.array([[40, 60, 0], [0, 0, 100]]), (10, 1)))

    def test_batch_blocks_and_online_halt_at_the_limit(self) -> None:
        found = made(3.0, 13, 3)
        for sizes in ([20], [5, 5, 5, 5], [1] * 20, [13, 7], [12, 1, 7]):
            state, coins, labels, start = found.start(SeededCoins(0)), SeededCoins(1), [], 0
            for size in sizes:
                outcome = found.release(state, Tallies(self.BLOCK.counts[start : start + size]), coins)
                state, start = outcome.state, start + size
                labels += outcome.labels.tolist()
                assert state.halted == (len(labels) == 13)
            assert len(labels) == 13
            assert state == State(answered=13, halted=True)
            assert ABSTAIN not in labels

    def test_a_halted_run_answers_nothing(self) -> None:
        outcome = made(3.0, 5, 3).release(State(answered=2, halted=True), self.BLOCK, SeededCoins(0))
        assert len(outcome.labels) == 0
        assert outcome.state.answered == 2

    def test_an_empty_block_changes_nothing(self) -> None:
        outcome = made(3.0, 5, 3).release(State(answered=2), self.BLOCK.first(0), SeededCoins(0))
        assert len(outcome.labels) == 0
        assert outcome.state == State(answered=2)

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.uint64])
    def test_small_and_unsigned_counts_do_not_wrap_around(self, dtype: type) -> None:
        """Counts near zero and near the type's end, with noise that goes below and beyond."""
        counts: NDArray[Any] = np.array([[0, 255], [255, 0]] * 50).astype(dtype)
        labels = made(4.0, 1000).release(State(), Tallies(counts), SeededCoins(2)).labels
        assert labels.tolist() == [1, 0] * 50
        assert labels.dtype == np.int32

    def test_chances_are_the_law_of_the_noise(self) -> None:
        """Three classes by direct enumeration of all three noises, lowest index first on ties."""
        sigma, width = 1.3, 9
        counts = np.array([[3, 3, 2], [0, 5, 3], [4, 4, 0]])
        w = np.arange(-width, width + 1)
        mass = np.exp(-(w**2) / (2 * sigma**2)) / np.exp(-(w**2) / (2 * sigma**2)).sum()
        joint = mass[:, None, None] * mass[None, :, None] * mass[None, None, :]
        found = made(sigma, 10, 3).chances(Tallies(counts), State())
        for row, law in zip(counts, found, strict=True):
            a, b, c = np.meshgrid(row[0] + w, row[1] + w, row[2] + w, indexing="ij")
            a_wins, b_wins = (a >= b) & (a >= c), (b > a) & (b >= c)
            expected = [joint[a_wins].sum(), joint[b_wins].sum(), joint[~(a_wins | b_wins)].sum(), 0.0]
            assert law == pytest.approx(expected, abs=1e-10)

    @pytest.mark.statistical
    def test_frequencies_match_the_chances(self) -> None:
        """12 cells of 20,000 draws each, seed fixed; false alarm below 12 x 4e-8 (5.5 deviations)."""
        n, coins = 20_000, SeededCoins(3)
        found = made(2.0, 10**6, 4)
        for row in ([5, 5, 5, 5], [6, 4, 5, 0], [0, 2, 2, 4]):
            counts = np.tile(np.array([row], dtype=np.uint16), (n, 1))
            labels = found.release(State(), Tallies(counts), coins).labels
            law = found.chances(Tallies(counts[:1]), State())[0]
            assert law.sum() == pytest.approx(1)
            for y in range(4):
                spread = math.sqrt(n * law[y] * (1 - law[y]))
                assert abs(np.count_nonzero(labels == y) - n * law[y]) <= 5.5 * spread

    def test_chance_if_unanimous_is_that_of_the_last_class(self) -> None:
        found = made(6.0, 10, 3)
        counts = np.array([[0, 0, 20]])
        assert found.chance_if_unanimous(20, 3) == pytest.approx(found.chances(Tallies(counts), State())[0, 2])
        assert found.required_distance(0.99) is None


class TestAccounting:
    def test_spent_counts_answers_only(self) -> None:
        found = made(30.0, 100)
        assert found.spent(State(answered=40)).divergences == (found.per_answer * 40).divergences
        assert found.epsilon(State(answered=100), 1e-5) == found.epsilon(None, 1e-5)
        assert found.epsilon(State(), 1e-5) == 0
        epsilons = [found.epsilon(State(answered=n), 1e-5) for n in range(0, 101, 7)]
        assert np.diff(epsilons).min() > 0

    def test_a_single_answer_is_priced_by_renyi_never_by_the_gaussian(self) -> None:
        """At sigma 2 the continuous Gaussian's delta is below the true one of a discrete shift: no bound."""
        found = made(2.0, 1, epsilon=3.0)
        assert found.accounting(1, 1e-5) == "Renyi"
        assert found.epsilon(None, 1e-5) == found.total.epsilon(1e-5)
        k = np.arange(-60, 61)
        mass = np.exp(-(k**2) / 8.0) / np.exp(-(k**2) / 8.0).sum()
        shifted = np.exp(-((k - 1) ** 2) / 8.0) / np.exp(-(k**2) / 8.0).sum()
        for epsilon in (2.04, 2.8):
            assert float(np.maximum(mass - math.exp(epsilon) * shifted, 0).sum()) > 1.2 * gaussian_delta(
                0.5, epsilon
            )
        # Small noise gets no hockey-stick certificate at all.
        assert argmax_growth(2.0, 2, 100, 2.0, 1e-5) is None
        for answers in (1, 5, 9, 10, 20):
            assert made(2.0, answers, epsilon=9.0).epsilon(None, 1e-5) == made(2.0, answers).total.epsilon(1e-5)

    @pytest.mark.parametrize(
        ("sigma", "n", "epsilon", "delta"),
        [
            (3.0, 12, 6.0, 1e-3),
            (10.0, 20, 2.0, 1e-5),
            (20.0, 80, 2.0, 1e-5),
            (40.0, 300, 2.0, 1e-5),
            (40.0, 1000, 4.0, 1e-5),
        ],
    )
    def test_exact_repetition_never_breaks_the_claim_and_comes_near(
        self, sigma: float, n: int, epsilon: float, delta: float
    ) -> None:
        found = made(sigma, n, epsilon=epsilon, delta=delta)
        claim = found.epsilon(None, delta)
        assert claim <= found.total.epsilon(delta)
        assert repeated_attack(sigma, n, claim) <= delta
        assert repeated_attack(sigma, n, 0.85 * claim) > delta

    @pytest.mark.parametrize(("sigma", "n"), [(6.0, 12), (10.0, 25), (12.0, 60)])
    def test_exact_repetition_of_three_class_pairs_never_breaks_the_claim(self, sigma: float, n: int) -> None:
        """Stronger than any histogram: the adversary also knows R, the best of the other noisy counts."""
        found = made(sigma, n, 3, epsilon=3.0)
        claim = found.epsilon(None, 1e-5)
        assert three_class_attack(sigma, n, claim, 12) <= 1e-5
        assert three_class_attack(sigma, n, 0.8 * claim, 12) > 1e-5

    def test_one_answer_against_the_exact_law(self) -> None:
        for sigma in (1.0, 2.0, 5.0):
            claim = made(sigma, 1, epsilon=50.0).epsilon(None, 1e-5)
            assert repeated_attack(sigma, 1, claim) <= 1e-5

    def test_hockey_stick_beats_renyi_for_many_answers(self) -> None:
        found = made(40.0, 300)
        assert found.accounting(300, 1e-5) == "hockey-stick"
        assert found.parameters["accounting"] == "hockey-stick"
        assert found.epsilon(None, 1e-5) < 0.97 * found.total.epsilon(1e-5)

    def test_reference_counts_for_two_classes(self) -> None:
        """THEORY.md section 3 (sigma, epsilon, Renyi, hockey-stick, impossible beyond)."""
        for sigma, epsilon, renyi, hockey_stick, most in ((40.0, 1.0, 75, 81, 93), (40.0, 2.0, 268, 302, 320)):
            total = NoisyMax.for_task(task(epsilon, queries=10**5), sigma=sigma).max_answers
            assert hockey_stick <= total <= most
            assert made(sigma, renyi, epsilon=epsilon).total.epsilon(1e-5) <= epsilon

    def test_ten_classes_at_sigma_forty(self) -> None:
        """The slow one: certified figures, and dp-accounting's exact Gaussian figure next to them."""
        thousand = made(40.0, 1000, 10, epsilon=4.0)
        ours = thousand.epsilon(None, 1e-5)
        assert ours <= 3.95
        assert thousand.total.epsilon(1e-5) <= 4.2
        # Gaussian noise on two moving counts is sensitivity sqrt(2); publishing the argmax costs less.
        theirs = pld.from_gaussian_mechanism(40 / math.sqrt(2), value_discretization_interval=1e-3)
        gaussian = theirs.self_compose(1000).get_epsilon_for_delta(1e-5)
        assert gaussian == pytest.approx(4.98, abs=0.01)
        assert ours < 0.8 * gaussian

        assert made(40.0, 265, 10).total.epsilon(1e-5) <= 2
        assert made(40.0, 300, 10).fits()
        assert repeated_attack(40.0, 1000, ours) <= 1e-5

    def test_the_samplers_share_of_delta_is_paid(self) -> None:
        found = made(10.0, 50, 3)
        assert found.total.delta == pytest.approx(50 * 3 * SAMPLING)
        assert DEVIATION * (1 + math.exp(27)) <= SAMPLING
        assert math.isinf(found.epsilon(None, found.total.delta / 2))

    def test_nothing_is_claimed_beyond_what_sampling_covers(self) -> None:
        """Beyond epsilon 27 a draw costs (1 + e^epsilon) DEVIATION, more than SAMPLING."""
        assert math.isinf(made(0.5, 4, 2, epsilon=60.0, delta=1e-5).epsilon(None, 1e-5))
        with pytest.raises(InvalidParameter, match="calibrated up to 27"):
            NoisyMax.for_task(task(30.0, 1e-5))
