"""A linear model of noisy sums where labels are numbers: least squares by a known curvature, round by round."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mapl.students.moments.prior import likely_variance
from mapl.students.moments.public_doubt import PublicDoubt
from mapl.students.moments.rounds import Refined, SumRound, count_units, drawn_variance, weigh_rounds
from mapl.students.moments.surrogate import eigen
from mapl.types import Floats, Singles

NEAREST, FARTHEST = 1.0, 3.0
"""Where residuals are cut off, in deviations of what the model leaves over: with much noise and with hardly any."""

USUAL_CUT, USUAL_NOISE, PER_TENFOLD = 2.0, 0.0006, 0.8
"""At so much noise, beside the number of units, they are cut off there; at ten times as much, by so much nearer."""

LEAST_BOUND = 2.0**-10
"""No residual is cut off nearer to the model than this part of half of the range."""

FAR = 100.0
"""A first round, which is about the middle of the range, tells the level and nothing beside it where that alone
leaves so much doubt, beside the scatter of people: where the range is far too wide, or public rows are very few."""

LEVEL_VARIANCE = 1 / 3
"""That of a mean label that may lie anywhere in its range."""

MOST_RATIO = 100.0
"""By how much what a model explains may be larger than what it leaves over."""


@dataclass(frozen=True, slots=True, eq=False)
class LeastSquares:
    """Follow slopes of noisy sums by mean products of features, beside a level that all labels have in common.

    Parameters
    ----------
    public
        Vectors of public rows, of norm at most 1: they tell what a constant is made of.
    gram
        The mean products of features.
    keep, declared, apart
        As in `PublicBalance`.
    n_told
        How many public rows the mean products were told by, if public rows told them.
    """

    public: Singles
    gram: Floats
    keep: float = 0.7
    declared: int | None = None
    apart: bool = False
    n_told: int | None = None

    def begin(self, known: Refined, slopes: SumRound) -> Refined:
        """Take slopes along that were released beside the products; they are a round like the others."""
        return self.refine(known, slopes)

    def refine(self, known: Refined, released: SumRound) -> Refined:
        """Take one more round into account."""
        units = count_units((*known.rounds, released), self.declared)
        mean, constant = self._constant()
        model = np.append(known.weights, known.level)[:, None]
        grown = replace(known, rounds=(*known.rounds, released), before=(*known.before, model))
        rounds, models = _telling(grown)
        shares, noise = weigh_rounds(rounds, self.keep)
        # What the sums would be of labels themselves, and not of what models left over of them.
        sums = sum(
            share * (one.sums[:, 0] + units * (self.gram @ before[:-1, 0] + before[-1, 0] * mean))
            for share, one, before in zip(shares, rounds, models, strict=True)
        )
        level = _level(constant, mean, np.asarray(sums), units, noise)
        spread = _spread(grown, released, constant, units, level)
        curvature, turn = eigen(units * self.gram)
        rest = turn.T @ (sums - level * units * mean)
        drawn = drawn_variance(shares, apart=self.apart)

        def solve(doubt: float) -> tuple[Floats, Floats]:
            slopes, others = rest[:, None] / spread, noise / spread**2
            ratio = likely_variance(curvature, slopes, others, MOST_RATIO, drawn=drawn + doubt)
            penalty = (1 + doubt + others / (curvature + 1)) / ratio
            return turn @ (rest / (curvature + penalty)), penalty

        told_at = sum(share * before[:, 0] for share, before in zip(shares, models, strict=True))

        def moved(solved: tuple[Floats, Floats]) -> float:
            return self._mean_square(np.append(solved[0], level) - told_at, mean)

        per_row = 0.0 if self.n_told is None else units / self.n_told
        doubt = PublicDoubt(per_row, spread**2)
        weights, penalty = doubt.settle(solve, moved)
        if len(grown.rounds) == 1 and doubt.measure(level**2) > FAR:
            weights = np.zeros_like(weights)
        return replace(
            grown,
            weights=weights[:, None],
            level=level,
            scatter=turn * (noise**0.5 / (curvature + penalty)),
            bound=min(1.0, max(cut_for(released.noise / known.bound / units) * spread, LEAST_BOUND)),
        )

    def _mean_square(self, model: Floats, mean: Floats) -> float:
        """Return the mean square of what a model, its level last, predicts of public rows."""
        weights, level = model[:-1], model[-1]
        return float(weights @ self.gram @ weights + 2 * level * (weights @ mean) + level**2)

    def _constant(self) -> tuple[Floats, Floats]:
        """Return the mean public vector, and weights that predict 1 of all public rows, as nearly as such do."""
        exact = self.public.astype(np.float64)
        products, mean = exact.T @ exact / len(exact), exact.mean(axis=0)
        ridge = 1e-6 * np.trace(products) / len(products) + np.finfo(np.float64).tiny  # all vectors may be zero
        return mean, np.asarray(np.linalg.solve(products + ridge * np.eye(len(products)), mean))


def cut_for(noise: float) -> float:
    """Return where residuals are cut off, in their deviations: what lies beyond is lost, and the rest is clearer.

    Parameters
    ----------
    noise
        The deviation of the noise of a mean over all units, where residuals are cut off at 1.

    >>> [round(cut_for(noise), 2) for noise in (1.0, 0.006, 0.0006, 1e-5)]
    [1.0, 1.2, 2.0, 3.0]
    """
    usual = USUAL_CUT - PER_TENFOLD * math.log10(noise / USUAL_NOISE)
    return min(max(usual, NEAREST), FARTHEST)


def _telling(known: Refined) -> tuple[tuple[SumRound, ...], tuple[Floats, ...]]:
    """Return the rounds that tell of weights, and the models before them: not a first one of the level alone."""
    if len(known.rounds) > 1 and not known.before[1][:-1].any():
        return known.rounds[1:], known.before[1:]
    return known.rounds, known.before


def _level(constant: Floats, mean: Floats, sums: Floats, units: float, noise: float) -> float:
    """Return the level beside which weights have least to say, drawn towards the middle as far as noise moves it.

    Sums of a single level are that level times the sums of a constant, which tell it exactly. Where public vectors
    cancel, nothing is known of a constant, and the level is the middle of the range.
    """
    whole = float(constant @ mean)
    if not whole > 0:
        return 0.0
    constant = constant / whole
    doubt = noise * float(constant @ constant) / units**2
    level = float(constant @ sums) / units / (1 + doubt / LEVEL_VARIANCE)
    return min(max(level, -1.0), 1.0)  # what is predicted lies in the range, and residuals are measured from there


def _spread(known: Refined, released: SumRound, constant: Floats, units: float, level: float) -> float:
    """Return about how far labels lie from the model, rather too much than too little."""
    squares = released.squares
    assert squares is not None
    mean = float(constant @ squares.sums) / units
    doubt = squares.noise * float(np.linalg.norm(constant)) / units
    if len(known.rounds) == 1:  # the first round was about the middle of the range, and not yet about the level
        mean -= level**2
    return math.sqrt(min(max(mean, 0.0) + doubt, 1.0) + LEAST_BOUND**2)
