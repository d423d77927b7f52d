"""The best subset, rate and flip of the stable predictor for a wanted epsilon or stability, by an explicit bound.

Error on the sample above the best of the class, on average over coins: what the best hypothesis loses by being
replaced by the one of its pattern on the subset (`net_loss`), ln|patterns|/(rate n) for the draw, and the flip.
Theorem 5 of docs/proofs/stable-prediction.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mapl.bounds.df20.stable import generalisation
from mapl.bounds.families import Family
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.noise import ONE
from mapl.prediction.candidates.candidates import Cover
from mapl.prediction.candidates.net import Net
from mapl.prediction.hypotheses import (
    Halfspaces,
    HypothesisClass,
    Intervals,
    Rectangles,
    Selection,
    Stumps,
    Thresholds,
    Unions,
)
from mapl.prediction.predictors.flip import flip_for, inner_for, pure_epsilon, stability
from mapl.prediction.predictors.subset import EachByCoin, FixedSize, Subset
from mapl.prediction.prices.padded_stumps import refuse_unknown
from mapl.types import Floats, RecordAdjacency, finite_positive, positive_integer

FINE = 120
WIDER = (1.0, 1.03, 1.1, 1.2, 1.4, 1.8, 2.5)
"""Flips that are tried, in units of the least one."""
CAUTION = 1e-9
"""Rates are lowered by this much (relatively), so that claims can be rounded up and still be met."""
MOST_RATE = 30.0
MOST_RECORDS = 10**12
NEARLY_ALL = 1 - 2.0**-20
"""The largest chance to be in the subset where every record comes by a coin."""
EXACT = 10**5
"""Chances of subsets are computed exactly up to so many records, and bounded beyond."""


@dataclass(frozen=True, slots=True)
class StableSettings:
    """What the predictor is made with, and its bound on the sample: `excess` over the best of the class there."""

    subset: Subset
    rate: float
    flip: int
    by: Selection
    excess: float

    @property
    def adjacency(self) -> RecordAdjacency:
        return self.subset.adjacency


def for_epsilon(
    n: int,
    epsilon: float,
    hypotheses: HypothesisClass,
    *,
    adjacency: RecordAdjacency = "replace-one",
    by: Selection = "exponential",
) -> StableSettings:
    """Return the settings of the least bound whose answers are purely epsilon-private.

    `n` is public: the number of records, or, where records may be added or removed, a public guess of it.
    """
    finite_positive(epsilon=epsilon)
    _refuse(n, hypotheses, adjacency)
    if not 1e-4 <= epsilon <= MOST_RATE:
        raise InvalidParameter(f"epsilon is {epsilon:g} per answer; it must be between 0.0001 and {MOST_RATE:g}.")
    most = n if adjacency == "replace-one" else n * NEARLY_ALL
    sizes = _sizes(n, most, hypotheses)
    flips = np.array([[flip_for(epsilon, size / n) * wider for wider in WIDER] for size in sizes])
    # At the cap the flips alone are private enough.
    flips = np.minimum(flips * (1 + CAUTION), (1 + CAUTION) / (1 + math.exp(epsilon)))
    inner = np.array(
        [
            [inner_for(epsilon, size / n, flip, odds=by == "exponential") for flip in row]
            for size, row in zip(sizes, flips, strict=True)
        ]
    )
    rates = np.clip(inner, 1e-12, 2 * MOST_RATE) / _inner_per_rate(adjacency) * (1 - CAUTION)
    found = _best(n, hypotheses, sizes, rates, flips, adjacency=adjacency, by=by)
    claimed = pure_epsilon(
        found.rate * _inner_per_rate(adjacency),
        found.subset.share,
        Fraction(found.flip, ONE),
        odds=by == "exponential",
    )
    if not claimed <= epsilon:
        raise CannotCalibrate(f"An epsilon of {epsilon:g} per answer could not be rounded; ask for a larger one.")
    return found


def for_stability(
    n: int,
    gamma: float,
    hypotheses: HypothesisClass,
    *,
    adjacency: RecordAdjacency = "replace-one",
    by: Selection = "exponential",
) -> StableSettings:
    """Return the settings of the least bound whose answers no record moves by more than gamma."""
    _refuse(n, hypotheses, adjacency)
    if not (isinstance(gamma, int | float) and 0 < gamma < 1):
        raise InvalidParameter(f"gamma is {gamma}; it is a change of a chance and must lie between 0 and 1.")
    sizes = _sizes(n, gamma * n * (1 - CAUTION), hypotheses)
    sizes = sizes[sizes < gamma * n * (1 - CAUTION)]
    if not sizes.size:
        raise CannotCalibrate(
            f"A stability of {gamma:g} needs more than 1/{gamma:g} records, and there are {n}; give "
            + (
                f"at least {math.floor(1 / gamma) + 1} records or "
                if gamma > 1 / MOST_RECORDS
                else "more records, and "
            )
            + "allow a larger gamma."
        )
    half = 4 if by == "exponential" else 2
    left = (gamma * (1 - CAUTION) - sizes / n) / (1 - sizes / n)
    # Replaced records are the worse case, so that this holds for added ones too.
    rates = np.clip(half * np.arctanh(left) / _inner_per_rate(adjacency), 1e-12, MOST_RATE)[:, None]
    found = _best(n, hypotheses, sizes, rates, np.zeros_like(rates), adjacency=adjacency, by=by)
    inner = found.rate * _inner_per_rate(adjacency)
    if not stability(inner, found.subset.share, odds=by == "exponential", adjacency=adjacency) <= gamma:
        raise CannotCalibrate(f"A stability of {gamma:g} could not be rounded; ask for a larger one.")
    return found


def fresh_excess(settings: StableSettings, n: int, hypotheses: HypothesisClass, *, beta: float = 0.05) -> float:
    """Return the bound for a fresh question, except with probability beta over independent records."""
    return min(1.0, settings.excess + fresh_loss(n, hypotheses, beta))


def fresh_loss(n: int, hypotheses: HypothesisClass, beta: float) -> float:
    """Return what is lost from the records to fresh ones, by the number of patterns or the VC dimension."""
    by_patterns = math.sqrt(2 * math.log(hypotheses.n_patterns(n)) / n) + 2 * math.sqrt(
        math.log(2 / beta) / (2 * n)
    )
    return min(by_patterns, generalisation(n, hypotheses.vc, beta))


def _best(
    n: int,
    hypotheses: HypothesisClass,
    sizes: Floats,
    rates: Floats,
    flips: Floats,
    *,
    adjacency: RecordAdjacency,
    by: Selection,
) -> StableSettings:
    net = np.array([net_loss(n, hypotheses, size, adjacency) for size in sizes])
    patterns = np.array([log_patterns(hypotheses, n, size, adjacency) for size in sizes])
    totals = net[:, None] + patterns[:, None] / (rates * n) + flips
    i, j = np.unravel_index(int(totals.argmin()), totals.shape)
    fixed = adjacency == "replace-one"
    subset: Subset = FixedSize(int(sizes[i]), n) if fixed else EachByCoin.with_share(float(sizes[i]) / n)
    flip = math.ceil(flips[i, j] * ONE)
    return StableSettings(subset, float(rates[i, j]), flip, by, min(1.0, float(totals[i, j])))


def net_loss(n: int, hypotheses: HypothesisClass, size: float, adjacency: RecordAdjacency) -> float:
    """Bound on how many records, as a share, the best hypothesis and the one of its pattern differ, on average."""
    if size == n:
        return 0.0
    found = _by_union(n, hypotheses, size, adjacency)
    sides = _sides(hypotheses)
    if sides is None:
        return found
    eta = size / n * (1 - CAUTION)
    # From a fixed place of an order to the next record of the subset there are so many, on average.
    passed = (n - size) / (size + 1) if adjacency == "replace-one" else (1 - eta) / eta
    return min(found, sides * passed / n)


def _sides(hypotheses: HypothesisClass) -> int | None:
    """Return in how many places a hypothesis and that of its pattern differ at most, each up to the next record."""
    match hypotheses:  # by type, since anybody may take the name
        case Thresholds():
            return 1
        case Stumps(n_features=1) | Intervals():  # a constant stump may be represented from the other end
            return 2
        case Unions(n_intervals=j):
            return 2 * j
        case Rectangles(features=features):
            return 2 * len(features)
    return None


def _by_union(n: int, hypotheses: HypothesisClass, size: float, adjacency: RecordAdjacency) -> float:
    """Return the least nu + P[the subset misses some set of more than nu n records that it must hit]."""
    nus = np.geomspace(min(0.5, 0.5 / n), 0.999, 200)
    rows = np.floor(nus * n) + 1
    # One of the two hypotheses is the best one, so that there are as many sets as patterns.
    sets = np.minimum(log_sets(hypotheses, n, nus), math.log(hypotheses.n_patterns(n)))
    return float((nus + np.exp(np.minimum(0.0, sets + _log_missed(n, size, rows, adjacency)))).min())


def _log_missed(n: int, size: float, rows: Floats, adjacency: RecordAdjacency) -> Floats:
    """Return the log of the chance that a subset misses all of so many given records, or of a bound of it."""
    if adjacency == "add-remove":
        return np.asarray(rows * np.log1p(-size / n))
    if n > EXACT:
        return np.asarray(size * np.log1p(-np.minimum(rows / n, 1 - 1e-12)))
    return np.array([_log_choose(n - int(m), int(size)) for m in rows]) - _log_choose(n, int(size))


def _log_choose(n: int, k: int) -> float:
    return -math.inf if n < k else math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def log_sets(hypotheses: HypothesisClass, n: int, nus: Floats) -> Floats:
    """Return the log of how many sets a net must hit: known for some classes, else all pairs of patterns."""
    if type(hypotheses) in (Thresholds, Intervals):  # by type, since anybody may take the name
        return Family.of(hypotheses.name).log_large_differences(n, nus)
    return 2 * math.log(hypotheses.n_patterns(n)) - math.log(2) + 0 * nus


def log_patterns(hypotheses: HypothesisClass, n: int, size: float, adjacency: RecordAdjacency) -> float:
    """Return a bound of ln|patterns|; a subset by coins exceeds its mean by so much with chance 1/n (Bernstein)."""
    if adjacency == "replace-one":
        return math.log(hypotheses.n_patterns(int(size)))
    # With chance 1/n the subset is larger, but never than n.
    usual, rare = (math.log(hypotheses.n_patterns(points)) for points in (most_by_coins(n, size), n))
    return usual + rare / n


def most_by_coins(n: int, size: float) -> int:
    """Return how many of n records a subset by coins, of that mean size, has at most but for a chance 1/n."""
    log_n = math.log(n)
    return min(n, math.ceil(size + log_n / 3 + math.sqrt(log_n**2 / 9 + 2 * size * log_n)))


def _sizes(n: int, most: float, hypotheses: HypothesisClass) -> Floats:
    """Return the sizes to try, all of them where records are few, and none that the class refuses to list."""
    sizes = np.arange(1.0, n + 1) if n <= FINE else np.round(np.geomspace(1, n, FINE))
    sizes = np.unique(np.minimum(sizes, most))
    if isinstance(hypotheses, Halfspaces | Rectangles):
        sizes = sizes[: bisect_left(sizes, True, key=lambda size: refuses_patterns(hypotheses, int(size)))]
    return np.asarray(sizes)


def refuses_patterns(hypotheses: HypothesisClass, size: int) -> bool:
    """Say whether the class refuses to list the patterns of so many points."""
    try:
        Cover(hypotheses).refuse_beyond(size)
    except InvalidParameter:
        return True
    return False


def _inner_per_rate(adjacency: RecordAdjacency) -> int:
    return 1 if adjacency == "add-remove" else 2


def _refuse(n: int, hypotheses: HypothesisClass, adjacency: RecordAdjacency) -> None:
    refuse_unknown(adjacency)
    if isinstance(hypotheses, Net):
        raise InvalidParameter(
            "No explicit bound is known for a net of patterns; make settings for the class itself."
        )
    positive_integer(n_rows=n)
    if not 3 <= n <= MOST_RECORDS:
        counted = "There is 1 record" if n == 1 else f"There are {n:.3g} records"
        raise InvalidParameter(
            f"{counted}; the stable predictor is made for 3 to {MOST_RECORDS:,}. Take padded-stumps where it fits."
        )
