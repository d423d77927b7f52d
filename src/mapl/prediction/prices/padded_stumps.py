"""What an answer of the padded stumps costs, and what it is worth: rates, epsilons, excess error."""

from __future__ import annotations

import math
from typing import get_args

from flint import arb, ctx

from mapl.accounting import Loss
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.single.single import MANY_ORDERS
from mapl.types import RecordAdjacency, finite_positive, positive_integer

SLACK = 2.0**-20
"""Part of every claimed epsilon: covers floating point sums and coins with 62 bits, in all four log-chances."""
LEAST_EPSILON, MOST_EPSILON = 1e-4, 30.0
LEAST_RATE = 2.0**-15
"""The rounding is bounded for rates from here on; every epsilon from LEAST_EPSILON on has one."""
CAUTION = 1e-9
"""The rate is lowered by this much (relatively), so that the claim can be rounded up and still be met."""


def rate_for(epsilon: float, *, adjacency: RecordAdjacency) -> float:
    """Return the largest rate, up to one part in 10^9, at which an answer costs at most epsilon.

    >>> round(rate_for(1.0, adjacency="add-remove"), 3), round(rate_for(1.0, adjacency="replace-one"), 3)
    (0.62, 0.366)
    """
    refuse_unknown(adjacency)
    finite_positive(epsilon=epsilon)
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise InvalidParameter(
            f"epsilon is {epsilon:g} per answer; it must be between {LEAST_EPSILON:g}, where answers are all but "
            f"fair coins, and {MOST_EPSILON:g}, where nothing is promised. Choose one in between."
        )
    grown = math.expm1(epsilon - SLACK)
    # With t = e^rate the theorem says 2t - 1 <= 1 + grown, or t(2t - 1) <= 1 + grown; these are t - 1.
    excess = grown / 2 if adjacency == "add-remove" else (math.sqrt(9 + 8 * grown) - 3) / 4
    rate = math.log1p(excess) * (1 - CAUTION)
    if not epsilon_of(rate, adjacency=adjacency) <= epsilon:
        raise CannotCalibrate(f"An epsilon of {epsilon:g} per answer could not be rounded; ask for a larger one.")
    return rate


def epsilon_of(rate: float, *, adjacency: RecordAdjacency) -> float:
    """Return epsilon of one answer, delta = 0, rounded up: ln(2 e^rate - 1), plus rate if a record is replaced."""
    refuse_unknown(adjacency)
    refuse_rate(rate)
    with ctx.workprec(160):
        a = arb(rate)
        once = (2 * a.exp() - 1).log()
        return _up(once if adjacency == "add-remove" else once + a)


def span_of(rate: float, *, adjacency: RecordAdjacency) -> float:
    """Return how far a neighbour moves the log-odds of an answer at most, rounded up."""
    refuse_unknown(adjacency)
    refuse_rate(rate)
    with ctx.workprec(160):
        once = (2 * arb(rate).exp() - 1).log()
        return _up(once if adjacency == "add-remove" else 2 * once)


def loss_of(rate: float, *, adjacency: RecordAdjacency) -> Loss:
    """Return the loss of one answer; answers with fresh coins compose by adding it up.

    A label is one bit, so log-ratios of chances span what the log-odds move: at order b no more than span^2 b / 8.
    """
    pure = Loss.pure(epsilon_of(rate, adjacency=adjacency), MANY_ORDERS)
    rho = span_of(rate, adjacency=adjacency) ** 2 / 8 * (1 + 1e-12)
    return Loss.of({order: min(rho * order, renyi) for order, renyi in pure.divergences})


def excess_bound(n: int, n_features: int, *, rate: float) -> float:
    """Bound the predictor's error on its own sample, on average over coins, above that of the best stump.

    >>> round(excess_bound(1000, 1, rate=rate_for(1.0, adjacency="add-remove")), 4)
    0.0123
    """
    positive_integer(n=n, n_features=n_features)
    refuse_rate(rate)
    rules = 2 * n_features * (n + 1 + 2 / math.expm1(rate))
    return min(1.0, math.log(rules) / (rate * n) + SLACK)


def refuse_rate(rate: float) -> None:
    """Refuse a rate for which the rounding is not bounded."""
    if not LEAST_RATE <= rate <= MOST_EPSILON:
        raise InvalidParameter(
            f"The rate is {rate:g}; it must be between {LEAST_RATE:.2g} and {MOST_EPSILON:g}. See `rate_for`."
        )


def refuse_unknown(adjacency: str) -> None:
    """Refuse an adjacency that the theorem does not speak of."""
    if adjacency not in get_args(RecordAdjacency):
        raise InvalidParameter(f"The adjacency is {adjacency!r}; choose {' or '.join(get_args(RecordAdjacency))}.")


def _up(ball: arb) -> float:
    return math.nextafter(float((ball + arb(SLACK)).upper()), math.inf)
