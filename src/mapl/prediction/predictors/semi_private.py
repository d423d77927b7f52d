"""One private draw among a class's patterns on public points; afterwards every prediction is free."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.mechanisms.single.exponential_vote import bounded_range_loss
from mapl.mechanisms.single.single import MANY_ORDERS
from mapl.noise import Coins
from mapl.prediction.hypotheses import Errors, Hypothesis, HypothesisClass, Selection
from mapl.prediction.hypotheses.own_class import ours
from mapl.prediction.hypotheses.sample import as_filled, as_ones
from mapl.prediction.predictors.predictor import RECORDS
from mapl.prediction.prices.padded_stumps import refuse_unknown
from mapl.release.statement.plain_words import at_most
from mapl.types import Labels, RecordAdjacency, finite_positive, positive_integer


@dataclass(frozen=True, slots=True)
class SemiPrivate:
    """A released hypothesis: public, so its predictions cost nothing.

    Notes
    -----
    *Guarantee.* Its release was purely epsilon-differentially private for one private record; the public points are
    not protected. Theorem 8 of docs/proofs/stable-prediction.md, after Alon, Bassily and Moran (2019).
    """

    hypothesis: Hypothesis
    epsilon: float
    adjacency: RecordAdjacency
    by: Selection
    n_patterns: int

    @classmethod
    def release(
        cls,
        X: NDArray[Any],
        y: NDArray[Any],
        hypotheses: HypothesisClass,
        *,
        public: NDArray[Any],
        epsilon: float,
        adjacency: RecordAdjacency,
        coins: Coins,
        by: Selection = "exponential",
    ) -> SemiPrivate:
        """Draw one of the class's patterns on the public points by the errors on the private records."""
        rate_for(epsilon, adjacency=adjacency)  # refuses what is no epsilon before anything is counted
        errors = score_patterns(X, y, hypotheses, public=public)
        n_patterns = hypotheses.n_patterns(len(public))
        return cls.drawn(errors, n_patterns, epsilon=epsilon, adjacency=adjacency, coins=coins, by=by)

    @classmethod
    def drawn(
        cls,
        errors: Errors,
        n_patterns: int,
        *,
        epsilon: float,
        adjacency: RecordAdjacency,
        coins: Coins,
        by: Selection = "exponential",
    ) -> SemiPrivate:
        """Draw one of the patterns by their errors, which `score_patterns` has counted."""
        hypothesis = errors.draw(rate_for(epsilon, adjacency=adjacency), coins, by=by)
        return cls(hypothesis, epsilon, adjacency, by, n_patterns)

    @property
    def loss(self) -> Loss:
        """The loss of the one release."""
        return (
            bounded_range_loss(self.epsilon) if self.by == "exponential" else Loss.pure(self.epsilon, MANY_ORDERS)
        )

    @property
    def promise(self) -> str:
        told = f"pure epsilon {at_most(self.epsilon)}, delta 0"
        return f"One release with {told}, if {RECORDS[self.adjacency]}; then free."

    def predict(self, X: NDArray[Any]) -> Labels:
        """Label every row; free of charge."""
        return self.hypothesis.predict(as_filled(X, n_features=1))


def score_patterns(
    X: NDArray[Any], y: NDArray[Any], hypotheses: HypothesisClass, *, public: NDArray[Any]
) -> Errors:
    """Return the errors, which are private, of the class's patterns on the public points; no coin is used."""
    points = as_filled(X, n_features=1)
    ones = as_ones(y, n_points=len(points))
    return ours(hypotheses).patterns(as_filled(public, n_features=1)).errors(points, ones)


def rate_for(epsilon: float, *, adjacency: RecordAdjacency) -> float:
    """Return what one error costs: epsilon if a record is added or removed, half of it if one is replaced."""
    refuse_unknown(adjacency)
    finite_positive(epsilon=epsilon)
    return epsilon if adjacency == "add-remove" else epsilon / 2


def excess_bound(n: int, n_patterns: int, *, epsilon: float, adjacency: RecordAdjacency) -> float:
    """Bound the released hypothesis's error on the private records, above the best pattern's, on average.

    Examples
    --------
    >>> round(excess_bound(1000, 101, epsilon=1.0, adjacency="replace-one"), 4)
    0.0092
    """
    positive_integer(n=n, n_patterns=n_patterns)
    return min(1.0, math.log(n_patterns) / (rate_for(epsilon, adjacency=adjacency) * n))
