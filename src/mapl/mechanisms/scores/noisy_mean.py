"""Noisy mean: the sum of the teachers' scores with rounded Gaussian noise; every question is answered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import Loss, smallest_real
from mapl.accounting.gaussian import certify_gaussian
from mapl.accounting.hockey_stick import gaussian_delta
from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Parameters
from mapl.mechanisms.scores.scores import TOP, Scores
from mapl.mechanisms.tables.argmax_price import MOST_EPSILON, SAMPLING, epsilon_if_covered, usable
from mapl.mechanisms.tables.noise_law import masses
from mapl.noise import Coins, NoiseTable, rounded_gaussian
from mapl.types import Budget, Floats, Integers, Outcome, State, finite_positive, positive_integer

FINEST = 100
"""Scores are counted in hundredths of their range if the noise table allows; finer steps would drown in noise."""
WIDEST = 2_500.0
"""The largest noise that is tabulated in about a second."""
ROUNDING_SEED = 1805
LARGEST = (1 << 31) - 1


@dataclass(frozen=True, slots=True, repr=False)
class Sums:
    """The sum of all teachers' parts at each question: private, and silent about it."""

    totals: Integers
    n_teachers: int
    n_classes: int

    def part(self, start: int, stop: int) -> Sums:
        return Sums(self.totals[start:stop], self.n_teachers, self.n_classes)

    def __len__(self) -> int:
        return len(self.totals)

    def __repr__(self) -> str:
        return f"Sums({len(self)} questions, private)"


@dataclass(frozen=True)
class NoisyMean:
    """Publish the sum of the teachers' scores, in whole steps, plus rounded Gaussian noise.

    Parameters
    ----------
    sigma
        Scale of the noise, in steps.
    grain
        G: a teacher's part is a whole number from 0 to G. Rounding up or down follows public random numbers, so
        that sums are right on average however coarse the steps are.
    low, high
        Scores are clipped to this public range first; G steps span it.
    n_teachers
        K, the number of parts of a sum.
    max_answers
        The run halts after this many answers.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for `max_answers` adaptively chosen questions.
    Adjacency: one teacher changes its scores arbitrarily; unit: one teacher, hence every record of its shard. A
    whole number plus a rounded normal variable is a rounded Gaussian mechanism, so all answers together are
    G sqrt(n) / sigma - Gaussian differentially private. Proof: docs/proofs/soft-labels.md.
    """

    sigma: float
    grain: int
    n_teachers: int
    max_answers: int
    low: int = 0
    high: int = TOP

    name: ClassVar[str] = "noisy-mean"

    @classmethod
    def for_budget(
        cls, budget: Budget, n_teachers: int, *, max_answers: int, low: int = 0, high: int = TOP
    ) -> Self:
        """Take the finest steps whose noise can be tabulated, and the least noise that passes the certificate."""
        positive_integer(max_answers=max_answers)
        sigma, grain = finest_steps(budget, max_answers, max_answers)
        return cls(sigma, grain, n_teachers, max_answers, low, high).certified(budget)

    def __post_init__(self) -> None:
        finite_positive(sigma=self.sigma)
        positive_integer(grain=self.grain, n_teachers=self.n_teachers, max_answers=self.max_answers)
        if not 0 <= self.low < self.high <= TOP:
            raise InvalidParameter(
                f"Scores are clipped to {self.low} .. {self.high}; give a range within 0 .. {TOP}, lowest first."
            )
        if self.n_classes > LARGEST:
            raise InvalidParameter(
                f"{self.n_teachers} teachers have sums beyond {LARGEST}; train fewer, or take coarser steps."
            )

    def moves(self, answers: int) -> int:
        """How far one teacher moves so many answers at most, squared, in ranges."""
        return answers

    def certified(self, budget: Budget) -> Self:
        """Return it if it passes its certificate."""
        if not self.certify(budget):
            raise GuaranteeBroken("The noise did not pass its exact certificate; nothing was released.")
        return self

    def certify(self, budget: Budget) -> bool:
        """Verify the price in ball arithmetic: delta of the Gaussian mechanism, plus what sampling costs."""
        if budget.epsilon > MOST_EPSILON:  # where SAMPLING covers less than sampling costs
            return False
        square = Fraction(self.grain) ** 2 * self.moves(self.max_answers) / Fraction(self.sigma) ** 2
        extra = SAMPLING * self.max_answers
        return certify_gaussian(square, epsilon=budget.epsilon, delta=budget.delta, extra=extra)

    @property
    def parameters(self) -> Parameters:
        return {
            "sigma": self.sigma,
            "grain": self.grain,
            "low": self.low,
            "high": self.high,
            "max_answers": self.max_answers,
            "max_abstentions": 0,
        }

    @cached_property
    def noise(self) -> NoiseTable:
        return rounded_gaussian(self.sigma)

    @property
    def most(self) -> int:
        """The sum if every teacher is certain of the second class."""
        return self.grain * self.n_teachers

    @property
    def n_classes(self) -> int:
        """How many different numbers may be published: from the lowest noise to the highest sum with noise."""
        return self.most + 2 * int(self.sigma * 12.5 + 2) + 1

    @property
    def least(self) -> int:
        """What a published 0 stands for."""
        return -int(self.sigma * 12.5 + 2)

    def parts(self, scores: NDArray[np.integer[Any]], dice: Integers) -> Integers:
        """Return whole parts from 0 to G of scores; public `dice` from 0 below the range decide how to round."""
        span = self.high - self.low
        clipped = np.clip(scores.astype(np.int64), self.low, self.high) - self.low
        return np.asarray((clipped * self.grain + dice) // span)

    def sums(self, scores: Scores) -> Sums:
        """Add up the parts of all teachers at each question."""
        if scores.n_teachers != self.n_teachers:
            raise GuaranteeBroken(
                f"A noisy mean was priced for {self.n_teachers} teachers and there are {scores.n_teachers}; "
                "calibrate it for these."
            )
        dice = np.random.default_rng(ROUNDING_SEED)
        totals = [
            int(self.parts(row, dice.integers(0, self.high - self.low, len(row))).sum()) for row in scores.marks
        ]
        return Sums(np.array(totals, dtype=np.int64), self.n_teachers, self.n_classes)

    def start(self, coins: Coins) -> State:
        return State()

    def release(self, state: State, block: Sums, coins: Coins) -> Outcome:
        left = 0 if state.halted else max(self.max_answers - state.answered, 0)
        totals = block.totals[:left]
        if totals.size and not (totals.min() >= 0 and totals.max() <= self.most):
            raise GuaranteeBroken(f"A sum of scores lies outside 0 .. {self.most}; the noise would not cover it.")
        noisy = totals + coins.draw(self.noise, totals.shape) - self.least
        return Outcome(noisy.astype(np.int32), state.after(len(noisy), 0, halted=len(noisy) >= left))

    def read(self, published: NDArray[np.integer[Any]]) -> Floats:
        """Read published numbers as mean probabilities; noise takes some below 0 or above 1."""
        share = (published.astype(np.float64) + self.least) / self.most
        return np.asarray((self.low + share * (self.high - self.low)) / TOP)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of one mean."""
        return self.sigma / self.most * (self.high - self.low) / TOP

    def chances(self, block: Sums, state: State) -> Floats:
        law = masses(self.noise)
        laid_out = np.zeros((len(block), self.n_classes + 1))
        for row, total in zip(laid_out, block.totals, strict=True):
            first = int(total) - self.noise.half_width - self.least
            row[first : first + len(law)] = law
        return laid_out

    @property
    def per_answer(self) -> Loss:
        """The loss of one answer, in Renyi divergences."""
        loss = Loss.zcdp(self.grain**2 / (2 * self.sigma**2) * (1 + 1e-12))
        return Loss(loss.divergences, SAMPLING)

    @property
    def total(self) -> Loss:
        return self.per_answer * self.max_answers

    def spent(self, state: State) -> Loss:
        return self.per_answer * state.answered

    def epsilon(self, loss_of: State | None, delta: float) -> float:
        """Return epsilon by the exact curve of the Gaussian mechanism."""
        answers = self.max_answers if loss_of is None else loss_of.answered
        shift, rest = self.grain * math.sqrt(self.moves(answers)) / self.sigma, delta - SAMPLING * answers
        if not answers:
            return 0.0
        if rest <= 0:
            return math.inf
        low, high = 0.0, 1.0
        while gaussian_delta(shift, high) > rest * (1 - 1e-9):
            low, high = high, 2 * high
            if high > 1e3:
                return math.inf
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (low, middle) if gaussian_delta(shift, middle) <= rest * (1 - 1e-9) else (middle, high)
        return epsilon_if_covered(high)

    def required_distance(self, probability: float) -> int | None:
        return None

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        return 1.0


def finest_steps(budget: Budget, moves: int, numbers: int) -> tuple[float, int]:
    """Return the noise and the steps of a range: the finest whose noise can be tabulated.

    Parameters
    ----------
    moves
        How far one teacher moves all numbers at most, squared, in ranges.
    numbers
        How many are published.
    """
    if budget.delta == 0:
        raise InvalidParameter("delta is 0; Gaussian noise needs a positive delta, for example 1e-6.")
    usable(budget, numbers)
    per_step = smallest_real(
        lambda ratio: (
            gaussian_delta(math.sqrt(moves) / ratio, budget.epsilon)
            <= budget.delta * (1 - 1e-6) - SAMPLING * numbers
        ),
        1e-3,
        1.0,
    )
    grain = min(FINEST, int(WIDEST / per_step))
    if grain < 1:
        raise CannotCalibrate(
            f"{numbers} noisy means within epsilon {budget.epsilon:g} at delta {budget.delta:g} need noise of "
            f"{per_step:.0f} whole scores, and tables reach {WIDEST:.0f}; ask fewer questions, or raise the budget."
        )
    return max(grain * per_step, 0.5), grain
