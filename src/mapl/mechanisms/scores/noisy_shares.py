"""Noisy shares: for every class the sum of the teachers' shares with rounded Gaussian noise; all are answered."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Parameters
from mapl.mechanisms.scores.noisy_mean import ROUNDING_SEED, NoisyMean, Sums, finest_steps
from mapl.mechanisms.scores.scores import TOP, Scores
from mapl.mechanisms.scores.shares import Shares
from mapl.mechanisms.tables.argmax_price import SAMPLING
from mapl.types import Budget, Floats, Integers, State, positive_integer


@dataclass(frozen=True)
class NoisyShares(NoisyMean):
    """Publish, class by class, the sum of the teachers' shares in whole steps, plus rounded Gaussian noise.

    A question has C numbers, one after the other, so `max_answers` is C times the questions, and so is what the
    ledger counts. A teacher's parts are whole numbers that add up to `grain`, whatever it says.

    Parameters
    ----------
    n_shares
        C, the number of classes.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for adaptively chosen questions, `max_answers` / C of them.
    Adjacency: one teacher changes its shares arbitrarily; unit: one teacher, hence every record of its shard.
    Two points whose parts add up to G are at most sqrt(2) G apart, so that all n questions together are
    G sqrt(2 n) / sigma - Gaussian differentially private. Proof: docs/proofs/soft-labels.md, section 3.
    """

    n_shares: int = field(kw_only=True)

    name: ClassVar[str] = "noisy-shares"

    @classmethod
    def for_questions(cls, budget: Budget, n_teachers: int, *, n_questions: int, n_shares: int) -> Self:
        """Take the finest steps whose noise can be tabulated, and the least noise that passes the certificate."""
        positive_integer(n_questions=n_questions, n_shares=n_shares)
        numbers = n_questions * n_shares
        sigma, grain = finest_steps(budget, 2 * n_questions, numbers)
        return cls(sigma, grain, n_teachers, numbers, n_shares=n_shares).certified(budget)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_shares < 2 or self.max_answers % self.n_shares or (self.low, self.high) != (0, TOP):
            raise InvalidParameter(
                f"There are {self.n_shares} shares for each question and {self.max_answers} numbers in all, of "
                f"scores from {self.low} to {self.high}; give two shares or more, whole questions, the whole range."
            )

    @property
    def parameters(self) -> Parameters:
        return {
            "sigma": self.sigma,
            "grain": self.grain,
            "shares": self.n_shares,
            "entries": self.max_answers,
            "max_abstentions": 0,
        }

    def moves(self, answers: int) -> int:
        """How far one teacher moves so many numbers at most, squared, in ranges: by 2 at every question."""
        return 2 * math.ceil(answers / self.n_shares)

    def parts(self, scores: NDArray[np.integer[Any]], dice: Integers) -> Integers:
        """Return whole parts that add up to G, one for each share; public `dice` below TOP decide how to round.

        Whatever the scores are: negative ones count as 0, those beyond TOP in all are cut off, and the last class
        gets what is missing. Sums over the first classes are rounded, so that every part is right on average.
        """
        up_to = np.minimum(np.cumsum(np.maximum(scores.astype(np.int64), 0), axis=-1), TOP)
        up_to[..., -1] = TOP
        steps = (up_to * self.grain + dice[..., None]) // TOP
        return np.asarray(np.diff(steps, axis=-1, prepend=0))

    def sums(self, scores: Scores) -> Sums:
        """Add up the parts of all teachers, class by class; a question's numbers stand one after the other."""
        if not isinstance(scores, Shares) or (scores.n_teachers, scores.n_classes) != (
            self.n_teachers,
            self.n_shares,
        ):
            raise GuaranteeBroken(
                f"Noisy shares were priced for {self.n_teachers} teachers and {self.n_shares} classes, and these "
                "are others; calibrate them for these."
            )
        dice = np.random.default_rng(ROUNDING_SEED)
        totals = [self.parts(point, dice.integers(0, TOP, len(point))).sum(axis=0) for point in scores.marks]
        return Sums(np.concatenate(totals).astype(np.int64), self.n_teachers, self.n_classes)

    def read(self, published: NDArray[np.integer[Any]]) -> Floats:
        """Read published numbers as mean probabilities, one row per whole question; every row adds up to 1.

        That is known of what noise was added to, so what noise adds in all is taken off again, evenly.
        """
        whole = published[: len(published) // self.n_shares * self.n_shares].astype(np.float64)
        shares = ((whole + self.least) / self.most).reshape(-1, self.n_shares)
        return np.asarray(shares + (1 - shares.sum(axis=1, keepdims=True)) / self.n_shares)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of one mean, as it is read."""
        return self.sigma / self.most * math.sqrt(1 - 1 / self.n_shares)

    @property
    def total(self) -> Loss:
        return self._loss(self.max_answers)

    def spent(self, state: State) -> Loss:
        return self._loss(state.answered)

    def _loss(self, answers: int) -> Loss:
        loss = Loss.zcdp(self.grain**2 * self.moves(answers) / (2 * self.sigma**2) * (1 + 1e-12))
        return Loss(loss.divergences, SAMPLING * answers)
