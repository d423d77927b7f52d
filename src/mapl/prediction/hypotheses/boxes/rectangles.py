"""Axis-parallel rectangles and boxes over a few chosen features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.prediction.hypotheses.boxes.boxes import BoxErrors, Strips
from mapl.prediction.hypotheses.boxes.sheets import Sheet, SheetValues, every_sheet, sum_weights
from mapl.prediction.hypotheses.finite import sauer
from mapl.prediction.hypotheses.protocol import Hypothesis, Points
from mapl.prediction.hypotheses.sample import BuiltIn, as_ones, as_points
from mapl.prediction.hypotheses.space.exact import distinct, weigh_points
from mapl.types import Silent

MOST_STEPS = 1 << 27


@dataclass(frozen=True, slots=True)
class Rectangles(BuiltIn):
    """All closed boxes over the chosen features, unbounded in the others, and the empty one.

    The features are chosen by a public rule, never by private examples. VC dimension twice their number.

    Notes
    -----
    *Cost* with m points in T and p features: m^(2p-1) steps at most, however many boxes there are (about m^(2p)).
    A draw looks closely only at strips whose best box could matter; a law for a tiny rate looks at all of them.
    """

    features: tuple[int, ...] = (0, 1)

    name: ClassVar[str] = "rectangles"

    def __post_init__(self) -> None:
        if len(self.features) < 2 or len(set(self.features)) < len(self.features) or min(self.features) < 0:
            raise InvalidParameter(
                f"features is {self.features}; rectangles need at least two different features, as column numbers "
                "from 0 on. For one feature take intervals."
            )

    @property
    def vc(self) -> int:
        return 2 * len(self.features)

    def patterns(self, T: NDArray[Any]) -> RectanglePatterns:
        """Return the sets of points of T that boxes cut out; each is represented by its bounding box."""
        points = as_points(T, n_features=max(self.features) + 1)[:, list(self.features)]
        power = 2 * len(self.features) - 1
        if len(points) ** power > MOST_STEPS:
            most = int(MOST_STEPS ** (1 / power) + 1e-9)
            raise InvalidParameter(
                f"T has too many points: boxes over {len(self.features)} features take up to m^{power} steps for m "
                f"points, and mapl takes at most {MOST_STEPS}. Take at most {most} points, fewer features chosen "
                "by a public rule, or stumps."
            )
        return RectanglePatterns.of(points, self.features)

    def n_patterns(self, n_points: int) -> int:
        """Return Sauer's bound."""
        return sauer(n_points, self.vc)


@dataclass(frozen=True, slots=True, repr=False)
class RectanglePatterns(Silent):
    """The empty set, and in every strip of every sheet the boxes that touch points on all sides."""

    values: SheetValues
    features: tuple[int, ...]
    sheets: tuple[Sheet, ...]
    strips: Strips

    @classmethod
    def of(cls, points: Points, features: tuple[int, ...]) -> RectanglePatterns:
        rows, _ = distinct(points)
        values = tuple(np.unique(column) for column in rows.T)
        sheets = tuple(every_sheet(rows, values))
        return cls(values, features, sheets, Strips.of([sheet.counts() for sheet in sheets]))

    def __len__(self) -> int:
        return 1 + int(self.strips.sizes.sum())

    def __iter__(self) -> Iterator[Hypothesis]:
        nothing = np.empty((0, max(self.features) + 1))
        listed = self.errors(nothing, nothing[:, 0]).listed()
        return map(listed.representative, range(len(self)))

    def errors(self, X: NDArray[Any], y: NDArray[Any]) -> BoxErrors:
        points = as_points(X, n_features=max(self.features) + 1)[:, list(self.features)]
        ones = as_ones(y, n_points=len(points))
        rows, weights = weigh_points(points, ones)
        tables = tuple(sum_weights(rows, weights, self.values, sheet.ranges) for sheet in self.sheets)
        best = [sheet.best(table) for sheet, table in zip(self.sheets, tables, strict=True)]
        return BoxErrors(
            int(ones.sum()), self.values, self.features, self.sheets, self.strips, tables, self.strips.those(best)
        )
