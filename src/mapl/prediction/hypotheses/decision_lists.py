"""Short decision lists over binary features, as a finite class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from math import perm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.prediction.hypotheses.conjunctions import Literal, holds
from mapl.prediction.hypotheses.finite import Finite, refuse_beyond
from mapl.prediction.hypotheses.sample import BuiltIn
from mapl.types import Labels


@dataclass(frozen=True, slots=True)
class DecisionList(BuiltIn):
    """The answer of the first rule whose literal holds, or the answer of none."""

    rules: tuple[tuple[Literal, int], ...]
    otherwise: int

    def predict(self, X: NDArray[Any]) -> Labels:
        points = np.asarray(X)
        answers = np.full(len(points), self.otherwise, dtype=np.int32)
        for literal, answer in reversed(self.rules):
            answers[holds(literal, points)] = answer
        return answers


def decision_lists(n_features: int, *, max_rules: int) -> Finite:
    """Return all decision lists of at most max_rules rules on different features, shorter ones first.

    A last rule that answers like the end of the list says nothing, so it always answers the opposite.

    Examples
    --------
    >>> len(decision_lists(2, max_rules=1).hypotheses)
    10
    """
    length = min(max_rules, n_features)
    size = 2 + sum(perm(n_features, k) * 4**k for k in range(1, length + 1))
    refuse_beyond(size, "decision lists")
    return Finite.of(list(every(n_features, length)), n_features=n_features, name="decision lists")


def every(n_features: int, length: int) -> Iterator[DecisionList]:
    for k in range(length + 1):
        for features in permutations(range(n_features), k):
            for wanted in product((True, False), repeat=k):
                for *answers, otherwise in product((1, 0), repeat=k + 1):
                    if not answers or answers[-1] != otherwise:
                        literals = zip(features, wanted, strict=True)
                        yield DecisionList(tuple(zip(literals, answers, strict=True)), otherwise)
