"""DF20 section 3: the uniformly stable learner, and how many rows stability takes at least."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mapl.bounds.bound import Bound
from mapl.bounds.families import ClassifierKind, Family
from mapl.bounds.learners import rows_needed, uniform_deviation
from mapl.bounds.letters import check_letters
from mapl.errors import CannotCalibrate
from mapl.types import Floats

REPLACE = "one row is replaced, n is public; unit: one row"
AGNOSTIC = "Rows are independent; nothing is assumed about their labels."
FINE = 240
LARGEST_ALPHA = 0.25
LEARNER = (
    "The learner draws n' of the n rows, and one of the family's patterns on them by the exponential mechanism for "
    "the errors on all rows, anew for every prediction."
)


@dataclass(frozen=True, slots=True)
class Sampled:
    """The best subset size: what a prediction from n rows errs above the best of the class on these rows."""

    excess: float
    subset: int
    net: float
    missed: float
    inner: float
    flip: float

    @property
    def terms(self) -> dict[str, float]:
        return {"subset": self.subset, "net": self.net, "missed_net": self.missed, "inner_epsilon": self.inner}


def subsets(n: int) -> Floats:
    """Return the subset sizes that are tried."""
    return np.unique(np.round(np.geomspace(1, n, FINE)))


def best_subset(n: int, family: Family, sizes: Floats, inner: Floats, flip: Floats) -> Sampled:
    """Return the best of several subset sizes, each with its inner epsilon and its chance of flipping.

    Excess error on the rows: nu + P[subset is no nu-net] + 2 ln|H_T|/(inner n) + flip, for the best nu.
    """
    nus = np.geomspace(min(0.5, 0.5 / n), 0.999, 2 * FINE)
    missed = family.missed(n, nus, sizes[:, None])
    net = nus + missed
    at = net.argmin(axis=1)
    total = net[np.arange(len(sizes)), at] + 2 * family.log_patterns(sizes) / (inner * n) + flip
    best = int(total.argmin())
    return Sampled(
        float(total[best]),
        int(sizes[best]),
        float(nus[at[best]]),
        float(missed[best, at[best]]),
        float(inner[best]),
        float(flip[best]),
    )


def stable(n: int, stability: float, family: Family) -> Sampled:
    """Return the best split of a stability between the subset, eta = n'/n, and the exponential mechanism.

    (inner, eta)-private predictions are eta + (1 - eta) tanh(inner/2)-stable, so inner = 2 atanh of what is left.
    """
    sizes = subsets(n)
    sizes = sizes[sizes < stability * n]
    if not sizes.size:
        return Sampled(1.0, 0, 1.0, 1.0, 0.0, 0.0)
    eta = sizes / n
    inner = 2 * np.arctanh((stability - eta) / (1 - eta))
    return best_subset(n, family, sizes, inner, 0 * eta)


def generalisation(n: int, vc: int, beta: float) -> float:
    """Return what is lost from the rows to fresh ones, for the whole class and for its best classifier."""
    return uniform_deviation(n, vc, beta / 2) + math.sqrt(math.log(2 / beta) / (2 * n))


def theorem_1(
    n: int,
    stability: float,
    *,
    kind: ClassifierKind = ClassifierKind.any,
    vc: int | None = None,
    beta: float = 0.05,
) -> Bound:
    """Theorem 1: the excess error of a learner whose predictions no row moves by more than `stability`.

    Printed as n = O(d ln(1/alpha)/(gamma alpha) + (d + ln(1/beta))/alpha^2); constants derived.

    Examples
    --------
    >>> 0.02 < float(theorem_1(100_000, 0.1, kind="thresholds")) < 0.04
    True
    """
    check_letters(n=n, stability=stability, beta=beta)
    family = Family.of(kind, vc)
    found = stable(n, stability, family)
    extra = generalisation(n, family.vc, beta)
    return Bound(
        value=min(1.0, found.excess + extra),
        meaning="error above the best classifier's, at most",
        assumptions=(
            f"Stability for this adjacency: {REPLACE}.",
            LEARNER,
            AGNOSTIC,
            "It holds with probability at least 1 - beta over the rows.",
        ),
        terms={**found.terms, "excess_on_the_rows": found.excess, "generalisation": extra},
        source="DF20 Theorem 1, constants derived, stability sharpened",
    )


def theorem_1_rows(
    alpha: float,
    stability: float,
    *,
    kind: ClassifierKind = ClassifierKind.any,
    vc: int | None = None,
    beta: float = 0.05,
) -> Bound:
    """Theorem 1, the other way: rows that suffice for an excess error of alpha."""
    check_letters(alpha=alpha, stability=stability, beta=beta)
    family = Family.of(kind, vc)

    def excess(n: int) -> float:
        return stable(n, stability, family).excess + generalisation(n, family.vc, beta)

    n = rows_needed(excess, alpha)
    found = stable(n, stability, family)
    return Bound(
        value=float(n),
        meaning=f"rows that suffice for an error of {alpha:g} above the best classifier's",
        assumptions=(f"Stability for this adjacency: {REPLACE}.", LEARNER, AGNOSTIC),
        terms={
            **found.terms,
            "rate_without_constants_and_logs": family.vc / (stability * alpha) + family.vc / alpha**2,
        },
        source="DF20 Theorem 1, constants derived, stability sharpened",
    )


def theorem_4(alpha: float, stability: float, *, vc: int) -> Bound:
    """Theorem 4: rows that every stable learner needs, (d - 1)/(8 gamma alpha), even where some never errs.

    Examples
    --------
    >>> float(theorem_4(0.1, 0.01, vc=11))
    1250.0
    """
    check_letters(alpha=alpha, stability=stability, vc=vc)
    if alpha > LARGEST_ALPHA:
        raise CannotCalibrate(f"alpha is {alpha:g}; the lower bound is for alpha up to {LARGEST_ALPHA}.")
    return Bound(
        value=(vc - 1) / (8 * stability * alpha),
        meaning=f"rows that a learner of expected error {alpha:g} needs, at least",
        assumptions=(f"Stability for this adjacency: {REPLACE}.", "The worst distribution without noise."),
        terms={},
        source="DF20 Theorem 4",
    )


def private_floor(alpha: float, epsilon: float, *, vc: int) -> Bound:
    """Theorem 4 for private predictions: pure epsilon is tanh(epsilon/2)-stable, not only e^epsilon - 1."""
    check_letters(alpha=alpha, epsilon=epsilon, vc=vc)
    found = theorem_4(alpha, math.tanh(min(epsilon / 2, 18.0)), vc=vc)
    return Bound(
        found.value,
        found.meaning,
        (f"Pure epsilon, delta = 0, for every prediction, for this adjacency: {REPLACE}.", *found.assumptions[1:]),
        {"stability": math.tanh(epsilon / 2)},
        "DF20 Theorem 4 with the stability of pure privacy, derived",
    )
