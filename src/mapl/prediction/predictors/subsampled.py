"""A private predictor on a fresh random part of the records: the smaller, the more private (DF20 Lemma 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.errors import GuaranteeBroken
from mapl.mechanisms.single.single import MANY_ORDERS
from mapl.noise import Coins
from mapl.prediction.hypotheses.protocol import Points
from mapl.prediction.hypotheses.sample import as_filled, as_ones
from mapl.prediction.predictors.flip import BITS, Real, ball, refuse_outside, up
from mapl.prediction.predictors.predictor import Predictor, in_words
from mapl.prediction.predictors.subset import Subset
from mapl.types import Flags, RecordAdjacency, Silent, finite_positive

Make = Callable[[NDArray[Any], NDArray[Any]], Predictor]


def amplify(epsilon: float, eta: Real) -> float:
    """Return ln(1 + eta (e^epsilon - 1)), rounded up: epsilon on all records of epsilon on a random part eta.

    Examples
    --------
    >>> round(amplify(1.0, 0.1), 4)  # the paper states 2 epsilon eta = 0.2
    0.1586
    """
    refuse_outside(epsilon, eta, 0.0)
    with ctx.workprec(BITS):
        return up((1 + ball(eta) * arb(epsilon).expm1()).log())


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Subsampled(Silent):
    """For each question, fit a private predictor on a fresh random subset and let it answer.

    Parameters
    ----------
    make
        From points and labels of a subset to a predictor of at most `inner` epsilon for the subset's adjacency. It
        must make one of every subset, of no records too: were it to fail, records would decide about an answer.

    Notes
    -----
    *Guarantee.* Pure epsilon `amplify(inner, eta)` for each answer, eta = chance of one record to be in the
    subset; stability is eta times the predictor's. Theorem 6 of docs/proofs/stable-prediction.md.
    """

    points: Points
    ones: Flags
    make: Make
    subset: Subset
    inner: float

    @classmethod
    def fit(cls, X: NDArray[Any], y: NDArray[Any], make: Make, *, subset: Subset, inner: float) -> Subsampled:
        """Keep the sample; a predictor is fitted anew for every answer."""
        finite_positive(inner=inner)
        points = as_filled(X, n_features=1)
        return cls(points, as_ones(y, n_points=len(points)), make, subset, inner)

    @property
    def name(self) -> str:
        return "subsampled"

    @property
    def adjacency(self) -> RecordAdjacency:
        return self.subset.adjacency

    @property
    def epsilon(self) -> float:
        return amplify(self.inner, self.subset.share)

    @property
    def stability(self) -> float:
        with ctx.workprec(BITS):
            return min(1.0, up(ball(Fraction(self.subset.share)) * (arb(self.inner) / 2).tanh()))

    @property
    def per_answer(self) -> Loss:
        return Loss.pure(self.epsilon, MANY_ORDERS)

    @property
    def promise(self) -> str:
        return in_words(epsilon=self.epsilon, stability=self.stability, adjacency=self.adjacency)

    def answer(self, x: NDArray[Any], coins: Coins) -> int:
        chosen = self.subset.draw(len(self.points), coins)
        try:
            predictor = self.make(self.points[chosen], self.ones[chosen].astype(np.int32))
        except Exception:  # it may quote a record
            raise GuaranteeBroken(
                "No predictor was made of a random subset; nothing was answered. It must be made of any records, "
                "however many, and of none."
            ) from None
        if predictor.adjacency != self.adjacency or predictor.epsilon is None or predictor.epsilon > self.inner:
            raise GuaranteeBroken(
                f"The predictor promises less than epsilon {self.inner:g} for {self.adjacency}; nothing was "
                "answered. Make one that does, or declare a larger inner epsilon."
            )
        return predictor.answer(x, coins)
