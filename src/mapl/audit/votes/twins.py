"""Broken twins: real mechanisms with one well-known mistake each. An audit that lets one pass is no audit.

A twin keeps the claims of the honest mechanism and runs another law, which is the honest code but for one detail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from mapl.accounting.hockey_stick import gaussian_delta
from mapl.audit.votes.altered import Altered
from mapl.audit.votes.histograms import Law
from mapl.errors import InvalidParameter
from mapl.mechanisms import AnyMechanism
from mapl.mechanisms.mechanism import by_label
from mapl.mechanisms.papers.lzcw21_gaussian import LZCW21Gaussian
from mapl.mechanisms.papers.sparse_vector import SparseVector
from mapl.mechanisms.papers.stable_once import StableOnce
from mapl.mechanisms.single.exponential_vote import ExponentialVote, falling_weights
from mapl.mechanisms.single.laplace_max import LaplaceMax
from mapl.mechanisms.tables.argmax_laws import GaussianLaw
from mapl.mechanisms.tables.rungs import Rungs
from mapl.mechanisms.votes.confident_max import ConfidentMax
from mapl.mechanisms.votes.ladder import Ladder
from mapl.mechanisms.votes.ladder_then_link import LadderThenLink
from mapl.mechanisms.votes.ladder_then_max import LadderThenMax
from mapl.mechanisms.votes.noisy_max import NoisyMax
from mapl.mechanisms.votes.threshold_ladder import ThresholdLadder
from mapl.noise import ONE, Coins, NoiseTable, discrete_gaussian, discrete_laplace
from mapl.noise.tables import GUIDE_BITS
from mapl.parameters import spell
from mapl.types import Floats, Outcome, Secret, State, Tallies


@dataclass(frozen=True)
class MechanismTwin:
    """What is claimed, and what runs instead."""

    claims: AnyMechanism
    law: Law


@dataclass(frozen=True)
class Mistake:
    """A mistake by name: what is wrong, whom it can befall, and how to make it."""

    summary: str
    victims: tuple[type, ...]
    make: Callable[[Any], MechanismTwin]


class GapDistance(Altered):
    """Take the gap minus one for the distance, as printed in BTT18: a moved vote changes it by two."""

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        return self.inner.release(state, self._measured(block), coins)

    def chances(self, block: Tallies, state: State) -> Floats:
        return self.inner.chances(self._measured(block), state)

    @staticmethod
    def _measured(block: Tallies) -> Tallies:
        two_best = np.sort(block.counts.astype(np.int64), axis=1)[:, -2:]
        return Tallies(block.counts, [(block.values, np.maximum(two_best[:, 1] - two_best[:, 0] - 1, 0))])


class Refunding(Altered):
    """Give the budget of an abstention back, since "nothing was answered"."""

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        outcome = self.inner.release(state, block, coins)
        refunded = replace(outcome.state, abstained=state.abstained, halted=state.halted)
        return replace(outcome, state=refunded) if outcome.state.abstained > state.abstained else outcome


def gap_distance(honest: AnyMechanism) -> MechanismTwin:
    return MechanismTwin(honest, GapDistance(honest))


def refund(honest: AnyMechanism) -> MechanismTwin:
    return MechanismTwin(honest, Refunding(honest))


def half_noise(honest: Any) -> MechanismTwin:
    noise = {f.name for f in fields(honest)} & {"sigma", "sigma_test", "scale"}
    return MechanismTwin(honest, replace(honest, **{name: getattr(honest, name) / 2 for name in noise}))


class HalfThresholdNoise(SparseVector):
    """Draw the threshold with half of the noise."""

    @cached_property
    def threshold_noise(self) -> NoiseTable:
        return discrete_laplace(self.scale / 2)


LARGEST_WORD = np.uint64((1 << 64) - 1)
NO_NOISE = NoiseTable(
    kind="none",
    scale=0.0,
    half_width=1,
    high=np.array([0, LARGEST_WORD], dtype=np.uint64),  # zero, up to one part in 2**128
    low=np.array([0, LARGEST_WORD], dtype=np.uint64),
    guide=np.full(1 << GUIDE_BITS, -1, dtype=np.int64),
    deviation=0.0,
)


class NoThresholdNoise(SparseVector):
    """Compare with the bare threshold: a broken sparse vector in the list of Lyu, Su and Li (2017)."""

    @cached_property
    def threshold_noise(self) -> NoiseTable:
        return NO_NOISE


def _with_thresholds(kind: type[SparseVector], honest: SparseVector) -> SparseVector:
    return kind(honest.scale, honest.threshold, honest.epochs, honest.max_questions, honest.order)


def half_threshold_noise(honest: SparseVector | ThresholdLadder) -> MechanismTwin:
    if isinstance(honest, ThresholdLadder):
        return MechanismTwin(honest, replace(honest, sigma=honest.sigma / 2))
    return MechanismTwin(honest, _with_thresholds(HalfThresholdNoise, honest))


def no_threshold_noise(honest: SparseVector) -> MechanismTwin:
    return MechanismTwin(honest, _with_thresholds(NoThresholdNoise, honest))


def extra_abstention(honest: Any) -> MechanismTwin:
    """Halt one abstention late: ``c <= T`` where ``c < T`` was paid for."""
    if isinstance(honest, SparseVector):
        return MechanismTwin(honest, replace(honest, epochs=honest.epochs + 1))
    if isinstance(honest, (LadderThenMax, LadderThenLink)):
        ladder = replace(honest.ladder, max_abstentions=honest.max_abstentions + 1)
        return MechanismTwin(honest, replace(honest, ladder=ladder))
    return MechanismTwin(honest, replace(honest, max_abstentions=honest.max_abstentions + 1))


def one_order(honest: Ladder) -> MechanismTwin:
    """Build the table with condition (L) in one order only: data over neighbour, never neighbour over data."""
    first = int(honest.rungs.numerators[0])
    odds = [math.log((ONE - first) / first)]  # ln y/(1-y)
    while len(odds) < len(honest.rungs):
        # (L) with the lower rung in the numerator holds down to one point, and fails below it.
        low, high = odds[-1] - 80.0, odds[-1]
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (low, middle) if _excess(odds[-1], middle, honest) <= 0 else (middle, high)
        odds.append(high)
    numerators = [int(ONE / (1 + math.exp(t))) for t in odds]
    return MechanismTwin(honest, replace(honest, rungs=Rungs(np.array(numerators, dtype=np.int64))))


def _excess(x: float, z: float, ladder: Ladder) -> float:
    """Return the left side of (L) minus one, for abstention probabilities given by log-odds."""
    a = ladder.order
    passing = -a * np.logaddexp(0, x) - (1 - a) * np.logaddexp(0, z)
    abstaining = -a * np.logaddexp(0, -x) - (1 - a) * np.logaddexp(0, -z) - ladder.price
    return float(np.expm1(min(passing, 700.0)) + math.exp(min(abstaining, 700.0)))


def round_table_up(honest: Ladder) -> MechanismTwin:
    """Store the table with 31 bits, rounded to the next number up."""
    coarse = 1 << 31
    numerators = np.minimum(-(-honest.rungs.numerators // coarse) * coarse, ONE)
    return MechanismTwin(honest, replace(honest, rungs=Rungs(numerators)))


def high_first_rung(honest: Ladder | StableOnce) -> MechanismTwin:
    """Let a tied question pass as often as the next rung does."""
    numerators = honest.rungs.numerators.copy()
    numerators[0] = numerators[1]
    return MechanismTwin(honest, replace(honest, rungs=Rungs(numerators)))


def softmax(honest: ExponentialVote) -> MechanismTwin:
    """Weigh by e^(epsilon n) instead of e^(epsilon n / 2), as in facebookresearch/private_prediction."""
    steep = falling_weights(2 * honest.epsilon_each, int(honest.weights[0]), len(honest.weights))
    return MechanismTwin(honest, replace(honest, weights=steep))


@dataclass(frozen=True)
class ReusedNoise(NoisyMax):
    """Draw the noise of two counts once and add it to every question."""

    def start(self, coins: Coins) -> State:
        noise = coins.draw(discrete_gaussian(self.sigma), (2,))
        return State(secret=Secret(int(noise[1] - noise[0])))

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        asked = block.first(0 if state.halted else self.max_answers - state.answered)
        labels = self._labels(asked, state) if len(asked) else np.empty(0, dtype=np.int32)
        halted = state.answered + len(asked) >= self.max_answers
        return Outcome(labels, state.after(len(asked), 0, halted=halted, secret=state.secret))

    def chances(self, block: Tallies, state: State) -> Floats:
        return by_label(self._labels(block, state), np.ones(len(block)), block.n_classes)

    @staticmethod
    def _labels(block: Tallies, state: State) -> Any:
        noise = 0 if state.secret is None else state.secret.value
        lead = block.counts[:, 1].astype(np.int64) - block.counts[:, 0].astype(np.int64)
        return (lead + noise > 0).astype(np.int32)

    def starts(self) -> list[tuple[float, State]]:
        law = GaussianLaw.beyond(self.sigma, math.ceil(9 * self.sigma))
        weights = np.convolve(law.point, law.point)
        return [(float(w), State(secret=Secret(k - 2 * law.width))) for k, w in enumerate(weights)]


def reused_noise(honest: NoisyMax) -> MechanismTwin:
    if honest.n_classes != 2:
        raise InvalidParameter(
            f"The twin with reused noise is made for 2 classes; audit it with {spell('classes', '2')}."
        )
    return MechanismTwin(honest, ReusedNoise(**{f.name: getattr(honest, f.name) for f in fields(honest)}))


class ContinuousPrice(LZCW21Gaussian):
    """Price one noisy comparison by the exact formula for continuous noise."""

    def epsilon(self, loss_of: State | None, delta: float) -> float:
        low, high = 0.0, 40.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (low, middle) if gaussian_delta(1 / self.sigma, middle) <= delta else (middle, high)
        return high


def continuous_price(honest: LZCW21Gaussian) -> MechanismTwin:
    """Take the noise, at or a little above what the continuous formula asks for, where integers exceed it most."""
    if honest.n_classes != 2:
        raise InvalidParameter(
            f"The twin with a continuous price is made for 2 classes; audit it with {spell('classes', '2')}."
        )
    epsilon, delta = honest.promised.epsilon, honest.promised.delta
    low, high = 0.1, honest.sigma
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(1 / middle, epsilon) <= delta else (middle, high)
    candidates = [
        ContinuousPrice(high * (1 + extra), 2, 1, honest.promised) for extra in np.linspace(1e-6, 0.5, 200)
    ]
    worst = max(candidates, key=lambda c: _true_delta(c.sigma, c.epsilon(None, delta)))
    return MechanismTwin(worst, worst)


def _true_delta(sigma: float, epsilon: float) -> float:
    """Return delta of one discrete Gaussian count that moves by one; comparisons reach all of it."""
    law = GaussianLaw.beyond(sigma, math.ceil(9 * sigma))
    upper = np.cumsum(law.point[::-1])[::-1]
    return float((upper[:-1] - math.exp(epsilon) * upper[1:]).max())


MEASURES_DISTANCE = (Ladder, ThresholdLadder, StableOnce, SparseVector)
TWINS: dict[str, Mistake] = {
    "gap-distance": Mistake("distance gap - 1, which moves by two", MEASURES_DISTANCE, gap_distance),
    "half-noise": Mistake(
        "half of the noise that is paid for", (NoisyMax, ConfidentMax, LaplaceMax, LZCW21Gaussian), half_noise
    ),
    "half-threshold-noise": Mistake(
        "half of the threshold's noise", (ThresholdLadder, SparseVector), half_threshold_noise
    ),
    "no-threshold-noise": Mistake("a sparse vector with a bare threshold", (SparseVector,), no_threshold_noise),
    "extra-abstention": Mistake(
        "halts one abstention late",
        (Ladder, ThresholdLadder, LadderThenMax, LadderThenLink, SparseVector),
        extra_abstention,
    ),
    "one-order": Mistake("a table private in one direction only", (Ladder,), one_order),
    "rounded-up": Mistake("a table rounded up", (Ladder,), round_table_up),
    "high-first-rung": Mistake("ties answered too often", (Ladder, StableOnce), high_first_rung),
    "softmax": Mistake("softmax of epsilon times the counts", (ExponentialVote,), softmax),
    "continuous-price": Mistake(
        "discrete noise at the price of continuous noise", (LZCW21Gaussian,), continuous_price
    ),
    "reused-noise": Mistake("one noise for all questions", (NoisyMax,), reused_noise),
    "refund": Mistake("abstentions given back", (Ladder, LadderThenMax, LadderThenLink), refund),
}


def twin_of(name: str, honest: AnyMechanism) -> MechanismTwin:
    """Make a broken twin of a mechanism by the name of its mistake."""
    if name not in TWINS:
        raise InvalidParameter(f"There is no twin {name!r}. Choose one of: {', '.join(TWINS)}.")
    mistake = TWINS[name]
    if not isinstance(honest, mistake.victims):
        fitting = [key for key, other in TWINS.items() if isinstance(honest, other.victims)]
        raise InvalidParameter(f"{honest.name} has no twin {name}; it has: {', '.join(fitting) or 'none'}.")
    return mistake.make(honest)
