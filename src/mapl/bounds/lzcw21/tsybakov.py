"""What an empirical minimiser achieves under Tsybakov's noise condition, with explicit constants."""

from __future__ import annotations

import math

from mapl.bounds.learners import log_growth

STEPS = 200


def tsybakov_excess(rows: int, vc: int, beta: float, *, tau: float, eta: float) -> float:
    """Return the excess error of the empirical minimiser on N rows, except with probability beta.

    Assumes Dis(h, h*) <= eta (err(h) - err(h*))^tau on the class (LZCW21 Lemma 4). The rows that only h gets wrong
    and those that only h* gets wrong make two families of sets, each with growth function G; Vapnik's relative
    deviations on both, with c = (ln G(2N) + ln(8/beta))/N, bound the excess by E <= 2 sqrt(2 c Dis) + 4 c, hence

        E <= 2 sqrt(2 eta c) E^(tau/2) + 4 c .

    The right side is concave in E, so that iterating it from max((32 eta c)^(1/(2 - tau)), 8 c), which is too
    large, falls to the largest solution; every iterate is a valid bound.

    Examples
    --------
    >>> slow, fast = (tsybakov_excess(10**6, 1, 0.05, tau=tau, eta=1.0) for tau in (0.0, 1.0))
    >>> slow > 30 * fast
    True
    """
    if rows < 1:
        return 1.0
    c = (log_growth(2 * rows, vc) + math.log(8 / beta)) / rows
    excess = max((32 * eta * c) ** (1 / (2 - tau)), 8 * c)
    for _ in range(STEPS):
        lower = 2 * math.sqrt(2 * eta * c) * excess ** (tau / 2) + 4 * c
        if lower >= excess * (1 - 1e-12):
            break
        excess = lower
    return float(min(1.0, excess))


def tsybakov_disagreement(rows: int, vc: int, beta: float, *, tau: float, eta: float) -> float:
    """Return how often the empirical minimiser disagrees with the best classifier, except with probability beta."""
    return float(min(1.0, eta * tsybakov_excess(rows, vc, beta, tau=tau, eta=eta) ** tau))
