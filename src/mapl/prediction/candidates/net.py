"""Fewer candidates than patterns: one for all that differ on few of the subset's points (DF20 Remark 1)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.prediction.hypotheses import Hypothesis, HypothesisClass
from mapl.prediction.hypotheses.finite import FinitePatterns
from mapl.prediction.hypotheses.own_class import ours
from mapl.prediction.hypotheses.sample import BuiltIn, as_points
from mapl.types import Labels

MOST_LISTED = 1 << 14


@dataclass(frozen=True, slots=True)
class Net(BuiltIn):
    """A class whose patterns on T are thinned: any two that stay differ on more than radius |T| points.

    Each pattern is within that distance of one that stays, in the fixed order of the class; all of it is a
    function of T, so it serves wherever a class does. But its patterns on a part of T are not those on T cut down,
    so that two-stage predictions have the weaker of their two proofs only.
    It costs `radius` in accuracy and saves candidates: a packing holds at most e (d + 1) (2e/radius)^d of them
    (Haussler 1995), however many points T has.
    """

    hypotheses: HypothesisClass
    radius: float

    def __post_init__(self) -> None:
        if not 0 < self.radius < 1:
            raise InvalidParameter(f"radius is {self.radius}; it is a share of the points, between 0 and 1.")

    @property
    def name(self) -> str:
        return f"net of {self.hypotheses.name}"

    @property
    def vc(self) -> int:
        return self.hypotheses.vc

    def patterns(self, T: NDArray[Any]) -> FinitePatterns:
        points = as_points(T, n_features=1)
        listed = list(islice(ours(self.hypotheses).patterns(points), MOST_LISTED + 1))
        if len(listed) > MOST_LISTED:
            raise InvalidParameter(
                f"A net compares patterns one by one, and these are more than {MOST_LISTED}; take a smaller "
                "subset, or the class itself, which draws without listing where it can."
            )
        kept: list[Hypothesis] = []
        labelings = np.empty((0, len(points)), dtype=np.int32)
        for hypothesis in listed:
            labels: Labels = hypothesis.predict(points)
            if not kept or (labelings != labels).sum(axis=1).min() > self.radius * len(points):
                kept.append(hypothesis)
                labelings = np.vstack([labelings, labels[None]])
        return FinitePatterns(tuple(kept), points.shape[1])

    def n_patterns(self, n_points: int) -> int:
        """Return the smaller of the class's bound and Haussler's."""
        d = self.hypotheses.vc
        packing = 2.7183 * (d + 1) * (5.4366 / self.radius) ** d
        return min(self.hypotheses.n_patterns(n_points), int(min(packing, 1e300)) + 1)
