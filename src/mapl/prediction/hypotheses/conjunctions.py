"""Conjunctions of literals over binary features, as a finite class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.prediction.hypotheses.finite import Finite, refuse_beyond
from mapl.prediction.hypotheses.sample import BuiltIn
from mapl.types import Flags, Labels

Literal = tuple[int, bool]
"""A feature and whether it is wanted on; a feature is on where it exceeds one half."""


def holds(literal: Literal, X: NDArray[Any]) -> Flags:
    feature, wanted = literal
    return np.asarray((X[:, feature] > 0.5) == wanted)


@dataclass(frozen=True, slots=True)
class Conjunction(BuiltIn):
    """1 where all literals hold; without literals, everywhere."""

    literals: tuple[Literal, ...]

    def predict(self, X: NDArray[Any]) -> Labels:
        points = np.asarray(X)
        ones = np.ones(len(points), dtype=bool)
        for literal in self.literals:
            ones &= holds(literal, points)
        return ones.astype(np.int32)


def conjunctions(n_features: int, *, max_literals: int) -> Finite:
    """Return all conjunctions of at most max_literals literals, shorter ones first; the last one never holds.

    Examples
    --------
    >>> len(conjunctions(3, max_literals=3).hypotheses)
    28
    """
    width = min(max_literals, n_features)
    refuse_beyond(sum(comb(n_features, k) * 2**k for k in range(width + 1)) + 1, "conjunctions")
    never = Conjunction(((0, True), (0, False)))
    # All conjunctions together have VC dimension n_features, from two features on (Natschlaeger and Schmitt 1996).
    return Finite.of(
        [*every(n_features, width), never],
        n_features=n_features,
        vc=max(n_features, 2),
        name="conjunctions",
    )


def every(n_features: int, width: int) -> Iterator[Conjunction]:
    for k in range(width + 1):
        for features in combinations(range(n_features), k):
            for wanted in product((True, False), repeat=k):
                yield Conjunction(tuple(zip(features, wanted, strict=True)))
