"""Dagan and Feldman's stable learner: candidates from a random subset, drawn by their errors on all records."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.errors import InvalidParameter
from mapl.mechanisms.single.exponential_vote import bounded_range_loss
from mapl.mechanisms.single.single import MANY_ORDERS
from mapl.noise import ONE, Coins
from mapl.prediction.candidates.candidates import Candidates, Cover
from mapl.prediction.hypotheses import Selection
from mapl.prediction.hypotheses.draw import as_rate, as_selection
from mapl.prediction.hypotheses.finite import MOST_LISTED
from mapl.prediction.hypotheses.protocol import Points
from mapl.prediction.hypotheses.sample import as_filled, as_ones
from mapl.prediction.predictors.flip import MOST_INNER, pure_epsilon, stability
from mapl.prediction.predictors.predictor import in_words
from mapl.prediction.predictors.subset import FixedSize, Subset
from mapl.types import Flags, RecordAdjacency, Silent


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class StablePredictor(Silent):
    """Draw a subset, a candidate made of it by e^(-rate errors), and let it answer, anew for every question.

    Parameters
    ----------
    rate
        What one error costs a candidate.
    by
        The exponential mechanism, or permute-and-flip: more accurate, but it has no bound on its odds.
    flip
        Numerator over 2**62 of the chance to say the opposite, which buys a pure epsilon.

    Notes
    -----
    *Guarantee.* (inner, eta)-private prediction for one record, eta = chance to be in the subset; inner = rate if a
    record is added or removed, 2 rate if one is replaced. From it `stability`, and with flips a pure `epsilon`.
    Theorems 1 to 4 of docs/proofs/stable-prediction.md; DF20 Theorem 1 and Corollary 1 with sharper constants.

    Examples
    --------
    >>> from mapl.noise import SeededCoins
    >>> from mapl.prediction.candidates.candidates import Cover
    >>> from mapl.prediction.hypotheses import Thresholds
    >>> from mapl.prediction.predictors.subset import FixedSize
    >>> X = np.arange(400.0)[:, None]
    >>> told = StablePredictor.fit(X, X[:, 0] >= 100, Cover(Thresholds()), subset=FixedSize(40, 400), rate=0.1)
    >>> told.answer(np.array([350.0]), SeededCoins(0)), round(told.stability, 3)
    (1, 0.145)
    """

    points: Points
    ones: Flags
    candidates: Candidates
    subset: Subset
    rate: float
    by: Selection = "exponential"
    flip: int = 0

    @classmethod
    def fit(
        cls,
        X: NDArray[Any],
        y: NDArray[Any],
        candidates: Candidates,
        *,
        subset: Subset,
        rate: float,
        by: Selection = "exponential",
        flip: int = 0,
    ) -> StablePredictor:
        """Keep the sample; all work is done anew for every answer."""
        as_rate(rate)
        as_selection(by)
        if not rate <= MOST_INNER / 2:
            raise InvalidParameter(
                f"rate is {rate:g}; it must be at most {MOST_INNER / 2:g}, usually near epsilon."
            )
        if not 0 <= flip < ONE // 2:
            raise InvalidParameter(
                "flip is the numerator over 2**62 of a chance below 1/2; give such a whole number."
            )
        if isinstance(candidates, Cover):
            if by == "permute-and-flip":
                candidates = Cover(candidates.hypotheses, MOST_LISTED)
            if isinstance(subset, FixedSize):
                candidates.refuse_beyond(subset.size)
        points = as_filled(X, n_features=1)
        return cls(points, as_ones(y, n_points=len(points)), candidates, subset, rate, by, flip)

    @property
    def name(self) -> str:
        return f"stable {self.candidates.name}"

    @property
    def adjacency(self) -> RecordAdjacency:
        return self.subset.adjacency

    @property
    def odds(self) -> bool:
        return self.by == "exponential"

    @property
    def inner(self) -> float:
        """Epsilon of the draw for one record outside the subset."""
        return self.rate if self.adjacency == "add-remove" else 2 * self.rate

    @property
    def epsilon(self) -> float | None:
        return (
            pure_epsilon(self.inner, self.subset.share, Fraction(self.flip, ONE), odds=self.odds)
            if self.flip
            else None
        )

    @property
    def stability(self) -> float:
        return self.stability_against(1)

    def stability_against(self, k: int) -> float:
        """Return by how much k records that an adversary chose move the chance of an answer at most."""
        if k == 1:
            moved = stability(self.inner, self.subset.share, odds=self.odds, adjacency=self.adjacency)
        else:  # k records, some added and some removed, are no worse than replaced ones
            moved = stability(min(k * self.inner, MOST_INNER), self.subset.share_of(k), odds=self.odds)
        return min(1.0, moved * (1 - 2 * self.flip / ONE) * (1 + 1e-15))

    @property
    def per_answer(self) -> Loss:
        if self.epsilon is not None:
            return Loss.pure(self.epsilon, MANY_ORDERS)
        drawn = bounded_range_loss(self.inner) if self.odds else Loss.pure(self.inner, MANY_ORDERS)
        eta = float(self.subset.share) * (1 + 1e-15)
        if self.adjacency == "replace-one":
            return Loss(drawn.divergences, eta)
        # Without the record, all coins speak; with it, only a part 1 - eta of them does so for sure.
        lost = float(-np.log1p(-eta)) * (1 + 1e-12) if eta < 1 else np.inf
        return Loss.of({order: value + lost for order, value in drawn.divergences}, eta)

    @property
    def promise(self) -> str:
        return in_words(epsilon=self.epsilon, stability=self.stability, adjacency=self.adjacency)

    def answer(self, x: NDArray[Any], coins: Coins) -> int:
        chosen = self.subset.draw(len(self.points), coins)
        patterns = self.candidates.among(self.points[chosen], self.ones[chosen].astype(np.int32), coins)
        hypothesis = patterns.errors(self.points, self.ones).draw(self.rate, coins, by=self.by)
        flipped = bool(coins.flip(np.array([self.flip]))[0])
        return int(hypothesis.predict(question(x, self.points))[0]) ^ flipped


def question(x: NDArray[Any], points: Points) -> Points:
    """Return the one question as a checked row with as many features as the sample."""
    row = as_filled(np.asarray(x).reshape(1, -1), n_features=points.shape[1])
    if row.shape[1] != points.shape[1]:
        raise InvalidParameter(
            f"The question has {row.shape[1]} features and the sample {points.shape[1]}; ask with the same columns."
        )
    return row
