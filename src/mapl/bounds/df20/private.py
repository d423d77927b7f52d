"""DF20 Corollary 1: private predictions from the stable learner, by flipping now and then."""

from __future__ import annotations

import numpy as np

from mapl.bounds.bound import Bound
from mapl.bounds.df20.df18 import PRIVACY
from mapl.bounds.df20.flip import flip_for
from mapl.bounds.df20.stable import AGNOSTIC, LEARNER, Sampled, best_subset, generalisation, subsets
from mapl.bounds.families import ClassifierKind, Family
from mapl.bounds.learners import rows_needed
from mapl.bounds.letters import check_letters

SOURCE = "DF20 Corollary 1, constants derived, inner epsilon = epsilon instead of epsilon alpha"


def private(n: int, epsilon: float, family: Family) -> Sampled:
    """Return the best subset for pure epsilon: the learner is (epsilon, n'/n)-private, and flipped accordingly."""
    sizes = subsets(n)
    return best_subset(n, family, sizes, np.full(len(sizes), epsilon), flip_for(epsilon, sizes / n))


def corollary_1_on_sample(
    n: int, epsilon: float, *, kind: ClassifierKind = ClassifierKind.any, vc: int | None = None
) -> Bound:
    """Corollary 1 on the rows themselves: a private prediction's error above the best classifier's there.

    Examples
    --------
    >>> round(float(corollary_1_on_sample(10_000, 1.0, kind="thresholds")), 3)
    0.061
    """
    check_letters(n=n, epsilon=epsilon)
    found = private(n, epsilon, Family.of(kind, vc))
    return Bound(
        value=min(1.0, found.excess),
        meaning="expected error of a private prediction on the private rows above the best classifier's, at most",
        assumptions=(PRIVACY, LEARNER, "Any rows."),
        terms={**found.terms, "flip": found.flip},
        source=SOURCE,
    )


def corollary_1(
    n: int, epsilon: float, *, kind: ClassifierKind = ClassifierKind.any, vc: int | None = None, beta: float = 0.05
) -> Bound:
    """Corollary 1: the error of a private prediction above the best classifier's.

    Printed as n = O~(d/(epsilon alpha^2)); constants derived.
    """
    check_letters(n=n, epsilon=epsilon, beta=beta)
    family = Family.of(kind, vc)
    found = private(n, epsilon, family)
    extra = generalisation(n, family.vc, beta)
    return Bound(
        value=min(1.0, found.excess + extra),
        meaning="error of a private prediction above the best classifier's, at most",
        assumptions=(PRIVACY, LEARNER, AGNOSTIC, "It holds with probability at least 1 - beta over the rows."),
        terms={**found.terms, "flip": found.flip, "excess_on_the_rows": found.excess, "generalisation": extra},
        source=SOURCE,
    )


def corollary_1_rows(
    alpha: float,
    epsilon: float,
    *,
    kind: ClassifierKind = ClassifierKind.any,
    vc: int | None = None,
    beta: float = 0.05,
) -> Bound:
    """Corollary 1, the other way: rows that suffice for an excess error of alpha."""
    check_letters(alpha=alpha, epsilon=epsilon, beta=beta)
    family = Family.of(kind, vc)

    def excess(n: int) -> float:
        return private(n, epsilon, family).excess + generalisation(n, family.vc, beta)

    n = rows_needed(excess, alpha)
    found = private(n, epsilon, family)
    return Bound(
        value=float(n),
        meaning=f"rows that suffice for an error of {alpha:g} of a private prediction above the best classifier's",
        assumptions=(PRIVACY, LEARNER, AGNOSTIC, "It holds with probability at least 1 - beta over the rows."),
        terms={
            **found.terms,
            "flip": found.flip,
            "rate_without_constants_and_logs": family.vc / (epsilon * alpha**2),
        },
        source=SOURCE,
    )
