"""What labels are, as rounds of sums see it: classes, or a number of a declared range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mapl.data.moments.contributions import Clip, Contribution
from mapl.data.moments.number_residuals import LONGEST, SQUARES, NumberResiduals
from mapl.data.moments.residuals import Residuals, on_grid
from mapl.data.moments.row_map import Vectors
from mapl.noise.gaussian import DEVIATION_BITS
from mapl.planning.rules.moments import MomentsDesign
from mapl.students.moments.known_curvature import KnownCurvature
from mapl.students.moments.least_squares import LeastSquares
from mapl.students.moments.rounds import NoisySquares, Refined, Refiner, SumRound
from mapl.students.moments.surrogate import PublicBalance
from mapl.types import Floats, Singles

DEVIATION = float(1 << DEVIATION_BITS)

NUMBER_SIGNAL = 0.3
"""How much less of a number than of a class is to be expected of a direction, beside the noise."""

NUMBER_KEEP = 0.9
"""How much less an older round counts than the next one: their curvature stays, where that of chances changes."""


@dataclass(frozen=True, slots=True)
class ClassTarget:
    """Labels that name classes: a residual has a number for each of them."""

    n_classes: int
    numeric: ClassVar[bool] = False
    signal: ClassVar[float] = 1.0

    @property
    def n_columns(self) -> int:
        """How many columns of weights a model has."""
        return self.n_classes

    def bound(self, design: MomentsDesign, round_number: int) -> float:
        """Return the largest norm of a residual."""
        return design.bound(round_number, self.n_classes)

    @property
    def products_bound(self) -> float:
        """The largest norm of a residual beside a record's own features, whose norm is 1."""
        return math.sqrt(2 - 1 / self.n_classes)

    def residuals(self, vectors: Vectors, known: Refined) -> Contribution:
        """Return what records add, given the model so far."""
        return Residuals(vectors, on_grid(known.weights))

    def read(self, told: Floats, known: Refined, clip: Clip, count: float) -> SumRound:
        """Return released sums, in deviations of the noise, in units of the contributions."""
        step, one = DEVIATION * clip.in_value(), DEVIATION / clip.count
        return SumRound(told * step, step, count * one, one)

    def balance(
        self, public: Singles, counts: Singles, n_real: int, keep: float, declared: int | None, *, apart: bool
    ) -> Refiner:
        """Return what learns where public rows tell the curvature, some of which may be made up."""
        return PublicBalance(public, counts, keep, declared, apart, n_real)

    def follow(self, public: Singles, gram: Floats) -> KnownCurvature:
        """Return what learns where the mean products of features were released."""
        return KnownCurvature(public, gram)


@dataclass(frozen=True, slots=True)
class NumberTarget:
    """Labels that are numbers: a residual and its square, both in parts of where residuals are cut off."""

    n_classes: ClassVar[int] = 2
    """As many numbers as two classes have, the ends of the range."""
    n_columns: ClassVar[int] = 1
    numeric: ClassVar[bool] = True
    signal: ClassVar[float] = NUMBER_SIGNAL

    def bound(self, design: MomentsDesign, round_number: int) -> float:
        return LONGEST

    @property
    def products_bound(self) -> float:
        return math.hypot(1.0, LONGEST)

    def residuals(self, vectors: Vectors, known: Refined) -> Contribution:
        return NumberResiduals(vectors, on_grid(known.weights), known.level, known.bound)

    def read(self, told: Floats, known: Refined, clip: Clip, count: float) -> SumRound:
        step, one, bound = DEVIATION * clip.in_value(), DEVIATION / clip.count, known.bound
        sums, of_square = told * step, bound**2 / SQUARES
        squares = NoisySquares(sums[:, 1] * of_square, step * of_square)
        return SumRound(sums[:, :1] * bound, step * bound, count * one, one, squares)

    def balance(
        self, public: Singles, counts: Singles, n_real: int, keep: float, declared: int | None, *, apart: bool
    ) -> Refiner:
        exact = public.astype(np.float64)
        gram = (exact.T * counts.astype(np.float64)) @ exact
        return LeastSquares(public, gram, NUMBER_KEEP, declared, apart, n_real)

    def follow(self, public: Singles, gram: Floats) -> LeastSquares:
        return LeastSquares(public, gram, NUMBER_KEEP)


Target = ClassTarget | NumberTarget
