"""Halfspaces: stumps on a line, the plane by a rotating sweep, space by all hyperplanes through points of T."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any, ClassVar

from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.prediction.hypotheses.line.stumps import StumpPatterns, Stumps
from mapl.prediction.hypotheses.sample import BuiltIn, as_points
from mapl.prediction.hypotheses.space.halfplanes import HalfplanePatterns
from mapl.prediction.hypotheses.space.hyperplanes import HyperplanePatterns

MOST_FEATURES = 4
MOST_IN_PLANE = 1 << 20
MOST_BEYOND = 1 << 18


@dataclass(frozen=True, slots=True)
class Halfspaces(BuiltIn):
    """All halfspaces over the first n_features features, one to four; VC dimension n_features + 1.

    Notes
    -----
    *Cost* with m points in T and n in the sample: m n log n in the plane, m^p (n + 2^p) for p = 3, 4 features.
    Repeated, collinear and coplanar points are exact. They have fewer labelings than `n_patterns` says, but points
    of the sample that lie on hyperplanes through others of T take longer, about a millisecond for each hyperplane.
    """

    n_features: int = 2

    name: ClassVar[str] = "halfspaces"

    def __post_init__(self) -> None:
        if not 1 <= self.n_features <= MOST_FEATURES:
            raise InvalidParameter(
                f"n_features is {self.n_features}; halfspaces are listed for 1 to {MOST_FEATURES} features, as m "
                "points have about m to the power of n_features labelings. Choose that many features by a public "
                "rule, take stumps, or list models fitted on T as a finite class."
            )

    @property
    def vc(self) -> int:
        return self.n_features + 1

    def patterns(self, T: NDArray[Any]) -> StumpPatterns | HalfplanePatterns | HyperplanePatterns:
        """Return the separable labelings of T, each with a side of a hyperplane through points of T."""
        points = as_points(T, n_features=self.n_features)[:, : self.n_features]
        if self.n_features == 1:
            return Stumps(1).patterns(points)
        most = MOST_IN_PLANE if self.n_features == 2 else MOST_BEYOND
        if self.n_patterns(len(points)) > most:
            raise InvalidParameter(
                f"T has too many points: by halfspaces over {self.n_features} features m points have about "
                f"2 m^{self.n_features}/{self.n_features}! labelings, and mapl lists at most {most}. Take at most "
                f"{self.most_points(most)} points, fewer features, stumps, or a finite class of models fitted on T."
            )
        return HalfplanePatterns.of(points) if self.n_features == 2 else HyperplanePatterns.of(points)

    def n_patterns(self, n_points: int) -> int:
        """Return Cover's count, reached by points in general position."""
        if not n_points:
            return 1
        return 2 * sum(comb(n_points - 1, i) for i in range(self.n_features + 1))

    def most_points(self, most: int) -> int:
        """Return how many points have no more labelings than that."""
        n_points = 0
        while self.n_patterns(n_points + 1) <= most:
            n_points += 1
        return n_points
