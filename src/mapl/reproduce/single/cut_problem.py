"""Worlds in which every predictor's excess error is known, and the excess of each kind of predictor there.

Rows are uniform, one feature decides by a cut, and labels are flipped with the same chance everywhere. A rule's
excess error is then a formula, and a predictor's is the mean over its exact law: nothing is estimated from test
rows, only records and subsets are drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.noise import ONE, SeededCoins
from mapl.prediction.hypotheses import HypothesisClass, Patterns, Stumps, Thresholds
from mapl.prediction.hypotheses.line.stumps import StumpPatterns
from mapl.prediction.predictors.padded_stumps import PaddedStumps
from mapl.prediction.predictors.stable_settings import StableSettings
from mapl.reproduce.worlds import LabelNoise, ThresholdWorld
from mapl.types import Floats, Labels

Rules = tuple[NDArray[np.intp], Floats, NDArray[np.bool_]]
"""Feature, value and direction of many rules."""

CUT = 0.4
MODEL_SIZES = tuple(math.ceil(10 ** (i / 2) - 1e-9) for i in range(1, 11))
"""Records of one model, from 4 to 100,000."""


@dataclass(frozen=True, slots=True)
class CutProblem:
    """Uniform features, the last of which decides; the others can only mislead."""

    kind: str
    n_features: int
    flipped: float

    @property
    def world(self) -> ThresholdWorld:
        return ThresholdWorld(CUT, LabelNoise.massart(self.flipped))

    @property
    def hypotheses(self) -> HypothesisClass:
        return Stumps(self.n_features) if self.kind == "stumps" else Thresholds()

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Labels]:
        x, y = self.world.sample(n, rng)
        return np.hstack([rng.random((n, self.n_features - 1)), x]), y

    def excess(self, rules: Rules) -> Floats:
        """Return the excess error of every rule."""
        feature, value, above = rules
        value = np.clip(value, 0.0, 1.0)
        # Other features are independent of the truth, which is 1 with chance 1 - CUT.
        wrong = np.where(feature == self.n_features - 1, abs(value - CUT), (1 - value) * CUT + value * (1 - CUT))
        return 2 * self.world.noise.most * np.where(above, wrong, 1 - wrong)

    def when_flipped(self, excess: Floats, chance: Floats | float) -> Floats:
        """Return the excess error of answers that are flipped with some chance."""
        return np.asarray((1 - 2 * chance) * excess + chance * (1 - 2 * self.flipped))


def rules_of(patterns: Patterns) -> Rules:
    """Return all representatives, in the order of their error counts."""
    if not isinstance(patterns, StumpPatterns):
        value = np.append(patterns.values, np.inf)  # type: ignore[attr-defined]
        return np.zeros(len(value), dtype=np.intp), value, np.ones(len(value), dtype=bool)
    ends = [np.append(values, np.inf) for values in patterns.columns]
    feature = np.repeat(np.arange(len(ends)), [2 * len(end) for end in ends])
    value = np.concatenate([part for end in ends for part in (end, end)])
    above = np.concatenate([np.repeat([True, False], len(end)) for end in ends])
    return feature[patterns.kept], value[patterns.kept], above[patterns.kept]


def draw_rules(
    hypotheses: HypothesisClass, settings: StableSettings, X: Floats, y: Labels, coins: SeededCoins
) -> tuple[Rules, Floats]:
    """Return the candidates of one subset of A^sta, and the chance of each to answer."""
    patterns = hypotheses.patterns(X[settings.subset.draw(len(X), coins)])
    errors: Any = patterns.errors(X, y)
    weights = np.exp(-settings.rate * errors.gaps)
    return rules_of(patterns), weights / weights.sum()


def stable_excess(problem: CutProblem, settings: StableSettings, X: Floats, y: Labels, coins: SeededCoins) -> float:
    """Average the exact law of A^sta given its subset, over a few subsets."""
    found = []
    for _ in range(8 if len(X) <= 10_000 else 2):
        rules, chances = draw_rules(problem.hypotheses, settings, X, y, coins)
        found.append(chances @ problem.excess(rules))
    return float(problem.when_flipped(np.mean(found, keepdims=True), settings.flip / ONE)[0])


def padded_excess(problem: CutProblem, predictor: PaddedStumps, rng: np.random.Generator) -> float:
    """Integrate the exact chance of a wrong answer along the deciding feature, finely near the cut."""
    away = np.append(0.0, np.geomspace(1e-8, 1.0, 300))
    edges = np.unique(np.clip(np.concatenate([CUT - away, CUT + away]), 0, 1))
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    asked = np.column_stack([rng.random((len(middle), problem.n_features - 1)), middle])
    chance = predictor.numerators(asked) / ONE
    wrong = np.where(middle >= CUT, 1 - chance, chance)
    return float(2 * problem.world.noise.most * (wrong @ width))


@cache
def model_curve(problem: CutProblem) -> Floats:
    """Return the mean excess error of the rule with the fewest errors on so many records, for every model size."""
    rng = np.random.default_rng(7)
    means = []
    for size in MODEL_SIZES:
        repeats = min(400, max(10, 4_000_000 // (size * problem.n_features)))
        means.append(np.mean([_model_excess(problem, *problem.sample(size, rng)) for _ in range(repeats)]))
    return np.minimum.accumulate(means)


def _model_excess(problem: CutProblem, X: Floats, y: Labels) -> float:
    """Return the excess error of the rule with the fewest errors, its cut in the middle of a gap."""
    order = np.argsort(X, axis=0)
    steps = np.cumsum(2 * y.astype(np.int64)[order] - 1, axis=0)
    errors = np.vstack([np.zeros_like(steps[:1]), steps]) + np.count_nonzero(y == 0)
    # A rule that is 1 below its value errs where its opposite is right.
    above = problem.kind == "thresholds" or errors.min() <= len(X) - errors.max()
    at, feature = np.unravel_index(errors.argmin() if above else errors.argmax(), errors.shape)
    ends = np.concatenate([[0.0], X[order[:, feature], feature], [1.0]])
    value = (ends[at] + ends[at + 1]) / 2
    return float(problem.excess((np.array([feature]), np.array([value]), np.array([above])))[0])
