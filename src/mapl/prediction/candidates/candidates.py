"""Candidates that depend on a random subset of the records alone: patterns on it, or models trained on it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.prediction.hypotheses import HypothesisClass, Patterns
from mapl.prediction.hypotheses.finite import FinitePatterns
from mapl.prediction.hypotheses.own_class import ours
from mapl.prediction.hypotheses.row_by_row import row_by_row
from mapl.prediction.hypotheses.sample import BuiltIn
from mapl.types import Labels

Train = Callable[[NDArray[Any], NDArray[Any], int], Sequence[Any]]
"""From points, labels and a seed to models with ``predict``, which are asked for one row at a time."""


class Candidates(Protocol):
    """Where candidates come from; nothing private but the given records may shape them."""

    @property
    def name(self) -> str: ...

    def among(self, T: NDArray[Any], labels: NDArray[Any], coins: Coins) -> Patterns:
        """Return the candidates for the subset's points and labels."""


@dataclass(frozen=True, slots=True)
class Cover:
    """One hypothesis of a class for each of its labelings of the subset's points; labels are not looked at.

    A subset that the class refuses as too large is halved, since an error would tell its size.
    """

    hypotheses: HypothesisClass
    most_patterns: int | None = None
    """Permute-and-flip lists the patterns, so that there may not be more."""

    @property
    def name(self) -> str:
        return self.hypotheses.name

    def among(self, T: NDArray[Any], labels: NDArray[Any], coins: Coins) -> Patterns:
        while len(T):
            try:
                self.refuse_many(len(T))
                return ours(self.hypotheses).patterns(T)
            except InvalidParameter:
                T = T[: len(T) // 2]
        return ours(self.hypotheses).patterns(T)

    def refuse_beyond(self, n_points: int) -> None:
        """Raise what the class says of so many points, if it refuses them; the points are nobody's."""
        self.refuse_many(n_points)
        ours(self.hypotheses).patterns(np.zeros((n_points, width(self.hypotheses))))

    def refuse_many(self, n_points: int) -> None:
        if self.most_patterns is not None and self.hypotheses.n_patterns(n_points) > self.most_patterns:
            raise InvalidParameter(
                f"permute-and-flip lists every pattern, and {n_points} points may have more than "
                f"{self.most_patterns}; draw by the exponential mechanism, or take a smaller subset."
            )


def width(hypotheses: HypothesisClass) -> int:
    """Return how many columns the class reads at least."""
    columns = getattr(hypotheses, "features", (getattr(hypotheses, "feature", 0),))
    return int(getattr(hypotheses, "n_features", max(columns) + 1))


@dataclass(frozen=True, slots=True)
class Trained:
    """Any models trained on the subset, by the user's function, and the two constants.

    A function that fails leaves the constants, so that no record decides whether there is an answer. Privacy
    needs nothing else of the function than that it sees no other private record and that its models' labels hang on
    the row alone; accuracy is up to it. An answer costs one call of every model for each distinct record.
    """

    train: Train
    name: str = "trained models"

    def among(self, T: NDArray[Any], labels: NDArray[Any], coins: Coins) -> Patterns:
        seed = int(coins.words(1)[0] >> np.uint64(33))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning may quote what it warns about
            try:
                models = list(self.train(T, labels, seed))
            except Exception:
                models = []
        return FinitePatterns((Constant(0), Constant(1), *map(row_by_row, models)), 1)


@dataclass(frozen=True, slots=True)
class Constant(BuiltIn):
    """The same label everywhere."""

    label: int

    def predict(self, X: NDArray[Any]) -> Labels:
        return np.full(len(X), self.label, dtype=np.int32)
