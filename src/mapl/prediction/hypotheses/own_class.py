"""A user's class of hypotheses: it lists rules, and mapl counts their errors row by row."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.prediction.hypotheses.finite import MOST_LISTED, FinitePatterns
from mapl.prediction.hypotheses.protocol import HypothesisClass
from mapl.prediction.hypotheses.row_by_row import row_by_row
from mapl.prediction.hypotheses.sample import BuiltIn, as_points
from mapl.prediction.hypotheses.space.halfplanes import ConstantPatterns


@dataclass(frozen=True, slots=True)
class OwnClass(BuiltIn):
    """Nothing of the class is relied on but the rules it lists for T; if it fails, the rule 0 stays.

    Its own way to count errors and to draw is not used: the privacy of a draw rests on both.
    """

    hypotheses: HypothesisClass

    @property
    def name(self) -> str:
        return self.hypotheses.name

    @property
    def vc(self) -> int:
        return self.hypotheses.vc

    def patterns(self, T: NDArray[Any]) -> FinitePatterns:
        points = as_points(T, n_features=1)
        try:
            listed = list(islice(self.hypotheses.patterns(points.copy()), MOST_LISTED + 1))
        except Exception as failure:
            if isinstance(failure, InvalidParameter) and len(points):  # a class may refuse to list so many
                raise
            listed = []
        if len(listed) > MOST_LISTED:
            raise InvalidParameter(
                f"The class lists more than {MOST_LISTED} rules for so many points; take a smaller subset."
            )
        return FinitePatterns(tuple(map(row_by_row, listed)) or (ConstantPatterns(0),), 1)

    def n_patterns(self, n_points: int) -> int:
        return self.hypotheses.n_patterns(n_points)


def ours(hypotheses: HypothesisClass) -> HypothesisClass:
    """Return a class of mapl's own as it is, any other as one of which only the listed rules count."""
    return hypotheses if isinstance(hypotheses, BuiltIn) else OwnClass(hypotheses)
