"""The teachers' mean error rate, released with a share of the budget: BTT18, Remark 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Parameters
from mapl.noise import DEVIATION, ONE, Coins, NoiseTable, discrete_laplace
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limit
from mapl.release.spend import RELEASED, Decision, first_entry, spend_once
from mapl.types import finite_positive, positive_integer

FINEST = 100
"""Rates are counted in hundredths if the noise table allows; finer steps would drown in the noise."""
WIDEST = 2_000.0
"""The largest scale of noise that is tabulated in about a second."""


@dataclass(frozen=True)
class ErrorEstimate:
    """Release the sum of all teachers' error rates, in whole steps of 1/G, with discrete Laplace noise.

    Each teacher keeps part of its own shard out of its training and counts its errors there. One unit sits in one
    shard, so it moves one teacher's part, by at most G: that is the sensitivity of the sum.

    Parameters
    ----------
    epsilon
        What the release costs.
    n_teachers
        K, the number of parts.
    grain
        G: a teacher's part is a whole number from 0 (never wrong) to G (always wrong).
    scale
        Of the noise, at least G / epsilon.

    Notes
    -----
    *Guarantee.* Pure epsilon-differential privacy when one teacher's part changes arbitrarily, so for every
    adjacency under which one unit reaches one shard. Proof: docs/proofs/error-estimate.md.
    """

    epsilon: float
    n_teachers: int
    grain: int
    scale: float

    name: ClassVar[str] = "error-estimate"

    @classmethod
    def for_task(cls, epsilon: float, n_teachers: int) -> Self:
        """Take the finest steps whose noise can be tabulated, and round the noise up."""
        finite_positive(epsilon=epsilon)
        positive_integer(n_teachers=n_teachers)
        grain = min(FINEST, int(WIDEST * epsilon))
        if grain < 1:
            raise InvalidParameter(
                f"epsilon of the error estimate is {epsilon:g}; it needs at least {1 / WIDEST:g}. Give it a larger "
                "share of the budget, or do without it."
            )
        scale = max(grain / epsilon, 0.1)
        while Fraction(grain) > Fraction(epsilon) * Fraction(scale):
            scale = math.nextafter(scale, math.inf)
        return cls(epsilon, n_teachers, grain, scale)

    def __post_init__(self) -> None:
        if Fraction(self.grain) > Fraction(self.epsilon) * Fraction(self.scale):
            raise GuaranteeBroken(
                f"Noise of scale {self.scale:g} does not hide a change by {self.grain} at epsilon "
                f"{self.epsilon:g}; the scale must be at least their quotient. Use `ErrorEstimate.for_task`."
            )
        # Condition (2) of the proof: the stray numbers have to outweigh the table's deviation.
        if self.most + 1 > math.tanh(self.epsilon / 2) / (ONE * DEVIATION) * (1 - 1e-9):
            raise InvalidParameter(
                f"There are {self.n_teachers} teachers at epsilon {self.epsilon:g}; an error estimate takes fewer."
            )

    @property
    def most(self) -> int:
        """The sum of the parts if every teacher were always wrong."""
        return self.grain * self.n_teachers

    @property
    def parameters(self) -> Parameters:
        return {
            "epsilon": self.epsilon,
            "teachers": self.n_teachers,
            "grain": self.grain,
            "scale": self.scale,
            "max_answers": 1,
            "max_abstentions": 0,
        }

    @property
    def total(self) -> Loss:
        return Loss.pure(self.epsilon)

    @cached_property
    def noise(self) -> NoiseTable:
        return discrete_laplace(self.scale)

    def part(self, wrong: int, held_out: int) -> int:
        """Return a teacher's part, its error rate in steps of 1/G; without a hold-out it counts as always wrong."""
        if held_out == 0:
            return self.grain
        return min(self.grain, (2 * self.grain * int(wrong) + int(held_out)) // (2 * int(held_out)))

    def release(self, parts: NDArray[np.int64], coins: Coins) -> int:
        """Return the noisy sum of the parts, kept within 0 and G K.

        With a chance of 2^-62 a uniform number is returned instead. That makes every number possible under every
        data set, also where the noise table ends, and so the guarantee pure.
        """
        if parts.shape != (self.n_teachers,) or parts.dtype.kind not in "iu":
            raise GuaranteeBroken(
                f"An error estimate needs one whole number for each of {self.n_teachers} teachers."
            )
        if parts.min() < 0 or parts.max() > self.grain:
            raise GuaranteeBroken(f"A teacher's part lies outside 0 .. {self.grain}; the noise would not cover it.")
        noisy = int(parts.sum(dtype=np.int64)) + int(coins.draw(self.noise, (1,))[0])
        anything = int(coins.below(np.array([self.most + 1]))[0])
        stray = bool(coins.flip(np.array([1]))[0])
        return anything if stray else min(max(noisy, 0), self.most)

    def rate(self, released: int) -> float:
        """Read a released sum as the teachers' mean error rate."""
        return min(max(released / self.most, 0.0), 1.0)

    def law(self, total: int) -> list[Fraction]:
        """Return the exact chances of 0, ..., G K being released when the parts sum to `total`.

        Read off the integers that `release` decides with.
        """
        ends = [0, *self.noise.numerators(), 1 << 128]
        half, last = self.noise.half_width, len(ends) - 1

        def below(k: int) -> int:
            """Chance of noise at most k, over 2^128."""
            return ends[min(max(k + half + 1, 0), last)]

        edges = [0, *(below(y - total) for y in range(self.most)), 1 << 128]
        anything = Fraction(1, ONE * (self.most + 1))
        return [
            Fraction((edges[y + 1] - edges[y]) * (ONE - 1), ONE << 128) + anything for y in range(self.most + 1)
        ]


def estimate_error(
    estimate: ErrorEstimate, parts: NDArray[np.int64], coins: Coins, *, ledger: Ledger, stage: str = "error"
) -> int:
    """Release an error estimate once: recorded before it is returned, and on a resumed run only read."""
    start = first_entry(stage, estimate.name, estimate.parameters, coins, limit=Limit(1, 0))
    recorded = spend_once(ledger, start, lambda: Decision.of_value(estimate.release(parts, coins)))
    return int(recorded.told()[RELEASED])


def hard_questions(rate: float, n_queries: int, beta: float = 0.05) -> int:
    """Return T, how many of m questions more than a third of the teachers may get wrong: BTT18, Theorem 3.2.

    T = 3 (r m + sqrt(r m ln(m / beta) / 2)) for teachers of error rate r = gamma + alpha. With that cut-off, and
    enough teachers, BTT18's Algorithm 2 answers all m questions with probability at least 1 - 2 beta. The theorem
    takes r as a bound on every teacher's rate; its counting argument (Lemma 3.3) needs no more than the mean over
    the teachers. Nothing here concerns privacy: a T that is too small only halts a run early.

    Examples
    --------
    >>> hard_questions(0.02, 1000)
    90
    """
    positive_integer(n_queries=n_queries)
    if not 0 <= rate <= 1 or not 0 < beta < 1:
        raise InvalidParameter(
            f"The error rate is {rate} and beta {beta}; they must lie in [0, 1] and between 0 and 1."
        )
    wrong = rate * n_queries
    hard = math.ceil(3 * (wrong + math.sqrt(wrong * math.log(n_queries / beta) / 2)))
    return min(max(hard, 1), n_queries)
