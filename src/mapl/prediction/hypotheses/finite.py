"""A finite class: any list of fitted models or functions, one representative for each labeling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.prediction.hypotheses.listed import ListedErrors
from mapl.prediction.hypotheses.protocol import Hypothesis, Points
from mapl.prediction.hypotheses.row_by_row import row_by_row
from mapl.prediction.hypotheses.sample import BuiltIn, as_ones, as_points
from mapl.types import Flags, Labels, Silent

MOST_LISTED = 1 << 20

Rule = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, slots=True, repr=False)
class Function(Silent):
    """A function from points to labels 0 and 1, as a hypothesis."""

    rule: Rule

    def predict(self, X: NDArray[Any]) -> Labels:
        return np.asarray(self.rule(X)).astype(np.int32)


@dataclass(frozen=True, slots=True, repr=False)
class Finite(BuiltIn, Silent):
    """The listed hypotheses, which no private example may have shaped except those of T.

    Models that are not mapl's own label row by row (`RowByRow`), by a rule that no chance decides. The VC
    dimension, if not declared, is bounded by the logarithm of their number.
    """

    hypotheses: tuple[Hypothesis, ...]
    n_features: int
    vc: int
    name: str = "finite"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hypotheses", tuple(map(row_by_row, self.hypotheses)))

    @classmethod
    def of(
        cls, models: Sequence[Hypothesis | Rule], *, n_features: int, vc: int | None = None, name: str = "finite"
    ) -> Finite:
        """Take fitted models with ``predict``, or functions, in the order that decides among equals."""
        if not models:
            raise InvalidParameter("The list of models is empty; give at least one model or function.")
        hypotheses = tuple(m if hasattr(m, "predict") else Function(m) for m in models)
        most = len(hypotheses).bit_length() - 1
        return cls(hypotheses, n_features, most if vc is None else min(vc, most), name)

    def patterns(self, T: NDArray[Any]) -> FinitePatterns:
        """Return the distinct labelings of T, each with the first hypothesis of the list that gives it."""
        points = as_points(T, n_features=self.n_features)
        if not len(points):  # models seldom accept an empty table, and there is only one labeling of it
            return FinitePatterns(self.hypotheses[:1], self.n_features)
        first: dict[bytes, Hypothesis] = {}
        for hypothesis in self.hypotheses:
            first.setdefault(np.packbits(points_labelled_one(hypothesis, points)).tobytes(), hypothesis)
        return FinitePatterns(tuple(first.values()), self.n_features)

    def n_patterns(self, n_points: int) -> int:
        """Return the smaller of the class's size and Sauer's bound."""
        return min(len(self.hypotheses), sauer(n_points, self.vc))


@dataclass(frozen=True, slots=True, repr=False)
class FinitePatterns(Silent):
    """One hypothesis for each labeling."""

    representatives: tuple[Hypothesis, ...]
    n_features: int

    def __len__(self) -> int:
        return len(self.representatives)

    def __iter__(self) -> Iterator[Hypothesis]:
        return iter(self.representatives)

    def errors(self, X: NDArray[Any], y: NDArray[Any]) -> ListedErrors:
        points = as_points(X, n_features=self.n_features)
        ones = as_ones(y, n_points=len(points))
        counts = [int((points_labelled_one(h, points) != ones).sum()) if len(points) else 0 for h in self]
        return ListedErrors(np.array(counts, dtype=np.int64), self.representatives.__getitem__, self.votes)

    def votes(self, x: Points) -> Flags:
        return np.concatenate([points_labelled_one(h, x[None]) for h in self])


def points_labelled_one(hypothesis: Hypothesis, points: Points) -> Flags:
    """Return which points the hypothesis labels 1."""
    return np.asarray(hypothesis.predict(points) == 1)


def sauer(n_points: int, vc: int) -> int:
    """Return the most labelings of n_points points by a class of VC dimension vc."""
    return sum(comb(n_points, i) for i in range(vc + 1))


def refuse_beyond(size: int, what: str) -> None:
    """Refuse a class that is too large to list."""
    if size > MOST_LISTED:
        raise InvalidParameter(
            f"There are {size} {what}; mapl lists at most {MOST_LISTED}. Choose fewer features or shorter rules."
        )
