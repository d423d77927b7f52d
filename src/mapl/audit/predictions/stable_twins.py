"""The stable predictor in fractions, written a second time, and twins of it that break one step each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from mapl.audit.predictions.samples import Sample, SampleWorld
from mapl.prediction.hypotheses import HypothesisClass, Selection
from mapl.prediction.hypotheses.line.thresholds import Threshold

Chosen = tuple[int, ...]
Subsets = Callable[[int], Iterable[tuple[Chosen, Fraction]]]
"""From the number of records to every subset with its chance."""


def uniform(n: int, size: int) -> list[tuple[Chosen, Fraction]]:
    """Return all subsets of one size."""
    chosen = list(combinations(range(n), size))
    return [(some, Fraction(1, len(chosen))) for some in chosen]


def by_coins(n: int, eta: Fraction) -> list[tuple[Chosen, Fraction]]:
    """Return all subsets, where each record comes with chance eta."""
    return [
        (some, eta**size * (1 - eta) ** (n - size))
        for size in range(n + 1)
        for some in combinations(range(n), size)
    ]


def patterns_of_subset(hypotheses: HypothesisClass, T: Any, S: Any) -> list[Any]:
    """Return a hypothesis for each pattern on the subset, whatever the sample."""
    return list(hypotheses.patterns(T))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactStable:
    """The law of the stable predictor where an error costs a rational factor `fall` = e^-rate.

    Parameters
    ----------
    cover
        From the subset's points, and all points, to the candidates; an honest one ignores the second.
    """

    world: SampleWorld
    hypotheses: HypothesisClass
    subsets: Subsets
    fall: Fraction
    flip: Fraction = Fraction(0)
    by: Selection = "exponential"
    cover: Callable[[HypothesisClass, Any, Any], Sequence[Any]] = patterns_of_subset

    def __call__(self, sample: Sample) -> list[Fraction]:
        X, y, asked = self.arrays(sample)
        law = [Fraction(0)] * len(asked)
        chances_of: dict[tuple[tuple[float, ...], ...], Fraction] = defaultdict(Fraction)
        for chosen, chance in self.subsets(len(sample)):
            chances_of[tuple(sorted(sample[i][0] for i in chosen))] += chance
        for points, chance in chances_of.items():
            T = np.array(points, dtype=float).reshape(len(points), self.world.n_features)
            candidates = self.cover(self.hypotheses, T, X)
            chances = select([int((h.predict(X) != y).sum()) for h in candidates], self.fall, by=self.by)
            for hypothesis, part in zip(candidates, chances, strict=True):
                for i in np.flatnonzero(hypothesis.predict(asked)):
                    law[i] += chance * part
        return [(1 - 2 * self.flip) * p + self.flip for p in law]

    def arrays(self, sample: Sample) -> tuple[Any, Any, Any]:
        X = np.array([features for features, _ in sample], dtype=float).reshape(len(sample), self.world.n_features)
        return X, np.array([label for _, label in sample], dtype=int), np.array(self.world.questions, dtype=float)


def select(errors: Sequence[int], fall: Fraction, *, by: Selection) -> list[Fraction]:
    """Return the chance of every candidate, exactly."""
    weights = [fall ** (k - min(errors)) for k in errors]
    if by == "exponential":
        total = sum(weights)
        return [weight / total for weight in weights]
    return [weight * integral([w for j, w in enumerate(weights) if j != i]) for i, weight in enumerate(weights)]


def integral(accepting: Sequence[Fraction]) -> Fraction:
    """Return the integral over [0, 1] of the product of 1 - w t: that no rival accepts before a uniform place t."""
    polynomial = [Fraction(1)]
    for w in accepting:
        raised = [Fraction(0), *(-w * c for c in polynomial)]
        polynomial = [a + b for a, b in zip([*polynomial, Fraction(0)], raised, strict=True)]
    return sum((c / (power + 1) for power, c in enumerate(polynomial)), Fraction(0))


def first_records(size: Callable[[int], int]) -> Subsets:
    """Twin: the subset is not drawn anew but always the same places, so a record may surely be in it."""
    return lambda n: [(tuple(range(min(size(n), n))), Fraction(1))]


def representatives_from_sample(hypotheses: HypothesisClass, T: Any, S: Any) -> list[Any]:
    """Twin: a pattern of T is represented by the lowest value of the whole sample that gives it."""
    cuts = [-np.inf, *np.unique(T[:, 0])]
    found = [Threshold(float(S[S[:, 0] > low, 0].min(initial=np.inf))) for low in cuts[1:]]
    return [Threshold(float(S[:, 0].min(initial=np.inf))), *found]
